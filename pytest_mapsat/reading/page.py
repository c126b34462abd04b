"""A text before anybody looks for names in it: its layout, the words and identifiers in it, its sentences and clauses."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from pytest_mapsat.interpreter import cached

from .clock import ReadNumber
from .document import BlockKind, Cell, Folded, Span, TextBlock, fold_phrase, fold_text, is_han
from .figures import FoundIdentifier, find_identifiers, may_link
from .pack import Cue, Pack, Vocabulary, languages, pack_of

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_HEADING = re.compile(r"[ \t]{0,3}(#{1,6})[ \t]+")
_BOLD_LINE = re.compile(r"[ \t]*\W{0,4}(\*\*|__)(?:(?!\1)[^\n])+(?:\1)[ \t]*\W{0,4}$")
_ITEM = re.compile(
    r"([ \t]*)(?:\*\*|__)?(?:[-*+•·‣▪●○◦–][ \t]+|[(（]?[0-9]{1,2}[.)、）](?![0-9])[ \t]*|[①-⑳❶-❿][ \t]*|[0-9]\ufe0f?\u20e3[ \t]*)"
)
_ROW = re.compile(r"[ \t]*\|.*|[^|\n]+\|[^|\n]+\|.*")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{1,}:?[ \t]*(?:\|[ \t]*:?-{1,}:?[ \t]*)*\|?[ \t]*")
_LINE_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}")
_QUOTED = re.compile(r"[ \t]*>[ \t]?")
_LONGEST_LEAD = 80
#: Deeper than all headings with marks: a line that is bold throughout, a line that ends in a colon.
_BOLD, _LEAD = 7, 8
_WRAPPED = 40
_ENDS = (". ", "。", "! ", "！", "? ", "？", "，", "；", ", ")


@dataclass(slots=True)
class _Layout:
    """Collects the blocks of a text line by line, with the headings currently open."""

    blocks: list[TextBlock] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    row: int = -1

    def add(self, block: TextBlock) -> None:
        """Add a block under the innermost open heading."""
        if block.kind == "heading":
            while self.open and self.blocks[self.open[-1]].level >= block.level:
                self.open.pop()
        elif block.kind == "paragraph":
            while self.open and self.blocks[self.open[-1]].level >= _BOLD and self._has_list():
                self.open.pop()
        self.blocks.append(replace(block, heading=self.open[-1] if self.open else -1))
        if block.kind == "heading":
            self.open.append(len(self.blocks) - 1)

    def _has_list(self) -> bool:
        """Return whether the last block is a list item or table row."""
        return self.blocks[-1].kind in ("item", "row")


def lay_out(text: str) -> tuple[TextBlock, ...]:
    """Return the blocks of a reply in order. Spans exclude the marks at the start of a line."""
    layout = _Layout()
    lines = [match.span() for match in _LINE.finditer(text)]
    blank_before = True
    last_end = 0
    for index, (start, end) in enumerate(lines):
        line = text[start:end]
        blank_before = text.count("\n", last_end, start) > 1 or not layout.blocks
        last_end = end
        if not line.strip():
            continue
        if _ROW.fullmatch(line) and _in_table(text, lines, index, layout):
            if not _RULE.fullmatch(line):
                following = text[slice(*lines[index + 1])] if index + 1 < len(lines) else ""
                _add_row(layout, line, start, header=_RULE.fullmatch(following) is not None)
            continue
        layout.row = -1
        if not _LINE_RULE.fullmatch(line):
            _add_line(layout, text, start, end, blank_before=blank_before)
    return tuple(layout.blocks) or (TextBlock(Span(0, len(text)), "paragraph"),)


def _in_table(text: str, lines: list[tuple[int, int]], index: int, layout: _Layout) -> bool:
    """Return whether a line belongs to a table: it starts with a bar, continues a table, or precedes a rule."""
    line = text[slice(*lines[index])].strip()
    if line.startswith("|") or layout.row >= 0:
        return True
    return (
        index + 1 < len(lines)
        and "|" in text[slice(*lines[index + 1])]
        and bool(_RULE.fullmatch(text[slice(*lines[index + 1])]))
    )


def _add_row(layout: _Layout, line: str, start: int, *, header: bool) -> None:
    """Add a table row with its cells; ``header``: whether it is the head row."""
    layout.row = 0 if header else layout.row + 1 if layout.row >= 0 else 1
    spans = list(_cell_spans(line))
    if header:
        layout.header = [fold_phrase(line[first:last]) for first, last in spans]
    elif layout.row == 1 and not layout.header:
        layout.header = []
    cells = tuple(
        Cell(
            Span(start + first, start + last),
            layout.row,
            column,
            layout.header[column] if column < len(layout.header) else "",
        )
        for column, (first, last) in enumerate(spans)
    )
    whole = Span(cells[0].span.start, cells[-1].span.end) if cells else Span(start, start + len(line))
    layout.add(TextBlock(whole, "row", layout.row, cells=cells))


def _cell_spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each table cell in a line, without bars and blanks."""
    first = 0
    stripped = len(line.rstrip())
    for bar in [place for place, char in enumerate(line) if char == "|" and line[place - 1 : place] != "\\"] + [
        stripped
    ]:
        inner = line[first:bar]
        if (first or inner.strip()) and not (bar == stripped and not inner.strip()):
            lead = len(inner) - len(inner.lstrip())
            yield first + lead, max(first + len(inner.rstrip()), first + lead)
        first = bar + 1


def _add_line(layout: _Layout, text: str, start: int, end: int, *, blank_before: bool) -> None:
    """Add a line outside tables as a block, or append it to the preceding wrapped paragraph or item."""
    line = text[start:end]
    layout.header = []
    kind, level, lead = _kind_of(line)
    end = start + len(line.rstrip())
    last = layout.blocks[-1] if layout.blocks else None
    if (
        kind == "paragraph"
        and last
        and last.kind in ("paragraph", "item")
        and not blank_before
        and _goes_on(text, last, line)
    ):
        layout.blocks[-1] = replace(last, span=Span(last.span.start, end))
        return
    layout.add(TextBlock(Span(min(start + lead, end), end), kind, level))


def _goes_on(text: str, last: TextBlock, line: str) -> bool:
    """Return whether a line continues the sentence of the preceding wrapped line."""
    before = text[last.span.start : last.span.end].rsplit("\n", 1)[-1]
    return len(before) >= _WRAPPED and before[-1:] not in ".!?:;。！？：；*" and line.lstrip()[:1].islower()


def _bold_lead(line: str) -> bool:
    """Return whether a line starts in bold and is not a full sentence, like the title of a stop."""
    return line.lstrip().startswith("**") and not any(mark in line for mark in _ENDS)


def _title(line: str) -> int:
    """Return the heading level of a line without heading marks; 0 if the line is not a heading."""
    bare = line.strip().rstrip("*_ ")
    if len(bare) > _LONGEST_LEAD:
        return 0
    if bare.endswith((":", "：")) and "。" not in bare and ". " not in bare:
        return _LEAD
    return _BOLD if _BOLD_LINE.match(line) or _bold_lead(line) else 0


def _kind_of(line: str) -> tuple[BlockKind, int, int]:
    """Return the kind of a line, its level, and the length of its leading marks."""
    heading = _HEADING.match(line)
    if heading:
        return "heading", len(heading[1]), heading.end()
    quoted = _QUOTED.match(line)
    if quoted:
        return "quote", 0, quoted.end()
    lead = len(line) - len(line.lstrip())
    item = _ITEM.match(line)
    if item:
        return "item", len(item[1].expandtabs(4)) // 2, item.end()
    level = _title(line)
    if level:
        return "heading", level, lead
    if unicodedata.category(line[lead]) == "So":
        return "item", lead // 2, lead
    return "paragraph", 0, lead


#: Texts up to this length are kept: replies are shorter, and what is kept stays small however long a text may be.
KEPT = 4000
_SAMPLE = 2000
#: What words do that make a figure or a time of day, alone or with others.
_COUNTING = ("numeral", "multiplier", "fraction", "one", "couple", "hour_quarter", "clock_word")
#: So much of a reply in the case's language is hardly that language; so much Chinese in another one is Chinese.
_HARDLY, _MOSTLY = 0.1, 0.5
_WORDS = re.compile(r"[a-z]+")


@dataclass(frozen=True, eq=False)
class TextPage:
    """A text, folded and laid out; the words and identifiers in it are found on first use.

    Attributes:
        text: as it was written; quotes are cut from it.
        language: BCP 47 tag of the case.
        folded: what is read of it.
        pack: the words of the language it is written in, with those of the domain.
        blocks: headings, items, rows, paragraphs.
        bounds: where the blocks begin and end in the folded text.
    """

    text: str
    language: str
    folded: Folded
    pack: Pack
    blocks: tuple[TextBlock, ...]
    bounds: tuple[tuple[int, int], ...]

    @cached
    def cues(self) -> tuple[Cue, ...]:
        """The words of the pack found in the text, with their places."""
        return tuple(self.pack.find(self.folded.text))

    @cached
    def identifiers(self) -> tuple[FoundIdentifier, ...]:
        """The telephone numbers, lines, platforms, addresses, points and links in the text."""
        return tuple(find_identifiers(self.folded, self.pack))

    @cached
    def scans(self) -> dict[tuple[tuple[int, int], ...], Scan]:
        """A cache of the scans of this page, by the places of the names in it."""
        return {}

    @property
    def may_count(self) -> bool:
        """Whether the text may state a figure, time or identifier: it has a number in digits or words."""
        counts = any(map(str.isdigit, self.folded.text)) or any(cue.has(*_COUNTING) for cue in self.cues)
        return counts or bool(self.identifiers)

    @cached
    def links(self) -> tuple[FoundIdentifier, ...]:
        """The links among the identifiers."""
        if not may_link(self.folded.text):
            return ()
        return tuple(identifier for identifier in self.identifiers if identifier.kind == "link")


def open_page(
    text: str, *, language: str, vocabulary: Vocabulary | None = None, written: str | None = None
) -> TextPage:
    """Return a text prepared for reading. Linear in its length; no text raises an exception.

    Args:
        text: what is to be read.
        language: BCP 47 tag of the case; a text in another script is read with the pack of that script.
        vocabulary: domain words of the suite.
        written: the text as it was written, where parts of it are blank in ``text``; as long as that.
    """
    opened = _opened if len(text) <= KEPT else _opened.__wrapped__
    return opened(text, language, vocabulary or _PLAIN, text if written is None else written)


#: What stands for no words of a domain, so that pages with and without a vocabulary that says nothing are one.
_PLAIN = Vocabulary()


@lru_cache(maxsize=128)
def _opened(text: str, language: str, vocabulary: Vocabulary, written: str) -> TextPage:
    """Return a text prepared for reading; cached, because user, judge, votes and trials read the same replies."""
    folded, blocks, bounds = (_laid_out if len(text) <= KEPT else _laid_out.__wrapped__)(text)
    return TextPage(written, language, folded, pack_of(_script(folded.text, language), vocabulary), blocks, bounds)


@lru_cache(maxsize=128)
def _laid_out(text: str) -> tuple[Folded, tuple[TextBlock, ...], tuple[tuple[int, int], ...]]:
    """Return a text folded, its blocks and their folded bounds; cached independently of the vocabulary."""
    folded, blocks = fold_text(text), lay_out(text)
    return folded, blocks, tuple((folded.at(block.span.start), folded.at(block.span.end)) for block in blocks)


def _script(text: str, language: str) -> str:
    """Return the language for reading a text: that of the case, unless most of the text is in another script."""
    sample = text[:_SAMPLE]
    latin = len(_WORDS.findall(sample))
    han = 0.0 if sample.isascii() else sum(map(is_han, sample)) / 2
    if not latin + han:
        return language
    share = han / (latin + han)
    chinese = language.lower().startswith("zh")
    if chinese and share < _HARDLY and "en" in languages():
        return "en"
    return "zh" if not chinese and share > _MOSTLY else language


_SENTENCE_END = re.compile(r"(?:[。…]|;(?! ))+[\"')]*|[!?]+[\"')]*|\.(?=[\s\"')]|$|[\u4e00-\u9fff])[\"')]*")
_QUOTATION = re.compile(r"\"[^\"\n]{1,200}\"|「[^」\n]{1,200}」|《[^》\n]{1,200}》")
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
_MOST_CELLS = 40
#: Words that begin a clause of their own.
LINKS = frozenset({"but", "although", "because", "so", "if", "whereas", "then"})
#: What behind "and" shows that a clause of its own begins.
_FRESH = ("choose", "reject", "person", "it", "then", "but", "so")


@dataclass(slots=True)
class Clause:
    """A part of a sentence with one predicate, in folded positions.

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
        """Return the first word from ``start`` on in one of these groups; None if there is none."""
        for cue in self.cues:
            if cue.start >= start and cue.has(*groups):
                return cue
        return None

    def has(self, *groups: str) -> bool:
        """Return whether a word of the clause belongs to one of these groups."""
        for cue in self.cues:  # noqa: SIM110  called hundreds of times for a reply
            if cue.has(*groups):
                return True
        return False


@dataclass(slots=True)
class Sentence:
    """A sentence in folded positions, with its block and clauses; ``asks``: whether it is a question, ``marked``: by its mark."""

    start: int
    end: int
    block: int
    first: int
    asks: bool
    last: int = 0
    marked: bool = False


@dataclass(slots=True)
class Scan:
    """A page cut into sentences and clauses.

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

    page: TextPage
    cues: list[Cue]
    sentences: list[Sentence]
    clauses: list[Clause]
    starts: list[int]
    cue_starts: list[int]
    folded: Folded = field(init=False)
    text: str = field(init=False)
    pack: Pack = field(init=False)
    blocks: tuple[TextBlock, ...] = field(init=False)
    bounds: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        """Store values that are looked up hundreds of times for a reply."""
        page = self.page
        self.folded, self.text, self.pack = page.folded, page.folded.text, page.pack
        self.blocks, self.bounds = page.blocks, page.bounds

    def clause_at(self, position: int) -> int:
        """Return the index of the clause that contains a folded position."""
        return max(bisect_right(self.starts, position) - 1, 0)

    def cell_at(self, position: int) -> Cell | None:
        """Return the table cell that contains a folded position; None outside tables."""
        origin = self.folded.origin(position)
        cells = self.blocks[self.sentences[self.clauses[self.clause_at(position)].sentence].block].cells[:_MOST_CELLS]
        return next((cell for cell in cells if cell.span.start <= origin < cell.span.end), None)

    def cues_between(self, start: int, end: int) -> list[Cue]:
        """Return the pack words that lie entirely between two places."""
        low = bisect_left(self.cue_starts, start)
        high = bisect_left(self.cue_starts, end, low)
        return [cue for cue in self.cues[low:high] if cue.end <= end]


def scan(page: TextPage, names: tuple[tuple[int, int], ...]) -> Scan:
    """Return the page cut into sentences and clauses, ignoring the content of ``names``. Cached on the page: do not modify it."""
    if names not in page.scans:
        page.scans[names] = _scan(page, names)
    return page.scans[names]


def _scan(page: TextPage, names: tuple[tuple[int, int], ...]) -> Scan:
    """Cut a page into sentences and clauses."""
    folded, blocks, bounds = page.folded, page.blocks, page.bounds
    cues = [cue for cue in outside(page.cues, names) if not _in_a_name(folded, page.pack, cue)]
    result = Scan(page, cues, [], [], [], [cue.start for cue in cues])
    at = 0
    mute = sorted((*names, *_quoted(folded.text, bounds)))
    for number, (start, end) in enumerate(bounds):
        for first, last, marked in _bounded(_sentences(folded.text, start, end, mute), names):
            while at < len(cues) and cues[at].start < first:
                at += 1
            kept = []
            while at < len(cues) and cues[at].start < last:
                kept.append(cues[at])
                at += 1
            spoken = _is_spoken(blocks[number], kept)
            question = marked and not _is_tag(folded.text, kept, last)
            asks = spoken and (question or _asks(folded.text, kept, last))
            sentence = Sentence(first, last, number, len(result.clauses), asks, marked=question)
            _add_clauses(result, sentence, kept, names)
            sentence.last = len(result.clauses)
            result.sentences.append(sentence)
    if not result.sentences:
        result.sentences.append(Sentence(0, len(folded.text), 0, 0, asks=False, last=1))
        result.clauses.append(Clause(0, len(folded.text), 0))
    result.starts = [clause.start for clause in result.clauses]
    return result


def _quoted(text: str, blocks: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the quotations within sentences, where no sentence ends; not blocks that are one whole quotation."""
    for start, end in blocks:
        for match in _QUOTATION.finditer(text, start, end):
            if text[start : match.start()].strip() or text[match.end() : end].strip(_FINAL):
                yield match.start() + 1, match.end() - 1


def _is_spoken(block: TextBlock, cues: Sequence[Cue]) -> bool:
    """Return whether a block may ask something: it is not a table row, and is a heading only if it addresses the user."""
    if block.kind == "heading":
        return block.level > _DEEPEST and any(cue.has("person", "ask") for cue in cues)
    return block.kind != "row"


def _is_tag(text: str, cues: Sequence[Cue], end: int) -> bool:
    """Return whether a question mark only follows a tag: "Take X, okay?"."""
    tag = next((cue for cue in reversed(cues) if cue.has("ask_tag")), None)
    if tag is None or text[tag.end : end].strip(_FINAL + "?"):
        return False
    return text[: tag.start].rstrip().endswith(",") and not any(cue.has("ask_word", "which") for cue in cues)


def _asks(text: str, cues: Sequence[Cue], end: int) -> bool:
    """Return whether the words of a sentence make it a question: an interrogative word or a final particle."""
    asking = [cue for cue in cues if cue.has("ask")]
    if any(not cue.has("whether") for cue in asking):
        return True
    if asking and any(cue.has("you") for cue in cues) and not any(cue.has("unsure") for cue in cues):
        return True  # "whether" alone asks only whom it speaks to: 是否无台阶我也没有核实
    final = next((cue for cue in reversed(cues) if text[cue.start : cue.end].strip(_FINAL)), None)
    if final is None or text[final.end : end].strip(_FINAL):
        return False
    return final.has("ask_end") or (final.has("ask_end_with") and any(cue.has("ask_word") for cue in cues))


_Placed = TypeVar("_Placed", Cue, ReadNumber)


def outside(pieces: Iterable[_Placed], spans: Sequence[tuple[int, int]]) -> Iterator[_Placed]:
    """Yield the words or numbers that overlap none of the spans; both are in ascending order."""
    at = 0
    for piece in pieces:
        while at < len(spans) and spans[at][1] <= piece.start:
            at += 1
        if at == len(spans) or piece.end <= spans[at][0]:
            yield piece


def _in_a_name(folded: Folded, pack: Pack, cue: Cue) -> bool:
    """Return whether a word for a way of travelling is the end of an unknown name: "Cooper's Walk"."""
    if "mode" not in cue.tags:
        return False
    place = folded.origin(cue.start)
    before = folded.text[max(cue.start - _NAME_BEFORE, 0) : cue.start]
    word = before[:-1].rpartition(" ")[2].rpartition("\n")[2]
    if not before.endswith(" ") or not word[:1].isalpha() or not folded.original[place].isupper():
        return False
    return folded.original[folded.origin(cue.start - 1 - len(word))].isupper() and word not in pack.words


def inside(position: int, names: Sequence[tuple[int, int]]) -> bool:
    """Return whether a position lies in one of the spans, which are ascending and do not overlap."""
    at = bisect_right(names, (position, position)) - 1
    return any(start <= position < end for start, end in names[max(at, 0) : at + 2])


def _sentences(text: str, start: int, end: int, names: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of each sentence of a block, and whether it ends in a question mark."""
    first = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if inside(match.start(), names) or (match.group()[0] == "." and _abbreviated(text, match.start())):
            continue
        if match.end() > first and text[first : match.start()].strip():
            yield first, match.end(), "?" in match.group()
            first = match.end()
    if text[first:end].strip():
        yield first, end, False


def _bounded(
    sentences: Iterator[tuple[int, int, bool]], names: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, bool]]:
    """Yield the sentences, with very long ones cut to limit the cost of searching."""
    for first, last, asks in sentences:
        start = first
        while last - start > _LONGEST:
            cut = _beside_names(start + _LONGEST, start, names)
            yield start, cut, asks
            start = cut
        if start < last:
            yield start, last, asks


def _beside_names(position: int, start: int, names: Sequence[tuple[int, int]]) -> int:
    """Return the position for cutting a long sentence: ``position``, or before or after a name that spans it."""
    first, last = names[place] if (place := bisect_left(names, (position,)) - 1) >= 0 else (position, position)
    return position if last <= position else first if first > start else last


def _abbreviated(text: str, position: int) -> bool:
    """Return whether a full stop belongs to a known abbreviation."""
    before = _WORD_BEFORE.search(text, max(position - 8, 0), position)
    return before is not None and before.group() in _ABBREVIATIONS and text[position + 1 : position + 2] == " "


def _add_clauses(result: Scan, sentence: Sentence, cues: list[Cue], names: Sequence[tuple[int, int]]) -> None:
    """Cut a sentence into clauses at punctuation and at linking words."""
    text = result.text
    cuts = {
        match.end(): match.group().strip()
        for match in _BREAK.finditer(text, sentence.start, sentence.end)
        if not inside(match.start(), names)
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
    """Return the linking words ("but", "if") at the start of a clause."""
    links: set[str] = set()
    end = clause.start
    for cue in clause.cues:
        if len(text[end : cue.start].strip(" \n\"'([")) > 1:
            break
        links |= LINKS.intersection(cue.tags)
        end = cue.end
    return frozenset(links)
