"""How long, how often, how much: what one episode may use."""

from __future__ import annotations

from dataclasses import dataclass
from threading import TIMEOUT_MAX

from pytest_mapsat.model import UsageError


@dataclass(frozen=True)
class Limits:
    """The limits of one episode.

    Attributes:
        max_turns: replies of the agent.
        timeout: wall time of the whole episode, seconds.
        max_calls: tool calls in one reply.
        max_text: characters of one reply, and of the arguments of one call.

    Raises:
        UsageError: a limit leaves no room for an episode.
    """

    max_turns: int = 10
    timeout: float = 300.0
    max_calls: int = 200
    max_text: int = 1_000_000

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise UsageError(f"an episode has at least 1 turn, not {self.max_turns}")
        if not 0 < self.timeout <= TIMEOUT_MAX:
            raise UsageError(f"the wall time of an episode is a number of seconds above 0, not {self.timeout}")
