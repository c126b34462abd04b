"""All claims of a reply: what each family finds, without what lies inside something longer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from .addresses import addresses
from .claims import Claim
from .contacts import contacts
from .figures import figures
from .hours import hours
from .mentions import Named, longest
from .names import names
from .page import Page
from .pool import Pool
from .vocabulary import SOFT


def find_claims(page: Page, pool: Pool, mentions: Sequence[Named]) -> list[Claim]:
    """Return the claims of a reply, ascending; a name is one claim however often it is said."""
    first = [*addresses(page), *contacts(page)]
    spans = _merged([(claim.start, claim.end) for claim in first] + [(one.start, one.end) for one in mentions])
    other = [*figures(page, spans), *(claim for claim in hours(page))]
    worded = list(names(page, pool, page.reading.turn))
    named = [claim for claim in worded if claim.type == "line"]
    addressed = _merged([(claim.start, claim.end) for claim in (*first, *named)])
    mentions = [one for one in mentions if not _overlaps(Claim(one.start, one.end, "name"), addressed)]
    ends = {one.end for one in mentions}
    both = [
        Named(claim.start, claim.end, claim.text)
        for claim in worded
        if claim.type == "name"
        and not _overlaps(claim, addressed)
        and not (claim.start in ends and SOFT.search(claim.text))
    ]
    named += [Claim(one.start, one.end, "name", text=one.name) for one in longest((*mentions, *both))]
    kept: list[Claim] = []
    said: set[str] = set()
    for claim in sorted((*first, *other, *named)):
        if page.claims_nothing(claim.start) or _denied(page, claim):
            continue
        if claim.type == "name":
            if claim.text in said:
                continue
            said.add(claim.text)
        kept.append(claim)
    return kept


def _denied(page: Page, claim: Claim) -> bool:
    return claim.type in ("name", "line", "price") and page.reading.denials.deny(claim.start, claim.end)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _overlaps(claim: Claim, spans: list[tuple[int, int]]) -> bool:
    index = bisect_left(spans, (claim.end, 0)) - 1
    return index >= 0 and spans[index][1] > claim.start


def outside(mentions: Sequence[Named], inside: Sequence[Claim]) -> list[Named]:
    """Return the mentions that are no part of an address."""
    spans = [(claim.start, claim.end) for claim in inside]
    return [one for one in mentions if not _overlaps(Claim(one.start, one.end, "name"), spans)]
