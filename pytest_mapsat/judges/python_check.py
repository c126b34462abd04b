"""Checks in Python: the episode as they, or tests of one's own, read it; functions of others are called with it and never trusted to answer well, or at all."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_mapsat.interpreter import cached, waiting
from pytest_mapsat.model import (
    Context,
    Ending,
    Json,
    JsonObject,
    NotRecordedError,
    PythonCheck,
    RowChange,
    Step,
    StepStatus,
    Trajectory,
    Visible,
    shown,
)
from pytest_mapsat.registry import AddedCheck, added_checks
from pytest_mapsat.sandbox import End, Row, State, frozen
from pytest_mapsat.secrets import known_secrets
from pytest_mapsat.user_code import StrangerError, Surroundings, call_stranger, plain, words_of

from .findings import Finding, judges

if TYPE_CHECKING:
    from .context import Context as JudgedContext


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the agent made.

    Attributes:
        tool: the name of the tool.
        arguments: what the agent gave, before defaults.
        result: what the tool returned; of a call that was refused, why.
        status: ``ok``, ``miss``, ``refused`` or ``error``; ``unknown`` where a record made elsewhere does not tell.
        changed: the rows that it changed.
        turn: in which of the agent's replies it was made, counted from 1.
    """

    tool: str
    arguments: JsonObject
    result: Json
    status: StepStatus
    changed: tuple[RowChange, ...]
    turn: int

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.tool}({given})" + ("" if self.status == "ok" else f" -> {self.status}")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _PartlyTold(Call):
    """A call of a record made elsewhere that lacks a part: a check that reads that part is undecided."""

    untold: frozenset[str] = frozenset()

    def __getattribute__(self, name: str) -> Any:
        if name in _PARTS and name in object.__getattribute__(self, "untold"):
            tool = object.__getattribute__(self, "tool")
            raise NotRecordedError(f"the record does not tell the {name} of a call of {tool}")
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"{self.tool}(...) -> {self.status}"


class StructuredOutput(Row):
    """The structured output of a reply: a dict that cannot be changed. To look for a name that it does not have fails the check, not the judge."""

    def __missing__(self, name: object) -> NoReturn:
        raise AssertionError(
            f"the structured output has no {name!r}; it has {', '.join(self)}"
            if self
            else "no reply has a structured output"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Episode:
    """One dialogue of a case, with the calls made in it and the state that they led to. Lists and dicts in it refuse to be changed."""

    _trajectory: Trajectory
    _visible: Visible | None
    _end: Callable[[], End]
    _maybe_writing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Episode of {self._trajectory.case}>"

    @cached
    def query(self) -> str:
        """What the user asked for first."""
        return self._visible.query if self._visible else self._trajectory.turns[0].text

    @cached
    def context(self) -> Context:
        """What the agent was shown besides: ``now``, ``location``, ``city``, ``history``, ``uid``, ``locale``, ``details``, ``profile``."""
        shown = self._visible.context if self._visible else Context()
        return shown.model_copy(update={"details": frozen(shown.details), "profile": frozen(shown.profile)})

    @cached
    def replies(self) -> tuple[str, ...]:
        """The texts of the agent's replies."""
        return tuple(turn.text for turn in self._trajectory.replies)

    @cached
    def calls(self) -> tuple[Call, ...]:
        """The agent's calls, in their order. Raises NotRecordedError where a record made elsewhere tells of none."""
        if self._trajectory.calls_untold:
            raise NotRecordedError("the record does not tell the calls of any tool")
        return tuple(
            self._call(step, number)
            for number, turn in enumerate(self._trajectory.replies, 1)
            for step in turn.steps
            if step.kind == "call"
        )

    @cached
    def user_calls(self) -> tuple[Call, ...]:
        """The calls that the user made itself, in their order; ``turn`` is the reply that they follow, 0 before the first."""
        calls: list[Call] = []
        replies = 0
        for turn in self._trajectory.turns:
            replies += turn.role == "agent"
            calls += [self._call(step, replies) for step in turn.steps if step.kind == "call" and turn.role == "user"]
        return tuple(calls)

    def _call(self, step: Step, number: int) -> Call:
        told = step.tool, frozen(step.arguments), frozen(step.result), step.status, _frozen_rows(step.changed), number
        untold = {*step.unknown} - (set() if step.tool in self._maybe_writing else {"changed"})
        return _PartlyTold(*told, frozenset(untold)) if untold else Call(*told)

    @cached
    def output(self) -> StructuredOutput:
        """The structured output of the last reply that has one; empty where none has."""
        given = [turn.output for turn in self._trajectory.replies if turn.output is not None]
        return StructuredOutput(frozen(given[-1])) if given else StructuredOutput()

    @cached
    def state(self) -> State:
        """The tables at the end: ``state["orders"]["A1"]["total"]``; with ids in another column ``state.table("orders", key="number")``.

        Raises:
            MapsatError: it cannot be told.
        """
        return self._end().state

    @cached
    def changes(self) -> tuple[RowChange, ...]:
        """What the end differs in from the start: a ``RowChange`` (table, id, before, after) for each row.

        Raises:
            MapsatError: it cannot be told.
        """
        end = self._end()
        for why in end.unclear.values():
            raise NotRecordedError(why)
        return tuple(
            change.model_copy(
                update={"before": end.read(change.table, change.before), "after": end.read(change.table, change.after)}
            )
            for change in end.changes
        )

    @cached
    def ending(self) -> Ending:
        """Why it ended: ``done``, ``stalled``, ``max_turns``, ``timeout``, ``agent_error``, ``user_error`` or ``infrastructure_error``."""
        return self._trajectory.ending


def _frozen_rows(changes: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
    return tuple(
        change.model_copy(update={"before": frozen(change.before), "after": frozen(change.after)}) for change in changes
    )


_PARTS = ("arguments", "result", "changed")
#: How long a check may take, seconds.
SECONDS = 10.0
_LONGEST = 1000

#: The functions that have not come back in their time. Each has a thread that computes on, and gets no second.
_stuck: set[Callable[..., object]] = set()


@judges(PythonCheck)
def python_check(check: PythonCheck, context: JudgedContext) -> Finding:
    """What the function of this name makes of the episode; it is undecided where the function breaks or does not return."""
    added = added_checks().get(check.name)
    if added is None:
        return Finding(None, f"no conftest or package adds a check {shown(check.name)}", broken=True)
    if added.function in _stuck:
        return Finding(
            None, f"the check {check.name} is not called again: it has not come back from another call", broken=True
        )
    results: list[object] = []
    raised: list[BaseException] = []
    done = Event()

    def call() -> None:
        try:
            results.append(call_stranger(added.function, context.episode, **check.arguments))
        except StrangerError as broken:
            raised.append(broken.error)
        finally:
            done.set()

    surroundings = Surroundings()
    with waiting():
        Thread(target=call, name=f"mapsat-check-{check.name}", daemon=True).start()
        in_time = done.wait(SECONDS)
    surroundings.restore()
    if not in_time:
        _stuck.add(added.function)
        return Finding(None, f"the check {check.name} did not return within {SECONDS:g} s", broken=True)
    return _raised(check.name, raised[0], added) if raised else _finding(added, results[0])


def _raised(name: str, error: BaseException, added: AddedCheck) -> Finding:
    if isinstance(error, AssertionError):
        return Finding(False, _reason(error))
    if isinstance(error, NotRecordedError):
        return Finding(None, str(error))
    return Finding(None, f"the check {name} broke{_where(error, added)}: {words_of(error)}", broken=True)


def _finding(added: AddedCheck, result: object) -> Finding:
    """Return what a check came to. What only looks like a bool is no answer, nor is None where a value was meant."""
    name, kind = added.name, type(result)
    if isinstance(result, bool):
        return Finding(result, f"the check {name} {'passes' if result else 'returned False'}")
    if type(result) is Finding and (result.passed is None or isinstance(result.passed, bool)):
        return result
    if result is None and not added.shape.returns:
        if added.shape.forgets:
            return Finding(None, f"the check {name} decides nothing: {added.shape.forgets}", broken=True)
        return Finding(True, f"the check {name} passes")
    told = "None" if result is None else f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    told = f"a Finding with {type(result.passed).__name__} in passed" if type(result) is Finding else told
    why = f"the check {name} returned {told}, expected True, False or a Finding: write assert, or return bool(...)"
    return Finding(None, why, broken=True)


def _reason(error: BaseException) -> str:
    """Return what an assertion says; one that says nothing is shown as it is written."""
    try:
        words = plain(known_secrets().hidden(call_stranger(str, error))).strip()
    except StrangerError:
        words = ""
    if not words:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        words = linecache.getline(frame.filename, frame.lineno or 0).strip() or "an assertion failed"
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."


def _where(error: BaseException, added: AddedCheck) -> str:
    """Return the last line of the check's own file that its error came by."""
    file, _, _ = added.place.rpartition(":")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" on line {lines[-1]}" if lines else ""
