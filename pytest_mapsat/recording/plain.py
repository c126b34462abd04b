"""What a tool of the user's own returned, as plain JSON data, or why it cannot be kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from pytest_mapsat.formats import limits
from pytest_mapsat.model import Json

#: A recording says more than its result: case, tool, arguments.
_MOST_BYTES = limits.RECORDING_BYTES // 2
#: A result stands three deep in a recording, and deeper in a run file, which allows for it.
_DEEPEST = limits.DEPTH - 4
_LONGEST_NUMBER = 10**limits.NUMBER_CHARS
#: Lists that hold each other many times over would never end.
_MOST_VALUES = 1_000_000


class NotPlainError(ValueError):
    """A value that no recording can hold; the message says where and why."""


def plain(value: Any) -> Json:
    """Return a deep copy of a value as JSON data. Tuples become lists; dataclasses and pydantic models become objects.

    Raises:
        NotPlainError: a value in it is none of JSON's, or it is too large for a recording.
    """
    data = _Copy().of(value, "", 0)
    size = len(json.dumps(data, ensure_ascii=False).encode())
    if size > _MOST_BYTES:
        raise NotPlainError(f"a result of {size:,} bytes; a recording holds {_MOST_BYTES:,}")
    return data


class _Copy:
    """One copy under way, with what is left of its size."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def of(self, value: Any, place: str, depth: int) -> Json:
        self._left -= 1
        if self._left < 0:
            raise NotPlainError(f"more than {_MOST_VALUES:,} values")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _text(str.__str__(value), place)
        if isinstance(value, int) and abs(value) < _LONGEST_NUMBER:
            return int(value)
        if isinstance(value, float) and isfinite(value):
            return float(value)
        if depth >= _DEEPEST:
            raise NotPlainError(f"{_at(place)}lists and objects that stand more than {_DEEPEST} deep")
        if isinstance(value, (list, tuple)):
            return [self.of(member, f"{place}.{index}", depth + 1) for index, member in enumerate(value)]
        members = _members(value)
        if members is None:
            kind = f"the number {value}" if isinstance(value, float) else f"a {type(value).__name__}"
            raise NotPlainError(f"{_at(place)}{kind}, which JSON cannot hold: return text, numbers, lists and dicts")
        odd = next((key for key in members if not isinstance(key, str)), None)
        if odd is not None:
            raise NotPlainError(f"{_at(place)}a key of type {type(odd).__name__}; keys of JSON are text")
        return {_text(key, place): self.of(member, f"{place}.{key}", depth + 1) for key, member in members.items()}


def _members(value: Any) -> Mapping[Any, Any] | None:
    """Return the members of what JSON writes as an object, or None for anything else."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        dumped = dump(mode="json")
        return dumped if isinstance(dumped, Mapping) else None
    return None


def _text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotPlainError(f"{_at(place)}text with half of a character, which no file can hold") from None
    return value


def _at(place: str) -> str:
    return f"at {place.lstrip('.')}: " if place else ""
