"""A run held against an earlier one, case by case: what changed, how sure that is, and whether it may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.metrics.permuted import chances
from pytest_mapsat.model import CaseChange, Change, Comparison, Direction, RuleResult, Unlike

from .changed import changed_cases
from .drops import held_drops, trials_of
from .finding import ALARMS, SEVERITY, counted
from .likeness import Side, likeness, told
from .pairs import Column, Pair, Table, blocks_of, pair_up
from .rules import Drop, gated

_NAMED = 3
#: With a smaller share of the cases in common a comparison says nothing of the suite.
_LEAST_COMMON = 0.5


def compare(
    baseline: Side,
    new: Side,
    drops: Sequence[Drop] = (),
    *,
    common: bool = False,
    inconclusive: Literal["fail", "pass"] = "pass",
    covers: Callable[[str], bool] = lambda _: True,
) -> Comparison:
    """Return a run held against an earlier one.

    Args:
        baseline: the earlier run.
        new: the run.
        drops: how much means may fall.
        common: compare what cases the runs share where they differ in part.
        inconclusive: what an inconclusive comparison means; passed on.
        covers: says whether the run has seen a whole domain, or with an empty name the whole suite; other drops are not decided.

    Returns:
        The comparison. Runs of different kinds are not compared: it then says what differs.
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
    first = [one.name for one in new.manifest.metrics if one.headline and one.name in metrics]
    ordered = [*first, *(name for name in metrics if name not in (*first, PASS_RATE))]
    changed = changed_cases(
        pairs, ordered, baseline_rule=baseline.manifest.options.pass_rule, new_rule=new.manifest.options.pass_rule
    )
    table = Table(pairs)
    agents = [(side.manifest.agent, side.manifest.agent_source) for side in (baseline, new)]
    same_agent = agents[0] == agents[1] and bool(agents[0][1])
    trials = trials_of(pairs, [*ordered, PASS_RATE], same_agent=same_agent)
    rules = held_drops(table, [drop for drop in drops if covers(drop.domain)], trials)
    flips = [sum(one.flipped and one.direction == way for one in changed) for way in ("worse", "better")]
    outcome = max((rule.outcome for rule in rules), key=SEVERITY.index, default="passed")
    return head.model_copy(
        update={
            "common": bool(like.part),
            "only_baseline": tuple(sorted(before.keys() - after.keys())),
            "only_new": tuple(sorted(after.keys() - before.keys())),
            "pairs": len(pairs),
            "changes": tuple(_changes(table, [*ordered, PASS_RATE])),
            "rules": rules,
            "cases": changed,
            "flips": (flips[0], flips[1]),
            "varies": trials.varies,
            "outcome": outcome,
            "reasons": tuple(_reasons(rules)),
            "where": tuple(_where(changed, table)),
            "warnings": (
                *(f"{told(one)}: compared on what is common" for one in like.part),
                *_more_open(pairs),
            ),
        }
    )


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
            f"{counted(after, 'case')} with undecided labels, {before} before: what is not decided is not compared "
            "(a rule undecided:0.05 fails where their share rises by more)"
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


def _reasons(rules: Sequence[RuleResult]) -> Iterator[str]:
    """Give what became of the rules, the gravest first."""
    for rule in sorted(rules, key=lambda rule: -SEVERITY.index(rule.outcome)):
        yield rule.reason
        yield from (f"  {way}" for way in rule.settle)


def _where(changed: Sequence[CaseChange], table: Table) -> Iterator[str]:
    """Give the domains in which cases got worse, the one with the most of them first."""
    worse: dict[str, list[CaseChange]] = {}
    for one in changed:
        for domain in (one.domains or ("",)) if one.direction == "worse" else ():
            worse.setdefault(domain, []).append(one)
    for domain, some in sorted(worse.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        whole = sum(domain in (pair.domains or ("",)) for pair in table.pairs)
        requirements: dict[str, int] = {}
        for one in some:
            for requirement in one.requirements:
                if requirement.direction == "worse":
                    requirements[requirement.requirement] = requirements.get(requirement.requirement, 0) + 1
        named = sorted(requirements, key=lambda name: (-requirements[name], name))
        said = f"; requirements: {', '.join(named[:_NAMED])}{' ...' if len(named) > _NAMED else ''}" if named else ""
        cases = ", ".join(one.id for one in some[:_NAMED]) + (" ..." if len(some) > _NAMED else "")
        yield f"{domain or 'no domain'}: {len(some)} of {counted(whole, 'case')} got worse ({cases}){said}"
