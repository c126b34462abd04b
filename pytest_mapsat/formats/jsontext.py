"""One line of JSON, read strictly: no duplicate keys, no NaN, no half characters, bounded depth."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from pytest_mapsat.model import Json, Problem, SuiteError, shown

from . import limits
from .yamltext import decode


def parse_json_line(raw: bytes, path: str, line: int) -> Json:
    """Return the data of one line of a JSONL file.

    Args:
        raw: the line's bytes.
        path: the file, for errors.
        line: its 1-based number, for errors.

    Raises:
        SuiteError: that names the line and what is wrong with it.
    """
    text = decode(raw, path, line)
    try:
        data = parse_json(text)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON: {error.msg}, column {error.colno}"
        raise SuiteError(Problem(path, line, message, _hint(raw))) from error
    except ValueError as error:
        raise SuiteError(Problem(path, line, str(error))) from error
    return data


def parse_json(text: str) -> Json:
    """Return the data of a JSON text.

    Raises:
        ValueError: for what is not JSON, or JSON that is refused.
    """
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > limits.DEPTH:
        _check_depth(data)
    if "\\u" in text:
        _check_characters(data)
    return data


_TOO_DEEP = f"lists and objects stand more than {limits.DEPTH} deep"


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    data = dict(pairs)
    if len(data) == len(pairs):
        return data
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"the key {shown(key)} stands twice in one object")
        seen.add(key)
    return data


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value; a number that is not known is null")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {shown(text)} is too large")
    return number


def _check_depth(data: Json) -> None:
    level = [data]
    for _ in range(limits.DEPTH):
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _children(value: Json) -> list[Json]:
    """Return the lists and objects directly inside a value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in inside if isinstance(child, (dict, list))]


def _check_characters(data: Json) -> None:
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("holds half of a character (a lone surrogate such as \\ud800)") from None


def _hint(raw: bytes) -> str:
    if raw.strip() in (b"[", b"{"):
        return "JSON Lines: each case or record stands on one line of its own, without a list around them"
    return ""
