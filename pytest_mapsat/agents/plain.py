"""Anything a stranger's code hands us, as JSON data of our own."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from pytest_mapsat.model import Json

_MAX_DEPTH = 60


def as_json(value: Any, *, depth: int = 0) -> Json:
    """Return a deep copy of the value as JSON data.

    What JSON cannot hold is replaced by its type's name in angle brackets: never by its ``repr``, which may show an address.
    """
    if isinstance(value, dict | list | tuple | Mapping):
        return _container(value, depth)
    return _scalar(value)


def text(value: str) -> str:
    """Return the text as a plain ``str`` that can be written as UTF-8."""
    value = str.__str__(value)
    if value.isascii():
        return value
    return value.encode("utf-8", "replace").decode()


def _container(value: Any, depth: int) -> Json:
    if depth >= _MAX_DEPTH:
        return "<too deep>"
    if isinstance(value, list | tuple):
        return [as_json(item, depth=depth + 1) for item in value]
    return {_key(key): as_json(item, depth=depth + 1) for key, item in value.items()}


def _key(key: object) -> str:
    return text(key) if isinstance(key, str) else str(_scalar(key))


def _scalar(value: Any) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else f"<{value}>"
    return f"<{type(value).__name__}>"
