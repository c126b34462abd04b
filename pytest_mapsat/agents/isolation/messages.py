"""What pytest and an agent's process say to each other: JSON over a ``Connection``, never pickled, read as what a stranger sends."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from pytest_mapsat.formats import limits, parse_json
from pytest_mapsat.model import Json, JsonObject, Noun

#: What an agent's process may send at once, bytes. Whatever an episode takes fits in, however it is escaped.
MOST_BYTES = 32 * limits.MIB
#: How many values may be in it: each takes many times the room here that it has in a message.
_MOST_VALUES = 3_000_000

#: What pytest sends the keeper: for a new process, with its descriptors; and to have one killed.
START, KILL = b"+", b"k"
#: What the keeper says instead of the status of a process's end: it could make none, and why.
NONE = b"none: "


class WireError(Exception):
    """What came is no message; the words follow "the agent's process"."""


class Ready(Noun):
    """The agent has been found; the process waits for an episode. ``waits``: as of an ``AgentSource``."""

    kind: Literal["ready"] = "ready"
    waits: bool = False


class Unusable(Noun):
    """There is no such agent, or it cannot be had; ``message`` is that of the usage error."""

    kind: Literal["unusable"] = "unusable"
    message: str


class Call(Noun):
    """The agent calls a tool; ``turn`` counts the messages that it was asked to answer."""

    kind: Literal["call"] = "call"
    turn: int
    name: str
    arguments: Json = None


class Thought(Noun):
    """The agent has a thought."""

    kind: Literal["thought"] = "thought"
    turn: int
    text: str


class Said(Noun):
    """The agent's reply, part by part as a ``Reply`` holds them; they are checked as those of any agent."""

    kind: Literal["said"] = "said"
    turn: int
    text: Json
    thoughts: Json = ()
    usage: Json = None
    output: Json = None


class Broken(Noun):
    """The agent's fault instead of a reply, or that of a service which it cannot reach."""

    kind: Literal["broken"] = "broken"
    turn: int
    message: str
    detail: str = ""
    blame: Literal["agent", "infrastructure"] = "agent"


Sent = Ready | Unusable | Call | Thought | Said | Broken
_SENT: TypeAdapter[Sent] = TypeAdapter(Annotated[Sent, Field(discriminator="kind")])


def packed(message: Noun | JsonObject) -> bytes:
    """Return a message as it is sent.

    Raises:
        ValueError: JSON cannot hold it.
    """
    data = message.model_dump() if isinstance(message, Noun) else message
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


def unpacked(raw: bytes) -> Sent:
    """Return the message of an agent's process.

    Raises:
        WireError: it is none.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise WireError("sent what is not UTF-8") from None
    # What stands in texts counts too: a reply may have a million characters of text, of thoughts and of output.
    if (values := sum(map(text.count, ",[{"))) > _MOST_VALUES:
        raise WireError(f"sent about {values:,} values at once; at most {_MOST_VALUES:,} are taken")
    try:
        data = parse_json(text, depth=limits.RUN_DEPTH)
    except (ValueError, RecursionError) as error:
        raise WireError(f"sent what is no message: {str(error)[:200]}") from None
    try:
        return _SENT.validate_python(data, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise WireError(f"sent what is no message: {where}: {first['msg']}"[:300]) from None
