"""Every match of the closed set, against values as agents and sandboxes write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pytest_mapsat.model import Match, Step, fits_row, same_value, values_at

MATCH = TypeAdapter(Match)


def holds(op, value, /, *, arguments=None, results=(), **fields):
    return MATCH.validate_python({"op": op, **fields}).fits(value, arguments=arguments, results=results)


@pytest.mark.parametrize(
    ("wanted", "value", "expected"),
    [
        ("5", 5, True),
        (5.0, "5", True),
        ("true", True, True),
        (True, 1, False),
        ("上海", "上海市", False),
        ("Shell Gas", " shell gas", True),
        ("ＡＢ", "ab", True),
        ([1, "2"], ["1", 2], True),
        ({"a": 1}, {"a": "1"}, True),
        ("a-1", "a1", False),
        (None, None, True),
        ("", None, False),
        (0, False, False),
    ],
)
def test_equal_compares_after_one_form(wanted, value, expected):
    assert holds("equal", value, value=wanted) is expected
    assert holds("one_of", value, values=["something else", wanted]) is expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("咖啡", "海边 咖啡店", True),
        ("gas station", "Shellgasstation", True),
        ("car", ["CAR", "walk"], True),
        ("car", ["racecar"], False),
        ("5", 15, True),
        ("5", None, False),
        ("true", True, False),
    ],
)
def test_contains_looks_into_text_and_lists(text, value, expected):
    assert holds("contains", value, text=text) is expected


def test_similar_needs_its_share():
    assert holds("similar", "光谷步行街(东门)", text="光谷步行街", at_least=0.7) is True
    assert holds("similar", "汉口火车站", text="光谷步行街") is False
    assert holds("similar", None, text="x") is False


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, True), ("5", True), (2.99, False), ("6", False), ("many", False), (None, False), (True, False)],
)
def test_between_includes_its_ends(value, expected):
    assert holds("between", value, min=3, max=5) is expected


def test_between_may_be_open_on_one_side():
    assert holds("between", 10**9, min=3) is True
    assert holds("between", -1, max=3) is True


@pytest.mark.parametrize(
    "value",
    [{"lon": 10, "lat": 50}, {"x": "10", "y": "50.0005"}, [10, 50], "10,50", "10.0005, 50", {"lng": 10, "lat": 50}],
)
def test_within_m_reads_every_form_of_a_point(value):
    assert holds("within_m", value, lon=10, lat=50, metres=100) is True
    assert holds("within_m", value, lon=10, lat=50.01, metres=100) is False


def test_within_m_takes_the_latitude_from_its_own_parameter():
    fields = {"lon": 10, "lat": 50, "metres": 10, "lat_from": "y"}
    assert holds("within_m", "10", arguments={"x": "10", "y": "50"}, **fields) is True
    assert holds("within_m", "10", arguments={"x": "10", "y": "51"}, **fields) is False
    assert holds("within_m", "10", arguments={"x": "10"}, **fields) is False
    assert holds("within_m", "10", **fields) is None


@pytest.mark.parametrize("value", [None, "x", 5, [1], {"x": 1}, "200,100"])
def test_what_is_no_point_lies_nowhere(value):
    assert holds("within_m", value, lon=10, lat=50, metres=1e9) is False


RESULTS = (
    Step(kind="thought", text="..."),
    Step(kind="call", tool="search", result={"pois": [{"id": "B1", "cost": "40"}, {"id": "B2"}]}),
    Step(kind="call", tool="search", result={"pois": [{"id": "B9"}]}, status="miss"),
)


def test_bound_finds_the_value_in_an_earlier_result():
    assert holds("bound", "b2", tool="search", path="pois.*.id", results=RESULTS) is True
    assert holds("bound", "B3", tool="search", path="pois.*.id", results=RESULTS) is False
    assert holds("bound", 41, tool="search", path="pois.*.cost", tolerance=0.05, results=RESULTS) is True
    assert holds("bound", 43, tool="search", path="pois.*.cost", tolerance=0.05, results=RESULTS) is False


@pytest.mark.parametrize(("tool", "path"), [("other", "pois"), ("search", "nothing.here"), ("search", "pois.7.id")])
def test_bound_to_a_result_that_does_not_exist_cannot_be_said(tool, path):
    assert holds("bound", "B1", tool=tool, path=path, results=RESULTS) is None


def test_bound_does_not_trust_a_call_that_was_not_answered():
    assert holds("bound", "B9", tool="search", path="pois.*.id", results=RESULTS) is False


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_nothing_is_absent(value):
    assert holds("present", value) is False
    assert holds("absent", value) is True


@pytest.mark.parametrize("value", [0, False, "x", [0], {"a": None}])
def test_anything_else_is_present(value):
    assert holds("present", value) is True
    assert holds("absent", value) is False


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", [{"a": [{"b": 1}, {"b": 2}, {}]}]),
        ("a.*.b", [1, 2]),
        ("a.1.b", [2]),
        ("*.0", [{"b": 1}]),
        ("a.b", []),
        ("a.9", []),
        ("x", []),
        ("a.*.b.*", []),
        ("a.-1", []),
    ],
)
def test_values_at_follows_keys_positions_and_stars(path, expected):
    assert values_at({"a": [{"b": 1}, {"b": 2}, {}]}, path) == expected


def test_values_at_ends_on_a_large_result():
    assert len(values_at([[0] * 1000] * 1000, "*.*")) == 10_000


def test_a_value_nested_beyond_measure_cannot_be_said():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert holds("equal", deep, value=5) is None


OPS = st.sampled_from(
    [
        {"op": "equal", "value": "x"},
        {"op": "one_of", "values": [1, "x"]},
        {"op": "contains", "text": "x"},
        {"op": "similar", "text": "x"},
        {"op": "between", "min": 1},
        {"op": "within_m", "lon": 1, "lat": 1, "metres": 5},
        {"op": "within_m", "lon": 1, "lat": 1, "metres": 5, "lat_from": "y"},
        {"op": "open_at", "time": "08:00"},
        {"op": "bound", "tool": "search", "path": "pois.*.id"},
        {"op": "present"},
        {"op": "absent"},
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(OPS, VALUES)
def test_no_value_makes_a_match_raise(match, value):
    assert MATCH.validate_python(match).fits(value, arguments={"y": value}, results=RESULTS) in (
        True,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Route-Constrained Planning", "route_constrained planning", True),
        ("五棵松(地铁站)", "五棵松（地铁站） ", True),
        ("5", 5.0, True),
        ("3.5", "35", False),
        ("10.0,50.0", {"lon": 10, "lat": 50}, True),
        ("10,50", "10.001,50", False),
        ("09:00", "9:00", True),
        ("09:00", "900", False),
        ("2026-06-10", "2026-06-11", False),
        ({"a": ["X", 1]}, {"a": ["x", "1"]}, True),
        (["a", "b"], ["b", "a"], False),
        (True, 1, False),
        (None, "", False),
    ],
)
def test_values_that_are_spelt_otherwise_say_the_same(one, other, same):
    assert same_value(one, other) is same
    assert same_value(other, one) is same


ORDER = {
    "shop": "Thai Garden",
    "items": [{"dish": "Pad Thai", "count": 2}, {"dish": "soup", "count": "1", "extras": ["lime"]}],
    "a.b": 7,
}


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        ({"items.*.dish": "soup"}, True),
        ({"items.0.dish": "soup"}, False),
        ({"items.*.dish": "rice"}, False),
        ({"items.*.price": {"op": "absent"}}, True),
        ({"items.*.extras.*": "lime"}, True),
        ({"items.*.extras.*": "salt"}, False),
        ({"items.*.extras": {"op": "absent"}}, True),  # the first has none
        ({"items.*.dish": {"op": "absent"}}, False),
        ({"items.*.dish.name": {"op": "present"}}, False),
        ({"a.b": 7}, True),
        ({"items.*.dish": "soup", "items.*.count": 2}, True),
        ({"items.*.count": {"op": "bound", "tool": "menu", "path": "n"}, "shop": "another"}, False),
    ],
)
def test_paths_lead_into_the_arguments_of_a_call(matches, expected):
    assert (
        fits_row({path: TypeAdapter(Match).validate_python(match) for path, match in matches.items()}, ORDER)
        is expected
    )


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ("tea", "equal to 'tea'"),
        ([1, 2], "one of 1, 2"),
        ({"op": "between", "min": 1, "max": 2}, "between 1 and 2"),
        ({"op": "between", "max": 2}, "at most 2"),
        (
            {"op": "contains", "of": {"op": "bound", "tool": "find", "path": "pois.*.id"}},
            "containing pois.*.id of an earlier find result",
        ),
        ({"op": "open_at", "time": "21:30"}, "open at 21:30"),
        ({"op": "absent"}, "not given"),
    ],
)
def test_a_match_reads_behind_a_name(match: object, words: str) -> None:
    assert MATCH.validate_python(match).words() == words
