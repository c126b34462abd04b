"""A dialogue in overlapping windows: requirements are followed from one to the next, and a later window may take back what an earlier one met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_mapsat.model import Trajectory, Window

from .llm_material import Material


@dataclass(frozen=True)
class Seen:
    """One window of a dialogue.

    Attributes:
        trajectory: the dialogue, with turns outside of the window emptied; every turn keeps its place.
        turns: the turns whose text is in the window, and always the first, which has the user's request.
        number: which window it is, from 1.
        count: how many there are.
    """

    trajectory: Trajectory
    turns: frozenset[int]
    number: int
    count: int

    @property
    def place(self) -> str:
        """Which window it is, in words."""
        return f"{self.number} of {self.count}"

    def of(self, material: Material) -> Material:
        """Return the parts of a material that stand in the window."""
        return replace(
            material, parts=tuple(part for part in material.parts if part.turn < 0 or part.turn in self.turns)
        )


def windows_of(trajectory: Trajectory, window: Window) -> list[Seen]:
    """Return a dialogue in windows. What the user says, what the agent says, and each call with its result are messages.

    Args:
        trajectory: the dialogue.
        window: how many messages a window has, and how many of them it shares with the one before.
    """
    messages: list[tuple[int, int | None]] = []
    for place, turn in enumerate(trajectory.turns):
        messages += [(place, at) for at, step in enumerate(turn.steps) if step.kind == "call"]
        messages += [(place, None)] if turn.text.strip() else []
    step = window.messages - window.overlap
    starts = range(0, max(len(messages) - window.overlap, 1), step)
    return [
        _seen(trajectory, messages[start : start + window.messages], number, len(starts))
        for number, start in enumerate(starts, 1)
    ]


def _seen(trajectory: Trajectory, messages: Sequence[tuple[int, int | None]], number: int, count: int) -> Seen:
    texts = frozenset(place for place, at in messages if at is None) | {0}
    calls = {(place, at) for place, at in messages if at is not None}
    turns = [
        turn.model_copy(
            update={
                "text": turn.text if place in texts else "",
                "steps": tuple(step for at, step in enumerate(turn.steps) if (place, at) in calls),
            }
        )
        for place, turn in enumerate(trajectory.turns)
    ]
    return Seen(trajectory.model_copy(update={"turns": tuple(turns)}), texts, number, count)
