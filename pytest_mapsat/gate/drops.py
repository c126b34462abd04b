"""Did an agent get worse? Each rule, against what is measured and, where the agent varies, against chance.

By default about these cases, which are fixed while trials are random: a merge asks about these cases. With ``@sampled`` about other cases like these:
by the interval of the difference over cases, and by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.metrics.paired import joint_level, sign_flip
from pytest_mapsat.metrics.permuted import chances
from pytest_mapsat.metrics.power import Spread
from pytest_mapsat.metrics.statistics import Interval, mean, variance
from pytest_mapsat.model import ComparisonOutcome, RuleResult, did_you_mean

from .finding import ALARMS, TOLERANCE, counted, listed, odds, span_text
from .pairs import Column, Pair, Table, blocks_of
from .rules import FLIPS, UNDECIDED_SHARE, Drop

#: A drop is seen four times in five where it lies so many standard errors below nothing: 1.645 for the alarm level, 0.842 for the four times.
_ALARM, _POWER = 1.645, 0.842
#: What chance does more often than not is no news.
_EXPECTED = 0.5
_OPEN = "labels that are undecided in one run only leave it open: mapsat review RUN, for both runs"
#: More trials than this nobody runs.
_MOST_TRIALS = 64
#: An agent does not vary where so many dialogues are the same for each one whose words alone differ.
_SAME = 3


class Trials(NamedTuple):
    """How an agent goes about its trials.

    Attributes:
        varies: whether it is known to end otherwise in another trial (True), to do the same each time (False), or neither (None).
        why: how that is known, or what speaks for chance though one trial cannot tell, in words; empty where nothing does.
        baseline: trials of each case in the earlier run, the fewest.
        new: likewise in the new one.
    """

    varies: bool | None = None
    why: str = ""
    baseline: int = 1
    new: int = 1

    @property
    def fewer(self) -> int:
        """Trials of each case in the run that has fewer."""
        return min(self.baseline, self.new)

    @property
    def may_be_chance(self) -> bool:
        """Whether a case may flip by chance: the agent varies, or something speaks for it and one trial cannot tell."""
        return self.varies is True or (self.varies is None and self.fewer == 1 and bool(self.why))

    @property
    def caution(self) -> str:
        """What one trial of each case is worth, in words; empty where trials suffice."""
        if self.fewer > 1 or self.varies is False:
            return ""
        if self.varies:
            return f"one trial of each case is too few: this agent varies ({self.why})"
        return f"one trial of each case is too few to tell the change from chance{': ' * bool(self.why)}{self.why}"


def trials_of(pairs: Sequence[Pair], metrics: Sequence[str], *, same_agent: bool) -> Trials:
    """Return how the agent of two runs goes about its trials.

    Args:
        pairs: the cases that both runs have.
        metrics: what a trial may differ in.
        same_agent: whether both runs are of one agent with one source.
    """
    baseline = min((len(pair.baseline) for pair in pairs), default=1)
    new = min((len(pair.new) for pair in pairs), default=1)
    unequal = [pair.id for pair in pairs if pair.varies(metrics)]
    other = [pair for pair in pairs if not pair.same_words]
    # A change that reaches a case shows in its result, chance in words alone; a change of all words cannot be told from chance.
    idle = [pair.id for pair in other if pair.ends_alike(metrics)]
    varies, why = None, ""
    if unequal:
        varies, why = True, f"trials of {listed(unequal, 1)} in one run end differently"
    elif same_agent and other:
        varies, why = True, f"its source is the same in both runs and its words differ, as in {other[0].id}"
    elif other and any(pair.asks_a_model for pair in pairs):
        varies, why = True, f"it asks a model and its words differ, as in {other[0].id}"
    elif 1 < len(pairs) > len(other) and len(pairs) - len(other) >= _SAME * len(idle):
        varies, why = False, "its words differ where its results do"
    elif {pair.flip for pair in pairs} >= {-1, 1}:
        varies, why = True, "other cases flipped for the better at the same time"
    elif idle:
        why = f"the words of {len(other)} of {counted(len(pairs), 'dialogue')} differ, as in {idle[0]}, which ends as before"
    return Trials(varies, why, baseline, new)


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
    results = dict(zip(sampled, _held_sampled(table, sampled), strict=True))
    tested = [drop for drop in columns if not drop.sampled and columns[drop].members]
    kinds: list[Literal["most", "flips"]] = ["flips" if drop.metric == FLIPS else "most" for drop in tested]
    likely = chances(blocks_of([columns[drop] for drop in tested], kinds), len(tested))
    for drop, chance in zip(tested, likely, strict=True):
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
        likely = "" if trials.varies is False else f"; chance goes as far down with probability {odds(chance)}"
        reason = f"{moved} {said}: {span_text(column.bounds, '+.3f')} ({column.differ} of {cases} differ{likely})"
    return _result(
        drop,
        outcome,
        reason,
        difference=column.bounds,
        p=None if trials.varies is False else chance,
        settle=tuple(_ways(drop, column, trials, seen, needed)) if outcome != "failed" else (),
        smallest=seen,
        trials=needed,
    )


def _result(drop: Drop, outcome: ComparisonOutcome, reason: str, **measured: object) -> RuleResult:
    told = RuleResult(
        rule=str(drop), metric=drop.metric, domain=drop.domain, drop=drop.most, outcome=outcome, reason=reason
    )
    return told.model_copy(update=measured)


def _error(column: Column) -> float | None:
    """Return the standard error of the mean difference if both runs were of the earlier agent; None where nothing tells how it varies.

    A case's own variance is that of its trials in the earlier run; where cases ran once, half the square of its difference between the runs.
    """
    total = 0.0
    for pair, low, high in zip(column.members, column.least, column.most, strict=True):
        baseline, new = pair.values(column.metric, most=True)
        own = variance(baseline) if len(baseline) > 1 else ((low + high) / 2) ** 2 / 2
        total += own / len(baseline) + own / len(new)
    return math.sqrt(total) / len(column.members) if total else None


def _trials_for(drop: Drop, error: float | None, trials: Trials) -> int | None:
    """Return how many trials of each case see a drop as large as the rule's four times in five; None where that says nothing.

    A number as large as the limit stands for more than that.
    """
    if not error or not drop.most:
        return None
    # Both runs at the trials that they have are worth so many trials of both.
    alike = 2 / (1 / trials.baseline + 1 / trials.new)
    return min(math.ceil(alike * ((_ALARM + _POWER) * error / drop.most) ** 2), _MOST_TRIALS)


def _ways(drop: Drop, column: Column, trials: Trials, seen: float | None, needed: int | None) -> Iterator[str]:
    """Say what the answer is worth, and what would make it worth more."""
    if not (column.differ or trials.varies):
        return
    if column.undecided:
        yield _OPEN
    if trials.caution:
        yield trials.caution
    if seen is not None:
        each = f"{counted(trials.fewer, 'trial')} of each case"
        yield f"a drop of {seen:.3f} would have been seen four times in five with {each}, a smaller one less often"
    if needed == _MOST_TRIALS:
        yield f"to see a drop of {drop.most:g} so often takes more than {needed} trials of each case: allow more, or add cases"
    elif needed is not None and needed > trials.fewer:
        yield f"to see a drop of {drop.most:g} so often takes about {needed} trials of each case (--mapsat-trials={needed})"


def _flips(drop: Drop, column: Column, chance: float, trials: Trials, *, given: bool) -> RuleResult:
    """Hold the cases that passed in every trial and fail in every one now against how many may."""
    flipped = [pair.id for pair in column.members if pair.flip < 0]
    outcome: ComparisonOutcome = "failed" if len(flipped) > drop.most else "passed"
    settle: tuple[str, ...] = ()
    if outcome == "failed" and trials.may_be_chance and chance > ALARMS and not given:
        # What may be chance fails only where the rule was written to mean every flip.
        outcome = "passed" if chance > _EXPECTED and trials.fewer > 1 else "inconclusive"
    if outcome == "inconclusive":
        more = 2 if trials.varies is None else 2 * trials.fewer
        tell = "two trials of each case or more tell" if more == 2 else "more trials of each case tell"  # noqa: PLR2004
        settle = (
            trials.caution or f"this agent varies ({trials.why})",
            f"chance does so with probability {odds(chance)}; {tell} (--mapsat-trials={more}), or a rule flips:0, which fails in any case",
        )
    each = "in every trial" if trials.fewer > 1 else "before"
    fail = "fails" if len(flipped) == 1 else "fail"
    named = f": {listed(flipped)}" if flipped else ""
    reason = f"{counted(len(flipped), 'case')} passed {each} and {fail} now, {drop.most:g} may{named}"
    return _result(drop, outcome, reason, p=chance if trials.may_be_chance else None, settle=settle)


def _undecided(drop: Drop, table: Table) -> RuleResult:
    """Hold the share of cases that the judge leaves undecided against that of the earlier run."""
    pairs = [pair for pair in table.pairs if not drop.domain or drop.domain in pair.domains]
    before, after = (mean([float(pair.is_open(new=new)) for pair in pairs]) if pairs else 0.0 for new in (False, True))
    worse = after - before > drop.most + TOLERANCE
    told = f"{drop.name} {before:.3f} -> {after:.3f} of {counted(len(pairs), 'case')}"
    return _result(
        drop, "failed" if worse else "passed", f"{told} is {'up' if worse else 'not up'} by more than {drop.most:g}"
    )


def _no_value(drop: Drop, column: Column, table: Table) -> RuleResult:
    if not table.pairs:
        why = "the runs share no case"
    elif column.cases:
        why = f"no case has {drop.metric} in both runs"
    else:
        hint = did_you_mean(drop.domain, table.domains)
        why = f"the runs share no case of domain {drop.domain!r}" + (f", {hint}" if hint else "")
    return _result(drop, "inconclusive", f"{drop.name} is undecided: {why}")


def _held_sampled(table: Table, drops: Sequence[Drop]) -> Iterator[RuleResult]:
    """Give what became of each drop about cases like these; their intervals and probabilities hold for all of them together.

    One is *failed* where the whole interval lies below it and chance is improbable, *passed* where the whole interval lies above it, else *inconclusive*.
    Chance is asked as well since no interval of a few cases holds what it says: two runs of one agent differ so far in at most one of twenty
    comparisons, at any size.
    """
    if not drops:
        return
    columns = [table.column(drop.metric, drop.domain) for drop in drops]
    ends = [(column, values) for column in columns for values in (column.least, column.most)]
    level = joint_level([column.aligned([value - mean(values) for value in values]) for column, values in ends])
    probabilities = sign_flip([column.aligned(column.most) for column in columns], tail="down")
    intervals = table.intervals(columns, level=level)
    yield from map(_sampled, drops, columns, intervals, probabilities)


def _sampled(drop: Drop, column: Column, interval: Interval | None, chance: float) -> RuleResult:
    low, high = interval or (min(column.least), max(column.most))
    outcome: ComparisonOutcome = "inconclusive"
    if low >= -drop.most - TOLERANCE and (interval is not None or low >= -TOLERANCE):
        outcome = "passed"
    elif interval is not None and high < -drop.most - TOLERANCE and chance <= ALARMS:
        outcome = "failed"
    middles = [(least + most) / 2 for least, most in zip(column.least, column.most, strict=True)]
    spread = Spread.of(
        middles,
        [pair.chance(column.metric) for pair in column.members],
        min(pair.trials for pair in column.members),
    )
    moved = f"{drop.name} {span_text(column.side(new=False))} -> {span_text(column.side(new=True))}"
    cases = counted(len(column.members), "case")
    if column.differ:
        verb = {"failed": "is", "passed": "is not", "inconclusive": "may or may not be"}[outcome]
        chance_told = f"{column.differ} of {cases} differ; chance goes as far down with probability {odds(chance)}"
        change = f"{span_text(column.bounds, '+.3f')} [{low:+.3f}, {high:+.3f}] ({chance_told})"
        reason = f"{moved} {verb} down by more than {drop.most:g}: {change}"
    else:
        reason = f"{moved}: no difference in {cases}"
    result = _result(
        drop, outcome, reason, difference=column.bounds, low=low, high=high, p=chance, smallest=spread.smallest
    )
    if outcome != "inconclusive":
        return result
    distance = abs(mean(middles) + drop.most)
    enough, trials = spread.cases_for(distance), spread.trials_for(distance)
    settle = tuple(_ways_sampled(column, spread, enough, trials))
    return result.model_copy(update={"settle": settle, "cases": enough, "trials": trials})


def _ways_sampled(column: Column, spread: Spread, cases: int | None, trials: int | None) -> Iterator[str]:
    if column.undecided:
        yield _OPEN
    more = cases is not None and cases > spread.n
    if more:
        yield f"about {cases} cases like these would settle a difference of this size; these are {spread.n}"
    if trials is not None and trials > spread.trials:
        yield f"so would about {trials} trials of each case (--mapsat-trials={trials}); now it is {spread.trials}"
    elif more and spread.chance is None:
        yield "several trials of each case (--mapsat-trials) would tell how much of it is chance"
    if spread.smallest is not None:
        yield f"as it is, a drop of {spread.smallest:.3f} beyond what is let pass is seen four times in five"
