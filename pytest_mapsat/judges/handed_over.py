"""What an agent hands over beside its text: data, and a form on its last reply. They settle what the text leaves open, add nothing, and may not contradict it.

Nothing turns green by a claim. Where a form and the text contradict each other, the thing is open, and so is what a figure is said of; the words of the reply are what is compared with
what is known, as without a form.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast, get_args

from pytest_mapsat.model import Figure, FigureRole, Quote, Structured, TimeRole, Turn
from pytest_mapsat.reading import ClockTime, Document, Mention, Quantity, Vocabulary, lexicon_of, read

from .known_values import agrees

#: What the text says of a thing by itself; anything else leaves open what it does with it.
_SAID = ("affirmed", "rejected", "denied", "compared", "landmark", "asked")
_AGAINST = ("rejected", "denied")
_ROUNDING = 1e-6
#: More characters are no value with a unit.
_LONGEST = 40
#: Among more figures of the data of one value none is sure.
_MOST_ALIKE = 40


@dataclass(frozen=True)
class Contradiction:
    """Where a reply says another thing than the data beside it.

    Attributes:
        why: what the data say.
        quote: the words of the reply.
        key: the thing that both speak of.
        role: what the figure is of; empty where it is a choice.
        unit: its canonical unit, ``clock`` for a time of day; empty where it is a choice.
    """

    why: str
    quote: Quote
    key: str
    role: str = ""
    unit: str = ""


@dataclass(frozen=True)
class _Told:
    """A figure of the data: of which thing, in which role, and its value as the reading has it."""

    figure: Figure
    key: str
    value: Quantity | ClockTime


class HandedOver:
    """The data of one reply.

    Args:
        turn: the reply.
        key_of: gives the key of a thing by its id or name, nothing where none is known.
        money: says the suite's currency.
    """

    def __init__(self, turn: Turn, key_of: Callable[[str], str], money: Vocabulary | None = None) -> None:
        data = Structured.of(turn)
        self.proposes = {key for named in data.proposes if (key := key_of(named))}
        self.told = [
            _Told(figure, key, value)
            for figure in data.figures
            if (key := key_of(figure.thing)) and (value := _value_of(figure, money)) is not None
        ]
        self._amounts: dict[str, list[tuple[float, _Told]]] = {}
        self._clock: dict[int, list[_Told]] = {}
        for entry in self.told:
            if isinstance(entry.value, Quantity):
                self._amounts.setdefault(entry.value.unit, []).append((entry.value.value, entry))
            else:
                self._clock.setdefault(entry.value.minutes[0], []).append(entry)
        for listed in self._amounts.values():
            listed.sort(key=lambda pair: pair[0])

    def settle(self, document: Document) -> Document:
        """Return the reading with what it leaves open settled: whether a thing is proposed, what a figure is said of."""
        if not self.proposes and not self.told:
            return document
        named = {key for mention in document.mentions for key in mention.keys}
        return replace(
            document,
            mentions=tuple(map(self._mention, document.mentions)),
            quantities=tuple(self._quantity(figure, named) for figure in document.quantities),
            times=tuple(self._time(time, named) for time in document.times),
        )

    def contradictions(self, document: Document) -> Iterator[Contradiction]:
        """Yield where the text turns down what the data propose, or says another figure of the same thing and role."""
        named: dict[str, list[Mention]] = {}
        for mention in document.mentions:
            if len(mention.keys) == 1 and mention.keys[0] in self.proposes:
                named.setdefault(mention.keys[0], []).append(mention)
        for mentions in named.values():
            against = [mention for mention in mentions if mention.stance in _AGAINST]
            if against and not any(mention.stance == "affirmed" for mention in mentions):
                quote = document.quote(against[0].span)
                yield Contradiction("which the structured output proposes", quote, against[0].keys[0])
        yield from self._other_figures(document)

    def _other_figures(self, document: Document) -> Iterator[Contradiction]:
        groups: dict[tuple[str, str, str], list[_Told]] = {}
        for entry in self.told:
            groups.setdefault((entry.key, entry.figure.role, _unit(entry.value)), []).append(entry)
        held: dict[tuple[str, str, str], list[Quantity | ClockTime]] = {}
        figures: list[Quantity | ClockTime] = [*document.quantities, *document.times]
        for figure in figures:
            if len(figure.subject) == 1 and figure.role and figure.stance == "affirmed":
                held.setdefault((figure.subject[0], figure.role, _unit(figure)), []).append(figure)
        for group, told in groups.items():
            stated = held.get(group, [])
            if stated and not any(_same(figure, entry.value) for entry in told for figure in stated):
                first = told[0].figure
                value = first.value if isinstance(first.value, str) else f"{first.value:g}"
                why = f"but the structured output says {' '.join(f'{value} {first.unit}'.split())}"
                yield Contradiction(why, document.quote(stated[0].span), *group)

    def _mention(self, mention: Mention) -> Mention:
        meant = [key for key in mention.keys if key in self.proposes]
        if len(meant) != 1 or mention.stance in _SAID[1:] or (mention.stance == "affirmed" and len(mention.keys) == 1):
            return mention
        return mention._replace(keys=(meant[0],), stance="affirmed")

    def _quantity(self, figure: Quantity, named: Collection[str]) -> Quantity:
        if figure.role is not None and len(figure.subject) == 1:
            return figure
        listed = self._amounts.get(figure.unit, [])
        give = figure.step / 2 + _ROUNDING
        first = bisect_left(listed, figure.low - give, key=lambda pair: pair[0])
        last = bisect_right(listed, figure.high + give, key=lambda pair: pair[0])
        entry = _only(figure, [told for _, told in listed[first : min(last, first + _MOST_ALIKE)]], named)
        if entry is None or entry.figure.role not in get_args(FigureRole):
            return figure
        return figure._replace(role=cast("FigureRole", entry.figure.role), subject=(entry.key,))

    def _time(self, time: ClockTime, named: Collection[str]) -> ClockTime:
        if (time.role is not None and len(time.subject) == 1) or len(time.minutes) != 1:
            return time
        entry = _only(time, self._clock.get(time.minutes[0], [])[:_MOST_ALIKE], named)
        if entry is None or entry.figure.role not in get_args(TimeRole):
            return time
        return time._replace(role=cast("TimeRole", entry.figure.role), subject=(entry.key,))


def _only(figure: Quantity | ClockTime, told: Sequence[_Told], named: Collection[str]) -> _Told | None:
    """Return the one figure of the data, of a thing that the text names, that a figure of the text can be; None where there is none, or more."""
    fitting = [
        entry
        for entry in told
        if entry.key in named
        and figure.role in (None, entry.figure.role)
        and (not figure.subject or entry.key in figure.subject)
    ]
    return fitting[0] if len({(entry.key, entry.figure.role) for entry in fitting}) == 1 else None


def _value_of(figure: Figure, money: Vocabulary | None) -> Quantity | ClockTime | None:
    """Return a figure of the data as a reply would say it; None where it is none."""
    value = figure.value if isinstance(figure.value, str) else f"{figure.value:.10g}"
    written = f"{value} {figure.unit}".strip()
    if len(written) > _LONGEST:
        return None
    return _read(written, money)


@lru_cache(maxsize=1024)
def _read(written: str, money: Vocabulary | None) -> Quantity | ClockTime | None:
    """Return the one figure or time of day that some short words say. Kept: the data of trials say the same again and again."""
    document = read(written, language="en", lexicon=lexicon_of(()), vocabulary=money)
    readings: list[Quantity | ClockTime] = [*document.quantities]
    readings += [time for time in document.times if len(time.minutes) == 1]
    return readings[0] if len(readings) == 1 else None


def _unit(figure: Quantity | ClockTime) -> str:
    return figure.unit if isinstance(figure, Quantity) else "clock"


def _same(figure: Quantity | ClockTime, told: Quantity | ClockTime) -> bool:
    """Return whether a figure of the text may be one of the data."""
    if isinstance(figure, Quantity) and isinstance(told, Quantity):
        return agrees(figure, told.value)
    return isinstance(figure, ClockTime) and isinstance(told, ClockTime) and told.minutes[0] in figure.minutes
