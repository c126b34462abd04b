"""Why a model gave no answer, and whose fault that is."""

from __future__ import annotations

from typing import Literal

from pytest_mapsat.model import Blame, MapsatError, Usage

from .request import Purpose

#: Outcomes of a call that brought no answer. The first group is of the way to the model, the second of the model's reply.
Kind = Literal[
    "no_key",
    "unknown_model",
    "unsupported",
    "rejected",
    "too_long",
    "rate_limited",
    "unavailable",
    "timeout",
    "cancelled",
    "not_cached",
    "ceiling",
    "empty",
    "cut",
    "malformed",
    "refused",
]
#: Kinds that tell of the model's reply: an agent that is a model is to blame for them itself.
OF_THE_REPLY: frozenset[Kind] = frozenset({"too_long", "empty", "cut", "malformed", "refused"})
_BLAME: dict[Purpose, Blame] = {"user": "user", "judge": "judge", "sandbox": "sandbox"}


class ModelError(MapsatError):
    """A model gave no answer that can be used.

    Attributes:
        kind: what happened.
        purpose: who asked.
        retry_after: seconds that the service asks to wait; None: it did not say.
        usage: what it cost all the same.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        purpose: Purpose,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.kind: Kind = kind
        self.purpose: Purpose = purpose
        self.retry_after = retry_after
        self.usage = usage or Usage()
        super().__init__(message)

    @property
    def blame(self) -> Blame:
        """Who is to blame: the user or the judge that asked; of an agent's calls the agent for its reply, else the infrastructure."""
        if self.purpose == "agent":
            return "agent" if self.kind in OF_THE_REPLY else "infrastructure"
        return _BLAME[self.purpose]
