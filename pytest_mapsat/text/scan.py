"""Sentences and clauses of a folded reply, with the words of the language pack that stand in them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .document import Block
from .fold import Folded
from .layout import lay_out
from .pack import Cue, Pack

_SENTENCE_END = re.compile(r"(?:[。…]|;(?! ))+[\"')]*|[!?]+[\"')]*|\.(?=[\s\"')]|$|[\u4e00-\u9fff])[\"')]*")
_BREAK = re.compile(
    r",(?![0-9]{3}(?![0-9]))|(?<![0-9]),|;|(?<![0-9]):|:(?![0-9])|[()\[\]{}|\n→]| - |\s?[—·•]+\s?| -|- (?=[a-z])|/(?= )|(?<= )/"
)
#: Words that end in a full stop without ending the sentence.
_ABBREVIATIONS = frozenset("dr mr mrs ms st no vs etc approx ca c e.g i.e a.m p.m tel mt ave rd incl p.p".split())  # noqa: SIM905  a list of words
_WORD_BEFORE = re.compile(r"[a-z.]{1,8}$")
#: Longest sentence in characters.
_LONGEST = 600
_NAME_BEFORE = 24
#: Words that begin a clause of their own.
LINKS = ("but", "although", "because", "so", "if", "whereas", "then")
#: What behind "and" shows that a clause of its own begins.
_FRESH = ("choose", "reject", "person", "it", "then", "but", "so")


@dataclass(slots=True)
class Clause:
    """A part of a sentence with one predicate, in folded characters.

    Attributes:
        links: how it hangs on what stands before it.
        cues: the words of the pack in it.
        opens: the mark that ends the clause before it, a bracket for instance.
    """

    start: int
    end: int
    sentence: int
    links: frozenset[str] = frozenset()
    cues: list[Cue] = field(default_factory=list)
    opens: str = ""

    def first(self, *groups: str, start: int = 0) -> Cue | None:
        """Return the first word that does one of these, from ``start`` on."""
        return next((cue for cue in self.cues if cue.start >= start and cue.has(*groups)), None)

    def has(self, *groups: str) -> bool:
        """Return whether a word in it does one of these."""
        return any(cue.has(*groups) for cue in self.cues)


@dataclass(slots=True)
class Sentence:
    """A sentence in folded characters: the block and the clauses it has."""

    start: int
    end: int
    block: int
    first: int
    asks: bool
    last: int = 0


@dataclass(slots=True)
class Scan:
    """A folded reply cut to pieces."""

    folded: Folded
    pack: Pack
    blocks: tuple[Block, ...]
    bounds: list[tuple[int, int]]
    cues: list[Cue]
    sentences: list[Sentence]
    clauses: list[Clause]
    starts: list[int]
    cue_starts: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The folded text."""
        return self.folded.text

    def clause_at(self, position: int) -> int:
        """Return the index of the clause that a folded character stands in."""
        return max(bisect_right(self.starts, position) - 1, 0)

    def cues_between(self, start: int, end: int) -> list[Cue]:
        """Return the words that lie between two places."""
        low = bisect_left(self.cue_starts, start)
        high = bisect_left(self.cue_starts, end, low)
        return [cue for cue in self.cues[low:high] if cue.end <= end]

    def clauses_of(self, sentence: int) -> list[Clause]:
        """Return the clauses of a sentence."""
        whole = self.sentences[sentence]
        return self.clauses[whole.first : whole.last]


def scan(folded: Folded, pack: Pack, words: Sequence[Cue], names: Sequence[tuple[int, int]]) -> Scan:
    """Cut a folded reply into blocks, sentences and clauses. Nothing is looked for inside ``names``."""
    blocks = lay_out(folded.original)
    bounds = [(folded.at(block.span.start), folded.at(block.span.end)) for block in blocks]
    cues = [cue for cue in _outside(words, names) if not _in_a_name(folded, pack, cue)]
    result = Scan(folded, pack, blocks, bounds, cues, [], [], [], [cue.start for cue in cues])
    at = 0
    for number, (start, end) in enumerate(bounds):
        for first, last, marked in _bounded(_sentences(folded.text, start, end, names), names):
            while at < len(cues) and cues[at].start < first:
                at += 1
            held = []
            while at < len(cues) and cues[at].start < last:
                held.append(cues[at])
                at += 1
            spoken = blocks[number].kind not in ("heading", "row")
            asks = spoken and (marked or any(cue.has("ask") for cue in held))
            sentence = Sentence(first, last, number, len(result.clauses), asks)
            _add_clauses(result, sentence, held, names)
            sentence.last = len(result.clauses)
            result.sentences.append(sentence)
    if not result.sentences:
        result.sentences.append(Sentence(0, len(folded.text), 0, 0, asks=False, last=1))
        result.clauses.append(Clause(0, len(folded.text), 0))
    result.starts = [clause.start for clause in result.clauses]
    return result


def _outside(cues: Iterable[Cue], names: Sequence[tuple[int, int]]) -> Iterator[Cue]:
    """Yield the words that do not touch a name."""
    at = 0
    for cue in cues:
        while at < len(names) and names[at][1] <= cue.start:
            at += 1
        if at == len(names) or cue.end <= names[at][0]:
            yield cue


def _in_a_name(folded: Folded, pack: Pack, cue: Cue) -> bool:
    """Return whether a way of travelling is the last word of a name that nobody knows: "Cooper's Walk"."""
    if "mode" not in cue.tags:
        return False
    place = folded.origin(cue.start)
    before = folded.text[max(cue.start - _NAME_BEFORE, 0) : cue.start]
    word = before[:-1].rpartition(" ")[2].rpartition("\n")[2]
    if not before.endswith(" ") or not word[:1].isalpha() or not folded.original[place].isupper():
        return False
    return folded.original[folded.origin(cue.start - 1 - len(word))].isupper() and word not in pack.words


def _inside(position: int, names: Sequence[tuple[int, int]]) -> bool:
    at = bisect_right(names, (position, position)) - 1
    return any(start <= position < end for start, end in names[max(at, 0) : at + 2])


def _sentences(text: str, start: int, end: int, names: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    first = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if match.group()[0] == "." and (_abbreviated(text, match.start()) or _inside(match.start(), names)):
            continue
        if match.end() > first and text[first : match.start()].strip():
            yield first, match.end(), "?" in match.group()
            first = match.end()
    if text[first:end].strip():
        yield first, end, False


def _bounded(
    sentences: Iterator[tuple[int, int, bool]], names: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, bool]]:
    """Cut sentences that nobody would write, so that looking around in one costs no more than a constant."""
    for first, last, asks in sentences:
        start = first
        while last - start > _LONGEST:
            cut = start + _LONGEST
            while cut > start + 1 and _inside(cut, names):
                cut -= 1
            yield start, cut, asks
            start = cut
        yield start, last, asks


def _abbreviated(text: str, position: int) -> bool:
    before = _WORD_BEFORE.search(text, max(position - 8, 0), position)
    return before is not None and before.group() in _ABBREVIATIONS and text[position + 1 : position + 2] == " "


def _add_clauses(result: Scan, sentence: Sentence, cues: list[Cue], names: Sequence[tuple[int, int]]) -> None:
    """Cut a sentence at marks and at words that begin a clause."""
    text = result.text
    cuts = {
        match.end(): match.group().strip()
        for match in _BREAK.finditer(text, sentence.start, sentence.end)
        if not _inside(match.start(), names)
    }
    for place, cue in enumerate(cues):
        following = cues[place + 1] if place + 1 < len(cues) else None
        fresh = cue.has("and") and following and following.has(*_FRESH) and not text[cue.end : following.start].strip()
        if fresh or (cue.has(*LINKS) and not cue.has("plain")):
            cuts.setdefault(cue.start, "")
    number = len(result.sentences)
    edges = [sentence.start, *sorted(cut for cut in cuts if sentence.start < cut < sentence.end), sentence.end]
    at = 0
    for first, last in pairwise(edges):
        clause = Clause(first, last, number, opens=cuts.get(first, ""))
        while at < len(cues) and cues[at].start < last:
            clause.cues.append(cues[at])
            at += 1
        clause.links = _links(text, clause)
        result.clauses.append(clause)


def _links(text: str, clause: Clause) -> frozenset[str]:
    """Return how a clause hangs on the text before it: by its first words."""
    links: set[str] = set()
    end = clause.start
    for cue in clause.cues:
        if len(text[end : cue.start].strip(" \n\"'([")) > 1:
            break
        links.update(group for group in LINKS if group in cue.tags)
        end = cue.end
    return frozenset(links)
