"""Literals of strangers: plain data comes over, nothing is evaluated, everything else is refused with its place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.formats import parse_literal

_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(_DATA)
def test_what_repr_writes_is_read_back(data):
    assert parse_literal(repr(data)) == data


def test_members_of_enums_are_their_names_and_tuples_lists():
    text = "{'status': <ToolStatus.SUCCESS: 0>, 'kind': <a.b.Kind.BUS: 'bus'>, 'data': ('<X.Y: 1>', (2,))}"
    assert parse_literal(text) == {"status": "SUCCESS", "kind": "BUS", "data": ["<X.Y: 1>", [2]]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("__import__('os').abort()", "found \"__import__('os').abort()\" at character 1"),
        ("[1, open('x')]", "at character 5"),
        ("1-1", "is not a Python literal"),
        ("'a' 'b'", "is not a Python literal"),
        ("nan", "found 'nan'"),
        ("f'{x}'", "at character 1"),
        ("[1, 2", "is not a Python literal"),
        ("[1,,2]", "is not a Python literal"),
        ("<A.B: 0", "at character 1"),
        ("<A.B: print()>", "at character 1"),
        ("{1: 2}", "is not a Python literal of plain data"),
        ("{'a': 1, 'a': 2}", "the key 'a' occurs twice"),
        ("{1, 2}", "is not a Python literal of plain data"),
        ("[" * 70 + "]" * 70, "more than 64 deep"),
        ("9" * 500, "a number of 500 characters"),
        ("'" + "x" * 9_000_000 + "'", "more than the 8388608 that are read"),
        (r"'\ud800'", "half of a character"),
        ("1e999", "the number '1e999' is too large"),
        ("", "is not a Python literal"),
    ],
)  # fmt: skip
def test_everything_else_is_refused(text, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_literal(text)
