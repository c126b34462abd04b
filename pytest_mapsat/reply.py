"""The values that an agent may return besides a string, and the exception for a service that is down. Standard library only: agents import it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One reply of an agent.

    Attributes:
        text: what the user reads.
        thoughts: what the agent thought on the way; kept in the trajectory only.
        usage: what the reply cost: any of ``input_tokens``, ``output_tokens`` (whole numbers) and ``cost`` (US dollars).
        output: what the text says in structured form: a dict, a dataclass or a pydantic model of JSON data.
    """

    text: str
    thoughts: Sequence[str] = ()
    usage: Mapping[str, float | None] | None = None
    output: Any = None


class Unavailable(Exception):  # noqa: N818  # users raise it by this name
    """A service of the agent cannot be reached: the episode is lost, and the agent neither passes nor fails.

    Args:
        reason: what cannot be reached, and why; shown to people.
    """
