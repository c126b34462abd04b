"""What evidence is: things, figures, times, points and identifiers, each with its subject and its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

from pytest_mapsat.model import FigureRole, TimeRole

#: Where evidence comes from: a tool's result, the context that the agent was shown, the user's own words.
Origin = Literal["tool", "context", "user"]
#: Key of the user (what they asked for, allow, spend) and of where they are.
USER = "\x00user"


class Source(NamedTuple):
    """Where a piece of evidence stands.

    Attributes:
        origin: who gave it.
        turn: index of the turn in ``Trajectory.turns`` from which on it is known; -1 for the context.
        call: index in ``Trajectory.calls``; -1 where no tool gave it.
        tool: name of the tool, or empty.
        path: dotted path in the result, or "query", "history", ...
    """

    origin: Origin
    turn: int
    call: int = -1
    tool: str = ""
    path: str = ""


class Figure(NamedTuple):
    """A value with its meaning.

    Attributes:
        value: in the canonical unit of the reading; the least where it is a range.
        high: the greatest of a range, else ``value``.
        unit: canonical unit as in ``text.Quantity.unit``; ``count:<noun>`` where the tool says what is counted.
        role: what it is a figure of; None where nothing says it (a figure in a text).
        mode: way of travelling in the words of the reading ("walking", "driving", ..., "straight" as the crow flies), or empty.
        subject: keys of the things it is said of: one for a place's rating, both ends for a way.
        source: where it stands.
        text: the value with its unit, as it may be quoted.
    """

    value: float
    high: float
    unit: str
    role: FigureRole | None
    mode: str
    subject: tuple[str, ...]
    source: Source
    text: str


class Moment(NamedTuple):
    """A time of day in ``minutes`` after midnight (more than 1440 where it lies behind midnight), else as ``Figure``."""

    minutes: int
    role: TimeRole | None
    mode: str
    subject: tuple[str, ...]
    source: Source
    text: str


class Point(NamedTuple):
    """A place on the map, degrees."""

    lon: float
    lat: float
    subject: tuple[str, ...]
    source: Source


class Identity(NamedTuple):
    """A telephone number, an address, a line, a platform: ``value`` in the normal form of ``text.Identifier``."""

    kind: Literal["phone", "address", "line", "platform", "link"]
    value: str
    subject: tuple[str, ...]
    source: Source
    text: str


@dataclass(frozen=True)
class Evidence:
    """All that was known in a dialogue. Tuples are in the order in which it became known.

    Attributes:
        names: keys of the things that are known by name.
        complete: whether every value of every result is declared: what is not there was not told.
    """

    names: frozenset[str]
    figures: tuple[Figure, ...]
    times: tuple[Moment, ...]
    points: tuple[Point, ...]
    identities: tuple[Identity, ...]
    complete: bool = True

    def by(self, turn: int) -> Evidence:
        """Return what was known in a turn."""
        return replace(
            self,
            figures=tuple(one for one in self.figures if one.source.turn <= turn),
            times=tuple(one for one in self.times if one.source.turn <= turn),
            points=tuple(one for one in self.points if one.source.turn <= turn),
            identities=tuple(one for one in self.identities if one.source.turn <= turn),
        )

    def figures_of(
        self, key: str, *, unit: str = "", role: FigureRole | None = None, mode: str = ""
    ) -> tuple[Figure, ...]:
        """Return the figures of one thing, unit, role and way of travelling.

        Args:
            key: the thing; USER for what the user said of themselves.
            unit: canonical unit; empty for any.
            role: what it must be a figure of; None for any.
            mode: the way of travelling; figures without one always count, and all do where it is empty.
        """
        return tuple(
            figure
            for figure in self._figures.get(key, ())
            if unit in ("", figure.unit) and role in (None, figure.role) and (not mode or figure.mode in ("", mode))
        )

    def times_of(self, key: str, *, role: TimeRole | None = None) -> tuple[Moment, ...]:
        """Return the times of day of one thing and role."""
        return tuple(moment for moment in self._times.get(key, ()) if role in (None, moment.role))

    @cached_property
    def _figures(self) -> Mapping[str, Sequence[Figure]]:
        return _by_subject(self.figures)

    @cached_property
    def _times(self) -> Mapping[str, Sequence[Moment]]:
        return _by_subject(self.times)


_Piece = TypeVar("_Piece", Figure, Moment)


def _by_subject(pieces: Iterable[_Piece]) -> Mapping[str, Sequence[_Piece]]:
    found: dict[str, list[_Piece]] = {}
    for piece in pieces:
        for key in piece.subject:
            found.setdefault(key, []).append(piece)
    return found
