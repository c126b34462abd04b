"""Names that a reply clearly proposes as places and that nothing it knows has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_mapsat.text import Block, Document, Mention, Span

#: A head of an item: its words up to a bracket, a colon or a mark that begins what is said of it.
_HEAD = re.compile(
    r"\s*(?:[-*+•·]|\d{1,2}\s*[.、)）]?|\S{1,2}\ufe0f?\u20e3)?\s*[*_]{0,3}(?P<head>[^\n:：,，。;；!！?？(（|*_]{2,24}?)\s*(?=$|[\n(（*_])"
)
_LEAST_KNOWN = 2
_PLAIN = re.compile(r"[^\W\d_]", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Proposed:
    """A name in a list of places that stands in no evidence."""

    span: Span
    name: str
    subject: tuple[str, ...] = ()


def proposed_names(document: Document) -> list[Proposed]:
    """Return the items of lists that name nothing known, where most of the items beside them are names of known things."""
    found: list[Proposed] = []
    for items in _lists(document):
        heads = [(block, _head(document, block)) for block in items]
        known = [block for block, head in heads if head and _named(document, head)]
        unknown = [head for _, head in heads if head and not _named(document, head)]
        if len(known) >= _LEAST_KNOWN and len(known) + len(unknown) == len(items) and len(known) >= len(unknown):
            found += [Proposed(head, document.words(head)) for head in unknown]
    return found


def _lists(document: Document) -> list[list[Block]]:
    """Return the items that stand below one another at one level under one heading."""
    lists: dict[tuple[int, int], list[Block]] = {}
    for block in document.blocks:
        if block.kind == "item":
            lists.setdefault((block.heading, block.level), []).append(block)
    return list(lists.values())


def _head(document: Document, block: Block) -> Span | None:
    match = _HEAD.match(document.text, block.span.start, block.span.end)
    if match is None or not _PLAIN.search(match["head"]):
        return None
    start, end = match.span("head")
    return Span(start, end)


def _named(document: Document, head: Span) -> Mention | None:
    """Return the mention of a thing that makes up a head."""
    within = (one for one in document.mentions if one.span.start < head.end and head.start < one.span.end)
    return next((one for one in within if one.form != "kind"), None)
