"""Matches that no value of a schema can ever fulfil: such a check passes no agent, or lets every agent pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_mapsat.model import (
    Absent,
    Between,
    Contains,
    Equal,
    Json,
    Match,
    Noun,
    OneOf,
    OpenAt,
    SameItems,
    Similar,
    WithinM,
    did_you_mean,
    shown,
)
from pytest_mapsat.sandbox import number, satisfies

Place = tuple[str | int, ...]
_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
_NUMBERS = frozenset({"number", "integer"})
#: The types of which a value can fulfil a match; other matches take any.
_TYPES: dict[type[Noun], frozenset[str]] = {
    Contains: frozenset({"string", "number", "integer", "array"}),
    Similar: frozenset({"string", "number", "integer"}),
    Between: frozenset({"string", "number", "integer"}),
    WithinM: frozenset({"string", "array", "object"}),
    OpenAt: frozenset({"string"}),
    SameItems: frozenset({"array"}),
}


class Impossible(NamedTuple):
    """A match that can never hold."""

    place: Place
    message: str
    hint: str = ""


def impossible(matches: Mapping[str, Match], schema: Json) -> Iterator[Impossible]:
    """Yield what among matches no object of a schema can fulfil."""
    for path, match in matches.items():
        part = schema
        names = [path] if path in _properties(schema) else path.split(".")
        for index, name in enumerate(names):
            below = _below(part, name)
            if isinstance(below, Impossible):
                at = ".".join(names[:index]) or "it"
                yield below._replace(place=(path,), message=f"{at} {below.message}")
                break
            part = below
        else:
            yield from (wrong._replace(place=(path, *wrong.place)) for wrong in _unmatched(match, part))


def _properties(schema: Json) -> Mapping[str, Json]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _types(schema: Json) -> frozenset[str]:
    """Return the types that a value may have; none where the schema leaves that open."""
    types = schema.get("type") if isinstance(schema, Mapping) else None
    names = [types] if isinstance(types, str) else types if isinstance(types, list | tuple) else []
    return frozenset(name for name in names if isinstance(name, str))


def _below(schema: Json, name: str) -> Json | Impossible:
    """Return the schema of what stands under a name, None where that is open, or why nothing can."""
    if not isinstance(schema, Mapping):
        return None
    types, properties = _types(schema), _properties(schema)
    if types and types <= _SCALARS:
        return Impossible((), f"is of type {' or '.join(sorted(types))}: it has no {shown(name)}")
    if name == "*" or name.isdecimal():
        return schema.get("items") if "array" in types else None
    if name in properties:
        return properties[name]
    if types == {"array"}:
        return Impossible((), f"is a list: it has no {shown(name)}", f"write *.{name}: that of every element")
    hint = did_you_mean(name, properties)
    closed = bool(properties) and (bool(hint) or schema.get("additionalProperties") is False)
    return Impossible((), f"has no {shown(name)}", hint or f"it has: {', '.join(properties)}") if closed else None


def _unmatched(match: Match, schema: Json) -> Iterator[Impossible]:  # noqa: C901  a branch per kind of match
    """Yield why no value of a schema can fulfil a match; nothing where one may."""
    if not isinstance(schema, Mapping):
        return
    types = _types(schema)
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(allowed, list | tuple) and allowed:
        bound = getattr(match, "bound", None) is not None  # what will be found is not known here
        if not bound and all(satisfies(match, value) is False for value in allowed) and not isinstance(match, Absent):
            hint = did_you_mean(match.value, allowed) if isinstance(match, Equal) else ""
            yield Impossible((), f"none of the allowed values fits: {', '.join(map(shown, allowed))}", hint)
        return
    takes = _TYPES.get(type(match), frozenset())
    if isinstance(match, WithinM) and match.lat_from is not None:
        takes = _NUMBERS | {"string"}
    if types and takes and not types & takes:
        yield Impossible((), f"a value of type {' or '.join(sorted(types))} can never fulfil {match.op}")
    elif isinstance(match, Between):
        yield from _out_of_range(match, schema, types)
    elif isinstance(match, Equal):
        yield from _unequal(match.value, schema, types)
    elif isinstance(match, OneOf):
        wrong = [next(_unequal(value, schema, types), None) for value in match.values]
        if all(wrong):
            yield from filter(None, wrong[:1])
    elif isinstance(match, SameItems):
        for index, value in enumerate(match.values):
            item = Equal(op="equal", value=value)
            yield from (inner._replace(place=("values", index)) for inner in _unmatched(item, schema.get("items")))


def _out_of_range(match: Between, schema: Mapping[str, Any], types: frozenset[str]) -> Iterator[Impossible]:
    if match.min is not None and match.max is not None and match.min > match.max:
        yield Impossible((), f"no number is at least {match.min:g} and at most {match.max:g}")
        return
    least, most = schema.get("minimum"), schema.get("maximum")
    if types and types <= _NUMBERS:
        if isinstance(most, int | float) and match.min is not None and match.min > most:
            yield Impossible((), f"the schema allows at most {most:g}")
        elif isinstance(least, int | float) and match.max is not None and match.max < least:
            yield Impossible((), f"the schema allows at least {least:g}")


def _unequal(value: Json, schema: Mapping[str, Any], types: frozenset[str]) -> Iterator[Impossible]:
    """Yield why no value of a schema equals one, however it is written: ``"5"`` equals 5."""
    if not types:
        return
    if isinstance(value, Mapping | list | tuple):
        if not types & {"object" if isinstance(value, Mapping) else "array", "string"}:
            yield Impossible((), f"found {shown(value)}, but the schema allows {' or '.join(sorted(types))} only")
        return
    figure = number(value)
    written = {
        "string": value is not None,
        "number": figure is not None,
        "integer": figure is not None and figure.is_integer(),
        "boolean": isinstance(value, bool) or str(value).strip().casefold() in ("true", "false"),
        "null": value is None,
    }
    if not any(written.get(name) for name in types):
        yield Impossible((), f"found {shown(value)}, but the schema allows {' or '.join(sorted(types))} only")
    elif figure is not None:
        yield from _out_of_range(Between(op="between", min=figure, max=figure), schema, types)
