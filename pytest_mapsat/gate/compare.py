"""A run held against an earlier one, case by case: what changed, how sure that is, and whether the agent may have got so much worse.

By default a rule is about these cases, which are fixed while trials are random: a merge asks about these cases. With ``@sampled`` it is about other
cases like these: by the interval of the difference over cases, and by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Literal, NamedTuple

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.metrics.chance import Spread, chances, joint_level, sign_flip
from pytest_mapsat.metrics.statistics import Interval, mean, variance
from pytest_mapsat.model import (
    Bounds,
    CaseChange,
    Change,
    Comparison,
    ComparisonOutcome,
    Direction,
    JsonObject,
    RuleResult,
    Unlike,
    UsageError,
    did_you_mean,
    listed,
)

from .likeness import Side, likeness, told
from .pairs import Column, Pair, Table, blocks_of, changed_cases, pair_up
from .rules import FLIPS, SEVERITY, TOLERANCE, UNDECIDED_SHARE, Drop, counted, gated

#: A false alarm in so many comparisons of one agent with itself, at most.
ALARMS = 0.05
_NAMED = 3
#: With a smaller share of the cases in common a comparison says nothing of the suite.
_LEAST_COMMON = 0.5
#: A drop is seen four times in five where it lies so many standard errors below nothing: 1.645 for the alarm level, 0.842 for the four times.
_ALARM, _POWER = 1.645, 0.842
#: What chance does more often than not is no news.
_EXPECTED = 0.5
_OPEN = "labels that are undecided in one run only leave it open: mapsat review RUN, for both runs"
#: More trials than this are not recommended.
_MOST_TRIALS = 64
#: An agent does not vary where so many dialogues are the same for each one whose words alone differ.
_SAME = 3
_LEAST_TOLD = 0.001
#: More pairs of runs of one agent than this tell nothing more.
_MOST_PAIRS = 400


def compare(
    baseline: Side,
    new: Side,
    drops: Sequence[Drop] = (),
    *,
    common: bool = False,
    inconclusive: Literal["fail", "pass"] = "pass",
    covers: Callable[[str], bool] = lambda _: True,
) -> Comparison:
    """Return a run held against an earlier one; of runs of different kinds only what differs.

    ``common``: compare what cases the runs share where they differ in part. ``inconclusive``: what an inconclusive comparison means; passed on.
    ``covers``: says whether the run has seen a whole domain, or with an empty name the whole suite; other drops are not decided.
    """
    like = likeness(baseline, new)
    head = Comparison(
        baseline=baseline.described(),
        new=new.described(),
        unlike=like.all,
        outcome="inconclusive",
        inconclusive=inconclusive,
    )
    if refusal := like.refusal(common=common):
        return head.model_copy(update={"reasons": refusal})
    baseline = baseline.asserting(new.manifest.options.asserted_kinds)
    before, after = baseline.cases(), new.cases()
    pairs = pair_up(before, after, like.changed, other_decisions=baseline.decisions != new.decisions)
    if few := _too_few(len(pairs), len(before), len(after), partial=new.partial):
        told_so = f"the runs cannot be compared: {told(few)}; fewer than half: run the baseline again"
        return head.model_copy(update={"unlike": (*like.all, few), "reasons": (told_so,), "pairs": len(pairs)})
    metrics = [name for name in gated(new.manifest.metrics) if name in gated(baseline.manifest.metrics)]
    first = [item.name for item in new.manifest.metrics if item.headline and item.name in metrics]
    ordered = [*first, *(name for name in metrics if name not in (*first, PASS_RATE))]
    result = _held_against(baseline, new, pairs, ordered, [drop for drop in drops if covers(drop.domain)])
    partly = (f"{told(item)}: compared on what is common" for item in like.part)
    return head.model_copy(
        update={
            **result,
            "common": bool(like.part),
            "only_baseline": tuple(sorted(before.keys() - after.keys())),
            "only_new": tuple(sorted(after.keys() - before.keys())),
            "warnings": (*partly, *_more_open(pairs)),
        }
    )


def _held_against(
    baseline: Side, new: Side, pairs: Sequence[Pair], metrics: Sequence[str], drops: Sequence[Drop]
) -> JsonObject:
    """Return what a comparison tells of the cases that both runs have."""
    changed = changed_cases(
        pairs, metrics, baseline_rule=baseline.manifest.options.pass_rule, new_rule=new.manifest.options.pass_rule
    )
    table = Table(pairs)
    agents = [(side.manifest.agent, side.manifest.agent_source) for side in (baseline, new)]
    same_agent = agents[0] == agents[1] and bool(agents[0][1])
    trials = trials_of(pairs, [*metrics, PASS_RATE], same_agent=same_agent)
    rules = held_drops(table, drops, trials)
    gravest_first = sorted(rules, key=lambda rule: -SEVERITY.index(rule.outcome))
    return {
        "pairs": len(pairs),
        "changes": tuple(_changes(table, [*metrics, PASS_RATE])),
        "rules": rules,
        "cases": changed,
        "flips": tuple(
            sum(change.flipped and change.direction == way for change in changed) for way in ("worse", "better")
        ),
        "varies": trials.varies,
        "outcome": gravest_first[0].outcome if rules else "passed",
        "reasons": tuple(
            line for rule in gravest_first for line in (rule.reason, *(f"  {way}" for way in rule.settle))
        ),
        "where": tuple(_where(changed, table)),
    }


def _too_few(pairs: int, before: int, after: int, *, partial: bool) -> Unlike | None:
    """Return that too few cases are common to both runs; None where they are enough, or all of those that a part of the suite has."""
    whole = after if partial else max(before, after)
    if pairs >= _LEAST_COMMON * whole:
        return None
    return Unlike(what="cases in common", baseline=f"{pairs} of {before}", new=f"{pairs} of {after}")


def _more_open(pairs: Sequence[Pair]) -> Iterator[str]:
    """Tell that the judge leaves more cases undecided than before."""
    before, after = (sum(pair.is_open(new=new) for pair in pairs) for new in (False, True))
    if after > before:
        yield (
            f"{counted(after, 'case')} with undecided labels that can fail an item, {before} in the baseline; "
            "the rule undecided:0.05 would fail where their share rises by more"
        )


def _changes(table: Table, metrics: Sequence[str]) -> Iterator[Change]:
    """Give the change of every metric, over all cases first, then by domain."""
    columns = [
        column
        for domain in ("", *table.domains)
        for metric in metrics
        if (column := table.column(metric, domain)).members
    ]
    blocks = blocks_of(columns, [column.cautious for column in columns])
    for column, chance in zip(columns, chances(blocks, len(columns), tail="both"), strict=True):
        yield Change(
            metric=column.metric,
            dimension="domain" if column.domain else "",
            group=column.domain,
            baseline=column.side(new=False),
            new=column.side(new=True),
            difference=column.bounds,
            p=chance,
            direction=_direction(column, chance),
            n=len(column.members) - column.undecided,
            undecided=column.undecided,
            left_out=column.cases - len(column.members),
        )


def _direction(column: Column, chance: float) -> Direction:
    if not column.differ:
        return "same"
    if column.bounds is None or chance > ALARMS:
        return "unclear"
    return "worse" if column.bounds[1] < 0 else "better"


def _where(changed: Sequence[CaseChange], table: Table) -> Iterator[str]:
    """Give the domains in which cases got worse, the one with the most of them first."""
    worse: dict[str, list[CaseChange]] = {}
    for case in changed:
        for domain in (case.domains or ("",)) if case.direction == "worse" else ():
            worse.setdefault(domain, []).append(case)
    for domain, some in sorted(worse.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        whole = sum(domain in (pair.domains or ("",)) for pair in table.pairs)
        changes = (change for case in some for change in case.requirements)
        requirements = Counter(change.requirement for change in changes if change.direction == "worse")
        named = sorted(requirements, key=lambda name: (-requirements[name], name))
        broken = f"; requirements: {', '.join(named[:_NAMED])}{' ...' if len(named) > _NAMED else ''}" if named else ""
        cases = ", ".join(case.id for case in some[:_NAMED]) + (" ..." if len(some) > _NAMED else "")
        yield f"{domain or 'no domain'}: {len(some)} of {counted(whole, 'case')} got worse ({cases}){broken}"


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
    """Return how the agent of two runs goes about its trials, which may differ in these metrics."""
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

    The probabilities of all rules on these cases are corrected for each other. A mean that fell by more than it may is *failed* where the agent does not
    vary or where chance goes as far in at most one of twenty comparisons of an agent with itself, and *inconclusive* where chance may. One that did not
    fall by more is *passed*.
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
    moved = f"{drop.title} {span_text(column.side(new=False))} -> {span_text(column.side(new=True))}"
    cases = counted(len(column.members), "case")
    if not column.differ:
        reason = f"{moved}: no difference in {cases}"
    else:
        verb = {
            "passed": f"did not fall by more than {drop.most:g}",
            "failed": f"fell by more than {drop.most:g}",
            "inconclusive": f"fell by more than {drop.most:g}, which may be chance"
            if beyond
            else f"may have fallen by more than {drop.most:g}, as labels are undecided",
        }[outcome]
        likely = "" if trials.varies is False else f"; {odds(chance)}"
        reason = f"{moved} {verb}: {span_text(column.bounds, '+.3f')} ({column.differ} of {cases} differ{likely})"
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
    rule = {"rule": str(drop), "metric": drop.metric, "domain": drop.domain, "drop": drop.most}
    return RuleResult.model_validate({**rule, "outcome": outcome, "reason": reason, **measured})


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
            f"by chance alone this happens with {odds(chance)}; {tell} (--mapsat-trials={more}), or a rule flips:0, which fails in any case",
        )
    each = "in every trial" if trials.fewer > 1 else "before"
    fail = "fails" if len(flipped) == 1 else "fail"
    named = f": {listed(flipped)}" if flipped else ""
    reason = f"{counted(len(flipped), 'case')} passed {each} and {fail} now (allowed: {drop.most:g}){named}"
    return _result(drop, outcome, reason, p=chance if trials.may_be_chance else None, settle=settle)


def _undecided(drop: Drop, table: Table) -> RuleResult:
    """Hold the share of cases that the judge leaves undecided against that of the earlier run."""
    pairs = [pair for pair in table.pairs if not drop.domain or drop.domain in pair.domains]
    before, after = (mean([float(pair.is_open(new=new)) for pair in pairs]) if pairs else 0.0 for new in (False, True))
    worse = after - before > drop.most + TOLERANCE
    told = f"{drop.title} {before:.3f} -> {after:.3f} of {counted(len(pairs), 'case')}"
    return _result(
        drop,
        "failed" if worse else "passed",
        f"{told} {'rose' if worse else 'did not rise'} by more than {drop.most:g}",
    )


def _no_value(drop: Drop, column: Column, table: Table) -> RuleResult:
    if not table.pairs:
        why = "the runs share no case"
    elif column.cases:
        why = f"no case has {drop.metric} in both runs"
    else:
        hint = did_you_mean(drop.domain, table.domains)
        why = f"the runs share no case of domain {drop.domain!r}" + (f", {hint}" if hint else "")
    return _result(drop, "inconclusive", f"{drop.title} is undecided: {why}")


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
    probabilities = sign_flip([column.aligned(column.most) for column in columns])
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
    spread = Spread.of(middles)
    moved = f"{drop.title} {span_text(column.side(new=False))} -> {span_text(column.side(new=True))}"
    cases = counted(len(column.members), "case")
    if column.differ:
        verb = {"failed": "fell", "passed": "did not fall", "inconclusive": "may have fallen"}[outcome]
        chance_told = f"{column.differ} of {cases} differ; {odds(chance)}"
        change = f"{span_text(column.bounds, '+.3f')} [{low:+.3f}, {high:+.3f}] ({chance_told})"
        reason = f"{moved} {verb} by more than {drop.most:g}: {change}"
    else:
        reason = f"{moved}: no difference in {cases}"
    result = _result(
        drop, outcome, reason, difference=column.bounds, low=low, high=high, p=chance, smallest=spread.smallest
    )
    if outcome != "inconclusive":
        return result
    enough = spread.cases_for(abs(mean(middles) + drop.most))
    settle = [_OPEN] if column.undecided else []
    if enough is not None and enough > spread.n:
        settle.append(f"about {enough} cases like these would settle a difference of this size; these are {spread.n}")
    if spread.smallest is not None:
        seen = f"a drop of {spread.smallest:.3f} beyond what is let pass is seen four times in five"
        settle.append(f"as it is, {seen}")
    return result.model_copy(update={"settle": tuple(settle), "cases": enough})


def false_alarms(sides: Sequence[Side], drops: Sequence[Drop]) -> JsonObject:
    """Return what the gate makes of several runs of one agent, each pair of them in both directions, as plain data.

    A single run is taken for as many as its cases ran trials. Told is how often the whole gate, and each rule, ended how; of each rule also the smallest
    drop that it sees four times in five, at the median.

    Raises:
        UsageError: there are too few runs, or they are not of one agent and one kind.
    """
    runs = list(sides) if len(sides) > 1 else _by_trial(sides)
    for run in runs[1:]:
        if unlike := likeness(runs[0], run).all:
            raise UsageError(f"these are not runs of one kind: {told(unlike[0])}")
        first, other = ((side.manifest.agent, side.manifest.agent_source) for side in (runs[0], run))
        if first != other:
            raise UsageError(f"these are not runs of one agent: {first[0]} and {other[0]}, or its source differs")
    cases = [run.cases() for run in runs]
    outcomes: list[ComparisonOutcome] = []
    by_rule: dict[str, list[RuleResult]] = {str(drop): [] for drop in drops}
    orders = list(permutations(range(len(runs)), 2))[:_MOST_PAIRS]
    for baseline, new in orders:
        pairs = pair_up(cases[baseline], cases[new], frozenset())
        trials = trials_of(pairs, [drop.metric for drop in drops], same_agent=True)
        results = held_drops(Table(pairs), drops, trials)
        outcomes.append(max((result.outcome for result in results), key=SEVERITY.index))
        for result in results:
            by_rule.setdefault(result.rule, []).append(result)
    rules = []
    for rule, held in by_rule.items():
        seen = sorted(result.smallest for result in held if result.smallest is not None)
        smallest = seen[len(seen) // 2] if seen else None
        rules.append({"rule": rule, **_ends([result.outcome for result in held]), "smallest": smallest})
    return {"comparisons": len(orders), "outcomes": _ends(outcomes), "rules": rules}


def _ends(outcomes: Sequence[ComparisonOutcome]) -> dict[str, int]:
    return {name: outcomes.count(name) for name in SEVERITY[:3]}


def _by_trial(sides: Sequence[Side]) -> list[Side]:
    trials = sorted({card.trial for side in sides for card in side.cards})
    if len(trials) <= 1:
        raise UsageError(
            "one run of one trial cannot be held against itself: give several runs, or one with --mapsat-trials"
        )
    return [
        replace(side, cards=[card.model_copy(update={"trial": 1}) for card in side.cards if card.trial == trial])
        for side in sides
        for trial in trials
    ]


def span_text(bounds: Bounds | None, form: str = ".3f") -> str:
    """Return the least and the most of something in words; one number where they are equal."""
    return "none" if bounds is None else " to ".join(dict.fromkeys(f"{end:{form}}" for end in bounds))


def odds(chance: float) -> str:
    """Return how probable so large a difference is by chance alone, as ``p = 0.031``."""
    return f"p = {chance:.3f}" if chance >= _LEAST_TOLD else f"p < {_LEAST_TOLD}"
