"""Values of a database: as JSON, in which they are kept and compared with what a case says, and as code in Python reads them.

A date, time or moment is its ISO text, a moment with an offset that of UTC; a decimal number is a JSON number where it is the same number, else its digits as text;
bytes are ``base64:...``; a UUID and whatever else is no JSON is its text.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any
from uuid import UUID

from pytest_mapsat.model import Json, JsonObject

from .state import Row, frozen

_DEEPEST = 48
#: Decimal numbers of more digits before the point are kept as text.
_MOST_DIGITS = 300


def cell_of(value: Any, depth: int = 0) -> Json:  # noqa: C901, PLR0911  a line for each kind
    """Return a value of a database as JSON. Raises ValueError where it is nested deeper than a file may be."""
    if depth > _DEEPEST:
        raise ValueError(f"a value is nested deeper than {_DEEPEST}")
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case Decimal():
            return _number_of(value)
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
        case date() | time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return f"base64:{b64encode(value).decode()}"
        case Mapping():
            return {str(name): cell_of(member, depth + 1) for name, member in value.items()}
        case list() | tuple():
            return [cell_of(member, depth + 1) for member in value]
        case set() | frozenset():
            return sorted((cell_of(member, depth + 1) for member in value), key=str)
    return str(value)


def _number_of(value: Decimal) -> Json:
    if not value.is_finite() or value.adjusted() > _MOST_DIGITS:
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else str(value)


def key_text(*values: Any) -> str:
    """Return the text that a row is known by, from the values of its key."""
    texts = [text if isinstance(text := cell_of(value), str) else str(text) for value in values]
    plain = len(texts) == 1 or not any(mark in text for text in texts for mark in ',"')
    return ",".join(texts if plain else map(repr, texts))


class Amount(Decimal):
    """A decimal number of a database: it is compared with a float as that is written, so that it is 9.99."""

    def __eq__(self, other: object) -> bool:
        return super().__eq__(_as_written(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return super().__lt__(_as_written(other))

    def __le__(self, other: Any) -> bool:
        return super().__le__(_as_written(other))

    def __gt__(self, other: Any) -> bool:
        return super().__gt__(_as_written(other))

    def __ge__(self, other: Any) -> bool:
        return super().__ge__(_as_written(other))

    __hash__ = Decimal.__hash__


def _as_written(other: Any) -> Any:
    return Decimal(repr(other)) if isinstance(other, float) else other


class Written(str):
    """A text of a database, which equals a date, a time, a UUID or bytes that are kept as it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (date, time, UUID, bytes)):
            other = cell_of(other)
        return str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def face(row: JsonObject, decimals: tuple[str, ...]) -> Row:
    """Return a row as code in Python reads it. ``decimals``: its columns of decimal numbers."""
    return Row({name: _face(value, decimal=name in decimals) for name, value in row.items()})


def _face(value: Json, *, decimal: bool) -> Any:
    if decimal and value is not None:
        with suppress(InvalidOperation):  # SQLite keeps what it is given, whatever the type
            return Amount(str(value))
    return Written(value) if isinstance(value, str) else frozen(value)
