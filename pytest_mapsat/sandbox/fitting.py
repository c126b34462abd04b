"""Arguments against the JSON Schema of their parameter: values as they are declared, and the limits that they must keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mapsat.model import Json, ParameterMatch, did_you_mean, limits_broken, mismatches, shown

from .canonical import Canonical, Canoniser, UnfitError, as_text, boolean, members, number, unpacked

#: What of a schema limits a value beyond its type.
_LIMITS = frozenset(
    {"enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"minLength", "maxLength", "items", "minItems", "maxItems"}
)
#: What is compared as a whole where a few values are allowed.
_AS_WORDS = ("text", "json", "set")


class Fitting:
    """One parameter, made ready for many calls.

    Args:
        schema: its JSON Schema.
        rule: how it is matched; its synonyms hold for allowed values too.

    Attributes:
        limited: whether its schema limits it beyond its type.
    """

    def __init__(self, schema: Mapping[str, Any], rule: ParameterMatch) -> None:
        self.limited = not _LIMITS.isdisjoint(schema)
        self._schema = schema
        self._synonyms = tuple(rule.synonyms)
        as_word = rule.type in _AS_WORDS
        self._canonise = Canoniser(rule.model_copy(update={"type": "enum"}) if as_word else rule)
        allowed = schema.get("enum")
        self._allowed: list[Json] = list(allowed) if isinstance(allowed, (list, tuple)) else []
        #: The first of several that are written alike counts.
        self._spelled = {self._canonical(value): value for value in reversed(self._allowed)}
        kinds = schema.get("type")
        self._kinds = {kinds} if isinstance(kinds, str) else {kind for kind in kinds or () if isinstance(kind, str)}
        self._is_set = rule.type == "set"
        items, named = schema.get("items"), schema.get("properties")
        self._items = Fitting(items, rule) if isinstance(items, Mapping) else None
        named = named if isinstance(named, Mapping) else {}
        self._members = {
            name: Fitting(part, ParameterMatch()) for name, part in named.items() if isinstance(part, Mapping)
        }
        choices = schema.get("anyOf") or schema.get("oneOf") or ()
        self._choices = [Fitting(part, rule) for part in choices if isinstance(part, Mapping)]

    def fitted(self, value: Json) -> Json:
        """Return a value as the schema declares it, at any depth: numeric text as a number, an allowed value in its own spelling."""
        if self._allowed:
            found = self._canonical(value)
            return value if value in self._allowed or found is None else self._spelled.get(found, value)
        if self._choices:
            ways = [value, *(choice.fitted(value) for choice in self._choices)]
            return next((way for way in ways if not any(mismatches(self._schema, way))), value)
        if isinstance(value, str):
            value = self._meant(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            value = self._written(value)
        if self._items is not None and isinstance(value, (list, tuple)):
            return [self._items.fitted(item) for item in value]
        if self._members and isinstance(value, Mapping):
            return {
                name: self._members[name].fitted(member) if name in self._members else member
                for name, member in value.items()
            }
        return value

    def _meant(self, text: str) -> Json:
        """Return what a text stands for where the schema wants no text; the text where it stands for nothing."""
        kinds = self._kinds
        if "string" in kinds or not kinds:
            return text
        amount = number(text) if kinds & {"number", "integer"} else None
        if amount is not None:
            return int(amount) if amount.is_integer() else amount
        truth = boolean(text) if "boolean" in kinds else None
        if truth is not None:
            return truth
        inside = unpacked(text) if kinds & {"array", "object"} else None
        if isinstance(inside, (list, dict)):
            return inside
        return members(text) if self._is_set and "array" in kinds else text

    def _written(self, amount: float) -> Json:
        """Return a number as the schema declares it: 5.0 as 5, a text or a truth value where no number is wanted."""
        kinds = self._kinds
        if kinds & {"number", "integer"}:
            return int(amount) if isinstance(amount, float) and amount.is_integer() else amount
        if "string" in kinds and number(amount) is not None:
            return as_text(amount)
        truth = boolean(amount) if "boolean" in kinds else None
        return amount if truth is None else truth

    def broken(self, value: Json) -> Iterator[str]:
        """Yield the limits that a fitted value breaks: allowed values, least and greatest, lengths, those of items."""
        if self._allowed:
            if value not in self._allowed:
                hint = did_you_mean(value, [*self._allowed, *self._synonyms])
                words = ", ".join(map(shown, self._allowed))
                yield f"found {shown(value)}, expected one of {words}" + (f" ({hint})" if hint else "")
            return
        if self._schema.get("type") == "integer" and isinstance(value, float):
            yield f"found {value:g}, expected a whole number"
        yield from limits_broken(self._schema, value)
        if self._items is not None and isinstance(value, list):
            for item in value:
                yield from self._items.broken(item)

    def _canonical(self, value: Json) -> Canonical:
        try:
            return self._canonise(value)
        except UnfitError:
            return None
