"""Rules that ask about other cases like these (``ar:0.02@sampled``): the interval of the difference over cases, and chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_mapsat.metrics import LEVEL
from pytest_mapsat.metrics.paired import joint_level, sign_flip
from pytest_mapsat.metrics.power import Spread
from pytest_mapsat.metrics.statistics import Interval, mean
from pytest_mapsat.model import ComparisonOutcome, RuleResult

from .finding import ALARMS, TOLERANCE, counted, span_text
from .rules import Drop
from .table import Column, Table

_LEAST_TOLD = 0.001


def held_sampled(table: Table, drops: Sequence[Drop]) -> tuple[RuleResult, ...]:
    """Return what became of each drop; their intervals and probabilities hold for all of them together.

    One is *failed* where the whole interval lies below it and chance is improbable, *passed* where the whole interval lies above it, else *inconclusive*.
    Chance is asked as well since no interval of a few cases holds what it says: two runs of one agent differ so far in at most one of twenty
    comparisons, at any size.
    """
    columns = [table.column(drop.metric, drop.domain) for drop in drops]
    level = joint_level([centred for column in columns for centred in _centred(column)]) if columns else LEVEL
    chances = sign_flip([column.aligned(column.most) for column in columns], tail="down") if columns else []
    intervals = table.intervals(columns, level=level)
    return tuple(map(_held, drops, columns, intervals, chances))


def _centred(column: Column) -> Iterator[list[float]]:
    for values in (column.least, column.most):
        centre = mean(values)
        yield column.aligned([value - centre for value in values])


def _held(drop: Drop, column: Column, interval: Interval | None, chance: float) -> RuleResult:
    low, high = interval or (min(column.least), max(column.most))
    if low >= -drop.most - TOLERANCE and (interval is not None or low >= -TOLERANCE):
        outcome: ComparisonOutcome = "passed"
    elif interval is not None and high < -drop.most - TOLERANCE and chance <= ALARMS:
        outcome = "failed"
    else:
        outcome = "inconclusive"
    spread = _spread(column)
    result = RuleResult(
        rule=str(drop),
        metric=drop.metric,
        domain=drop.domain,
        drop=drop.most,
        outcome=outcome,
        reason=_reason(drop, outcome, column, (low, high), chance),
        difference=column.bounds,
        low=low,
        high=high,
        p=chance,
        smallest=spread.smallest,
    )
    return result if outcome != "inconclusive" else _with_ways(result, column, spread)


def _spread(column: Column) -> Spread:
    return Spread.of(
        _middles(column),
        [pair.chance(column.metric) for pair in column.members],
        min(pair.trials for pair in column.members),
    )


def _middles(column: Column) -> list[float]:
    return [(low + high) / 2 for low, high in zip(column.least, column.most, strict=True)]


def _reason(drop: Drop, outcome: ComparisonOutcome, column: Column, ends: Interval, chance: float) -> str:
    moved = f"{drop.name} {span_text(column.side(new=False))} -> {span_text(column.side(new=True))}"
    cases = counted(len(column.members), "case")
    if not column.differ:
        return f"{moved}: no difference in {cases}"
    said = {
        "failed": "is down by more than",
        "passed": "is not down by more than",
        "inconclusive": "may or may not be down by more than",
    }[outcome]
    far = f"{chance:.3f}" if chance >= _LEAST_TOLD else f"below {_LEAST_TOLD}"
    told = f"{column.differ} of {cases} differ; chance goes as far down with probability {far}"
    return f"{moved} {said} {drop.most:g}: {span_text(column.bounds, '+.3f')} [{ends[0]:+.3f}, {ends[1]:+.3f}] ({told})"


def _with_ways(result: RuleResult, column: Column, spread: Spread) -> RuleResult:
    """Return an inconclusive result with what would decide it."""
    distance = abs(mean(_middles(column)) + result.drop)
    cases, trials = spread.cases_for(distance), spread.trials_for(distance)
    return result.model_copy(
        update={"settle": tuple(_ways(column, spread, cases, trials)), "cases": cases, "trials": trials}
    )


def _ways(column: Column, spread: Spread, cases: int | None, trials: int | None) -> Iterator[str]:
    if column.undecided:
        yield "labels that are undecided in one run only leave it open: mapsat review RUN, for both runs"
    more = cases is not None and cases > spread.n
    if more:
        yield f"about {cases} cases like these would settle a difference of this size; these are {spread.n}"
    if trials is not None and trials > spread.trials:
        yield f"so would about {trials} trials of each case (--mapsat-trials={trials}); now it is {spread.trials}"
    elif more and spread.chance is None:
        yield "several trials of each case (--mapsat-trials) would tell how much of it is chance"
    if spread.smallest is not None:
        yield f"as it is, a drop of {spread.smallest:.3f} beyond what is let pass is seen four times in five"
