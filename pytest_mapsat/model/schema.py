"""The part of JSON Schema that says what a value must be, checked: of the output that a case asks for, and of arguments.

Patterns, references and combinations are not part of it: a schema of strangers must be read in the time that its value is long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .base import Json
from .digest import canonical_json
from .errors import did_you_mean, shown

_TYPES: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: not isinstance(value, bool) and isinstance(value, int | float) and value == int(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}
#: The keywords that are checked, each with the form of its value.
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_CHECKED = ("type", "enum", "const", *_NUMBERS, *_COUNTS, "items", "properties", "required", "additionalProperties")
_SAID = ("title", "description", "default", "examples", "format", "$schema", "$comment", "deprecated")
_DEEPEST = 32

Place = tuple[str | int, ...]


def schema_problem(schema: Json, place: Place = ()) -> tuple[Place, str] | None:
    """Return the place of the first thing in a schema that cannot be checked, and what is wrong; None where all of it can."""
    if len(place) > _DEEPEST:
        return place, f"is nested deeper than {_DEEPEST}"
    if not isinstance(schema, Mapping):
        return place, f"found {shown(schema)}, expected a schema: an object such as {{type: string}}"
    for keyword, value in schema.items():
        if keyword in _SAID:
            continue
        if keyword not in _CHECKED:
            hint = did_you_mean(keyword, _CHECKED) or f"known are {', '.join(_CHECKED)}"
            return (*place, keyword), f"the keyword {shown(keyword)} is not checked; {hint}"
        if wrong := _keyword_problem(keyword, value):
            return (*place, keyword), wrong
    inner: list[tuple[Place, Json]] = [
        (("properties", name), part) for name, part in schema.get("properties", {}).items()
    ]
    inner += [((name,), schema[name]) for name in ("items", "additionalProperties") if _is_schema(schema.get(name))]
    return next((found for path, part in inner if (found := schema_problem(part, (*place, *path)))), None)


def unknown_types(schema: Json, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield the place of each type in a schema that JSON Schema does not know, and what is wrong: ``int`` for ``integer``.

    Unlike ``schema_problem`` this lets pass whatever else a schema may have: one of a tool is shown to agents, and read by their model.
    """
    if not isinstance(schema, Mapping) or len(place) > _DEEPEST:
        return
    if "type" in schema and (wrong := _keyword_problem("type", schema["type"])):
        hint = did_you_mean(schema["type"], _TYPES)
        yield (*place, "type"), f"{wrong}{f', {hint}' if hint else ''}"
    for keyword in ("properties", "patternProperties", "$defs", "definitions"):
        named = schema.get(keyword)
        for name, part in named.items() if isinstance(named, Mapping) else ():
            yield from unknown_types(part, (*place, keyword, name))
    for keyword in ("items", "additionalProperties", "not"):
        yield from unknown_types(schema.get(keyword), (*place, keyword))
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        several = schema.get(keyword)
        for index, part in enumerate(several if isinstance(several, list | tuple) else ()):
            yield from unknown_types(part, (*place, keyword, index))


def _is_schema(value: Json) -> bool:
    return value is not None and not isinstance(value, bool)


def _keyword_problem(keyword: str, value: Json) -> str:
    types = [value] if isinstance(value, str) else value
    good = {
        "type": lambda: isinstance(types, list | tuple) and bool(types) and all(one in _TYPES for one in types),
        "enum": lambda: isinstance(value, list | tuple) and bool(value),
        "properties": lambda: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
        "required": lambda: isinstance(value, list | tuple) and all(isinstance(name, str) for name in value),
    }
    if keyword in _NUMBERS:
        good[keyword] = lambda: _TYPES["number"](value) and math.isfinite(value)
    if keyword in _COUNTS:
        good[keyword] = lambda: _TYPES["integer"](value) and value >= 0
    if keyword not in good or good[keyword]():
        return ""
    expected = {
        "type": f"one or several of {', '.join(_TYPES)}",
        "enum": "a list of values",
        "properties": "an object of names and schemas",
        "required": "a list of names",
    }.get(keyword, "a number" if keyword in _NUMBERS else "a whole number from 0")
    return f"found {shown(value)}, expected {expected}"


def mismatches(schema: Mapping[str, Any], value: Json, place: str = "") -> Iterator[str]:
    """Yield where a value is not what a schema says, each with its place: ``plan[0].tool: found 7, expected a string``.

    Keywords that are not checked are passed over; see ``schema_problem``.

    Args:
        schema: the schema.
        value: the value.
        place: what the value is called; empty for the whole.
    """
    at = f"{place}: " if place else ""
    types = schema.get("type")
    names = [types] if isinstance(types, str) else types
    if isinstance(names, Sequence) and not any(name in _TYPES and _TYPES[name](value) for name in names):
        yield f"{at}found {shown(value)}, expected {' or '.join(map(_a, names))}"
        return
    yield from (f"{at}{wrong}" for wrong in limits_broken(schema, value))
    if isinstance(value, Mapping):
        yield from _members(schema, value, place)
    elif isinstance(value, list | tuple) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from mismatches(schema["items"], item, f"{place}[{index}]")


def limits_broken(schema: Mapping[str, Any], value: Json) -> Iterator[str]:
    """Yield which limits of a schema a value breaks: values that are allowed, least and greatest, lengths."""
    for keyword in ("enum", "const"):
        if keyword in schema:
            allowed = schema["enum"] if keyword == "enum" else [schema["const"]]
            if not isinstance(allowed, list | tuple) or canonical_json(value) in map(canonical_json, allowed):
                continue
            hint = did_you_mean(value, allowed)
            yield f"found {shown(value)}, expected one of {shown(list(allowed))}" + (f" ({hint})" if hint else "")
    if _TYPES["number"](value):
        yield from _out_of_range(schema, value)
    if isinstance(value, str):
        yield from _of_length(schema, len(value), "Length", "characters")
    if isinstance(value, list | tuple):
        yield from _of_length(schema, len(value), "Items", "items")


def _out_of_range(schema: Mapping[str, Any], value: float) -> Iterator[str]:
    holds: dict[str, tuple[Callable[[float], bool], str]] = {
        "minimum": (lambda limit: value >= limit, "at least"),
        "maximum": (lambda limit: value <= limit, "at most"),
        "exclusiveMinimum": (lambda limit: value > limit, "more than"),
        "exclusiveMaximum": (lambda limit: value < limit, "less than"),
    }
    for keyword, (test, words) in holds.items():
        limit = schema.get(keyword)
        if limit is not None and _TYPES["number"](limit) and not test(limit):
            yield f"found {shown(value)}, expected {words} {limit:g}"


def _of_length(schema: Mapping[str, Any], length: int, kind: str, what: str) -> Iterator[str]:
    least, most = schema.get(f"min{kind}"), schema.get(f"max{kind}")
    if isinstance(least, int) and length < least:
        yield f"found {length} {what}, expected at least {least}"
    if isinstance(most, int) and length > most:
        yield f"found {length} {what}, expected at most {most}"


def _members(schema: Mapping[str, Any], value: Mapping[str, Json], place: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    at = f"{place}: " if place else ""
    yield from (f"{at}{shown(name)} is missing" for name in schema.get("required", ()) if name not in value)
    other = schema.get("additionalProperties", True)
    for name, member in value.items():
        here = f"{place}.{name}" if place else str(name)
        if name in properties:
            yield from mismatches(properties[name], member, here)
        elif other is False:
            hint = did_you_mean(name, properties)
            yield f"{here}: nothing of this name is asked for" + (f" ({hint})" if hint else "")
        elif isinstance(other, Mapping):
            yield from mismatches(other, member, here)


def _a(name: str) -> str:
    return "null" if name == "null" else f"an {name}" if name[0] in "aeiou" else f"a {name}"
