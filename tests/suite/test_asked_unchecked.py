"""Lint of what a query asks for: a way, an order, a number or a time has a check that fails without."""

import json

import pytest
from suite_maker import MANIFEST, make_suite

from pytest_mapsat.suite import asking, lint, open_suite

PLACE = {"kind": "recommends", "where": {"kind": "cafe"}}
TOOL = """\
name: get_route
description: The way.
parameters: {type: object, properties: {to: {type: string}}}
entities: [{items: routes, name: via, sort: road, fields: {m: distance}}]
"""


def found(root, query, *checks, language="en"):
    """Return the messages of the rule on a case with a query and the checks of what it asks for."""
    asked = [
        {"id": f"e{at}", "kind": "asked", "text": "asked", **({"check": check} if check else {})}
        for at, check in enumerate(checks)
    ]
    case = {"id": "a", "language": language, "visible": {"query": query}, "truth": {"requirements": asked}}
    files = {"suite.yaml": MANIFEST, "tools/t.yaml": TOOL, "a.jsonl": json.dumps(case) + "\n"}
    findings = [finding for finding in lint(open_suite(make_suite(root, files))) if finding.rule == "asked-unchecked"]
    assert all(finding.severity == "warning" for finding in findings)
    return [finding.problem.message for finding in findings]


@pytest.mark.parametrize(
    ("query", "language", "sort"),
    [
        ("A cafe, please, and the way there", "en", "way"),
        ("How do I walk to the pier?", "en", "way"),
        ("附近有公园吗，怎么走？", "zh", "way"),
        ("First a viewpoint, then a cafe", "en", "order"),
        ("先去花园，再去书店", "zh", "order"),
        ("A cafe near here. How far is it?", "en", "number"),
        ("附近哪有药店？走过去要多久？", "zh", "number"),
        ("Which bus, and when does it leave?", "en", "time"),
        ("坐哪路公交，几点发车？", "zh", "time"),
    ],
)
def test_a_query_that_asks_for_more_than_is_checked_is_warned_of(tmp_path, query, language, sort):
    assert asking(query, language) == [sort]
    (message,) = found(tmp_path, query, PLACE, language=language)
    assert f" {sort}, and no asked requirement has a check that fails without" in message


@pytest.mark.parametrize(
    "query",
    ["By the way, a cafe, please", "A cafe on the way home", "My first visit. A cafe?", "Whenever it suits, a cafe"],
)
def test_words_that_ask_for_nothing_of_the_kind_are_left_alone(tmp_path, query):
    assert asking(query, "en") == []
    assert found(tmp_path, query, PLACE) == []


MINUTES = {"kind": "number", "unit": "min", "min": 1}
ROAD = {"kind": "recommends", "tool": "get_route", "where": {"m": {"op": "present"}}}
ORDER = {"kind": "recommends", "in_order": [["A"], ["B"]]}
CLOCK = {"kind": "clock_time", "after": "08:00"}


@pytest.mark.parametrize(
    ("query", "check"),
    [
        ("How far is it?", MINUTES),
        ("Which road do I take?", ROAD),
        ("First A, then B", ORDER),
        ("When does it leave?", CLOCK),
        ("When does it leave?", {"kind": "any", "checks": [CLOCK, {"kind": "says", "any": ["now"]}]}),
        ("First A, then B, and how far is it?", None),
    ],
)
def test_a_check_that_fails_without_it_is_enough_and_so_is_a_requirement_for_a_judge(tmp_path, query, check):
    assert found(tmp_path, query, check) == []


@pytest.mark.parametrize(
    ("query", "check"),
    [
        ("How far is it?", MINUTES | {"if_absent": "nothing_claimed"}),
        ("How far is it?", ROAD),
        ("Which road do I take?", MINUTES),
        ("First A, then B", {"kind": "recommends", "all_of": [["A"], ["B"]]}),
    ],
)
def test_a_check_of_something_else_or_that_passes_without_it_is_not(tmp_path, query, check):
    assert len(found(tmp_path, query, check)) == 1
