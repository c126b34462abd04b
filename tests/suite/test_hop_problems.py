"""What is wrong with look-ups, hops and limits of a case is said with line, place, found, expected, and did you mean."""

import pytest
from suite_maker import MANIFEST, case_yaml, make_suite

from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import lint, open_suite

TOOLS = """\
- name: search
  description: Finds shops.
  parameters: {type: object, properties: {query: {type: string}}}
  entities: [{items: merchants, name: name, id: poi_id, fields: {landmark: text}}]
- name: weather
  description: Says the weather.
  parameters: {type: object, properties: {city: {type: string}}}
  fields: {"": ignored}
"""
CASE = """\
id: a
domains: [search]
visible:
  query: a play, and a bite nearby
  output_schema:
    type: object
    properties:
      merchants: {type: array, items: {type: object, properties: {hop: {enum: [play, bite]}, poi_id: {type: string}}}}
truth:
  requirements:
    - id: e1
      kind: asked
      text: a bite
      check: {kind: output, path: merchants, entry: {hop: bite}, id: poi_id, tool: search, where: {landmark: Rowan Square}}
  tools:
    - {name: search, id: play}
    - {name: search, id: bite, after: [play], evidence: [e1, {where: {landmark: Rowan Square}}], match: {query: {op: contains, of: {op: bound, call: play, path: merchants.*.landmark}}}}
"""


def opened(root, case=CASE, manifest=MANIFEST):
    suite = open_suite(make_suite(root, {"a.yaml": case, "tools.yaml": TOOLS, "suite.yaml": manifest}))
    (entry,) = suite.entries(root / "a.yaml")
    return suite.load(entry)


def test_a_case_with_hops_and_answers_by_id_is_loaded(tmp_path):
    play, bite = opened(tmp_path).truth.tools
    assert (play.waits_for, bite.waits_for) == ((), ("play",))
    assert [row.where["landmark"].value for row in bite.evidence_rows] == ["Rowan Square"]


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("tool: search,", "tool: serch,", "check.tool: the suite has no tool 'serch'", "did you mean 'search'?"),
        ("tool: search,", "tool: weather,", "check.tool: the tool weather does not declare which ids", "say it in the tool"),
        ("id: poi_id, tool", "id: poi, tool", "check.id: visible.output_schema has no 'merchants.*.poi'", "did you mean 'poi_id'?"),
        ("entry: {hop:", "entry: {hops:", "check.entry.hops: visible.output_schema has no 'merchants.*.hops'", "did you mean 'hop'?"),
        ("path: merchants, entry", "path: shops, entry", "check.path: visible.output_schema has no 'shops'", "there are: merchants"),
        ("call: play", "call: plan", "of.call: no expected tool has the id or name 'plan'", "did you mean 'play'?"),
        ("call: play", "call: bite", "of.call: no call can ask for its own result: 'bite'", "name the call before it"),
        ("id: play}", "id: play, match: {query: {op: bound, call: bite, path: x}}}", "truth.tools[0].after: goes in a circle: play after bite after play", ""),
        ("landmark: Rowan Square}}]", "landmark: {op: bound, call: play, path: x}}}]", "landmark.call: call means an expected tool", "name a tool here"),
        ("[e1, {where", "[e2, {where", "evidence[0]: the case has no requirement 'e2'", ""),
        ("{where: {landmark: Rowan Square}}]", "{where: {}}]", "evidence[1]", ""),
        ("id: a\n", "id: a\nepisode: {calls: -1}\n", "episode.calls: found -1", ""),
        ("id: a\n", "id: a\nepisode: {call: 1}\n", "episode.call: is not a known field", "did you mean 'calls'?"),
    ],
)  # fmt: skip
def test_what_is_wrong_keeps_the_case_from_being_loaded(tmp_path, old, new, message, hint):
    with pytest.raises(SuiteError) as caught:
        opened(tmp_path, CASE.replace(old, new, 1))
    problem = caught.value.problems[0]
    assert message in problem.message
    assert problem.hint.startswith(hint)
    assert problem.line


@pytest.mark.parametrize(
    ("of_suite", "of_case", "calls"),
    [("", "", None), ("{calls: 5}", "", 5), ("{calls: 5}", "{calls: 2}", 2), ("{calls: 5}", "{calls: null}", None)],
)
def test_the_limit_of_a_case_goes_before_that_of_the_suite(tmp_path, of_suite, of_case, calls):
    manifest = f"{MANIFEST}episode: {of_suite}\n" if of_suite else MANIFEST
    case = f"{case_yaml('a')}episode: {of_case}\n" if of_case else case_yaml("a")
    assert opened(tmp_path, case, manifest).episode.calls == calls


def never_matching(root, case=CASE, tools=TOOLS):
    suite = open_suite(make_suite(root, {"a.yaml": case, "tools.yaml": tools, "suite.yaml": MANIFEST}))
    return [finding.problem.message for finding in lint(suite) if finding.rule == "never-matches"]


def test_an_entry_that_no_output_can_have_is_told(tmp_path):
    (message,) = never_matching(tmp_path, CASE.replace("entry: {hop: bite}", "entry: {hop: snack}"))
    assert message.endswith("check.entry.hop: none of the allowed values fits: 'play', 'bite'")


def test_a_value_that_will_be_found_may_be_any_that_a_parameter_allows(tmp_path):
    tools = TOOLS.replace("query: {type: string}", "query: {enum: [Rowan Square, Linden Gate]}")
    assert never_matching(tmp_path, tools=tools) == []
    equal = CASE.replace(
        "op: contains, of: {op: bound, call: play, path: merchants.*.landmark}", "op: bound, call: play, path: x"
    )
    assert never_matching(tmp_path / "equal", equal, tools) == []
