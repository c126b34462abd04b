"""Did an agent get worse on these cases? Each rule, against what is measured and, where the agent varies, against chance.

The cases are fixed, the trials are random: a merge asks about these cases. A rule with ``@sampled`` asks about other cases like these (sampled.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.metrics.permuted import chances
from pytest_mapsat.metrics.statistics import mean, variance
from pytest_mapsat.model import ComparisonOutcome, RuleResult, did_you_mean

from .finding import ALARMS, TOLERANCE, counted, span_text
from .pairs import Pair
from .rules import FLIPS, UNDECIDED_SHARE, Drop
from .sampled import held_sampled
from .table import Column, Table, blocks_of

#: A drop is seen four times in five where it lies so many standard errors below nothing: 1.645 for the alarm level, 0.842 for the four times.
_ALARM, _POWER = 1.645, 0.842
_LEAST_TOLD = 0.001
#: What chance does more often than not is no news.
_EXPECTED = 0.5
_NAMED = 3
#: More trials than this nobody runs.
_MOST_TRIALS = 64


class Trials(NamedTuple):
    """How an agent goes about its trials.

    Attributes:
        varies: whether it is known to end otherwise in another trial (True), to do the same each time (False), or neither (None).
        why: how that is known, in words.
        base: trials of each case in the earlier run, the fewest.
        new: likewise in the new one.
    """

    varies: bool | None = None
    why: str = ""
    base: int = 1
    new: int = 1

    @property
    def fewer(self) -> int:
        """Trials of each case in the run that has fewer."""
        return min(self.base, self.new)


def held_drops(table: Table, drops: Sequence[Drop], trials: Trials) -> tuple[RuleResult, ...]:
    """Return what became of each drop, and of the cases that flipped where no rule is about them.

    Args:
        table: the cases that both runs have.
        drops: the rules.
        trials: how the agent goes about its trials.

    Returns:
        A result for each rule, in their order; the probabilities of all rules on these cases are corrected for each other. A mean that fell by more than it
        may is *failed* where the agent does not vary or where chance goes as far in at most one of twenty comparisons of an agent with itself, and
        *inconclusive* where chance may. One that did not fall by more is *passed*.
    """
    rules = list(drops)
    if not any(drop.metric == FLIPS and not drop.domain for drop in drops):
        rules.append(Drop(FLIPS))  # what holds unless a rule says otherwise
    columns = {
        drop: table.column(PASS_RATE if drop.metric == FLIPS else drop.metric, drop.domain)
        for drop in rules
        if drop.metric != UNDECIDED_SHARE
    }
    sampled = [drop for drop in rules if drop.sampled and columns[drop].members]
    results = dict(zip(sampled, held_sampled(table, sampled), strict=True))
    tested = [drop for drop in columns if not drop.sampled and columns[drop].members]
    for drop, chance in zip(tested, _chances(columns, tested), strict=True):
        column = columns[drop]
        given = drop in drops
        if drop.metric == FLIPS:
            result = _flips(drop, column, chance, trials, given=given)
        else:
            result = _held(drop, column, chance, trials)
        if given or result.outcome != "passed":
            results[drop] = result
    for drop in drops:
        if drop.metric == UNDECIDED_SHARE:
            results[drop] = _undecided(drop, table)
        elif drop not in results:
            results[drop] = _no_value(drop, columns[drop], table)
    return tuple(results[drop] for drop in rules if drop in results)


def _chances(columns: dict[Drop, Column], drops: Sequence[Drop]) -> list[float]:
    """Return how probable it is that each mean falls as far by chance, or that as many cases flip."""
    kinds: list[Literal["most", "flips"]] = ["flips" if drop.metric == FLIPS else "most" for drop in drops]
    return chances(blocks_of([columns[drop] for drop in drops], kinds), len(drops))


def _held(drop: Drop, column: Column, chance: float, trials: Trials) -> RuleResult:
    least, most = column.bounds or (0.0, 0.0)
    beyond = most < -drop.most - TOLERANCE
    outcome: ComparisonOutcome = "inconclusive"
    if least >= -drop.most - TOLERANCE:
        outcome = "passed"
    elif beyond and (trials.varies is False or chance <= ALARMS):
        outcome = "failed"
    error = None if trials.varies is False else _error(column)
    seen = None if error is None else max((_ALARM + _POWER) * error, drop.most + _POWER * error)
    needed = _trials_for(drop, error, trials)
    moved = f"{drop.name} {span_text(column.side(new=False))} -> {span_text(column.side(new=True))}"
    cases = counted(len(column.members), "case")
    if not column.differ:
        reason = f"{moved}: no difference in {cases}"
    else:
        said = {
            "passed": f"is not down by more than {drop.most:g}",
            "failed": f"is down by more than {drop.most:g}",
            "inconclusive": f"is down by more than {drop.most:g}, but chance may go as far"
            if beyond
            else f"may be down by more than {drop.most:g}: undecided labels leave it open",
        }[outcome]
        odds = "" if trials.varies is False else f"; chance goes as far down with probability {_odds(chance)}"
        reason = f"{moved} {said}: {span_text(column.bounds, '+.3f')} ({column.differ} of {cases} differ{odds})"
    return RuleResult(
        rule=str(drop),
        metric=drop.metric,
        domain=drop.domain,
        drop=drop.most,
        outcome=outcome,
        reason=reason,
        difference=column.bounds,
        p=None if trials.varies is False else chance,
        settle=tuple(_ways(drop, column, trials, seen, needed)) if outcome != "failed" else (),
        smallest=seen,
        trials=needed,
    )


def _odds(chance: float) -> str:
    return f"{chance:.3f}" if chance >= _LEAST_TOLD else f"below {_LEAST_TOLD}"


def _error(column: Column) -> float | None:
    """Return the standard error of the mean difference if both runs were of the earlier agent; None where nothing tells how it varies.

    A case's own variance is that of its trials in the earlier run; where cases ran once, half the square of its difference between the runs.
    """
    total = 0.0
    for pair, low, high in zip(column.members, column.least, column.most, strict=True):
        base, new = pair.values(column.metric, most=True)
        own = variance(base) if len(base) > 1 else ((low + high) / 2) ** 2 / 2
        total += own / len(base) + own / len(new)
    return math.sqrt(total) / len(column.members) if total else None


def _trials_for(drop: Drop, error: float | None, trials: Trials) -> int | None:
    """Return how many trials of each case see a drop as large as the rule's four times in five; None where that says nothing.

    A number as large as the limit stands for more than that.
    """
    if not error or not drop.most:
        return None
    # Both runs at the trials that they have are worth so many trials of both.
    alike = 2 / (1 / trials.base + 1 / trials.new)
    return min(math.ceil(alike * ((_ALARM + _POWER) * error / drop.most) ** 2), _MOST_TRIALS)


def _ways(drop: Drop, column: Column, trials: Trials, seen: float | None, needed: int | None) -> Iterator[str]:
    """Say what the answer is worth, and what would make it worth more."""
    if not (column.differ or trials.varies):
        return
    if column.undecided:
        yield "labels that are undecided in one run only leave it open: mapsat review RUN, for both runs"
    if trials.varies and trials.fewer == 1:
        yield f"one trial of each case is too few: this agent varies ({trials.why})"
    if seen is not None:
        each = f"{trials.fewer} trial{'s' * (trials.fewer != 1)} of each case"
        yield f"a drop of {seen:.3f} would have been seen four times in five with {each}, a smaller one less often"
    if needed == _MOST_TRIALS:
        yield f"to see a drop of {drop.most:g} so often takes more than {needed} trials of each case: allow more, or add cases"
    elif needed is not None and needed > trials.fewer:
        yield f"to see a drop of {drop.most:g} so often takes about {needed} trials of each case (--mapsat-trials={needed})"


def _flips(drop: Drop, column: Column, chance: float, trials: Trials, *, given: bool) -> RuleResult:
    """Hold the cases that passed in every trial and fail in every one now against how many may."""
    flipped = [pair.id for pair in column.members if pair.flip < 0]
    outcome: ComparisonOutcome = "failed" if len(flipped) > drop.most else "passed"
    if outcome == "failed" and trials.varies and chance > ALARMS and not given:
        # Of an agent that varies a flip may be chance, unless the rule was written to mean every one.
        outcome = "passed" if chance > _EXPECTED and trials.fewer > 1 else "inconclusive"
    each = "in every trial" if trials.fewer > 1 else "before"
    named = ", ".join(flipped[:_NAMED]) + (f" and {len(flipped) - _NAMED} more" if len(flipped) > _NAMED else "")
    reason = f"{counted(len(flipped), 'case')} passed {each} and {'fails' if len(flipped) == 1 else 'fail'} now"
    reason += f", {drop.most:g} may: {named}" if flipped else f", {drop.most:g} may"
    settle = []
    if outcome == "inconclusive":
        settle.append(f"this agent varies ({trials.why}): chance does so with probability {_odds(chance)}")
        settle.append("more trials of each case tell (--mapsat-trials), or a rule flips:0 that fails in any case")
    return RuleResult(
        rule=str(drop),
        metric=FLIPS,
        domain=drop.domain,
        drop=drop.most,
        outcome=outcome,
        reason=reason,
        p=chance if trials.varies else None,
        settle=tuple(settle),
    )


def _undecided(drop: Drop, table: Table) -> RuleResult:
    """Hold the share of cases that the judge leaves undecided against that of the earlier run."""
    pairs = [pair for pair in table.pairs if not drop.domain or drop.domain in pair.domains]
    before, after = (mean([float(pair.is_open(new=new)) for pair in pairs]) if pairs else 0.0 for new in (False, True))
    worse = after - before > drop.most + TOLERANCE
    told = f"{drop.name} {before:.3f} -> {after:.3f} of {counted(len(pairs), 'case')}"
    return RuleResult(
        rule=str(drop),
        metric=UNDECIDED_SHARE,
        domain=drop.domain,
        drop=drop.most,
        outcome="failed" if worse else "passed",
        reason=f"{told} is {'up' if worse else 'not up'} by more than {drop.most:g}",
    )


def _no_value(drop: Drop, column: Column, table: Table) -> RuleResult:
    if not table.pairs:
        why = "the runs share no case"
    elif column.cases:
        why = f"no case has {drop.metric} in both runs"
    else:
        hint = did_you_mean(drop.domain, table.domains)
        why = f"the runs share no case of domain {drop.domain!r}" + (f", {hint}" if hint else "")
    return RuleResult(
        rule=str(drop),
        metric=drop.metric,
        domain=drop.domain,
        drop=drop.most,
        outcome="inconclusive",
        reason=f"{drop.name} is undecided: {why}",
    )


def trials_of(pairs: Sequence[Pair], metrics: Sequence[str], *, same_agent: bool) -> Trials:
    """Return how the agent of two runs goes about its trials.

    Args:
        pairs: the cases that both runs have.
        metrics: what a trial may differ in.
        same_agent: whether both runs are of one agent with one source.
    """
    base = min((len(pair.base) for pair in pairs), default=1)
    new = min((len(pair.new) for pair in pairs), default=1)
    unequal = [pair.id for pair in pairs if pair.varies(metrics)]
    other = [pair.id for pair in pairs if not pair.same_words]
    varies, why = None, ""
    if unequal:
        more = f" and {len(unequal) - 1} more" if len(unequal) > 1 else ""
        varies, why = True, f"trials of {unequal[0]}{more} in one run end differently"
    elif same_agent and other:
        varies, why = True, f"its source is the same in both runs and its words differ, as in {other[0]}"
    elif len(pairs) > 1 and 2 * len(other) <= len(pairs):
        varies, why = False, "most dialogues are the same word by word"
    elif any(pair.asks_a_model for pair in pairs):
        varies, why = True, "it asks a model"
    elif {pair.flip for pair in pairs} >= {-1, 1}:
        varies, why = True, "other cases flipped for the better at the same time"
    return Trials(varies, why, base, new)
