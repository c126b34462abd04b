"""The schema that a case gives of the structured output: which schemas are taken, and what they find wrong."""

import pytest

from pytest_mapsat.model import Visible, mismatches

ASKS = {
    "type": "object",
    "properties": {
        "intent": {"enum": ["route", "search"]},
        "plan": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "properties": {"tool": {"type": "string"}}, "required": ["tool"]},
        },
        "minutes": {"type": "integer", "minimum": 1, "exclusiveMaximum": 60},
        "note": {"type": ["string", "null"], "maxLength": 5},
        "bag": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["intent"],
    "additionalProperties": False,
}


def test_an_output_that_fits_has_no_mismatch():
    good = {"intent": "route", "plan": [{"tool": "find", "why": 1}], "minutes": 59, "note": None, "bag": {"a": 0.5}}
    assert list(mismatches(Visible(query="?", output_schema=ASKS).output_schema, good)) == []


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ({}, "'intent' is missing"),
        ({"intent": "rout"}, "intent: found 'rout', expected one of ['route', 'search'] (did you mean 'route'?)"),
        ({"intent": "route", "plan": []}, "plan: found 0 items, expected at least 1"),
        ({"intent": "route", "plan": [{"tool": 7}]}, "plan[0].tool: found 7, expected a string"),
        ({"intent": "route", "plan": [{}]}, "plan[0]: 'tool' is missing"),
        ({"intent": "route", "plan": {}}, "plan: found {}, expected an array"),
        ({"intent": "route", "minutes": True}, "minutes: found True, expected an integer"),
        ({"intent": "route", "minutes": 2.5}, "minutes: found 2.5, expected an integer"),
        ({"intent": "route", "minutes": 60}, "minutes: found 60, expected less than 60"),
        ({"intent": "route", "minutes": 0}, "minutes: found 0, expected at least 1"),
        ({"intent": "route", "note": "longer"}, "note: found 6 characters, expected at most 5"),
        ({"intent": "route", "bag": {"a": "b"}}, "bag.a: found 'b', expected a number"),
        ({"intent": "route", "plann": []}, "plann: no field of this name is requested (did you mean 'plan'?)"),
    ],
)
def test_each_mismatch_is_told_with_its_place(output, found):
    assert list(mismatches(ASKS, output)) == [found]


@pytest.mark.parametrize(
    ("asks", "wrong"),
    [
        ({"properties": {}}, "begins with type: object"),
        ({"type": "object", "pattern": "(a+)+"}, "the keyword 'pattern' is not checked"),
        ({"type": "object", "propertys": {}}, "did you mean 'properties'"),
        (
            {"type": "object", "properties": {"a": {"type": "text"}}},
            "properties.a.type: found 'text', expected one or several",
        ),
        (
            {"type": "object", "properties": {"a": {"minimum": "1"}}},
            "properties.a.minimum: found '1', expected a number",
        ),
        ({"type": "object", "properties": {"a": {"maxItems": -1}}}, "expected a whole number from 0"),
        ({"type": "object", "properties": {"a": 7}}, "properties.a: found 7, expected a schema"),
        ({"type": "object", "required": "a"}, "required: found 'a', expected a list of names"),
        ({"type": "object", "enum": []}, "enum: found [], expected a list of values"),
    ],
)
def test_a_schema_that_could_not_be_checked_is_refused(asks, wrong):
    with pytest.raises(
        ValueError, match=wrong.replace("+", "\\+").replace("(", "\\(").replace("[", "\\[").replace(")", "\\)")
    ):
        Visible(query="?", output_schema=asks)


def test_a_schema_that_has_no_end_is_refused():
    endless = {"type": "array"}
    for _ in range(50):
        endless = {"type": "array", "items": endless}
    with pytest.raises(ValueError, match="nested deeper than 32"):
        Visible(query="?", output_schema={"type": "object", "properties": {"a": endless}})
