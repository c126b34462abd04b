"""What a search text asks for: sorts of things, names, qualifiers; by words that a suite gives as data, in any language.

English words lose their plural, Chinese has no spaces: there, declared words are found inside a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pytest_mapsat.model import JsonObject
from pytest_mapsat.sandbox.text import tokens

#: The longest declared phrase, in words; longer ones are never found.
_MOST_WORDS = 6
#: So much of a Chinese run must stand in a row's texts, in pieces of two characters and more.
_COVERED = 0.7
#: Words of at most so many letters have no plural to lose.
_SHORT = 3


#: How alike an unknown word and a known one must be to be the same word ("harbor"), 0 to 100, and how long.
SAME_WORD, LEAST_LETTERS = 83, 5


class Phrase(NamedTuple):
    """A declared phrase: the sort it means, or none for words that may be absent; near: whether it says "close to"."""

    sort: str | None
    near: bool = False


@dataclass(frozen=True)
class Wording:
    """A text taken apart.

    Attributes:
        sorts: the sorts of things that it names, in their order, each once.
        rest: the words that no declared phrase holds, in their order: stems, or runs of Chinese.
        words: all its words but those that may be absent; the sorts as they stand there.
        near: whether it says that something is close to something.
    """

    sorts: tuple[str, ...]
    rest: tuple[str, ...]
    words: tuple[str, ...]
    near: bool

    @property
    def joined(self) -> str:
        """The text without spaces and words that may be absent: by it whole names are compared."""
        return "".join(self.words)


class Wordbook:
    """The declared words of a suite, ready to take texts apart.

    Args:
        rows: of a table of words. ``sort`` with ``words``: what a sort of things is called, in all languages; ``absent``: words that
            may be absent; ``near``: words that say "close to"; ``word`` with ``spelt``: other spellings of one word ("rd").
    """

    def __init__(self, rows: Iterable[JsonObject]) -> None:
        rows = tuple(rows)
        self._spelt = {_stem(other): _stem(row["word"]) for row in rows for other in row.get("spelt", ())}
        self._phrases: dict[tuple[str, ...], Phrase] = {}
        self._runs: dict[str, Phrase] = {}
        for row in rows:
            for words, phrase in _declared(row):
                self._declare(words, phrase)
        self._single = [phrase[0] for phrase in self._phrases if len(phrase) == 1 and len(phrase[0]) >= LEAST_LETTERS]
        self._longest = max(map(len, self._runs), default=0)
        self.read = lru_cache(maxsize=4096)(self._read)

    def stems(self, text: str) -> Iterator[str]:
        """Give the words of a text in the form in which they are compared: folded, without plural and genitive, in one spelling."""
        for word in tokens(text):
            if len(word) == 1 and word == "s":
                continue  # what an apostrophe cuts off
            stem = word if is_run(word) else _stem(word)
            yield self._spelt.get(stem, stem)

    def _declare(self, text: str, phrase: Phrase) -> None:
        words = tuple(self.stems(text))
        if len(words) == 1 and is_run(words[0]):
            self._runs.setdefault(words[0], phrase)
        elif words:
            self._phrases.setdefault(words, phrase)

    def respelt(self, text: str) -> str:
        """Return a text with the declared words that its unknown words are nearest to ("restaraunt"); empty where there is none."""
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - heavy; only loaded where words are unknown

        words, changed = [], False
        for word in self.stems(text):
            found = None
            if len(word) >= LEAST_LETTERS and not is_run(word) and (word,) not in self._phrases:
                found = process.extractOne(word, self._single, scorer=fuzz.ratio, score_cutoff=SAME_WORD)
            words.append(str(found[0]) if found else word)
            changed = changed or found is not None
        return " ".join(words) if changed else ""

    def _read(self, text: str) -> Wording:
        """Take a text apart; longer phrases are found first."""
        sorts: dict[str, None] = {}
        rest: list[str] = []
        words: list[str] = []
        near = False
        for piece, phrase in self._pieces(tuple(self.stems(text))):
            if phrase is None:
                rest.append(piece)
                words.append(piece)
            elif phrase.sort:
                sorts[phrase.sort] = None
                words.append(piece)
            near = near or (phrase is not None and phrase.near)
        return Wording(tuple(sorts), tuple(rest), tuple(words), near)

    def _pieces(self, words: Sequence[str]) -> Iterator[tuple[str, Phrase | None]]:
        at = 0
        while at < len(words):
            if is_run(words[at]):
                yield from self._in_run(words[at])
                at += 1
                continue
            for length in range(min(_MOST_WORDS, len(words) - at), 0, -1):
                phrase = self._phrases.get(tuple(words[at : at + length]))
                if phrase is not None:
                    yield "".join(words[at : at + length]), phrase
                    at += length
                    break
            else:
                yield words[at], None
                at += 1

    def _in_run(self, run: str) -> Iterator[tuple[str, Phrase | None]]:
        at = start = 0
        while at < len(run):
            for length in range(min(self._longest, len(run) - at), 0, -1):
                phrase = self._runs.get(run[at : at + length])
                if phrase is not None:
                    if start < at:
                        yield run[start:at], None
                    yield run[at : at + length], phrase
                    at = start = at + length
                    break
            else:
                at += 1
        if start < len(run):
            yield run[start:], None


def _declared(row: JsonObject) -> Iterator[tuple[str, Phrase]]:
    sort = row.get("sort")
    if isinstance(sort, str):
        yield sort, Phrase(sort)
        yield from ((word, Phrase(sort)) for word in row.get("words", ()))
    yield from ((word, Phrase(None)) for word in row.get("absent", ()))
    yield from ((word, Phrase(None, near=True)) for word in row.get("near", ()))


def is_run(word: str) -> bool:
    """Return whether a word is written without spaces between words."""
    return word[0] >= "\u2e80"


def _stem(word: str) -> str:
    if len(word) <= _SHORT or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("shes", "ches", "xes", "sses")) else word[:-1]


def covered(run: str, text: str) -> bool:
    """Return whether most of a Chinese run stands in a text, in pieces of at least two characters."""
    if run in text:
        return True
    found = at = 0
    while at < len(run) - 1:
        end = at + 2
        if run[at:end] not in text:
            at += 1
            continue
        while end < len(run) and run[at : end + 1] in text:
            end += 1
        found += end - at
        at = end
    return found >= _COVERED * len(run)
