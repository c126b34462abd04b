"""What a user is, and what it does when the agent has spoken; and the user who never answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pytest_mapsat.model import Ending, MapsatError, Turn, Usage


class UserBrokenError(MapsatError):
    """A simulated user broke the rules twice."""


@dataclass(frozen=True)
class UserMove:
    """One move: words, an ending, or words that end the dialogue.

    Attributes:
        text: what the user says; None: nothing.
        ending: why the dialogue ends here; None: it goes on.
        usage: what the move cost; None: no model was asked.
        notes: what is worth knowing of how the move came about; kept in the trajectory, told to nobody.
        agreed: whether it agrees to the go-ahead that it was asked for, or declines; None: it was asked for none, or does neither.
    """

    text: str | None
    ending: Ending | None = None
    usage: Usage | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    agreed: bool | None = None


class User(Protocol):
    """Somebody who speaks for the user in one episode."""

    def reply(self, turns: Sequence[Turn]) -> UserMove:
        """Return the user's move after the dialogue so far, whose last turn is the agent's."""
        ...


class SilentUser:
    """Ends every dialogue after the agent's first reply, without a word."""

    def reply(self, turns: Sequence[Turn]) -> UserMove:  # noqa: ARG002  # the protocol's argument
        """Return the end of the dialogue."""
        return UserMove(text=None, ending="done")
