"""What a check is judged from: one trajectory and the tools of its suite, each text read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pytest_mapsat.model import Json, Step, Tool, Trajectory, Visible

from .entities import Entity, find_entities
from .grounding import Judged, gather, ground
from .text import Reading


@dataclass(frozen=True, eq=False)
class Context:
    """One trajectory under judgement.

    Attributes:
        trajectory: the dialogue.
        tools: the suite's tools by name; they say where things with names stand in their results.
        visible: what the agent was shown of the case, as evidence for its claims; None where it is not known.
        custom: the checks that other packages add, by name.
    """

    trajectory: Trajectory
    tools: Mapping[str, Tool]
    visible: Visible | None = None
    custom: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)

    @cached_property
    def replies(self) -> tuple[Reading, ...]:
        """The agent's replies that are not blank."""
        turns = enumerate(self.trajectory.turns)
        readings = (Reading.of(turn.text, index) for index, turn in turns if turn.role == "agent")
        return tuple(reading for reading in readings if reading.flat.strip())

    def read(self, turn: str) -> tuple[Reading, ...]:
        """Return the replies that ``turn`` names: all of them (``any``), the ``first``, or the ``last`` one. Blank ones do not count."""
        if turn == "any":
            return self.replies
        return self.replies[:1] if turn == "first" else self.replies[-1:]

    @cached_property
    def _answered(self) -> tuple[tuple[int, Step], ...]:
        calls = ((index, step) for index, turn in enumerate(self.trajectory.turns) for step in turn.steps)
        return tuple((index, step) for index, step in calls if step.kind == "call" and step.status == "ok")

    def results(self, tool: str, turn: int) -> tuple[Json, ...]:
        """Return the results that ``tool`` gave up to and in the turn with index ``turn``."""
        return tuple(step.result for index, step in self._answered if step.tool == tool and index <= turn)

    def only_missed(self, tool: str | None) -> tuple[str, ...]:
        """Return the tool (any tool that names things, where None) if calls of it missed and none was answered."""
        calls = self.trajectory.calls
        named = {name for name in self.tools if self.names_things(name)} if tool is None else {tool}
        answered = {call.tool for call in calls if call.status == "ok"}
        missed = {call.tool for call in calls if call.status == "miss" and call.tool in named}
        return tuple(sorted(missed)) if not answered & named else ()

    @cached_property
    def entities(self) -> tuple[Entity, ...]:
        """The things with a name that the tools returned."""
        return find_entities((step for _, step in self._answered), self.tools)

    def names_things(self, tool: str | None) -> bool:
        """Return whether ``tool`` (any tool when None) declares where in its results things with a name stand."""
        named = self.tools.values() if tool is None else [self.tools[tool]] if tool in self.tools else []
        return any(declared.entities for declared in named)

    @cached_property
    def claims(self) -> tuple[Judged, ...]:
        """The factual claims of the replies, each held against what was known by then."""
        pool = gather(self.trajectory, self.visible)
        return tuple(judged for reading in self.replies for judged in ground(reading, pool))
