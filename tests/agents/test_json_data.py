import json

from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.agents import as_json, returned

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
ANYTHING = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.complex_numbers(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.integers() | st.text(), inner)
        | st.frozensets(st.integers())
    ),
)


@given(JSON)
def test_json_data_stays_what_it_is(value):
    assert as_json(value) == json.loads(json.dumps(value))


@given(ANYTHING)
def test_anything_becomes_text_that_can_be_written(value):
    json.dumps(as_json(value), allow_nan=False, ensure_ascii=False).encode()


def test_no_address_is_ever_shown():
    assert as_json([object(), {1, 2}, b"x", 10**5000]) == ["<object>", "<set>", "<bytes>", "<int>"]


def test_what_holds_itself_comes_to_an_end(monkeypatch):
    monkeypatch.setattr(returned, "_MAX_VALUES", 10_000)
    loop = []
    loop += [loop] * 3
    laughs = ["x"]
    for _ in range(40):
        laughs = [laughs] * 3
    assert "<too large>" in json.dumps(as_json(laughs))
    assert "<too" in json.dumps(as_json(loop))
