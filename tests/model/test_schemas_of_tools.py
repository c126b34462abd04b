"""The schema of a tool, which comes from elsewhere: all of JSON Schema that such schemas have, and what is wrong in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.model import mismatches

STOP = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
BOOKING = {
    "type": "object",
    "properties": {
        "when": {"anyOf": [{"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}$"}, {"type": "null"}]},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}, "uniqueItems": True},
        "seat": {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]},
        "price": {"type": "number", "multipleOf": 0.1},
        "both": {"allOf": [{"minimum": 2}, {"maximum": 4}]},
        "name": {"type": "string", "not": {"enum": ["admin"]}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        "bag": {"type": "object", "minProperties": 1, "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
        "tree": {"$ref": "#/$defs/Tree"},
        "closed": False,
    },
    "$defs": {"Stop": STOP, "Tree": {"type": "object", "properties": {"below": {"$ref": "#/$defs/Tree"}, "n": {"type": "integer"}}}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ({"when": "9"}, "when: found '9', expected text in which ^[0-9]{2}:[0-9]{2}$ is found"),
        ({"when": 9}, "when: found 9, expected a string"),
        ({"stops": [{"name": "Quay"}, {}]}, "stops[1]: 'name' is missing"),
        ({"stops": [{"name": "Quay"}, {"name": "Quay"}]}, "expected no item twice"),
        ({"seat": 5}, "seat: found 5, expected a multiple of 2; or seat: found 5, expected a multiple of 3"),
        ({"seat": 6}, "seat: found 6, which matches 2 of the allowed forms; expected exactly one"),
        ({"price": 0.25}, "price: found 0.25, expected a multiple of 0.1"),
        ({"both": 5}, "both: found 5, expected at most 4"),
        ({"name": "admin"}, "name: found 'admin', which is ruled out"),
        ({"pair": [1, 1]}, "pair[0]: found 1, expected a string"),
        ({"pair": ["a", "b"]}, "pair[1]: found 'b', expected an integer"),
        ({"bag": {}}, "bag: found 0 members, expected at least 1"),
        ({"bag": {"x-a": 1}}, "bag.x-a: found 1, expected a string"),
        ({"bag": {"a": "1"}}, "bag.a: no field of this name is requested"),
        ({"tree": {"below": {"below": {"n": "x"}}}}, "tree.below.below.n: found 'x', expected an integer"),
        ({"closed": 1}, "closed: no field of this name is requested"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(call, told):
    (wrong,) = mismatches(BOOKING, call)
    assert told in wrong


def test_a_call_that_fits_has_no_mismatch():
    call = {"when": "09:30", "stops": [{"name": "Quay"}, {"name": "Mill"}], "seat": 4, "price": 0.3, "both": 3, "name": "Ada",
            "pair": ["a", 1], "bag": {"x-a": "1"}, "tree": {"below": {"n": 1}}}  # fmt: skip
    assert list(mismatches(BOOKING, call)) == []
    assert list(mismatches(BOOKING, {"when": None})) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"required": True},
        {"type": {"of": "object"}},
        {"type": [["string"], "object"]},
        {"type": "int"},
        {"properties": ["a"]},
        {"anyOf": "string"},
        {"$ref": "https://elsewhere.example/schema"},
        {"$ref": "#/no/such/part"},
        {"$ref": "#"},
        {"pattern": "(?=lookahead)"},
        {"pattern": "("},
        {"patternProperties": {"(?!x)": {"type": "string"}}, "additionalProperties": False},
        {"multipleOf": 0},
        {"multipleOf": 5e-324},
        {"minLength": "3"},
        {"minimum": "3"},
        {"items": [{"type": "string"}]},
        True,
        None,
    ],
)
@pytest.mark.parametrize("value", [{"a": 1}, ["a"], "a", 1, 2**1024 - 1, 1e300, float("inf"), None, True])
def test_what_is_wrong_in_the_schema_itself_is_nobodys_mismatch(odd, value):
    assert list(mismatches({"properties": {"value": odd}}, {"value": value})) == []


def test_a_schema_that_branches_without_end_is_read_so_far_and_no_further():
    branching = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "items": {"$ref": "#"}}
    assert list(mismatches(branching, [[[[1]]]])) == []


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 2.0])
    | st.sampled_from(["", "a", "ab", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
_TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])


def _schemas(inner):
    parts = st.lists(inner, min_size=1, max_size=2)
    keywords = {
        "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(_VALUES, min_size=1, max_size=3),
        "minimum": st.integers(-2, 2), "multipleOf": st.sampled_from([1, 2, 0.5]), "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "b$"]), "minItems": st.integers(0, 2), "uniqueItems": st.booleans(),
        "items": inner, "prefixItems": parts, "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True), "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2), "maxProperties": st.integers(0, 2),
        "allOf": parts, "anyOf": parts, "oneOf": parts, "not": inner, "$ref": st.just("#/$defs/x"),
    }  # fmt: skip
    names = st.lists(st.sampled_from(sorted(keywords)), max_size=3, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: keywords[name] for name in chosen}))


_SCHEMAS = st.recursive(st.booleans() | st.builds(dict, type=_TYPES), _schemas, max_leaves=6)


def _lists_null(schema):
    """Whether null stands among the values that some part allows beside a type: we take it for one of them."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return (isinstance(schema, dict) and "type" in schema and None in schema.get("enum", ())) or any(
        map(_lists_null, parts)
    )


def test_null_among_the_allowed_values_fits_beside_a_type_and_not_beside_another_part():
    assert list(mismatches({"type": "string", "enum": ["a", None]}, None)) == []
    assert list(mismatches({"$ref": "#/$defs/x", "enum": [None], "$defs": {"x": {"type": "string"}}}, None)) != []


@given(schema=_SCHEMAS.filter(lambda schema: not _lists_null(schema)), x=st.builds(dict, type=_TYPES), value=_VALUES)
def test_what_fits_is_what_fits_by_the_library_of_json_schema(schema, x, value):
    jsonschema = pytest.importorskip("jsonschema")
    whole = {"properties": {"value": schema}, "$defs": {"x": x}}
    expected = jsonschema.Draft202012Validator(whole).is_valid({"value": value})
    assert (not list(mismatches(whole, {"value": value}))) is expected
