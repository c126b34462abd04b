"""What a ranked search looks up of one part of a table: which rows have a value or a word, and the figures and opening hours of each.

All is numbers in arrays, so that every machine builds the same index and uses its file as it lies there. Rows stand in the order of their ids.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from pytest_mapsat.model import Json, JsonObject, RankedField, canonical_json, fold, number, open_at, word_pattern

from .large import Arrays, hashed
from .search import Wordbook, is_run

#: The longest value that a text is looked through for, words and Chinese characters.
LONGEST_VALUE = 24
#: How deep texts are looked for in a column of running text, and how many characters of one row count.
_DEEP, _MOST_TEXT = 6, 20_000
_NAN = float("nan")
#: Whole numbers of fewer bits become figures as they are.
_EXACT = 64
#: How finely the rarity of a word is told: eighths of a power of two.
_EIGHTHS = 8


def units_of(text: str, book: Wordbook) -> tuple[str, ...]:
    """Return the words of a text as they are compared, each Chinese character for itself."""
    return tuple(chain.from_iterable(word if is_run(word) else (word,) for word in book.stems(text)))


class _Terms:
    """What counts for the text score in texts: words, and pairs of neighbouring Chinese characters."""

    def __init__(self, book: Wordbook) -> None:
        self._book = book
        self._of_words: dict[str, tuple[str, ...]] = {}
        self.of = lru_cache(maxsize=65536)(self._of)

    def _of(self, text: str) -> frozenset[str]:
        """Return the terms of a text that may come again."""
        terms: set[str] = set()
        self.add(text, terms)
        return frozenset(terms)

    def add(self, text: str, terms: set[str]) -> None:
        """Add the terms of a text to others."""
        of_words = self._of_words
        for word in word_pattern().findall(fold(text)):
            if is_run(word):
                terms.update(map("".join, pairwise(word)) if len(word) > 1 else word)
                continue
            if word not in of_words:
                of_words[word] = tuple(self._book.stems(word))
            terms.update(of_words[word])


def _texts(value: Json, deep: int = _DEEP) -> Iterator[str]:
    """Give the texts in a value, those of lists and objects in it included."""
    if isinstance(value, str):
        yield value[:_MOST_TEXT]
    elif deep and isinstance(value, (list, dict)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _texts(member, deep - 1)


class _Numbers(dict[Any, int]):
    """Numbers of things, in the order in which they are first met."""

    def __missing__(self, thing: Any) -> int:
        """Give a thing its number."""
        self[thing] = fresh_number = len(self)
        return fresh_number


class _Sets:
    """Which rows have each of some things; rows are added in their order."""

    def __init__(self) -> None:
        self.things = _Numbers()
        self._of_rows = array("I")
        self._counts = array("I")

    def add(self, things: Iterable[Hashable]) -> None:
        """Take in the next row with all that it has, each thing once."""
        before = len(self._of_rows)
        self._of_rows.extend(map(self.things.__getitem__, things))
        self._counts.append(len(self._of_rows) - before)

    def packed(self, order: np.ndarray, by_id: np.ndarray) -> dict[str, np.ndarray]:
        """Return the rows of all things in an order: where those of each begin, and the lists of all. ``by_id``: the rows in the order of their ids."""
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


def build(rows: Iterable[JsonObject], by_id: np.ndarray, fields: Mapping[str, RankedField], book: Wordbook) -> Arrays:
    """Return the index of some rows.

    Args:
        rows: the rows, in any order.
        by_id: the places of the rows in the order of their ids.
        fields: column -> what it holds.
        book: the declared words, for spellings that are one.
    """
    builder = _Builder(fields, book)
    for row in rows:
        builder.add(row)
    return builder.done(by_id)


class _Builder:
    """Takes rows in, one after another, and returns their index."""

    def __init__(self, fields: Mapping[str, RankedField], book: Wordbook) -> None:
        def holding(*kinds: str) -> list[tuple[int, str]]:
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
        """Take the next row in."""
        self._count += 1
        held = dict.fromkeys((at, value) for at, column in self._valued for value in _values(row.get(column)))
        self._values.add(held)
        own: set[str] = set()
        for at, value in held:
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
        """Return the index of the rows that were taken in, by their ids."""
        arrays: dict[str, np.ndarray] = {}
        for name, sets in (("strong", self._strong), ("weak", self._weak)):
            hashes = np.array([hashed(term) for term in sets.things], np.uint64)
            order = np.argsort(hashes, kind="stable")
            arrays[f"{name}.hash"] = hashes[order]
            arrays |= {f"{name}.{key}": held for key, held in sets.packed(order, by_id).items()}
        values = self._values
        arrays |= {f"values.{key}": held for key, held in values.packed(np.arange(len(values.things)), by_id).items()}
        arrays |= _value_arrays(list(values.things), self._book)
        arrays |= {
            f"figure.{column}": np.array(amounts, np.float64)[by_id] for column, amounts in self._figures.items()
        }
        arrays |= {f"hours.{column}": np.array(codes, np.uint32)[by_id] for column, (_, codes) in self._hours.items()}
        hours = {column: list(numbers) for column, (numbers, _) in self._hours.items()}
        return Arrays({"rows": self._count, "hours": hours}, arrays)


def _values(value: Json) -> Iterator[Any]:
    """Give the values of a column that holds a word or a list of words: texts as they are, others as JSON in a tuple."""
    for member in value if isinstance(value, list) else (value,):
        if isinstance(member, str):
            yield member
        elif isinstance(member, (int, float)):
            yield (canonical_json(member),)


def _value_arrays(values: Sequence[tuple[int, Any]], book: Wordbook) -> dict[str, np.ndarray]:
    """Return the distinct values of all columns, and by the hash of their words where texts stand among them."""
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
    """The index of one part, ready to be asked. Safe to be used from several threads.

    Args:
        kept: the index as ``build`` made it.
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

    def has(self, hashes: Sequence[int]) -> list[list[int]]:
        """Return for each hash of words the values of columns that have just these words."""
        keys = self._arrays["key.hash"]
        wanted = np.array(hashes, np.uint64)
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        held = self._arrays["key.value"]
        return [held[start:end].tolist() if end > start else [] for start, end in zip(first, last, strict=True)]

    def with_values(self, values: Iterable[int]) -> np.ndarray:
        """Return a truth value for each row: whether it has one of some values of columns."""
        mask = np.zeros(self.count, np.bool_)
        for at in values:
            mask[self._rows("values", at)] = True
        return mask

    def figure(self, column: str) -> np.ndarray:
        """Return a column of figures, NaN where a row has none."""
        return self._arrays[f"figure.{column}"]

    def text_scores(self, terms: Iterable[str]) -> np.ndarray:
        """Return the text score of each row: for each word that it has, how rare it is, thrice where a name or a word has it."""
        scores = np.zeros(self.count, np.int32)
        hashes = np.array([hashed(term) for term in terms], np.uint64)
        held = {name: self._places(name, hashes) for name in ("strong", "weak")}
        for strong, weak in zip(held["strong"], held["weak"], strict=True):
            places = (("strong", strong, 3), ("weak", weak, 1))
            having = sum(len(self._rows(name, at)) for name, at, _ in places if at is not None)
            for name, at, weight in places:
                if at is not None:
                    scores[self._rows(name, at)] += weight * _rarity(self.count, having)
        return scores

    def _places(self, name: str, hashes: np.ndarray) -> list[int | None]:
        """Return where words stand among those that names and words have, or running texts alone; None for one that none has."""
        keys = self._arrays[f"{name}.hash"]
        places = np.searchsorted(keys, hashes).tolist()
        return [
            at if at < len(keys) and keys[at] == wanted else None for at, wanted in zip(places, hashes, strict=True)
        ]

    def _rows(self, name: str, at: int) -> np.ndarray:
        """Return the rows that have one thing."""
        start, end = self._arrays[f"{name}.start"][at : at + 2].tolist()
        return self._arrays[f"{name}.rows"][start:end]


def _values_of(arrays: Mapping[str, np.ndarray], columns: Mapping[str, int], column: str) -> dict[int, Json]:
    """Return the distinct values of one column."""
    values = json.loads(arrays["value.text"].tobytes().decode("utf-8", "surrogatepass"))
    return {int(at): values[at] for at in np.flatnonzero(arrays["value.column"] == columns[column])}


def _open_at(
    arrays: Mapping[str, np.ndarray], hours: Mapping[str, list[str]], column: str, minute: int, wanted: bool = True
) -> np.ndarray:
    """Return a truth value for each row: whether its hours are read, and hold a minute of the day, or do not."""
    clock = f"{minute // 60:02}:{minute % 60:02}"
    fits = np.array([open_at(text, clock) is wanted for text in hours[column]], np.bool_)
    open_rows: np.ndarray = fits[arrays[f"hours.{column}"]]
    return open_rows


@lru_cache(maxsize=4096)
def _rarity(count: int, having: int) -> int:
    """Return how rare something is that so many of the rows have, in eighths of a power of two; at least 1."""
    eighths: int = (count**_EIGHTHS // max(having, 1) ** _EIGHTHS).bit_length() - 1
    return max(eighths, 1)


def query_terms(units: Sequence[tuple[str, int, int]]) -> list[str]:
    """Return what counts for the text score among words of a query with their places, each once."""
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
