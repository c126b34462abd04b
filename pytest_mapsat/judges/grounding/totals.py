"""What follows from supported claims by arithmetic: a sum that is said to be one, a time that is another plus a duration."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, pairwise

from .claims import Claim, ClaimType
from .compare import bears_out
from .page import Page
from .values import Value

_SUM = re.compile(
    r"(?<![a-z])(?:total|altogether|in all|in sum|sum|combined|overall)(?![a-z])|合计|总共|一共|共|总计|加起来|全程|总"
)
_SHARE = re.compile(r"(?<![a-z])(?:each|per|apiece|a head)(?![a-z])|每人|人均|平均|每个人|一人|均摊")
Held = Mapping[ClaimType, Collection[Claim]]
#: How far back, in characters, the word is sought that makes a number a sum.
_REACH = 200
_MOST_SHARES = 10
_MOST_TIMES = 24


def is_total(claim: Claim, page: Page, held: Held, known: Sequence[Value]) -> bool:
    """Return whether a claim is the sum of claims before it, or a clock time that is such a sum.

    Args:
        claim: the claim.
        page: the reply.
        held: the last supported claims before it, by type.
        known: the clock times of the evidence, where the claim is one.
    """
    if claim.type == "time":
        return _is_time(claim, page, held, known)
    start = max(page.rows[page.row_at(claim.start)].start, claim.start - _REACH)
    if claim.type == "price" and _is_share(claim, page, held):
        return True
    if claim.type not in ("distance", "duration", "price") or not _SUM.search(page.reading.flat, start, claim.end):
        return False
    parts = list(held.get(claim.type, ()))
    total = 0.0
    for count, one in enumerate(reversed(parts), 1):
        total += one.low
        if count > 1 and bears_out(claim, Value(claim.type, total, 0)):
            return True
    return False


def _is_share(claim: Claim, page: Page, held: Held) -> bool:
    """Return whether a price is said per head and is a supported one divided by a whole number, or in total and a multiple."""
    number = page.reading.sentence_of(claim.start)
    start = max(page.reading.sentence_start(number), claim.start - _REACH)
    end = min(page.reading.sentence_ends[number], claim.end + _REACH)
    shares = range(2, _MOST_SHARES + 1)
    prices = [one.low for one in held.get("price", ())]
    possible: list[float] = []
    if _SHARE.search(page.reading.flat, start, end):
        possible += [price / share for price in prices for share in shares]
    if _SUM.search(page.reading.flat, start, end):
        possible += [price * share for price in (*prices, *accumulate(reversed(prices))) for share in shares]
    return any(bears_out(claim, Value("price", price, 0)) for price in possible)


def _is_time(claim: Claim, page: Page, held: Held, known: Sequence[Value]) -> bool:
    """Return whether a time is one that is known or proposed, plus or minus a supported duration."""
    if claim.low < 0 or claim.parts:
        return False
    starts = {value.value for value in known if value.turn == 0 and value.value >= 0}
    starts |= {float(time.minutes) for time in page.reading.times[:_MOST_TIMES] if time.start < claim.start}
    minutes = [one.low / 60 for one in held.get("duration", ())]
    steps = {*minutes, *(one + other for one, other in pairwise(minutes))}
    return any(
        bears_out(claim, Value("time", (start + sign * step) % 1440, 0))
        for start in sorted(starts)[:_MOST_TIMES]
        for step in sorted(steps)
        for sign in (1, -1)
    )
