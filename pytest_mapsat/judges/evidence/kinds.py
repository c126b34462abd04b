"""What evidence is: things, figures, times, points and identifiers, each with its subject and its source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

from pytest_mapsat.model import FigureRole, Json, Step, TimeRole, Tool
from pytest_mapsat.text import Lexicon, Thing, fold_phrase, lexicon_of

#: Where evidence comes from: a tool's result, the context that the agent was shown, the user's own words.
Origin = Literal["tool", "context", "user"]
#: A shortened name is made of pieces of at least so many characters.
_PIECE = 2
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


@dataclass(frozen=True, slots=True)
class Known:
    """A thing with a name.

    Attributes:
        key: its name, folded.
        names: how it is written, then aliases.
        ids: what tools call it.
        kind: its sort, as tools say it, several separated by ``;``.
        marks: its addresses.
        turn: from which turn on it is known.
        records: the tool (empty for the context) and the object for each time it was returned.
    """

    key: str
    names: tuple[str, ...]
    ids: tuple[str, ...]
    kind: str
    marks: tuple[str, ...]
    turn: int
    records: tuple[tuple[str, Json], ...]

    @property
    def thing(self) -> Thing:
        """What the reading finds it by."""
        return Thing(self.key, self.names, self.kind, self.marks)


@dataclass(frozen=True)
class Evidence:
    """All that was known in a dialogue. Tuples are in the order in which it became known."""

    things: tuple[Known, ...]
    figures: tuple[Figure, ...]
    times: tuple[Moment, ...]
    points: tuple[Point, ...]
    identities: tuple[Identity, ...]
    #: What tools, context and user said in running words: (turn, origin, text).
    texts: tuple[tuple[int, Origin, str], ...]
    #: The answered calls with their tools; None for a tool that is not there.
    answered: tuple[tuple[Step, Tool | None], ...] = ()

    @cached_property
    def complete(self) -> bool:
        """Whether every value of every result is declared: what is not there was not told."""
        return all(
            tool is not None and next(tool.undeclared(step.result), None) is None for step, tool in self.answered
        )

    @property
    def lexicon(self) -> Lexicon:
        """What finds the things in a text."""
        return lexicon_of(tuple(known.thing for known in self.things))

    def by(self, turn: int) -> Evidence:
        """Return what was known in a turn."""
        if turn >= self.last:
            return self
        return Evidence(
            tuple(one for one in self.things if one.turn <= turn),
            tuple(one for one in self.figures if one.source.turn <= turn),
            tuple(one for one in self.times if one.source.turn <= turn),
            tuple(one for one in self.points if one.source.turn <= turn),
            tuple(one for one in self.identities if one.source.turn <= turn),
            tuple(one for one in self.texts if one[0] <= turn),
            self.answered,
        )

    @cached_property
    def last(self) -> int:
        """The turn in which the last piece became known."""
        known = [thing.turn for thing in self.things] + [turn for turn, _, _ in self.texts]
        known += [one.source.turn for one in self.figures] + [one.source.turn for one in self.times]
        return max(known + [one.source.turn for one in self.identities], default=-1)

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

    def says(self, phrase: str) -> bool:
        """Return whether a name, an address or a text of a tool, the context or the user has these words."""
        wanted = fold_phrase(phrase)
        if not wanted:
            return False
        edge = (
            (r"(?<![0-9])" if wanted[0].isdigit() else "")
            + re.escape(wanted)
            + (r"(?![0-9])" if wanted[-1].isdigit() else "")
        )
        return re.search(edge, self._said) is not None

    def knows(self, name: str) -> bool:
        """Return whether a thing has this name, a text says it, or it is pieces of one name in their order."""
        wanted = fold_phrase(name).replace(" ", "")
        return self.says(name) or any(_in_order(wanted, key.replace(" ", "")) for key in self._names)

    @cached_property
    def _figures(self) -> Mapping[str, Sequence[Figure]]:
        return _by_subject(self.figures)

    @cached_property
    def _times(self) -> Mapping[str, Sequence[Moment]]:
        return _by_subject(self.times)

    @cached_property
    def endings(self) -> frozenset[str]:
        """The words that several known names end in ("garden", "小区"): a name that ends so is a name of a place."""
        ends = Counter(_ending(key) for key in {thing.key for thing in self.things})
        return frozenset(end for end, number in ends.items() if number > 1 and len(end) >= _PIECE)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(fold_phrase(name) for thing in self.things for name in thing.names)

    @cached_property
    def _said(self) -> str:
        """All names, addresses and texts, folded."""
        identities = (one.text for one in self.identities)
        return "\n".join(
            [*self._names, *map(fold_phrase, identities), *(fold_phrase(text) for _, _, text in self.texts)]
        )


def _ending(name: str) -> str:
    bare = name.partition("(")[0].strip()
    return bare[-_PIECE:] if bare and not bare.isascii() else bare.rpartition(" ")[2]


def _in_order(wanted: str, name: str) -> bool:
    """Return whether a name is written with pieces of another one in their order, each of two characters or more."""
    position = index = 0
    while index < len(wanted):
        size = _PIECE
        place = name.find(wanted[index : index + size], position)
        if place < 0 or index + size > len(wanted):
            return False
        while index + size < len(wanted) and name.startswith(wanted[index + size], place + size):
            size += 1
        index += size
        position = place + size
    return bool(wanted)


_Piece = TypeVar("_Piece", Figure, Moment)


def _by_subject(pieces: Iterable[_Piece]) -> Mapping[str, Sequence[_Piece]]:
    found: dict[str, list[_Piece]] = {}
    for piece in pieces:
        for key in piece.subject:
            found.setdefault(key, []).append(piece)
    return found
