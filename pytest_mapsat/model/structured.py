"""What an agent hands over as data beside its text: what it proposes, and the figures that it gives."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from .base import Noun, Text
from .trajectory import Turn

#: The most things proposed, and the most figures, in one reply.
_MANY = 1000
_Short = Annotated[str, StringConstraints(max_length=1000)]
_Number = Annotated[float, Field(strict=True)]


class Figure(Noun):
    """A figure that an agent hands over.

    ``thing``: id or name of the thing that it describes; ``role``: what it measures (``price``, ``travel_time``, ...); ``value``: a number in
    ``unit``, or a text such as ``18:30``.
    """

    thing: Text
    role: Text
    value: _Number | _Short
    unit: _Short = ""


class Structured(Noun):
    """The reserved keys of the structured output of a reply.

    ``proposes``: ids or names of the things that the reply recommends, best first. The text stays what the user reads: what it does not
    name is not recommended, and what contradicts it is wrong.
    """

    proposes: tuple[Text, ...] = Field(default=(), max_length=_MANY)
    figures: tuple[Figure, ...] = Field(default=(), max_length=_MANY)

    @classmethod
    def of(cls, turn: Turn) -> Structured:
        """Return what a turn hands over; nothing where it has no output, or its reserved keys hold something else.

        An agent's own reply was checked when it was returned; a recorded dialogue may hold anything under these names.
        """
        output = turn.output or {}
        try:
            return cls.model_validate({name: output[name] for name in RESERVED if name in output})
        except ValueError:
            return cls()


#: The keys of structured output whose meaning is fixed; all others are the agent's own.
RESERVED = tuple(Structured.model_fields)
