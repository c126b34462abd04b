"""One reading of a reply, and the folded text in which it is read: without case, width, emphasis and invisible characters.

Every span of a document counts characters of the reply as it was written.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple

from pytest_mapsat.model import FigureRole, Quote, TimeRole

#: Folded texts up to this length are kept.
_SHORT = 80
_LINE_BREAKS = "\r\x0b\x0c\x85\u2028\u2029"
_SAME = {
    "’": "'", "‘": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "～": "~", "〜": "~", "“": '"', "”": '"',
    "＂": '"', "⟶": "→", "➡": "→", "➔": "→", "⇒": "→", "➜": "→", "➝": "→",
    "…": "…", "⋯": "…", "℃": "℃", "½": "½", "¼": "¼", "¾": "¾", "：": ":", "⭐": "⭐",
}  # fmt: skip
#: From where to where characters lie that are written without spaces, the most frequent ones first.
_HAN_RANGES = (("\u3400", "\u9fff"), ("\u3040", "\u30ff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff"))
_HAN = "".join(f"{first}-{last}" for first, last in _HAN_RANGES)
#: What is dropped: emphasis, invisible characters, selectors, more than one blank, blanks beside Chinese characters and at line ends.
_DROPPED = re.compile(
    r"[*`\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\x00]+|(?<=[ \n])[ \t*]+| +(?=[*`]*\n)"
    rf"|(?<=[{_HAN}]) +|(?<=[{_HAN}][*`]) +| +(?=[{_HAN}])"
    r"|(?<![a-z0-9])_+|_+(?![a-z0-9_])"
)
#: Phrases that are folded as they are, as most words of the packs: small letters and digits, single blanks, common Chinese characters.
_PLAIN = re.compile(r"[a-z0-9']+(?: [a-z0-9']+)*|[\u4e00-\u9fff]+")
#: Stands for characters that are dropped.
_DROP = "\u200b"


class _Table(dict[int, int | str]):
    """A translation table that folds characters, filled on first use of each."""

    def __missing__(self, code: int) -> int | str:
        """Return the folded form of a new character."""
        self[code] = folded = _fold_char(chr(code))
        return folded


def _fold_char(char: str) -> int | str:
    """Return the folded form of a character, or a placeholder if the character is removed."""
    if char in _LINE_BREAKS or char == "\n":
        return "\n"
    if char in _SAME:
        return _SAME[char]
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Cc" or char.isspace():
        return " "
    return _DROP if category == "Mn" else _folded(char, sign=category[0] == "S")


def _folded(char: str, *, sign: bool) -> str:
    """Return a letter or sign without case, width and accents; a sign with a non-ASCII normal form is kept."""
    if sign and not unicodedata.normalize("NFKC", char).isascii():
        return char
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    bare = unicodedata.normalize("NFD", folded)[:1]
    if bare.isascii() and bare.isalpha() and len(folded) == 1:
        return bare
    return folded.replace("\n", " ") or _DROP


_TABLE = _Table()


def is_han(char: str) -> bool:
    """Return whether a character belongs to a script written without spaces, such as Chinese or Japanese."""
    if char < "\u3040":  # most are: nothing at all, too
        return False
    for first, last in _HAN_RANGES:  # noqa: SIM110  called for every character of some texts
        if first <= char[0] <= last:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded text with a map from each position back to the original.

    Attributes:
        original: the text as it was written.
        text: the folded text.
    """

    original: str
    text: str
    _starts: list[int]
    _origins: list[int]

    def origin(self, position: int) -> int:
        """Return the position of a folded character in the original."""
        piece = bisect_right(self._starts, position) - 1
        return min(self._origins[piece] + position - self._starts[piece], len(self.original))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original span of folded characters ``start`` to ``end``."""
        first = self.origin(start)
        if end <= start:
            return first, first
        if len(self._starts) == 1:  # nothing is dropped inside: most texts are one piece
            return first, max(min(first + end - 1 - start, len(self.original)) + 1, first)
        return first, max(self.origin(end - 1) + 1, first)

    def at(self, origin: int) -> int:
        """Return the folded position of the first kept character at or after an original position."""
        piece = bisect_right(self._origins, origin) - 1
        if piece < 0:
            return 0
        inside = self._starts[piece] + origin - self._origins[piece]
        following = self._starts[piece + 1] if piece + 1 < len(self._starts) else len(self.text)
        return min(inside, following)


def fold_text(text: str) -> Folded:
    """Return ``text`` folded, in linear time."""
    same = text.translate(_TABLE)
    if len(same) != len(text):
        return _fold_slowly(text)
    return _dropped(text, same, None)


def _fold_slowly(text: str) -> Folded:
    """Fold a text in which one character becomes several ("㎞")."""
    pieces: list[str] = []
    origins: list[int] = []
    for index, char in enumerate(text):
        folded = char.translate(_TABLE)
        pieces.append(folded)
        origins += [index] * len(folded)
    return _dropped(text, "".join(pieces), origins)


def _dropped(original: str, same: str, places: list[int] | None) -> Folded:
    """Return the folded text without emphasis marks, invisible characters and needless blanks, mapped to the original."""
    kept: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = last = 0

    def keep(start: int, end: int) -> None:
        """Keep a part of the folded text and store its original position."""
        nonlocal length
        if end <= start:
            return
        kept.append(same[start:end])
        if places is None:
            starts.append(length)
            origins.append(start)
        else:
            starts.extend(range(length, length + end - start))
            origins.extend(places[start:end])
        length += end - start

    for match in _DROPPED.finditer(same):
        keep(last, match.start())
        last = match.end()
    keep(last, len(same))
    return Folded(original, "".join(kept), starts or [0], origins or [0])


def fold_phrase(phrase: str) -> str:
    """Return a phrase folded, as it would appear in a folded text."""
    return _fold_short(phrase) if len(phrase) <= _SHORT else _fold_phrase(phrase)


@lru_cache(maxsize=4096)
def _fold_short(phrase: str) -> str:
    """Return a short phrase folded; cached."""
    return _fold_phrase(phrase)


def _fold_phrase(phrase: str) -> str:
    """Return a phrase folded, on one line and without surrounding blanks."""
    if _PLAIN.fullmatch(phrase):
        return phrase
    return fold_text(" ".join(phrase.split())).text.replace("\n", " ").strip()


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
class TextBlock:
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


class Mention(NamedTuple):
    """A place where a reply names a thing.

    Attributes:
        keys: the thing; several where the words could mean each of them.
        span: the words.
        form: in full, shortened, or by the kind of thing ("the pharmacy").
        stance: what the reply does with it.
        why: the words that decided the stance, as written; empty where structure alone did.
        sentence: index in ``Document.sentences``.
        clause: index in ``Document.clauses``.
        cell: the table cell it stands in.
        plainly: whether its sentence plainly affirms or denies it; only told where a text is read for phrases.
    """

    keys: tuple[str, ...]
    span: Span
    form: Form
    stance: Stance
    why: str
    sentence: int
    clause: int
    cell: Cell | None = None
    plainly: Literal["", "affirmed", "denied"] = ""


class Quantity(NamedTuple):
    """A figure with its unit, as stated in a reply.

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
        step: half of this is what rounding may hide, in the canonical unit (10 for "1.37 km").
        cued: whether a word, its unit or the head of its column says the role; without one the role is only likely.
        unread: whether it is only a part of an amount that is not read: the hour of "1 h 20".
        said: the roles that the nearest word gives it where its unit has none: a rating of 98 %.
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
    unread: bool = False
    said: frozenset[str] = frozenset()


class ClockTime(NamedTuple):
    """A time of day.

    Attributes:
        minutes: after midnight, every reading that is possible, one where it is sure or likely.
        other: the reading in the other half of the day where the likely one is only that which comes next; -1 where there is none.
        unread: whether it is only a part of the text there: 18:30 of "18:30 EST".
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
    unread: bool = False

    @property
    def readings(self) -> tuple[int, ...]:
        """All possible readings in minutes, with the unlikely reading last."""
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
    """A sentence that asks the user something; ``offer``: whether the sentence only offers further help or an action."""

    span: Span
    sentence: int
    offer: Offer = ""


@dataclass(frozen=True, slots=True)
class BareNumber:
    """A number without a unit, in digits or in words."""

    span: Span
    value: float


class UnreadAmount(NamedTuple):
    """An amount that the reader did not understand, or only in part.

    Attributes:
        units: the units that stand in it, ``clock`` for a time of day; none where it could be an amount of anything.
        bare: whether it is a plain number of which nothing tells what it counts.
        said: the roles, of figures and of times, that the nearest word gives one whose unit is missing.
    """

    span: Span
    units: frozenset[str]
    sentence: int
    bare: bool
    said: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Document:
    """One reply after reading, with all tuples in text order. ``negations``: the denying words ("no", "without", 没有). ``numbers``: those in no figure or time. ``unread``: amounts that could not be parsed."""

    text: str
    language: str
    turn: int
    blocks: tuple[TextBlock, ...]
    sentences: tuple[Span, ...]
    clauses: tuple[Span, ...]
    mentions: tuple[Mention, ...]
    quantities: tuple[Quantity, ...]
    times: tuple[ClockTime, ...]
    identifiers: tuple[Identifier, ...]
    questions: tuple[Question, ...]
    negations: tuple[Span, ...] = ()
    numbers: tuple[BareNumber, ...] = ()
    unread: tuple[UnreadAmount, ...] = ()

    def quote(self, span: Span) -> Quote:
        """Return the words of a span with their place in the dialogue."""
        return Quote(turn=max(self.turn, 0), start=span.start, end=span.end, text=self.words(span))

    def words(self, span: Span) -> str:
        """Return the original words of a span."""
        return self.text[span.start : span.end]

    def sentence_at(self, position: int) -> int:
        """Return the index of the sentence that contains a character."""
        return max(bisect_right(self.sentences, (position, len(self.text) + 1)) - 1, 0)

    def list_below(self, position: int) -> tuple[Span, ...]:
        """Return the items of the list directly after the block at a position; empty if there is no list."""
        place = bisect_right(self.blocks, position, key=lambda block: block.span.start)
        following = (self.blocks[number] for number in range(place, len(self.blocks)))
        return tuple(block.span for block in takewhile(lambda block: block.kind == "item", following))

    def of(self, key: str) -> tuple[Mention, ...]:
        """Return the mentions that can refer only to a given thing."""
        return tuple(mention for mention in self.mentions if mention.keys == (key,))
