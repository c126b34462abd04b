"""Sentences and clauses of a folded reply, with the words of the language pack that stand in them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .document import Block
from .fold import Folded
from .pack import Cue, Pack
from .page import Page

_SENTENCE_END = re.compile(r"(?:[。…]|;(?! ))+[\"')]*|[!?]+[\"')]*|\.(?=[\s\"')]|$|[\u4e00-\u9fff])[\"')]*")
_QUOTED = re.compile(r"\"[^\"\n]{1,200}\"|「[^」\n]{1,200}」|《[^》\n]{1,200}》")
_BREAK = re.compile(
    r",(?![0-9]{3}(?![0-9]))|(?<![0-9]),|;|(?<![0-9]):|:(?![0-9])|[()\[\]{}|\n→]| - |\s?[—·•]+\s?| -|- (?=[a-z])|/(?= )|(?<= )/"
)
#: Words that end in a full stop without ending the sentence.
_ABBREVIATIONS = frozenset("dr mr mrs ms st no vs etc approx ca c e.g i.e a.m p.m tel mt ave rd incl p.p".split())  # noqa: SIM905  a list of words
_WORD_BEFORE = re.compile(r"[a-z.]{1,8}$")
#: What may stand behind the last word of a sentence.
_FINAL = " \n.!~。…;\"')"
#: The level of the deepest heading that is marked as one.
_DEEPEST = 6
#: Longest sentence in characters.
_LONGEST = 600
_NAME_BEFORE = 24
#: Words that begin a clause of their own.
LINKS = frozenset({"but", "although", "because", "so", "if", "whereas", "then"})
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
        for cue in self.cues:
            if cue.start >= start and cue.has(*groups):
                return cue
        return None

    def has(self, *groups: str) -> bool:
        """Return whether a word in it does one of these."""
        for cue in self.cues:  # noqa: SIM110  called hundreds of times for a reply
            if cue.has(*groups):
                return True
        return False


@dataclass(slots=True)
class Sentence:
    """A sentence in folded characters: the block and the clauses it has, whether it asks, and whether by a question mark."""

    start: int
    end: int
    block: int
    first: int
    asks: bool
    last: int = 0
    marked: bool = False


@dataclass(slots=True)
class Scan:
    """A page cut to pieces.

    Attributes:
        cues: the words of the page outside names.
        starts: where the clauses begin.
        cue_starts: where the words begin.
        folded: the folded text with the way back to the original.
        text: the folded text.
        pack: the words of the language.
        blocks: headings, items, rows, paragraphs.
        bounds: where the blocks begin and end in the folded text.
    """

    page: Page
    cues: list[Cue]
    sentences: list[Sentence]
    clauses: list[Clause]
    starts: list[int]
    cue_starts: list[int]
    folded: Folded = field(init=False)
    text: str = field(init=False)
    pack: Pack = field(init=False)
    blocks: tuple[Block, ...] = field(init=False)
    bounds: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        """Hold what is looked up hundreds of times for a reply."""
        page = self.page
        self.folded, self.text, self.pack = page.folded, page.folded.text, page.pack
        self.blocks, self.bounds = page.blocks, page.bounds

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


def scan(page: Page, names: tuple[tuple[int, int], ...]) -> Scan:
    """Cut a page into sentences and clauses. Nothing is looked for inside ``names``. Nobody changes what comes of it: the page keeps it."""
    if names not in page.scans:
        page.scans[names] = _scan(page, names)
    return page.scans[names]


def _scan(page: Page, names: tuple[tuple[int, int], ...]) -> Scan:
    folded, blocks, bounds = page.folded, page.blocks, page.bounds
    cues = [cue for cue in _outside(page.cues, names) if not _in_a_name(folded, page.pack, cue)]
    result = Scan(page, cues, [], [], [], [cue.start for cue in cues])
    at = 0
    mute = sorted((*names, *_quoted(folded.text, bounds)))
    for number, (start, end) in enumerate(bounds):
        for first, last, marked in _bounded(_sentences(folded.text, start, end, mute), names):
            while at < len(cues) and cues[at].start < first:
                at += 1
            held = []
            while at < len(cues) and cues[at].start < last:
                held.append(cues[at])
                at += 1
            spoken = _is_spoken(blocks[number], held)
            question = marked and not _is_tag(folded.text, held, last)
            asks = spoken and (question or _asks(folded.text, held, last))
            sentence = Sentence(first, last, number, len(result.clauses), asks, marked=question)
            _add_clauses(result, sentence, held, names)
            sentence.last = len(result.clauses)
            result.sentences.append(sentence)
    if not result.sentences:
        result.sentences.append(Sentence(0, len(folded.text), 0, 0, asks=False, last=1))
        result.clauses.append(Clause(0, len(folded.text), 0))
    result.starts = [clause.start for clause in result.clauses]
    return result


def _quoted(text: str, blocks: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what is quoted in a sentence and so ends none; a block that is all quotation is the agent's own words."""
    for start, end in blocks:
        for match in _QUOTED.finditer(text, start, end):
            if text[start : match.start()].strip() or text[match.end() : end].strip(_FINAL):
                yield match.start() + 1, match.end() - 1


def _is_spoken(block: Block, cues: Sequence[Cue]) -> bool:
    """Return whether a block may ask: no table, no heading, unless its words are put to the user ("**When do you leave?**", "Please tell me:")."""
    if block.kind == "heading":
        return block.level > _DEEPEST and any(cue.has("person", "ask") for cue in cues)
    return block.kind != "row"


def _is_tag(text: str, cues: Sequence[Cue], end: int) -> bool:
    """Return whether the question mark at the end of a statement stands behind a mere tag: "Take X, okay?"."""
    tag = next((cue for cue in reversed(cues) if cue.has("ask_tag")), None)
    if tag is None or text[tag.end : end].strip(_FINAL + "?"):
        return False
    return text[: tag.start].rstrip().endswith(",") and not any(cue.has("ask_word", "which") for cue in cues)


def _asks(text: str, cues: Sequence[Cue], end: int) -> bool:
    """Return whether the words of a sentence ask: one of asking, or a particle at its end, some of which need a word that asks for something."""
    asking = [cue for cue in cues if cue.has("ask")]
    if any(not cue.has("whether") for cue in asking):
        return True
    if asking and any(cue.has("you") for cue in cues) and not any(cue.has("unsure") for cue in cues):
        return True  # "whether" alone asks only whom it speaks to: 是否无台阶我也没有核实
    final = next((cue for cue in reversed(cues) if text[cue.start : cue.end].strip(_FINAL)), None)
    if final is None or text[final.end : end].strip(_FINAL):
        return False
    return final.has("ask_end") or (final.has("ask_end_with") and any(cue.has("ask_word") for cue in cues))


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
        if _inside(match.start(), names) or (match.group()[0] == "." and _abbreviated(text, match.start())):
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
            cut = _beside_names(start + _LONGEST, start, names)
            yield start, cut, asks
            start = cut
        if start < last:
            yield start, last, asks


def _beside_names(position: int, start: int, names: Sequence[tuple[int, int]]) -> int:
    """Return the place to cut a sentence that begins at ``start``: before a name that lies across ``position``, or behind it."""
    first, last = names[place] if (place := bisect_left(names, (position,)) - 1) >= 0 else (position, position)
    return position if last <= position else first if first > start else last


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
        fresh = (
            "and" in cue.tags and following and following.has(*_FRESH) and not text[cue.end : following.start].strip()
        )
        if fresh or not (LINKS.isdisjoint(cue.tags) or "plain" in cue.tags):
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
        links |= LINKS.intersection(cue.tags)
        end = cue.end
    return frozenset(links)
