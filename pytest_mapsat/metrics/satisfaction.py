"""The formulas of MapSatisfyBench (3.3, A.2): ECR, IISR, IFS, TS, Eff and CEI of one episode. AR is ECR x IISR, SES is AR x Eff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.model import (
    Count,
    Trajectory,
    Usage,
)

from .measures import Measure, Reading, between, not_applicable, weighted_share

if TYPE_CHECKING:
    from pytest_mapsat.model import Case, Evidence, Requirement

#: The part of a weight that nothing is known about.
NEUTRAL = 1.0
_MILLION = 1_000_000


class WeightTable(NamedTuple):
    """The numbers that weights are computed with (A.2).

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

    relevance: Mapping[str, float] = MappingProxyType({"strong": 1.0, "weak": 0.3})
    recency: Mapping[str, float] = MappingProxyType({"habit": 0.8, "recent": 1.0})
    momentum: Mapping[str, float] = MappingProxyType({"rising": 1.2, "steady": 1.0, "falling": 0.8, "gone": 0.6})
    change: Mapping[str, float] = MappingProxyType({"rising": 0.2, "steady": -0.2, "falling": -0.6})
    long_floor: float = 0.1
    need: Mapping[str, float] = MappingProxyType(
        {"direct": 1.2, "related": 1.1, "weak": 0.8, "conflicting": 0.5, "invalid": 0.0}
    )


#: The table used where none is given.
DEFAULT_WEIGHTS = WeightTable()


def explicit_completion(case: Case, readings: Mapping[str, Reading], count: Count | None = None) -> Measure:
    """Return ECR: the mean of the binary labels over the explicit requirements; 1 where the case has implicit ones only.

    ``count``: how many explicit requirements are met, for a verdict that does not say which; used where labels are not known.
    """
    requirements = case.truth.asked
    if not requirements:
        return _without(case, "explicit")
    share = weighted_share([(1.0, readings[requirement.id]) for requirement in requirements])
    if share.outcome_class != "unevaluated" or count is None:
        return share
    if count.total != len(requirements) or count.met > count.total:
        counts = f"the verdict counts {count.met} of {count.total} explicit requirements"
        return share._replace(why=f"{counts}, the case has {len(requirements)}")
    return Measure(count.met / count.total)


def implicit_satisfaction(case: Case, readings: Mapping[str, Reading]) -> Measure:
    """Return IISR: sum(w c) / sum(w) over the implicit requirements; 1 where the case has explicit ones only."""
    requirements = case.truth.implicit
    if not requirements:
        return _without(case, "implicit")
    return weighted_share([(weight_of(requirement), readings[requirement.id]) for requirement in requirements])


def _without(case: Case, kind: str) -> Measure:
    """Return what the share over no requirement is: 1, unless the case has none of the other kind either."""
    if why := nothing_asked(case):
        return Measure(None, "unevaluated", why)
    return Measure(1.0, why=f"the case has no {kind} requirement")


def nothing_asked(case: Case) -> str:
    """Return why nothing can be said of whether the user is satisfied; empty where something can."""
    if case.truth.asked or case.truth.implicit:
        return ""
    return "the case has neither explicit nor implicit requirements: nothing says what would satisfy the user"


def weight_of(requirement: Requirement, table: WeightTable = DEFAULT_WEIGHTS) -> float:
    """Return the weight of a hard or soft requirement: its own, else userpref x current_need with userpref = S x R x M, from its evidence (A.2).

    Of several evidences the largest userpref and the smallest current need count (our ruling: one good reason suffices to want
    a thing, one conflict in the session suffices to doubt it). A side that no evidence speaks of is 1.0.
    """
    if requirement.weight is not None:
        return requirement.weight
    preferences = [value for evidence in requirement.evidence if (value := _userpref(evidence, table)) is not None]
    needs = [table.need[evidence.need] for evidence in requirement.evidence if evidence.need is not None]
    return max(preferences, default=NEUTRAL) * min(needs, default=NEUTRAL)


def _userpref(evidence: Evidence, table: WeightTable) -> float | None:
    """Return S x R x M, or None where the evidence says nothing of the user's past."""
    recency = None if evidence.recency is None else table.recency[evidence.recency]
    trend = _trend(evidence, table)
    parts = (_strength(evidence, table), recency, None if trend is None else table.momentum[trend])
    if all(part is None for part in parts):
        return None
    strength, recent, momentum = (NEUTRAL if part is None else part for part in parts)
    return strength * recent * momentum


def _strength(evidence: Evidence, table: WeightTable) -> float | None:
    if evidence.count is not None and evidence.total is not None:
        return evidence.count / evidence.total
    if evidence.ratio is not None:
        return evidence.ratio
    if evidence.relevance is not None:
        return table.relevance[evidence.relevance]
    # With a long-term profile and recent behaviour, the recent one is the present strength (A.2).
    return evidence.short_ratio


def _trend(evidence: Evidence, table: WeightTable) -> str | None:
    if evidence.long_ratio is not None and evidence.short_ratio is not None:
        rate = (evidence.short_ratio - evidence.long_ratio) / max(evidence.long_ratio, table.long_floor)
        if rate > table.change["rising"]:
            return "rising"
        return next((trend for trend in ("steady", "falling") if rate >= table.change[trend]), "gone")
    early, late = evidence.early, evidence.late
    if early is None or late is None:
        return None
    if late > early:
        return "rising"
    if not late:
        return "gone"
    return "steady" if late == early else "falling"


class Faithfulness(NamedTuple):
    """IFS, and how many of its facts hold because the answer makes no such claim."""

    measure: Measure
    nothing_claimed: int = 0


def faithfulness(case: Case, readings: Mapping[str, Reading]) -> Faithfulness:
    """Return IFS: the share of fact requirements that hold; not applicable where the case has none."""
    requirements = case.truth.facts
    if not requirements:
        return Faithfulness(not_applicable("the case has no fact requirement"))
    weighted = [(1.0, readings[requirement.id]) for requirement in requirements]
    nothing_claimed = sum([reading.nothing_claimed and reading.value == 1 for _, reading in weighted])
    return Faithfulness(weighted_share(weighted), nothing_claimed)


def interaction_efficiency(case: Case, trajectory: Trajectory) -> Measure:
    """Return Eff = 1 / (1 + turns / reference).

    Turns are the agent's replies, at least 1. The reference is the case's own figure, else the greatest useful number of
    clarification turns, else the replies of its oracle dialogue; where a case gives none of them, Eff does not apply.
    """
    reference = case.truth.reference_turns
    if not reference:
        return not_applicable(
            "the case has neither a clarification policy nor an oracle dialogue, so no reference for its turns"
        )
    return Measure(reference / (reference + max(1, len(trajectory.replies))))


def cost_efficiency(ses: Measure, spent: Usage) -> Measure:
    """Return CEI = SES per million tokens, in and out; for reference only, not a metric of the paper."""
    if ses.span is None:
        return ses
    if spent.input_tokens is None or spent.output_tokens is None:
        return not_applicable("the agent did not say how many tokens it used")
    tokens = spent.input_tokens + spent.output_tokens
    if tokens == 0:
        return not_applicable("the agent used no tokens")
    least, most = ses.span
    return between(least / tokens * _MILLION, most / tokens * _MILLION, ses.why)


class ToolSelection(NamedTuple):
    """TS by tool name; the four groups are disjoint and sorted.

    Attributes:
        measure: ``len(correct)`` of all four together.
        correct: expected, called, and some call is valid.
        invalid: expected and called, but no call is valid.
        extra: called, not expected (also tools that do not exist).
        missed: expected, never called.
        unchecked: how many rules of the called expected tools could not be checked.
    """

    measure: Measure
    correct: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    unchecked: int = 0


def tool_selection(case: Case, trajectory: Trajectory, *, approved: Sequence[str] | None = None) -> ToolSelection:
    """Return TS = |gold and valid| / |gold or called| over tool names.

    Args:
        case: the case; its expected tools are the gold set.
        trajectory: the episode; every called name counts, also of a tool that does not exist.
        approved: expected tools whose prose rules a judge found kept; None where no judge looked, which leaves prose rules unchecked.

    Returns:
        TS with its parts. A called gold tool without a valid call stands in the union only; TS is not applicable where nothing is expected
        and nothing was called, and where the case leaves ``tools`` out.
    """
    calls, tools = trajectory.calls, case.truth.tools
    called = {call.tool for call in calls}
    gold = {expected.name for expected in tools}
    if not gold and not called and not trajectory.lacks_calls:
        return ToolSelection(not_applicable("no tool is expected and none was called"))
    if "tools" not in case.truth.model_fields_set:  # an empty list says that no call is right
        return ToolSelection(not_applicable("the case does not say which tools are expected"))
    if trajectory.lacks_calls:
        most = len(gold) / len(gold | called) if gold or called else 1.0
        return ToolSelection(between(0.0, most, trajectory.why_lacking))
    from pytest_mapsat.sandbox import hop_calls  # noqa: PLC0415  what only reads runs does without it

    valid, unchecked, open_ = gold & called, 0, set[str]()
    for expected, fulfilling in zip(tools, hop_calls(tools, calls), strict=True):
        if expected.name not in called:
            continue
        unknown = min(fulfilling.values(), default=None)
        if unknown is None or (approved is not None and expected.name not in approved):
            valid = valid - {expected.name}
            untold = any(call.tool == expected.name and "arguments" in call.unknown for call in calls)
            open_ |= {expected.name} if untold and unknown is None else set()
        unchecked += (unknown or 0) + (len(expected.prose) if approved is None else 0)
    every = len(gold | called)
    why = f"the record does not tell the arguments of {', '.join(sorted(open_))}"
    return ToolSelection(
        measure=between(len(valid) / every, len(valid | open_) / every, why),
        correct=tuple(sorted(valid)),
        invalid=tuple(sorted((gold & called) - valid)),
        extra=tuple(sorted(called - gold)),
        missed=tuple(sorted(gold - called)),
        unchecked=unchecked,
    )
