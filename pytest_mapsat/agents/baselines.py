"""Agents that need no intelligence: what any real agent must do better than, and the oracle, which knows everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.model import Case, InfrastructureError
from pytest_mapsat.sandbox import Toolbox

from .context import AgentContext, Session
from .reply import Reply

_SAME_FOR_ALL = "Thank you for your question. I hope that you have a pleasant trip."


class _Fixed:
    """Says the same in every episode and turn."""

    def __init__(self, text: str) -> None:
        self._reply = Reply(text)

    def reply(self, message: str) -> Reply:  # noqa: ARG002  # the protocol's argument
        """Return the fixed reply."""
        return self._reply

    def fill(self, message: str) -> None:
        """Nobody is there to fill in a form."""

    def cancel(self) -> None:
        """Nothing is ever waited for."""

    def close(self) -> None:
        """Nothing is held."""


class _ByHeart:
    """Plays the oracle dialogue of a case: in each reply its calls, then its text, and with the last one the right output."""

    def __init__(self, case: Case, toolbox: Toolbox) -> None:
        self._case_id = case.id
        self._turns = list(case.truth.oracle)
        self._total = len(self._turns)
        self._output = case.truth.output
        self._toolbox = toolbox

    def reply(self, message: str) -> Reply:  # noqa: ARG002  # it knows what will be asked
        """Return the next reply of the dialogue."""
        if not self._total:
            raise InfrastructureError(f"case {self._case_id} has no oracle dialogue (truth.oracle)")
        if not self._turns:
            raise InfrastructureError(
                f"case {self._case_id}: the user goes on after all {self._total} replies of the oracle dialogue (truth.oracle)"
            )
        turn = self._turns.pop(0)
        for call in turn.calls:
            self._toolbox.call(call.tool, dict(call.arguments))
        return Reply(turn.say, output=dict(self._output) if self._output and not self._turns else None)

    def fill(self, message: str) -> None:
        """Nobody is there to fill in a form."""

    def cancel(self) -> None:
        """Nothing is ever waited for."""

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class BaselineSource:
    """One of the built-in baselines."""

    name: Literal["silent", "constant", "oracle"]
    kind: Literal["agent"] = "agent"
    shared: bool = False
    waits: bool = False

    @property
    def spec(self) -> str:
        """The text it is resolved from."""
        return f"baseline:{self.name}"

    @property
    def agent(self) -> object:
        """The baseline itself: there is nothing behind it."""
        return self

    def open(
        self,
        case: Case,
        toolbox: Toolbox,
        context: Callable[[], AgentContext],  # noqa: ARG002  # no baseline looks at it
        session: Session,  # noqa: ARG002
    ) -> _Fixed | _ByHeart:
        """Return the baseline for one episode."""
        if self.name == "oracle":
            return _ByHeart(case, toolbox)
        return _Fixed(_SAME_FOR_ALL if self.name == "constant" else "")
