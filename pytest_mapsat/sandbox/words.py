"""What a text asks for, word by word, so that a near answer never drops a word that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pytest_mapsat.model import ParameterMatch

from .text import normalise, tokens


@dataclass(frozen=True)
class Request:
    """A text taken apart.

    Attributes:
        known: the declared words in it, each as its head word, sorted.
        other: all other words that are not generic, in their order.
        text: the text with declared words replaced by their head words; generic words stay.
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
        replaced = self._words.sub(lambda found: self._head[found.group()] or found.group(), spaced)
        return Request(known, other if known or other else tuple(spaced.split()), normalise(replaced))


def _spaced(text: str) -> str:
    return " ".join(tokens(text))


def _whole(word: str) -> str:
    before = r"(?<![^ ])" if word[0].isascii() else ""
    after = r"(?![^ ])" if word[-1].isascii() else ""
    return before + re.escape(word) + after
