"""One canonical form for every way to write a value, and a kind refusal of what cannot have one."""

import contextlib
import json

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.model import ParameterMatch, UnfitError
from pytest_mapsat.sandbox import canonical

TYPES = ["text", "place", "number", "boolean", "enum", "set", "id", "lon", "lat", "point", "points", "time", "json"]

CITY = ParameterMatch(type="place", suffixes=("市",), prefixes=("河东省",), synonyms={"海城": ("haicheng", "123456")})
MODE = ParameterMatch(type="set", synonyms={"car": ("drive", "驾车")})


def form(kind, value):
    return canonical(value, ParameterMatch(type=kind))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("nothing", [None, "", "  ", [], {}])
def test_what_says_nothing_has_no_value(kind, nothing):
    assert form(kind, nothing) is None


@pytest.mark.parametrize(
    ("kind", "spellings"),
    [
        ("text", ["Shell gas-station", "shellgasstation", " ＳＨＥＬＬ　gas station! "]),
        ("number", [5, 5.0, "5", " 5.0 ", "5e0", "+5"]),
        ("boolean", [True, "true", "True", 1, "1", "yes", "是"]),
        ("enum", [1, 1.0, "1", " 1"]),
        ("set", [["a", "b"], ["b", "a"], "a,b", "b，a", '["a","b"]', ("a", "b", "a"), "A、b"]),
        ("id", ["B0 x", " B0 x "]),
        (
            "point",
            ["10,50", "10, 50", [10, 50], ["10", "50"], {"lon": 10, "lat": 50}, {"x": "10", "y": "50"}, "[10,50]"],
        ),
        ("points", [[{"x": 1, "y": 2}], '[{"x":"1","y":"2"}]', "1,2", "1,2;", [[1, 2]], [1, 2], {"lat": 2, "lon": 1}]),
        ("time", ["2026-05-26 09:00:00", "2026-05-26T09:00", "2026-05-2609:00:00", "2026/5/26 09:00"]),
        ("time", [1779757200000, "1779757200000", 1779757200, "2026-05-26T01:00:00Z", "2026-05-26 09:00:00+08:00"]),
        ("json", [{"b": [1, "2"], "a": None}, '{"b": ["1", 2.0]}', {"b": (1, 2)}]),
    ],
)
def test_spellings_of_one_value_have_one_form(kind, spellings):
    assert len({form(kind, spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("text", "11号线", "12号线"),
        ("id", "b0", "B0"),
        ("points", "1,2;3,4", "3,4;1,2"),
        ("time", "2026-05-26 09:00", "2026-05-26 09:00+08:00"),
        ("time", "2026-05-26", "2026-05-27"),
        ("number", 5, -5),
        ("set", "a,b", "a"),
    ],
)
def test_different_values_keep_different_forms(kind, one, other):
    assert form(kind, one) != form(kind, other)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("lon", "abc"),
        ("lon", 181),
        ("lat", -91),
        ("lat", True),
        ("number", "1,000"),
        ("number", "5km"),
        ("number", float("nan")),
        ("number", float("inf")),
        ("number", 10**400),
        ("number", "1_000"),
        ("number", [5]),
        ("boolean", "maybe"),
        ("boolean", 2),
        ("text", {"a": 1}),
        ("text", "x" * 30_000),
        ("id", True),
        ("point", "10"),
        ("point", "50,100"),
        ("point", {"x": 1}),
        ("points", "1,2;x"),
        ("points", 5),
        ("time", "tomorrow"),
        ("time", "2026-13-45"),
        ("time", "2026-05-26T09:00:00+99:99"),
        ("json", {"a": float("nan")}),
        ("json", {"a": object()}),
        ("set", [["a"]]),
    ],
)
def test_what_cannot_be_of_its_type_is_refused_with_what_was_expected(kind, value):
    with pytest.raises(UnfitError, match=r"\w"):
        form(kind, value)


def test_a_place_loses_declared_beginnings_and_endings_but_never_all_of_its_name():
    assert {
        canonical(name, CITY) for name in ("海城", "海城市", "河东省/海城市", "河东省海城", "Haicheng", 123456)
    } == {"海城"}
    assert canonical("市", CITY) == "市"
    assert canonical("河东省", CITY) == "河东省"
    assert canonical("河西省海城市", CITY) != "海城"


def test_members_of_a_set_have_their_head_word():
    assert canonical(["Drive", "walk"], MODE) == canonical("驾车,walk", MODE) == ("car", "walk")


def test_synonyms_in_a_circle_end():
    rule = ParameterMatch(type="enum", synonyms={"a": ("b",), "b": ("a",)})
    assert canonical("a", rule) in {"a", "b"}


def nested(depth, wrap):
    value = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "hostile",
    [
        nested(500, lambda value: [value]),
        nested(500, lambda value: {"a": value}),
        "[" * 15_000,
        '{"a":' * 3_000,
        "9" * 15_000,
        "\ud800",
        "\udfff,\ud800",
        "\0",
        "1" * 400 + "," + "2" * 400,
        [0] * 5_000,
        -0.0,
        1e308,
        object(),
        b"bytes",
        {1: 2},
        [[]],
        [None, ""],
    ],
    ids=range(17),
)
def test_hostile_values_are_refused_or_taken_but_never_crash(kind, hostile):
    with contextlib.suppress(UnfitError):
        hash(form(kind, hostile))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@generated(300)
@given(kind=st.sampled_from(TYPES), value=JSON)
def test_a_canonical_value_is_hashable_and_its_own_canonical_form(kind, value):
    try:
        once = form(kind, value)
    except UnfitError:
        return
    hash(once)
    assert form(kind, once) == once


@given(numbers=st.floats(-1e6, 1e6))
def test_a_number_and_its_text_are_the_same(numbers):
    assert form("number", numbers) == form("number", repr(numbers)) == form("number", f" {numbers!r} ")


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), st.integers() | st.text(max_size=5), max_size=5)
)
def test_json_does_not_depend_on_the_order_of_keys_or_on_being_text(value):
    turned = dict(reversed(list(value.items())))
    assert form("json", value) == form("json", turned) == form("json", json.dumps(turned, indent=2))


@given(st.text(max_size=30), st.integers(0, 30))
def test_spaces_anywhere_do_not_change_a_text(text, at):
    stripped = "".join(text.split())
    assert form("text", stripped[:at] + " \n" + stripped[at:]) == form("text", stripped)
