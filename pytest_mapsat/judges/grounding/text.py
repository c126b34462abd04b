"""A reply as the judge reads it: folded once, with its sentences, clauses, denials, and the search for phrases."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pytest_mapsat.model import Quote

from .clock import TimeOfDay, find_times
from .fold import Folded, fold, fold_phrase, is_cjk
from .negation import Denials, find_denials
from .numbers import Quantity, find_quantities

Key = TypeVar("Key")

_SENTENCE_END = re.compile(r"[。;\n…]+|[!?]+|\.")
#: A figure is about what its clause speaks of. Commas and colons inside numbers and times do not count.
_CLAUSE_END = re.compile(
    r"(?<![0-9])[,:](?!//)|[,:](?![0-9])|、|[()|]|—|→|(?<![0-9]) - | - (?![0-9])"
    r"| (?:and|or|but|then|while|whereas|plus)(?= (?:it|its|the|a|an|then|from|there|you|another|takes|costs|by|is) )"
    r"|但|不过|然后|接着|再(?=[走步开坐乘去])|或者|或(?=[步开坐乘走])|而(?=[走步开坐乘])"
)
#: Words that end in a full stop without ending the sentence.
_ABBREVIATIONS = tuple("dr mr mrs ms st no vs etc approx ca e.g i.e a.m p.m tel mt ave rd".split())  # noqa: SIM905  a list of words
_LONGEST_ABBREVIATION = 7
_SHORTEST_PLURAL = 3
_QUOTED = 60


@dataclass(frozen=True, order=True)
class Mention:
    """A phrase found in a reading, in folded characters."""

    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Reading:
    """One text, read once.

    Attributes:
        turn: index in ``Trajectory.turns``; -1 for text that is not a turn.
        folded: the text in the form that is searched.
    """

    turn: int
    folded: Folded

    @classmethod
    def of(cls, text: str, turn: int = -1) -> Reading:
        """Return the reading of ``text``."""
        return cls(turn, fold(text))

    @property
    def flat(self) -> str:
        """The folded text on one line."""
        return self.folded.flat

    @cached_property
    def denials(self) -> Denials:
        """Clauses and what they deny."""
        return find_denials(self.folded.text)

    @cached_property
    def times(self) -> tuple[TimeOfDay, ...]:
        """The clock times that are said."""
        return find_times(self.folded.text)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers that are said and are no clock times."""
        return find_quantities(self.folded.text, self.times)

    @cached_property
    def sentence_ends(self) -> tuple[int, ...]:
        """Where each sentence ends, ascending; the last one ends with the text."""
        return (*_sentence_ends(self.folded.text), len(self.flat))

    def sentence_of(self, position: int) -> int:
        """Return the number of the sentence that ``position`` stands in."""
        return bisect_right(self.sentence_ends, position)

    @cached_property
    def clause_ends(self) -> tuple[int, ...]:
        """Where each clause ends, ascending, as far as it matters to what a figure belongs to; the last one ends with the text."""
        ends = {match.end() for match in _CLAUSE_END.finditer(self.folded.text)}
        return tuple(sorted(ends | set(self.sentence_ends)))

    def clause_of(self, position: int) -> int:
        """Return the number of the clause that ``position`` stands in."""
        return bisect_right(self.clause_ends, position)

    def sentence_start(self, number: int) -> int:
        """Return where sentence ``number`` begins."""
        return self.sentence_ends[number - 1] if number else 0

    def find(self, phrase: str, *, plural: bool = True) -> Iterator[Mention]:
        """Yield every mention of ``phrase`` as whole words, from left to right.

        Args:
            phrase: the words as their author wrote them.
            plural: whether a Latin phrase is also found with a simple plural ending.
        """
        wanted = fold_phrase(phrase)
        position = self.flat.find(wanted) if wanted else -1
        while position >= 0:
            end = _word_end(self.flat, position, position + len(wanted), plural=plural)
            if end is not None:
                yield Mention(position, end)
            position = self.flat.find(wanted, end if end is not None else position + 1)

    def standing(self, phrases: Iterable[str]) -> Mention | None:
        """Return the first mention of one of ``phrases`` that is not denied."""
        found = (next((m for m in self.find(phrase) if not self.denied(m)), None) for phrase in phrases)
        return min((mention for mention in found if mention is not None), default=None)

    def denied(self, mention: Mention) -> bool:
        """Return whether the mention stands under a negation."""
        return self.denials.deny(mention.start, mention.end)

    def quote(self, mention: Mention) -> Quote:
        """Return the words as they were written, with their place in the original text."""
        start, end = self.folded.span(mention.start, mention.end)
        return Quote(turn=max(self.turn, 0), start=start, end=end, text=self.folded.original[start:end])

    def cite(self, mention: Mention) -> str:
        """Return ``turn 1 says 'bus' (chars 4-7)``."""
        quote = self.quote(mention)
        text = quote.text if len(quote.text) <= _QUOTED else quote.text[: _QUOTED - 3] + "..."
        return f"turn {quote.turn} says {text!r} (chars {quote.start}-{quote.end})"


def find_longest(
    reading: Reading, phrases: Mapping[Key, Iterable[str]], *, plural: bool = True
) -> dict[Key, list[Mention]]:
    """Return the mentions of each key's phrases, without those that lie inside a longer mention of any key.

    So "Park" is not found in "Park Hotel" where both are looked for.
    """
    found = sorted(
        (
            (mention, key)
            for key, names in phrases.items()
            for name in names
            for mention in reading.find(name, plural=plural)
        ),
        key=lambda pair: (pair[0].start, -pair[0].end),
    )
    result: dict[Key, list[Mention]] = {key: [] for key in phrases}
    cover = Mention(-1, -1)
    for mention, key in found:
        if mention.end <= cover.end and mention != cover:
            continue
        cover = mention if mention.end > cover.end else cover
        if not result[key] or result[key][-1] != mention:
            result[key].append(mention)
    return result


def is_latin(char: str) -> bool:
    """Return whether the character is a letter or digit of a script that puts spaces between words."""
    return char.isalnum() and not is_cjk(char)


def _word_end(text: str, start: int, end: int, *, plural: bool) -> int | None:
    """Return where the word that was found ends (behind a plural ending), or None where it is only part of a word."""
    if start and is_latin(text[start]) and is_latin(text[start - 1]):
        return None
    if text[start].isdigit() and text[max(start - 2, 0) : start].rstrip(".").isdigit() and text[start - 1] == ".":
        return None
    if not is_latin(text[end - 1]):
        return end
    endings = ("", "s", "es") if plural and text[end - 1].isalpha() and end - start >= _SHORTEST_PLURAL else ("",)
    for ending in endings:
        stop = end + len(ending)
        if text.startswith(ending, end) and not _goes_on(text, stop):
            return stop
    return None


def _goes_on(text: str, end: int) -> bool:
    """Return whether a word or a decimal number goes on at ``end``."""
    if end >= len(text):
        return False
    if text[end] == ".":
        return text[end - 1].isdigit() and text[end + 1 : end + 2].isdigit()
    return is_latin(text[end])


def _sentence_ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        mark = match.group()[0]
        if mark == ".":
            ends = _is_full_stop(text, match.start())
        else:
            ends = mark not in "!?" or not _in_word(text, match.start(), match.end())
        if ends:
            yield match.end()


def _in_word(text: str, start: int, end: int) -> bool:
    """Return whether a mark stands between Latin letters, as in an address."""
    return start > 0 and end < len(text) and is_latin(text[start - 1]) and is_latin(text[end])


def _is_full_stop(text: str, position: int) -> bool:
    """Return whether the dot at ``position`` ends a sentence: not in a number, an address, or behind an abbreviation."""
    following = text[position + 1 : position + 2]
    if following and following not in " \n" and not is_cjk(following):
        return False
    before = text[max(position - _LONGEST_ABBREVIATION, 0) : position]
    for word in _ABBREVIATIONS:
        if before.endswith(word) and not is_latin(before[: -len(word)][-1:] or " "):
            return following == "\n"
    return True
