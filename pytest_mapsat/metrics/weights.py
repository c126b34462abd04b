"""Evidence-supported weights of implicit requirements (MapSatisfyBench A.2): w = userpref x current_need, userpref = S x R x M."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pytest_mapsat.model import Evidence, ImplicitRequirement

#: The part of a weight that nothing is known about.
NEUTRAL = 1.0


@dataclass(frozen=True)
class WeightTable:
    """The numbers of A.2.

    ``relevance``, ``recency`` and ``momentum`` are the paper's. ``change`` and ``need`` stand in for its tables A1 and A2, whose cells are
    not in the text that we hold: they are ours, chosen so that the paper's sample weights come out.

    Attributes:
        relevance: strength S of a basic attribute.
        recency: R of a routine habit and of recent evidence.
        momentum: M where late counts are ``rising`` above the early ones, ``steady``, ``falling``, or ``gone``.
        change: least change rate (S_short - S_long) / max(S_long, floor) that still counts as rising, steady, falling; below: gone.
        long_floor: the floor under the long-term strength in the change rate.
        need: current need by what the session says of the requirement.
    """

    relevance: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({"strong": 1.0, "weak": 0.3}))
    recency: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({"habit": 0.8, "recent": 1.0}))
    momentum: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"rising": 1.2, "steady": 1.0, "falling": 0.8, "gone": 0.6})
    )
    change: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"rising": 0.2, "steady": -0.2, "falling": -0.6})
    )
    long_floor: float = 0.1
    need: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {"direct": 1.2, "related": 1.1, "weak": 0.8, "conflicting": 0.5, "invalid": 0.0}
        )
    )


#: The table used where none is given.
DEFAULT_WEIGHTS = WeightTable()


def weight_of(requirement: ImplicitRequirement, table: WeightTable = DEFAULT_WEIGHTS) -> float:
    """Return the requirement's weight: its own, else computed from its evidence (A.2).

    Of several evidences the largest userpref and the smallest current need count (our ruling: one good reason suffices to want
    a thing, one conflict in the session suffices to doubt it). A side that no evidence speaks of is 1.0.

    Args:
        requirement: an implicit requirement.
        table: the numbers to compute with.

    Returns:
        The weight, at least 0.
    """
    if requirement.weight is not None:
        return requirement.weight
    preferences = [value for value in (_userpref(one, table) for one in requirement.evidence) if value is not None]
    needs = [table.need[one.need] for one in requirement.evidence if one.need is not None]
    return max(preferences, default=NEUTRAL) * min(needs, default=NEUTRAL)


def weights_of(requirements: Sequence[ImplicitRequirement], table: WeightTable = DEFAULT_WEIGHTS) -> tuple[float, ...]:
    """Return the weights of several requirements, in their order."""
    return tuple(weight_of(requirement, table) for requirement in requirements)


def _userpref(evidence: Evidence, table: WeightTable) -> float | None:
    """Return S x R x M, or None where the evidence says nothing of the user's past."""
    recency = table.recency[evidence.recency] if evidence.recency is not None else None
    parts = (_strength(evidence, table), recency, _momentum(evidence, table))
    if all(part is None for part in parts):
        return None
    strength, recency, momentum = (NEUTRAL if part is None else part for part in parts)
    return strength * recency * momentum


def _strength(evidence: Evidence, table: WeightTable) -> float | None:
    if evidence.count is not None and evidence.total is not None:
        return evidence.count / evidence.total
    if evidence.ratio is not None:
        return evidence.ratio
    if evidence.relevance is not None:
        return table.relevance[evidence.relevance]
    # With a long-term profile and recent behaviour, the recent one is the present strength (A.2).
    return evidence.short_ratio


def _momentum(evidence: Evidence, table: WeightTable) -> float | None:
    if evidence.long_ratio is not None and evidence.short_ratio is not None:
        return table.momentum[_trend_of_ratios(evidence.long_ratio, evidence.short_ratio, table)]
    if evidence.early is not None and evidence.late is not None:
        return table.momentum[_trend_of_counts(evidence.early, evidence.late)]
    return None


def _trend_of_counts(early: int, late: int) -> str:
    if late > early:
        return "rising"
    if late == early > 0:
        return "steady"
    return "falling" if late > 0 else "gone"


def _trend_of_ratios(long: float, short: float, table: WeightTable) -> str:
    rate = (short - long) / max(long, table.long_floor)
    if rate > table.change["rising"]:
        return "rising"
    if rate >= table.change["steady"]:
        return "steady"
    return "falling" if rate >= table.change["falling"] else "gone"
