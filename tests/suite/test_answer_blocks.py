"""Tables and ``answer`` blocks that do not fit each other: found when the suite is opened, each with its line."""

import json

import pytest
from suite_maker import case_yaml, make_suite

from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import open_suite

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


def test_a_row_of_words_that_is_none_is_told_with_its_line(tmp_path):
    found = problems(suite(tmp_path, words=rows({"absent": ["the"]}, {"sort": "shop"}, {"near": "by"})))
    assert ["state/words.jsonl:2: a row of words has sort with words" in found[0], "near: found 'by'" in found[1]] == [
        True,
        True,
    ]


def test_a_file_of_overlays_is_refused_with_where_its_lines_belong(tmp_path):
    (found,) = problems(suite(tmp_path, overlays=rows({"overlay": "one", "table": "places", "add": [{"id": "c"}]})))
    assert "state/overlays.jsonl: rows that single cases change belong into these cases: world, with rows" in found


def test_a_column_that_the_tool_declares_may_be_one_of_single_cases(tmp_path):
    tool = TOOL.replace("show: [id, name]", "show: [id, stars]")
    with pytest.raises(SuiteError, match="has a column 'stars'"):
        open_suite(suite(tmp_path / "a", tool=tool))
    declared = f"{tool}entities: [{{items: places, name: name, id: id, fields: {{stars: rating}}}}]\n"
    assert open_suite(suite(tmp_path / "b", tool=declared)).tools["near"].answer.show == ("id", "stars")
