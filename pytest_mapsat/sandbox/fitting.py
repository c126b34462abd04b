"""Arguments against the JSON Schema of their tool: values as they are declared, and the limits that they must keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mapsat.model import Json, JsonObject, ParameterMatch, did_you_mean, limits_broken, shown

from .canonical import Canonical, UnfitError, boolean, canonical, number


def fitted(value: Json, schema: Mapping[str, Any], rule: ParameterMatch) -> Json:
    """Return a value as its schema declares it: numeric text as a number, an allowed value in its own spelling.

    Args:
        value: as an agent gives it.
        schema: that of the parameter.
        rule: how the parameter is matched; its synonyms hold for allowed values too.
    """
    if "enum" in schema:
        return next((one for one in _allowed(schema) if one == value or _same(one, value, rule)), value)
    kind = schema.get("type")
    if kind in ("number", "integer"):
        found = number(value)
        return value if found is None else int(found) if found.is_integer() else found
    if kind == "boolean":
        truth = boolean(value)
        return value if truth is None else truth
    if kind == "array" and isinstance(value, list | tuple) and isinstance(schema.get("items"), Mapping):
        return [fitted(item, schema["items"], rule) for item in value]
    return value


def broken_limits(value: Json, schema: Mapping[str, Any], rule: ParameterMatch) -> Iterator[str]:
    """Yield the limits of its schema that a fitted value breaks: allowed values, least and greatest, lengths, those of items."""
    if "enum" in schema:
        allowed = _allowed(schema)
        if allowed and value not in allowed:
            hint = did_you_mean(value, [*allowed, *rule.synonyms])
            yield f"found {shown(value)}, expected one of {', '.join(map(shown, allowed))}" + (
                f" ({hint})" if hint else ""
            )
        return
    if schema.get("type") == "integer" and isinstance(value, float):
        yield f"found {value:g}, expected a whole number"
    yield from limits_broken(schema, value)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for item in value:
            yield from broken_limits(item, schema["items"], rule)


def fitted_arguments(
    arguments: Mapping[str, Json], properties: Mapping[str, Any], rules: Mapping[str, ParameterMatch]
) -> JsonObject:
    """Return the arguments of a call, each as its parameter declares it."""
    return {name: fitted(value, _schema(properties, name), rules[name]) for name, value in arguments.items()}


def _schema(properties: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    schema = properties.get(name)
    return schema if isinstance(schema, Mapping) else {}


def _allowed(schema: Mapping[str, Any]) -> list[Json]:
    allowed = schema["enum"]
    return list(allowed) if isinstance(allowed, list | tuple) else []


def _same(one: Json, other: Json, rule: ParameterMatch) -> bool:
    found = _canonical(other, rule)
    return found is not None and _canonical(one, rule) == found


def _canonical(value: Json, rule: ParameterMatch) -> Canonical:
    kind = "enum" if rule.type in ("text", "json", "set") else rule.type
    try:
        return canonical(value, rule.model_copy(update={"type": kind}))
    except UnfitError:
        return None
