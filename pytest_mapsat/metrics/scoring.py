"""One episode, judged, becomes a scorecard: eight metrics, the item's outcome, and what it used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_mapsat.model import (
    EARNED_METRICS,
    METRICS,
    Bounds,
    CallCounts,
    Case,
    Fault,
    Label,
    MetricName,
    Outcome,
    SandboxCounts,
    Scorecard,
    Spent,
    Step,
    Trajectory,
    Turn,
    UsageError,
    Verdict,
)

from .labels import Measure, index_labels
from .outcome import ASSERTABLE, broken_item, class_of, fault_of, item_outcome
from .satisfaction import (
    acceptance,
    cost_efficiency,
    explicit_completion,
    faithfulness,
    implicit_satisfaction,
    interaction_efficiency,
    satisfaction_efficiency,
)
from .tools import Satisfies, tool_selection
from .weights import DEFAULT_WEIGHTS, WeightTable

#: The attribute that names the sources of a case's implicit factors, joined by ", ".
SOURCE_ATTRIBUTE = "factor_source"


def score(
    case: Case,
    trajectory: Trajectory,
    verdict: Verdict,
    *,
    asserted: frozenset[str],
    satisfies: Satisfies,
    nodeid: str = "",
    weights: WeightTable = DEFAULT_WEIGHTS,
) -> Scorecard:
    """Return the scorecard of one judged episode.

    Args:
        case: the case. In the profile setting it comes without its profile tools among the expected ones.
        trajectory: what happened.
        verdict: what the judge said of it.
        asserted: what fails the item, members of ``ASSERTABLE``; empty: violations are scored, only a broken episode fails.
        satisfies: compares an argument with a match (``pytest_mapsat.sandbox.satisfies``).
        nodeid: the item's node id.
        weights: the numbers that weights are computed with (A.2).

    Returns:
        The scorecard. An episode that the agent broke scores 0 in the paper's seven metrics and fails; one that somebody else broke has no metrics.

    Raises:
        UsageError: ``asserted`` has an unknown member.
    """
    _check_asserted(asserted)
    fault = fault_of(trajectory)
    labels = index_labels(verdict)
    calls, replies = trajectory.calls, trajectory.replies
    spent = sum_spent(replies)
    if fault is None:
        marks = _marks(case, trajectory, verdict, labels=labels, spent=spent, satisfies=satisfies, weights=weights)
        item = item_outcome(case, labels, asserted=asserted, count=verdict.explicit_count)
    else:
        marks = _broken_marks(fault, spent)
        item = broken_item(fault)
    return Scorecard(
        id=case.id,
        trial=trajectory.trial,
        nodeid=nodeid,
        domains=case.domains,
        attributes=_attributes(case),
        outcome=item.outcome,
        blame=item.blame,
        reason=item.reason,
        metrics={name: marks.measures[name].value for name in METRICS},
        classes=_classes(marks.measures),
        bounds=_bounds(marks.measures),
        unknown=item.unknown,
        labels=verdict.labels,
        explicit_count=verdict.explicit_count,
        sandbox=count_provenance(calls),
        calls=count_calls(calls),
        turns=len(replies),
        clarifications=count_clarifications(replies),
        vacuous=marks.vacuous,
        unchecked_rules=marks.unchecked,
        spent=spent,
        warnings=(*trajectory.warnings, *verdict.warnings, *_stray_labels(case, labels)),
        trajectory=trajectory,
    )


def _check_asserted(asserted: frozenset[str]) -> None:
    unknown = asserted.difference(ASSERTABLE)
    if unknown:
        raise UsageError(f"cannot assert {', '.join(sorted(unknown))}; known are {', '.join(ASSERTABLE)}")


@dataclass(frozen=True, slots=True)
class _Marks:
    """All measures of one episode, with what they leave open."""

    measures: dict[MetricName, Measure]
    vacuous: int = 0
    unchecked: int = 0


def _marks(
    case: Case,
    trajectory: Trajectory,
    verdict: Verdict,
    *,
    labels: Mapping[str, Label],
    spent: Spent,
    satisfies: Satisfies,
    weights: WeightTable,
) -> _Marks:
    ecr = explicit_completion(case, labels, verdict.explicit_count)
    iisr = implicit_satisfaction(case, labels, weights)
    ar = acceptance(ecr, iisr)
    tools = tool_selection(case, trajectory, satisfies=satisfies, approved=verdict.approved_tools)
    facts = faithfulness(case, labels)
    eff = interaction_efficiency(case, trajectory)
    ses = satisfaction_efficiency(ar, eff)
    cei = cost_efficiency(ses, spent)
    values = (ecr, iisr, ar, tools.measure, facts.measure, eff, ses, cei)
    return _Marks(dict(zip(METRICS, values, strict=True)), facts.vacuous, tools.unchecked)


def _broken_marks(fault: Fault, spent: Spent) -> _Marks:
    """Return 0 in the paper's seven metrics where the agent is to blame, else no value at all."""
    if fault.blame != "agent":
        return _Marks(dict.fromkeys(METRICS, Measure(None, class_of(fault), fault.message)))
    nothing = Measure(0.0, why=fault.message)
    return _Marks({**dict.fromkeys(EARNED_METRICS, nothing), "cei": cost_efficiency(nothing, spent)})


def _classes(measures: Mapping[MetricName, Measure]) -> dict[MetricName, Outcome]:
    classes = {name: measures[name].outcome_class for name in METRICS}
    return {name: outcome for name, outcome in classes.items() if outcome is not None}


def _bounds(measures: Mapping[MetricName, Measure]) -> dict[MetricName, Bounds]:
    bounds = {name: measures[name].bounds for name in METRICS}
    return {name: found for name, found in bounds.items() if found is not None}


def _attributes(case: Case) -> dict[str, str]:
    """Return what the case is grouped by besides its domains."""
    attributes = dict(case.attributes)
    if case.difficulty:
        attributes["difficulty"] = case.difficulty
    sources = sorted({factor.source for factor in case.truth.implicit if factor.source != "unstated"})
    if sources:
        attributes[SOURCE_ATTRIBUTE] = ", ".join(sources)
    return attributes


def _stray_labels(case: Case, labels: Mapping[str, Label]) -> tuple[str, ...]:
    known = {factor.id for factor in case.truth.factors}
    stray = sorted(set(labels) - known)
    return (f"the verdict labels factors that the case does not have: {', '.join(stray)}",) if stray else ()


_QUESTION_MARKS = ("?", "？")


def count_provenance(calls: Sequence[Step]) -> SandboxCounts:
    """Return how many tool answers came from where; calls that failed on name or arguments have no provenance."""
    kinds = Counter(call.provenance.kind if call.provenance else "miss" for call in calls if _answered(call))
    return SandboxCounts(**{str(kind): number for kind, number in kinds.items()})


def _answered(call: Step) -> bool:
    return call.provenance is not None or call.status == "miss"


def count_calls(calls: Sequence[Step]) -> CallCounts:
    """Return how often tools were called: in all, with an error as the answer, and by name (sorted)."""
    by_tool = Counter(call.tool for call in calls)
    failed = sum(call.status == "error" for call in calls)
    return CallCounts(total=len(calls), failed=failed, by_tool=dict(sorted(by_tool.items())))


def count_clarifications(replies: Sequence[Turn]) -> int:
    """Return how many replies ask something: those that contain a question mark."""
    return sum(any(mark in turn.text for mark in _QUESTION_MARKS) for turn in replies)


def sum_spent(replies: Sequence[Turn]) -> Spent:
    """Return the totals of what the agent spent; null where one of its replies does not say."""
    cost = _total([turn.usage.cost for turn in replies])
    return Spent(
        input_tokens=_whole(_total([turn.usage.input_tokens for turn in replies])),
        output_tokens=_whole(_total([turn.usage.output_tokens for turn in replies])),
        cost=cost,
    )


def _total(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return math.fsum(known) if known and len(known) == len(parts) else None


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
