"""Does one threshold hold? Of its mean, or of the interval of its mean where it asks to be sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_mapsat.model import Aggregate, Scorecard, did_you_mean

from .coverage import Coverage
from .finding import TOLERANCE, Finding, counted
from .rules import Rule, Threshold


def members(cards: Sequence[Scorecard], domain: str) -> list[Scorecard]:
    """Return the cards of a domain; all of them where it is empty."""
    return [card for card in cards if not domain or domain in card.domains]


def skipped(rule: Rule, coverage: Coverage) -> Finding:
    """Return what becomes of a threshold or a drop on part of the suite.

    One of the ini is meant for whole runs, so part of the suite is no reason to fail; one just typed is. A shard leaves them to ``mapsat merge``.
    """
    if coverage.shard:
        return Finding("passed", f"{rule.name} is left to mapsat merge: this is shard {coverage.shard} ({coverage})")
    if rule.origin == "ini":
        return Finding("passed", f"{rule.name} was not checked: part of the suite ran ({coverage})")
    return Finding("inconclusive", f"{rule.name} is undecided: part of the suite ran ({coverage})")


def check(threshold: Threshold, summary: Mapping[str, Aggregate], cards: Sequence[Scorecard]) -> Finding:
    """Return whether a threshold holds.

    Args:
        threshold: what must hold.
        summary: the means of its domain, with intervals at its level.
        cards: all scorecards of the run.
    """
    aggregate = summary.get(threshold.metric)
    if aggregate is None or (aggregate.bounds is None and not aggregate.left_out):
        return Finding("inconclusive", f"{threshold.name} is undecided: {_no_case(threshold, cards)}")
    if aggregate.bounds is None:
        classes = ", ".join(f"{name} {number}" for name, number in aggregate.left_out.items())
        return Finding("inconclusive", f"{threshold.name} is undecided: none of {_cases(aggregate)} has it ({classes})")
    if threshold.level is not None:
        return _surely(threshold, threshold.level, aggregate, *aggregate.bounds)
    return _compare(threshold, aggregate, *aggregate.bounds)


def _no_case(threshold: Threshold, cards: Sequence[Scorecard]) -> str:
    if members(cards, threshold.domain):
        if threshold.metric.startswith(("pass@", "pass^")):
            return f"no case ran as many trials as {threshold.metric} needs"
        return f"no suite of these cases declares the metric {threshold.metric}"
    if not threshold.domain:
        return "no case has run"
    hint = did_you_mean(threshold.domain, sorted({domain for card in cards for domain in card.domains}))
    return f"no case of domain {threshold.domain!r} has run" + (f", {hint}" if hint else "")


def _compare(threshold: Threshold, aggregate: Aggregate, least: float, most: float) -> Finding:
    """Hold the mean against its threshold: it holds at its lower bound, breaks at its upper one, and is undecided between."""
    shown = _range(least, most, threshold.minimum)
    where = f"({_share(aggregate)}; {_spread(threshold, aggregate)})"
    if least >= threshold.minimum - TOLERANCE:
        return Finding("passed", f"{threshold.name} {shown} >= {threshold.minimum:g} {where}")
    if most < threshold.minimum - TOLERANCE:
        return Finding("failed", f"{threshold.name} {shown} < {threshold.minimum:g} {where}")
    return Finding("inconclusive", f"{threshold.name} {shown} is undecided at {threshold.minimum:g} {where}", open=True)


def _surely(threshold: Threshold, level: float, aggregate: Aggregate, least: float, most: float) -> Finding:
    """Hold the interval against the threshold: all of it above, all of it below, or on both sides."""
    shown = f"{threshold.name} {_range(least, most, threshold.minimum)}"
    if aggregate.low is None or aggregate.high is None:
        return Finding("inconclusive", f"{shown} is undecided: {_share(aggregate)} are too few for an interval")
    where = f"(the {level:g} % interval {aggregate.low:.4f} to {aggregate.high:.4f}; {_share(aggregate)})"
    if aggregate.low >= threshold.minimum - TOLERANCE:
        return Finding("passed", f"{shown} is surely at least {threshold.minimum:g} {where}")
    if aggregate.high < threshold.minimum - TOLERANCE:
        return Finding("failed", f"{shown} is surely below {threshold.minimum:g} {where}")
    return Finding(
        "inconclusive",
        f"{shown} is not surely at least {threshold.minimum:g} {where}: more cases make the interval narrower",
        open=least != most,
    )


def _range(least: float, most: float, minimum: float) -> str:
    return "-".join(dict.fromkeys(_shown(end, minimum) for end in (least, most)))


def _share(aggregate: Aggregate) -> str:
    return f"{aggregate.n} of {_cases(aggregate)}" + (" decided" if aggregate.undecided else "")


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
    return counted(aggregate.n + aggregate.undecided + sum(aggregate.left_out.values()), "case")
