"""Several runs of one agent, held against each other: how often the gate would have said that it got worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from pytest_mapsat.model import ComparisonOutcome, JsonObject, UsageError

from .drops import held_drops, trials_of
from .finding import SEVERITY, counted
from .likeness import Side, likeness, told
from .pairs import Table, pair_up
from .rules import Drop

#: More pairs than this tell nothing more of so few runs.
_MOST = 400


@dataclass(frozen=True)
class Alarms:
    """What became of comparisons of one agent with itself.

    Attributes:
        comparisons: how many there were, each pair of runs in both directions.
        rules: how often each rule ended how.
        outcomes: how often the whole gate did.
        smallest: the smallest drop that each rule sees four times in five, at the median; None where nothing differs.
    """

    comparisons: int
    rules: dict[str, Counter[ComparisonOutcome]]
    outcomes: Counter[ComparisonOutcome]
    smallest: dict[str, float | None]

    def to_json(self) -> JsonObject:
        """Return them as plain data."""
        return {
            "comparisons": self.comparisons,
            "outcomes": {name: self.outcomes[name] for name in SEVERITY[:3]},  # type: ignore[index]
            "rules": [
                {"rule": rule, **{name: counts[name] for name in SEVERITY[:3]}, "smallest": self.smallest[rule]}  # type: ignore[index]
                for rule, counts in self.rules.items()
            ],
        }

    def lines(self) -> list[str]:
        """Return them in words."""
        share = self.outcomes["failed"] / self.comparisons
        ended = (
            f"{self.outcomes['failed']} failed ({share:.1%}), {self.outcomes['inconclusive']} inconclusive, "
            f"{self.outcomes['passed']} passed"
        )
        lines = [f"one agent held against itself, {counted(self.comparisons, 'comparison')}: {ended}"]
        for rule, counts in self.rules.items():
            seen = self.smallest[rule]
            power = "" if seen is None else f"; sees a drop of {seen:.3f} four times in five"
            lines.append(f"  {rule}: {counts['failed']} failed, {counts['inconclusive']} inconclusive{power}")
        return lines


def false_alarms(sides: Sequence[Side], drops: Sequence[Drop]) -> Alarms:
    """Return what the gate makes of several runs of one agent.

    Args:
        sides: at least two runs, or one whose cases ran several trials, each of which is then taken for a run.
        drops: the rules.

    Raises:
        UsageError: there are too few runs, or they are not of one agent and one kind.
    """
    runs = list(sides) if len(sides) > 1 else _by_trial(sides)
    _refuse_unlike(runs)
    cases = [run.cases() for run in runs]
    rules: dict[str, Counter[ComparisonOutcome]] = {str(drop): Counter() for drop in drops}
    outcomes: Counter[ComparisonOutcome] = Counter()
    seen: dict[str, list[float]] = {str(drop): [] for drop in drops}
    orders = list(permutations(range(len(runs)), 2))[:_MOST]
    for baseline, new in orders:
        pairs = pair_up(cases[baseline], cases[new], frozenset())
        trials = trials_of(pairs, [drop.metric for drop in drops], same_agent=True)
        results = held_drops(Table(pairs), drops, trials)
        outcomes[max((result.outcome for result in results), key=SEVERITY.index)] += 1
        for result in results:
            rules.setdefault(result.rule, Counter())[result.outcome] += 1
            seen.setdefault(result.rule, [])
            if result.smallest is not None:
                seen[result.rule].append(result.smallest)
    smallest = {rule: sorted(some)[len(some) // 2] if some else None for rule, some in seen.items()}
    return Alarms(len(orders), rules, outcomes, smallest)


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


def _refuse_unlike(runs: Sequence[Side]) -> None:
    first = runs[0]
    for run in runs[1:]:
        like = likeness(first, run).all
        if like:
            raise UsageError(f"these are not runs of one kind: {told(like[0])}")
        agents = [(one.manifest.agent, one.manifest.agent_source) for one in (first, run)]
        if agents[0] != agents[1]:
            raise UsageError(
                f"these are not runs of one agent: {agents[0][0]} and {agents[1][0]}, or its source differs"
            )
