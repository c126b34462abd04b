"""The decision of a run: passed, failed, inconclusive or invalid, each with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_mapsat.metrics import LEVEL, summarise
from pytest_mapsat.model import UNDECIDED, Comparison, Gate, GateOutcome, Label, Scorecard

from .coverage import Coverage
from .finding import SEVERITY, Finding, counted
from .holds import check, members, skipped
from .thresholds import Drop, Threshold

_WAYS_ON = (
    "undecided labels are settled by people's decisions (mapsat review RUN) or by a model judge "
    "(mapsat regrade RUN --judge=llm:MODEL)"
)
_RECORDS = "calls without a record leave labels open: mapsat lint SUITE --misses RUN offers synonyms and records"

_UNKNOWN = ("unevaluated", "error")
_SHOWN_ERRORS = 3


def decide(
    cards: Sequence[Scorecard],
    thresholds: Sequence[Threshold],
    *,
    allowed_unevaluated: int,
    coverage: Coverage,
    drops: Sequence[Drop] = (),
    comparison: Comparison | None = None,
) -> Gate:
    """Return the decision of a run.

    Args:
        cards: all scorecards of the run.
        thresholds: what must hold.
        allowed_unevaluated: how many cases may be lost, have somebody's fault, or have an asserted label that is not known. A metric
            between bounds is not counted: its bounds settle the thresholds.
        coverage: how much of the suite has run.
        drops: how much means may fall against an earlier run.
        comparison: with that run, where there is one.

    Returns:
        The gravest of: ``invalid`` (a file or case that could not be read, more unevaluated cases than allowed, an earlier run of another kind), ``failed`` (a
        mean below its threshold even at its upper bound, or surely down by more than it may be), ``inconclusive`` (what could not be decided),
        ``passed`` (every mean holds even at its lower bound). Reasons are one line each, the gravest first, then the ways on.
    """
    decidable = [threshold for threshold in thresholds if coverage.covers(threshold.domain)]
    findings = [*_collection(coverage), *_unevaluated(cards, coverage, decidable, allowed_unevaluated)]
    findings += _thresholds(cards, thresholds, coverage)
    findings += _compared(comparison, drops, coverage)
    if not (thresholds or drops):
        findings.append(Finding("passed", f"no threshold was given{'' if findings else ': only the items decide'}"))
    # The sort is stable: thresholds of one outcome stay in the order they were given.
    findings.sort(key=lambda finding: -SEVERITY.index(finding.outcome))
    return Gate(
        outcome=findings[0].outcome,
        reasons=(*(finding.reason for finding in findings), *_ways_on(findings, cards)),
        thresholds=(*map(str, thresholds), *map(str, drops)),
    )


def _thresholds(cards: Sequence[Scorecard], thresholds: Sequence[Threshold], coverage: Coverage) -> Iterator[Finding]:
    wanted = {(one.domain, one.level) for one in thresholds if coverage.covers(one.domain)}
    summaries = {
        (domain, level): summarise(members(cards, domain), level=LEVEL if level is None else level / 100)
        for domain, level in wanted
    }
    for threshold in thresholds:
        summary = summaries.get((threshold.domain, threshold.level))
        yield skipped(threshold, coverage) if summary is None else check(threshold, summary, cards)


def _compared(comparison: Comparison | None, drops: Sequence[Drop], coverage: Coverage) -> Iterator[Finding]:
    """Give what became of each drop, where there is an earlier run and the suite ran far enough to tell."""
    if comparison is not None and not comparison.comparable:
        yield from (Finding("invalid", reason) for reason in comparison.reasons)
        return
    results = {} if comparison is None else {result.rule: result for result in comparison.rules}
    lenient = comparison is not None and comparison.inconclusive == "pass"
    for drop in drops:
        result = results.get(str(drop))
        if result is None and coverage.covers(drop.domain):
            yield Finding("inconclusive", f"{drop.name} is undecided: the earlier run is not given (--compare=PATH)")
        elif result is None:
            yield skipped(drop, coverage)
        elif result.outcome == "inconclusive" and lenient:
            yield Finding("passed", f"{result.reason}; let pass (--mapsat-inconclusive=pass)")
        else:
            yield Finding(result.outcome, result.reason)
            yield from (Finding(result.outcome, f"  {way}") for way in result.settle)


def _collection(coverage: Coverage) -> Iterator[Finding]:
    if coverage.unfinished:
        yield Finding("invalid", coverage.unfinished)
    if coverage.errors:
        more = len(coverage.errors) - _SHOWN_ERRORS
        named = ", ".join(coverage.errors[:_SHOWN_ERRORS]) + (f" and {more} more" if more > 0 else "")
        yield Finding("invalid", f"{counted(len(coverage.errors), 'place')} could not be read: {named}")


def _ways_on(findings: Sequence[Finding], cards: Sequence[Scorecard]) -> Iterator[str]:
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
) -> Iterator[Finding]:
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
    reason = f"{counted(count, 'case')} not evaluated ({named}), {allowed} allowed"
    yield Finding(outcome, reason, open=bool(blames.keys() & {UNDECIDED, "sandbox"}))


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
