"""Search in several steps: values that were found before, calls that fulfil an expected tool, and the rows of their results."""

import time

import pytest
from pydantic import TypeAdapter, ValidationError

from pytest_mapsat.model import ExpectedTool, Match, Step, Tool
from pytest_mapsat.sandbox import holds_evidence, hop_calls, returned_rows

MATCH = TypeAdapter(Match)
LANDMARK = {"op": "bound", "call": "play", "path": "merchants.*.landmark"}
SQUARE = {"poi_id": "P1", "name": "Lantern Stage", "landmark": "Rowan Square", "category": "theatre", "at": "13.4,52.5"}
PLAY = ExpectedTool(name="search", id="play", required=("query",), evidence={"where": {"category": "theatre"}})
SEARCH = Tool.model_validate(
    {
        "name": "search",
        "description": "Finds.",
        "parameters": {"type": "object"},
        "entities": [{"items": "merchants", "name": "name", "id": "poi_id"}],
    }
)


def bite(match, **fields):
    return ExpectedTool.model_validate({"name": "search", "id": "bite", "match": {"query": match}, **fields})


def search(query, *rows, status="ok"):
    return Step(kind="call", tool="search", arguments={"query": query}, result={"merchants": list(rows)}, status=status)


THEATRES = search("theatre", SQUARE, {"poi_id": "P2", "landmark": ""}, {"poi_id": "P3", "landmark": None})


@pytest.mark.parametrize(
    ("query", "fulfilled"),
    [
        ("noodle bar near Rowan Square", True),
        ("NOODLE BAR, rowan-square", True),
        ("ｎｏｏｄｌｅ ｂａｒ near Ｒｏｗａｎ Ｓｑｕａｒｅ", True),
        ("noodle bar near Linden Gate", False),
        ("", False),
        (7, False),
    ],
)
def test_a_query_holds_what_an_earlier_hop_found_in_any_case_and_script(query, fulfilled):
    tools = [PLAY, bite({"op": "contains", "of": LANDMARK})]
    assert hop_calls(tools, [THEATRES, search(query)])[1] == ({1: 0} if fulfilled else {})


def test_chinese_queries_hold_what_was_found():
    found = search("剧场", {"poi_id": "P1", "landmark": "钟楼广场"})
    tools = [PLAY, bite({"op": "contains", "of": LANDMARK})]
    assert hop_calls(tools, [found, search("钟楼广场附近的面馆")])[1] == {1: 0}
    assert hop_calls(tools, [found, search("钟楼附近的面馆")])[1] == {}


def test_a_found_value_of_a_tool_needs_no_hop():
    match = MATCH.validate_python(
        {"op": "contains", "of": {"op": "bound", "tool": "search", "path": "merchants.*.landmark"}}
    )
    assert match.fits("bars at Rowan Square", results=[THEATRES]) is True
    assert match.fits("bars at Linden Gate", results=[THEATRES]) is False
    assert match.fits("bars at Rowan Square") is None


@pytest.mark.parametrize("before", [[], [search("theatre")], [search("theatre", SQUARE, status="error")]])
def test_nothing_holds_what_no_hop_found(before):
    tools = [PLAY, bite({"op": "contains", "of": LANDMARK})]
    assert hop_calls(tools, [*before, search("bar near Rowan Square")])[1] == {}


def test_an_answer_that_a_record_does_not_tell_leaves_the_match_open():
    untold = search("theatre").model_copy(update={"status": "unknown", "result": None})
    tools = [PLAY, bite({"op": "contains", "of": LANDMARK})]
    assert hop_calls(tools, [untold, search("bar near Rowan Square")])[1] == {1: 1}


def test_only_calls_that_fulfil_the_hop_count_as_it():
    play = ExpectedTool.model_validate(
        {"name": "search", "id": "play", "match": {"query": {"op": "contains", "text": "theatre"}}}
    )
    tools = [play, bite({"op": "contains", "of": LANDMARK})]
    elsewhere = search("museum", {"poi_id": "P4", "landmark": "Linden Gate"})
    calls = [elsewhere, THEATRES, search("bar near Linden Gate"), search("bar near Rowan Square")]
    assert hop_calls(tools, calls) == [{1: 0}, {3: 0}]


def test_a_hop_comes_after_calls_that_fulfil_those_before_it():
    play = ExpectedTool.model_validate({"name": "search", "id": "play", "match": {"query": "theatre"}})
    tools = [bite("bar", after=["play"]), play]
    assert hop_calls(tools, [search("bar"), search("museum"), search("bar"), THEATRES, search("bar")]) == [
        {4: 0},
        {3: 0},
    ]


def test_a_call_over_the_limit_fulfils_nothing():
    assert hop_calls([PLAY], [search("theatre", status="over_limit")]) == [{}]


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ({"op": "contains"}, "contains needs text, or of"),
        ({"op": "contains", "text": "a", "of": LANDMARK}, "contains needs text, or of"),
        ({"op": "bound", "path": "a"}, "bound needs tool, or call"),
        ({"op": "bound", "tool": "a", "call": "b", "path": "a"}, "bound needs tool, or call"),
    ],
)
def test_a_match_with_too_much_or_too_little_is_refused(match, message):
    with pytest.raises(ValidationError, match=message):
        MATCH.validate_python(match)


def test_rows_are_what_a_tool_declares_to_list():
    listed = returned_rows(SEARCH, {"merchants": [SQUARE, {"name": "no id"}, "text", {"poi_id": 7, "name": "x"}]})
    assert [row.id for row in listed] == ["P1", "7"]
    assert listed[0].record == SQUARE
    assert returned_rows(SEARCH, None) == []


def test_a_result_holds_the_evidence_of_a_hop_among_its_first_rows():
    bars = [{"poi_id": f"B{number}", "category": "bar"} for number in range(20)]
    assert holds_evidence(PLAY, SEARCH, {"merchants": [*bars, SQUARE]}) is True
    assert holds_evidence(PLAY, SEARCH, {"merchants": [*bars, SQUARE]}, first=20) is False
    open_late = ExpectedTool(name="search", evidence=["late", {"where": {"hours": {"op": "open_at", "time": "23:00"}}}])
    assert holds_evidence(open_late, SEARCH, {"merchants": [{"poi_id": "P1", "hours": "late, mostly"}]}) is None
    assert holds_evidence(ExpectedTool(name="search", evidence=("late",)), SEARCH, {}) is True


def test_an_agent_that_searches_without_end_holds_nothing_up():
    rows = [{"poi_id": f"P{number}", "landmark": f"Square {number}"} for number in range(20)]
    tools = [PLAY, bite({"op": "contains", "of": LANDMARK}, after=["play"])]
    calls = [search(f"noodle bar {number}", *rows) for number in range(1000)]
    began = time.perf_counter()
    assert hop_calls(tools, [*calls, search("noodle bar near Square 7")])[1] == {1000: 0}
    assert time.perf_counter() - began < 10  # 0.2 s where each value is read once; two minutes where it is not
