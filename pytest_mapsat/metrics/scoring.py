"""One episode, judged, becomes a scorecard: the metrics of its metric sets, the item's outcome, and what it used."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

from pytest_mapsat.model import (
    BESIDES,
    RESERVED,
    UNDECIDED,
    USER,
    Case,
    Fault,
    Label,
    Misread,
    Scorecard,
    Tool,
    Trajectory,
    Turn,
    UsageError,
    Verdict,
    mismatches,
)

from .counts import count_calls, count_clarifications, count_provenance, sum_sandbox, sum_usage, sum_user
from .gather import OURS
from .labels import Measure
from .metric_set import MetricInput, MetricSet, measure
from .msb import MSB
from .outcome import ASSERTABLE, ItemOutcome, broken_item, class_of, item_outcome
from .tools import ArgumentProblems, SameValue, Satisfies, no_problems
from .weights import DEFAULT_WEIGHTS, WeightTable

_SHOWN_MISMATCHES = 3
_NO_TOOLS: Mapping[str, Tool] = MappingProxyType({})

#: The share of cases whose item passed; an aggregate beside the metrics.
PASS_RATE = "pass_rate"  # noqa: S105 - a rate, not a password

#: The attribute that names the sources of a case's implicit requirements, joined by ", ".
SOURCE_ATTRIBUTE = "requirement_source"


def score(
    case: Case,
    trajectory: Trajectory,
    verdict: Verdict,
    *,
    asserted: frozenset[str],
    satisfies: Satisfies,
    weights: WeightTable = DEFAULT_WEIGHTS,
    tools: Mapping[str, Tool] = _NO_TOOLS,
    metric_sets: Sequence[MetricSet] = (MSB,),
    success: str | None = None,
    argument_problems: ArgumentProblems = no_problems,
    same_value: SameValue = operator.eq,
    **known: Any,
) -> Scorecard:
    """Return the scorecard of one judged episode.

    Args:
        case: the case. In the profile setting it comes without its profile tools among the expected ones.
        trajectory: what happened.
        verdict: what the judge said of it.
        asserted: what fails the item, members of ``ASSERTABLE``; empty: violations are scored, only a broken episode fails.
        satisfies: compares an argument with a match (``pytest_mapsat.sandbox.satisfies``).
        weights: the numbers that weights are computed with (A.2).
        tools: the suite's tools by name.
        metric_sets: the metric sets that the suite declares.
        success: the metric that is 1 where the case is done.
        argument_problems: says why a tool cannot take some arguments (``pytest_mapsat.sandbox.argument_problems``).
        same_value: says whether two values are one in another spelling (``pytest_mapsat.sandbox.same_value``).
        known: fields of the scorecard that nothing is computed for, such as ``nodeid`` and ``line``.

    Returns:
        The scorecard. An episode that the agent broke scores 0 in the metrics that are earned and fails; one that somebody else broke has no
        metrics. A metric set that breaks leaves its own metrics without a value, laid to the infrastructure, and changes nothing else.

    Raises:
        UsageError: ``asserted`` has an unknown member.
    """
    _check_asserted(asserted)
    scene = MetricInput(
        case, trajectory, verdict, tools, satisfies, weights, argument_problems=argument_problems, same_value=same_value
    )
    measures, faults = _measured(metric_sets, scene, success)
    item, broken = _ended(scene, measures, asserted, success)
    if broken is not None and scene.fault is None:
        measures = dict.fromkeys(measures, Measure(None, class_of(broken), broken.message))
    return Scorecard(
        **_of_case(case),
        **_of_item(item, measures),
        **_used(scene),
        faults=faults,
        labels=verdict.labels,
        explicit_count=verdict.explicit_count,
        misread=None if broken else _misread(scene, metric_sets, asserted, success, measures),
        nothing_claimed=0 if broken else scene.faithfulness.nothing_claimed,
        unchecked_rules=0 if broken else scene.selection.unchecked,
        warnings=_warnings(scene, faults),
        trajectory=trajectory,
        **known,
    )


def _misread(
    scene: MetricInput,
    metric_sets: Sequence[MetricSet],
    asserted: frozenset[str],
    success: str | None,
    measures: Mapping[str, Measure],
) -> Misread | None:
    """Return what ``pass_rate``, and each metric that it changes, comes to with all labels that rest on reading prose left open; None where none does."""
    misread = scene.verdict.misread
    if misread is None or not any(label.reading and label.by == "checks" for label in scene.verdict.labels):
        return None
    labels = tuple(
        _opened(label) if label.reading and label.by == "checks" else label for label in scene.verdict.labels
    )
    unread = replace(scene, verdict=scene.verdict.model_copy(update={"labels": labels}))
    opened, _ = _measured(metric_sets, unread, success)
    item, _ = _ended(unread, opened, asserted, success)
    ends = {"passed": (1.0, 1.0), "failed": (0.0, 0.0)}.get(item.outcome, (0.0, 1.0))
    bounds = {name: one.span for name, one in opened.items() if one.span and one.span != measures[name].span}
    return misread.model_copy(update={"bounds": bounds | {PASS_RATE: ends}})


def _opened(label: Label) -> Label:
    return label.model_copy(update={"outcome": "unevaluated", "value": None, "why": UNDECIDED, "blame": None})


def _ended(
    scene: MetricInput, measures: Mapping[str, Measure], asserted: frozenset[str], success: str | None
) -> tuple[ItemOutcome, Fault | None]:
    """Return how the item ends, and what broke the episode, or made it worth nothing."""
    fault = scene.fault
    if fault is None:
        done = (success, measures[success]) if success is not None and success in measures else None
        count = scene.verdict.explicit_count
        item = item_outcome(scene.case, scene.labels, asserted=asserted, count=count, success=done)
        # What an agent was told wrong, or not told, is no failure of its own.
        fault = _misled(scene.verdict) if item.outcome == "failed" else None
        if fault is None:
            return item, None
    return broken_item(fault), fault


def _of_case(case: Case) -> dict[str, Any]:
    """Return what a scorecard says of the case alone."""
    return {"id": case.id, "domains": case.domains, "attributes": _attributes(case), "group": case.group}


def _of_item(item: ItemOutcome, measures: Mapping[str, Measure]) -> dict[str, Any]:
    """Return how the item ended, and each metric with its value, or with why it has none."""
    classes = {name: found.outcome_class for name, found in measures.items() if found.outcome_class is not None}
    bounds = {name: found.bounds for name, found in measures.items() if found.bounds is not None}
    return {
        "outcome": item.outcome,
        "blame": item.blame,
        "reason": item.reason,
        "unknown": item.unknown,
        "metrics": {name: found.value for name, found in measures.items()},
        "classes": classes,
        "bounds": bounds,
    }


def _used(scene: MetricInput) -> dict[str, Any]:
    """Return what the episode used, and by whom."""
    trajectory, verdict = scene.trajectory, scene.verdict
    calls, replies = trajectory.calls, trajectory.replies
    return {
        "trial": trajectory.trial,
        "sandbox": count_provenance(calls),
        "calls": count_calls(calls),
        "turns": len(replies),
        "clarifications": count_clarifications(replies),
        "spent": scene.spent,
        "user_spent": sum_user(trajectory.turns),
        "judge_spent": None if verdict.usage is None else sum_usage([verdict.usage]),
        "sandbox_spent": sum_sandbox(calls),
    }


def _warnings(scene: MetricInput, faults: Mapping[str, Fault]) -> tuple[str, ...]:
    """Return what is odd about an episode, about its verdict, and in a metric set."""
    return (
        *scene.trajectory.warnings,
        *scene.verdict.warnings,
        *_stray_labels(scene.case, scene.labels),
        *_unasked(scene.case, scene.trajectory.replies),
        *dict.fromkeys(one.message for one in faults.values()),
    )


def _measured(
    metric_sets: Sequence[MetricSet], scene: MetricInput, success: str | None
) -> tuple[dict[str, Measure], dict[str, Fault]]:
    """Return the metrics of all metric sets, and what broke in a metric set by each metric that it has left.

    The metric set of what counts as done is measured first: others may rest on it.
    """
    measures: dict[str, Measure] = {}
    faults: dict[str, Fault] = {}
    for metric_set in sorted(metric_sets, key=lambda one: success not in one.names):
        found, fault = measure(metric_set, scene, trusted=any(metric_set is one for one in OURS))
        measures |= found
        if success in found:
            scene = scene.knowing(found[success])
        if fault is not None:
            faults |= {name: fault for name, one in found.items() if one.value is None}
    return {metric.name: measures[metric.name] for metric_set in metric_sets for metric in metric_set.metrics}, faults


def _misled(verdict: Verdict) -> Fault | None:
    """Return what a user did that may have misled the agent; None where it did nothing of the kind."""
    slips = (label for label in verdict.labels if label.kind == USER and label.blame == "user")
    return next((Fault(blame="user", message=label.why) for label in slips), None)


def _check_asserted(asserted: frozenset[str]) -> None:
    unknown = asserted.difference(ASSERTABLE)
    if unknown:
        raise UsageError(f"cannot assert {', '.join(sorted(unknown))}; known are {', '.join(ASSERTABLE)}")


def _attributes(case: Case) -> dict[str, str]:
    """Return what the case is grouped by besides its domains."""
    attributes = dict(case.attributes)
    if case.difficulty:
        attributes["difficulty"] = case.difficulty
    sources = sorted({requirement.source for requirement in case.truth.implicit if requirement.source != "unstated"})
    if sources:
        attributes[SOURCE_ATTRIBUTE] = ", ".join(sources)
    return attributes


def _unasked(case: Case, replies: Sequence[Turn]) -> Iterator[str]:
    """Yield where the structured output of replies is not what the case asks for."""
    schema = case.visible.output_schema
    if not schema:
        return
    named = schema.get("properties", {})
    for number, reply in enumerate(replies, 1):
        if reply.output is not None:
            own = {name: value for name, value in reply.output.items() if name not in RESERVED or name in named}
            found = list(islice(mismatches(schema, own, "output"), _SHOWN_MISMATCHES + 1))
            more = ", and more" if len(found) > _SHOWN_MISMATCHES else ""
            if found:
                yield f"reply {number} does not give what the case asks for: {'; '.join(found[:_SHOWN_MISMATCHES])}{more}"


def _stray_labels(case: Case, labels: Mapping[str, Label]) -> tuple[str, ...]:
    unknown = labels.keys() - {requirement.id for requirement in case.truth.requirements}
    stray = sorted([name for name in unknown if labels[name].kind not in BESIDES])
    return (f"the verdict labels requirements that the case does not have: {', '.join(stray)}",) if stray else ()
