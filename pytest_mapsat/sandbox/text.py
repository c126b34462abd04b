"""Text that was typed in two ways: one form for it, its words, how alike two texts are, and what a text asks for.

Recorded sandboxes may have lost all their spaces, so the form has none; words are found where the script changes. What a text asks for is
told word by word, so that a near answer never drops a word that was asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from pytest_mapsat.model import ParameterMatch

#: Separators, punctuation and control characters carry no meaning; symbols ("+", "|") do.
_SILENT = frozenset("ZPC")
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
#: Each round of folding may open the way for one more; none was ever seen to need more than three.
_ROUNDS = 8


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _spoken(text: str) -> str:
    return "".join(char for char in text if unicodedata.category(char)[0] not in _SILENT)


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """Return the form in which texts are compared: NFKC, case folded, without spaces and punctuation.

    A text of punctuation only is kept, without its spaces.
    """
    for _ in range(_ROUNDS):
        folded = _folded(text)
        form = _spoken(folded) or "".join(folded.split())
        if form == text:
            break
        text = form
    return text


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text, folded: runs of one script, digits apart. Chinese has no spaces: a run is a word."""
    return tuple(_word().findall(_folded(text)))


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"[{_CJK}]+|[^\W\d_{_CJK}]+|\d+(?:[.,]\d+)*")


def text_similarity(a: str, b: str) -> float:
    """Return how alike two texts are, 0 to 1: the better of their characters in order and their words sorted.

    The measure is the normalised Indel similarity, 2 x common subsequence / (length + length), on normalised text.
    """
    left, right = normalise(a), normalise(b)
    if left == right:
        return 1.0
    # As everywhere by way of the package: two threads that load it by two ways meet half of it.
    from rapidfuzz import fuzz  # noqa: PLC0415 - heavy; only loaded where texts differ

    in_order = fuzz.ratio(left, right)
    by_word = fuzz.ratio(" ".join(sorted(tokens(a))), " ".join(sorted(tokens(b))))
    return float(max(in_order, by_word)) / 100


@dataclass(frozen=True)
class Request:
    """A text taken apart.

    Attributes:
        known: the declared words in it, each as its head word, sorted.
        other: all other words that are not generic, in their order.
        text: the text with declared words replaced by their head words and without generic ones: by it texts are held against each other.
    """

    known: tuple[str, ...]
    other: tuple[str, ...]
    text: str

    @cached_property
    def key(self) -> tuple[tuple[str, ...], str]:
        """What two requests must share to ask for the same; it is quick to compare."""
        return self.known, "".join(sorted("".join(self.other)))

    def same_as(self, asked: Request) -> bool:
        """Return whether both ask for the same words, none more and none less, in whatever order."""
        return self.key == asked.key and (
            sorted(self.other) == sorted(asked.other)
            or _made_of(asked.other, "".join(self.other))
            or _made_of(self.other, "".join(asked.other))
        )


def _made_of(words: Iterable[str], text: str) -> bool:
    """Return whether the text consists of exactly these words: spaces may have been lost."""
    for word in sorted(words, key=len, reverse=True):
        before, found, after = text.partition(word)
        if not found:
            return False
        text = before + "\0" + after
    return not text.strip("\0")


class Lexicon:
    """The words that a parameter declares: synonyms with their head word, and generic words.

    Longer words are found first, so that a declared word is never cut in two. Chinese words are found anywhere in a
    run, others only as whole words ("shop" is no part of "photoshop").
    """

    def __init__(self, rule: ParameterMatch) -> None:
        self._head: dict[str, str | None] = {_spaced(word): None for word in rule.generic}
        for head, others in rule.synonyms.items():
            self._head.update({_spaced(word): _spaced(head) for word in (head, *others)})
        longest_first = sorted(filter(None, self._head), key=lambda word: (-len(word), word))
        pattern = "|".join(map(_whole, longest_first))
        self._words = re.compile(pattern or r"(?!)")

    def request(self, text: str) -> Request:
        """Take a text apart. A text of generic words only asks for just these."""
        spaced = _spaced(text)
        heads = [self._head[found.group()] for found in self._words.finditer(spaced)]
        known = tuple(sorted({head for head in heads if head}))
        other = tuple(self._words.sub(" ", spaced).split())
        if not known and not other:
            return Request(known, tuple(spaced.split()), normalise(spaced))
        return Request(known, other, normalise(self._words.sub(lambda found: self._head[found.group()] or " ", spaced)))


def _spaced(text: str) -> str:
    return " ".join(tokens(text))


def _whole(word: str) -> str:
    before = r"(?<![^ ])" if word[0].isascii() else ""
    after = r"(?![^ ])" if word[-1].isascii() else ""
    return before + re.escape(word) + after
