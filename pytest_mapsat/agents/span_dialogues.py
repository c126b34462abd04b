"""Conversations in spans as recorded trajectories, and which case each of them is of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pytest_mapsat.formats import Lines, Located, SpanCall, SpanDialogue, SpanTurn, limits, read_spans, validate
from pytest_mapsat.model import (
    Case,
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
    shown,
)
from pytest_mapsat.sandbox import MISS_RESULT

from .returned import as_json, scrubbed, writable

_NounT = TypeVar("_NounT", Step, Turn, Trajectory)
RECORDED = Provenance(kind="recorded")
_CAPTURE = "let the instrumentation record contents on spans (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY, or true), and export again"


class Conversation(NamedTuple):
    """A conversation whose spans do not name the case, with its session, its query, and its first span and line."""

    trajectory: Trajectory
    session: str
    query: str
    span: str
    line: int

    @property
    def place(self) -> str:
        """The first span, as messages name it."""
        return f"span {shown(self.span)} (line {self.line})"


@dataclass(frozen=True)
class Unplaced:
    """Conversations whose spans do not name the case: looked up by their session, else by their query.

    Attributes:
        by_session: those with a session.
        by_query: all, by the words that they begin with.
    """

    by_session: Mapping[str, Conversation] = field(default_factory=dict)
    by_query: Mapping[str, Sequence[Conversation]] = field(default_factory=dict)

    @classmethod
    def of(cls, conversations: Iterable[Conversation]) -> Unplaced:
        """Return them, ready to be looked up."""
        by_query: dict[str, list[Conversation]] = defaultdict(list)
        by_session: dict[str, Conversation] = {}
        for conversation in conversations:
            by_query[" ".join(conversation.query.split())].append(conversation)
            if conversation.session:
                by_session[conversation.session] = conversation
        return cls(by_session, by_query)

    def of_case(self, case: Case, trial: int) -> Trajectory | None:
        """Return the conversation of a case and trial, with a warning that names the session or query it matched; None where there is none.

        Raises:
            InfrastructureError: several begin with the case's query.
        """
        named = self.by_session.get(case.id if trial == 1 else f"{case.id}-t{trial}")
        begun = self.by_query.get(" ".join(case.visible.query.split()), ()) if trial == 1 else ()
        if len(begun) > 1:
            begun = [shorter for shorter in begun if not any(_is_begun_by(longer, shorter) for longer in begun)]
        if named is None and len(begun) > 1:
            places = " and ".join(conversation.place for conversation in begun[:3])
            raise InfrastructureError(
                f"{len(begun)} conversations begin with the query of case {case.id}: {places}; tell them apart by an attribute mapsat.case"
            )
        conversation = named or next(iter(begun), None)
        if conversation is None:
            return None
        by = "session" if conversation is named else "query"
        warning = f"{conversation.place} was taken for this case by its {by}"
        update = {"case": case.id, "trial": trial, "warnings": (*conversation.trajectory.warnings, warning)}
        return conversation.trajectory.model_copy(update=update)

    def told(self) -> str:
        """Return the end of the message that a case has no conversation: which conversations name no case. Empty where each names one."""
        every = [conversation for begun in self.by_query.values() for conversation in begun]
        if not every:
            return ""
        first = every[0]
        return (
            f"; of {len(every)} conversations without an attribute mapsat.case none has its id as session, or its query; "
            f"the first, {first.place}, begins with {shown(first.query)}"
        )


def _is_begun_by(longer: Conversation, shorter: Conversation) -> bool:
    """Return whether a longer conversation begins with the whole of a shorter one, as where each model call is a trace of its own."""
    whole, start = (
        [(turn.role, turn.text) for turn in conversation.trajectory.turns] for conversation in (longer, shorter)
    )
    if start and start[-1] == ("agent", ""):
        start.pop()  # the model called a tool, and nothing tells what it said then
    return len(start) < len(whole) and whole[: len(start)] == start


def span_trajectories(file: Path, name: str) -> Iterable[tuple[int, Trajectory | Conversation]]:
    """Give the conversations of a file of spans with the lines of their first spans; trajectories where a span names the case.

    Raises:
        SuiteError: it cannot be read; with the line.
    """
    for dialogue in read_spans(file, name):
        trajectory = span_trajectory(dialogue, name)
        if dialogue.case:
            yield dialogue.line, trajectory
        else:
            yield (
                dialogue.line,
                Conversation(trajectory, dialogue.session, dialogue.query or "", dialogue.span, dialogue.line),
            )


def span_trajectory(dialogue: SpanDialogue, name: str) -> Trajectory:
    """Return a conversation in spans as a recorded trajectory, with a turn for each of its turns.

    Args:
        dialogue: the conversation.
        name: how messages name the file.

    Raises:
        SuiteError: a field of ours holds what no trajectory can hold.
    """
    turns = tuple(_turn(turn, name) for turn in dialogue.turns)
    case = dialogue.case or "-"
    data = {**dialogue.own, "case": case, "trial": dialogue.trial, "source": "recorded", "turns": ()}
    data["calls_untold"] = not dialogue.tells_calls or data.get("calls_untold", False)
    data["warnings"] = [*data.get("warnings", ()), *map(scrubbed, dialogue.notes)]
    fault = _fault(dialogue)
    if fault is not None and not dialogue.own:
        data |= {"ending": "infrastructure_error", "fault": fault.to_json()}
    return _checked(Trajectory, data, name, dialogue.line).model_copy(update={"turns": turns})


def _fault(dialogue: SpanDialogue) -> Fault | None:
    """Return the fault of a conversation that cannot be judged because a reply is missing."""
    replies = [turn for turn in dialogue.turns if turn.role == "agent"]
    untold = next((turn for turn in replies if turn.text is None), None)
    if untold is not None:
        place = f"span {shown(untold.span)} (line {untold.line})"
        return Fault(blame="infrastructure", message=f"the reply of {place} is not told: {_CAPTURE}")
    if not replies:
        place = f"span {shown(dialogue.span)} (line {dialogue.line})"
        return Fault(blame="infrastructure", message=f"no span of the conversation of {place} tells a reply")
    return None


def _turn(turn: SpanTurn, name: str) -> Turn:
    own = dict(turn.own)
    places = own.pop("thoughts", ())
    steps: list[Step] = [step_of(call, name) for call in turn.calls]
    for number, thought in enumerate(turn.thoughts):
        at = places[number] if number < len(places) and isinstance(places[number], int) else number
        steps.insert(at, Step(kind="thought", text=writable(thought)))
    data = {**own, "role": turn.role, "text": writable(turn.text or "")}
    if turn.output is not None:
        data["output"] = as_json(turn.output)
    checked = _checked(Turn, data, name, turn.line)
    if turn.role == "user":
        return checked
    usage = Usage(input_tokens=turn.input_tokens, output_tokens=turn.output_tokens, cost=turn.cost)
    timing = None if turn.seconds is None else TurnTiming(seconds=turn.seconds)
    return checked.model_copy(update={"steps": tuple(steps), "usage": usage, "timing": timing})


def step_of(call: SpanCall, name: str) -> Step:
    """Return a call as a step.

    Args:
        call: the call.
        name: how messages name the file.

    Raises:
        SuiteError: a field of ours (``mapsat.call``) holds what no step can hold.
    """
    result = as_json(call.result)
    own = {
        part: value for part, value in call.own.items() if part in ("status", "changed", "writes", "unknown", "usage")
    }
    told = {"arguments": call.arguments is not None, "result": call.answered, "changed": bool(own)}
    status = "ok" if call.answered else "unknown"
    data = {
        "kind": "call",
        "id": writable(call.id),
        "tool": writable(call.name),
        "arguments": as_json(call.arguments or {}),
        "result": result,
        "status": "error" if call.failed else status_of(result) if call.answered else status,
        "unknown": [part for part, is_told in told.items() if not is_told],
    }
    return _checked(Step, {**data, **own}, name, call.line).model_copy(update={"provenance": RECORDED})


def _checked(noun: type[_NounT], data: JsonObject, name: str, line: int) -> _NounT:
    problems: list[Problem] = []
    value = validate(noun, Located(data, Lines(line)), name, problems)
    if value is None:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return value


def status_of(result: object) -> Literal["ok", "miss", "error"]:
    """Return the status of a call by its result: a recorded dialogue may hold misses and errors of our own sandbox."""
    if result == MISS_RESULT:
        return "miss"
    if isinstance(result, dict) and result.keys() == {"status", "message"} and result["status"] == "error":
        return "error"
    return "ok"
