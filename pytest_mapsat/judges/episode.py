"""An episode as a check in Python, or a test of one's own, reads it. Nothing in it can be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from pytest_mapsat.model import Context, Ending, Json, JsonObject, RowChange, StepStatus, Trajectory, Visible
from pytest_mapsat.sandbox import End, Row, State, frozen


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the agent made.

    Attributes:
        tool: the name of the tool.
        arguments: what the agent gave, before defaults.
        result: what the tool returned; of a call that was refused, why.
        status: ``ok``, ``miss``, ``refused`` or ``error``.
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

    def __repr__(self) -> str:
        return f"<Episode of {self._trajectory.case}>"

    @cached_property
    def query(self) -> str:
        """What the user asked for first."""
        return self._visible.query if self._visible else self._trajectory.turns[0].text

    @cached_property
    def context(self) -> Context:
        """What the agent was shown besides: ``now``, ``location``, ``city``, ``history``, ``uid``, ``locale``, ``details``, ``profile``."""
        shown = self._visible.context if self._visible else Context()
        return shown.model_copy(update={"details": frozen(shown.details), "profile": frozen(shown.profile)})

    @cached_property
    def replies(self) -> tuple[str, ...]:
        """The texts of the agent's replies."""
        return tuple(turn.text for turn in self._trajectory.replies)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The agent's calls, in their order."""
        return tuple(
            Call(
                step.tool, frozen(step.arguments), frozen(step.result), step.status, _frozen_rows(step.changed), number
            )
            for number, turn in enumerate(self._trajectory.replies, 1)
            for step in turn.steps
            if step.kind == "call"
        )

    @cached_property
    def output(self) -> StructuredOutput:
        """The structured output of the last reply that has one; empty where none has."""
        given = [turn.output for turn in self._trajectory.replies if turn.output is not None]
        return StructuredOutput(frozen(given[-1])) if given else StructuredOutput()

    @cached_property
    def state(self) -> State:
        """The tables at the end: ``state["orders"]["A1"]["total"]``; with ids in another column ``state.table("orders", key="number")``.

        Raises:
            MapsatError: it cannot be told.
        """
        return self._end().state

    @cached_property
    def changes(self) -> tuple[RowChange, ...]:
        """What the end differs in from the start: a ``RowChange`` (table, id, before, after) for each row.

        Raises:
            MapsatError: it cannot be told.
        """
        return _frozen_rows(self._end().changes)

    @cached_property
    def ending(self) -> Ending:
        """Why it ended: ``done``, ``stalled``, ``max_turns``, ``timeout``, ``agent_error``, ``user_error`` or ``infrastructure_error``."""
        return self._trajectory.ending


def _frozen_rows(changes: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
    return tuple(
        change.model_copy(update={"before": frozen(change.before), "after": frozen(change.after)}) for change in changes
    )
