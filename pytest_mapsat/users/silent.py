"""The user who never answers: what an agent makes of the query alone."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mapsat.model import Turn

from .move import UserMove


class SilentUser:
    """Ends every dialogue after the agent's first reply, without a word."""

    def reply(self, turns: Sequence[Turn]) -> UserMove:  # noqa: ARG002  # the protocol's argument
        """Return the end of the dialogue."""
        return UserMove(text=None, ending="done")
