"""One conversation of an agent with a user, out of whatever recorded it: what was said where, the query, and the reply that a case judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_mapsat.model import Context, JsonObject, Step, Trajectory


@dataclass(frozen=True)
class Line:
    """One message of a conversation.

    Attributes:
        place: where it stands: ``chat.json:14``, ``chat.json: messages.3`` or ``span 5b8e (line 2)``.
        role: who speaks.
        text: the words; empty where a message makes calls alone.
        calls: the calls on the way to a reply, with their results.
        output: the structured output of a reply; None where it has none.
    """

    place: str
    role: Literal["system", "user", "agent"]
    text: str
    calls: tuple[Step, ...] = ()
    output: JsonObject | None = None


@dataclass(frozen=True)
class Conversation:
    """A conversation, and where in it the case stands.

    Attributes:
        id: what the log calls it; empty where it has no name.
        lines: all messages, first to last; a reply with its calls is one line, and no two replies stand side by side.
        query_at: the index of the line with the query: the user's message that the reply answers, taken back to the first message of the same matter.
        reply_at: the index of the reply that the case judges: the last one before the user objected or went on; the last reply where the user
            said nothing more.
        tools: by name, the schema of each tool that the log describes, as OpenAI's ``function`` objects: ``name``, ``description``, ``parameters``.
        context: time, place and user, as far as the log tells them.
        trajectory: the dialogue from the query to the reply that is judged.
        accepted: the dialogue from the query to the reply that the user accepted at last; None where the user accepted none.
        notes: what is odd about the log, each with its place.
    """

    id: str
    lines: tuple[Line, ...]
    query_at: int
    reply_at: int
    tools: Mapping[str, JsonObject]
    context: Context
    trajectory: Trajectory
    accepted: Trajectory | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def before(self) -> tuple[Line, ...]:
        """What stood before the reply that is judged: what an agent could have known from."""
        return self.lines[: self.reply_at]

    @property
    def after(self) -> tuple[Line, ...]:
        """What the user and the agent said after the reply that is judged."""
        return self.lines[self.reply_at + 1 :]
