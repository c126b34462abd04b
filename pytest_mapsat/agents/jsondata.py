"""Anything a stranger's code hands us, as JSON data of our own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from pytest_mapsat.model import Json

_MAX_DEPTH = 60
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
#: The most values in one piece of data: a copy of lists that hold each other many times over would never end.
_MAX_VALUES = 1_000_000
#: Integers up to 1024 bits: Python refuses to write those of more than 4300 digits.
_MAX_BITS = 1024


#: Types that are asked for first: to ask whether a value is any mapping costs more than to copy it.
_SCALARS = frozenset({int, float, bool, type(None)})


def as_json(value: Any, other: Callable[[Any], Any] | None = None) -> Json:
    """Return a deep copy of the value as JSON data.

    What JSON cannot hold is replaced by what ``other`` makes of it; without that, and where it is no JSON data either, by its type's name in
    angle brackets: never by its ``repr``, which may show an address.
    """
    return _Copy(other).of(value, 0)


def text(value: str) -> str:
    """Return the text as a plain ``str`` that can be written as UTF-8."""
    value = str.__str__(value)
    if value.isascii():
        return value
    return _LONE_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)


class _Copy:
    """One copy under way, with what is left of its size."""

    def __init__(self, other: Callable[[Any], Any] | None) -> None:
        self._left = _MAX_VALUES
        self._other = other

    def of(self, value: Any, depth: int) -> Json:
        self._left -= 1
        kind = type(value)
        if kind is str:
            return text(value)
        if kind in _SCALARS or not isinstance(value, (dict, list, tuple, Mapping)):
            other = None if isinstance(value, (str, int, float, type(None))) else self._other
            return _scalar(value) if other is None else as_json(other(value))
        if depth >= _MAX_DEPTH or self._left < 0:
            return "<too deep>" if depth >= _MAX_DEPTH else "<too large>"
        if isinstance(value, (list, tuple)):
            return [self.of(item, depth + 1) for item in value]
        return {_key(key): self.of(item, depth + 1) for key, item in value.items()}


def _key(key: object) -> str:
    return text(key) if isinstance(key, str) else str(_scalar(key))


def _scalar(value: Any) -> Json:
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return value
    # By the methods of the types themselves: those of a number of somebody's own may say anything.
    if isinstance(value, int) and int.bit_length(value) <= _MAX_BITS:
        return int.__pos__(value)
    if isinstance(value, float):
        number = float.__pos__(value)
        return number if isfinite(number) else f"<{number}>"
    return f"<{type(value).__name__}>"
