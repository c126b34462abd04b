"""Does one threshold hold, of its mean or of the interval of its mean? Does a ceiling on what episodes spend?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_mapsat.metrics.statistics import mean
from pytest_mapsat.model import Aggregate, Scorecard, did_you_mean

from .finding import TOLERANCE, Coverage, Finding, counted, listed
from .likeness import Side
from .rules import EACH_CASE, SPENDING, Ceiling, Rule, Threshold


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


def spent(card: Scorecard, metric: str) -> float | None:
    """Return what the agent spent in an episode; None where it did not say.

    Args:
        card: the episode.
        metric: one of ``SPENDING``: US dollars; tokens in and out; tool calls; replies; seconds of wall time that the agent took.
    """
    if metric == "cost":
        return card.spent.cost
    if metric == "tokens":
        used = card.spent.input_tokens, card.spent.output_tokens
        return None if used[0] is None or used[1] is None else float(used[0] + used[1])
    return {"calls": card.calls.total, "turns": card.turns, "seconds": card.timing.agent}[metric]


def check_ceiling(
    ceiling: Ceiling, cards: Sequence[Scorecard], baseline: Side | None, coverage: Coverage, agent: str
) -> Finding:
    """Return whether a ceiling holds.

    Args:
        ceiling: the most that may be spent.
        cards: all scorecards of the run.
        baseline: the earlier run, of whose spending a relative ceiling is a multiple.
        coverage: how much of the suite has run.
        agent: the spec of the run's agent, with its model where it names one.

    Returns:
        ``failed`` where more was spent; ``inconclusive`` where the agent does not say what it spends, or there is nothing to take a multiple of.
    """
    if ceiling.relative and baseline is not None and baseline.manifest.agent != agent:
        told = f"the agent or its model changed ({baseline.manifest.agent} -> {agent})"
        return Finding("passed", f"{ceiling} was skipped: {told}")
    cases = _by_case(cards, ceiling.metric, "" if ceiling.domain == EACH_CASE else ceiling.domain)
    known = {case: value for case, value in cases.items() if value is not None}
    if not known or len(known) < len(cases):
        silent = sorted(cases.keys() - known.keys())
        why = f"{listed(silent)} of {counted(len(cases), 'case')} do not say it" if cases else "no case has run"
        return Finding("inconclusive", f"{ceiling} is undecided: {why}")
    if ceiling.domain == EACH_CASE:
        return _each(ceiling, known)
    return (
        _relative(ceiling, known, baseline, coverage) if ceiling.relative else _held(ceiling, known, ceiling.most, "")
    )


def _each(ceiling: Ceiling, known: dict[str, float]) -> Finding:
    unit = SPENDING[ceiling.metric]
    beyond = sorted((-value, case) for case, value in known.items() if value > ceiling.most + TOLERANCE)
    if not beyond:
        return Finding("passed", f"{ceiling.name} at most {max(known.values()):.4g} <= {ceiling.most:g} {unit}")
    told = listed([f"{case} {-value:.4g}" for value, case in beyond])
    return Finding("failed", f"{ceiling.name} > {ceiling.most:g} {unit}: {told}")


def _relative(ceiling: Ceiling, known: dict[str, float], baseline: Side | None, coverage: Coverage) -> Finding:
    if baseline is None and (ceiling.origin == "ini" or coverage.shard):
        return Finding("passed", f"{ceiling} was not checked: there is no earlier run to compare with")
    before = None if baseline is None else _mean_before(baseline, ceiling.metric, known)
    if before is None:
        why = (
            "the earlier run is not given (--mapsat-compare=PATH)"
            if baseline is None
            else "the earlier run does not say it"
        )
        return Finding("inconclusive", f"{ceiling} is undecided: {why}")
    return _held(ceiling, known, ceiling.most * before, f" ({ceiling.most:g} x {before:.4g})")


def _held(ceiling: Ceiling, known: dict[str, float], most: float, of: str) -> Finding:
    value = mean(list(known.values()))
    holds = value <= most + TOLERANCE
    cases = counted(len(known), "case")
    told = f"{ceiling.name} {value:.4g} {'<=' if holds else '>'} {most:.4g}{of} {SPENDING[ceiling.metric]} a case ({cases})"
    return Finding("passed" if holds else "failed", told)


def _mean_before(baseline: Side, metric: str, now: dict[str, float]) -> float | None:
    before = _by_case([card for card in baseline.cards if card.id in now], metric, "")
    known = [value for value in before.values() if value is not None]
    return mean(known) if known and len(known) == len(before) else None


def _by_case(cards: Sequence[Scorecard], metric: str, domain: str) -> dict[str, float | None]:
    """Return the mean over a case's trials for each case; None for one of which any trial says nothing."""
    values: dict[str, list[float | None]] = {}
    for card in cards:
        if not domain or domain in card.domains:
            values.setdefault(card.id, []).append(spent(card, metric))
    means: dict[str, float | None] = {}
    for case, some in values.items():
        known = [value for value in some if value is not None]
        means[case] = mean(known) if len(known) == len(some) else None
    return means
