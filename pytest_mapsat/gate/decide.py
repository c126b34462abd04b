"""The decision of a run: passed, failed, inconclusive or invalid, each with its reasons."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_mapsat.metrics import LEVEL, summarise
from pytest_mapsat.model import UNDECIDED, Comparison, Gate, Label, Scorecard

from .finding import SEVERITY, TOLERANCE, Coverage, Finding, counted, listed
from .holds import check, check_ceiling, members, skipped
from .likeness import Side
from .rules import EACH_CASE, Ceiling, Drop, Threshold

_WAYS_ON = (
    "three ways on: a judge model (mapsat regrade RUN --judge=llm:MODEL), labels of people (mapsat review RUN), "
    "or an allowance (--mapsat-allow-undecided=N or N%)"
)
_RECORDINGS = (
    "calls without a recording leave labels open: mapsat lint SUITE --misses RUN offers synonyms and recordings"
)

_UNKNOWN = ("unevaluated", "error")
#: So much of a reason is told.
_WHY = 120


def parse_allowance(text: str) -> tuple[float, bool]:
    """Return how many cases may stay undecided, and whether that is a share of all of them, from a text like ``3`` or ``20%``.

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
) -> Gate:
    """Return the decision of a run.

    Args:
        cards: all scorecards of the run.
        thresholds: what must hold.
        coverage: how much of the suite has run.
        allowed_undecided: how many cases may stay undecided, as ``3`` or ``20%``: with an asserted label of which the judge cannot say. They count only where
            they could turn what is asked: a threshold between whose bounds the limit lies, or, without thresholds, the items. Cases that lack
            a recording are never let pass: an agent could ask for what is not recorded.
        drops: how much means may fall against an earlier run.
        comparisons: with that run and with an anchor, where there are any.
        baseline: the earlier run, of whose spending relative ceilings are multiples.
        agent: the spec of the run's agent.
        uncertified: why the judge may not gate, a reason each: without thresholds it is only told.

    Returns:
        The gravest of: ``invalid`` (a file or case that could not be read, a lost case, an earlier run of another kind), ``failed`` (a
        mean below its threshold even at its upper bound, or down by more than it may be), ``inconclusive`` (what could not be decided),
        ``passed`` (every mean holds even at its lower bound). Reasons are one line each, the gravest first, then the ways on.
    """
    decidable = [rule for rule in thresholds if isinstance(rule, Threshold) and coverage.covers(rule.domain)]
    lost, open_cases = _unevaluated(cards, coverage, decidable)
    number, share = parse_allowance(allowed_undecided)
    cases = len({card.id for card in cards} | lost.keys())
    room = math.floor(number * cases / 100 + TOLERANCE) if share else int(number)
    undecided = frozenset(case for case, blame in open_cases.items() if blame == UNDECIDED)
    allowed = undecided if len(undecided) <= room else frozenset()
    findings = list(_collection(coverage))
    if lost:
        findings.append(Finding("invalid", f"{counted(len(lost), 'case')} lost {_blamed(lost)}"))
    gates = bool(thresholds or drops)
    findings += [Finding("invalid" if gates else "passed", reason, warns=True) for reason in uncertified]
    findings += _thresholds(cards, thresholds, coverage, baseline, agent, allowed=allowed)
    for place, comparison in enumerate(comparisons):
        findings += _compared(comparison, drops, coverage, "" if place == 0 else "against the anchor, ")
    if not comparisons:
        findings += _compared(None, drops, coverage, "")
    if open_cases:
        told = f"{_undecided_told(open_cases, cards, cases)}, {allowed_undecided} allowed"
        decides = not gates and bool(open_cases.keys() - allowed)  # where nothing but the items is asked
        findings.append(Finding("inconclusive" if decides else "passed", told, open=True))
    if not gates:
        findings.append(Finding("passed", f"no threshold was given{'' if findings else ': only the items decide'}"))
    # The sort is stable: thresholds of one outcome stay in the order they were given.
    findings.sort(key=lambda finding: (-SEVERITY.index(finding.outcome), not finding.warns))
    return Gate(
        outcome=findings[0].outcome,
        reasons=(*(finding.reason for finding in findings), *_ways_on(findings, cards)),
        thresholds=(*map(str, thresholds), *map(str, drops)),
    )


def _thresholds(
    cards: Sequence[Scorecard],
    thresholds: Sequence[Threshold | Ceiling],
    coverage: Coverage,
    baseline: Side | None,
    agent: str,
    *,
    allowed: frozenset[str],
) -> Iterator[Finding]:
    floors = [rule for rule in thresholds if isinstance(rule, Threshold)]
    wanted = {(one.domain, one.level) for one in floors if coverage.covers(one.domain)}
    summaries = {
        (domain, level): summarise(members(cards, domain), level=LEVEL if level is None else level / 100)
        for domain, level in wanted
    }
    for rule in thresholds:
        if isinstance(rule, Ceiling):
            covered = coverage.covers("" if rule.domain == EACH_CASE else rule.domain)
            yield check_ceiling(rule, cards, baseline, coverage, agent) if covered else skipped(rule, coverage)
        elif (summary := summaries.get((rule.domain, rule.level))) is None:
            yield skipped(rule, coverage)
        else:
            finding = check(rule, summary, cards)
            yield _without(rule, cards, finding, allowed) if finding.open and allowed else finding


def _without(rule: Threshold, cards: Sequence[Scorecard], finding: Finding, allowed: frozenset[str]) -> Finding:
    """Hold the mean of the other cases against a threshold that undecided ones could turn, where they are allowed."""
    rest = [card for card in members(cards, rule.domain) if card.id not in allowed]
    aggregate = summarise(rest).get(rule.metric) if rest else None
    if aggregate is None or aggregate.bounds is None or aggregate.bounds[0] < rule.minimum - TOLERANCE:
        return finding
    number = len({card.id for card in members(cards, rule.domain)} & allowed)
    return Finding(
        "passed",
        f"{rule.name} {aggregate.bounds[0]:.4f} >= {rule.minimum:g} without {counted(number, 'undecided case')}, which "
        "--mapsat-allow-undecided lets pass",
    )


def _compared(
    comparison: Comparison | None, drops: Sequence[Drop], coverage: Coverage, against: str
) -> Iterator[Finding]:
    """Give what became of each rule, where there is an earlier run and the suite ran far enough to tell."""
    if comparison is not None and not comparison.comparable:
        yield from (Finding("invalid", f"{against}{reason}") for reason in comparison.reasons)
        return
    results = {} if comparison is None else {result.rule: result for result in comparison.rules}
    for drop in drops:
        if str(drop) not in results and coverage.covers(drop.domain):
            yield Finding(
                "inconclusive", f"{drop.name} is undecided: the earlier run is not given (--mapsat-compare=PATH)"
            )
        elif str(drop) not in results:
            yield skipped(drop, coverage)
    for result in results.values():
        if comparison is not None and result.outcome == "inconclusive" and comparison.inconclusive == "pass":
            yield Finding("passed", f"warning: {against}inconclusive: {result.reason}", warns=True)
            yield from (Finding("passed", f"  {way}", warns=True) for way in result.settle)
        else:
            yield Finding(result.outcome, f"{against}{result.reason}")
            yield from (Finding(result.outcome, f"  {way}") for way in result.settle)


def _collection(coverage: Coverage) -> Iterator[Finding]:
    if coverage.unfinished:
        yield Finding("invalid", coverage.unfinished)
    if coverage.errors:
        told = f"{counted(len(coverage.errors), 'place')} could not be read: {listed(coverage.errors)}"
        yield Finding("invalid", told)


def _undecided_told(open_cases: Mapping[str, str], cards: Sequence[Scorecard], cases: int) -> str:
    """Say how many cases are undecided, which, and why the first of them is."""
    first = min(open_cases)
    whys = (
        f"; {label.requirement} of {first}: {label.why.removeprefix(UNDECIDED).lstrip(': ')[:_WHY]}"
        for card in cards
        for label in card.labels
        if card.id == first and label.requirement in card.unknown and label.bounded and label.why
    )
    return f"{len(open_cases)} of {counted(cases, 'case')} undecided {_blamed(open_cases, next(whys, ''))}"


def _blamed(cases: Mapping[str, str], why: str = "") -> str:
    """Say whom or what some cases are laid to, name the first of them, and add why."""
    blames = ", ".join(f"{blame} {number}" for blame, number in sorted(Counter(cases.values()).items()))
    return f"({blames}: {listed(sorted(cases))}{why})"


def _ways_on(findings: Sequence[Finding], cards: Sequence[Scorecard]) -> Iterator[str]:
    """Say what would settle the labels that keep the gate from deciding."""
    if not any(finding.open and finding.outcome != "passed" for finding in findings):
        return
    blames = {
        label.blame for card in cards for label in card.labels if label.bounded or label.requirement in card.unknown
    }
    if None in blames:
        yield _WAYS_ON
    if "sandbox" in blames:
        yield _RECORDINGS


def _unevaluated(
    cards: Sequence[Scorecard], coverage: Coverage, thresholds: Sequence[Threshold]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the cases that are lost, and those with an asserted label that is not known, with what each is laid to.

    A label of a trial that failed anyway cannot turn it, and is not counted.
    """
    lost: dict[str, str] = {one.id: "lost" for one in coverage.lost}
    undecided: dict[str, str] = {}
    for card in sorted(cards, key=lambda card: (card.id, card.trial)):
        blame = _lost_to(card, thresholds)
        if blame in (UNDECIDED, "sandbox"):
            undecided.setdefault(card.id, blame)
        elif blame is not None:
            lost.setdefault(card.id, blame)
    return lost, {case: blame for case, blame in undecided.items() if case not in lost}


def _lost_to(card: Scorecard, thresholds: Sequence[Threshold]) -> str | None:
    """Return who or what keeps the card from counting as evaluated, or None where nothing does."""
    if card.unknown and card.outcome != "failed":
        labels = {label.requirement: label for label in card.labels}
        blames = [_blame(card, labels.get(name), name) for name in card.unknown]
        return next((blame for blame in blames if blame not in (UNDECIDED, "sandbox")), blames[0])
    if card.outcome == "unevaluated" or (card.outcome == "error" and card.blame != "agent"):
        return card.blame or (UNDECIDED if card.unknown else "judge")
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
    faults = (label.blame for label in card.labels if label.outcome in _UNKNOWN and label.blame)
    return next((blame for blame in faults if blame != "sandbox"), "judge")


def _blame(card: Scorecard, label: Label | None, name: str) -> str:
    if label is None and name in card.faults:
        return card.faults[name].blame
    if label is None:
        return UNDECIDED if name in card.bounds else "judge"
    return label.blame or (UNDECIDED if label.bounded else "judge")
