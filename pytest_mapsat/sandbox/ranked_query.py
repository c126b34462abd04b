"""A free text held against one part of a table: which of its conditions each row fulfils, and how well its words fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pytest_mapsat.model import JsonObject, RankedAnswer, Threshold, canonical_json, fold, word_pattern
from pytest_mapsat.reading import Bound, Denials, Opening, Vocabulary, conditions_of

from .large import hashed
from .ranked_index import LONGEST_VALUE, PartIndex, query_terms, units_of
from .search import Wordbook, is_run

#: Bits of the number by which rows are ordered: below the conditions the text score, below that the row.
_TEXT_BITS, _ROW_BITS = 22, 22
#: What a unit of a declared figure is in the canonical unit of figures in a text.
_SCALES = {"km": 1000.0, "h": 60.0, "s": 1 / 60, "d": 1440.0}
_OF_MONEY = ("per_head", "price", "total", "budget")
#: The units that a column may have for a figure in a canonical unit.
_ALIKE = {"yuan": ("yuan", "money"), "m": ("m", "km"), "min": ("min", "h", "s", "d")}
_STARS = 5
#: Words of a query with their places.
_Units = Sequence[tuple[str, int, int]]


class Meaning(NamedTuple):
    """What a phrase stands for in a column that says so."""

    column: str
    value: Any


class Lexicon:
    """The phrases that stand for others: declared words that mean the same, and those that fields say stand for a condition."""

    def __init__(self, answer: RankedAnswer, book: Wordbook, words: Iterable[JsonObject]) -> None:
        self.book = book
        self.fields = answer.fields
        self.groups: dict[str, tuple[str, ...]] = {}
        self.meanings: dict[str, list[Meaning]] = {}
        for row in words:
            if isinstance(row.get("sort"), str):
                group = dict.fromkeys(" ".join(units_of(word, book)) for word in (row["sort"], *row.get("words", ())))
                for key in group:
                    self.groups[key] = tuple(dict.fromkeys((*self.groups.get(key, ()), *group)))
        for column, field in answer.fields.items():
            for phrase, value in field.says.items():
                self.meanings.setdefault(" ".join(units_of(phrase, book)), []).append(Meaning(column, value))

    def units(self, text: str) -> _Units:
        """Return the words of a folded text as they are compared, with their places."""
        units: list[tuple[str, int, int]] = []
        for match in word_pattern().finditer(text):
            word, start = match.group(), match.start()
            if is_run(word):
                units += [(char, start + at, start + at + 1) for at, char in enumerate(word)]
            else:
                units += [(stem, start, match.end()) for stem in self.book.stems(word)]
        return units


class _Phrase(NamedTuple):
    """Words of a query that stand for something: which of its words, as places among them, and where in the text."""

    first: int
    last: int
    start: int
    end: int
    key: str


class Query:
    """A free text, held against one part of a table.

    Args:
        text: the text.
        index: the index of the part.
        lexicon: what its columns hold, and the declared words.
        vocabulary: the domain words and the currency of the suite.
        minute: the case's own time of day, minutes after midnight; None for none.
        skip: the words that name the part, as places in the folded text.
    """

    def __init__(
        self,
        text: str,
        index: PartIndex,
        lexicon: Lexicon,
        *,
        vocabulary: Vocabulary,
        minute: int | None = None,
        skip: Sequence[tuple[int, int]] = (),
    ) -> None:
        self._index = index
        self._fields = lexicon.fields
        self._lexicon = lexicon
        self._minute = minute
        self._text = fold(text)
        self._units = lexicon.units(self._text)
        self._asked = conditions_of(self._text, vocabulary)
        self._skip = skip

    @cached_property
    def phrases(self) -> list[_Phrase]:
        """The phrases of the text that a column, or a declaration, has; the longest at each place, none overlapping another."""
        spans = [
            (first, last)
            for first in range(len(self._units))
            for last in range(first + 1, min(first + LONGEST_VALUE, len(self._units)) + 1)
        ]
        keys = [" ".join(unit for unit, _, _ in self._units[first:last]) for first, last in spans]
        values = dict(zip(keys, self._index.has([hashed(key) for key in keys]), strict=True))
        by_first: dict[int, tuple[int, str]] = {}
        for (first, last), key in zip(spans, keys, strict=True):
            if values[key] or key in self._lexicon.groups or key in self._lexicon.meanings:
                by_first[first] = last, key  # the longest comes last
        phrases: list[_Phrase] = []
        at = 0
        while at < len(self._units):
            last, key = by_first.get(at, (at, ""))
            if key:
                phrases.append(_Phrase(at, last, self._units[at][1], self._units[last - 1][2], key))
            at = max(last, at + 1)
        return phrases

    def ordered(self, keep: np.ndarray | None, most: int) -> list[int]:
        """Return the rows that fit best, by their place in the part: most conditions first, then the text score, then the id.

        A row that fits in nothing is left out, unless the text says nothing that any row has.

        Args:
            keep: a truth value for each row; none keeps all.
            most: the most rows.
        """
        count = self._index.count
        conditions, scores = self._fulfilled()
        order = (conditions.astype(np.int64) << (_TEXT_BITS + _ROW_BITS)) + (
            np.minimum(scores, (1 << _TEXT_BITS) - 1).astype(np.int64) << _ROW_BITS
        )
        fits = order > 0
        if keep is not None:
            fits = fits & keep if fits.any() else keep
        rows = np.flatnonzero(fits)
        order = order[rows] + (count - rows)
        if len(rows) > most:
            best = np.argpartition(-order, most - 1)[:most]
            rows, order = rows[best], order[best]
        return [int(row) for row in rows[np.argsort(-order)]]

    def _fulfilled(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how many conditions each row fulfils, and its text score."""
        asked = self._asked
        taken = [(bound.start, bound.end) for bound in asked.bounds]
        taken += [(opening.start, opening.end) for opening in asked.openings]
        phrases = [phrase for phrase in self.phrases if not _within(phrase, (*taken, *self._skip))]
        whole = [(phrase.start, phrase.end) for phrase in phrases]
        masks: dict[Any, np.ndarray] = {}
        dropped = [*taken, *self._skip]
        for phrase, denied in self._denied(phrases):
            key, mask = self._of_phrase(phrase.key, denied=denied)
            masks[key] = mask
            dropped += [(phrase.start, phrase.end)] if denied else []
        for bound in asked.bounds:
            if not any(start <= bound.start and bound.end <= end for start, end in whole) and (
                held := self._of_bound(bound)
            ):
                masks[held[0]] = held[1]
        for opening in asked.openings:
            if not any(start <= opening.start and opening.end <= end for start, end in whole):
                masks |= self._of_opening(opening)
        total = np.zeros(self._index.count, np.int16)
        for mask in masks.values():
            total += mask
        plain = [span for span in asked.asking if not any(start < span[1] and span[0] < end for start, end in whole)]
        units = [
            unit
            for unit in self._units
            if not any(start <= unit[1] and unit[2] <= end for start, end in (*dropped, *plain))
        ]
        return total, self._index.text_scores(query_terms(units))

    def _denied(self, phrases: Sequence[_Phrase]) -> Iterator[tuple[_Phrase, bool]]:
        """Give the phrases, and whether the text turns each down."""
        denials = Denials(self._text)
        denied, end = False, 0
        for phrase in phrases:
            denied = denials.denies(phrase.start, phrase.end) or (denied and denials.goes_on(end, phrase.start))
            end = phrase.end
            yield phrase, denied

    def _of_phrase(self, key: str, *, denied: bool) -> tuple[object, np.ndarray]:
        """Return what tells a condition from others, and the rows that fulfil it; where it is turned down, those that do not have what it means."""
        group = tuple(sorted(self._lexicon.groups.get(key, (key,))))
        values = {at for listed in self._index.has([hashed(word) for word in group]) for at in listed}
        mask = self._index.with_values(sorted(values))
        mask = ~mask if denied else mask
        for meaning in (meaning for word in group for meaning in self._lexicon.meanings.get(word, ())):
            meant = self._of_meaning(meaning, denied=denied)
            mask = mask & meant if denied else mask | meant
        return ("words", group, denied), mask

    def _of_meaning(self, meaning: Meaning, *, denied: bool) -> np.ndarray:
        """Return the rows that hold what a phrase stands for; where it is turned down, those that are known not to."""
        column, value = meaning
        if isinstance(value, Threshold):
            figures = self._index.figure(column)
            mask = between(figures, value.least, value.most)
            return ~mask & between(figures, None, None) if denied else mask
        if self._fields[column].holds == "hours":
            return self._index.open_at(column, minute_of(value), not denied)
        wanted = canonical_json(value)
        held = self._index.values(column).items()
        mask = self._index.with_values(at for at, other in held if canonical_json(other) == wanted)
        return ~mask if denied else mask

    def _of_bound(self, bound: Bound) -> tuple[object, np.ndarray] | None:
        """Return what tells a condition on a figure from others, and the rows that fulfil it; None where no column holds such a figure."""
        column = self._column_of(bound)
        if column is None:
            return None
        scale = _SCALES.get(self._fields[column].unit or "", 1.0)
        low, high = (None if limit is None else round(limit / scale, 9) for limit in (bound.low, bound.high))
        return ("figure", column, low, high, bound.strict), between(
            self._index.figure(column), low, high, strict=bound.strict
        )

    def _column_of(self, bound: Bound) -> str | None:
        """Return the column that a figure is held against: by its role, else by its unit, else where the part's own figures are like it."""
        value = bound.low if bound.low is not None else bound.high or 0
        figures = {column: field for column, field in self._fields.items() if field.holds == "figure"}
        stars = [column for column, field in figures.items() if field.unit == "star"]
        same = [column for column, field in figures.items() if bound.role and field.role == bound.role]
        if same or bound.role == "rating":
            columns = same or stars
        elif bound.unit != "count" or bound.role in _OF_MONEY:
            units = _ALIKE.get("yuan" if bound.role in _OF_MONEY else bound.unit, (bound.unit,))
            columns = [column for column, field in figures.items() if field.unit in units]
            columns.sort(key=lambda column: "yuan" in units and figures[column].role not in _OF_MONEY)
        elif bound.role:
            columns = []
        elif value <= _STARS and stars:
            columns = stars
        else:
            columns = [column for column in figures if column not in stars and self._is_like(column, value)]
        return columns[0] if columns and bound.unit != "foreign" else None

    def _is_like(self, column: str, value: float) -> bool:
        """Return whether a number is one that a column of figures might hold."""
        held = self._index.figure(column)
        held = held[~np.isnan(held)]
        return bool(len(held) and np.min(held) <= value <= np.max(held))

    def _of_opening(self, opening: Opening) -> Iterable[tuple[object, np.ndarray]]:
        """Give the conditions on opening hours, where a column holds any."""
        minutes = opening.minutes or (() if self._minute is None else (self._minute,))
        columns = [column for column, field in self._fields.items() if field.holds == "hours"]
        if minutes and columns:
            join = np.logical_and if opening.every else np.logical_or
            masks = [join.reduce([self._index.open_at(column, minute) for minute in minutes]) for column in columns]
            yield ("open", minutes), np.logical_or.reduce(masks)


def _within(phrase: _Phrase, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether a phrase lies in one of some places, or partly does; one that holds more than a place stands for itself."""
    return any(
        phrase.start < end
        and start < phrase.end
        and not (phrase.start <= start and end <= phrase.end and phrase.end - phrase.start > end - start)
        for start, end in spans
    )


def between(figures: np.ndarray, low: float | None, high: float | None, *, strict: bool = False) -> np.ndarray:
    """Return a truth value for each figure: whether it lies between two bounds; NaN never does."""
    mask: np.ndarray = ~np.isnan(figures)
    if low is not None:
        mask = mask & (figures > low if strict else figures >= low)
    if high is not None:
        mask = mask & (figures < high if strict else figures <= high)
    return mask


def minute_of(clock: str) -> int:
    """Return the minute of the day of a time, HH:MM."""
    hour, minute = map(int, clock.split(":"))
    return hour % 24 * 60 + minute
