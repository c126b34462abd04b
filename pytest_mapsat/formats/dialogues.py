"""How recorded files are laid out, and dialogues in the layout in which MapSatisfyBench publishes them: plain typed values.

What they mean for a trajectory is said where it is made, in ``agents.recorded``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from pytest_mapsat.model import CASE_ID_PATTERN, RUN_SCHEMA, JsonObject, Problem, SuiteError

from . import limits
from .files import read_lines
from .located import Lines, Located, validate
from .otlp import looks_like_spans
from .plain_data import decode, parse_json, parse_json_line, parse_literal, read_csv

Layout = Literal["run", "lines", "table", "spans"]
_Whole = Annotated[int, Field(ge=0, lt=2**53)]
_PartT = TypeVar("_PartT", bound="_Part")
#: The first lines, and characters, that tell a layout.
_PEEKED, _HEAD = 40, 200
_DIALOGUE_COLUMNS = ("conversation_id", "turn_index", "role", "content")


def layout_of(path: Path, name: str) -> Layout:
    """Return how a recorded file is laid out, by its first lines: a saved run, JSON lines of dialogues or spans, spans, or else a table.

    Args:
        path: the file.
        name: how messages name it.

    Raises:
        SuiteError: it cannot be read, or is empty.
    """
    begin = list(islice(read_lines(path, limits.RUN_BYTES, name), _PEEKED))
    if not begin:
        raise SuiteError(Problem(name, 0, "the file is empty", f"expected {layouts('JSON lines', ())}"))
    first = begin[0]
    text = decode(first.data, name, first.number)
    head = (
        text
        if len(begin) == 1 or first.data.rstrip().endswith(b"}")
        else b"".join(raw.data for raw in begin).decode(errors="replace")
    )
    if text.lstrip()[:1] in ("{", "[") and '"schema"' not in head[:_HEAD] and looks_like_spans(head):
        return "spans"
    if not text.lstrip().startswith("{"):
        return "table"
    try:
        return "run" if "schema" in parse_json(text, depth=limits.RUN_DEPTH) else "lines"
    except ValueError:  # a run goes over many lines; the reader of runs says what is wrong with anything else
        return "run"


def layouts(lines: str, columns: Sequence[str]) -> str:
    """Return in words the layouts that are read, given what stands on a line, and the columns of a table."""
    table = f"a CSV with the columns {', '.join(columns)}" if columns else "a CSV"
    return f'a saved run ("schema": "{RUN_SCHEMA}"), {lines}, OTLP JSON ("resourceSpans"), or {table}'


class _Part(BaseModel):
    """Part of a published dialogue; what is not used here is passed over, and what is empty counts as not given."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, data: Any) -> Any:
        return (
            {name: value for name, value in data.items() if value not in (None, "")} if isinstance(data, dict) else data
        )


class PublishedCall(_Part):
    """One call of a tool: what it was given and what it gave, as the file has them."""

    name: str
    arguments: dict[str, Any] = Field(validation_alias=AliasChoices("arguments", "args"))
    result: Any = Field(default=None, validation_alias=AliasChoices("result", "response"))
    id: str = ""


class PublishedMessage(_Part):
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
    index: _Whole = Field(validation_alias="turn_index")
    role: Literal["user", "assistant"]
    content: str = ""
    calls: tuple[PublishedCall, ...] = Field(default=(), validation_alias="tool_calls")
    status: str = ""
    error: str = Field(default="", validation_alias="error_message")
    stops: bool = Field(default=False, validation_alias="is_stop")
    forced: bool = Field(default=False, validation_alias="is_forced_stop")
    input_tokens: _Whole | None = None
    output_tokens: _Whole | None = None
    milliseconds: _Whole | None = Field(default=None, validation_alias=AliasChoices("latency_ms", "execution_time_ms"))


class _Row(PublishedMessage):
    """A row of the published table: one message, with the case of its dialogue."""

    case: str = Field(validation_alias="conversation_id", pattern=CASE_ID_PATTERN)


class PublishedDialogue(_Part):
    """The messages of one dialogue, in the order of the file, and the line it begins on."""

    line: int
    case: str = Field(validation_alias="case_id", pattern=CASE_ID_PATTERN)
    trial: Annotated[int, Field(ge=1)] = 1
    messages: tuple[PublishedMessage, ...] = Field(validation_alias="turns")


def read_dialogues(path: Path, name: str, layout: Layout) -> Iterator[PublishedDialogue]:
    """Give the dialogues of a file in JSON lines, or of a table.

    Args:
        path: the file.
        name: how messages name it.
        layout: what ``layout_of`` said of it.

    Raises:
        SuiteError: it is broken; with the line.
    """
    if layout == "table":
        yield from _table_dialogues(path, name)
        return
    for raw in read_lines(path, limits.DIALOGUE_BYTES, name):
        data = parse_json_line(raw.data, name, raw.number)
        if not isinstance(data, dict) or not isinstance(data.get("turns"), list):
            raise SuiteError(Problem(name, raw.number, "expected an object with case_id and a list of turns"))
        data["turns"] = [{**turn, "line": raw.number} if isinstance(turn, dict) else turn for turn in data["turns"]]
        yield _checked(PublishedDialogue, data, name, raw.number)


def _table_dialogues(path: Path, name: str) -> Iterator[PublishedDialogue]:
    """Give the dialogues of a table: a row is a message, and the rows of several cases may be mixed."""
    rows: dict[str, list[_Row]] = {}
    hint = f"expected {layouts('JSON lines with case_id and turns', _DIALOGUE_COLUMNS)}"
    for source in read_csv(path, _DIALOGUE_COLUMNS, name, hint=hint):
        cells: JsonObject = dict(source.cells)
        if calls := source.cells.get("tool_calls", "").strip():
            try:
                cells["tool_calls"] = parse_literal(calls)
            except ValueError as error:
                raise SuiteError(Problem(name, source.line, f"tool_calls {error}")) from None
        row = _checked(_Row, cells, name, source.line)
        rows.setdefault(row.case, []).append(row)
    for case, messages in rows.items():
        yield PublishedDialogue.model_construct(line=messages[0].line, case=case, messages=tuple(messages))


def _checked(model: type[_PartT], data: JsonObject, name: str, line: int) -> _PartT:
    problems: list[Problem] = []
    part = validate(model, Located({**data, "line": line}, Lines(line)), name, problems)
    if part is None:
        raise SuiteError(*problems)
    return part
