"""Lint of a search in several steps: the oracle's queries find their evidence, need what was found before, and the question gives nothing away."""

import json

import pytest
from suite_maker import make_suite, recording_line

from pytest_mapsat.suite import lint, open_suite

MANIFEST = """\
name: town
version: "1"
license: MIT
schema_version: 1
language: en
domains: {search: find places}
"""
TOOLS = """\
- name: search
  description: Finds shops.
  parameters: {type: object, properties: {query: {type: string}}}
  entities: [{items: shops, name: name, id: poi_id, fields: {category: kind, landmark: text, rating: rating}}]
- name: weather
  description: Says the weather.
  parameters: {type: object, properties: {}}
"""
CASE = {
    "id": "a",
    "domains": ["search"],
    "difficulty": "L3",
    "attributes": {"hops": "2"},
    "visible": {
        "query": "A play on Saturday, and noodles close to it.",
        "output_schema": {
            "type": "object",
            "properties": {"shops": {"type": "array", "items": {"type": "object"}}},
        },
    },
    "truth": {
        "output": {"shops": [{"hop": "bite", "poi_id": "B1"}]},
        "requirements": [
            {
                "id": "e1",
                "kind": "asked",
                "text": "The bite is a noodle bar.",
                "check": {
                    "kind": "output", "path": "shops", "entry": {"hop": "bite"}, "id": "poi_id", "tool": "search",
                    "where": {"category": "noodle bar"},
                },
            }
        ],
        "tools": [
            {"name": "search", "id": "play", "match": {"query": "theatre"}, "evidence": {"where": {"category": "theatre"}}},
            {
                "name": "search",
                "id": "bite",
                "after": ["play"],
                "evidence": ["e1", {"where": {"category": "noodle bar", "landmark": "Rowan Square"}}],
                "match": {"query": {"op": "contains", "of": {"op": "bound", "call": "play", "path": "shops.*.landmark"}}},
            },
        ],
        "user": {"answers": [{"asked": ["price"], "say": "Any price."}]},
        "oracle": [
            {
                "calls": [
                    {"tool": "search", "arguments": {"query": "theatre"}},
                    {"tool": "search", "arguments": {"query": "noodle bar near Rowan Square"}},
                ],
                "say": "See the play at Lantern Stage, then eat at Amber Bowl.",
            }
        ],
    },
}  # fmt: skip
STAGE = {"poi_id": "P1", "name": "Lantern Stage", "category": "theatre", "landmark": "Rowan Square", "rating": 4.6}
BOWL = {"poi_id": "B1", "name": "Amber Bowl", "category": "noodle bar", "landmark": "Rowan Square", "rating": 4.7}
OTHERS = [
    {
        "poi_id": f"X{number}",
        "name": f"Copper Cup {number}",
        "category": "cafe",
        "landmark": "Linden Gate",
        "rating": 4.0,
    }
    for number in range(20)
]


def findings(root, *changes, bars=(BOWL,), manifest=MANIFEST):
    """The warnings and errors of a suite whose case differs in some texts."""
    text = json.dumps(CASE)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    query = json.loads(text)["truth"]["oracle"][0]["calls"][1]["arguments"]["query"]
    results = [("theatre", [STAGE]), (query, list(bars))]
    lines = [recording_line("a", "search", {"query": asked}, {"shops": rows}) for asked, rows in results]
    files = {"a.jsonl": text + "\n", "suite.yaml": manifest, "tools.yaml": TOOLS, "recordings/a.jsonl": "".join(lines)}
    suite = open_suite(make_suite(root, files))
    return [one for one in lint(suite, dialogues=True) if one.severity != "note"]


def test_a_sound_search_has_no_findings(tmp_path):
    assert findings(tmp_path) == []


def test_evidence_below_the_first_twenty_rows_is_not_found(tmp_path):
    (finding,) = findings(tmp_path, bars=(*OTHERS, BOWL))
    assert finding.rule == "hop-evidence"
    assert 'search(query="noodle bar near Rowan Square") finds only below the first 20 rows' in finding.problem.message


def test_a_result_without_the_evidence_is_told(tmp_path):
    rules = {finding.rule: finding.problem.message for finding in findings(tmp_path, bars=(*OTHERS[:3], STAGE))}
    assert "finds no row of its evidence" in rules["hop-evidence"]


@pytest.mark.parametrize(
    ("query", "rule", "message"),
    [
        ("Noodles near ROWAN SQUARE.", "hop-guessable", "bite needs no earlier result: 'Rowan Square', which query must hold"),
        ("Is Amber Bowl open late?", "question-tells", "the question names evidence of bite: 'Amber Bowl'"),
        ("Is B1 open late?", "question-tells", "the question names evidence of bite: 'B1'"),
    ],
)  # fmt: skip
def test_a_question_that_gives_it_away_is_told(tmp_path, query, rule, message):
    (finding,) = findings(tmp_path, (CASE["visible"]["query"], query))
    assert finding.rule == rule
    assert message in finding.problem.message
    assert finding.problem.line


def test_an_oracle_with_more_calls_than_the_episode_allows_is_told(tmp_path):
    (finding,) = findings(tmp_path, manifest=f"{MANIFEST}episode: {{calls: 1}}\n")
    assert finding.rule == "oracle-miss"
    assert finding.problem.message.endswith(
        "which is an error: this episode allows 1 tool call, and none is left: answer the user now, with what you have"
    )


EQUAL = (
    '{"op": "contains", "of": {"op": "bound", "call": "play", "path": "shops.*.landmark"}}',
    '{"op": "bound", "call": "play", "path": "shops.*.landmark"}',
)


def test_equality_that_the_oracles_own_call_never_keeps_is_told(tmp_path):
    (finding,) = findings(tmp_path, EQUAL)
    assert finding.rule == "oracle-tools"
    assert (
        "the oracle does not fulfil bite: query is 'theatre' or 'noodle bar near Rowan Square'"
        in finding.problem.message
    )
    assert "expected equal to shops.*.landmark of the result of play" in finding.problem.message
    assert finding.problem.hint.startswith("bound means equal: {op: contains, of:")


def test_equality_that_holds_is_sound(tmp_path):
    assert findings(tmp_path, EQUAL, ("noodle bar near Rowan Square", "Rowan Square")) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"match": {"query": "theatre"}', '"match": {"query": "cinema"}', "does not fulfil play: query is 'theatre' or 'noodle bar near Rowan Square', expected equal to 'cinema'"),
        ('"match": {"query": "theatre"}', '"required": ["city"]', "does not fulfil play: no call of search gives city"),
        ('"after": ["play"]', '"after": ["play", "late"]', "does not fulfil late: it never calls weather"),
    ],
)  # fmt: skip
def test_the_first_hop_that_the_oracle_does_not_fulfil_is_told(tmp_path, old, new, message):
    late = ('"tools": [{', '"tools": [{"name": "weather", "id": "late"}, {') if "late" in new else ("Any", "Any")
    (finding,) = (one for one in findings(tmp_path, (old, new), late) if one.rule == "oracle-tools")
    assert message in finding.problem.message


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("shops.*.landmark", "shops.*.landmrk", "did you mean 'landmark'?"),
        ('"landmark": "Rowan Square"}}', '"landmrk": "Rowan Square"}}', "did you mean 'landmark'?"),
        ('"where": {"category": "noodle bar"}}', '"where": {"categry": "noodle bar"}}', "did you mean 'category'?"),
    ],
)
def test_a_path_that_no_row_has_is_an_error(tmp_path, old, new, path):
    found = [finding for finding in findings(tmp_path, (old, new)) if finding.rule == "no-such-path"]
    assert [(finding.severity, finding.problem.hint) for finding in found] == [("error", path)]


ONE_HOP = {**CASE, "truth": {**CASE["truth"], "tools": CASE["truth"]["tools"][:1]}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"attributes": {"hops": "3"}}, "it says 3 hops, and truth.tools has 2"),
        ({"difficulty": "L1"}, "it says L1, and L1 is one search with at most 2 conditions: this has 2 hops"),
        ({"difficulty": "L2 - Advanced"}, "it says L2, and L2 is one search with 3 conditions or more"),
        ({"difficulty": "L4"}, "it says L4, and L4 is personalised or an open plan"),
        ({"difficulty": "L5"}, "it says L5, and L5 works across platforms"),
        ({"difficulty": "hard"}, ""),
        ({"truth": ONE_HOP["truth"], "attributes": {}}, "it says L3, and L3 has a composite requirement: this has one hop"),
        ({"truth": ONE_HOP["truth"], "attributes": {}, "difficulty": "L1"}, ""),
    ],
)  # fmt: skip
def test_the_level_agrees_with_table_5_in_suites_of_local_search(tmp_path, changes, message):
    case = {**CASE, **changes}
    for metrics, told in (("local", message), ("msb", "")):
        files = {
            "a.jsonl": json.dumps(case) + "\n",
            "suite.yaml": f"{MANIFEST}metrics: [{metrics}]\n",
            "tools.yaml": TOOLS,
        }
        suite = open_suite(make_suite(tmp_path / metrics, files))
        found = [finding.problem.message for finding in lint(suite) if finding.rule in ("level", "hops")]
        assert len(found) == bool(told)
        assert told in "".join(found)
