"""JSON Schema, checked: of the output that a case asks for, and of the arguments of calls.

The schema of an output has no patterns, references and combinations (``schema_problem``); that of a tool, which comes from elsewhere, may have them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from .base import Json, canonical_json, did_you_mean, hint_at, shown

#: Words that somebody says. Editors that read YAML 1.1 take yes and no for booleans, which we do not.
Spoken = Annotated[str, Field(json_schema_extra={"type": ["string", "boolean"]})]
_TYPES: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}
#: The keywords that the schema of an output may have, each with the form of its value.
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_CHECKED = ("type", "enum", "const", *_NUMBERS, *_COUNTS, "items", "properties", "required", "additionalProperties")
_SAID = ("title", "description", "default", "examples", "format", "$schema", "$comment", "deprecated")
_DEEPEST = 32
#: Further keywords of a tool's schema: a name in the schema's own definitions, and schemas of which all, some, one or none hold.
_COMBINED = ("allOf", "anyOf", "oneOf", "not")
#: The keywords that may be meant by a misspelt one.
_KEYWORDS = {
    *_CHECKED, *_SAID, *_COMBINED, "$ref", "$defs", "definitions", "$id", "$anchor", "prefixItems", "patternProperties", "pattern", "multipleOf",
    "uniqueItems", "minProperties", "maxProperties", "propertyNames", "contains", "minContains", "maxContains", "if", "then", "else",
    "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "readOnly", "writeOnly", "contentEncoding",
    "contentMediaType", "nullable", "example",
}  # fmt: skip
#: References and combinations may lead back to where they stand: no further than this, and no more parts than this, are looked at.
_DEEPEST_READ = 100
_MOST_PARTS = 100_000
_LONGEST_PATTERN = 1000
#: So far from a whole number of steps a number may be: 0.3 is no multiple of 0.1 to a computer.
_ROUNDING = 1e-9
#: From here on a number may be one of many to a computer.
_PRECISE = 1e15

Place = tuple[str | int, ...]


def schema_problem(schema: Json, place: Place = ()) -> tuple[Place, str] | None:
    """Return the place and the description of the first problem in a schema; None if there is none."""
    if len(place) > _DEEPEST:
        return place, f"is nested deeper than {_DEEPEST}"
    if not isinstance(schema, Mapping):
        return place, f"found {shown(schema)}, expected a schema: an object such as {{type: string}}"
    for keyword, value in schema.items():
        if keyword in _SAID:
            continue
        if keyword not in _CHECKED:
            hint = did_you_mean(keyword, _CHECKED, "known are")
            return (*place, keyword), f"the keyword {shown(keyword)} is not checked; {hint}"
        if wrong := _keyword_problem(keyword, value):
            return (*place, keyword), wrong
    inner: list[tuple[Place, Json]] = [
        (("properties", name), part) for name, part in schema.get("properties", {}).items()
    ]
    others = {name: schema.get(name) for name in ("items", "additionalProperties")}
    inner += [((name,), part) for name, part in others.items() if part is not None and not isinstance(part, bool)]
    return next((problem for path, part in inner if (problem := schema_problem(part, (*place, *path)))), None)


def unknown_types(schema: Json, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield the place and description of each unknown type and misspelt keyword in a schema, such as ``int`` for ``integer``.

    Unlike ``schema_problem`` this lets pass whatever else a schema may have: one of a tool is shown to agents, and read by their model.
    """
    if not isinstance(schema, Mapping) or len(place) > _DEEPEST:
        return
    if "type" in schema and (wrong := _keyword_problem("type", schema["type"])):
        hint = did_you_mean(schema["type"], _TYPES)
        yield (*place, "type"), f"{wrong}{f', {hint}' if hint else ''}"
    for keyword in schema:
        if keyword not in _KEYWORDS and (hint := did_you_mean(keyword, _KEYWORDS)):
            yield (*place, keyword), f"is not a keyword of JSON Schema, {hint}"
    for keyword in ("properties", "patternProperties", "$defs", "definitions"):
        schemas = schema.get(keyword)
        for name, part in schemas.items() if isinstance(schemas, Mapping) else ():
            yield from unknown_types(part, (*place, keyword, name))
    for keyword in ("items", "additionalProperties", "not"):
        yield from unknown_types(schema.get(keyword), (*place, keyword))
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        several = schema.get(keyword)
        for index, part in enumerate(several if isinstance(several, list | tuple) else ()):
            yield from unknown_types(part, (*place, keyword, index))


def _list_of_text(value: Json) -> bool:
    """Return whether a value is a list of only texts."""
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


#: keyword -> whether it can have a value, and what is expected.
_FORMS: dict[str, tuple[Callable[[Json], bool], str]] = {
    "type": (
        lambda value: (
            value in _TYPES
            if isinstance(value, str)
            else _list_of_text(value) and bool(value) and _TYPES.keys() >= {*value}
        ),
        f"one or several of {', '.join(_TYPES)}",
    ),
    "enum": (lambda value: isinstance(value, list | tuple) and bool(value), "a list of values"),
    "properties": (
        lambda value: isinstance(value, Mapping) and _list_of_text(list(value)),
        "an object of names and schemas",
    ),
    "required": (_list_of_text, "a list of names"),
    **dict.fromkeys(_NUMBERS, (lambda value: _TYPES["number"](value) and math.isfinite(value), "a number")),
    **dict.fromkeys(_COUNTS, (lambda value: _TYPES["integer"](value) and value >= 0, "a whole number from 0")),
}


def _keyword_problem(keyword: str, value: Json) -> str:
    """Return the problem with the value of a keyword; empty if there is none, or the keyword is not checked."""
    fits, expected = _FORMS.get(keyword, (None, ""))
    return "" if fits is None or fits(value) else f"found {shown(value)}, expected {expected}"


def mismatches(
    schema: Mapping[str, Any], value: Json, place: str = "", *, root: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """Yield each place where a value does not match a schema, and the reason: ``plan[0].tool: found 7, expected a string``.

    Keywords that are not checked, and what is wrong in the schema itself, are passed over.

    Args:
        schema: the schema.
        value: the value.
        place: what the value is called; empty for the whole.
        root: the schema that references lead into; the schema itself unless given.
    """
    return _Reading(schema if root is None else root).mismatches(schema, value, place)


class _Reading:
    """Checks one value against one schema, with limits on depth and number of parts.

    Args:
        root: the schema that references lead into.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts = 0
        self._depth = 0

    def mismatches(self, schema: Json, value: Json, place: str) -> Iterator[str]:
        """Yield each place where a value does not match a part of the schema, and the reason."""
        at = f"{place}: " if place else ""
        self._parts += 1
        if schema is False:
            yield f"{at}no field of this name is requested"
        if not isinstance(schema, Mapping) or self._depth >= _DEEPEST_READ or self._parts > _MOST_PARTS:
            return
        # Null is allowed beside a type: as OpenAPI 3.0 says it, or by the default.
        if value is None and (schema.get("nullable") is True or schema.get("default", "") is None):
            return
        allowed = schema.get("enum")
        # Many write {type: string, enum: [a, null]}, and mean both.
        listed = value is None and isinstance(allowed, list | tuple) and None in allowed
        types = None if listed else schema.get("type")
        names = [types] if isinstance(types, str) else types if isinstance(types, list | tuple) else []
        are_types = all(isinstance(name, str) and name in _TYPES for name in names)
        if names and are_types and not any(_TYPES[name](value) for name in names):
            yield f"{at}found {shown(value)}, expected {' or '.join(map(_a, names))}"
            return
        self._depth += 1
        yield from (f"{at}{wrong}" for wrong in limits_broken(schema, value))
        yield from self._combined(schema, value, place)
        if isinstance(value, Mapping):
            yield from self._members(schema, value, place)
        elif isinstance(value, list | tuple):
            first = schema.get("prefixItems")
            parts = list(first) if isinstance(first, list | tuple) else []
            for index, item in enumerate(value):
                part = parts[index] if index < len(parts) else schema.get("items")
                yield from self.mismatches(part, item, f"{place}[{index}]")
        self._depth -= 1

    def _combined(self, schema: Mapping[str, Any], value: Json, place: str) -> Iterator[str]:
        """Yield the reasons why a value does not match the references and combinations (allOf, anyOf, oneOf, not) of a schema."""
        if isinstance(schema.get("$ref"), str):
            yield from self.mismatches(self._target(schema["$ref"]), value, place)
        for keyword in _COMBINED:
            parts = [schema.get(keyword)] if keyword == "not" else schema.get(keyword)
            if keyword not in schema or not isinstance(parts, list | tuple):
                continue
            wrongs = [list(self.mismatches(part, value, place)) for part in parts]
            at, fits = f"{place}: " if place else "", wrongs.count([])
            if keyword == "allOf":
                yield from (wrong for several in wrongs for wrong in several)
            elif keyword == "not" and fits:
                yield f"{at}found {shown(value)}, which is ruled out"
            elif keyword == "oneOf" and fits > 1:
                yield f"{at}found {shown(value)}, which matches {fits} of the allowed forms; expected exactly one"
            elif keyword != "not" and not fits:
                # That it might have been null is no help.
                reasons = [several[0] for several, part in zip(wrongs, parts, strict=True) if part != {"type": "null"}]
                yield "; or ".join(dict.fromkeys(reasons or [f"{at}found {shown(value)}, expected null"]))

    def _target(self, reference: str) -> Json:
        """Return the part of the root schema to which a reference points; None if there is none."""
        part: Json = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            part = part.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(part, Mapping) else None
        return part if reference.startswith("#") else None

    def _members(self, schema: Mapping[str, Any], value: Mapping[str, Json], place: str) -> Iterator[str]:
        """Yield each place where the members of an object do not match a schema, and the reason."""
        properties, patterns = (_named(schema.get(keyword)) for keyword in ("properties", "patternProperties"))
        required = schema.get("required")
        at = f"{place}: " if place else ""
        for name in required if isinstance(required, list | tuple) else ():
            if name not in value:
                yield f"{at}{shown(name)} is missing"
        other = schema.get("additionalProperties", True)
        for name, member in value.items():
            here = f"{place}.{name}" if place else str(name)
            matching = {pattern: _is_found(pattern, str(name)) for pattern in patterns}
            for part in (properties.get(name), *(patterns[pattern] for pattern, holds in matching.items() if holds)):
                yield from self.mismatches(part, member, here)
            if name in properties or any(holds is not False for holds in matching.values()):
                continue
            if other is False:
                yield f"{here}: no field of this name is requested{hint_at(name, properties)}"
            else:
                yield from self.mismatches(other, member, here)


def _named(value: Json) -> Mapping[str, Json]:
    """Return a mapping of schemas unchanged, and an empty mapping for any other value."""
    return value if isinstance(value, Mapping) else {}


def _is_found(pattern: Json, text: str) -> bool | None:
    """Return whether a pattern is found in a text; None if RE2 cannot read the pattern."""
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        return None
    try:
        return compiled_pattern(pattern).search(text) is not None
    except ValueError:
        return None


def limits_broken(schema: Mapping[str, Any], value: Json) -> Iterator[str]:
    """Yield a message for each limit of a schema that a value breaks: allowed values, range, length, pattern, uniqueness."""
    for keyword in ("enum", "const"):
        if keyword in schema:
            allowed = schema["enum"] if keyword == "enum" else [schema["const"]]
            if not isinstance(allowed, list | tuple) or canonical_json(value) in map(canonical_json, allowed):
                continue
            yield f"found {shown(value)}, expected one of {shown(list(allowed))}{hint_at(value, allowed)}"
    if _TYPES["number"](value):
        yield from _out_of_range(schema, value)
    if isinstance(value, str):
        yield from _of_length(schema, len(value), "Length", "characters")
        if _is_found(schema.get("pattern"), value) is False:
            yield f"found {shown(value)}, expected text in which {schema['pattern']} is found"
    if isinstance(value, list | tuple):
        yield from _of_length(schema, len(value), "Items", "items")
        if schema.get("uniqueItems") is True and len(set(map(canonical_json, value))) < len(value):
            yield f"found {shown(value)}, expected no item twice"
    if isinstance(value, Mapping):
        yield from _of_length(schema, len(value), "Properties", "members")


def _out_of_range(schema: Mapping[str, Any], value: float) -> Iterator[str]:
    """Yield a message for each numeric limit (range, multiple) of a schema that a value breaks."""
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
    step: Any = schema.get("multipleOf")
    if (
        _TYPES["number"](step)
        and step > 0
        and abs(value) < _PRECISE
        and abs(steps := value / step) < _PRECISE
        and abs(math.remainder(steps, 1)) > _ROUNDING
    ):
        yield f"found {shown(value)}, expected a multiple of {step:g}"


def _of_length(schema: Mapping[str, Any], length: int, kind: str, what: str) -> Iterator[str]:
    """Yield a message for each limit of a schema on length or count that a value breaks."""
    least, most = schema.get(f"min{kind}"), schema.get(f"max{kind}")
    if isinstance(least, int) and length < least:
        yield f"found {length} {what}, expected at least {least}"
    if isinstance(most, int) and length > most:
        yield f"found {length} {what}, expected at most {most}"


def _a(name: str) -> str:
    """Return the name of a JSON type with its article: ``an object``; ``null`` has none."""
    return "null" if name == "null" else f"an {name}" if name[0] in "aeiou" else f"a {name}"


@lru_cache(maxsize=256)
def compiled_pattern(pattern: str) -> Any:
    """Return a pattern compiled by RE2, cached. Raises ValueError with the error in the pattern."""
    import re2  # noqa: PLC0415  only where a case has a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0]
        raise ValueError(why.decode() if isinstance(why, bytes) else str(why)) from None
