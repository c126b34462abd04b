"""The files that recorded dialogues come in, told apart by what stands in them."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from pytest_mapsat.agents.jsondata import as_json
from pytest_mapsat.model import (
    RUN_SCHEMA,
    Json,
    JsonObject,
    Problem,
    Provenance,
    Step,
    SuiteError,
    Trajectory,
    did_you_mean,
)

from .rows import BadRow, Recording, Row, json_value, recording_of, row_of, step_of

MAX_FILE = 1_000_000_000
_MAX_CELL = 16_000_000
_MAX_DEPTH = 60
_CSV_COLUMNS = ("conversation_id", "turn_index", "role", "content")
_CASE_ID = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\[({})\]]", re.DOTALL)

Recordings = dict[tuple[str, int], Recording]


def read_file(path: Path, shown: str) -> Recordings:
    """Return all dialogues of a file by case id and trial.

    Args:
        path: the file.
        shown: its name in messages.

    Raises:
        SuiteError: it is none of the formats, or broken; with the line.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise SuiteError(Problem(shown, 0, f"the file is larger than {MAX_FILE:,} bytes"))
        return _collect(_reader(path, shown), shown)
    except OSError as error:
        raise SuiteError(Problem(shown, 0, f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise SuiteError(Problem(shown, 0, f"is not UTF-8 text (byte {error.start})")) from None


def _collect(recordings: Iterator[Recording], shown: str) -> Recordings:
    found: Recordings = {}
    for recording in recordings:
        key = (recording.trajectory.case, recording.trajectory.trial)
        if key in found:
            first = found[key].line
            where = f"line {first} has it already" if first else "it stands there already"
            raise SuiteError(
                Problem(
                    shown, recording.line, f"a second dialogue of case {key[0]}, trial {key[1]}: {where}", "keep one"
                )
            )
        found[key] = recording
    return found


def _reader(path: Path, shown: str) -> Iterator[Recording]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    if first.lstrip().startswith("{"):
        head = _object_or_none(first)
        return _run(path, shown) if head is None or "schema" in head else _jsonl(path, shown)
    columns = next(csv.reader([first]), [])
    if set(_CSV_COLUMNS) <= set(columns):
        return _csv(path, shown)
    raise SuiteError(
        Problem(shown, 1, f"none of the formats that can be read: {_FORMATS}", did_you_mean("conversation_id", columns))
    )


_FORMATS = (
    f'a saved run ("schema": "{RUN_SCHEMA}"), JSON lines with case_id and turns, '
    f"or a dialogue CSV with the columns {', '.join(_CSV_COLUMNS)}"
)


def _object_or_none(line: str) -> JsonObject | None:
    try:
        value = json_value(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# -- a saved run ---------------------------------------------------------------------------


def _run(path: Path, shown: str) -> Iterator[Recording]:
    try:
        run = json_value(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise SuiteError(Problem(shown, line, f"is not JSON: {getattr(error, 'msg', error)}")) from None
    schema = run.get("schema") if isinstance(run, dict) else None
    if schema != RUN_SCHEMA:
        raise SuiteError(
            Problem(
                shown,
                0,
                f"has the schema {as_json(schema)!r}; this version reads {RUN_SCHEMA!r}",
                _FORMATS if schema is None else "",
            )
        )
    cases = run.get("cases")
    if not isinstance(cases, list):
        raise SuiteError(Problem(shown, 0, "a saved run has a list of cases; this one has none"))
    for place, case in enumerate(cases, 1):
        yield Recording(0, _saved(case, f"case {place} of the run", shown))


def _saved(case: Json, where: str, shown: str) -> Trajectory:
    try:
        trajectory = Trajectory.model_validate(case["trajectory"] if isinstance(case, dict) else None)
    except KeyError:
        raise SuiteError(Problem(shown, 0, f"{where} has no trajectory")) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise SuiteError(Problem(shown, 0, f"{where}: trajectory.{place}: {first['msg']}")) from None
    turns = tuple(turn.model_copy(update={"steps": tuple(map(_as_recorded, turn.steps))}) for turn in trajectory.turns)
    return trajectory.model_copy(update={"source": "recorded", "turns": turns})


def _as_recorded(step: Step) -> Step:
    if step.kind != "call" or (step.provenance is not None and step.provenance.kind == "recorded"):
        return step
    note = "" if step.provenance is None else f"was {step.provenance.kind}"
    return step.model_copy(update={"provenance": Provenance(kind="recorded", note=note)})


# -- JSON lines ----------------------------------------------------------------------------


def _jsonl(path: Path, shown: str) -> Iterator[Recording]:
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _line(line, number, shown)


def _line(line: str, number: int, shown: str) -> Recording:
    try:
        return _dialogue(json_value(line), number)
    except BadRow as error:
        raise SuiteError(Problem(shown, number, str(error))) from None
    except ValueError as error:
        raise SuiteError(Problem(shown, number, f"is not JSON: {error}")) from None


def _dialogue(value: Json, line: int) -> Recording:
    if not isinstance(value, dict) or not isinstance(value.get("turns"), list):
        raise BadRow("expected an object with case_id and a list of turns")
    rows = [_json_row(fields, line) for fields in value["turns"]]
    return recording_of(_checked_id(value.get("case_id")), _trial(value.get("trial", 1)), rows)


def _json_row(fields: Json, line: int) -> Row:
    if not isinstance(fields, dict):
        raise BadRow(f"a turn is of type {type(fields).__name__}; expected an object")
    calls = fields.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise BadRow("tool_calls is not a list of objects")
    steps = [step_of(call.get("name"), call.get("arguments"), call.get("result"), call.get("id")) for call in calls]
    return row_of(fields, line, steps)


def _trial(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadRow(f"trial is {as_json(value)!r}; expected a whole number, at least 1")
    return value


def _checked_id(value: Json) -> str:
    if not isinstance(value, str) or not _CASE_ID.fullmatch(value):
        raise BadRow(f"the case id is {as_json(value)!r}; expected letters, digits, '_', '.', '-', at most 80")
    return value


# -- the published CSV ---------------------------------------------------------------------


def _csv(path: Path, shown: str) -> Iterator[Recording]:
    rows: dict[str, list[Row]] = {}
    limit = csv.field_size_limit(_MAX_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line, fields in _numbered(csv.DictReader(file, strict=True), shown):
                try:
                    rows.setdefault(_checked_id(fields["conversation_id"]), []).append(_csv_row(fields, line))
                except BadRow as error:
                    raise SuiteError(Problem(shown, line, str(error))) from None
    finally:
        csv.field_size_limit(limit)
    for case_id, found in rows.items():
        try:
            yield recording_of(case_id, 1, found)
        except BadRow as error:
            raise SuiteError(Problem(shown, found[0].line, f"case {case_id}: {error}")) from None


def _numbered(reader: csv.DictReader[str], shown: str) -> Iterator[tuple[int, JsonObject]]:
    """Yield each row with the line it begins on: a cell may hold line breaks."""
    begins = 2
    try:
        for fields in reader:
            if None in fields or None in fields.values():
                raise SuiteError(
                    Problem(
                        shown,
                        begins,
                        f"the row has more or fewer cells than the {len(reader.fieldnames or ())} columns",
                    )
                )
            yield begins, fields
            begins = reader.line_num + 1
    except csv.Error as error:
        raise SuiteError(Problem(shown, begins, f"is not CSV: {error}")) from None


def _csv_row(fields: JsonObject, line: int) -> Row:
    calls = _literal(fields.get("tool_calls") or "")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise BadRow("tool_calls is not a list of calls")
    steps = [step_of(call.get("name"), call.get("args"), call.get("response"), call.get("id")) for call in calls]
    return row_of(fields, line, steps)


def _literal(cell: str) -> object:
    """Return the value of a Python literal: parsed, never evaluated, and refused before parsing when it is nested deeply."""
    if not cell.strip():
        return []
    if _depth(cell) > _MAX_DEPTH:
        raise BadRow(f"tool_calls is nested more than {_MAX_DEPTH} deep")
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise BadRow(
            "tool_calls is not a Python literal: expected a list of {'name', 'args', 'id', 'response'}"
        ) from None


def _depth(source: str) -> int:
    depth = deepest = 0
    for token in _TOKENS.finditer(source):
        depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(token[0], 0)
        deepest = max(deepest, depth)
    return deepest
