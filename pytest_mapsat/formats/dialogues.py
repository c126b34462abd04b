"""How recorded files are laid out, and dialogues in the layout in which MapSatisfyBench publishes them: plain typed values.

What they mean for a trajectory is said where it is made, in ``agents.recorded``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pytest_mapsat.model import CASE_ID_PATTERN, RUN_SCHEMA, Json, JsonObject, Problem, SuiteError, shown

from . import limits
from .csvtext import read_csv
from .files import read_lines
from .jsontext import decode, parse_json, parse_json_line

Layout = Literal["run", "lines", "table"]
_DIALOGUE_COLUMNS = ("conversation_id", "turn_index", "role", "content")
_CASE_ID = re.compile(CASE_ID_PATTERN)
_ROLES = ("user", "assistant")
_LITERAL_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\[({})\]]", re.DOTALL)


def layout_of(path: Path, name: str) -> Layout:
    """Return how a recorded file is laid out, by its first line: a saved run, JSON lines, or else a table.

    Args:
        path: the file.
        name: how messages name it.

    Raises:
        SuiteError: it cannot be read, or is empty.
    """
    first = next(read_lines(path, limits.RUN_BYTES, name), None)
    if first is None:
        raise SuiteError(Problem(name, 0, "the file is empty", f"expected {layouts('JSON lines', ())}"))
    text = decode(first.data, name, first.number)
    if not text.lstrip().startswith("{"):
        return "table"
    try:
        return "run" if "schema" in parse_json(text, depth=limits.RUN_DEPTH) else "lines"
    except ValueError:  # a run goes over many lines; the reader of runs says what is wrong with anything else
        return "run"


def layouts(lines: str, columns: Sequence[str]) -> str:
    """Return in words the layouts that are read, given what stands on a line, and the columns of a table."""
    table = f"a CSV with the columns {', '.join(columns)}" if columns else "a CSV"
    return f'a saved run ("schema": "{RUN_SCHEMA}"), {lines}, or {table}'


@dataclass(frozen=True, slots=True)
class PublishedCall:
    """One call of a tool: what it was given and what it gave, as the file has them."""

    name: str
    arguments: dict[Any, Any]
    result: object
    id: str


@dataclass(frozen=True, slots=True)
class PublishedMessage:
    """One message of a dialogue.

    Attributes:
        line: where it begins.
        index: its place in the dialogue; the agent's and the user's message of one exchange share it.
        role: ``user`` or ``assistant``.
        content: what was said.
        calls: the tools called on the way.
        status: empty or ``success`` where all went well.
        error: what went wrong.
        stops: whether the dialogue ends here.
        forced: whether it was ended by its limit of turns.
        input_tokens: what the model read, where it is told.
        output_tokens: what the model wrote, where it is told.
        milliseconds: how long it took, where it is told.
    """

    line: int
    index: int
    role: str
    content: str
    calls: tuple[PublishedCall, ...]
    status: str
    error: str
    stops: bool
    forced: bool
    input_tokens: int | None
    output_tokens: int | None
    milliseconds: int | None


@dataclass(frozen=True, slots=True)
class PublishedDialogue:
    """The messages of one dialogue, in the order of the file, and the line it begins on."""

    line: int
    case: str
    trial: int
    messages: tuple[PublishedMessage, ...]


class _OddError(ValueError):
    """A part is not what it should be; the reader adds file and line."""


def read_dialogues(path: Path, name: str, layout: Layout) -> Iterator[PublishedDialogue]:
    """Give the dialogues of a file in JSON lines, or of a table.

    Args:
        path: the file.
        name: how messages name it.
        layout: what ``layout_of`` said of it.

    Raises:
        SuiteError: it is broken; with the line.
    """
    yield from _table_dialogues(path, name) if layout == "table" else _line_dialogues(path, name)


def _line_dialogues(path: Path, name: str) -> Iterator[PublishedDialogue]:
    for line in read_lines(path, limits.DIALOGUE_BYTES, name):
        data = parse_json_line(line.data, name, line.number)
        try:
            yield _dialogue(data, line.number)
        except _OddError as error:
            raise SuiteError(Problem(name, line.number, str(error))) from None


def _dialogue(data: Json, line: int) -> PublishedDialogue:
    if not isinstance(data, dict) or not isinstance(data.get("turns"), list):
        raise _OddError("expected an object with case_id and a list of turns")
    messages = []
    for fields in data["turns"]:
        if not isinstance(fields, dict):
            raise _OddError(f"a turn is {shown(fields)}, expected an object")
        messages.append(_message(fields, line, _calls(fields.get("tool_calls"), "arguments", "result")))
    return PublishedDialogue(line, _case_id(data.get("case_id")), _trial(data.get("trial", 1)), tuple(messages))


def _table_dialogues(path: Path, name: str) -> Iterator[PublishedDialogue]:
    """Give the dialogues of a table: a row is a message, and the rows of several cases may be mixed."""
    found: dict[str, list[PublishedMessage]] = {}
    hint = f"expected {layouts('JSON lines with case_id and turns', _DIALOGUE_COLUMNS)}"
    for row in read_csv(path, _DIALOGUE_COLUMNS, name, hint=hint):
        try:
            calls = _calls(_literal(row.cells.get("tool_calls", "")), "args", "response")
            message = _message(row.cells, row.line, calls)
            found.setdefault(_case_id(row.cells["conversation_id"]), []).append(message)
        except _OddError as error:
            raise SuiteError(Problem(name, row.line, str(error))) from None
    for case, messages in found.items():
        yield PublishedDialogue(messages[0].line, case, 1, tuple(messages))


def _message(fields: JsonObject, line: int, calls: tuple[PublishedCall, ...]) -> PublishedMessage:
    role, content = fields.get("role"), fields.get("content")
    if role not in _ROLES:
        raise _OddError(f"role is {shown(role)}, expected 'user' or 'assistant'")
    if content is not None and not isinstance(content, str):
        raise _OddError(f"content is {shown(content)}, expected text")
    index = _whole(fields, "turn_index")
    if index is None:
        raise _OddError(f"turn_index is {shown(fields.get('turn_index'))}, expected a whole number, at least 0")
    return PublishedMessage(
        line=line,
        index=index,
        role=role,
        content=content or "",
        calls=calls,
        status=str(fields.get("status") or ""),
        error=str(fields.get("error_message") or ""),
        stops=_flag(fields, "is_stop"),
        forced=_flag(fields, "is_forced_stop"),
        input_tokens=_whole(fields, "input_tokens"),
        output_tokens=_whole(fields, "output_tokens"),
        milliseconds=_whole(fields, "latency_ms" if "latency_ms" in fields else "execution_time_ms"),
    )


def _calls(data: object, arguments: str, result: str) -> tuple[PublishedCall, ...]:
    calls = data or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise _OddError(f"tool_calls is {shown(data)}, expected a list of calls")
    return tuple(_call(call, call.get(arguments), call.get(result)) for call in calls)


def _call(call: JsonObject, arguments: object, result: object) -> PublishedCall:
    name = call.get("name")
    if not isinstance(name, str) or not name:
        raise _OddError(f"a tool call has the name {shown(name)}, expected text")
    if not isinstance(arguments, dict):
        raise _OddError(f"the call of {name} has the arguments {shown(arguments)}, expected an object")
    identity = call.get("id") or ""
    return PublishedCall(name, arguments, result, identity if isinstance(identity, str) else shown(identity))


def _case_id(value: Json) -> str:
    if not isinstance(value, str) or not _CASE_ID.fullmatch(value):
        raise _OddError(f"the case id is {shown(value)}, expected 1 to 80 of A-Z a-z 0-9 _ . -")
    return value


def _trial(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _OddError(f"trial is {shown(value)}, expected a whole number, at least 1")
    return value


def _whole(fields: JsonObject, name: str) -> int | None:
    value: Any = fields.get(name)
    if value is None or value == "":
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if isinstance(value, bool) or not 0 <= number < 2**53:
        raise _OddError(f"{name} is {shown(value)}, expected a whole number, at least 0")
    return number


def _flag(fields: JsonObject, name: str) -> bool:
    value = fields.get(name)
    if isinstance(value, bool) or value is None:
        return bool(value)
    if isinstance(value, str) and value.lower() in ("true", "false", ""):
        return value.lower() == "true"
    raise _OddError(f"{name} is {shown(value)}, expected true or false")


def _literal(cell: str) -> object:
    """Return the value of a Python literal: parsed, never evaluated, and refused before parsing when it is nested deeply."""
    if not cell.strip():
        return []
    if _nesting(cell) > limits.DEPTH:
        raise _OddError(f"tool_calls: lists and objects stand more than {limits.DEPTH} deep")
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise _OddError(
            "tool_calls is not a Python literal: expected a list of {'name', 'args', 'id', 'response'}"
        ) from None


def _nesting(source: str) -> int:
    depth = deepest = 0
    for token in _LITERAL_TOKENS.finditer(source):
        depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(token[0], 0)
        deepest = max(deepest, depth)
    return deepest
