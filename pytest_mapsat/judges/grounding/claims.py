"""What a reply claims: each name, figure, time and identifier that it states as a fact."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.text import ClockTime, Document, Identifier, Mention, Quantity, Span

from .proposed import Proposed, proposed_names, stops

ClaimType = Literal["name", "quantity", "time", "point", "identifier"]
Said = Mention | Proposed | Quantity | ClockTime | Identifier
#: What is said so is stated: asked, denied and supposed things are not.
_STATED = ("affirmed", "compared", "rejected", "landmark")
#: Times that an agent proposes are a plan and no fact, unless the evidence has such times of their thing.
_PLANNED = ("departure", "arrival", "stop", None)
_SORTS = {"m": "distance", "min": "duration", "yuan": "price", "foreign": "price", "star": "rating"}


@dataclass(frozen=True)
class Claim:
    """One claim of a reply.

    Attributes:
        said: what was read: a name, a figure, a time, an identifier.
        document: the reply.
    """

    said: Said
    document: Document

    @property
    def span(self) -> Span:
        """Its place in the reply."""
        return self.said.span

    @property
    def text(self) -> str:
        """Its words."""
        return self.document.words(self.span)

    @property
    def type(self) -> ClaimType:
        """Which member of the union it is."""
        match self.said:
            case Quantity():
                return "quantity"
            case ClockTime():
                return "time"
            case Identifier():
                return "point" if self.said.kind == "point" else "identifier"
        return "name"

    @property
    def sort(self) -> str:
        """What a check may ask for: name, address, coordinate, distance, duration, time, price, rating, phone, line or count."""
        match self.said:
            case Quantity():
                return sort_of(self.said.unit)
            case Identifier():
                return "coordinate" if self.said.kind == "point" else self.said.kind
        return self.type

    @property
    def subject(self) -> tuple[str, ...]:
        """Keys of what it is said of; several where each could be meant."""
        return self.said.keys if isinstance(self.said, Mention) else self.said.subject

    @property
    def role(self) -> str | None:
        """What it is said of its thing; None where that is not sure, empty for what has no role."""
        return self.said.role if isinstance(self.said, Quantity | ClockTime) else ""

    @property
    def planned(self) -> bool:
        """Whether it may be a plan of the agent's own: a time for the user, a length of stay, time to spare."""
        return (isinstance(self.said, ClockTime) and self.said.role in _PLANNED) or self.role in ("stay", "slack")


def sort_of(unit: str) -> str:
    """Return what a figure of a canonical unit is: distance, duration, price, rating, or else a count."""
    return _SORTS.get(unit, "count")


def claims_of(document: Document, endings: Collection[str] = ()) -> tuple[Claim, ...]:
    """Return the claims of a reply in the order of the text. A name is one claim; offers of more help claim nothing.

    Args:
        document: the reply.
        endings: words that the names of several known things end in.
    """
    offered = _offered(document)
    found = [
        Claim(said, document)
        for said in _said(document, endings)
        if document.sentence_at(said.span.start) not in offered
    ]
    return tuple(sorted(found, key=lambda claim: (claim.span, claim.type)))


def _said(document: Document, endings: Collection[str]) -> Iterator[Said]:
    named: set[tuple[str, ...]] = set()
    for mention in document.mentions:
        if (
            mention.form != "kind"
            and len(mention.keys) == 1
            and mention.stance != "asked"
            and mention.keys not in named
        ):
            named.add(mention.keys)
            yield mention
    yield from proposed_names(document, endings)
    yield from stops(document)
    yield from (one for one in document.quantities if one.stance in _STATED and _is_figure(one))
    yield from (time for time in document.times if time.stance in _STATED and time.role != "now")
    yield from (one for one in document.identifiers if one.kind != "link")


def _is_figure(one: Quantity) -> bool:
    """Return whether a number is one of something: bare ones count lists, and bounds of nothing are wishes."""
    return (one.unit != "count" or one.role is not None) and (
        one.approx in ("exact", "about", "range") or bool(one.subject)
    )


def _offered(document: Document) -> frozenset[int]:
    """Return the sentences that only offer more help, with the lists below them."""
    found = {question.sentence for question in document.questions}
    for question in document.questions:
        for span in document.list_below(question.span.start) if question.offer else ():
            last = document.sentence_at(max(span.end - 1, span.start))
            found.update(range(document.sentence_at(span.start), last + 1))
    return frozenset(found)
