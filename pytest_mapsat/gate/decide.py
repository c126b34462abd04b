"""The decision of a run: passed, failed, inconclusive or invalid, each with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_mapsat.metrics import summarise
from pytest_mapsat.model import Aggregate, Gate, GateOutcome, Scorecard, did_you_mean

from .coverage import Coverage
from .thresholds import Threshold

#: A mean this little below its threshold holds: thresholds are written in decimals, means are sums of floats.
TOLERANCE = 1e-9

_SEVERITY: tuple[GateOutcome, ...] = ("passed", "inconclusive", "failed", "invalid")
_UNKNOWN = ("unevaluated", "error")
_SHOWN_ERRORS = 3


@dataclass(frozen=True, slots=True)
class _Finding:
    outcome: GateOutcome
    reason: str


def decide(
    cards: Sequence[Scorecard], thresholds: Sequence[Threshold], *, allowed_unevaluated: int, coverage: Coverage
) -> Gate:
    """Return the decision of a run.

    Args:
        cards: all scorecards of the run.
        thresholds: what must hold.
        allowed_unevaluated: how many cases may be left without a value that counts: by the judge, the user or the infrastructure, or
            because they are lost.
        coverage: how much of the suite has run.

    Returns:
        The gravest of: ``invalid`` (a file or case that could not be read, more unevaluated cases than allowed), ``failed`` (a mean below its
        threshold), ``inconclusive`` (a threshold that could not be decided), ``passed``. Reasons are one line each, the gravest first.
    """
    decidable = [threshold for threshold in thresholds if coverage.covers(threshold.domain)]
    findings = [*_collection(coverage), *_unevaluated(cards, coverage, decidable, allowed_unevaluated)]
    summaries = {domain: summarise(_members(cards, domain)) for domain in {one.domain for one in decidable}}
    for threshold in thresholds:
        summary = summaries.get(threshold.domain)
        findings.append(_skip(threshold, coverage) if summary is None else _check(threshold, summary, cards))
    if not thresholds:
        findings.append(_Finding("passed", "no threshold was given: only the items decide"))
    # The sort is stable: thresholds of one outcome stay in the order they were given.
    findings.sort(key=lambda finding: -_SEVERITY.index(finding.outcome))
    return Gate(
        outcome=findings[0].outcome,
        reasons=tuple(finding.reason for finding in findings),
        thresholds=tuple(f"{threshold.name}>={threshold.minimum:g}" for threshold in thresholds),
    )


def _collection(coverage: Coverage) -> Iterator[_Finding]:
    if coverage.errors:
        more = len(coverage.errors) - _SHOWN_ERRORS
        named = ", ".join(coverage.errors[:_SHOWN_ERRORS]) + (f" and {more} more" if more > 0 else "")
        yield _Finding("invalid", f"{_counted(len(coverage.errors), 'place')} could not be read: {named}")


def _unevaluated(
    cards: Sequence[Scorecard], coverage: Coverage, thresholds: Sequence[Threshold], allowed: int
) -> Iterator[_Finding]:
    """Count the cases without a scorecard, and those that somebody other than the agent left without a value that counts."""
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
    yield _Finding(outcome, f"{_counted(count, 'case')} not evaluated ({named}), {allowed} allowed")


def _lost_to(card: Scorecard, thresholds: Sequence[Threshold]) -> str | None:
    """Return who left the card without a value that counts, or None where nobody did."""
    if card.outcome == "unevaluated" or (card.outcome == "error" and card.blame != "agent"):
        return card.blame or "judge"
    gated = {one.metric for one in thresholds if not one.domain or one.domain in card.domains}
    if not any(metric in gated and outcome in _UNKNOWN for metric, outcome in card.classes.items()):
        return None
    return next((label.blame for label in card.labels if label.outcome in _UNKNOWN and label.blame), "judge")


def _members(cards: Sequence[Scorecard], domain: str) -> list[Scorecard]:
    return [card for card in cards if not domain or domain in card.domains]


def _skip(threshold: Threshold, coverage: Coverage) -> _Finding:
    """A threshold of the ini is meant for whole runs, so part of the suite is no reason to fail; one just typed is."""
    if threshold.origin == "ini":
        return _Finding("passed", f"{threshold.name} was not checked: part of the suite ran ({coverage})")
    return _Finding("inconclusive", f"{threshold.name} is undecided: part of the suite ran ({coverage})")


def _check(threshold: Threshold, summary: Mapping[str, Aggregate], cards: Sequence[Scorecard]) -> _Finding:
    aggregate = summary[threshold.metric]
    if aggregate.mean is not None:
        return _compare(threshold, aggregate, aggregate.mean)
    if not aggregate.left_out:
        return _Finding("inconclusive", f"{threshold.name} is undecided: {_no_case(threshold, cards)}")
    classes = ", ".join(f"{name} {number}" for name, number in aggregate.left_out.items())
    return _Finding("inconclusive", f"{threshold.name} is undecided: none of {_cases(aggregate)} has it ({classes})")


def _no_case(threshold: Threshold, cards: Sequence[Scorecard]) -> str:
    if not threshold.domain:
        return "no case has run"
    hint = did_you_mean(threshold.domain, sorted({domain for card in cards for domain in card.domains}))
    return f"no case of domain {threshold.domain!r} has run" + (f", {hint}" if hint else "")


def _compare(threshold: Threshold, aggregate: Aggregate, mean: float) -> _Finding:
    holds = mean >= threshold.minimum - TOLERANCE
    shown = _shown(mean, threshold.minimum)
    sign = ">=" if holds else "<"
    where = f"{aggregate.n} of {_cases(aggregate)}"
    reason = f"{threshold.name} {shown} {sign} {threshold.minimum:g} ({where}; {_spread(threshold, aggregate)})"
    return _Finding("passed" if holds else "failed", reason)


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
    return _counted(aggregate.n + sum(aggregate.left_out.values()), "case")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
