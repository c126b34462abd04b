"""Names that a reply clearly proposes as places and that nothing it knows has."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pytest_mapsat.text import Block, Document, Span, fold_phrase

#: The head of an item: a name, up to the end of the line or a bracket.
_HEAD = re.compile(
    r"\s*(?:[-*+•·]\s+|\d{1,2}\s*[.、)）]\s*|\d?\ufe0f?\u20e3\s*|\d{1,2}\s+)?[*_]{0,3}(?P<head>[^\W\d_][^\n:：,，、。;；!！?？(（|*_]{1,23}?)[*_]{0,3}\s*(?=$|[\n(（])"
)
#: A part of a way that is written with arrows.
_STOP = re.compile(
    r"(?:(?<=→)|(?<=->)|(?<=➜)|(?<=➡))\s*[*_]{0,3}(?P<name>[^\W\d_][^\n→➜➡>\-:：,，。;；(（|*_]{1,23}?)[*_]{0,3}\s*(?=→|->|➜|➡|\n|$|[(（])"
)
_SHARE = 0.7
_LEAST_KNOWN = 2


@dataclass(frozen=True, slots=True)
class Proposed:
    """A name that the reading does not find among the known things.

    Attributes:
        span: its place.
        name: its words.
        sure: whether it is surely meant to be a place: a stop of a way may be anything.
    """

    span: Span
    name: str
    sure: bool = True
    subject: tuple[str, ...] = ()


def proposed_names(document: Document, endings: Collection[str]) -> Iterator[Proposed]:
    """Yield the heads of items that name nothing known and yet are names of places.

    That they are, tells an ending that known names have, or a list in which all other heads are known.

    Args:
        document: the reply.
        endings: words that the names of several known things end in.
    """
    for items in _lists(document):
        heads = [head for block in items if (head := _head(document, block))]
        unknown = [head for head in heads if not _known(document, head)]
        listed = len(heads) == len(items) and len(heads) - len(unknown) >= max(_LEAST_KNOWN, len(heads) / 3)
        for head in unknown:
            name = fold_phrase(document.words(head))
            if listed or any(name.endswith(end) and len(name) > len(end) + 1 for end in endings):
                yield Proposed(head, document.words(head))


def stops(document: Document) -> Iterator[Proposed]:
    """Yield the parts of ways that are written with arrows, and that are no names of known things."""
    for match in _STOP.finditer(document.text):
        span = Span(*match.span("name"))
        if not _known(document, span):
            yield Proposed(span, match["name"], sure=False)


def _lists(document: Document) -> list[list[Block]]:
    """Return the items of one level that stand together, and those of all lists below the same words with a colon."""
    lists: dict[tuple[str, int], list[Block]] = {}
    above = ""
    last: Block | None = None
    for number, block in enumerate(document.blocks):
        if block.kind == "item":
            if last is None or last.kind != "item":
                lead = fold_phrase(document.words(last.span)) if last is not None else ""
                above = lead if lead.endswith(":") else str(number)
            lists.setdefault((above, block.level), []).append(block)
        last = block
    return list(lists.values())


def _head(document: Document, block: Block) -> Span | None:
    match = _HEAD.match(document.text, block.span.start, block.span.end)
    return Span(*match.span("head")) if match else None


def _known(document: Document, head: Span) -> bool:
    """Return whether the name of a known thing makes up most of a head."""
    place = bisect_left(document.mentions, head.start, key=lambda one: one.span.end)
    while place < len(document.mentions) and document.mentions[place].span.start < head.end:
        one = document.mentions[place]
        shared = min(one.span.end, head.end) - max(one.span.start, head.start)
        if one.form != "kind" and shared >= _SHARE * (head.end - head.start):
            return True
        place += 1
    return False
