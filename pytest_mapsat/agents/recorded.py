"""Dialogues that were recorded elsewhere, taken as they are: a saved run, spans, or MapSatisfyBench's published layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pytest_mapsat.formats import (
    PublishedCall,
    PublishedDialogue,
    PublishedMessage,
    layout_of,
    parse_json,
    printable,
    read_dialogues,
    read_run,
    require_file,
)
from pytest_mapsat.model import (
    Case,
    Ending,
    Fault,
    InfrastructureError,
    Json,
    Problem,
    Provenance,
    Step,
    SuiteError,
    Trajectory,
    Turn,
    TurnTiming,
    Usage,
    UsageError,
)

from .returned import as_json, scrubbed, writable
from .source import Spec
from .span_dialogues import RECORDED, Conversation, Unplaced, span_trajectories, status_of

_GOOD = ("", "success")
_ANOTHER_QUERY = "the recorded dialogue begins with another query than the case's"


@dataclass(frozen=True)
class RecordedSource:
    """The dialogues of one file.

    Attributes:
        spec: the text it was resolved from.
        file: the file's name, as the user typed it.
        trajectories: the dialogues, by case id and trial; without a query at the front where the file has none.
        unplaced: the conversations in spans of which none names a case.
    """

    spec: str
    file: str
    trajectories: Mapping[tuple[str, int], Trajectory]
    unplaced: Unplaced = field(default_factory=Unplaced)
    kind: Literal["recorded"] = "recorded"
    name: str = "recorded"
    agent: object = None
    shared: bool = False
    waits: bool = False

    def spoke_with_somebody(self, case: Case, trial: int) -> bool:
        """Return whether the dialogue of a case is one with a real user: spans of a simulated one name the case."""
        return (case.id, trial) not in self.trajectories

    def trajectory(self, case: Case, trial: int) -> Trajectory:
        """Return the recorded dialogue of a case as it is, in front of it the case's query where the file has none.

        Raises:
            InfrastructureError: the file has none, or it is not clear which is the one.
        """
        recorded = self.trajectories.get((case.id, trial)) or self.unplaced.of_case(case, trial)
        if recorded is None:
            which = f"case {case.id}" if trial == 1 else f"trial {trial} of case {case.id}"
            raise InfrastructureError(f"no recorded trajectory of {which} in {self.file}{self.unplaced.told()}")
        if not recorded.turns or recorded.turns[0].role != "user":
            query = Turn(role="user", text=case.visible.query)
            return recorded.model_copy(update={"turns": (query, *recorded.turns)})
        if recorded.turns[0].text.split() != case.visible.query.split():
            return recorded.model_copy(update={"warnings": tuple(dict.fromkeys((*recorded.warnings, _ANOTHER_QUERY)))})
        return recorded


def open_source(spec: Spec) -> RecordedSource:
    """Return the source that ``recorded:PATH`` names; see ``open_recorded``."""
    return open_recorded(spec.rest, root=spec.root)


def open_recorded(path: str, *, root: Path) -> RecordedSource:
    """Return the source for a file, whose layout is told from its content.

    Args:
        path: absolute, or relative to ``root``.
        root: the directory pytest was started in.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read, or holds two dialogues of one case and trial; with the line.
    """
    if not path:
        raise UsageError("recorded: names no file; give recorded:PATH")
    file, name = root / path, printable(path)
    require_file(file, name)
    trajectories: dict[tuple[str, int], Trajectory] = {}
    lines: dict[tuple[str, int], int] = {}
    unplaced: list[Conversation] = []
    for line, trajectory in recorded_dialogues(file, name):
        if isinstance(trajectory, Conversation):
            unplaced.append(trajectory)
            continue
        key = (trajectory.case, trajectory.trial)
        if key in trajectories:
            message = f"a second dialogue of case {key[0]}, trial {key[1]}: line {lines[key]} has one"
            raise SuiteError(Problem(name, line, message, "keep one"))
        trajectories[key], lines[key] = trajectory, line
    return RecordedSource(f"recorded:{path}", printable(file.name), trajectories, Unplaced.of(unplaced))


def recorded_dialogues(file: Path, name: str) -> Iterator[tuple[int, Trajectory | Conversation]]:
    """Yield the dialogues of a file with the lines on which they begin; 0 in a saved run. Raises SuiteError where it is broken; ``name``: how messages name it."""
    layout = layout_of(file, name)
    if layout == "run":
        yield from ((0, _as_recorded(card.trajectory)) for card in read_run(file, name).cases)
    elif layout == "spans":
        yield from span_trajectories(file, name)
    else:
        yield from ((dialogue.line, _published(dialogue, name)) for dialogue in read_dialogues(file, name, layout))


# -- a saved run ---------------------------------------------------------------------------


def _as_recorded(trajectory: Trajectory) -> Trajectory:
    turns = tuple(
        turn.model_copy(update={"steps": tuple(map(_recorded_step, turn.steps))}) for turn in trajectory.turns
    )
    return trajectory.model_copy(update={"source": "recorded", "turns": turns})


def _recorded_step(step: Step) -> Step:
    if step.kind != "call" or (step.provenance is not None and step.provenance.kind in ("recorded", "reported")):
        return step
    note = "" if step.provenance is None else f"was {step.provenance.kind}"
    return step.model_copy(update={"provenance": Provenance(kind="recorded", note=note)})


# -- the published layout ------------------------------------------------------------------


def _published(dialogue: PublishedDialogue, name: str) -> Trajectory:
    """Return a dialogue as a trajectory: the query, then for each index the agent's reply before the user's."""
    messages = sorted(dialogue.messages, key=lambda message: (message.index, message.role == "user"))
    for message, other in pairwise(messages):
        if (message.index, message.role) == (other.index, other.role):
            first, second = sorted((message.line, other.line))
            where = f"line {first} has one" if first != second else "one is enough"
            twice = f"case {dialogue.case}: a second {message.role} message with turn_index {message.index}: {where}"
            raise SuiteError(Problem(name, second, twice, "keep one"))
    failed = next((message for message in messages if message.status not in _GOOD), None)
    return Trajectory(
        case=dialogue.case,
        trial=dialogue.trial,
        source="recorded",
        turns=tuple(map(_turn, messages)),
        ending=_ending(messages, failed),
        fault=None if failed is None else _fault(failed),
        warnings=tuple(_oddities(messages)),
    )


def _turn(message: PublishedMessage) -> Turn:
    milliseconds = message.milliseconds
    return Turn(
        role="user" if message.role == "user" else "agent",
        text=writable(message.content),
        steps=tuple(map(_step, message.calls)),
        usage=Usage(input_tokens=message.input_tokens, output_tokens=message.output_tokens),
        timing=None if milliseconds is None else TurnTiming(seconds=milliseconds / 1000),
    )


def _step(call: PublishedCall) -> Step:
    result = _result(call.result)
    return Step(
        kind="call",
        id=writable(call.id),
        tool=writable(call.name),
        arguments=as_json(call.arguments),
        result=result,
        status=status_of(result),
        provenance=RECORDED,
    )


def _result(result: object) -> Json:
    """Return a result as data; one that is JSON text is parsed."""
    if not isinstance(result, str):
        return as_json(result)
    try:
        return as_json(parse_json(result))
    except ValueError:
        return writable(result)


def _ending(messages: Sequence[PublishedMessage], failed: PublishedMessage | None) -> Ending:
    if failed is not None:
        return "user_error" if failed.role == "user" else "agent_error"
    return "max_turns" if any(message.forced for message in messages) else "done"


def _fault(message: PublishedMessage) -> Fault:
    words = f"the recorded message has status {message.status!r}"
    return Fault(
        blame="user" if message.role == "user" else "agent",
        message=scrubbed(f"{words}: {message.error}" if message.error else words),
    )


def _oddities(messages: Sequence[PublishedMessage]) -> Iterator[str]:
    if not messages or messages[0].role != "user":
        yield "the recorded dialogue has no query; the case's own was put in front"
    ends = [place for place, message in enumerate(messages) if message.stops]
    if ends and ends[0] < len(messages) - 1:
        yield f"the recorded dialogue goes on for {len(messages) - 1 - ends[0]} messages after its end"
