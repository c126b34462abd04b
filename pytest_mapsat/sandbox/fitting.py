"""Arguments against the JSON Schema of their parameter: values as they are declared, and the limits that they must keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mapsat.model import Json, ParameterMatch, did_you_mean, limits_broken, shown

from .canonical import Canonical, Canoniser, UnfitError, boolean, number

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
        items = schema.get("items")
        self._items = Fitting(items, rule) if isinstance(items, Mapping) else None

    def fitted(self, value: Json) -> Json:
        """Return a value as the schema declares it: numeric text as a number, an allowed value in its own spelling."""
        if self._allowed:
            found = self._canonical(value)
            return value if value in self._allowed or found is None else self._spelled.get(found, value)
        kind = self._schema.get("type")
        if kind in ("number", "integer"):
            amount = number(value)
            return value if amount is None else int(amount) if amount.is_integer() else amount
        if kind == "boolean":
            truth = boolean(value)
            return value if truth is None else truth
        if self._items is not None and isinstance(value, (list, tuple)):
            return [self._items.fitted(item) for item in value]
        return value

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
