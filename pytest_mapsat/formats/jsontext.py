"""JSON, read strictly: no duplicate keys, no NaN, no half characters, bounded depth."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from pytest_mapsat.model import Json, Problem, SuiteError, shown

from . import limits

_ONE_A_LINE = "JSON Lines: each case or recording stands on one line of its own, without a list around them"


def decode(raw: bytes, path: str, first_line: int = 1) -> str:
    """Return the text of UTF-8 bytes without a byte order mark, or raise a SuiteError that names the line."""
    if (nul := raw.find(b"\0")) >= 0:
        line = first_line + raw.count(b"\n", 0, nul)
        raise SuiteError(Problem(path, line, "holds a NUL character", "save the file as UTF-8 text"))
    try:
        return raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = first_line + raw.count(b"\n", 0, error.start)
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x} cannot stand here"
        raise SuiteError(Problem(path, line, message, "save the file as UTF-8 text")) from error


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
    return located_json(text, path, line, hint=_ONE_A_LINE if text.rstrip() in ("[", "{") else "")


def located_json(text: str, path: str, line: int, *, depth: int = limits.DEPTH, hint: str = "") -> Json:
    """Return the data of a JSON text that stands in a file.

    Args:
        text: the JSON.
        path: the file, for errors.
        line: the 1-based line that the text begins on, for errors.
        depth: how deep lists and objects may stand in each other.
        hint: what to do where it is not JSON at all.

    Raises:
        SuiteError: that names the line and what is wrong with it.
    """
    try:
        return parse_json(text, depth=depth)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON: {error.msg}, column {error.colno}"
        line += text.count("\n", 0, min(error.pos, len(text.rstrip())))  # text that ends too early ends where it ends
        raise SuiteError(Problem(path, line, message, hint)) from error
    except ValueError as error:
        raise SuiteError(Problem(path, line, str(error))) from error


def parse_json(text: str, *, depth: int = limits.DEPTH) -> Json:
    """Return the data of a JSON text.

    Args:
        text: the JSON.
        depth: how deep lists and objects may stand in each other.

    Raises:
        ValueError: for what is not JSON, or JSON that is refused.
    """
    try:
        data = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(_too_deep(depth)) from None
    if text.count("[") + text.count("{") > depth:
        _check_depth(data, depth)
    if "\\u" in text:
        _check_characters(data)
    return data


def _too_deep(depth: int) -> str:
    return f"lists and objects stand more than {depth} deep"


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


#: Made once: to build one costs as much as to read a short line.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)


def _check_depth(data: Json, depth: int) -> None:
    level = [data] if isinstance(data, (dict, list)) else []
    for _ in range(depth):
        level = [
            child
            for value in level
            for child in (value.values() if type(value) is dict else value)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return
    raise ValueError(_too_deep(depth))


def _check_characters(data: Json) -> None:
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("holds half of a character (a lone surrogate such as \\ud800)") from None
