"""Common requirements: written once, taken with ``use``, filled from a case's ``vars``; what is wrong is told with both places."""

import json
import os
import textwrap

import pytest
from suite_maker import MANIFEST, make_suite

from pytest_mapsat.cli import main
from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import lint, open_suite

COMMON = """\
money:
  kind: fact
  text: {en: "No sum above {{most}} yuan, {{why}}", zh: "不超过{{most}}元，{{why}}"}
  check: {kind: number, unit: yuan, max: "{{most}}", if_absent: nothing_claimed}
phone:
  kind: fact
  id: phone-number
  text: Every telephone number is right
  check: {kind: grounded, claims: [phone]}
facts: {use: [money, phone]}
named:
  kind: hard
  text: The place is named
  check: {kind: says, any: "{{names}}"}
nice: {kind: soft, text: It is nice, weight: 0.5}
asked: {kind: asked, text: What is asked for is there}
once: {kind: policy, text: It looks once, check: {kind: calls, tool: find, at_most: 1}}
"""
CASE = """\
id: short
visible: {{query: somewhere to eat}}
vars: {vars}
truth:
  requirements:
    - {{id: e1, kind: asked, text: a place is named}}
  use: {use}
"""
VALUES = "{most: 64, why: what the dearest place takes, names: [Fern Hall]}"


def short_case(use, values="{}"):
    return CASE.format(use=use, vars=values)


def suite_of(root, case, common=COMMON, name="search/a.yaml", manifest=MANIFEST):
    files = {
        name: case,
        "requirements/all.yaml": common,
        "suite.yaml": manifest.replace("language: zh", "language: en"),
    }
    return open_suite(make_suite(root, files))


def loaded(suite):
    return [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]


def problems_of(root, *arguments, **options):
    with pytest.raises(SuiteError) as caught:
        loaded(suite_of(root, *arguments, **options))
    return [str(problem).removeprefix(f"{root}{os.sep}") for problem in caught.value.problems]


def test_a_case_takes_common_requirements_behind_its_own_in_the_order_of_use(tmp_path):
    use = "[once, facts, nice, named, asked]"
    (case,) = loaded(suite_of(tmp_path, short_case(use, VALUES)))
    truth = case.truth
    assert [one.id for one in truth.asked] == ["e1", "asked"]
    assert [(one.id, one.kind) for one in truth.implicit] == [("nice", "soft"), ("named", "hard")]
    assert [one.id for one in truth.facts] == ["money", "phone-number"], "each once, however often it is used"
    assert [one.id for one in truth.policies] == ["once"]
    assert [one.id for one in truth.by_kind] == ["e1", "asked", "nice", "named", "money", "phone-number", "once"]


def test_values_keep_their_type_where_they_stand_alone_and_are_text_within_text(tmp_path):
    (case,) = loaded(suite_of(tmp_path, short_case("[money, named]", VALUES)))
    money, named = case.truth.facts[0], case.truth.implicit[0]
    assert money.text == "No sum above 64 yuan, what the dearest place takes"
    assert money.check.max == 64
    assert named.check.any == ("Fern Hall",)


def test_a_value_is_not_filled_in_turn(tmp_path):
    (case,) = loaded(suite_of(tmp_path, short_case("[money]", '{most: 64, why: "{{most}}"}')))
    assert case.truth.facts[0].text == "No sum above 64 yuan, {{most}}"


@pytest.mark.parametrize(
    ("language", "text"), [("zh", "不超过64元，贵"), ("zh-CN", "不超过64元，贵"), ("en", "No sum above 64 yuan, 贵")]
)
def test_the_text_is_that_of_the_language_of_the_case(tmp_path, language, text):
    case = f"language: {language}\n" + short_case("[money]", "{most: 64, why: 贵}")
    assert loaded(suite_of(tmp_path, case))[0].truth.facts[0].text == text


def test_a_short_case_is_the_same_as_the_one_written_in_full(tmp_path):
    full = """\
        id: short
        domains: [search]
        visible: {query: somewhere to eat, instructions: Be brief.}
        truth:
          requirements:
            - {id: e1, kind: asked, text: a place is named}
            - id: money
              kind: fact
              text: No sum above 64 yuan, what the dearest place takes
              check: {kind: number, unit: yuan, max: 64, if_absent: nothing_claimed}
        """
    manifest = MANIFEST + "instructions: Be brief.\n"
    values = "{most: 64, why: what the dearest place takes}"
    (short,) = loaded(suite_of(tmp_path / "short", short_case("[money]", values), manifest=manifest))
    (long,) = loaded(suite_of(tmp_path / "long", textwrap.dedent(full), name="any/a.yaml"))
    assert short == long


def test_a_case_in_jsonl_is_spelt_out_like_one_in_yaml(tmp_path):
    data = {"id": "line", "vars": {"most": 9, "why": "x"}, "visible": {"query": "q"}, "truth": {"use": ["facts"]}}
    suite = suite_of(tmp_path, json.dumps(data) + "\n", name="search/a.jsonl")
    (entry,) = suite.entries(tmp_path / "search" / "a.jsonl")
    case = suite.load(entry)
    assert entry.domains == case.domains == ("search",)
    assert [one.id for one in case.truth.facts] == ["money", "phone-number"]


def test_requirements_may_stand_in_the_manifest(tmp_path):
    manifest = MANIFEST + "common:\n  here: {kind: fact, text: It is so}\n"
    (case,) = loaded(suite_of(tmp_path, short_case("[here, phone]"), manifest=manifest))
    assert [one.id for one in case.truth.facts] == ["here", "phone-number"]


def test_the_instructions_of_a_case_win(tmp_path):
    manifest = MANIFEST + "instructions: Be brief.\n"
    case = 'id: a\nvisible: {query: q, instructions: ""}\ntruth: {}\n'
    assert loaded(suite_of(tmp_path, case, manifest=manifest))[0].visible.instructions == ""


@pytest.mark.parametrize(
    ("path", "said", "domains"),
    [
        ("search/x/a.yaml", "", ("search",)),
        ("other/a.yaml", "", ()),
        ("search/a.yaml", "domains: []\n", ()),
        ("search/a.yaml", "domains: [navigation]\n", ("navigation",)),
    ],
)
def test_the_domain_may_come_from_the_folder(tmp_path, path, said, domains):
    assert loaded(suite_of(tmp_path, said + "id: a\nvisible: {query: q}\ntruth: {}\n", name=path))[0].domains == domains


@pytest.mark.parametrize(
    ("use", "values", "told"),
    [
        (
            "[mony]",
            "{}",
            "search/a.yaml:7: truth.use[0]: the suite has no common requirement 'mony' (did you mean 'money'?)",
        ),
        ("phone", "{}", "search/a.yaml:7: truth.use: found 'phone', expected a list of ids of common requirements"),
        ("[phone]", "[1]", "search/a.yaml:3: vars: found [1], expected a mapping of names to values"),
        (
            "[phone]",
            "{most: 1}",
            "search/a.yaml:3: vars.most: no requirement that the case uses has {{most}} (leave it out)",
        ),
    ],
)
def test_what_is_wrong_in_the_case_is_told_with_its_line(tmp_path, use, values, told):
    assert problems_of(tmp_path, short_case(use, values)) == [told]


def test_a_value_with_a_wrong_name_is_told_from_both_ends(tmp_path):
    found = problems_of(tmp_path, short_case("[facts]", "{mots: 64, why: x}"))
    requirement = f"{tmp_path}{os.sep}requirements/all.yaml:1"
    assert found == [
        f"search/a.yaml:7: vars: 'most' is missing, which the common requirement money ({requirement}) asks for (did you mean 'mots'?)",
        "search/a.yaml:3: vars.mots: no requirement that the case uses has {{mots}} (did you mean 'most'?)",
    ]


def test_a_mistake_in_a_requirement_is_told_with_its_line_and_that_of_the_case(tmp_path):
    common = "odd:\n  kind: fact\n  text: It is odd\n  check:\n    kind: number\n    unit: yuna\n    max: 1\n"
    (found,) = problems_of(tmp_path, short_case("[odd]"), common)
    assert found.startswith(
        "requirements/all.yaml:6: truth.requirements[1].check.unit: found 'yuna', expected one of m, km"
    )
    assert f"; {tmp_path}{os.sep}search/a.yaml:7 uses it" in found
    assert "did you mean 'yuan'" in found


def test_a_tool_that_the_suite_has_not_is_told_where_the_requirement_stands(tmp_path):
    common = "odd:\n  kind: fact\n  text: It is odd\n  check: {kind: calls, tool: fnid}\n"
    (found,) = problems_of(tmp_path, short_case("[odd]"), common)
    assert found.startswith("requirements/all.yaml:4: truth.requirements[1].check.tool: the suite has no tool 'fnid'")
    assert "search/a.yaml:7 uses it (did you mean 'find'?)" in found


def test_a_value_that_does_not_fit_is_told_where_it_stands(tmp_path):
    (found,) = problems_of(tmp_path, short_case("[money]", "{most: much, why: x}"))
    assert found == "search/a.yaml:3: truth.requirements[1].check.max: found 'much', expected a number"


def test_a_list_inside_a_text_is_refused(tmp_path):
    (found,) = problems_of(tmp_path, short_case("[money]", "{most: 1, why: [x]}"))
    assert found.startswith("search/a.yaml:7: vars.why: found ['x'], expected text or a number")


def test_a_language_that_a_requirement_has_no_text_in_is_refused(tmp_path):
    (found,) = problems_of(tmp_path, "language: de\n" + short_case("[money]", "{most: 1, why: x}"))
    assert "has no text in de, the language of the case (it has en, zh)" in found


def test_two_requirements_of_one_id_are_refused(tmp_path):
    case = short_case("[phone]").replace("id: e1", "id: phone-number")
    (found,) = problems_of(tmp_path, case)
    assert found == "search/a.yaml:4: truth: two requirements have the id 'phone-number'"


def test_an_unknown_key_of_a_case_is_told_with_those_it_may_have(tmp_path):
    (found,) = problems_of(tmp_path, "id: a\nvars: {}\nvisible: {query: q}\ntruth:\n  uses: [phone]\n")
    assert found == "search/a.yaml:5: truth.uses: is not a known field (did you mean 'use'?)"


@pytest.mark.parametrize(
    ("common", "told"),
    [
        ("a: {use: [b]}\nb: {use: [c]}\nc: {kind: fact, text: x}\n", "requirements/all.yaml:1: use[0]: there is no common requirement 'b' that is not a group (it has c)"),
        ("all: {use: [fone]}\nphone: {kind: fact, text: x}\n", "requirements/all.yaml:1: use[0]: there is no common requirement 'fone' (did you mean 'phone'?)"),
        ("a: {kind: fact, text: x}\n---\na: {kind: fact, text: y}\n", "the common requirement 'a' occurs twice; first in "),
        ("- a\n", "requirements/all.yaml:1: common requirements are a mapping"),
        ("a: {}\n", "requirements/all.yaml:1: a common requirement has a kind (asked, hard, soft, fact, policy)"),
        ("a: {kind: fact}\n", "requirements/all.yaml:1: a requirement has a text"),
        ("a: {kind: hrad, text: x}\n", "requirements/all.yaml:1: kind: found 'hrad', expected one of asked, hard, soft, fact, policy (did you mean 'hard'?)"),
        ("a: {use: [b], text: x}\nb: {kind: fact, text: x}\n", "requirements/all.yaml:1: a group has nothing but use"),
        ("a: {kind: fact, text: x, chek: {}}\n", "requirements/all.yaml:1: chek: is not a known field (did you mean 'check'?)"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_requirements_is_told_when_the_suite_is_opened(tmp_path, common, told):
    with pytest.raises(SuiteError) as caught:
        suite_of(tmp_path, short_case("[]"), common)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{a + 1}}", "expected a name between the braces: nothing is computed"),
        ("{{ {{a}} }}", "expected a name between the braces: nothing is computed"),
        ("{{}}", "expected a name between the braces: nothing is computed"),
    ],
)
def test_nothing_is_computed_in_a_requirement(tmp_path, text, told):
    found = problems_of(tmp_path, short_case("[odd]"), f'odd: {{kind: fact, text: "{text}"}}\n')
    assert told in found[0]


def test_a_value_that_is_filled_in_over_and_over_does_not_grow_without_bounds(tmp_path):
    common = f'bomb: {{kind: fact, text: "{"{{a}}" * 3000}"}}\n'
    found = problems_of(tmp_path, short_case("[bomb]", f"{{a: {'x' * 1000}}}"), common)
    assert "the values from the case have more than 2097152 bytes" in found[0]


def test_requirements_count_in_the_fingerprint_and_must_not_change_under_a_run(tmp_path):
    suite = suite_of(tmp_path, short_case("[phone]"))
    before = suite.fingerprint()
    (entry,) = suite.entries(tmp_path / "search" / "a.yaml")
    file = tmp_path / "requirements" / "all.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "more: {kind: fact, text: x}\n", encoding="utf-8")
    assert open_suite(tmp_path).fingerprint() != before
    with pytest.raises(SuiteError, match=r"requirements.all\.yaml: changed while the run used it"):
        suite.load(entry)


def test_lint_tells_of_a_requirement_that_no_case_uses(tmp_path):
    found = [
        str(one)
        for one in lint(suite_of(tmp_path, short_case("[facts, named, once]", VALUES)))
        if one.rule == "unused-requirement"
    ]
    assert [line.removeprefix(f"{tmp_path}{os.sep}requirements") for line in found] == [
        f"{os.sep}all.yaml:15: no case uses the common requirement nice [note: unused-requirement]",
        f"{os.sep}all.yaml:16: no case uses the common requirement asked [note: unused-requirement]",
    ]


LISTS = """\
id: lists
visible: {query: somewhere to eat}
truth:
  requirements:
    - id: z1
      kind: hard
      text: near
      check: [{kind: says, any: [near]}, {kind: sayd}]
    - {id: z2, kind: soft, text: nice}
  user:
    - {asked: [where], say: near}
"""


def test_a_list_of_answers_is_a_user(tmp_path):
    (case,) = loaded(suite_of(tmp_path, LISTS.replace(", {kind: sayd}", "")))
    assert [answer.say for answer in case.truth.user.answers] == ["near"]
    assert case.truth.clarification is None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{kind: sayd}", "{kind: says, al: [x]}", "a.yaml:8: truth.requirements[0].check[1].al: is not a known field"),
        ("text: near", "severity: soft", "a.yaml:7: truth.requirements[0].severity: is not a known field"),
        ("say: near", "sya: near", "truth.user[0].sya: is not a known field (did you mean 'say'?)"),
    ],
)
def test_what_is_wrong_in_a_short_form_is_told_with_its_line(tmp_path, old, new, told):
    found = problems_of(tmp_path, LISTS.replace(old, new).replace(", {kind: sayd}", ""))
    assert any(told in problem for problem in found), found


def test_the_schema_of_a_case_knows_the_short_forms(capsys):
    assert main(["schema", "case"], rare=True) == 0
    schema = json.loads(capsys.readouterr().out)
    truth = schema["$defs"]["WrittenTruth"]["properties"]
    assert "vars" in schema["$defs"]["WrittenCase"]["properties"]
    assert {"use", "requirements"} <= truth.keys()
    answers = {"type": "array", "items": {"$ref": "#/$defs/ScriptedAnswer"}}
    assert answers in [rule["then"] for rule in truth["user"]["allOf"]]
    assert main(["schema", "requirements"], rare=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["$defs"]["CommonRequirement"]["properties"].keys() >= {"kind", "use", "text", "check"}
