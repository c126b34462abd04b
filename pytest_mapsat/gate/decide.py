"""The decision of a run: passed, failed, inconclusive or invalid, each with its reasons."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pytest_mapsat.metrics import LEVEL, by_key, case_rows, summarise
from pytest_mapsat.metrics.statistics import mean
from pytest_mapsat.model import (
    UNDECIDED,
    Aggregate,
    Comparison,
    Gate,
    GateOutcome,
    Lost,
    Scorecard,
    did_you_mean,
    listed,
)

from .likeness import OPEN, Side, lost_to
from .rules import EACH_CASE, SEVERITY, SPENDING, TOLERANCE, Ceiling, Drop, Rule, Threshold, counted

_WAYS_ON = (
    "to decide it, let a model judge (mapsat regrade RUN --judge=llm:MODEL), label by hand (mapsat review RUN), "
    "or allow undecided cases (--mapsat-allow-undecided=N or N%)"
)
_RECORDINGS = (
    "calls without a recording leave labels open: mapsat lint SUITE --misses RUN offers synonyms and recordings"
)

_UNKNOWN = ("unevaluated", "error")
#: So much of a reason is told.
_WHY = 120


@dataclass(frozen=True, slots=True)
class GateFinding:
    """A finding of the gate: outcome and reason, whether unknown labels cause it, and whether it is only a warning."""

    outcome: GateOutcome
    reason: str
    open: bool = False
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of the suite that was run.

    Attributes:
        selected: cases that were to run: those with a scorecard, and those that are lost.
        total: cases of the suite; None where they were not counted.
        partial: why not all of the suite was to run, a reason each, such as ``-m navigation``.
        errors: what could not be read, a file or a case each.
        whole_domains: domains all of whose cases were to run, though the suite was not.
        lost: episodes that were to run and have no scorecard.
        unfinished: why this is no whole run; empty for one that came to its end.
        shard: which part of the cases this is, as ``2/8``; empty for no part.
    """

    selected: int
    total: int | None = None
    partial: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    whole_domains: frozenset[str] = frozenset()
    lost: tuple[Lost, ...] = ()
    unfinished: str = ""
    shard: str = ""

    @property
    def complete(self) -> bool:
        """Return whether the run covers the whole suite."""
        return not self.partial and (self.total is None or self.selected >= self.total)

    def covers(self, domain: str) -> bool:
        """Return whether the run includes all cases of a domain; an empty domain means the whole suite."""
        return self.complete or (bool(domain) and domain in self.whole_domains)

    def __str__(self) -> str:
        counted = f"{self.selected} cases" if self.total is None else f"{self.selected} of {self.total} cases"
        return "; ".join((counted, *self.partial))


def members(cards: Sequence[Scorecard], domain: str) -> list[Scorecard]:
    """Return the cards of a domain; all cards if the domain is empty."""
    return [card for card in cards if not domain or domain in card.domains]


def parse_allowance(text: str) -> tuple[float, bool]:
    """Return an allowance for undecided cases from a text like ``3`` or ``20%``, and whether it is a share of all cases.

    Raises:
        ValueError: it is neither.
    """
    number = text.strip().removesuffix("%").strip()
    share = text.strip().endswith("%")
    if not re.fullmatch(r"[0-9]{1,9}" if not share else r"[0-9]{1,3}(\.[0-9]{1,6})?", number):
        raise ValueError(f"found {text!r}, expected a number of cases as 3, or a share of them as 20%")
    if share and float(number) > 100:  # noqa: PLR2004 - per cent
        raise ValueError(f"found {text!r}, expected at most 100%")
    return float(number), share


def decide(
    cards: Sequence[Scorecard],
    thresholds: Sequence[Threshold | Ceiling],
    *,
    coverage: Coverage,
    allowed_undecided: str = "0",
    drops: Sequence[Drop] = (),
    comparisons: Sequence[Comparison] = (),
    baseline: Side | None = None,
    agent: str = "",
    uncertified: Sequence[str] = (),
    pass_rule: str = "",
    excused: Container[str] = (),
) -> Gate:
    """Return the gate's decision on a run, with the reasons.

    Args:
        cards: all scorecards of the run.
        thresholds: what must hold.
        coverage: how much of the suite has run.
        allowed_undecided: how many cases may stay undecided, as ``3`` or ``20%``: those with an asserted label that the judge cannot decide. More of them make
            the run inconclusive, whatever else holds. A case that lacks a recording is never allowed: an agent could ask for what is not recorded.
        drops: how much means may fall against an earlier run.
        comparisons: with that run and with an anchor, where there are any.
        baseline: the earlier run, of whose spending relative ceilings are multiples.
        agent: the spec of the run's agent.
        uncertified: why the judge may not gate, a reason each: without thresholds it is only told.
        pass_rule: how many trials of a case must pass, as ``3/4``; empty: all. What its other trials settle is not undecided.
        excused: cases that fail no item of ours, whatever they come to.

    Returns:
        The gravest of: ``invalid`` (a file or case that could not be read, a lost case, an earlier run of another kind), ``failed`` (a case
        that failed, a mean below its threshold even at its upper bound, or down by more than it may be), ``inconclusive`` (what could not be decided),
        ``passed`` (every mean holds even at its lower bound). Reasons are one line each, the gravest first, then the ways on.
    """
    decidable = [rule for rule in thresholds if isinstance(rule, Threshold) and coverage.covers(rule.domain)]
    lost, open_cases = _unevaluated(cards, coverage, decidable)
    cases = len({card.id for card in cards} | lost.keys())
    # What is too many for the whole suite is too many for a shard of it; the rest is known once the shards are merged.
    allowed = _allowed(allowed_undecided, open_cases, max(cases, coverage.total or 0) if coverage.shard else cases)
    gates = bool(thresholds or drops)
    findings = list(_collection_findings(coverage, lost))
    findings += [GateFinding("invalid" if gates else "passed", reason, warns=True) for reason in uncertified]

    @cache
    def means(domain: str, level: float | None) -> dict[str, Aggregate]:
        """Return the aggregates of a domain's cards, with intervals at a confidence level in per cent (95 by default)."""
        return summarise(members(cards, domain), level=LEVEL if level is None else level / 100, users=True)

    for rule in thresholds:
        if not coverage.covers("" if rule.domain == EACH_CASE else rule.domain):
            findings.append(_skipped_finding(rule, coverage))
        elif isinstance(rule, Ceiling):
            findings.append(_ceiling_finding(rule, cards, baseline, coverage, agent))
        else:
            finding = _threshold_finding(rule, means(rule.domain, rule.level).get(rule.metric), cards)
            findings.append(_without_allowed(rule, finding, cards, allowed))
    for place, comparison in enumerate(comparisons or (None,)):
        findings += _comparison_findings(comparison, drops, coverage, "" if place == 0 else "against the anchor, ")
    failed = [row.id for row in case_rows(cards, pass_rule) if row.outcome == "failed" and row.id not in excused]
    if failed:
        findings.append(GateFinding("failed", f"{len(failed)} of {counted(cases, 'case')} failed: {listed(failed)}"))
    open_cases = _without_decided_by_rule(open_cases, cards, pass_rule)
    if open_cases:
        text = _undecided_told(open_cases, cards, cases, allowed_undecided)
        findings.append(GateFinding("inconclusive" if open_cases.keys() - allowed else "passed", text, open=True))
    return _gravest_first(findings, cards, (*map(str, thresholds), *map(str, drops)))


def _gravest_first(findings: Sequence[GateFinding], cards: Sequence[Scorecard], thresholds: tuple[str, ...]) -> Gate:
    """Return the gate that the findings decide, with the most serious reason first and hints last."""
    if not thresholds:
        alone = "" if findings else ", so the test results alone decide"
        findings = [*findings, GateFinding("passed", f"no threshold was given{alone}")]
    # The sort is stable: thresholds of one outcome stay in the order they were given.
    ordered = sorted(findings, key=lambda finding: (-SEVERITY.index(finding.outcome), not finding.warns))
    reasons = (*(finding.reason for finding in ordered), *_hints(ordered, cards))
    return Gate(outcome=ordered[0].outcome, reasons=reasons, thresholds=thresholds)


def _allowed(text: str, open_cases: Mapping[str, str], cases: int) -> frozenset[str]:
    """Return the undecided cases if their number is within the allowance; otherwise an empty set."""
    number, share = parse_allowance(text)
    room = math.floor(number * cases / 100 + TOLERANCE) if share else int(number)
    undecided = frozenset(case for case, blame in open_cases.items() if blame == UNDECIDED)
    return undecided if len(undecided) <= room else frozenset()


def _comparison_findings(
    comparison: Comparison | None, drops: Sequence[Drop], coverage: Coverage, against: str
) -> Iterator[GateFinding]:
    """Yield a finding for each rule of a comparison, and for each drop that could not be checked."""
    if comparison is not None and not comparison.comparable:
        yield from (GateFinding("invalid", f"{against}{reason}") for reason in comparison.reasons)
        return
    results = {} if comparison is None else {result.rule: result for result in comparison.rules}
    for drop in drops:
        if str(drop) not in results and coverage.covers(drop.domain):
            yield GateFinding(
                "inconclusive", f"{drop.title} is undecided: the earlier run is not given (--mapsat-compare=PATH)"
            )
        elif str(drop) not in results:
            yield _skipped_finding(drop, coverage)
    for result in results.values():
        if comparison is not None and result.outcome == "inconclusive" and comparison.inconclusive == "pass":
            yield GateFinding("passed", f"warning: {against}inconclusive: {result.reason}", warns=True)
            yield from (GateFinding("passed", f"  {way}", warns=True) for way in result.settle)
        else:
            yield GateFinding(result.outcome, f"{against}{result.reason}")
            yield from (GateFinding(result.outcome, f"  {way}") for way in result.settle)


def _collection_findings(coverage: Coverage, lost: Mapping[str, str]) -> Iterator[GateFinding]:
    """Yield findings that make the run invalid: an unfinished run, unreadable files, or lost cases."""
    if coverage.unfinished:
        yield GateFinding("invalid", coverage.unfinished)
    if coverage.errors:
        text = f"{counted(len(coverage.errors), 'place')} could not be read: {listed(coverage.errors)}"
        yield GateFinding("invalid", text)
    if lost:
        yield GateFinding("invalid", f"{counted(len(lost), 'case')} lost {_blame_text(lost)}")


def _undecided_told(open_cases: Mapping[str, str], cards: Sequence[Scorecard], cases: int, allowed: str) -> str:
    """Return in words how many cases are undecided, their names, and the reason for the first case."""
    first = min(open_cases)
    only = "" if len(open_cases) == 1 else f"{first}, "
    whys = (
        f"; {only}requirement {label.requirement}: {label.why.removeprefix(UNDECIDED).lstrip(': ')[:_WHY]}"
        for card in cards
        for label in card.labels
        if card.id == first and label.requirement in card.unknown and label.bounded and label.why
    )
    have = "has" if len(open_cases) == 1 else "have"
    summary = f"{len(open_cases)} of {counted(cases, 'case')} {have} no verdict, allowed: {allowed}"
    return f"{summary} {_blame_text(open_cases, next(whys, ''))}"


def _blame_text(cases: Mapping[str, str], why: str = "") -> str:
    """Return in words who or what is to blame for some cases, with the first names and the reason."""
    blames = ", ".join(f"{blame} {number}" for blame, number in sorted(Counter(cases.values()).items()))
    return f"({blames}: {listed(sorted(cases))}{why})"


def _hints(findings: Sequence[GateFinding], cards: Sequence[Scorecard]) -> Iterator[str]:
    """Yield hints on how to settle the labels that prevent a decision of the gate."""
    if not any(finding.open and finding.outcome != "passed" for finding in findings):
        return
    blames = {
        label.blame for card in cards for label in card.labels if label.bounded or label.requirement in card.unknown
    }
    if None in blames:
        yield _WAYS_ON
    if "sandbox" in blames and any(card.sandbox.get("miss") for card in cards):
        yield _RECORDINGS


def _unevaluated(
    cards: Sequence[Scorecard], coverage: Coverage, thresholds: Sequence[Threshold]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the lost cases and the cases with an unknown asserted label, each with the party to blame.

    A label of a trial that failed anyway cannot turn it, and is not counted.
    """
    lost: dict[str, str] = {loss.id: "lost" for loss in coverage.lost}
    undecided: dict[str, str] = {}
    last = {card.key[:3]: card.attempt for card in sorted(cards, key=lambda card: card.attempt)}
    for card in sorted(cards, key=lambda card: (card.id, card.trial)):
        if card.lost and card.attempt < last[card.key[:3]]:
            continue  # it was run again
        blame = _lost_to(card, thresholds)
        if blame in OPEN:
            undecided.setdefault(card.id, blame)
        elif blame is not None:
            lost.setdefault(card.id, blame)
    return lost, {case: blame for case, blame in undecided.items() if case not in lost}


def _without_decided_by_rule(
    open_cases: Mapping[str, str], cards: Sequence[Scorecard], pass_rule: str
) -> dict[str, str]:
    """Return the undecided cases that the pass rule does not decide either way."""
    trials = [card for card in cards if card.id in open_cases]
    rows = [row for row in case_rows(trials, pass_rule) if any(card.unknown for card in row.cards)]
    still_open = {row.id for row in rows if row.outcome == "unevaluated"}
    settled = {row.id for row in rows} - still_open
    return {case: blame for case, blame in open_cases.items() if case not in settled}


def _lost_to(card: Scorecard, thresholds: Sequence[Threshold]) -> str | None:
    """Return the party because of which a card does not count as evaluated; None if it does count."""
    if (open_or_lost := lost_to(card)) is not None:
        return open_or_lost
    gated = {rule.metric for rule in thresholds if not rule.domain or rule.domain in card.domains}
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
    faults = (label.blame for label in card.labels if label.outcome in _UNKNOWN and label.blame)
    return next((blame for blame in faults if blame != "sandbox"), "judge")


def _skipped_finding(rule: Rule, coverage: Coverage) -> GateFinding:
    """Return the finding for a rule that was not checked because only part of the suite ran.

    One of the ini is meant for whole runs, so part of the suite is no reason to fail; one just typed is. A shard leaves them to ``mapsat merge``.
    """
    if coverage.shard:
        return GateFinding(
            "passed", f"{rule.title} is left to mapsat merge: this is shard {coverage.shard} ({coverage})"
        )
    if rule.origin == "ini":
        return GateFinding("passed", f"{rule.title} was not checked: part of the suite ran ({coverage})")
    return GateFinding("inconclusive", f"{rule.title} is undecided: part of the suite ran ({coverage})")


def _without_allowed(
    rule: Threshold, finding: GateFinding, cards: Sequence[Scorecard], allowed: frozenset[str]
) -> GateFinding:
    """Return a passed finding if a threshold holds without the allowed undecided cases; else the given finding."""
    if not finding.open or not allowed:
        return finding
    some = members(cards, rule.domain)
    rest = [card for card in some if card.id not in allowed]
    aggregate = summarise(rest, users=True).get(rule.metric) if rest else None
    if aggregate is None or aggregate.bounds is None or aggregate.bounds[0] < rule.minimum - TOLERANCE:
        return finding
    without = counted(len({card.id for card in some} & allowed), "undecided case")
    summary_text = f"{rule.title} {aggregate.bounds[0]:.4f} >= {rule.minimum:g} without {without}"
    return GateFinding("passed", f"{summary_text}, which --mapsat-allow-undecided lets pass")


def _threshold_finding(rule: Threshold, aggregate: Aggregate | None, cards: Sequence[Scorecard]) -> GateFinding:
    """Return the finding on a threshold: passed if even the lower end reaches it, failed if not even the upper end does."""
    if aggregate is None or aggregate.bounds is None:
        return GateFinding("inconclusive", f"{rule.title} is undecided: {_no_value(rule, aggregate, cards)}")
    least, most = ends = aggregate.bounds
    low, high = aggregate.low, aggregate.high
    shown = f"{rule.title} {'-'.join(dict.fromkeys(_shown(min(max(end, 0.0), 1.0), rule.minimum) for end in ends))}"
    share = f"{aggregate.n} of {_cases(aggregate)}" + (" decided" if aggregate.undecided else "")
    verbs, where, way = (">=", "<", "may be below"), f"({share}; {_interval_text(rule, low, high)})", ""
    if rule.level is not None:
        if low is None or high is None:
            return GateFinding("inconclusive", f"{shown} is undecided: {share} are too few for an interval")
        ends, verbs = (low, high), ("is surely at least", "is surely below", "is not surely at least")
        where = f"(the {rule.level:g} % interval {max(low, 0):.4f} to {min(high, 1):.4f}; {share})"
        way = ": more cases make the interval narrower"
    holds, breaks, open_ = (f"{shown} {verb} {rule.minimum:g} {where}" for verb in verbs)
    if ends[0] >= rule.minimum - TOLERANCE:
        return GateFinding("passed", holds)
    if ends[1] < rule.minimum - TOLERANCE:
        return GateFinding("failed", breaks)
    return GateFinding("inconclusive", open_ + way, open=rule.level is None or least != most)


def _no_value(rule: Threshold, aggregate: Aggregate | None, cards: Sequence[Scorecard]) -> str:
    """Return why a metric has no mean."""
    if aggregate is not None and aggregate.left_out:
        classes = ", ".join(f"{name} {number}" for name, number in aggregate.left_out.items())
        return f"none of {_cases(aggregate)} has it ({classes})"
    if members(cards, rule.domain):
        if rule.metric.startswith("user_") and all(card.group is None for card in cards):
            return "no case is part of a user's sequence of tasks"
        if rule.metric.removeprefix("user_").startswith(("pass@", "pass^")):
            return f"no case ran as many trials as {rule.metric} needs"
        return f"no suite of these cases declares the metric {rule.metric}"
    if not rule.domain:
        return "no case has run"
    hint = did_you_mean(rule.domain, sorted({domain for card in cards for domain in card.domains}))
    return f"no case of domain {rule.domain!r} has run" + (f", {hint}" if hint else "")


def _cases(aggregate: Aggregate) -> str:
    """Return in words how many cases a mean covers, and how many it leaves out."""
    return counted(aggregate.n + aggregate.undecided + sum(aggregate.left_out.values()), "case")


def _shown(mean: float, minimum: float) -> str:
    """Return a mean with enough digits to distinguish it from the threshold."""
    for digits in (4, 6, 9):
        text = f"{mean:.{digits}f}"
        if abs(mean - minimum) <= TOLERANCE or float(text) != minimum:
            return text
    return repr(mean)


def _interval_text(rule: Threshold, low: float | None, high: float | None) -> str:
    """Return in words the 95 % interval of a mean, and whether it includes the threshold."""
    if low is None or high is None:
        return "too few for an interval"
    if low == high:
        return "all cases equal"
    includes = "includes" if low <= rule.minimum <= high else "excludes"
    return f"95 % interval {max(low, 0):.3f}-{min(high, 1):.3f} {includes} {rule.minimum:g}"


def _spent(card: Scorecard, metric: str) -> float | None:
    """Return the agent's spending in an episode, in the unit of the metric; None if it is not stated."""
    if metric == "cost":
        return card.spent.cost
    if metric == "tokens":
        used = card.spent.input_tokens, card.spent.output_tokens
        return None if used[0] is None or used[1] is None else float(used[0] + used[1])
    if metric == "calls" and card.trajectory.lacks_calls:
        return None
    return {"calls": card.calls.total, "turns": card.turns, "seconds": card.timing.agent}[metric]


def _ceiling_finding(
    rule: Ceiling, cards: Sequence[Scorecard], baseline: Side | None, coverage: Coverage, agent: str
) -> GateFinding:
    """Return the finding on a ceiling; a relative ceiling is a multiple of the earlier run's cost.

    It is ``inconclusive`` where the agent does not say what it spends, or there is nothing to take a multiple of.
    """
    if rule.relative and baseline is not None and baseline.manifest.agent != agent:
        changed = f"the agent or its model changed ({baseline.manifest.agent} -> {agent})"
        return GateFinding("passed", f"{rule} was skipped: {changed}")
    each, unit = rule.domain == EACH_CASE, SPENDING[rule.metric]
    cases = _by_case(members(cards, "" if each else rule.domain), rule.metric)
    spending = {case: value for case, value in cases.items() if value is not None}
    if not spending or len(spending) < len(cases):
        silent = sorted(cases.keys() - spending.keys())
        why = f"{listed(silent)} of {counted(len(cases), 'case')} do not say it" if cases else "no case has run"
        return GateFinding("inconclusive", f"{rule} is undecided: {why}")
    if each:
        beyond = sorted((-value, case) for case, value in spending.items() if value > rule.most + TOLERANCE)
        summary = f"at most {max(spending.values()):.4g} <= {rule.most:g} {unit}"
        if beyond:
            summary = f"> {rule.most:g} {unit}: {listed([f'{case} {-value:.4g}' for value, case in beyond])}"
        return GateFinding("failed" if beyond else "passed", f"{rule.title} {summary}")
    most, of = rule.most, ""
    if rule.relative:
        if baseline is None and (rule.origin == "ini" or coverage.shard):
            return GateFinding("passed", f"{rule} was not checked: there is no earlier run to compare with")
        cards_before = () if baseline is None else baseline.cards
        before = list(_by_case([card for card in cards_before if card.id in spending], rule.metric).values())
        spent = [value for value in before if value is not None]
        if not spent or len(spent) < len(before):
            why = "does not say it" if baseline else "is not given (--mapsat-compare=PATH)"
            return GateFinding("inconclusive", f"{rule} is undecided: the earlier run {why}")
        most, of = rule.most * mean(spent), f" ({rule.most:g} x {mean(spent):.4g})"
    value = mean(list(spending.values()))
    holds = value <= most + TOLERANCE
    summary = f"{rule.title} {value:.4g} {'<=' if holds else '>'} {most:.4g}{of} {unit} a case ({counted(len(spending), 'case')})"
    return GateFinding("passed" if holds else "failed", summary)


def _by_case(cards: Sequence[Scorecard], metric: str) -> dict[str, float | None]:
    """Return the mean spending of each case over its trials; None if a trial does not state its spending."""
    values = by_key((card.id, _spent(card, metric)) for card in cards)
    means: dict[str, float | None] = {}
    for case, some in values.items():
        known = [value for value in some if value is not None]
        means[case] = mean(known) if len(known) == len(some) else None
    return means
