"""The decision of a run: passed, failed, inconclusive or invalid, each with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_mapsat.metrics import summarise
from pytest_mapsat.model import UNDECIDED, Aggregate, Gate, GateOutcome, Label, Scorecard, did_you_mean

from .coverage import Coverage
from .thresholds import Threshold

_WAYS_ON = (
    "undecided labels are settled by people's decisions (mapsat review RUN) or by a model judge "
    "(mapsat regrade RUN --judge=llm:MODEL, not in this version yet)"
)
_RECORDS = "calls without a record leave labels open: docs/sandbox.md says how to add records"

#: A mean this little below its threshold holds: thresholds are written in decimals, means are sums of floats.
TOLERANCE = 1e-9

_SEVERITY: tuple[GateOutcome, ...] = ("passed", "inconclusive", "failed", "invalid")
_UNKNOWN = ("unevaluated", "error")
_SHOWN_ERRORS = 3


@dataclass(frozen=True, slots=True)
class _Finding:
    """What was found, and whether labels that are not known are the cause."""

    outcome: GateOutcome
    reason: str
    open: bool = False


def decide(
    cards: Sequence[Scorecard], thresholds: Sequence[Threshold], *, allowed_unevaluated: int, coverage: Coverage
) -> Gate:
    """Return the decision of a run.

    Args:
        cards: all scorecards of the run.
        thresholds: what must hold.
        allowed_unevaluated: how many cases may be lost, have somebody's fault, or have an asserted label that is not known. A metric
            between bounds is not counted: its bounds settle the thresholds.
        coverage: how much of the suite has run.

    Returns:
        The gravest of: ``invalid`` (a file or case that could not be read, more unevaluated cases than allowed), ``failed`` (a mean below its
        threshold even at its upper bound), ``inconclusive`` (a threshold that could not be decided, or that lies between the bounds),
        ``passed`` (every mean holds even at its lower bound). Reasons are one line each, the gravest first, then the ways on.
    """
    decidable = [threshold for threshold in thresholds if coverage.covers(threshold.domain)]
    findings = [] if thresholds else [_Finding("passed", "no threshold was given: only the items decide")]
    findings += [*_collection(coverage), *_unevaluated(cards, coverage, decidable, allowed_unevaluated)]
    summaries = {domain: summarise(_members(cards, domain)) for domain in {one.domain for one in decidable}}
    for threshold in thresholds:
        summary = summaries.get(threshold.domain)
        findings.append(_skip(threshold, coverage) if summary is None else _check(threshold, summary, cards))
    # The sort is stable: thresholds of one outcome stay in the order they were given.
    findings.sort(key=lambda finding: -_SEVERITY.index(finding.outcome))
    return Gate(
        outcome=findings[0].outcome,
        reasons=(*(finding.reason for finding in findings), *_ways_on(findings, cards)),
        thresholds=tuple(f"{threshold.name}>={threshold.minimum:g}" for threshold in thresholds),
    )


def _collection(coverage: Coverage) -> Iterator[_Finding]:
    if coverage.unfinished:
        yield _Finding("invalid", coverage.unfinished)
    if coverage.errors:
        more = len(coverage.errors) - _SHOWN_ERRORS
        named = ", ".join(coverage.errors[:_SHOWN_ERRORS]) + (f" and {more} more" if more > 0 else "")
        yield _Finding("invalid", f"{_counted(len(coverage.errors), 'place')} could not be read: {named}")


def _ways_on(findings: Sequence[_Finding], cards: Sequence[Scorecard]) -> Iterator[str]:
    """Say what would settle the labels that keep the gate from deciding."""
    if not any(finding.open and finding.outcome != "passed" for finding in findings):
        return
    blames = {label.blame for card in cards for label in card.labels if label.bounded}
    if None in blames:
        yield _WAYS_ON
    if "sandbox" in blames:
        yield _RECORDS


def _unevaluated(
    cards: Sequence[Scorecard], coverage: Coverage, thresholds: Sequence[Threshold], allowed: int
) -> Iterator[_Finding]:
    """Count the cases without a scorecard, with the fault of somebody other than the agent, or with an asserted label that is not known."""
    lost: dict[str, str] = {one.id: "lost" for one in coverage.lost}
    for card in sorted(cards, key=lambda card: (card.id, card.trial)):
        blame = _lost_to(card, thresholds)
        if blame is not None:
            lost.setdefault(card.id, blame)
    blames = Counter(lost.values())
    if not blames:
        return
    named = ", ".join(f"{blame} {number}" for blame, number in sorted(blames.items()))
    count = blames.total()
    outcome: GateOutcome = "invalid" if count > allowed else "passed"
    reason = f"{_counted(count, 'case')} not evaluated ({named}), {allowed} allowed"
    yield _Finding(outcome, reason, open=bool(blames.keys() & {UNDECIDED, "sandbox"}))


def _lost_to(card: Scorecard, thresholds: Sequence[Threshold]) -> str | None:
    """Return who or what keeps the card from counting as evaluated, or None where nothing does."""
    if card.outcome == "unevaluated" or (card.outcome == "error" and card.blame != "agent"):
        return card.blame or (UNDECIDED if card.unknown else "judge")
    if card.unknown:
        labels = {label.factor: label for label in card.labels}
        blames = [_blame(card, labels.get(name), name) for name in card.unknown]
        return next((blame for blame in blames if blame != UNDECIDED), UNDECIDED)
    gated = {one.metric for one in thresholds if not one.domain or one.domain in card.domains}
    # What is left out of a gated mean must not be left out in silence; what stays in it at its bounds is not.
    missing = [
        metric
        for metric, outcome in card.classes.items()
        if metric in gated and outcome in _UNKNOWN and metric not in card.bounds
    ]
    if not missing:
        return None
    if (broken := next((card.faults[metric] for metric in missing if metric in card.faults), None)) is not None:
        return broken.blame
    return next((label.blame for label in card.labels if label.outcome in _UNKNOWN and label.blame), "judge")


def _blame(card: Scorecard, label: Label | None, name: str) -> str:
    if label is None and name in card.faults:
        return card.faults[name].blame
    if label is None:
        return UNDECIDED if name in card.bounds else "judge"
    return label.blame or (UNDECIDED if label.undecided else "judge")


def _members(cards: Sequence[Scorecard], domain: str) -> list[Scorecard]:
    return [card for card in cards if not domain or domain in card.domains]


def _skip(threshold: Threshold, coverage: Coverage) -> _Finding:
    """A threshold of the ini is meant for whole runs, so part of the suite is no reason to fail; one just typed is."""
    if threshold.origin == "ini":
        return _Finding("passed", f"{threshold.name} was not checked: part of the suite ran ({coverage})")
    return _Finding("inconclusive", f"{threshold.name} is undecided: part of the suite ran ({coverage})")


def _check(threshold: Threshold, summary: Mapping[str, Aggregate], cards: Sequence[Scorecard]) -> _Finding:
    aggregate = summary.get(threshold.metric)
    if aggregate is None:
        return _Finding("inconclusive", f"{threshold.name} is undecided: {_no_case(threshold, cards)}")
    if aggregate.bounds is not None:
        return _compare(threshold, aggregate, *aggregate.bounds)
    if not aggregate.left_out:
        return _Finding("inconclusive", f"{threshold.name} is undecided: {_no_case(threshold, cards)}")
    classes = ", ".join(f"{name} {number}" for name, number in aggregate.left_out.items())
    return _Finding("inconclusive", f"{threshold.name} is undecided: none of {_cases(aggregate)} has it ({classes})")


def _no_case(threshold: Threshold, cards: Sequence[Scorecard]) -> str:
    if _members(cards, threshold.domain):
        return f"no suite of these cases declares the metric {threshold.metric}"
    if not threshold.domain:
        return "no case has run"
    hint = did_you_mean(threshold.domain, sorted({domain for card in cards for domain in card.domains}))
    return f"no case of domain {threshold.domain!r} has run" + (f", {hint}" if hint else "")


def _compare(threshold: Threshold, aggregate: Aggregate, least: float, most: float) -> _Finding:
    """Hold the mean against its threshold: it holds at its lower bound, breaks at its upper one, and is undecided between."""
    shown = "-".join(dict.fromkeys(_shown(end, threshold.minimum) for end in (least, most)))
    share = f"{aggregate.n} of {_cases(aggregate)}" + (" decided" if aggregate.undecided else "")
    where = f"({share}; {_spread(threshold, aggregate)})"
    if least >= threshold.minimum - TOLERANCE:
        return _Finding("passed", f"{threshold.name} {shown} >= {threshold.minimum:g} {where}")
    if most < threshold.minimum - TOLERANCE:
        return _Finding("failed", f"{threshold.name} {shown} < {threshold.minimum:g} {where}")
    return _Finding(
        "inconclusive", f"{threshold.name} {shown} is undecided at {threshold.minimum:g} {where}", open=True
    )


def _shown(mean: float, minimum: float) -> str:
    """Return the mean with as many digits as tell it from the threshold."""
    for digits in (4, 6, 9):
        text = f"{mean:.{digits}f}"
        if abs(mean - minimum) <= TOLERANCE or float(text) != minimum:
            return text
    return repr(mean)


def _spread(threshold: Threshold, aggregate: Aggregate) -> str:
    """Say how sure the comparison is: a threshold inside the interval could have gone the other way."""
    low, high = aggregate.low, aggregate.high
    if low is None or high is None:
        return "too few for an interval"
    if low == high:
        return "all cases equal"
    covered = "covers it" if low <= threshold.minimum <= high else "clear of it"
    return f"95% {low:.3f}-{high:.3f} {covered}"


def _cases(aggregate: Aggregate) -> str:
    return _counted(aggregate.n + aggregate.undecided + sum(aggregate.left_out.values()), "case")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
