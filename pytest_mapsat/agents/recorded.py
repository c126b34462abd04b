"""Dialogues that were recorded elsewhere, taken as they are: a saved run, spans, or MapSatisfyBench's published layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from pytest_mapsat.formats import (
    DELEGATES,
    RecordedDialogue,
    layout_of,
    layouts,
    limits,
    noun_from,
    parse_json,
    parse_json_line,
    parse_literal,
    printable,
    read_csv,
    read_lines,
    read_run,
    read_spans,
    require_file,
)
from pytest_mapsat.model import (
    CASE_ID_PATTERN,
    Case,
    Ending,
    Fault,
    InfrastructureError,
    JsonObject,
    Problem,
    Provenance,
    Step,
    SuiteError,
    Trajectory,
    Turn,
    TurnTiming,
    Usage,
    UsageError,
    shown,
    status_of,
)

from .returned import as_json, scrubbed, writable
from .source import SourceSpec

_Whole = Annotated[int, Field(ge=0, lt=2**53)]
RECORDED = Provenance(kind="recorded")
_GOOD = ("", "success")
_COLUMNS = ("conversation_id", "turn_index", "role", "content")
_ANOTHER_QUERY = "the recorded dialogue begins with another query than the case's"


def _is_begun_by(longer: RecordedDialogue, shorter: RecordedDialogue) -> bool:
    """Return whether a conversation begins with a whole shorter conversation, as when each model call has its own trace."""
    whole, start = (
        [(turn.role, turn.text) for turn in conversation.trajectory.turns] for conversation in (longer, shorter)
    )
    if start and start[-1] == ("agent", ""):
        start.pop()  # the model called a tool, and nothing tells what it said then
    return len(start) < len(whole) and whole[: len(start)] == start


@dataclass(frozen=True)
class RecordedSource:
    """The dialogues of one file.

    Attributes:
        spec: the text it was resolved from.
        file: the file's name, as the user typed it.
        trajectories: the dialogues, by case id and trial; without a query at the front where the file has none.
        unplaced: the conversations whose spans do not name the case: looked up by their session, else by their query.
    """

    spec: str
    file: str
    trajectories: Mapping[tuple[str, int], Trajectory]
    unplaced: Sequence[RecordedDialogue] = ()
    kind: Literal["recorded"] = "recorded"
    name: str = "recorded"
    agent: object = None
    shared: bool = False
    waits: bool = False

    def had_real_user(self, case: Case, trial: int) -> bool:
        """Return whether a real user took part in the dialogue of a case: the file does not name this case and trial."""
        return (case.id, trial) not in self.trajectories

    def trajectory(self, case: Case, trial: int, tools: Container[str] | None = None) -> Trajectory:
        """Return the recorded dialogue of a case, preceded by the case's query if the recording has none.

        Args:
            case: the case.
            trial: counts from 1.
            tools: the tools of the case. A call of another tool that runs an agent is left out, as the calls of that agent count; None: no call is.

        Raises:
            InfrastructureError: the file has none, or it is not clear which is the one.
        """
        recorded = self.trajectories.get((case.id, trial)) or self._unplaced_of(case, trial)
        if recorded is None:
            which = f"case {case.id}" if trial == 1 else f"trial {trial} of case {case.id}"
            raise InfrastructureError(f"no recorded trajectory of {which} in {self.file}{self._others()}")
        if tools is not None:
            turns = tuple(
                turn.model_copy(update={"steps": tuple(step for step in turn.steps if not _delegates(step, tools))})
                for turn in recorded.turns
            )
            recorded = recorded.model_copy(update={"turns": turns})
        if not recorded.turns or recorded.turns[0].role != "user":
            query = Turn(role="user", text=case.visible.query)
            return recorded.model_copy(update={"turns": (query, *recorded.turns)})
        if recorded.turns[0].text.split() != case.visible.query.split():
            return recorded.model_copy(update={"warnings": tuple(dict.fromkeys((*recorded.warnings, _ANOTHER_QUERY)))})
        return recorded

    @cached_property
    def _by_session(self) -> Mapping[str, RecordedDialogue]:
        """Return the unassigned conversations that have a session id, by that id."""
        return {each.session: each for each in self.unplaced if each.session}

    @cached_property
    def _by_query(self) -> Mapping[str, Sequence[RecordedDialogue]]:
        """Return the unassigned conversations by their query, with whitespace normalised."""
        by_query: dict[str, list[RecordedDialogue]] = defaultdict(list)
        for conversation in self.unplaced:
            by_query[" ".join(conversation.query.split())].append(conversation)
        return by_query

    def _unplaced_of(self, case: Case, trial: int) -> Trajectory | None:
        """Return the unassigned conversation that matches a case by session or query, with a warning; None if there is none.

        Raises:
            InfrastructureError: several begin with the case's query.
        """
        by_session = self._by_session.get(case.id if trial == 1 else f"{case.id}-t{trial}")
        begun = self._by_query.get(" ".join(case.visible.query.split()), ()) if trial == 1 else ()
        if len(begun) > 1:
            begun = [shorter for shorter in begun if not any(_is_begun_by(longer, shorter) for longer in begun)]
        if by_session is None and len(begun) > 1:
            places = " and ".join(conversation.place for conversation in begun[:3])
            raise InfrastructureError(
                f"{len(begun)} conversations begin with the query of case {case.id}: {places}; tell them apart by an attribute mapsat.case"
            )
        conversation = by_session or next(iter(begun), None)
        if conversation is None:
            return None
        by = "session" if conversation is by_session else "query"
        warning = f"{conversation.place} was taken for this case by its {by}"
        update = {"case": case.id, "trial": trial, "warnings": (*conversation.trajectory.warnings, warning)}
        return conversation.trajectory.model_copy(update=update)

    def _others(self) -> str:
        """Return the part of an error message that counts conversations without a case; empty if every conversation names its case."""
        if not self.unplaced:
            return ""
        first = self.unplaced[0]
        return (
            f"; of {len(self.unplaced)} conversations without an attribute mapsat.case none has its id as session, or its query; "
            f"the first, {first.place}, begins with {shown(first.query)}"
        )


def open_source(spec: SourceSpec) -> RecordedSource:
    """Return the source that ``recorded:PATH`` names; the content of the file shows its layout.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read, or holds two dialogues of one case and trial; with the line.
    """
    path = spec.rest
    if not path:
        raise UsageError("recorded: names no file; give recorded:PATH")
    file, name = spec.root / path, printable(path)
    require_file(file, name)
    trajectories: dict[tuple[str, int], Trajectory] = {}
    lines: dict[tuple[str, int], int] = {}
    unplaced: list[RecordedDialogue] = []
    for line, trajectory in recorded_dialogues(file, name):
        if isinstance(trajectory, RecordedDialogue):
            unplaced.append(trajectory)
            continue
        key = (trajectory.case, trajectory.trial)
        if key in trajectories:
            message = f"a second dialogue of case {key[0]}, trial {key[1]}: line {lines[key]} has one"
            raise SuiteError(Problem(name, line, message, "keep one"))
        trajectories[key], lines[key] = trajectory, line
    return RecordedSource(f"recorded:{path}", printable(file.name), trajectories, unplaced)


def recorded_dialogues(file: Path, name: str) -> Iterator[tuple[int, Trajectory | RecordedDialogue]]:
    """Yield each dialogue of a file with its line (0 in a saved run); a conversation if no case is named. Raises SuiteError."""
    layout = layout_of(file, name)
    if layout == "run":
        yield from ((0, _as_recorded(card.trajectory)) for card in read_run(file, name).cases)
    elif layout == "spans":
        for dialogue in read_spans(file, name):
            yield dialogue.line, dialogue if dialogue.trajectory.case == "-" else dialogue.trajectory
    elif layout == "lines":
        yield from _published_lines(file, name)
    else:
        yield from _published_table(file, name)


def _delegates(step: Step, tools: Container[str]) -> bool:
    """Return whether a step is a call of a tool that runs another agent, and that the case does not have."""
    return step.provenance is not None and step.provenance.note == DELEGATES and step.tool not in tools


# -- a saved run ---------------------------------------------------------------------------


def _as_recorded(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory of a saved run, with ``recorded`` as its source and the provenance of its calls."""
    turns = tuple(
        turn.model_copy(update={"steps": tuple(map(_recorded_step, turn.steps))}) for turn in trajectory.turns
    )
    return trajectory.model_copy(update={"source": "recorded", "turns": turns})


def _recorded_step(step: Step) -> Step:
    """Return a call marked as recorded, with a note of its earlier provenance; return any other step unchanged."""
    if step.kind != "call" or (step.provenance is not None and step.provenance.kind in ("recorded", "reported")):
        return step
    note = "" if step.provenance is None else f"was {step.provenance.kind}"
    return step.model_copy(update={"provenance": Provenance(kind="recorded", note=note)})


# -- the published layout ------------------------------------------------------------------


class _PublishedPart(BaseModel):
    """Part of a published dialogue; unused fields are ignored, and empty fields count as missing."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, data: Any) -> Any:
        """Return the data without fields that are null or empty texts."""
        return (
            {name: value for name, value in data.items() if value not in (None, "")} if isinstance(data, dict) else data
        )


class _Call(_PublishedPart):
    """One call of a tool: its arguments and its result, in the form of the file."""

    name: str
    arguments: dict[str, Any] = Field(validation_alias=AliasChoices("arguments", "args"))
    result: Any = Field(default=None, validation_alias=AliasChoices("result", "response"))
    id: str = ""


class _Message(_PublishedPart):
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
    calls: tuple[_Call, ...] = Field(default=(), validation_alias="tool_calls")
    status: str = ""
    error: str = Field(default="", validation_alias="error_message")
    stops: bool = Field(default=False, validation_alias="is_stop")
    forced: bool = Field(default=False, validation_alias="is_forced_stop")
    input_tokens: _Whole | None = None
    output_tokens: _Whole | None = None
    milliseconds: _Whole | None = Field(default=None, validation_alias=AliasChoices("latency_ms", "execution_time_ms"))


class _Row(_Message):
    """A row of the published table: one message, with the case of its dialogue."""

    case: str = Field(validation_alias="conversation_id", pattern=CASE_ID_PATTERN)


class _PublishedDialogue(_PublishedPart):
    """The messages of one dialogue, in the order of the file."""

    case: str = Field(validation_alias="case_id", pattern=CASE_ID_PATTERN)
    trial: Annotated[int, Field(ge=1)] = 1
    messages: tuple[_Message, ...] = Field(validation_alias="turns")


def _published_lines(file: Path, name: str) -> Iterator[tuple[int, Trajectory]]:
    """Yield the dialogues of a JSON lines file, each with its line. Raises SuiteError."""
    for raw in read_lines(file, limits.DIALOGUE_BYTES, name):
        data = parse_json_line(raw.data, name, raw.number)
        if not isinstance(data, dict) or not isinstance(data.get("turns"), list):
            raise SuiteError(Problem(name, raw.number, "expected an object with case_id and a list of turns"))
        data["turns"] = [{**turn, "line": raw.number} if isinstance(turn, dict) else turn for turn in data["turns"]]
        dialogue = noun_from(_PublishedDialogue, data, name, raw.number)
        yield raw.number, _published(dialogue.case, dialogue.trial, dialogue.messages, name)


def _published_table(file: Path, name: str) -> Iterator[tuple[int, Trajectory]]:
    """Yield the dialogues of a CSV table, each with its first line: a row is a message, and cases may be mixed."""
    rows: dict[str, list[_Row]] = {}
    hint = f"expected {layouts('JSON lines with case_id and turns', _COLUMNS)}"
    for source in read_csv(file, _COLUMNS, name, hint=hint):
        cells: JsonObject = {**source.cells, "line": source.line}
        if calls := source.cells.get("tool_calls", "").strip():
            try:
                cells["tool_calls"] = parse_literal(calls)
            except ValueError as error:
                raise SuiteError(Problem(name, source.line, f"tool_calls {error}")) from None
        row = noun_from(_Row, cells, name, source.line)
        rows.setdefault(row.case, []).append(row)
    yield from ((messages[0].line, _published(case, 1, messages, name)) for case, messages in rows.items())


def _published(case: str, trial: int, listed: Sequence[_Message], name: str) -> Trajectory:
    """Return published messages as a trajectory, the agent's before the user's in each index. Raises SuiteError for a duplicate."""
    messages = sorted(listed, key=lambda message: (message.index, message.role == "user"))
    for message, other in pairwise(messages):
        if (message.index, message.role) == (other.index, other.role):
            first, second = sorted((message.line, other.line))
            where = f"line {first} has one" if first != second else "one is enough"
            twice = f"case {case}: a second {message.role} message with turn_index {message.index}: {where}"
            raise SuiteError(Problem(name, second, twice, "keep one"))
    failed = next((message for message in messages if message.status not in _GOOD), None)
    return Trajectory(
        case=case,
        trial=trial,
        source="recorded",
        turns=tuple(map(_turn, messages)),
        ending=_ending(messages, failed),
        fault=None if failed is None else _fault(failed),
        warnings=tuple(_oddities(messages)),
    )


def _turn(message: _Message) -> Turn:
    """Return a published message as a turn."""
    milliseconds = message.milliseconds
    return Turn(
        role="user" if message.role == "user" else "agent",
        text=writable(message.content),
        steps=tuple(map(_step, message.calls)),
        usage=Usage(input_tokens=message.input_tokens, output_tokens=message.output_tokens),
        timing=None if milliseconds is None else TurnTiming(seconds=milliseconds / 1000),
    )


def _step(call: _Call) -> Step:
    """Return a published tool call as a step, with a result in JSON text parsed."""
    result = as_json(call.result)
    if isinstance(call.result, str):  # data as JSON text, or words
        with suppress(ValueError):
            result = as_json(parse_json(call.result))
    return Step(
        kind="call",
        id=writable(call.id),
        tool=writable(call.name),
        arguments=as_json(call.arguments),
        result=result,
        status=status_of(result),
        provenance=RECORDED,
    )


def _ending(messages: Sequence[_Message], failed: _Message | None) -> Ending:
    """Return the reason why a dialogue ended: a failed message, its limit of turns, or completion."""
    if failed is not None:
        return "user_error" if failed.role == "user" else "agent_error"
    return "max_turns" if any(message.forced for message in messages) else "done"


def _fault(message: _Message) -> Fault:
    """Return the fault for a failed message, with its status and its error."""
    words = f"the recorded message has status {message.status!r}"
    return Fault(
        blame="user" if message.role == "user" else "agent",
        message=scrubbed(f"{words}: {message.error}" if message.error else words),
    )


def _oddities(messages: Sequence[_Message]) -> Iterator[str]:
    """Yield warnings about a dialogue that has no query or continues after its end."""
    if not messages or messages[0].role != "user":
        yield "the recorded dialogue has no query; the case's own was put in front"
    ends = [place for place, message in enumerate(messages) if message.stops]
    if ends and ends[0] < len(messages) - 1:
        yield f"the recorded dialogue goes on for {len(messages) - 1 - ends[0]} messages after its end"
