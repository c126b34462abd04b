"""How a reply is laid out: headings, list items, table rows and cells, quoted lines, paragraphs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .document import Block, BlockKind, Cell, Span
from .fold import fold_phrase

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
    """Gathers the blocks from line to line, with the headings that are open."""

    blocks: list[Block] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    row: int = -1

    def add(self, block: Block) -> None:
        """Add a block under the heading that is open for it."""
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
        return self.blocks[-1].kind in ("item", "row")


def lay_out(text: str) -> tuple[Block, ...]:
    """Return the blocks of a reply in their order. Spans leave out the marks at the start of a line."""
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
    return tuple(layout.blocks) or (Block(Span(0, len(text)), "paragraph"),)


def _in_table(text: str, lines: list[tuple[int, int]], index: int, layout: _Layout) -> bool:
    line = text[slice(*lines[index])].strip()
    if line.startswith("|") or layout.row >= 0:
        return True
    return (
        index + 1 < len(lines)
        and "|" in text[slice(*lines[index + 1])]
        and bool(_RULE.fullmatch(text[slice(*lines[index + 1])]))
    )


def _add_row(layout: _Layout, line: str, start: int, *, header: bool) -> None:
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
    layout.add(Block(whole, "row", layout.row, cells=cells))


def _cell_spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the cells between the bars, without blanks."""
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
    """Add a line that is no table row."""
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
    layout.add(Block(Span(min(start + lead, end), end), kind, level))


def _goes_on(text: str, last: Block, line: str) -> bool:
    """Return whether a line goes on with the sentence of the wrapped line before it."""
    before = text[last.span.start : last.span.end].rsplit("\n", 1)[-1]
    return len(before) >= _WRAPPED and before[-1:] not in ".!?:;。！？：；*" and line.lstrip()[:1].islower()


def _bold_lead(line: str) -> bool:
    """Return whether a short line begins in bold and is no sentence: the title of a stop."""
    return line.lstrip().startswith("**") and not any(mark in line for mark in _ENDS)


def _title(line: str) -> int:
    """Return the level of a line that is a heading without marks; 0 where it is none."""
    bare = line.strip().rstrip("*_ ")
    if len(bare) > _LONGEST_LEAD:
        return 0
    if bare.endswith((":", "：")) and "。" not in bare and ". " not in bare:
        return _LEAD
    return _BOLD if _BOLD_LINE.match(line) or _bold_lead(line) else 0


def _kind_of(line: str) -> tuple[BlockKind, int, int]:
    """Return what a line is, its level, and how many characters its marks take."""
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
