"""Answers that are the rows of one part of a large table, best match of a free text first.

``PartIndex`` says which rows of a part have a value or a word, and their figures and opening hours: all in arrays of numbers, rows in the order of their ids,
so that every machine builds the same index and uses its file as it lies there. ``Query`` holds a text against it. ``RankedCall`` is one call of a tool.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, islice, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pytest_mapsat.model import (
    Between,
    Context,
    Equal,
    EqualTo,
    Json,
    JsonObject,
    Match,
    OpenAt,
    ParameterMatch,
    RankedAnswer,
    RankedField,
    SuiteManifest,
    UsageError,
    canonical_json,
    fold,
    hint_at,
    number,
    open_at,
    opening_hours,
    shown,
    word_pattern,
)
from pytest_mapsat.reading import AskedBound, Comparisons, Denials, Opening, Vocabulary, Wish, conditions_of, traits_in

from .large import Arrays, FileRows, Keys, Parts, hashed, kept_arrays
from .rows import CaseTables, TableCall, canonical_values
from .search import Wordbook, is_run, split
from .spec import SpecCall, ToolSpec, UnanswerableError, spec_of
from .state import fresh

if TYPE_CHECKING:
    from .layers import SandboxSuite


#: The longest value that a text is looked through for, words and Chinese characters.
LONGEST_VALUE = 24
#: How deep texts are looked for in a column of running text, and how many characters of one row count.
_DEEP, _MOST_TEXT = 6, 20_000
_NAN = float("nan")
#: Whole numbers of fewer bits become figures as they are.
_EXACT = 64
#: How finely the rarity of a word is told: eighths of a power of two.
_EIGHTHS = 8
_DAY = 24 * 60


def units_of(text: str, book: Wordbook) -> tuple[str, ...]:
    """Return the words of a text in their compared (stemmed) form, with each Chinese character as its own word."""
    return tuple(chain.from_iterable(word if is_run(word) else (word,) for word in book.stems(text)))


class _Terms:
    """Extracts from texts the terms for the text score: words, and pairs of adjacent Chinese characters."""

    def __init__(self, book: Wordbook) -> None:
        self._book = book
        self._of_words: dict[str, tuple[str, ...]] = {}
        self.of = lru_cache(maxsize=65536)(self._of)

    def _of(self, text: str) -> frozenset[str]:
        """Return the terms of a text; cached, for texts that are likely to be repeated."""
        terms: set[str] = set()
        self.add(text, terms)
        return frozenset(terms)

    def add(self, text: str, terms: set[str]) -> None:
        """Add the terms of a text to a set."""
        of_words = self._of_words
        for word in word_pattern().findall(fold(text)):
            if is_run(word):
                terms.update(map("".join, pairwise(word)) if len(word) > 1 else word)
                continue
            if word not in of_words:
                of_words[word] = tuple(self._book.stems(word))
            terms.update(of_words[word])


def _texts(value: Json, deep: int = _DEEP) -> Iterator[str]:
    """Yield the texts in a value, including those nested in lists and objects, each cut to a maximum length."""
    if isinstance(value, str):
        yield value[:_MOST_TEXT]
    elif deep and isinstance(value, (list, dict)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _texts(member, deep - 1)


class _Numbers(dict[Any, int]):
    """A dictionary that numbers things in the order of their first look-up."""

    def __missing__(self, thing: Any) -> int:
        """Give a thing its number."""
        self[thing] = fresh_number = len(self)
        return fresh_number


class _Sets:
    """Collects the things (values or terms) of each row; rows are added one after another."""

    def __init__(self) -> None:
        self.things = _Numbers()
        self._of_rows = array("I")
        self._counts = array("I")

    def add(self, things: Iterable[Hashable]) -> None:
        """Add the next row with its distinct things."""
        before = len(self._of_rows)
        self._of_rows.extend(map(self.things.__getitem__, things))
        self._counts.append(len(self._of_rows) - before)

    def packed(self, order: np.ndarray, by_id: np.ndarray) -> dict[str, np.ndarray]:
        """Return arrays with the rows of each thing. ``order``: the order of the things; ``by_id``: the rows by id."""
        counts = np.array(self._counts, np.int64)
        begins = np.cumsum(counts) - counts
        counts, begins = counts[by_id], begins[by_id]
        shift = begins - (np.cumsum(counts) - counts)
        things = np.array(self._of_rows, np.uint32)[np.repeat(shift, counts) + np.arange(int(counts.sum()))]
        things = np.argsort(order).astype(np.uint32)[things]
        ends = np.cumsum(np.bincount(things, minlength=len(self.things)))
        rows = np.arange(len(counts), dtype=np.min_scalar_type(len(counts)))
        return {
            "start": np.concatenate([[0], ends]).astype(np.uint64),
            "rows": np.repeat(rows, counts)[np.argsort(things, kind="stable")],
        }


class _Builder:
    """Builds an index of rows, which are added one after another in any order.

    Args:
        fields: column -> what it holds.
        book: the declared words, for spellings that are one.
    """

    def __init__(self, fields: Mapping[str, RankedField], book: Wordbook) -> None:
        def holding(*kinds: str) -> list[tuple[int, str]]:
            """Return the position and the name of each column with content of some kinds."""
            return [(at, column) for at, (column, field) in enumerate(fields.items()) if field.holds in kinds]

        self._book = book
        self._terms = _Terms(book)
        self._valued, self._running = holding("name", "word", "words"), holding("text")
        self._named = {at for at, _ in holding("name")}
        self._figures = {column: array("d") for _, column in holding("figure")}
        self._hours = {column: (_Numbers(), array("I")) for _, column in holding("hours")}
        self._values, self._strong, self._weak = _Sets(), _Sets(), _Sets()
        self._count = 0

    def add(self, row: JsonObject) -> None:
        """Add a row: its values, terms, figures and opening hours."""
        self._count += 1
        valued = dict.fromkeys((at, value) for at, column in self._valued for value in _values(row.get(column)))
        self._values.add(valued)
        own: set[str] = set()
        for at, value in valued:
            if type(value) is str:
                if at in self._named:
                    self._terms.add(value, own)
                else:
                    own |= self._terms.of(value)
        self._strong.add(own)
        others: set[str] = set()
        for _, column in self._running:
            for text in _texts(row.get(column)):
                self._terms.add(text, others)
        self._weak.add(others - own)
        for column, amounts in self._figures.items():
            value = row.get(column)
            amount = value if type(value) is int and value.bit_length() < _EXACT else number(value)
            amounts.append(_NAN if amount is None else amount)
        for column, (numbers, codes) in self._hours.items():
            hours = row.get(column)
            codes.append(numbers[hours if isinstance(hours, str) else ""])

    def done(self, by_id: np.ndarray) -> Arrays:
        """Return the index of the added rows. ``by_id``: their positions in the order of their ids."""
        arrays: dict[str, np.ndarray] = {}
        for name, sets in (("strong", self._strong), ("weak", self._weak)):
            hashes = np.array([hashed(term) for term in sets.things], np.uint64)
            order = np.argsort(hashes, kind="stable")
            arrays[f"{name}.hash"] = hashes[order]
            arrays |= {f"{name}.{key}": packed for key, packed in sets.packed(order, by_id).items()}
        values = self._values
        arrays |= {
            f"values.{key}": packed for key, packed in values.packed(np.arange(len(values.things)), by_id).items()
        }
        arrays |= _value_arrays(list(values.things), self._book)
        arrays |= {
            f"figure.{column}": np.array(amounts, np.float64)[by_id] for column, amounts in self._figures.items()
        }
        arrays |= {f"hours.{column}": np.array(codes, np.uint32)[by_id] for column, (_, codes) in self._hours.items()}
        hours = {column: list(numbers) for column, (numbers, _) in self._hours.items()}
        return Arrays({"rows": self._count, "hours": hours}, arrays)


def _values(value: Json) -> Iterator[Any]:
    """Yield the values of a column that holds a word or a list of words: texts unchanged, numbers as JSON in a tuple."""
    for member in value if isinstance(value, list) else (value,):
        if isinstance(member, str):
            yield member
        elif isinstance(member, (int, float)):
            yield (canonical_json(member),)


def _value_arrays(values: Sequence[tuple[int, Any]], book: Wordbook) -> dict[str, np.ndarray]:
    """Return arrays of the distinct values of all columns, and a lookup of the text values by the hash of their words."""
    keyed: list[tuple[int, int]] = []
    for at, (_, value) in enumerate(values):
        if isinstance(value, str):
            units = units_of(value, book)
            keyed += [(hashed(" ".join(units)), at)] if 0 < len(units) <= LONGEST_VALUE else []
    keyed.sort()
    written = ",".join(canonical_json(value) if isinstance(value, str) else value[0] for _, value in values)
    return {
        "key.hash": np.array([key for key, _ in keyed], np.uint64),
        "key.value": np.array([at for _, at in keyed], np.uint32),
        "value.column": np.array([column for column, _ in values], np.uint16),
        "value.text": np.frombuffer(f"[{written}]".encode("utf-8", "surrogatepass"), np.uint8),
    }


class PartIndex:
    """The search index of one part of a table. Thread-safe.

    Args:
        kept: the index as ``_Builder`` made it.
        fields: column -> what it holds.

    Attributes:
        count: how many rows the part has.
    """

    def __init__(self, kept: Arrays, fields: Mapping[str, RankedField]) -> None:
        self._arrays = kept.arrays
        self._hours: Mapping[str, list[str]] = kept.info["hours"]
        self._columns = {column: at for at, column in enumerate(fields)}
        self.count: int = kept.info["rows"]
        # What is remembered must not hold the index itself: the memory of one that is given up is free at once.
        self.open_at = lru_cache(maxsize=256)(partial(_open_at, self._arrays, self._hours))
        self.values = lru_cache(maxsize=64)(partial(_values_of, self._arrays, self._columns))
        self._traits = lru_cache(maxsize=1)(partial(_traits_of, self.values))
        self.edges = lru_cache(maxsize=16)(partial(_edges_of, self._arrays, self._hours))

    def has(self, hashes: Sequence[int]) -> list[list[int]]:
        """Return for each hash of words the numbers of the column values with exactly these words."""
        keys = self._arrays["key.hash"]
        wanted = np.array(hashes, np.uint64)
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        values = self._arrays["key.value"]
        return [values[start:end].tolist() if end > start else [] for start, end in zip(first, last, strict=True)]

    def with_values(self, values: Iterable[int]) -> np.ndarray:
        """Return a mask of the rows that have at least one of some column values."""
        mask = np.zeros(self.count, np.bool_)
        for at in values:
            mask[self._rows("values", at)] = True
        return mask

    def named(self, key: str, fields: Mapping[str, RankedField]) -> np.ndarray:
        """Return a mask of the rows whose name consists of some words."""
        columns = {self._columns[column] for column, field in fields.items() if field.holds == "name"}
        values = self.has([hashed(key)])[0]
        return self.with_values(at for at in values if int(self._arrays["value.column"][at]) in columns)

    def trait_values(self, trait: str, fields: Mapping[str, RankedField]) -> list[int]:
        """Return the list values that indicate that a row has a trait."""
        return self._traits(tuple(column for column, field in fields.items() if field.holds == "words")).get(trait, [])

    def figure(self, column: str) -> np.ndarray:
        """Return the figures of a column, one for each row; NaN for a missing figure."""
        return self._arrays[f"figure.{column}"]

    def fitting(self, column: str, match: Match, *, wanted: bool = True) -> np.ndarray:
        """Return a mask of the rows whose figure or opening hours certainly match; or certainly do not, if not ``wanted``."""
        if isinstance(match, OpenAt):
            return self.open_at(column, match.time, wanted)
        if not isinstance(match, Between):
            raise TypeError(f"no index answers {match.op}")
        figures = self.figure(column)
        mask = between(figures, match.min, match.max)
        return mask if wanted else ~mask & between(figures, None, None)

    def text_scores(self, terms: Iterable[str]) -> np.ndarray:
        """Return a text score for each row: the rarity of each of its terms, times 3 for terms in a name or a word."""
        scores = np.zeros(self.count, np.int32)
        hashes = np.array([hashed(term) for term in terms], np.uint64)
        places_of = {name: self._places(name, hashes) for name in ("strong", "weak")}
        for strong, weak in zip(places_of["strong"], places_of["weak"], strict=True):
            places = (("strong", strong, 3), ("weak", weak, 1))
            having = sum(len(self._rows(name, at)) for name, at, _ in places if at is not None)
            for name, at, weight in places:
                if at is not None:
                    scores[self._rows(name, at)] += weight * _rarity(self.count, having)
        return scores

    def _places(self, name: str, hashes: np.ndarray) -> list[int | None]:
        """Return the positions of hashes among the strong or the weak terms; None for a missing term."""
        keys = self._arrays[f"{name}.hash"]
        places = np.searchsorted(keys, hashes).tolist()
        return [
            at if at < len(keys) and keys[at] == wanted else None for at, wanted in zip(places, hashes, strict=True)
        ]

    def _rows(self, name: str, at: int) -> np.ndarray:
        """Return the rows that have the thing at a position."""
        start, end = self._arrays[f"{name}.start"][at : at + 2].tolist()
        return self._arrays[f"{name}.rows"][start:end]


def _values_of(arrays: Mapping[str, np.ndarray], columns: Mapping[str, int], column: str) -> dict[int, Json]:
    """Return the distinct values of one column by their numbers."""
    values = json.loads(arrays["value.text"].tobytes().decode("utf-8", "surrogatepass"))
    return {int(at): values[at] for at in np.flatnonzero(arrays["value.column"] == columns[column])}


def _open_at(
    arrays: Mapping[str, np.ndarray], hours: Mapping[str, list[str]], column: str, clock: str, wanted: bool = True
) -> np.ndarray:
    """Return a mask of the rows certainly open at a time of day; or certainly closed, if not ``wanted``."""
    fits = np.array([open_at(text, clock) is wanted for text in hours[column]], np.bool_)
    open_rows: np.ndarray = fits[arrays[f"hours.{column}"]]
    return open_rows


def _traits_of(values: Callable[[str], Mapping[int, Json]], columns: Sequence[str]) -> dict[str, list[int]]:
    """Return by trait the values of some columns that indicate the trait."""
    traits: dict[str, list[int]] = {}
    for at, value in chain.from_iterable(values(column).items() for column in columns):
        for _, _, trait, lacking in traits_in(fold(value)) if isinstance(value, str) else ():
            if not lacking:
                traits.setdefault(trait, []).append(at)
    return traits


def _edges_of(
    arrays: Mapping[str, np.ndarray], hours: Mapping[str, list[str]], column: str, role: str, latest: bool
) -> np.ndarray:
    """Return for each row the latest or the earliest minute in the role ``opens`` or ``closes`` on any day.

    Past midnight is above 1440; what never closes closes at infinity; NaN where the hours cannot be read.
    """
    edges = []
    for text in hours[column]:
        spans = opening_hours(text)
        # A span behind a break of the day does not open it, and one before a break does not close it.
        days: list[float] = [start for start, _ in spans if not any(end <= start for _, end in spans)]
        if role == "closes":
            ends = [end if end - start < _DAY else np.inf for start, end in spans]
            days = [end for end in ends if not any(start >= end for start, _ in spans)]
        edges.append((max if latest else min)(days, default=_NAN))
    every: np.ndarray = np.array(edges, np.float64)[arrays[f"hours.{column}"]]
    return every


@lru_cache(maxsize=4096)
def _rarity(count: int, having: int) -> int:
    """Return the rarity of a term in ``having`` of ``count`` rows: 8 * log2(count / having), rounded down, at least 1."""
    eighths: int = (count**_EIGHTHS // max(having, 1) ** _EIGHTHS).bit_length() - 1
    return max(eighths, 1)


def query_terms(units: Sequence[tuple[str, int, int]]) -> list[str]:
    """Return the distinct terms of a query for the text score: words, pairs of adjacent Chinese characters, lone characters."""
    terms: dict[str, None] = {}
    for at, (unit, _, end) in enumerate(units):
        following = units[at + 1] if at + 1 < len(units) else None
        before = units[at - 1] if at else None
        if not is_run(unit):
            terms[unit] = None
        elif following is not None and is_run(following[0]) and following[1] == end:
            terms[unit + following[0]] = None
        elif before is None or not is_run(before[0]) or before[2] != units[at][1]:
            terms[unit] = None
    return list(terms)


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


class PhraseMeaning(NamedTuple):
    """The condition on a column that a phrase expresses."""

    column: str
    match: Match


class PhraseLexicon:
    """The phrases with a known meaning: groups of declared synonyms, and phrases that a field maps to a condition."""

    def __init__(self, answer: RankedAnswer, book: Wordbook, words: Iterable[JsonObject]) -> None:
        self.book = book
        self.fields = answer.fields
        self.groups: dict[str, tuple[str, ...]] = {}
        self.meanings: dict[str, list[PhraseMeaning]] = {}
        #: What columns say of a trait: the meaning, and whether it is that the trait is lacking.
        self.traits: dict[str, list[tuple[PhraseMeaning, bool]]] = {}
        for row in words:
            if isinstance(row.get("sort"), str):
                group = dict.fromkeys(" ".join(units_of(word, book)) for word in (row["sort"], *row.get("words", ())))
                for key in group:
                    self.groups[key] = tuple(dict.fromkeys((*self.groups.get(key, ()), *group)))
        for column, field in answer.fields.items():
            for phrase, value in field.says.items():
                meaning = PhraseMeaning(column, _meant(field, value))
                self.meanings.setdefault(" ".join(units_of(phrase, book)), []).append(meaning)
                self._add_trait(phrase, meaning)
            if field.holds == "word":
                self._add_trait(column, PhraseMeaning(column, Equal(op="equal", value=True)))

    def _add_trait(self, phrase: str, meaning: PhraseMeaning) -> None:
        """Add the meaning of a phrase to the trait that it expresses."""
        for _, _, trait, lacking in islice(traits_in(fold(phrase)), 1):
            self.traits.setdefault(trait, []).append((meaning, lacking))

    def units(self, text: str) -> _Units:
        """Return the words of a folded text in compared form, each with its start and end."""
        units: list[tuple[str, int, int]] = []
        for match in word_pattern().finditer(text):
            word, start = match.group(), match.start()
            if is_run(word):
                units += [(char, start + at, start + at + 1) for at, char in enumerate(word)]
            else:
                units += [(stem, start, match.end()) for stem in self.book.stems(word)]
        return units


def _meant(field: RankedField, value: Any) -> Match:
    """Return the match for the declared value of a phrase in a field."""
    if isinstance(value, Between):
        return value
    return OpenAt(op="open_at", time=value.zfill(5)) if field.holds == "hours" else Equal(op="equal", value=value)


class _Phrase(NamedTuple):
    """A phrase in a query: its start and end in the text, and its words as a key, or the trait that they express.

    ``lacking``: whether they speak of it as one that is not there ("cash only").
    """

    start: int
    end: int
    key: str
    trait: bool = False
    lacking: bool = False


class Query:
    """Ranks the rows of one part of a table by how well they match a free text.

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
        lexicon: PhraseLexicon,
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
        self._hours = [column for column, field in lexicon.fields.items() if field.holds == "hours"]

    @cached_property
    def phrases(self) -> list[_Phrase]:
        """Return the phrases of the text that occur in a column or a declaration: the longest at each place, without overlaps."""
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
                phrases.append(_Phrase(self._units[at][1], self._units[last - 1][2], key))
            at = max(last, at + 1)
        return phrases

    def ordered(self, keep: np.ndarray | None, most: int) -> list[int]:
        """Return the places of the best rows in the part, by fulfilled conditions, desired extremes, text score, and id.

        A row that fits in nothing is left out, unless the text says nothing that any row has.

        Args:
            keep: a truth value for each row; none keeps all.
            most: the most rows.
        """
        count = self._index.count
        conditions, scores, heights = self._fulfilled()
        order = (conditions.astype(np.int64) << (_TEXT_BITS + _ROW_BITS)) + (
            np.minimum(scores, (1 << _TEXT_BITS) - 1).astype(np.int64) << _ROW_BITS
        )
        fits = order > 0
        if keep is not None:
            fits = fits & keep if fits.any() else keep
        rows = np.flatnonzero(fits)
        if heights and len(rows):
            shared = scores[rows] * 2 >= np.max(scores[rows][conditions[rows] == np.max(conditions[rows])])
            keys = [rows, -scores[rows], *(-height[rows] for height in reversed(heights)), ~shared, -conditions[rows]]
            return [int(row) for row in rows[np.lexsort(keys)][:most]]
        order = order[rows] + (count - rows)
        if len(rows) > most:
            best = np.argpartition(-order, most - 1)[:most]
            rows, order = rows[best], order[best]
        return [int(row) for row in rows[np.argsort(-order)]]

    def _fulfilled(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Return for each row the number of fulfilled conditions and the text score, and figures for desired extremes, if any."""
        asked = self._asked
        named = [phrase for phrase in self.phrases if self._index.named(phrase.key, self._fields).any()]
        comparisons = Comparisons(self._text, _spans(named))
        masks: dict[Any, np.ndarray] = {}
        taken: list[tuple[int, int]] = []
        wishes: list[tuple[Wish, _Phrase | None]] = [(wish, named[at]) for wish, at in comparisons.compared()]
        for wish, thing in (*wishes, *((wish, None) for wish in asked.hours)):
            if (mask := self._of_wish(wish, thing)) is not None:
                masks[wish[2:], thing] = mask
                taken += _spans([wish, thing] if thing else [wish])
        bounds = [bound for bound in asked.bounds if not _covers(taken, bound)]
        openings = [opening for opening in asked.openings if not _covers(taken, opening)]
        taken += [*_spans(bounds), *_spans(openings), *self._skip]
        phrases = [phrase for phrase in self.phrases if not _within(phrase, taken)]
        traits = [trait for trait in self._traits() if not _covers([*taken, *_spans(phrases)], trait)]
        phrases = [phrase for phrase in phrases if not _covers(_spans(traits), phrase)]
        whole = _spans(phrases)
        best = [wish for wish in comparisons.best() if not _covers([*taken, *whole, *_spans(traits)], wish)]
        heights = [height for wish in best if (height := self._height(wish)) is not None]
        dropped = [*taken, *_spans(traits), *(_spans(best) if heights else ())]
        for phrase, denied in self._denied([*phrases, *traits]):
            key, mask = self._of_phrase(phrase, denied=denied != phrase.lacking)
            masks[key] = mask
            dropped += _spans([phrase]) if denied else []
        for bound in bounds:
            if not _covers(whole, bound) and (condition := self._of_bound(bound)):
                masks[condition[0]] = condition[1]
        for opening in openings:
            if not _covers(whole, opening):
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
        return total, self._index.text_scores(query_terms(units)), heights

    def _traits(self) -> Iterator[_Phrase]:
        """Yield the traits in the text that the part has as a column or a value."""
        for start, end, trait, lacking in traits_in(self._text):
            if trait in self._lexicon.traits or self._index.trait_values(trait, self._fields):
                yield _Phrase(start, end, trait, True, lacking)

    def _figures(self, role: str, *, latest: bool) -> np.ndarray | None:
        """Return the figures of a role for each row (for ``opens`` and ``closes`` the latest or earliest minute); None if no column has any."""
        if role in ("opens", "closes"):
            return self._index.edges(self._hours[0], role, latest) if self._hours else None
        column = self._column_of(AskedBound(0, 0, None, 0, False, "count", "per_head" if role == "price" else role))
        return None if column is None else self._index.figure(column)

    def _height(self, wish: Wish) -> np.ndarray | None:
        """Return sort numbers that put rows with the desired extreme of a figure first; None if no column holds the figure."""
        sign, figures = 1 if wish.way == ">" else -1, self._figures(wish.role, latest=wish.way == ">")
        return None if figures is None else np.nan_to_num(sign * figures, nan=-np.inf)

    def _of_wish(self, wish: Wish, thing: _Phrase | None) -> np.ndarray | None:
        """Return a mask of the rows that open, close, are shut or compare with a named row as desired; None if there is no such figure."""
        if wish.role == "shut" and self._hours:
            clock = f"{wish.minute // 60 % 24:02}:{wish.minute % 60:02}"
            return self._index.fitting(self._hours[0], OpenAt(op="open_at", time=clock), wanted=False)
        least = wish.way[:1] == ">"
        figures, limit = self._figures(wish.role, latest=not least), float(wish.minute)
        if figures is None:
            return None
        if thing is not None:
            own = self._index.named(thing.key, self._fields)
            limit = float(np.max(figures[own]) if least else np.min(figures[own]))
            figures = np.where(own, _NAN, figures)
        low, high = (limit, None) if least else (None, limit)
        return None if np.isnan(limit) else between(figures, low, high, strict="=" not in wish.way)

    def _denied(self, phrases: Sequence[_Phrase]) -> Iterator[tuple[_Phrase, bool]]:
        """Yield each phrase and whether the text rejects it, as in "no parking"."""
        denials, phrases = Denials(self._text), sorted(phrases)
        denied = [denials.denies(phrase.start, phrase.end) for phrase in phrases]
        joined = [denials.goes_on(first.end, second.start) for first, second in pairwise(phrases)]
        for at, goes_on in enumerate(joined):
            denied[at + 1] |= denied[at] and goes_on
        for at, goes_on in reversed(tuple(enumerate(joined))):  # 辣和吵都不要
            denied[at] |= denied[at + 1] and goes_on
        yield from zip(phrases, denied, strict=True)

    def _of_phrase(self, phrase: _Phrase, *, denied: bool) -> tuple[object, np.ndarray]:
        """Return a key for a phrase's condition and a mask of the rows that fulfil it; for a denied phrase, of the rows that lack it."""
        key = phrase.key
        if phrase.trait:
            meanings = self._lexicon.traits.get(key, [])
            # A column of its own says more surely than a list of words whether a row has a trait.
            values = [] if meanings else self._index.trait_values(key, self._fields)
            group: tuple[str, ...] = (key,)
        else:
            group = tuple(sorted(self._lexicon.groups.get(key, (key,))))
            values = sorted({at for listed in self._index.has([hashed(word) for word in group]) for at in listed})
            meanings = [(meaning, False) for word in group for meaning in self._lexicon.meanings.get(word, ())]
        mask = self._index.with_values(values)
        mask = ~mask if denied else mask
        for meaning, lacking in meanings:
            meant = self._of_meaning(meaning, denied=denied != lacking)
            mask = mask & meant if denied else mask | meant
        return ("words", phrase.trait, group, denied), mask

    def _of_meaning(self, meaning: PhraseMeaning, *, denied: bool) -> np.ndarray:
        """Return a mask of the rows that fulfil a phrase's condition; for a denied phrase, of the rows that certainly do not."""
        column, match = meaning
        if not isinstance(match, Equal):
            return self._index.fitting(column, match, wanted=not denied)
        wanted = canonical_json(match.value)
        values = self._index.values(column).items()
        mask = self._index.with_values(at for at, other in values if canonical_json(other) == wanted)
        return ~mask if denied else mask

    def _of_bound(self, bound: AskedBound) -> tuple[object, np.ndarray] | None:
        """Return a key for a bound on a figure and a mask of the rows within it; None if no column holds such a figure."""
        column = self._column_of(bound)
        if column is None:
            return None
        scale = _SCALES.get(self._fields[column].unit or "", 1.0)
        low, high = (None if limit is None else round(limit / scale, 9) for limit in (bound.low, bound.high))
        return ("figure", column, low, high, bound.strict), between(
            self._index.figure(column), low, high, strict=bound.strict
        )

    def _column_of(self, bound: AskedBound) -> str | None:
        """Return the column to which a bound applies, by its role, its unit, or the range of its figures; None if none matches."""
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
        """Return whether a value lies within the range of the figures in a column."""
        figures = self._index.figure(column)
        figures = figures[~np.isnan(figures)]
        return bool(len(figures) and np.min(figures) <= value <= np.max(figures))

    def _of_opening(self, opening: Opening) -> Iterable[tuple[object, np.ndarray]]:
        """Yield a key and a mask of rows for a condition on opening hours; nothing if no column holds hours or the time is unknown."""
        minutes = opening.minutes or (() if self._minute is None else (self._minute,))
        if minutes and self._hours:
            join = np.logical_and if opening.every else np.logical_or
            clocks = [f"{minute // 60:02}:{minute % 60:02}" for minute in minutes]
            masks = [join.reduce([self._index.open_at(column, clock) for clock in clocks]) for column in self._hours]
            yield ("open", minutes), np.logical_or.reduce(masks)


def _spans(things: Iterable[Any]) -> list[tuple[int, int]]:
    """Return the places of some things in a text."""
    return [(thing.start, thing.end) for thing in things]


def _covers(spans: Iterable[tuple[int, int]], thing: Any) -> bool:
    """Return whether one of some spans holds all of a thing in a text."""
    return any(start <= thing.start and thing.end <= end for start, end in spans)


def _within(phrase: _Phrase, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether a phrase overlaps one of some spans; a phrase that fully contains a shorter span does not count."""
    return any(
        phrase.start < end
        and start < phrase.end
        and not (phrase.start <= start and end <= phrase.end and phrase.end - phrase.start > end - start)
        for start, end in spans
    )


def between(figures: np.ndarray, low: float | None, high: float | None, *, strict: bool = False) -> np.ndarray:
    """Return a mask of the figures that lie between two bounds (None: no bound); NaN never does."""
    mask: np.ndarray = ~np.isnan(figures)
    if low is not None:
        mask = mask & (figures > low if strict else figures >= low)
    if high is not None:
        mask = mask & (figures < high if strict else figures <= high)
    return mask


#: Characters of a query; no sensible one is longer, and time grows with it.
_LONGEST = 1000
_LISTED = 12
#: Parts with so many rows together are held in memory; one that has more is held alone.
_HELD = 200_000
_AS_TEXT = ParameterMatch()


class RankedParts:
    """The parts of a table, each with an index that is created or opened on first use.

    Args:
        rows: the rows; those of a large table stay in their file, and so does the index.
        answer: what of them is searched.
        lexicon: the declared words.
        words: the rows of declared words.

    Attributes:
        places: part -> the places of its rows in the order of their ids.
    """

    def __init__(
        self, rows: Sequence[JsonObject], answer: RankedAnswer, lexicon: PhraseLexicon, words: Sequence[JsonObject]
    ) -> None:
        self.rows = rows
        self.answer = answer
        self.lexicon = lexicon
        self._spelt = [row for row in words if "spelt" in row]
        self.places: Mapping[str, Sequence[int]]
        if isinstance(rows, FileRows):
            self.places = rows.parts
        else:
            parts = Parts(Keys(answer.id, answer.part))
            for at, row in enumerate(rows):
                parts.add(row, at, str)
            self.places = dict(parts.rows())
        self._lock = Lock()
        self._indexes: dict[str, PartIndex] = {}
        self._by_form: dict[str, dict[Any, list[str]]] = {}

    def index(self, part: str) -> PartIndex:
        """Return the index of a part, created on first use; the least recently used indexes are dropped if memory holds too many rows."""
        with self._lock:
            index = self._indexes.pop(part, None)
            if index is None:
                rows = len(self.places[part])
                while self._indexes and rows + sum(open_index.count for open_index in self._indexes.values()) > _HELD:
                    del self._indexes[next(iter(self._indexes))]
                index = self._made(part)
            self._indexes[part] = index  # the part searched last stands last
            return index

    def _made(self, part: str) -> PartIndex:
        """Build the index of a part; for a large table, load it from its cache file if there is one."""
        fields, book = self.answer.fields, self.lexicon.book

        def make() -> Arrays:
            """Read the rows of the part in the order of the file and return their index."""
            places = np.array(self.places[part], np.int64)
            in_file = np.argsort(places)
            ordered = places[in_file].tolist()
            rows = self.rows.read(ordered) if isinstance(self.rows, FileRows) else (self.rows[at] for at in ordered)
            builder = _Builder(fields, book)
            for row in rows:
                builder.add(row)
            return builder.done(np.argsort(in_file))

        if isinstance(self.rows, FileRows):
            holds = [[column, field.holds] for column, field in fields.items()]
            key = ["part", self.rows.digest, self.rows.keys, part, holds, self._spelt]
            return PartIndex(kept_arrays(key, make), fields)
        return PartIndex(make(), fields)

    def row(self, part: str, at: int) -> JsonObject:
        """Return a row of a part by its place in the order of ids."""
        return self.rows[int(self.places[part][at])]

    def with_form(self, match: ParameterMatch) -> Mapping[Any, list[str]]:
        """Return the parts by each compared form of their names under a parameter's rule."""
        key = canonical_json(match.to_json())
        if key not in self._by_form:
            forms: dict[Any, list[str]] = {}
            for part in self.places:
                for form in canonical_values(part, match):
                    forms.setdefault(form, []).append(part)
            self._by_form[key] = forms
        return self._by_form[key]

    @cached_property
    def longest_name(self) -> int:
        """Return the number of words in the longest name of ``names``; 0 if there are none."""
        return max(map(len, self.names), default=0)

    @cached_property
    def names(self) -> dict[tuple[str, ...], str]:
        """Return the part for each part name, split into words, and for each declared synonym of it."""
        keys = {units_of(part, self.lexicon.book): part for part in self.places}
        alike = {key: map(str.split, self.lexicon.groups.get(" ".join(key), ())) for key in keys}
        return {tuple(other): part for key, part in keys.items() for other in alike[key]} | keys


class RankedCall(TableCall[RankedAnswer]):
    """One call of a tool that answers with the rows that best match a text.

    Args:
        parts: the parts of the table as the case sees it.
        vocabulary: the domain words and the currency of the suite.
        part: the part that is searched; empty: as the call, its text or the case says.
    """

    def __init__(
        self,
        ground: CaseTables,
        answer: RankedAnswer,
        spec: ToolSpec,
        call: SpecCall,
        parts: RankedParts,
        *,
        vocabulary: Vocabulary,
        part: str = "",
    ) -> None:
        super().__init__(ground, answer, spec, call)
        self._parts = parts
        self._vocabulary = vocabulary
        self._part = part
        #: The parameter that names the part, empty where the tool has none, and how it is read.
        self._parameter = answer.part if answer.part in spec.tool.parameters.get("properties", {}) else ""
        self._match = spec.rule(self._parameter) if self._parameter else _AS_TEXT

    def result(self) -> Json:
        """Return the requested page of the best rows, in the form that the tool declares. Raises UnanswerableError."""
        part, order = self.order()
        rows = [self._parts.row(part, at) for at in self._page(order)]
        return self._result(
            [{name: fresh(row[name]) for name in self._answer.show or row if name in row} for row in rows]
        )

    def ids(self, most: int) -> tuple[str, ...]:
        """Return the ids of the best rows, best first. Raises UnanswerableError."""
        part, order = self.order(most)
        return tuple(str(self._parts.row(part, at)[self._answer.id]).strip() for at in order)

    def order(self, most: int | None = None) -> tuple[str, list[int]]:
        """Return the searched part and its best rows, up to ``most`` or the requested page. Raises UnanswerableError."""
        name = self._answer.text
        text = str(self._given(name) or "")
        if not text.strip():
            raise UnanswerableError(f"{name} is {shown(text)}, expected what is looked for")
        if len(text) > _LONGEST:
            raise UnanswerableError(f"a {name} of {len(text)} characters is too long; at most {_LONGEST} are read")
        page, limit = self._answer.page, self._answer.limit
        if most is None:
            most = min(self._whole(page.size, limit), limit) * self._whole(page.number, 1)
        part, skip = self._searched(text)
        index = self._parts.index(part)
        return part, self._query(text, part, skip).ordered(self._all_filters_mask(index), min(most, index.count))

    def _searched(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """Return the part that the call searches, and the places in its text that name a part. Raises UnanswerableError."""
        column, city = self._answer.part, self._ground.context.city
        fixed = self._part or self._by_parameter()
        part = fixed or next(iter(self._parts_named(city)), "")
        places = self._named(text)
        if part and places:  # a city in a longer name ("Port Elm Street") is none that is named
            longer = [(phrase.start, phrase.end) for phrase in self._query(text, part).phrases]
            places = {
                (start, end): name
                for (start, end), name in places.items()
                if name == part
                or not any(first <= start and end <= last and last - first > end - start for first, last in longer)
            }
        listed = sorted({*places.values(), *([fixed] if fixed else [])})
        if len(listed) > 1:
            raise UnanswerableError(f"one {column} at a time is searched, and the call names {' and '.join(listed)}")
        if not (part := listed[0] if listed else part):
            raise UnanswerableError(f"no {column} is named; {self._served()}")
        return part, list(places)

    def _query(self, text: str, part: str, skip: Sequence[tuple[int, int]] = ()) -> Query:
        """Return the query of a text against a part."""
        index, minute = self._parts.index(part), self._ground.minute
        return Query(text, index, self._parts.lexicon, vocabulary=self._vocabulary, minute=minute, skip=skip)

    def _parts_named(self, given: Json) -> list[str]:
        """Return the parts that a value names, in any spelling or by a synonym; empty if there are none."""
        forms = self._parts.with_form(self._match)
        parts = sorted({part for form in canonical_values(given, self._match) for part in forms.get(form, ())})
        if not parts and isinstance(given, str):
            part = self._parts.names.get(units_of(given, self._parts.lexicon.book))
            parts = [part] if part else []
        return parts

    def _by_parameter(self) -> str:
        """Return the part in the parameter, empty if none is given. Raises UnanswerableError unless exactly one part matches."""
        name = self._parameter
        given = self._given(name) if name else None
        parts = [] if given is None else self._parts_named(given)
        if given is None or len(parts) == 1:
            return parts[0] if parts else ""
        if parts:
            raise UnanswerableError(
                f"one {self._answer.part} at a time is searched, and {name} names {' and '.join(parts)}"
            )
        hint = hint_at(given, self._parts.places)
        raise UnanswerableError(f"{name} is {shown(given)}, which is not served; {self._served()}{hint}")

    def _served(self) -> str:
        """Return a text that lists the parts, cut after the first few."""
        places = self._parts.places
        more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
        return f"there is {', '.join(islice(places, _LISTED)) or 'none'}{more}"

    def _named(self, text: str) -> dict[tuple[int, int], str]:
        """Return the places in a text that name a part, each with the part; the longest name at each place."""
        units = self._parts.lexicon.units(fold(text))
        words = tuple(unit for unit, _, _ in units)
        places: dict[tuple[int, int], str] = {}
        at = 0
        for several, part in split(words, self._parts.names, self._parts.longest_name):
            if part is not None:
                places[units[at][1], units[at + len(several) - 1][2]] = part
            at += len(several)
        return places

    def _all_filters_mask(self, index: PartIndex) -> np.ndarray | None:
        """Return a mask of the rows that pass all filters of the call; None if it has no filters."""
        mask: np.ndarray | None = None
        for name, rule, given in self._filters():
            left = self._filter_mask(index, name, rule, given)
            mask = left if mask is None else mask & left
        return mask

    def _filter_mask(self, index: PartIndex, name: str, rule: Any, given: Json) -> np.ndarray:
        """Return a mask of the rows of a part that pass one filter."""
        if isinstance(rule, EqualTo):
            match = self._spec.rule(name)
            forms_of = {at: canonical_values(value, match) for at, value in index.values(rule.column).items()}
            wanted = self._wanted(match, given, (form for forms in forms_of.values() for form in forms))
            return index.with_values(at for at, forms in forms_of.items() if forms & wanted)
        return index.fitting(rule.column, self._match_of(name, rule, given))


class Ranker:
    """Ranks rows like a ranked tool of a suite, without a case: to measure the tool, or to replace its ranking.

    Args:
        suite: the suite.
        tool: the name of the tool.

    Attributes:
        answer: how the tool ranks.
        parts: the parts of its table.

    Raises:
        UsageError: the suite has no such tool, or it does not rank.
    """

    def __init__(self, suite: SandboxSuite, tool: str) -> None:
        answer = suite.tools[tool].answer if tool in suite.tools else None
        if not isinstance(answer, RankedAnswer):
            ranked = [name for name, other in suite.tools.items() if isinstance(other.answer, RankedAnswer)]
            raise UsageError(f"{shown(tool)} is not a tool that ranks; there is {', '.join(ranked) or 'none'}")
        self.answer, self._spec = answer, spec_of(suite.tools[tool])
        self._tables = suite.tables
        self._ground = CaseTables(suite.tables, (), Context())
        self._parts = ranked_parts(self._ground, answer)
        self._vocabulary = vocabulary_of(suite.manifest)
        self.parts: tuple[str, ...] = tuple(self._parts.places)

    def rank(
        self, text: str, part: str = "", *, limit: int = 20, filters: Mapping[str, Json] | None = None
    ) -> tuple[str, ...]:
        """Return the ids of the rows that best match a text, best first.

        Args:
            text: the free text.
            part: the part that is searched; empty: the one that the text names.
            limit: the most ids.
            filters: further arguments of the tool, by parameter.

        Raises:
            ValueError: the tool would refuse the call; the message says why.
        """
        call = self._spec.read({**(filters or {}), self.answer.text: text})
        if part and part not in self._parts.places:
            raise UnanswerableError(f"there is no {self.answer.part} {shown(part)}; there is {', '.join(self.parts)}")
        return self._call(self._ground, call, part).ids(limit)

    def part_of(self, arguments: Mapping[str, Json], context: Context) -> str:
        """Return the part of the table that a call would search.

        Args:
            arguments: of the call.
            context: of the case, whose city counts where the call names none.

        Raises:
            ValueError: the tool would refuse the call; the message says why.
        """
        ranked = self._call(CaseTables(self._tables, (), context), self._spec.read(dict(arguments)))
        return ranked.order(1)[0]

    def rows(self, part: str) -> Iterator[JsonObject]:
        """Yield the rows of a part one by one, in the order of their ids."""
        return (self._parts.row(part, at) for at in range(len(self._parts.places[part])))

    def _call(self, ground: CaseTables, call: SpecCall, part: str = "") -> RankedCall:
        """Return the object that answers a call of the tool."""
        return RankedCall(ground, self.answer, self._spec, call, self._parts, vocabulary=self._vocabulary, part=part)


def vocabulary_of(manifest: SuiteManifest) -> Vocabulary:
    """Return the domain words and the currency of a suite."""
    return Vocabulary(manifest.vocabulary, manifest.currency)


def ranked_parts(ground: CaseTables, answer: RankedAnswer) -> RankedParts:
    """Return the parts of a ranked table in a case; cases that do not change the table share them."""
    words = ground.view(answer.words).parts[0].table.rows if answer.words else ()

    def make(rows: Sequence[JsonObject]) -> RankedParts:
        """Return the parts of some rows."""
        return RankedParts(rows, answer, PhraseLexicon(answer, ground.wordbook(answer.words), words), words)

    base, *own = ground.view(answer.table).parts
    if own or base.gone:
        return make(tuple(ground.view(answer.table).rows()))
    return base.table.index(("ranked", canonical_json(answer.to_json())), make)
