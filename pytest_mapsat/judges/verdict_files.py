"""Reading a file of recorded verdicts as plain data, with the line of everything, within limits, and never by evaluation."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pytest_mapsat.model import RUN_SCHEMA, JsonObject, Problem, SuiteError, UsageError, shown

MAX_BYTES = 256 * 1024 * 1024
MAX_FIELD = 64 * 1024 * 1024
_COLUMNS = ("case_id", "results")
_EXPECTED = (
    f"expected a saved run ({RUN_SCHEMA}), one JSON verdict a line, or a CSV with the columns {' and '.join(_COLUMNS)}"
)


@dataclass(frozen=True)
class Row:
    """One object of the file and the line it begins in."""

    line: int
    data: JsonObject


@dataclass(frozen=True)
class VerdictFile:
    """What a file holds.

    Attributes:
        shown: the path as the user typed it.
        run: whether the rows are the cases of a saved run, and not published verdicts.
        rows: the objects, in the order of the file.
    """

    shown: str
    run: bool
    rows: tuple[Row, ...]


def read_verdict_file(path: Path, name: str) -> VerdictFile:
    """Read a file whose format is told from its content.

    Args:
        path: the file.
        name: the path as the user typed it, for messages.

    Raises:
        UsageError: there is no such file.
        SuiteError: the file is too large or is none of the formats; with the line.
    """
    text = _text(path, name)
    if not text.strip():
        _refuse(name, 0, "the file is empty", _EXPECTED)
    if not text.lstrip().startswith("{"):
        return VerdictFile(name, run=False, rows=tuple(_csv_rows(text, name)))
    whole = _whole(text)
    if whole is not None and "schema" in whole:
        return VerdictFile(name, run=True, rows=tuple(_run_rows(whole, name)))
    if whole is not None:
        return VerdictFile(name, run=False, rows=(Row(1 + text[: text.index("{")].count("\n"), whole),))
    return VerdictFile(name, run=False, rows=tuple(_json_lines(text, name)))


def parse_json(text: str, name: str, line: int) -> JsonObject:
    """Return the JSON object of ``text``, which begins in ``line``.

    Raises:
        SuiteError: it is no JSON object, or holds NaN or an infinity.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        _refuse(name, line + error.lineno - 1, f"this is not JSON: {error.msg} at column {error.colno}", _EXPECTED)
    except (ValueError, RecursionError) as error:
        _refuse(name, line, f"this JSON cannot be used: {_reason(error)}")
    if not isinstance(value, dict):
        _refuse(name, line, f"found {shown(value)}, expected a JSON object")
    return value


def _text(path: Path, name: str) -> str:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise UsageError(f"{name} is no file; recorded:PATH names a file with verdicts")
        if size > MAX_BYTES:
            _refuse(name, 0, f"the file has {size} bytes, the most that is read is {MAX_BYTES}")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read the verdicts of {name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        _refuse(name, 0, f"the file is not UTF-8 (byte {error.start})")


def _whole(text: str) -> JsonObject | None:
    """Return the text's one JSON object; None where it is not one, which the reader of lines then explains."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _run_rows(run: JsonObject, name: str) -> Iterator[Row]:
    if run["schema"] != RUN_SCHEMA:
        _refuse(name, 0, f"the file says schema {shown(run['schema'])}, expected {RUN_SCHEMA!r}")
    cases = run.get("cases")
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        _refuse(name, 0, "the run has no list of cases")
    yield from (Row(0, case) for case in cases)


def _json_lines(text: str, name: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield Row(number, parse_json(line, name, number))


def _csv_rows(text: str, name: str) -> Iterator[Row]:
    """Yield the rows of the published table; the JSON of ``results`` is put in place of its text."""
    allowed = csv.field_size_limit(MAX_FIELD)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        columns = reader.fieldnames or []
        if not set(_COLUMNS) <= set(columns):
            _refuse(name, 1, f"the first line is {shown(text.splitlines()[0])}", _EXPECTED)
        line = reader.line_num + 1
        for row in reader:
            yield Row(line, _csv_row(row, name, line))
            line = reader.line_num + 1
    except csv.Error as error:
        _refuse(name, reader.line_num, f"this is not CSV: {error}")
    finally:
        csv.field_size_limit(allowed)


def _csv_row(row: dict[str | Any, str | Any], name: str, line: int) -> JsonObject:
    if None in row or None in row.values():
        _refuse(name, line, "the row has not as many fields as the first line")
    results = parse_json(row["results"], name, line) if row["results"].strip() else {}
    return {**{key: row[key] for key in ("case_id", "status", "error") if key in row}, **results}


def _no_constant(found: str) -> NoReturn:
    raise ValueError(f"{found} is no number of JSON")


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _refuse(name: str, line: int, message: str, hint: str = "") -> NoReturn:
    raise SuiteError(Problem(name, line, message, hint)) from None
