"""What one reading of a reply holds. Every span counts characters of the reply as it was written."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, NamedTuple

from pytest_mapsat.model import FigureRole, Quote, TimeRole

#: What a reply does with a thing that it names: ``described`` says what it is like, and nothing for or against it.
#: Everything that is not surely one of the others is ``unclear``.
Stance = Literal["affirmed", "denied", "rejected", "compared", "described", "landmark", "asked", "unclear"]
Form = Literal["full", "short", "kind"]
Approx = Literal["exact", "about", "at_most", "at_least", "range"]
Offer = Literal["", "help", "act"]
BlockKind = Literal["paragraph", "heading", "item", "row", "quote"]


class Span(NamedTuple):
    """Characters ``start`` to ``end`` of the original text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a Markdown table.

    Attributes:
        span: its text, without the bars.
        row: number of the row in its table, the header is 0.
        column: number of the column.
        header: the text over the column, folded; empty where the table has none.
    """

    span: Span
    row: int
    column: int
    header: str


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a list item, a table row, a quoted line or a paragraph.

    Attributes:
        span: its text with marks.
        kind: what it is.
        level: depth of a heading (1 is the highest) or of a nested list item (0 is the outermost).
        heading: index in ``Document.blocks`` of what it stands under; -1 for nothing.
        cells: the cells of a table row.
    """

    span: Span
    kind: BlockKind
    level: int = 0
    heading: int = -1
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing that is named.

    Attributes:
        keys: the thing; several where the words could mean each of them.
        span: the words.
        form: in full, shortened, or by the kind of thing ("the pharmacy").
        stance: what the reply does with it.
        why: the words that decided the stance, as written; empty where structure alone did.
        sentence: index in ``Document.sentences``.
        clause: index in ``Document.clauses``.
        cell: the table cell it stands in.
    """

    keys: tuple[str, ...]
    span: Span
    form: Form
    stance: Stance
    why: str
    sentence: int
    clause: int
    cell: Cell | None = None


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure.

    Attributes:
        value: in the canonical unit; the middle of a range.
        low: the least that is meant.
        high: the most that is meant.
        approx: how exactly it is said.
        unit: min, m, yuan (money of the suite's own currency), foreign (of any other), percent, celsius, star, people, year, ``count:<noun>``, or ``count`` for a bare number.
        role: what it is a figure of; None where that is not sure.
        subject: keys of the thing it is said of; several where each could be meant; empty where none was found.
        mode: the way of travelling it belongs to ("walking", "driving", ...), empty where none is said.
        stance: of the statement it stands in; ``affirmed`` for a plain statement.
        said: the value as written before conversion, with its decimals (for honest rounding).
        step: half of this is what rounding may hide, in the canonical unit (10 for "1.37 km").
        cued: whether a word, its unit or the head of its column says the role; without one the role is only likely.
    """

    span: Span
    value: float
    low: float
    high: float
    approx: Approx
    unit: str
    role: FigureRole | None
    subject: tuple[str, ...]
    mode: str
    stance: Stance
    sentence: int
    clause: int
    step: float = 1.0
    cell: Cell | None = None
    cued: bool = True


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day.

    Attributes:
        minutes: after midnight, every reading that is possible, one where it is sure or likely.
        other: the reading in the other half of the day where the likely one is only that which comes next; -1 where there is none.
    """

    span: Span
    minutes: tuple[int, ...]
    approx: Approx
    role: TimeRole | None
    subject: tuple[str, ...]
    sentence: int
    clause: int
    stance: Stance = "affirmed"
    cell: Cell | None = None
    other: int = -1

    @property
    def readings(self) -> tuple[int, ...]:
        """Every reading, the unlikely one last."""
        return self.minutes if self.other < 0 else (*self.minutes, self.other)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A telephone number, a line, an address, a point, a platform: ``value`` is its normal form."""

    span: Span
    kind: Literal["phone", "line", "address", "point", "platform", "link"]
    value: str
    subject: tuple[str, ...]
    sentence: int


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence that asks the user something; ``offer``: it only offers more: help with anything, or to do one thing."""

    span: Span
    sentence: int
    offer: Offer = ""


@dataclass(frozen=True, slots=True)
class BareNumber:
    """A number without a unit, in digits or in words."""

    span: Span
    value: float


@dataclass(frozen=True, slots=True)
class Document:
    """One reply, read once. All tuples are in the order of the text. ``negations``: the words that deny ("no", "without", 没有). ``numbers``: those that are part of no figure and no time."""

    text: str
    language: str
    turn: int
    blocks: tuple[Block, ...]
    sentences: tuple[Span, ...]
    clauses: tuple[Span, ...]
    mentions: tuple[Mention, ...]
    quantities: tuple[Quantity, ...]
    times: tuple[ClockTime, ...]
    identifiers: tuple[Identifier, ...]
    questions: tuple[Question, ...]
    negations: tuple[Span, ...] = ()
    numbers: tuple[BareNumber, ...] = ()

    def quote(self, span: Span) -> Quote:
        """Return the words of a span with their place in the dialogue."""
        return Quote(turn=max(self.turn, 0), start=span.start, end=span.end, text=self.words(span))

    def words(self, span: Span) -> str:
        """Return the words of a span as they were written."""
        return self.text[span.start : span.end]

    def sentence_at(self, position: int) -> int:
        """Return the index of the sentence that a character stands in."""
        return max(bisect_right(self.sentences, (position, len(self.text) + 1)) - 1, 0)

    def list_below(self, position: int) -> tuple[Span, ...]:
        """Return the items of the list that follows the block in which a character stands."""
        place = bisect_right(self.blocks, position, key=lambda block: block.span.start)
        following = (self.blocks[number] for number in range(place, len(self.blocks)))
        return tuple(block.span for block in takewhile(lambda block: block.kind == "item", following))

    def of(self, key: str) -> tuple[Mention, ...]:
        """Return the mentions that surely mean one thing."""
        return tuple(mention for mention in self.mentions if mention.keys == (key,))
