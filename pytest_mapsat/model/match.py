"""How one value may be compared with an expected one: a closed, typed, composable set.

The same predicates serve expected calls, rows of the end state, structured output and the attributes of entities. Wherever a match may
stand, a plain value means ``equal`` and a list ``one_of``. Where matches stand under names, a name may be a dotted path: ``items.*.dish``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .base import Identifier, Json, Latitude, Level, Longitude, Noun


class Equal(Noun):
    """The value equals ``value`` after both are brought to one form (``"5"`` equals ``5``)."""

    op: Literal["equal"]
    value: Json


class OneOf(Noun):
    """The value equals one of ``values``."""

    op: Literal["one_of"]
    values: tuple[Json, ...] = Field(min_length=1)


class Bound(Noun):
    """The value equals one found in an earlier result of the same dialogue.

    ``path`` is a dotted path into the result of ``tool``; ``*`` stands for every element of a list or object, an empty path for the result itself.
    ``call`` in place of ``tool``: only results of the calls that fulfil the expected tool with this id; it may stand in ``match`` of expected tools.
    ``tolerance`` is relative, for numbers (0.05 = 5 %).
    """

    op: Literal["bound"]
    tool: str | None = None
    call: Identifier | None = None
    path: str
    tolerance: float = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _of_one_source(self) -> Bound:
        if (self.tool is None) == (self.call is None):
            raise ValueError("bound needs tool, or call (the id of an expected tool), and not both")
        return self

    @property
    def bound(self) -> Bound:
        """Where the values stand that it is held against: itself, as of those matches that have ``of``."""
        return self

    @property
    def source(self) -> str:
        """Whose results are meant, in words."""
        return f"the result of {self.call}" if self.tool is None else f"an earlier {self.tool} result"


class Contains(Noun):
    """The value is text that contains ``text``, or a list that has it as an element. ``of``: one of the values that a result had there, in place of ``text``."""

    op: Literal["contains"]
    text: str = Field(default="", min_length=1)
    of: Bound | None = None

    @model_validator(mode="after")
    def _of_one_text(self) -> Contains:
        if bool(self.text) == (self.of is not None):
            raise ValueError("contains needs text, or of: {op: bound, ...}, and not both")
        return self

    @property
    def bound(self) -> Bound | None:
        """The place of a value that an earlier result had, where it takes one."""
        return self.of


class Similar(Noun):
    """The value's text similarity to ``text`` is at least ``at_least`` (0 to 1)."""

    op: Literal["similar"]
    text: str = Field(min_length=1)
    at_least: Level = 0.8


class Between(Noun):
    """The value is a number (numeric text counts) from ``min`` to ``max``, ends included."""

    op: Literal["between"]
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Between:
        if self.min is None and self.max is None:
            raise ValueError("between needs min, max or both")
        return self


class WithinM(Noun):
    """The value is a point at most ``metres`` from ``lon``, ``lat`` (great circle).

    A point is ``{"lon", "lat"}``, ``{"x", "y"}``, ``[lon, lat]`` or ``"lon,lat"``. In an expected call the
    match stands on the parameter that holds the point; where longitude and latitude are two
    parameters it stands on the longitude and names the other in ``lat_from``.
    """

    op: Literal["within_m"]
    lon: Longitude
    lat: Latitude
    metres: float = Field(gt=0)
    lat_from: str | None = None


class OpenAt(Noun):
    """The value is opening hours (``"09:00-22:00"``, several joined by a comma or semicolon, ``"24h"``) open at ``time``.

    ``time`` is ``HH:MM``; hours may run past midnight (``"18:00-02:00"``).
    """

    op: Literal["open_at"]
    time: str = Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")


class Present(Noun):
    """The value is there and not null, empty text, ``[]`` or ``{}``."""

    op: Literal["present"]


class Absent(Noun):
    """The value is missing, null or empty."""

    op: Literal["absent"]


class SameItems(Noun):
    """The value is a list with the elements of ``values``, each as often as there, in any order."""

    op: Literal["same_items"]
    values: tuple[Json, ...]


_Match = Annotated[
    Equal | OneOf | Contains | Similar | Between | WithinM | OpenAt | Bound | Present | Absent | SameItems,
    Field(discriminator="op"),
]


def _spelt_out(value: object) -> object:
    """Return what a plain value means as a match: to equal it; a list: to be one of it."""
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


#: Bounds the values that a path with many ``*`` leads to in a large result.
MAX_VALUES = 10_000


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
    """Return the value under a name that a record has, dots and all, or all values at a dotted path; None stands for what is not there, also in an element of ``*``."""
    return [record[path]] if path in record else values_at(record, path, (None,)) or [None]


def _members(value: Json, key: str, missing: Sequence[Any]) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values() if key == "*" else (value[key],) if key in value else missing
    if isinstance(value, (list, tuple)):
        if key == "*":
            return value
        if key.isdecimal() and len(key) <= len(str(MAX_VALUES)):
            return value[int(key) : int(key) + 1] or missing
    return missing
