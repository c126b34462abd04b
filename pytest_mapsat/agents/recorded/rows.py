"""From the messages of a recorded dialogue, whatever the file's format, to a trajectory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NoReturn

from pytest_mapsat.agents.faults import scrubbed
from pytest_mapsat.agents.jsondata import as_json, text
from pytest_mapsat.model import (
    Ending,
    Fault,
    Json,
    JsonObject,
    Provenance,
    Step,
    Trajectory,
    Turn,
    TurnTiming,
    Usage,
)
from pytest_mapsat.sandbox import MISS_RESULT

_RECORDED = Provenance(kind="recorded")
_ROLES = ("user", "assistant")
_GOOD = ("", "success")
_MAX_RESULT = 16_000_000


class BadRow(Exception):  # noqa: N818  # becomes a Problem with file and line
    """A row cannot be read; the message says what was found and expected."""


@dataclass(frozen=True)
class Row:
    """One message, as both the JSONL and the CSV file have it."""

    line: int
    index: int
    role: str
    content: str
    calls: tuple[Step, ...] = ()
    status: str = ""
    error: str = ""
    stops: bool = False
    forced: bool = False
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None


@dataclass(frozen=True)
class Recording:
    """One recorded dialogue.

    Attributes:
        line: where it begins in the file.
        trajectory: the dialogue; without a query at the front where the file has none.
        warnings: what is odd about it.
    """

    line: int
    trajectory: Trajectory
    warnings: tuple[str, ...] = field(default=())


def row_of(fields: JsonObject, line: int, calls: Sequence[Step]) -> Row:
    """Return the row for the named fields of a message.

    Raises:
        BadRow: a field is missing or of the wrong type.
    """
    role = fields.get("role")
    if role not in _ROLES:
        raise BadRow(f"role is {as_json(role)!r}; expected 'user' or 'assistant'")
    content = fields.get("content")
    if content is not None and not isinstance(content, str):
        raise BadRow(f"content is of type {type(content).__name__}; expected text")
    return Row(
        line=line,
        index=_whole(fields, "turn_index", needed=True) or 0,
        role=role,
        content=text(content or ""),
        calls=tuple(calls),
        status=str(fields.get("status") or ""),
        error=str(fields.get("error_message") or ""),
        stops=_flag(fields, "is_stop"),
        forced=_flag(fields, "is_forced_stop"),
        usage=Usage(input_tokens=_whole(fields, "input_tokens"), output_tokens=_whole(fields, "output_tokens")),
        seconds=_seconds(fields),
    )


def step_of(name: object, arguments: object, result: object, call_id: object) -> Step:
    """Return the step for one recorded call. A result that is JSON text is parsed.

    Raises:
        BadRow: the call has no name, or arguments that are no object.
    """
    if not isinstance(name, str) or not name:
        raise BadRow(f"a tool call has the name {as_json(name)!r}; expected text")
    if not isinstance(arguments, dict):
        raise BadRow(f"the call of {name} has arguments of type {type(arguments).__name__}; expected an object")
    value = _parsed(result) if isinstance(result, str) else as_json(result)
    return Step(
        kind="call",
        id=text(str(call_id or "")),
        tool=text(name),
        arguments=as_json(arguments),
        result=value,
        status=_status_of(value),
        provenance=_RECORDED,
    )


def recording_of(case_id: str, trial: int, rows: Sequence[Row]) -> Recording:
    """Return the dialogue that the rows of one case make.

    Rows are put in order first: the query, then for each index the agent's reply before the user's.

    Raises:
        BadRow: the same message stands there twice.
    """
    rows = sorted(rows, key=lambda row: (row.index, row.role == "user"))
    _refuse_twins(rows)
    failed = next((row for row in rows if row.status not in _GOOD), None)
    trajectory = Trajectory(
        case=case_id,
        trial=trial,
        source="recorded",
        turns=tuple(map(_turn, rows)),
        ending=_ending(rows, failed),
        fault=None if failed is None else _fault(failed),
    )
    return Recording(min((row.line for row in rows), default=0), trajectory, tuple(_oddities(rows)))


def json_value(source: str) -> Json:
    """Parse JSON text, strictly: no NaN or infinity.

    Raises:
        ValueError: it is not JSON, or nested too deeply, or holds a number too long to be read.
    """
    try:
        return json.loads(source, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parsed(result: str) -> Json:
    if len(result) > _MAX_RESULT:
        raise BadRow(f"a tool result has {len(result)} characters; at most {_MAX_RESULT} are read")
    try:
        return as_json(json_value(result))
    except ValueError:
        return text(result)


def _status_of(result: Json) -> Literal["ok", "miss", "error"]:
    """Tell our own sandbox's refusals, which a saved dialogue may hold, from answers."""
    if result == MISS_RESULT:
        return "miss"
    if isinstance(result, dict) and result.keys() == {"status", "message"} and result["status"] == "error":
        return "error"
    return "ok"


def _turn(row: Row) -> Turn:
    return Turn(
        role="user" if row.role == "user" else "agent",
        text=row.content,
        steps=row.calls,
        usage=row.usage,
        timing=None if row.seconds is None else TurnTiming(seconds=row.seconds),
    )


def _ending(rows: Sequence[Row], failed: Row | None) -> Ending:
    if failed is not None:
        return "user_error" if failed.role == "user" else "agent_error"
    return "max_turns" if any(row.forced for row in rows) else "done"


def _fault(row: Row) -> Fault:
    words = f"the recorded message has status {row.status!r}"
    return Fault(
        blame="user" if row.role == "user" else "agent",
        message=scrubbed(f"{words}: {row.error}" if row.error else words),
    )


def _refuse_twins(rows: Sequence[Row]) -> None:
    for one, other in pairwise(rows):
        if (one.index, one.role) == (other.index, other.role):
            lines = sorted({one.line, other.line})
            where = f"lines {lines[0]} and {lines[1]}" if len(lines) > 1 else f"line {lines[0]}"
            raise BadRow(f"{where} both hold the {one.role} message with turn_index {one.index}")


def _oddities(rows: Sequence[Row]) -> list[str]:
    found = []
    if not rows or rows[0].role != "user":
        found.append("the recorded dialogue has no query; the case's own was put in front")
    ends = [place for place, row in enumerate(rows) if row.stops]
    if ends and ends[0] < len(rows) - 1:
        found.append(f"the recorded dialogue goes on for {len(rows) - 1 - ends[0]} messages after its end")
    return found


def _whole(fields: JsonObject, name: str, *, needed: bool = False) -> int | None:
    value: Any = fields.get(name)
    if value in (None, "") and not needed:
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if isinstance(value, bool) or not 0 <= number < 2**53:
        raise BadRow(f"{name} is {as_json(value)!r}; expected a whole number, at least 0")
    return number


def _flag(fields: JsonObject, name: str) -> bool:
    value = fields.get(name)
    if isinstance(value, bool) or value is None:
        return bool(value)
    if isinstance(value, str) and value.lower() in ("true", "false", ""):
        return value.lower() == "true"
    raise BadRow(f"{name} is {as_json(value)!r}; expected true or false")


def _seconds(fields: JsonObject) -> float | None:
    name = "latency_ms" if "latency_ms" in fields else "execution_time_ms"
    milliseconds = _whole(fields, name)
    return None if milliseconds is None else milliseconds / 1000
