"""How one value may be compared with an expected one: a closed, typed, composable set.

The same predicates serve expected calls, rows of the end state, structured output and the attributes of entities. Wherever a match may
stand, a plain value means ``equal`` and a list ``one_of``. Where matches stand under names, a name may be a dotted path: ``items.*.dish``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from .base import (
    Identifier,
    Json,
    Latitude,
    Level,
    Longitude,
    Noun,
    all_true,
    any_true,
    canonical_json,
    did_you_mean,
    shown,
)
from .trajectory import Step
from .values import SAME_POINT_M, distance_m, moment, normalise, number, open_at, point_of, text_similarity

#: Bounds the values that a path with many ``*`` leads to in a large result.
MAX_VALUES = 10_000


class FoundValues:
    """Looks up values in the results of calls; each result is read once per path and each value stored once.

    Args:
        steps: the calls.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps = list(steps)
        self._read: dict[str, int] = {}
        self._values: dict[str, dict[str, Json]] = {}
        self._texts: dict[str, dict[str, str]] = {}

    def add(self, step: Step) -> None:
        """Add a call whose result is searched for values."""
        self._steps.append(step)

    @property
    def untold(self) -> bool:
        """Return whether the result of any call is unknown because it was not recorded."""
        return any(step.status == "unknown" for step in self._steps)

    def at(self, path: str) -> Collection[Json]:
        """Return the distinct values at a dotted path in the results of answered calls, at most 10,000."""
        values, texts = self._values.setdefault(path, {}), self._texts.setdefault(path, {})
        for step in self._steps[self._read.get(path, 0) :] if len(values) < MAX_VALUES else ():
            for value in values_at(step.result, path) if step.status == "ok" else ():
                key = value if isinstance(value, str) else canonical_json([value])
                if key not in values:
                    values[key] = value
                    text = _text_of(value)
                    if text is not None and (form := normalise(text)):
                        texts[form] = text
        self._read[path] = len(self._steps)
        return values.values()

    def texts(self, path: str) -> Mapping[str, str]:
        """Return the values at a path that are text or numbers as text, by their normalised form."""
        self.at(path)
        return self._texts[path]


NO_HOPS: Mapping[str, FoundValues] = MappingProxyType({})


#: Why nothing of a schema can fulfil a match, in words, and what to do.
Reason = tuple[str, str]
_SCALAR_TYPES = frozenset({"string", "number", "integer", "boolean", "null"})
_NUMBER_TYPES = frozenset({"number", "integer"})
_TEXT_TYPES = _NUMBER_TYPES | {"string"}


class Condition(Noun):
    """A match: the comparison of a value with an expected value.

    Attributes:
        op: name of the match; a plain value is short for equal, a list for one_of.
    """

    takes: ClassVar[frozenset[str]] = frozenset()
    op: str

    @property
    def bound(self) -> Bound | None:
        """Return the place in results to compare with; None if the match has its own value."""
        return None

    def fits(
        self,
        value: Json,
        *,
        arguments: Mapping[str, Json] | None = None,
        results: Sequence[Step] = (),
        hops: Mapping[str, FoundValues] = NO_HOPS,
    ) -> bool | None:
        """Return whether a value satisfies the match; None if this is unknown.

        Args:
            value: the value, None where there is none.
            arguments: all arguments of the call the value stands in (for ``WithinM.lat_from``).
            results: the earlier steps of the dialogue (for ``Bound``).
            hops: what those of them returned that fulfil an expected tool, by its id (for ``Bound.call``).

        Returns:
            None for a ``Bound`` to a result of a tool that does not exist, opening hours that are absent or cannot be read, a latitude
            that stands in arguments which were not given, and a value that is nested beyond measure. A ``Bound`` to a call that was not made, or that
            returned nothing there, does not hold.
        """
        try:
            if (bound := self.bound) is None:
                if isinstance(self, WithinM) and self.lat_from is not None:
                    if arguments is None:
                        return None
                    value = [value, arguments.get(self.lat_from)]
                return self.holds(value)
            called = (step for step in results if step.kind == "call" and step.tool in (bound.tool, ""))
            returned = FoundValues(called) if bound.call is None else hops.get(bound.call) or FoundValues()
            if self._holds_for(value, bound, returned):
                return True
            return None if returned.untold or not (returned.at(bound.path) or bound.call) else False
        except RecursionError:
            return None

    def holds(self, value: Json) -> bool | None:
        """Return whether a value satisfies a match without ``bound``; None if this is unknown."""
        raise NotImplementedError

    def _holds_for(self, value: Json, bound: Bound, returned: FoundValues) -> bool:
        """Return whether a value satisfies a match for any value in earlier results."""
        raise NotImplementedError

    def words(self) -> str:
        """Return the match in words, to follow a name: ``at least 4.5``."""
        raise NotImplementedError

    def impossible(self, schema: Json) -> Iterator[Reason]:
        """Yield the reasons why no value under a schema can satisfy the match; nothing if such a value is possible."""
        if not isinstance(schema, Mapping):
            return
        types = _types(schema)
        takes = _TEXT_TYPES if isinstance(self, WithinM) and self.lat_from is not None else self.takes
        allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(allowed, list | tuple) and allowed:
            # What will be found of a bound is not known here.
            if self.bound is None and all(self.fits(value) is False for value in allowed) and self.op != "absent":
                hint = did_you_mean(self.value, allowed) if isinstance(self, Equal) else ""
                yield f"none of the allowed values fits: {', '.join(map(shown, allowed))}", hint
        elif types and takes and not types & takes:
            yield f"a value of type {' or '.join(sorted(types))} can never fulfil {self.op}", ""
        else:
            yield from self._beyond(schema)

    def _beyond(self, schema: Mapping[str, Any]) -> Iterator[Reason]:
        """Yield the reasons why the limits of a schema exclude every value that satisfies the match; some matches override this."""
        del schema
        yield from ()


class Equal(Condition):
    """The value equals ``value`` in any spelling (``"5"`` equals ``5``).

    Attributes:
        value: expected value. Example: ``open``
    """

    op: Literal["equal"]
    value: Json

    def holds(self, value: Json) -> bool | None:
        """Return whether two values are equal in any spelling: ``"5"`` equals 5."""
        return bool(_loose(self.value) == _loose(value))

    def words(self) -> str:
        """Return the match in words: ``equal to 5``."""
        return f"equal to {shown(self.value)}"

    def _beyond(self, schema: Mapping[str, Any]) -> Iterator[Reason]:
        """Yield the reasons why no value under a schema can equal the value of the match, in any spelling (``"5"`` equals 5)."""
        value, figure, types = self.value, number(self.value), _types(schema)
        nested = isinstance(value, Mapping | list | tuple)
        written = {
            "object": isinstance(value, Mapping),
            "array": nested and not isinstance(value, Mapping),
            "string": value is not None,
            "number": figure is not None,
            "integer": figure is not None and figure.is_integer(),
            "boolean": isinstance(value, bool) or str(value).strip().casefold() in ("true", "false"),
            "null": value is None,
        }
        if types and not any(written.get(name) for name in types):
            yield f"found {shown(value)}, but the schema allows {' or '.join(sorted(types))} only", ""
        elif types and figure is not None:
            yield from Between(op="between", min=figure, max=figure).impossible(schema)


class OneOf(Condition):
    """The value equals one of ``values``.

    Attributes:
        values: expected values. Example: ``["open", "confirmed"]``
    """

    op: Literal["one_of"]
    values: tuple[Json, ...] = Field(min_length=1)

    def holds(self, value: Json) -> bool | None:
        """Return whether the value equals one of ``values``, in any spelling."""
        form = _loose(value)
        return any(_loose(wanted) == form for wanted in self.values)

    def words(self) -> str:
        """Return the match in words: ``one of 1, 2``."""
        return f"one of {', '.join(map(shown, self.values))}"

    def _beyond(self, schema: Mapping[str, Any]) -> Iterator[Reason]:
        """Yield the reason why a schema excludes the first value, if it excludes all values of the match."""
        reasons = [next(Equal(op="equal", value=value).impossible(schema), None) for value in self.values]
        if all(reasons):
            yield from filter(None, reasons[:1])


class Bound(Condition):
    """The value equals a value from an earlier result in the same dialogue.

    Attributes:
        tool: tool whose results are read; give this or call. Example: ``list_orders``
        call: id of an expected tool (truth.tools); only results of calls that fulfil it are read. Example: ``first-search``
        path: dotted path into the result; ``*`` is every element; empty: the result itself. Example: ``orders.*.id``
        tolerance: relative tolerance for numbers (0.05 is 5 %); 0 by default. Example: ``0.05``
    """

    op: Literal["bound"]
    tool: str | None = None
    call: Identifier | None = None
    path: str
    tolerance: float = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _of_one_source(self) -> Bound:
        """Raise ValueError unless exactly one of tool and call is given."""
        if (self.tool is None) == (self.call is None):
            raise ValueError("bound needs tool, or call (the id of an expected tool), and not both")
        return self

    @property
    def bound(self) -> Bound:
        """Return this match, which is itself the place in results to compare with."""
        return self

    @property
    def place(self) -> str:
        """Return the path and the source of the values as text, for messages."""
        return f"{self.path} of {self.source}" if self.path else self.source

    @property
    def source(self) -> str:
        """Return the tool or call that has the result, as text for messages."""
        return f"the result of {self.call}" if self.tool is None else f"an earlier {self.tool} result"

    def _holds_for(self, value: Json, bound: Bound, returned: FoundValues) -> bool:
        """Return whether a value equals a value at the path in earlier results, within the tolerance for numbers."""
        return any(_is_close(source, value, self.tolerance) for source in returned.at(bound.path))

    def words(self) -> str:
        """Return the match in words: ``equal to PATH of an earlier TOOL result``."""
        return f"equal to {self.place}"


class Contains(Condition):
    """The value is text that contains ``text``, or a list in which it is an element.

    Attributes:
        text: text to look for; give this or of. Example: ``noodle``
        of: place in earlier results with the text, in place of text. Example: ``{"op": "bound", "tool": "list_orders", "path": "orders.*.dish"}``
    """

    takes = _TEXT_TYPES | {"array"}
    op: Literal["contains"]
    text: str = Field(default="", min_length=1)
    of: Bound | None = None

    @model_validator(mode="after")
    def _of_one_text(self) -> Contains:
        """Raise ValueError unless exactly one of text and of is given."""
        if bool(self.text) == (self.of is not None):
            raise ValueError("contains needs text, or of: {op: bound, ...}, and not both")
        return self

    @property
    def bound(self) -> Bound | None:
        """Return ``of``: the place of the texts in results; None if the match has its own text."""
        return self.of

    def holds(self, value: Json) -> bool | None:
        """Return whether the value contains the text, or is a list in which the text is an element."""
        return _has_text({normalise(self.text): self.text}, value)

    def _holds_for(self, value: Json, bound: Bound, returned: FoundValues) -> bool:
        """Return whether the value contains one of the texts at the path in earlier results."""
        return _has_text(returned.texts(bound.path), value)

    def words(self) -> str:
        """Return the match in words: ``containing 'x'``."""
        return f"containing {shown(self.text) if self.of is None else self.of.place}"


class Similar(Condition):
    """The value is text similar to ``text``.

    Attributes:
        text: expected text. Example: ``noodle soup``
        at_least: least similarity, 0 to 1; 0.8 by default. Example: ``0.8``
    """

    takes = _TEXT_TYPES
    op: Literal["similar"]
    text: str = Field(min_length=1)
    at_least: Level = 0.8

    def holds(self, value: Json) -> bool | None:
        """Return whether the value is text (or a number) with at least the required similarity."""
        text = _text_of(value)
        return text is not None and text_similarity(self.text, text) >= self.at_least

    def words(self) -> str:
        """Return the match in words: ``similar to 'x'``."""
        return f"similar to {shown(self.text)}"


class Between(Condition):
    """The value is a number (numeric text counts) from ``min`` to ``max``, ends included.

    Attributes:
        min: least value; left out, no lower limit. Example: ``4.5``
        max: greatest value; left out, no upper limit. Example: ``20``
    """

    takes = _TEXT_TYPES
    op: Literal["between"]
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Between:
        """Raise ValueError if neither min nor max is given."""
        if self.min is None and self.max is None:
            raise ValueError("between needs min, max or both")
        return self

    def holds(self, value: Json) -> bool | None:
        """Return whether the value is a number from ``min`` to ``max``, ends included."""
        amount = number(value)
        if amount is None:
            return False
        return (self.min is None or amount >= self.min) and (self.max is None or amount <= self.max)

    def words(self) -> str:
        """Return the match in words: ``between 1 and 2``, ``at least 1``."""
        return range_in_words(self.min, self.max)

    def _beyond(self, schema: Mapping[str, Any]) -> Iterator[Reason]:
        """Yield the reason why no number lies in the range, or why a schema allows no such number."""
        if self.min is not None and self.max is not None and self.min > self.max:
            yield f"no number is at least {self.min:g} and at most {self.max:g}", ""
        elif (types := _types(schema)) and types <= _NUMBER_TYPES:
            least, most = schema.get("minimum"), schema.get("maximum")
            if isinstance(most, int | float) and self.min is not None and self.min > most:
                yield f"the schema allows at most {most:g}", ""
            elif isinstance(least, int | float) and self.max is not None and self.max < least:
                yield f"the schema allows at least {least:g}", ""


class WithinM(Condition):
    """The value is a point at most ``metres`` from ``lon``, ``lat`` (great circle): ``{"lon", "lat"}``, ``{"x", "y"}``, ``[lon, lat]`` or ``"lon,lat"``.

    Attributes:
        lon: longitude in degrees. Example: ``8.5402``
        lat: latitude in degrees. Example: ``47.3782``
        metres: greatest distance in metres, above 0. Example: ``500``
        lat_from: in an expected call with two parameters for a point: the match is on the longitude, and this names the latitude's parameter. Example: ``lat``
    """

    takes = frozenset({"string", "array", "object"})
    op: Literal["within_m"]
    lon: Longitude
    lat: Latitude
    metres: float = Field(gt=0)
    lat_from: str | None = None

    def holds(self, value: Json) -> bool | None:
        """Return whether the value is a point at most ``metres`` away."""
        place = point_of(value)
        return place is not None and distance_m(*place, self.lon, self.lat) <= self.metres

    def words(self) -> str:
        """Return the match in words: ``within 500 m of 8.5,47.4``."""
        return f"within {self.metres:g} m of {self.lon:g},{self.lat:g}"


class OpenAt(Condition):
    """The value is opening hours (``"09:00-22:00"``, several joined by a comma or semicolon, ``"24h"``) that include ``time``; hours may run past midnight.

    Attributes:
        time: time of day, HH:MM. Example: ``18:30``
    """

    takes = frozenset({"string"})
    op: Literal["open_at"]
    time: str = Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")

    def holds(self, value: Json) -> bool | None:
        """Return whether the opening hours in a value include the time; None if they cannot be read."""
        return open_at(value, self.time) if isinstance(value, str) else None

    def words(self) -> str:
        """Return the match in words: ``open at 18:30``."""
        return f"open at {self.time}"


class Present(Condition):
    """The value exists and is not null, empty text, ``[]`` or ``{}``."""

    op: Literal["present"]

    def holds(self, value: Json) -> bool | None:
        """Return whether the value is neither null nor empty."""
        return value is not None and value not in ("", [], {}, ())

    def words(self) -> str:
        """Return the match in words: ``given``."""
        return "given"


class Absent(Condition):
    """The value is missing, null or empty."""

    op: Literal["absent"]

    def holds(self, value: Json) -> bool | None:
        """Return whether the value is null or empty."""
        return value is None or value in ("", [], {}, ())

    def words(self) -> str:
        """Return the match in words: ``not given``."""
        return "not given"


_Match = Annotated[
    Equal | OneOf | Contains | Similar | Between | WithinM | OpenAt | Bound | Present | Absent,
    Field(discriminator="op"),
]


def _spelt_out(value: object) -> object:
    """Return the full form of a match: a plain value means ``equal``, a list ``one_of``; any other form is unchanged."""
    if value is None or isinstance(value, (str, int, float)):
        return {"op": "equal", "value": value}
    return {"op": "one_of", "values": value} if isinstance(value, (list, tuple)) else value


Match = Annotated[
    _Match,
    BeforeValidator(
        _spelt_out,
        json_schema_input_type=_Match | str | float | bool | None | Annotated[list[Json], Field(min_length=1)],
    ),
]


def values_at(data: Json, path: str, gap: Sequence[Any] = ()) -> list[Json]:
    """Return all values at a dotted path: object keys, list positions, and ``*`` for every element of a list or object.

    An empty path is the data itself; a path that leads nowhere has no values. At most 10,000 values are returned.

    Args:
        data: JSON data.
        path: the path.
        gap: what stands for an element of ``*`` in which the rest of the path leads nowhere: nothing unless given.
    """
    values, missing = [data], gap[:0]
    for key in path.split(".") if path else ():
        values = [member for value in values for member in _members(value, key, missing)][:MAX_VALUES]
        missing = gap if key == "*" else missing
    return values


def values_of(record: Mapping[str, Json], path: str) -> list[Json]:
    """Return the value under a dotted name, otherwise all values at the dotted path; None for each missing value."""
    return [record[path]] if path in record else values_at(record, path, (None,)) or [None]


def _members(value: Json, key: str, missing: Sequence[Any]) -> Iterable[Any]:
    """Return the values under one key of a path: one member or element, or all for ``*``; ``missing`` if there is none."""
    if isinstance(value, Mapping):
        return value.values() if key == "*" else (value[key],) if key in value else missing
    if isinstance(value, (list, tuple)):
        if key == "*":
            return value
        if key.isdecimal() and len(key) <= len(str(MAX_VALUES)):
            return value[int(key) : int(key) + 1] or missing
    return missing


def fits_row(
    matches: Mapping[str, Match],
    row: Mapping[str, Json],
    *,
    results: Sequence[Step] = (),
    hops: Mapping[str, FoundValues] = NO_HOPS,
) -> bool | None:
    """Return whether an object satisfies matches under their names or dotted paths; at a path, one matching value is enough.

    ``row`` is a row, or the arguments of a call, ``results`` and ``hops`` as for ``Condition.fits``. None where no match surely fails, and for one it cannot be said.
    """
    return all_true(
        [
            any_true(match.fits(value, arguments=row, results=results, hops=hops) for value in values_of(row, path))
            for path, match in matches.items()
        ]
    )


def impossible(matches: Mapping[str, Match], schema: Json) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each match that no object under a schema can fulfil, with the reason and a hint."""
    for path, match in matches.items():
        part = schema
        names = [path] if path in _properties(schema) else path.split(".")
        for index, name in enumerate(names):
            if (reason := _nothing_below(part, name)) is not None:
                yield path, f"{'.'.join(names[:index]) or 'it'} {reason[0]}", reason[1]
                break
            below = _properties(part).get(name)
            if name == "*" or name.isdecimal():
                below = part.get("items") if isinstance(part, Mapping) and "array" in _types(part) else None
            part = below
        else:
            yield from ((path, *reason) for reason in match.impossible(part))


def _nothing_below(schema: Json, name: str) -> Reason | None:
    """Return the reason why no value under a schema has a member of this name, with a hint; None if such a member is possible."""
    types, properties = _types(schema), _properties(schema)
    if types and types <= _SCALAR_TYPES:
        return f"is of type {' or '.join(sorted(types))}: it has no {shown(name)}", ""
    if name == "*" or name.isdecimal() or name in properties:
        return None
    if types == {"array"}:
        return f"is a list: it has no {shown(name)}", f"write *.{name}: that of every element"
    hint = did_you_mean(name, properties)
    closed = bool(properties) and (bool(hint) or schema.get("additionalProperties") is False)
    return (f"has no {shown(name)}", hint or f"it has: {', '.join(properties)}") if closed else None


def _properties(schema: Json) -> Mapping[str, Json]:
    """Return the properties in the schema of an object; empty if it has none."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _types(schema: Json) -> frozenset[str]:
    """Return the types that a schema allows; empty if it allows any."""
    types = schema.get("type") if isinstance(schema, Mapping) else None
    names = [types] if isinstance(types, str) else types if isinstance(types, list | tuple) else []
    return frozenset(name for name in names if isinstance(name, str))


def range_in_words(low: float | None, high: float | None, unit: str = "") -> str:
    """Return a range as text: ``between 1 and 2 km``, ``at least 1 km``, ``at most 2 km`` or ``any``."""
    behind = f" {unit}" if unit else ""
    if low is not None and low == high:
        return f"exactly {low:g}{behind}"
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}{behind}"
    return (
        f"at least {low:g}{behind}" if low is not None else f"at most {high:g}{behind}" if high is not None else "any"
    )


def same_value(wanted: Json, value: Json) -> bool:
    """Return whether two values mean the same: numbers, points, dates and times in any spelling, texts ignoring case and punctuation.

    Lists and objects say the same where their members do, in order.
    """
    here, there = point_of(wanted), point_of(value)
    if here is not None and there is not None:
        return distance_m(*here, *there) <= SAME_POINT_M
    return bool(_loose(wanted, _read) == _loose(value, _read))


def _read(text: str) -> Any:
    """Return a comparable form of a text: the moment that it states, otherwise its normalised text."""
    at = moment(text)
    return ("text", normalise(text)) if at is None else ("moment", at)


def _typed(text: str) -> Any:
    """Return a comparable form of a text: a boolean for true and false, otherwise the text without case and blanks."""
    text = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return ("boolean", text == "true") if text in ("true", "false") else ("text", text)


def _loose(value: Json, read: Callable[[str], Any] = _typed) -> Any:
    """Return a form in which differently written values compare equal; types are kept apart (true is not 1)."""
    if isinstance(value, Mapping):
        return {str(key): _loose(member, read) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_loose(element, read) for element in value]
    figure = number(value)
    if figure is not None:
        return ("number", figure)
    if isinstance(value, str):
        return read(value)
    return ("boolean", value) if isinstance(value, bool) else value


def _has_text(texts: Mapping[str, str], value: Json) -> bool:
    """Return whether a value contains one of some texts in normalised form, or is a list with such an element."""
    if isinstance(value, (list, tuple)):
        elements = [_loose(element) for element in value]
        return any(_loose(text) in elements for text in texts.values())
    text = _text_of(value)
    form = None if text is None else normalise(text)
    return form is not None and any(other in form for other in texts)


def _text_of(value: Json) -> str | None:
    """Return a text or number as text; None for any other value."""
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None


def _is_close(wanted: Json, value: Json, tolerance: float) -> bool:
    """Return whether two numbers are equal within a relative tolerance, or two other values are equal."""
    amount, given = number(wanted), number(value)
    if amount is None or given is None:
        return bool(_loose(wanted) == _loose(value))
    return abs(amount - given) <= tolerance * abs(amount) + 1e-9
