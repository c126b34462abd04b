"""What the gate makes of noisy agents: false alarms, red comparisons of an agent with itself, and drops that are seen, by simulation with what ships."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import NamedTuple

SIZES = (12, 40, 200)
TRIALS = (1, 2, 4, 8, 16)
DROPS = (0.0, 0.05, 0.1, 0.15)
#: The share of trials of a case that repeat what the run did with it first: a cache, a seed, a bad day.
CORRELATED = 0.2
#: How often an agent passes, case by case: Beta(2.6, 0.4) has the mean 0.865.
EASE = (2.6, 0.4)
#: What an episode that passes earns: AR of weighted requirements.
LEVELS = (0.9, 1.0, 1.0, 1.0, 1.0)


class Share(NamedTuple):
    """How comparisons of two runs ended, in shares.

    Attributes:
        failed: the gate says that the agent got worse.
        inconclusive: it cannot say.
        red: the exit status is 1 with the defaults.
    """

    failed: float
    inconclusive: float
    red: float


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        cases: cases of the suite.
        trials: trials of each case in both runs.
        drop: by how much the mean AR of the new agent truly fell.
        correlated: the share of trials that repeat another one of their run.
        before: a rule about cases like these, inconclusive red, as the gate was before.
        now: the default.
    """

    cases: int
    trials: int
    drop: float
    correlated: float
    before: Share
    now: Share


def rows(repeats: int, sizes: Sequence[int] = SIZES) -> Iterator[Row]:
    """Give the table.

    Args:
        repeats: pairs of runs for each line.
        sizes: cases of a suite.
    """
    for correlated in (0.0, CORRELATED):
        for size in sizes:
            for trials in TRIALS:
                for drop in DROPS if not correlated else (0.0, 0.15):
                    yield row(size, trials, drop, repeats, correlated=correlated)


def row(size: int, trials: int, drop: float, repeats: int, *, correlated: float = 0.0) -> Row:
    """Return one line: so many pairs of runs, each of another suite, compared by both rules."""
    import numpy as np

    from pytest_mapsat.gate import parse_drops
    from pytest_mapsat.gate.compare import results_of_drops
    from pytest_mapsat.gate.pairs import PairTable
    from pytest_mapsat.gate.rules import SEVERITY

    class Simulated(PairTable):
        def mean(self, metric: str, domain: str, *, new: bool):
            return (statistics.fmean(pair.mean(metric, new=new)[0] for pair in self.pairs),) * 2

    generator = np.random.default_rng([size, trials, round(1000 * drop), round(1000 * correlated)])
    ended = {"before": [], "now": []}
    for _ in range(repeats):
        ease = generator.beta(*EASE, size)
        baseline, new = (played(generator, ease, trials, fall, correlated) for fall in (0.0, drop))
        pairs = [Case(f"c{n:04}", baseline[n], new[n]) for n in range(size)]
        side = SimpleNamespace(build="", manifest=SimpleNamespace(agent_source=""))
        for name, rule in (("before", "ar:0.02@sampled"), ("now", "ar:0.02")):
            results = results_of_drops(Simulated(pairs), parse_drops([rule]), side, side)
            if name == "before":  # flips were told, and decided nothing
                results = [result for result in results if result.rule == rule]
            ended[name].append(max((result.outcome for result in results), key=SEVERITY.index))
    shares = {
        name: Share(
            outcomes.count("failed") / repeats,
            outcomes.count("inconclusive") / repeats,
            (outcomes.count("failed") + (name == "before") * outcomes.count("inconclusive")) / repeats,
        )
        for name, outcomes in ended.items()
    }
    return Row(size, trials, drop, correlated, shares["before"], shares["now"])


def played(generator, ease, trials: int, fall: float, correlated: float):
    """Return AR of each case and trial of one run.

    A fall breaks episodes that would have earned something, so many that the mean falls by that much.
    """
    import numpy as np

    kept = 1 - fall / (float(ease.mean()) * statistics.fmean(LEVELS))
    passes = generator.random((len(ease), trials)) < ease[:, None] * kept
    repeated = generator.random((len(ease), trials)) < correlated
    passes = np.where(repeated, passes[:, :1], passes)
    return (passes * generator.choice(LEVELS, size=passes.shape)).tolist()


class Case(NamedTuple):
    """What the gate asks of a pair of episodes, from plain numbers: scorecards of all these runs would take an hour."""

    id: str
    baseline: list[float]
    new: list[float]
    domains: tuple[str, ...] = ()

    @property
    def cluster(self) -> str:
        return self.id

    @property
    def flip(self) -> int:
        ends = [{bool(value) for value in side} for side in (self.baseline, self.new)]
        return -1 if ends == [{True}, {False}] else 1 if ends == [{False}, {True}] else 0

    def varies(self, metrics: Sequence[str]) -> bool:
        return any(len(set(self.values(metric, most=True)[side])) > 1 for metric in metrics for side in (0, 1))

    def values(self, metric: str, *, most: bool):
        sides = (self.baseline, self.new)
        return tuple([float(value > 0) for value in side] if metric == "pass_rate" else side for side in sides)

    def mean(self, metric: str, *, new: bool):
        return (statistics.fmean(self.values(metric, most=True)[new]),) * 2

    def difference(self, metric: str):
        return (self.mean(metric, new=True)[0] - self.mean(metric, new=False)[0],) * 2


def table(repeats: int, sizes: Sequence[int] = SIZES) -> Iterator[str]:
    """Give the table as Markdown."""
    yield "| cases | trials | drop | correlated | failed before | red before | failed now | inconclusive now | red now |"
    yield "| --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    for one in rows(repeats, sizes):
        shares = (one.before.failed, one.before.red, one.now.failed, one.now.inconclusive, one.now.red)
        yield (
            f"| {one.cases} | {one.trials} | {one.drop:g} | {one.correlated:g} | "
            + " | ".join(f"{share:.1%}" for share in shares)
            + " |"
        )


if __name__ == "__main__":
    import sys

    for line in table(int(sys.argv[1]) if len(sys.argv) > 1 else 200, tuple(map(int, sys.argv[2:])) or SIZES):
        print(line, flush=True)
