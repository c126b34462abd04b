"""Tables, overlays and ``answer`` blocks that do not fit each other: found when the suite is opened, each with its line."""

import json

import pytest
from suite_maker import case_yaml, make_suite

from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import lint, open_suite

TOOL = """\
name: near
description: Find places.
parameters: {type: object, properties: {query: {type: string}, lon: {}, lat: {}}}
match: {lon: {type: lon, pair: lat}, lat: {type: lat}}
answer:
  kind: rows
  table: places
  where:
    query: {op: words, name: [name], words: words}
    lon: {op: around, within: 500}
  items: found
  show: [id, name]
"""
ROUTE = """\
name: way
description: Find a way.
parameters: {type: object, properties: {origin: {}, destination: {}, mode: {}}}
match: {origin: {type: point}, destination: {type: point}, mode: {type: enum}}
answer: {kind: routes, ways: ways, metres: m, minutes: min, local: {walking: {detour: 1.2, m_per_min: 75}}}
"""
PLACE = {"id": "a", "name": "Quay Books", "lon": 10.0, "lat": 50.0}
WAY = {"from": "10,50", "to": "10.1,50", "mode": "walking", "via": "Quay", "m": 100, "min": 2}


def rows(*found):
    return "".join(f"{json.dumps(row)}\n" for row in found)


def suite(root, *, tool=TOOL, **tables):
    state = {"places": rows(PLACE), "words": rows({"absent": ["the"]}), **tables}
    files = {f"state/{name}.jsonl": text for name, text in state.items()}
    return make_suite(root, {"one.yaml": case_yaml("one"), "tools/near.yaml": tool, **files})


def problems(root):
    with pytest.raises(SuiteError) as caught:
        open_suite(root)
    return [str(problem) for problem in caught.value.problems]


def test_a_suite_that_fits_opens(tmp_path):
    opened = open_suite(suite(tmp_path))
    assert opened.tools["near"].answer.table == "places"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("table: places", "table: place", "there is no table 'place', which state/place.jsonl would hold (did you mean 'places'?)"),
        ("show: [id, name]", "show: [id, nmae]", "no row of the table places has a column 'nmae' (did you mean 'name'?)"),
        ("name: [name]", "name: [title]", "no row of the table places has a column 'title'"),
        ("words: words", "words: wordz", "there is no table 'wordz'"),
        ("lon: {op: around", "long: {op: around", "the tool has no parameter 'long' (did you mean 'lon'?)"),
        ("within: 500", "within: radius", "the tool has no parameter 'radius'"),
        ("op: around, within: 500", "op: refers, column: id, to: {table: towns}", "there is no table 'towns'"),
    ],
)  # fmt: skip
def test_an_answer_block_that_names_what_is_not_there_is_told_with_file_and_line(tmp_path, before, after, told):
    (found, *_) = problems(suite(tmp_path, tool=TOOL.replace(before, after)))
    assert "tools/near.yaml:1: near: answer: " in found
    assert told in found


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ({"from": "here"}, "from: found 'here', expected a point"),
        ({"m": "far"}, "m: found 'far', expected a number, not below 0"),
        ({"min": -1}, "min: found -1, expected a number, not below 0"),
        ({"mode": "flying"}, "mode: found 'flying', expected one of walking"),
        ({"closed": ["8", "9"]}, "closed: found ['8', '9'], expected two times of day"),
    ],
)
def test_a_way_that_is_none_is_told_with_its_line(tmp_path, way, told):
    root = suite(tmp_path, tool=f"{TOOL}---\n{ROUTE}", ways=rows(WAY, {**WAY, **way}))
    (found,) = problems(root)
    assert "state/ways.jsonl:2: " in found
    assert told in found


def test_a_timetable_that_is_none_is_told_with_its_line(tmp_path):
    tool = f"{TOOL}  compute: {{next: {{op: next_times, column: times}}}}\n"
    good, bad = {"id": "b", "times": {"09": ["05"]}}, {"id": "c", "times": {"9 am": ["05"]}}
    (found,) = problems(suite(tmp_path / "a", tool=tool, places=rows(PLACE, good, bad)))
    assert "state/places.jsonl:3: times: found " in found
    late = {"overlay": "one", "table": "places", "where": {"id": "b"}, "set": {"times": "late"}}
    (found,) = problems(suite(tmp_path / "b", tool=tool, places=rows(PLACE, good), overlays=rows(late)))
    assert "state/overlays.jsonl:1: times: found " in found


def test_a_row_of_words_that_is_none_is_told_with_its_line(tmp_path):
    found = problems(suite(tmp_path, words=rows({"absent": ["the"]}, {"sort": "shop"}, {"near": "by"})))
    assert ["state/words.jsonl:2: a row of words has sort with words" in found[0], "near: found 'by'" in found[1]] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([{"overlay": "one", "table": "places", "where": {"id": ["a", "b"]}, "hide": True}], "no row of places that is meant has id 'b'"),
        ([{"overlay": "one", "table": "place", "add": [{"id": "c"}]}], "there is no table 'place' (did you mean 'places'?)"),
        ([{"overlay": "one", "like": ["rain"], "hide": True}], "like: is not a known field"),
        ([{"overlay": "one", "table": "places"}], "found none, expected one of set, hide, add"),
        ([{"overlay": "one", "table": "places", "hide": True}], "set and hide need where"),
        ([{"overlay": "one", "table": "places", "add": [{"id": "c"}], "hid": True}], "hid: is not a known field"),
    ],
)  # fmt: skip
def test_an_overlay_that_cannot_be_laid_on_is_told_with_its_line(tmp_path, lines, told):
    (found, *_) = problems(suite(tmp_path, overlays=rows(*lines)))
    assert "state/overlays.jsonl:1: " in found
    assert told in found


def test_overlays_are_laid_on_in_their_order_and_lint_tells_those_of_no_case(tmp_path):
    lines = [
        {"overlay": "one", "table": "places", "where": {"id": "a"}, "set": {"name": "Wet Books", "open": False}},
        {"overlay": "two", "table": "places", "add": [{"id": "b"}]},
        {"overlay": "one", "table": "places", "where": {"id": "a"}, "set": {"name": "Dry Books"}},
        {"overlay": "nobody", "table": "places", "add": [{"id": "c"}]},
    ]
    opened = open_suite(suite(tmp_path, overlays=rows(*lines)))
    assert [line.set for line in opened.overlays("one")] == [lines[0]["set"], lines[2]["set"]]
    assert opened.overlays("three") == ()
    (first, second) = [str(one.problem) for one in lint(opened) if one.rule == "orphan"]
    assert "state/overlays.jsonl:2: the suite has no case 'two': nothing is changed" in first
    assert "state/overlays.jsonl:4: the suite has no case 'nobody': nothing is changed" in second


def test_a_column_that_only_overlays_give_is_one_of_the_table(tmp_path):
    line = {"overlay": "one", "table": "places", "add": [{"id": "c", "name": "C", "stars": 5}]}
    tool = TOOL.replace("show: [id, name]", "show: [id, stars]")
    assert open_suite(suite(tmp_path, tool=tool, overlays=rows(line))).tools["near"].answer.show == ("id", "stars")
