"""One episode, judged, becomes a scorecard: its metrics, whether the item passes and who is to blame where it does not, and what it used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.model import (
    BESIDES,
    PASSED,
    PROVENANCE_KINDS,
    USER,
    Blame,
    CallCounts,
    Count,
    Fault,
    Label,
    Misread,
    Outcome,
    ProvenanceKind,
    Scorecard,
    Step,
    Trajectory,
    Turn,
    Usage,
    UsageError,
    Verdict,
    mismatches,
)

from .metric_set import (
    MSB,
    LabelReading,
    Measure,
    MetricInput,
    MetricSet,
    between,
    class_of,
    measure,
    nothing_asked,
    rests_on_reading,
    says_usage,
    sum_usage,
)

if TYPE_CHECKING:
    from pytest_mapsat.model import Case, Tool

_SHOWN_MISMATCHES = 3
_NO_TOOLS: Mapping[str, Tool] = MappingProxyType({})

#: The share of cases whose item passed; an aggregate beside the metrics.
PASS_RATE = PASSED.name

#: The attribute that names the sources of a case's hard and soft requirements, joined by ", ".
SOURCE_ATTRIBUTE = "requirement_source"


#: What may be asserted of an item: the requirements of each kind, soft ones in full, and the metric that the suite calls its success.
ASSERTABLE = ("hard", "facts", "policies", "asked", "soft", "success")

_LONGEST_REASON = 300
#: Products of floats that are all but 1.
_TOLERANCE = 1e-9
_UNKNOWN: tuple[Outcome, ...] = ("error", "unevaluated")


def score(
    case: Case,
    trajectory: Trajectory,
    verdict: Verdict,
    *,
    asserted: frozenset[str],
    tools: Mapping[str, Tool] = _NO_TOOLS,
    metric_sets: Sequence[MetricSet] = (MSB,),
    success: str | None = None,
    **known: Any,
) -> Scorecard:
    """Return the scorecard of one judged episode.

    Args:
        case: the case. In the profile setting it comes without its profile tools among the expected ones.
        trajectory: what happened.
        verdict: what the judge said of it.
        asserted: what fails the item, members of ``ASSERTABLE``; empty: violations are scored, only a broken episode fails.
        tools: the suite's tools by name.
        metric_sets: the metric sets that the suite declares.
        success: the metric that is 1 where the case is done.
        known: fields of the scorecard that nothing is computed for, such as ``nodeid`` and ``line``.

    Returns:
        The scorecard. An episode that the agent broke scores 0 in the metrics that are earned and fails; one that somebody else broke has no
        metrics. A metric set that breaks leaves its own metrics without a value, laid to the infrastructure, and changes nothing else.

    Raises:
        UsageError: ``asserted`` has an unknown member.
    """
    if unknown := asserted.difference(ASSERTABLE):
        raise UsageError(f"cannot assert {', '.join(sorted(unknown))}; known are {', '.join(ASSERTABLE)}")
    metric_input = MetricInput(case, trajectory, verdict, tools)
    measures, faults = _measured(metric_sets, metric_input, success)
    item, broken = _ended(metric_input, measures, asserted, success)
    if broken is not None and metric_input.fault is None:
        measures = dict.fromkeys(measures, Measure(None, class_of(broken), broken.message))
    return Scorecard(
        faults=faults,
        misread=None if broken else _misread(metric_input, metric_sets, asserted, success, measures),
        nothing_claimed=0 if broken else metric_input.faithfulness.nothing_claimed,
        unchecked_rules=0 if broken else metric_input.selection.unchecked,
        warnings=_warnings(metric_input, faults),
        spent=metric_input.spent,
        **_of_case(case),
        **item._asdict(),
        **_by_metric(measures),
        **_counted(trajectory, verdict),
        **known,
    )


def _by_metric(measures: Mapping[str, Measure]) -> dict[str, Any]:
    """Return measures as fields of a scorecard: values, the classes of missing values, and bounds, each by metric."""
    return {
        "metrics": {name: measured.value for name, measured in measures.items()},
        "classes": {name: measured.outcome_class for name, measured in measures.items() if measured.outcome_class},
        "bounds": {name: measured.bounds for name, measured in measures.items() if measured.bounds is not None},
    }


def _warnings(metric_input: MetricInput, faults: Mapping[str, Fault]) -> tuple[str, ...]:
    """Return the warnings about an episode: on its dialogue, its labels, its output and its metric sets."""
    case, trajectory, verdict = metric_input.case, metric_input.trajectory, metric_input.verdict
    return (
        *trajectory.warnings,
        *(why for _, why in trajectory.lacking(case.world.events)),
        *verdict.warnings,
        *_stray_labels(case, metric_input.labels),
        *_unasked(case, trajectory.replies),
        *dict.fromkeys(fault.message for fault in faults.values()),
    )


def _counted(trajectory: Trajectory, verdict: Verdict) -> dict[str, Any]:
    """Return fields of a scorecard: the dialogue, its labels, its counts, and the spending of user and judge."""
    calls, replies = trajectory.calls, trajectory.replies
    spent: dict[str, list[Usage]] = {
        "user_spent": [turn.usage for turn in trajectory.turns if turn.role == "user" and says_usage(turn.usage)],
        "judge_spent": [verdict.usage] if verdict.usage else [],
    }
    return {
        "trial": trajectory.trial,
        "trajectory": trajectory,
        "labels": verdict.labels,
        "explicit_count": verdict.explicit_count,
        "sandbox": _provenance(calls),
        "calls": _call_counts(calls),
        "turns": len(replies),
        "clarifications": sum(["?" in turn.text or "？" in turn.text for turn in replies]),
        **{name: sum_usage(usages) if usages else None for name, usages in spent.items()},
    }


def _provenance(calls: Sequence[Step]) -> dict[ProvenanceKind, int]:
    """Return how many tool answers came from each kind of source."""
    kinds = [call.status if call.provenance is None else call.provenance.kind for call in calls]
    counts = {kind: kinds.count(kind) for kind in PROVENANCE_KINDS}
    return {kind: count for kind, count in counts.items() if count or kind != "fault"}


def _call_counts(calls: Sequence[Step]) -> CallCounts:
    """Return the number of calls: in total, with an error, refused, over the limit, and by tool."""
    statuses = [call.status for call in calls if not call.fault]
    names = [call.tool for call in calls]
    return CallCounts(
        total=len(calls),
        failed=statuses.count("error"),
        refused=statuses.count("refused"),
        over_limit=statuses.count("over_limit"),
        by_tool={name: names.count(name) for name in sorted(set(names))},
    )


def _misread(
    metric_input: MetricInput,
    metric_sets: Sequence[MetricSet],
    asserted: frozenset[str],
    success: str | None,
    measures: Mapping[str, Measure],
) -> Misread | None:
    """Return bounds of metrics with all labels based on prose left open; None if no label is based on prose."""
    misread = metric_input.verdict.misread
    if misread is None or not any(map(rests_on_reading, metric_input.verdict.labels)):
        return None
    unread = metric_input.left_open()
    opened, _ = _measured(metric_sets, unread, success)
    item, _ = _ended(unread, opened, asserted, success)
    ends = {"passed": (1.0, 1.0), "failed": (0.0, 0.0)}.get(item.outcome, (0.0, 1.0))
    bounds = {
        name: span
        for name, measured in opened.items()
        if measured != measures[name] and (span := measured.span) and span != measures[name].span
    }
    return misread.model_copy(update={"bounds": bounds | {PASS_RATE: ends}})


def _ended(
    metric_input: MetricInput, measures: Mapping[str, Measure], asserted: frozenset[str], success: str | None
) -> tuple[ItemOutcome, Fault | None]:
    """Return the outcome of the item, and the fault that broke or spoiled the episode; None if there is no fault."""
    fault = metric_input.fault
    if fault is None:
        done = (success, measures[success]) if success is not None and success in measures else None
        count = metric_input.verdict.explicit_count
        item = item_outcome(metric_input.case, metric_input.readings, asserted=asserted, count=count, success=done)
        # What an agent was told wrong, or not told, is no failure of its own.
        fault = _misled(metric_input.verdict) if item.outcome == "failed" else None
        if fault is None:
            return item, None
    return broken_item(fault), fault


def _measured(
    metric_sets: Sequence[MetricSet], metric_input: MetricInput, success: str | None
) -> tuple[dict[str, Measure], dict[str, Fault]]:
    """Return the metrics of all metric sets, and the fault for each metric that a broken metric set omitted.

    The metric set of what counts as done is measured first: others may rest on it.
    """
    measures: dict[str, Measure] = {}
    faults: dict[str, Fault] = {}
    for metric_set in sorted(metric_sets, key=lambda metric_set: success not in metric_set.names):
        given, fault = measure(metric_set, metric_input)
        measures |= given
        if success in given:
            metric_input = metric_input.knowing(given[success])
        if fault is not None:
            faults |= {name: fault for name, measured in given.items() if measured.value is None}
    return {metric.name: measures[metric.name] for metric_set in metric_sets for metric in metric_set.metrics}, faults


def _misled(verdict: Verdict) -> Fault | None:
    """Return the simulated user's misleading behaviour as a fault; None if there was none."""
    slips = (label for label in verdict.labels if label.kind == USER and label.blame == "user")
    return next((Fault(blame="user", message=label.why) for label in slips), None)


def _of_case(case: Case) -> dict[str, Any]:
    """Return a case's id, domains, attributes and group as fields of a scorecard."""
    attributes = dict(case.attributes)
    if case.difficulty:
        attributes["difficulty"] = case.difficulty
    sources = sorted({requirement.source for requirement in case.truth.implicit if requirement.source != "unstated"})
    if sources:
        attributes[SOURCE_ATTRIBUTE] = ", ".join(sources)
    return {"id": case.id, "domains": case.domains, "attributes": attributes, "group": case.group}


def _unasked(case: Case, replies: Sequence[Turn]) -> Iterator[str]:
    """Yield a warning for each reply whose structured output does not match the case's schema."""
    schema = case.visible.output_schema
    if not schema:
        return
    for number, reply in enumerate(replies, 1):
        if reply.output is not None:
            wrong = list(islice(mismatches(schema, reply.output, "output"), _SHOWN_MISMATCHES + 1))
            more = ", and more" if len(wrong) > _SHOWN_MISMATCHES else ""
            if wrong:
                yield f"reply {number} does not give what the case asks for: {'; '.join(wrong[:_SHOWN_MISMATCHES])}{more}"


def _stray_labels(case: Case, labels: Mapping[str, Label]) -> tuple[str, ...]:
    """Return a warning about labels of requirements that the case does not have; empty if there are none."""
    unknown = labels.keys() - {requirement.id for requirement in case.truth.requirements}
    stray = sorted([name for name in unknown if labels[name].kind not in BESIDES])
    return (f"the verdict labels requirements that the case does not have: {', '.join(stray)}",) if stray else ()


class ItemOutcome(NamedTuple):
    """The outcome of one item.

    Attributes:
        outcome: ``passed``, ``failed``, ``unevaluated`` (an asserted label is not known), ``error`` (not the agent's fault) or ``not_applicable`` (nothing
            is asserted).
        blame: who it is laid to when not passed; None where it is undecided.
        reason: why, on one line; empty when passed on labels.
        unknown: the asserted requirements whose label is not known, and the metric of success where it is not.
    """

    outcome: Outcome
    blame: Blame | None = None
    reason: str = ""
    unknown: tuple[str, ...] = ()


def broken_item(fault: Fault) -> ItemOutcome:
    """Return the outcome of an item whose episode a fault broke, whatever is asserted."""
    return ItemOutcome(class_of(fault), fault.blame, _one_line(fault.message))


def item_outcome(
    case: Case,
    readings: Mapping[str, LabelReading],
    *,
    asserted: frozenset[str],
    count: Count | None = None,
    success: tuple[str, Measure] | None = None,
) -> ItemOutcome:
    """Return the outcome of an item under the asserted labels.

    It is ``failed`` when an asserted label failed; else ``error`` or ``unevaluated`` when one is not known, or when the case asks for nothing that could
    be judged; else ``passed``. A soft requirement holds when it is satisfied in full. ``success``: the metric that is 1 where the case is done, by name.
    """
    asserted_readings: list[tuple[str, LabelReading]] = []
    for kind in ASSERTABLE:
        if kind == "success" and kind in asserted:
            asserted_readings += [(kind, reading) for reading in _success(success)]
        elif kind in asserted:
            own = [readings[requirement.id] for requirement in getattr(case.truth, kind)]
            asserted_readings += [(kind, reading) for reading in (_with_count(own, count) if kind == "asked" else own)]
    failing = [pair for pair in asserted_readings if pair[1].value is not None and pair[1].value < 1]
    unknown = [pair for pair in asserted_readings if pair[1].outcome in _UNKNOWN]
    names = tuple([reading.requirement for _, reading in unknown])
    if failing:
        return ItemOutcome("failed", _blame([reading for _, reading in failing]), _reason(failing, "failed:"), names)
    if unknown:
        # Faults are told before undecided labels.
        unknown.sort(key=lambda pair: (_UNKNOWN.index(pair[1].outcome), pair[1].undecided))
        first = unknown[0][1]
        # The reason of an undecided label begins with that word.
        return ItemOutcome(
            first.outcome, first.blame, _reason(unknown, "is" if first.undecided else "could not be judged:"), names
        )
    if why := nothing_asked(case):
        return ItemOutcome("unevaluated", "judge", why)
    if asserted and not asserted_readings:
        kinds = ", ".join(kind for kind in ASSERTABLE if kind in asserted)
        return ItemOutcome("not_applicable", None, f"nothing is asserted: the case has no requirement of {kinds}")
    return ItemOutcome("passed")


def _success(success: tuple[str, Measure] | None) -> Sequence[LabelReading]:
    """Return a reading of the success metric: passed at 1, failed if 1 is out of reach; empty if there is no such metric."""
    if success is None:
        return ()
    name, measure = success
    done = achieved(measure)
    if measure.span is None or done.span is None:
        return (LabelReading(name, None, done.outcome_class or "unevaluated", "judge", done.why),)
    if done.value is None:
        return (LabelReading(name, None, "unevaluated", None, done.why, bounded=True),)
    outcome: Outcome = "passed" if done.value else "failed"
    return (LabelReading(name, done.value, outcome, None, f"it is {measure.span[1]:g}, done is 1"),)


def achieved(measure: Measure) -> Measure:
    """Return 1 if a success metric is 1, 0 if 1 is out of reach, otherwise an open measure between 0 and 1."""
    if measure.span is None:
        return measure
    least, most = (float(end >= 1 - _TOLERANCE) for end in measure.span)
    return between(least, most, measure.why)


def _with_count(readings: Sequence[LabelReading], count: Count | None) -> Sequence[LabelReading]:
    """Return the readings; if labels are unknown, a single reading from the count of met requirements."""
    if count is None or count.total != len(readings) or count.met > count.total:
        return readings
    if all(reading.outcome != "unevaluated" for reading in readings):
        return readings
    why = f"{count.met} of {count.total} explicit requirements are met"
    all_met = count.met == count.total
    return (LabelReading("(count)", float(all_met), "passed" if all_met else "failed", None, why),)


def _blame(failing: Sequence[LabelReading]) -> Blame:
    """Return the party to blame for a failure: the agent, unless every failing label names another party."""
    blames: list[Blame] = [reading.blame or "agent" for reading in failing]
    return "agent" if "agent" in blames else blames[0]


def _reason(readings: Sequence[tuple[str, LabelReading]], verb: str) -> str:
    """Return the reason of the first label on one line, and the number of further labels."""
    kind, first = readings[0]
    more = f" (and {len(readings) - 1} more)" if len(readings) > 1 else ""
    return _one_line(f"{kind} {first.requirement} {verb} {first.why}".strip().removesuffix(":"), more)


def _one_line(text: str, end: str = "") -> str:
    """Return a text on one line, cut to 300 characters, followed by ``end``."""
    line = " ".join(text.split())
    return (line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "...") + end
