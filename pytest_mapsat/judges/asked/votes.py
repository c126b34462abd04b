"""Several evaluations of one dialogue become one label: the majority of the votes, for each label by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_mapsat.model import Factor

from .asking import CANNOT_SAY, FAILED, LEVELS, NOT_STATED, PASSED, has_levels

#: The vote of an evaluation that brought no reply that checks.
NO_VOTE = "no_vote"


def majority(votes: Sequence[str], factor: Factor) -> str:
    """Return what most votes say: passed, failed, not_stated, a level, or ``cannot_say`` where there is no majority.

    A label that holds or not needs more than half of all votes; a tie is no majority. A fact that is not stated holds. Of levels the one with
    the most votes counts, of those with equally many the lower one (spec, Judging).

    Args:
        votes: one for each evaluation, those that brought nothing included.
        factor: what they are about.
    """
    if has_levels(factor):
        return _level(votes)
    holds = [vote for vote in votes if vote in (PASSED, NOT_STATED)]
    if 2 * len(holds) > len(votes):
        return NOT_STATED if 2 * holds.count(NOT_STATED) > len(holds) else PASSED
    return FAILED if 2 * votes.count(FAILED) > len(votes) else CANNOT_SAY


def _level(votes: Sequence[str]) -> str:
    counts = Counter(vote if vote in LEVELS else CANNOT_SAY for vote in votes)
    most = max(counts.values())
    leading = [vote for vote, count in counts.items() if count == most]
    return CANNOT_SAY if CANNOT_SAY in leading else min(leading, key=lambda vote: LEVELS[vote])


def value_of(said: str) -> float | None:
    """Return the value of a label; None where it cannot be said."""
    if said in (PASSED, NOT_STATED):
        return 1.0
    return 0.0 if said == FAILED else LEVELS.get(said)
