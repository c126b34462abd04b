"""What follows from supported claims by arithmetic: a sum that is said to be one, a time that is another plus a duration."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .claims import Claim
from .compare import bears_out
from .page import Page
from .values import Value

_SUM = re.compile(r"(?<![a-z])(?:total|altogether|in all|in sum|sum|combined|overall)(?![a-z])|合计|总共|一共|共|总计|加起来|全程|总")
_LAST = 12


def is_total(claim: Claim, page: Page, held: Sequence[Claim], known: Sequence[Value]) -> bool:
    """Return whether a claim is the sum of claims before it, or a clock time that is such a sum.

    Args:
        claim: the claim.
        page: the reply.
        held: the supported claims before it.
        known: the clock times of the evidence, where the claim is one.
    """
    if claim.type == "time":
        return _is_time(claim, held, known)
    clause = page.rows[page.row_at(claim.start)]
    if claim.type not in ("distance", "duration", "price") or not _SUM.search(page.reading.flat, clause.start, claim.end):
        return False
    parts = [one for one in held if one.type == claim.type][-_LAST:]
    total = 0.0
    for count, one in enumerate(reversed(parts), 1):
        total += one.low
        if count > 1 and bears_out(claim, Value(claim.type, total, 0)):
            return True
    return False


def _is_time(claim: Claim, held: Sequence[Claim], known: Sequence[Value]) -> bool:
    """Return whether a time is a known or supported one, plus or minus a supported duration."""
    if claim.low < 0 or claim.parts:
        return False
    starts = {value.value for value in known if value.turn == 0 and value.value >= 0}
    starts |= {one.low for one in held if one.type == "time" and one.low >= 0}
    steps = {one.low / 60 for one in held[-2 * _LAST :] if one.type == "duration"}
    return any(
        bears_out(claim, Value("time", (start + sign * step) % 1440, 0)) for start in sorted(starts)[:_LAST] for step in sorted(steps) for sign in (1, -1)
    )
