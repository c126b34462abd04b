"""Where a reply names things that the evidence knows, and which thing a claim is about."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .claims import Claim
from .page import Page
from .pool import Pool
from .text import is_latin

_LETTER = re.compile(r"[^\W_]")
_LANDMARK_BEFORE = re.compile(
    r"(?:(?<![a-z])(?:from|near|near to|next to|opposite|behind|beside|close to|of)(?: the)? |距离|距|离|靠近|邻近|毗邻|紧邻|从|比)[ *]{0,2}$"
)
_LANDMARK_AFTER = ("附近", "旁", "对面", "周边", "出发")
_ONWARD = re.compile(r"->|→|➜|➡|⟶|从.{0,60}(?:到|去|至)|(?<![a-z])from (?:.{0,60}) to ")
_LOOK_BACK = 12
#: How far back in its sentence, in characters and in names, what a claim is about is sought.
_REACH = 400
_CANDIDATES = 8


@dataclass(frozen=True, order=True)
class Named:
    """A thing named in a reply: where, and its squeezed name."""

    start: int
    end: int
    name: str


def known_names(page: Page, pool: Pool, turn: int) -> tuple[Named, ...]:
    """Return the mentions of things known in ``turn``, none inside a longer one, ascending."""
    flat = page.reading.flat
    places = [match.start() for match in _LETTER.finditer(flat)]
    letters = "".join([flat[place] for place in places])
    found: list[Named] = []
    for name in sorted({name for thing in pool.things if thing.turn <= turn for name in thing.names}):
        position = letters.find(name)
        while position >= 0:
            start, end = places[position], places[position + len(name) - 1] + 1
            if _whole(flat, start, end):
                found.append(Named(start, end, name))
            position = letters.find(name, position + len(name))
    return longest(found)


def longest(found: Sequence[Named]) -> tuple[Named, ...]:
    """Return the mentions without those that overlap a longer or earlier one."""
    kept: list[Named] = []
    for named in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or named.start >= kept[-1].end:
            kept.append(named)
        elif named.end - named.start > kept[-1].end - kept[-1].start:
            kept[-1] = named
    return tuple(kept)


def _whole(text: str, start: int, end: int) -> bool:
    """Return whether no word or number goes on before or behind."""
    before = start > 0 and is_latin(text[start]) and is_latin(text[start - 1])
    return not before and not (end < len(text) and is_latin(text[end - 1]) and is_latin(text[end]))


@dataclass(frozen=True, eq=False)
class Subjects:
    """Which named thing each claim of a reply is about.

    Attributes:
        page: the reply.
        named: the names in it, ascending; those inside addresses are left out.
        invented: names that the evidence does not hold; what is said below them is about them.
    """

    page: Page
    named: tuple[Named, ...]
    invented: frozenset[str] = frozenset()

    @cached_property
    def _starts(self) -> list[int]:
        return [one.start for one in self.named]

    @cached_property
    def _heads(self) -> list[tuple[Named, ...]]:
        """For each line what the lines below it are about: what the last line without a label names, behind an arrow or "to" the last first."""
        heads: list[tuple[Named, ...]] = []
        last: tuple[Named, ...] = ()
        for row in self.page.rows:
            inside = self.named[bisect_left(self._starts, row.start) : bisect_left(self._starts, row.end)]
            inside = tuple(
                one
                for one in inside[:_CANDIDATES]
                if not self._landmark(one) and not self.page.claims_nothing(one.start)
            )
            if inside and not row.label:
                last = inside[::-1] if _ONWARD.search(self.page.reading.flat, row.start, row.end) else inside
            heads.append(last)
        return heads

    def of(self, claim: Claim) -> tuple[Named, ...]:
        """Return what a claim may be about, the likeliest first.

        The last thing named before it in its sentence, then those before that; else what its clause names behind it; else the heading over it.
        """
        index = self.page.row_at(claim.start)
        row = self.page.rows[index]
        before = tuple(self._before(claim, row.start))
        if before:
            return before
        behind = self._behind(claim, row.end)
        if behind is not None and not row.label:
            return (behind,)
        earlier = tuple(self._earlier(claim, row.start))
        return earlier or (self._heads[index - 1] if index else ())

    def _before(self, claim: Claim, row: int) -> Iterator[Named]:
        sentence = self.page.reading.sentence_start(self.page.reading.sentence_of(claim.start))
        return self._earlier(claim, max(row, sentence))

    def _earlier(self, claim: Claim, begin: int) -> Iterator[Named]:
        """Yield what is named from ``begin`` up to a claim, the nearest first."""
        first = bisect_right(self._starts, claim.start) - 1
        for number in range(first, max(first - _CANDIDATES, -1), -1):
            one = self.named[number]
            if one.start < begin or claim.start - one.start > _REACH:
                return
            if one.end <= claim.start and not self._landmark(one):
                yield one

    def _behind(self, claim: Claim, end: int) -> Named | None:
        """Return the thing named behind a claim in its clause ("300 m to X", "12 分钟到 X")."""
        stop = min(self.page.reading.denials.clause(claim.start)[1], end)
        number = bisect_left(self._starts, claim.end)
        if number < len(self.named) and self.named[number].start < stop and not self._landmark(self.named[number]):
            return self.named[number]
        return None

    def _landmark(self, one: Named) -> bool:
        text = self.page.reading.flat
        before = text[max(one.start - _LOOK_BACK, 0) : one.start]
        after = text.startswith(_LANDMARK_AFTER, one.end) and one.name not in self.invented
        return after or bool(_LANDMARK_BEFORE.search(before))
