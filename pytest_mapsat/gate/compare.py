"""A comparison of a run with an earlier one, case by case: the changes, their certainty, and the rules on drops.

By default a rule is about these cases, which are fixed while trials are random: a merge asks about these cases. With ``@sampled`` it is about other
cases like these: by the interval of the difference over cases, and by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, permutations
from operator import attrgetter
from typing import Literal, NamedTuple

from pytest_mapsat.metrics import PASS_RATE, by_key
from pytest_mapsat.metrics.statistics import Spread, chances, joint_level, mean, sign_flip, variance
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
    any_true,
    did_you_mean,
    listed,
)

from .likeness import Side, difference_text, likeness
from .pairs import CasePair, Column, PairTable, blocks_of, changed_cases, pair_up
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
#: More trials than this are not recommended, and so many are where each case ran once.
_MOST_TRIALS, _SEVERAL = 64, 4
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
    """Return the comparison of a run with an earlier run; for runs of different kinds, only the differences.

    ``common``: compare what cases the runs share where they differ in part. ``inconclusive``: what an inconclusive comparison means; passed on.
    ``covers``: says whether the run has seen a whole domain, or with an empty name the whole suite; other drops are not decided.
    """
    like = likeness(baseline, new)
    head = Comparison(
        baseline=baseline.described(),
        new=new.described(),
        unlike=like.all,
        outcome="invalid",
        inconclusive=inconclusive,
    )
    if refusal := like.refusal(common=common):
        return head.model_copy(update={"reasons": refusal})
    baseline = baseline.asserting(new.manifest.options.asserted_kinds)
    before, after = baseline.cases(), new.cases()
    pairs = pair_up(before, after, like.changed | like.lost, other_decisions=baseline.decisions != new.decisions)
    if few := _too_few(len(pairs), len(before), len(after), partial=new.partial):
        told_so = f"the runs cannot be compared: {difference_text(few)}; fewer than half: run the baseline again"
        return head.model_copy(update={"unlike": (*like.all, few), "reasons": (told_so,), "pairs": len(pairs)})
    metrics = [name for name in gated(new.manifest.metrics) if name in gated(baseline.manifest.metrics)]
    first = [item.name for item in new.manifest.metrics if item.headline and item.name in metrics]
    ordered = [*first, *(name for name in metrics if name not in (*first, PASS_RATE))]
    changed = changed_cases(
        pairs, ordered, baseline_rule=baseline.manifest.options.pass_rule, new_rule=new.manifest.options.pass_rule
    )
    table = PairTable(pairs, ordered)
    rules = results_of_drops(table, [drop for drop in drops if covers(drop.domain)], baseline, new)
    gravest_first = sorted(rules, key=lambda rule: -SEVERITY.index(rule.outcome))
    partly = (f"{difference_text(item)}: compared on the common part" for item in like.part)
    return head.model_copy(
        update={
            "pairs": len(pairs),
            "changes": tuple(_changes(table, [*ordered, PASS_RATE])),
            "rules": rules,
            "cases": changed,
            "flips": tuple(
                sum(change.flipped and change.direction == way for change in changed) for way in ("worse", "better")
            ),
            "varies": trials_of(pairs, [*ordered, PASS_RATE], baseline, new).varies,
            "outcome": gravest_first[0].outcome if rules else "passed",
            "reasons": tuple(
                line for rule in gravest_first for line in (rule.reason, *(f"  {way}" for way in rule.settle))
            ),
            "where": tuple(_where(changed, table)),
            "common": bool(like.part),
            "only_baseline": tuple(sorted(before.keys() - after.keys())),
            "only_new": tuple(sorted(after.keys() - before.keys())),
            "warnings": (*partly, *_more_open(pairs)),
        }
    )


def _too_few(pairs: int, before: int, after: int, *, partial: bool) -> Unlike | None:
    """Return a difference if the runs share too few cases; None if they share enough."""
    whole = after if partial else max(before, after)
    if pairs >= _LEAST_COMMON * whole:
        return None
    return Unlike(what="cases in common", baseline=f"{pairs} of {before}", new=f"{pairs} of {after}")


def _more_open(pairs: Sequence[CasePair]) -> Iterator[str]:
    """Yield a warning if the judge leaves more cases undecided than in the baseline run."""
    before, after = (sum(pair.is_open(new=new) for pair in pairs) for new in (False, True))
    if after > before:
        yield (
            f"{counted(after, 'case')} with undecided labels that can fail an item, {before} in the baseline; "
            "the rule undecided:0.05 would fail where their share rises by more"
        )


def _changes(table: PairTable, metrics: Sequence[str]) -> Iterator[Change]:
    """Yield the change of every metric, over all cases first, then by domain."""
    columns = [
        column
        for domain in ("", *table.domains)
        for metric in metrics
        if (column := table.column(metric, domain)).members
    ]
    blocks = blocks_of(columns, [column.nearer_end for column in columns])
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
    """Return whether a metric got worse or better beyond chance, stayed the same, or is unclear."""
    if not column.differ:
        return "same"
    if column.bounds is None or chance > ALARMS:
        return "unclear"
    return "worse" if column.bounds[1] < 0 else "better"


def _where(changed: Sequence[CaseChange], table: PairTable) -> Iterator[str]:
    """Yield the domains where cases got worse, in words, starting with the most affected domain."""
    fallen = (case for case in changed if case.direction == "worse")
    worse = by_key((domain, case) for case in fallen for domain in case.domains or ("",))
    for domain, some in sorted(worse.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        whole = sum(domain in (pair.domains or ("",)) for pair in table.pairs)
        changes = (change for case in some for change in case.requirements)
        requirements = Counter(change.requirement for change in changes if change.direction == "worse")
        names = sorted(requirements, key=lambda name: (-requirements[name], name))
        broken = f"; requirements: {', '.join(names[:_NAMED])}{' ...' if len(names) > _NAMED else ''}" if names else ""
        cases = ", ".join(case.id for case in some[:_NAMED]) + (" ..." if len(some) > _NAMED else "")
        yield f"{domain or 'no domain'}: {len(some)} of {counted(whole, 'case')} got worse ({cases}){broken}"


class Trials(NamedTuple):
    """The variation of an agent between trials of one run, which may explain a difference between two runs.

    Attributes:
        varies: whether trials of a case end differently in one of the runs (True), or both have several trials, which all end alike (False); None: not known.
        flaky: such a case; empty where there is none.
        baseline: trials of each case in the earlier run, the fewest.
        new: likewise in the new one.
        build: the build that both runs name; empty where one names none, or they name two.
    """

    varies: bool | None
    flaky: str
    baseline: int
    new: int
    build: str

    @property
    def fewer(self) -> int:
        """Return the number of trials per case, in the run with fewer trials."""
        return min(self.baseline, self.new)

    @property
    def certain(self) -> bool:
        """Return whether only the agent can explain a difference: trials agree, and the builds are not known to be equal."""
        return self.varies is False and not self.build

    @property
    def doubt(self) -> str:
        """Return in words why chance may explain a difference; empty if only the agent can explain it."""
        few = "one trial of each case is too few" if self.fewer == 1 else ""
        if self.varies:
            return f"{few}{': ' * bool(few)}this agent varies (trials of {self.flaky} in one run end differently)"
        if self.build:
            return f"both runs name the build {self.build}: chance makes the difference, or something besides the agent"
        if self.varies is None:
            return f"{few} to exclude chance" if few else "undecided labels hide whether this agent varies"
        return ""


def trials_of(pairs: Sequence[CasePair], metrics: Sequence[str], baseline: Side, new: Side) -> Trials:
    """Return how much the agent of two runs varies between trials, in some metrics."""
    before = min((len(pair.baseline) for pair in pairs), default=1)
    after = min((len(pair.new) for pair in pairs), default=1)
    several = min(before, after) > 1
    shown = [pair.varies(metrics) for pair in pairs]
    varies = any_true(shown) if True in shown or several else None
    flaky = pairs[shown.index(True)].id if varies else ""
    # What a Python agent reads and asks besides its source may have changed: of one trial that is no excuse.
    same = baseline.build == new.build and (several or baseline.build != baseline.manifest.agent_source)
    return Trials(varies, flaky, before, after, baseline.build if same else "")


def results_of_drops(table: PairTable, drops: Sequence[Drop], baseline: Side, new: Side) -> tuple[RuleResult, ...]:
    """Return the result of each drop rule; the default rule on flipped cases is included only if it fails.

    The probabilities of all rules on these cases are corrected for each other. A mean that fell by more than it may is *failed* where the agent surely
    does not vary or where chance goes as far in at most one of twenty comparisons of an agent with itself, and *inconclusive* where chance may. One that
    did not fall by more is *passed*.
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
    results = dict(zip(sampled, _sampled_results(table, sampled), strict=True))
    tested = [drop for drop in columns if not drop.sampled and columns[drop].members]
    kinds: list[Literal["most", "flips"]] = ["flips" if drop.metric == FLIPS else "most" for drop in tested]
    likely = chances(blocks_of([columns[drop] for drop in tested], kinds), len(tested))
    for drop, chance in zip(tested, likely, strict=True):
        trials = trials_of(table.pairs, [columns[drop].metric], baseline, new)
        result = (_flips_result if drop.metric == FLIPS else _drop_result)(drop, columns[drop], chance, trials)
        if drop in drops or result.outcome != "passed":
            results[drop] = result
    for drop in drops:
        if drop.metric == UNDECIDED_SHARE:
            results[drop] = _undecided_result(drop, table)
        elif drop not in results:
            results[drop] = _no_value(drop, columns[drop], table)
    return tuple(results[drop] for drop in rules if drop in results)


def _drop_result(drop: Drop, column: Column, chance: float, trials: Trials) -> RuleResult:
    """Return the result of a drop rule on these cases."""
    least, most = column.bounds or (0.0, 0.0)
    beyond = most < -drop.most - TOLERANCE
    outcome: ComparisonOutcome = "inconclusive"
    if least >= -drop.most - TOLERANCE:
        outcome = "passed"
    elif beyond and (trials.certain or chance <= ALARMS):
        outcome = "failed"
    error = _error(column)
    seen = None if error is None else max((_ALARM + _POWER) * error, drop.most + _POWER * error)
    needed = _trials_for(drop, error, trials)
    doubt = ("fell", ", which may be chance") if beyond else ("may have fallen", ", as labels are undecided")
    verb, why = {"passed": ("did not fall", ""), "failed": ("fell", "")}.get(outcome, doubt)
    likely = "" if trials.certain else f"; {odds(chance)}"
    return _rule_result(
        drop,
        outcome,
        _change_text(drop, column, verb, f"{why}: {span_text(column.bounds, '+.3f')}", likely),
        difference=column.bounds,
        p=None if trials.certain else chance,
        settle=tuple(_hints(drop, column, trials, seen, needed)) if outcome != "failed" else (),
        smallest=seen,
        trials=needed,
    )


def _change_text(drop: Drop, column: Column, verb: str, change: str, likely: str) -> str:
    """Return the difference between the means of two runs in words, and the number of affected cases."""
    moved = f"{drop.title} {span_text(column.side(new=False))} -> {span_text(column.side(new=True))}"
    cases = counted(len(column.members), "case")
    if not column.differ:
        return f"{moved}: no difference in {cases}"
    return f"{moved} {verb} by more than {drop.most:g}{change} ({column.differ} of {cases} differ{likely})"


def _rule_result(drop: Drop, outcome: ComparisonOutcome, reason: str, **measured: object) -> RuleResult:
    """Return the result of a rule, with the measured values."""
    rule = {"rule": str(drop), "metric": drop.metric, "domain": drop.domain, "drop": drop.most}
    return RuleResult.model_validate({**rule, "outcome": outcome, "reason": reason, **measured})


def _error(column: Column) -> float | None:
    """Return the standard error of the mean difference between two runs of the same agent; None if its trials do not vary.

    A case's own variance is that of its trials in the earlier run; where it ran once there, that in the new one.
    """
    total = 0.0
    for pair in column.members:
        baseline, new = pair.values(column.metric, most=True)
        own = variance(baseline if len(baseline) > 1 else new)
        total += own / len(baseline) + own / len(new)
    return math.sqrt(total) / len(column.members) if total else None


def _trials_for(drop: Drop, error: float | None, trials: Trials) -> int | None:
    """Return the number of trials per case that detects the rule's drop four times in five; None if it cannot be computed.

    A number as large as the limit stands for more than that.
    """
    if not error or not drop.most:
        return None
    # Both runs at the trials that they have are worth so many trials of both.
    alike = 2 / (1 / trials.baseline + 1 / trials.new)
    return min(math.ceil(alike * ((_ALARM + _POWER) * error / drop.most) ** 2), _MOST_TRIALS)


def _hints(drop: Drop, column: Column, trials: Trials, seen: float | None, needed: int | None) -> Iterator[str]:
    """Yield hints on how certain a result is, and how to make it more certain."""
    if not (column.differ or trials.varies):
        return
    if column.undecided:
        yield _OPEN
    if trials.doubt and (trials.fewer == 1 or not trials.varies):
        unknown = trials.varies is None and trials.fewer == 1
        yield trials.doubt + (f": --mapsat-trials={_SEVERAL} in both runs decides it" if unknown else "")
    if seen is not None:
        each = f"{counted(trials.fewer, 'trial')} of each case"
        yield f"a drop of {seen:.3f} would have been seen four times in five with {each}, a smaller one less often"
    if needed == _MOST_TRIALS:
        yield f"to see a drop of {drop.most:g} so often takes more than {needed} trials of each case: allow more, or add cases"
    elif needed is not None and needed > trials.fewer:
        yield f"to see a drop of {drop.most:g} so often takes about {needed} trials of each case (--mapsat-trials={needed})"


def _flips_result(drop: Drop, column: Column, chance: float, trials: Trials) -> RuleResult:
    """Return the result of a flips rule: whether too many cases passed in every trial before and now fail in every trial.

    Where trials within a run vary, chance is asked. Where they do not, or there is one trial only, a flip fails as a failing test does,
    unless both runs name the same build.
    """
    flipped = [pair.id for pair in column.members if pair.flip < 0]
    opened = [pair.id for pair in column.members if pair.may_flip]
    outcome: ComparisonOutcome = "failed" if len(flipped) > drop.most else "passed"
    if outcome == "failed" and trials.varies and chance > ALARMS:
        outcome = "passed" if chance > _EXPECTED and trials.fewer > 1 else "inconclusive"
    elif outcome == "failed" and trials.build and not trials.varies:
        outcome = "inconclusive"
    settle: tuple[str, ...] = ()
    if outcome == "inconclusive" or (outcome == "failed" and trials.varies is None):
        by_chance = f"; by chance alone this happens with {odds(chance)}" if trials.varies else ""
        more = max(_SEVERAL, 2 * trials.fewer)
        let = f"let N cases flip with flips:N (flips:{len(flipped)} lets these)"
        settle = (f"{trials.doubt}{by_chance}", f"run both with --mapsat-trials={more}, or {let}")
    each = "in every trial" if trials.fewer > 1 else "before"
    fail = "fails" if len(flipped) == 1 else "fail"
    cases_text = f": {listed(flipped)}" if flipped else ""
    reason = f"{counted(len(flipped), 'case')} passed {each} and {fail} now (allowed: {drop.most:g}){cases_text}"
    if outcome == "passed" and opened and len(flipped) + len(opened) > drop.most:
        outcome, settle = "inconclusive", (_OPEN,)
        reason += f"; {counted(len(opened), 'more case')} passed {each} and may fail now, as labels are undecided: {listed(opened)}"
    return _rule_result(drop, outcome, reason, p=chance if trials.varies else None, settle=settle)


def _undecided_result(drop: Drop, table: PairTable) -> RuleResult:
    """Return the result of a rule on undecided cases: whether their share rose by more than the rule allows."""
    pairs = [pair for pair in table.pairs if not drop.domain or drop.domain in pair.domains]
    if not pairs:
        return _no_value(drop, table.column(drop.metric, drop.domain), table)
    before, after = (mean([float(pair.is_open(new=new)) for pair in pairs]) for new in (False, True))
    worse = after - before > drop.most + TOLERANCE
    change_text = f"{drop.title} {before:.3f} -> {after:.3f} of {counted(len(pairs), 'case')}"
    return _rule_result(
        drop,
        "failed" if worse else "passed",
        f"{change_text} {'rose' if worse else 'did not rise'} by more than {drop.most:g}",
    )


def _no_value(drop: Drop, column: Column, table: PairTable) -> RuleResult:
    """Return an inconclusive result that explains why no common case has the rule's metric."""
    if not table.pairs:
        why = "the runs share no case"
    elif column.cases:
        why = f"no case has {drop.metric} in both runs"
    else:
        hint = did_you_mean(drop.domain, table.domains)
        why = f"the runs share no case of domain {drop.domain!r}" + (f", {hint}" if hint else "")
    return _rule_result(drop, "inconclusive", f"{drop.title} is undecided: {why}")


def _sampled_results(table: PairTable, drops: Sequence[Drop]) -> Iterator[RuleResult]:
    """Yield the results of drop rules on the population of similar cases; intervals and probabilities hold for all rules together.

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
    yield from map(_sampled_result, drops, columns, table.intervals(columns, level=level), probabilities)


def _sampled_result(drop: Drop, column: Column, interval: Bounds | None, chance: float) -> RuleResult:
    """Return the result of a drop rule on the population of similar cases."""
    low, high = interval or (min(column.least), max(column.most))
    outcome: ComparisonOutcome = "inconclusive"
    if low >= -drop.most - TOLERANCE and (interval is not None or low >= -TOLERANCE):
        outcome = "passed"
    elif interval is not None and high < -drop.most - TOLERANCE and chance <= ALARMS:
        outcome = "failed"
    middles = [(least + most) / 2 for least, most in zip(column.least, column.most, strict=True)]
    spread = Spread.of(middles)
    verb = {"failed": "fell", "passed": "did not fall", "inconclusive": "may have fallen"}[outcome]
    change = f": {span_text(column.bounds, '+.3f')} [{low:+.3f}, {high:+.3f}]"
    reason = _change_text(drop, column, verb, change, f"; {odds(chance)}")
    result = _rule_result(
        drop, outcome, reason, difference=column.bounds, low=low, high=high, p=chance, smallest=spread.smallest
    )
    if outcome != "inconclusive":
        return result
    enough = spread.cases_for(abs(mean(middles) + drop.most))
    settle = [_OPEN] if column.undecided else []
    if enough is not None and enough > spread.n:
        settle.append(f"about {enough} cases like these would settle a difference of this size; these are {spread.n}")
    if spread.smallest is not None:
        seen = f"a drop of {spread.smallest:.3f} beyond the allowed one is seen four times in five"
        settle.append(f"as it is, {seen}")
    return result.model_copy(update={"settle": tuple(settle), "cases": enough})


def false_alarms(sides: Sequence[Side], drops: Sequence[Drop]) -> JsonObject:
    """Return the gate's decisions between runs of one agent as plain data, with each pair compared in both directions.

    A single run is held against itself: half of the trials of each case against the others, in every way. Told is how often the whole gate, and each rule,
    ended how; of each rule also the smallest drop that it sees four times in five, at the median.

    Raises:
        UsageError: there are too few runs, or they are not of one agent and one kind.
    """
    first, agent_of = sides[0], attrgetter("manifest.agent", "manifest.agent_source", "build")
    for run in sides[1:]:
        if unlike := likeness(first, run).all:
            raise UsageError(f"these are not runs of one kind: {difference_text(unlike[0])}")
        if agent_of(first) != agent_of(run):
            agents = f"{first.manifest.agent} and {run.manifest.agent}"
            raise UsageError(f"these are not runs of one agent: {agents}, or its source or build differs")
    orders = list(islice(permutations(sides, 2) if len(sides) > 1 else _halves(first), _MOST_PAIRS))
    outcomes: list[ComparisonOutcome] = []
    by_rule: dict[str, list[RuleResult]] = {str(drop): [] for drop in drops}
    metrics = [*gated(first.manifest.metrics)]
    for baseline, new in orders:
        pairs = pair_up(baseline.cases(), new.cases(), frozenset())
        results = results_of_drops(PairTable(pairs, metrics), drops, baseline, new)
        outcomes.append(max((result.outcome for result in results), key=SEVERITY.index, default="passed"))
        for result in results:
            by_rule.setdefault(result.rule, []).append(result)
    rules = []
    for rule, results_of_rule in by_rule.items():
        seen = sorted(result.smallest for result in results_of_rule if result.smallest is not None)
        smallest = seen[len(seen) // 2] if seen else None
        rules.append({"rule": rule, **_counts([result.outcome for result in results_of_rule]), "smallest": smallest})
    return {"comparisons": len(orders), "outcomes": _counts(outcomes), "rules": rules}


def _counts(outcomes: Sequence[ComparisonOutcome]) -> dict[str, int]:
    """Return the numbers of comparisons that passed, were inconclusive and failed."""
    return {name: outcomes.count(name) for name in SEVERITY[:3]}


def _halves(run: Side) -> Iterator[tuple[Side, Side]]:
    """Yield every split of a run's trials into one half and the rest. Raises UsageError for a single trial."""
    trials = {card.trial for card in run.cards}
    if len(trials) <= 1:
        raise UsageError(
            "one run of one trial cannot be compared with itself: give several runs, or one with --mapsat-trials"
        )
    for half in combinations(sorted(trials), len(trials) // 2):
        yield run.of_trials(half), run.of_trials(trials.difference(half))


def span_text(bounds: Bounds | None, form: str = ".3f") -> str:
    """Return bounds as text: one number if they are equal, ``none`` for None."""
    return "none" if bounds is None else " to ".join(dict.fromkeys(f"{end:{form}}" for end in bounds))


def odds(chance: float) -> str:
    """Return as text the probability of a difference this large by chance alone, as ``p = 0.031``."""
    return f"p = {chance:.3f}" if chance >= _LEAST_TOLD else f"p < {_LEAST_TOLD}"
