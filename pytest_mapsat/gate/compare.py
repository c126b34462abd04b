"""A run held against an earlier one, case by case: what changed, how sure that is, and whether it may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.metrics.paired import mcnemar, sign_flip
from pytest_mapsat.metrics.statistics import Interval
from pytest_mapsat.model import CaseChange, Change, Comparison, Direction, RuleResult

from .changed import changed_cases
from .drops import ALARMS, held_drops
from .finding import SEVERITY, counted
from .likeness import Side, likeness, told
from .pairs import pair_up
from .table import Column, Table
from .thresholds import Drop, gated

_NAMED = 3
#: Groups are many: fewer resamples move their ends by little.
_GROUP_RESAMPLES = 2_000


def compare(
    base: Side,
    new: Side,
    drops: Sequence[Drop] = (),
    *,
    common: bool = False,
    inconclusive: Literal["fail", "pass"] = "fail",
    covers: Callable[[str], bool] = lambda _: True,
) -> Comparison:
    """Return a run held against an earlier one.

    Args:
        base: the earlier run.
        new: the run.
        drops: how much means may fall.
        common: compare what cases the runs share where they differ in part.
        inconclusive: what an inconclusive comparison means; passed on.
        covers: says whether the run has seen a whole domain, or with an empty name the whole suite; other drops are not decided.

    Returns:
        The comparison. Runs of different kinds are not compared: it then says what differs.
    """
    like = likeness(base, new)
    head = Comparison(
        base=base.described(), new=new.described(), unlike=like.all, outcome="inconclusive", inconclusive=inconclusive
    )
    if refusal := like.refusal(common=common):
        return head.model_copy(update={"reasons": refusal})
    before, after = base.cases(), new.cases()
    pairs = pair_up(before, after, like.changed)
    metrics = [name for name in gated(new.manifest.metrics) if name in gated(base.manifest.metrics)]
    first = [one.name for one in new.manifest.metrics if one.headline and one.name in metrics]
    ordered = [*first, *(name for name in metrics if name not in (*first, PASS_RATE))]
    changed = changed_cases(
        pairs, ordered, base_rule=base.manifest.options.pass_rule, new_rule=new.manifest.options.pass_rule
    )
    table = Table(pairs)
    rules = held_drops(table, [drop for drop in drops if covers(drop.domain)])
    flips = [sum(one.flipped and one.direction == way for one in changed) for way in ("worse", "better")]
    outcome = max((rule.outcome for rule in rules), key=SEVERITY.index, default="passed")
    return head.model_copy(
        update={
            "common": bool(like.part),
            "only_base": tuple(sorted(before.keys() - after.keys())),
            "only_new": tuple(sorted(after.keys() - before.keys())),
            "pairs": len(pairs),
            "changes": tuple(_changes(table, [*ordered, PASS_RATE])),
            "rules": rules,
            "cases": changed,
            "flips": (flips[0], flips[1]),
            "mcnemar": mcnemar(flips[0], flips[1]),
            "outcome": outcome,
            "reasons": tuple(_reasons(rules)),
            "where": tuple(_where(changed, table)),
            "warnings": tuple(f"{told(one)}: compared on what is common" for one in like.part),
        }
    )


def _changes(table: Table, metrics: Sequence[str]) -> Iterator[Change]:
    """Give the change of every metric, over all cases first, then by domain."""
    whole, parts = (
        [column for domain in domains for metric in metrics if (column := table.column(metric, domain)).members]
        for domains in ([""], table.domains)
    )
    intervals = [*table.intervals(whole), *table.intervals(parts, resamples=_GROUP_RESAMPLES)]
    columns = [*whole, *parts]
    chances = sign_flip([column.cautious() for column in columns]) if columns else []
    for column, interval, chance in zip(columns, intervals, chances, strict=True):
        yield _change(column, interval, chance)


def _change(column: Column, interval: Interval | None, chance: float) -> Change:
    return Change(
        metric=column.metric,
        dimension="domain" if column.domain else "",
        group=column.domain,
        base=column.side(new=False),
        new=column.side(new=True),
        difference=column.bounds,
        low=None if interval is None else interval[0],
        high=None if interval is None else interval[1],
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
    worse = [one for one in changed if one.direction == "worse"]
    for domain, some in _by_domain(worse):
        whole = sum(domain in (pair.domains or ("",)) for pair in table.pairs)
        factors: dict[str, int] = {}
        for one in some:
            for factor in one.factors:
                if factor.direction == "worse":
                    factors[factor.factor] = factors.get(factor.factor, 0) + 1
        named = sorted(factors, key=lambda name: (-factors[name], name))
        said = f"; factors: {', '.join(named[:_NAMED])}{' ...' if len(named) > _NAMED else ''}" if named else ""
        cases = ", ".join(one.id for one in some[:_NAMED]) + (" ..." if len(some) > _NAMED else "")
        yield f"{domain or 'no domain'}: {len(some)} of {counted(whole, 'case')} got worse ({cases}){said}"


def _by_domain(changed: Sequence[CaseChange]) -> list[tuple[str, list[CaseChange]]]:
    """Return the cases by domain, the domain with the most of them first."""
    found: dict[str, list[CaseChange]] = {}
    for one in changed:
        for domain in one.domains or ("",):
            found.setdefault(domain, []).append(one)
    return sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
