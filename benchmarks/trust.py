"""How far the intervals and the gate can be trusted: coverage, false alarms, power, all by simulation with what ships."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

#: Shares of cases at each level of AR: none, in part, in full. Levels between are twelfths, as a case with weighted factors has them.
DISTRIBUTIONS = {
    "a third fails": (0.35, 0.10, (1, 1, 2, 3, 4, 6, 8, 9, 9, 8, 6)),
    "most fail": (0.80, 0.03, (1, 2, 3, 3, 3, 2, 2, 1, 1, 1, 1)),
    "most pass": (0.05, 0.60, (1, 1, 1, 2, 2, 3, 4, 6, 8, 8, 8)),
}
SIZES = (20, 38, 100, 500)


class Line(NamedTuple):
    """One line of the table."""

    what: str
    figure: str
    budget: str
    holds: bool


def lines(quick: bool) -> Iterator[Line]:
    """Give all measurements."""
    yield from coverage(200 if quick else 4_000)
    yield from alarms(40 if quick else 300)
    yield from power(40 if quick else 150)
    yield speed()


def coverage(repeats: int) -> Iterator[Line]:
    """How often the 95 % interval of a mean holds the true mean."""
    import numpy as np

    from pytest_mapsat.metrics import bootstrap_intervals

    generator = np.random.default_rng(20261121)
    for size in SIZES:
        for name, (zero, one, weights) in DISTRIBUTIONS.items():
            levels, shares = _population(zero, one, weights)
            truth = float(np.dot(levels, shares))
            held = below = above = 0
            for start in range(0, repeats, 100):
                samples = generator.choice(levels, p=shares, size=(min(100, repeats - start), size))
                for interval in bootstrap_intervals(samples.tolist(), resamples=4_000):
                    low, high = interval or (0.0, 1.0)
                    held += low <= truth <= high
                    below += high < truth
                    above += low > truth
            share = held / repeats
            yield Line(
                f"95 % interval of mean AR, {size} cases, {name} (mean {truth:.2f})",
                f"holds it in {share:.1%}; lies too low {below / repeats:.1%}, too high {above / repeats:.1%}",
                "93 to 97 %" if size >= 100 else "reported",
                size < 100 or 0.93 <= share <= 0.97,
            )


def _population(zero, one, weights):
    import numpy as np

    levels = np.array([0.0, *(step / 12 for step in range(1, 12)), 1.0])
    middle = np.array(weights) / sum(weights) * (1 - zero - one)
    return levels, np.array([zero, *middle, one])


def alarms(repeats: int) -> Iterator[Line]:
    """What the gate makes of an agent that is held against itself."""
    for size in SIZES:
        for rules in (["ar:0.02"], ["ar:0"], ["ar:0.02", "ses:0.02", "pass_rate:0.02"]):
            outcomes = _outcomes(size, 1, 0.0, rules, repeats)
            failed = outcomes["failed"] / repeats
            yield Line(
                f"one agent against itself, {size} cases, {', '.join(rules)}",
                f"failed {failed:.1%}, inconclusive {outcomes['inconclusive'] / repeats:.0%}, passed {outcomes['passed'] / repeats:.0%}",
                "failed in at most 5 %",
                failed <= 0.05,
            )


def power(repeats: int) -> Iterator[Line]:
    """How often a drop is seen."""
    for size in (100, 500):
        for trials in (1, 4):
            for fall in (0.02, 0.05, 0.1):
                outcomes = _outcomes(size, trials, fall, ["ar:0"], repeats)
                yield Line(
                    f"AR falls by {fall:g}, {size} cases, {trials} trial{'s' * (trials > 1)}, ar:0",
                    f"failed {outcomes['failed'] / repeats:.0%}, inconclusive {outcomes['inconclusive'] / repeats:.0%}, "
                    f"passed {outcomes['passed'] / repeats:.1%}",
                    "reported",
                    True,
                )


def _outcomes(size: int, trials: int, fall: float, rules: list[str], repeats: int) -> Counter[str]:
    import numpy as np

    from pytest_mapsat.gate import parse_drops
    from pytest_mapsat.gate.drops import held_drops
    from pytest_mapsat.gate.finding import SEVERITY
    from pytest_mapsat.gate.table import Table

    generator = np.random.default_rng([size, trials, int(1000 * fall), len(rules), int(rules[0] == "ar:0")])
    drops = parse_drops(rules)
    outcomes: Counter[str] = Counter()
    for _ in range(repeats):
        ease = generator.beta(0.8, 0.5, size)
        base, new = (_values(generator, ease, trials, down) for down in (0.0, fall))
        results = held_drops(Table([Case(f"c{n:04}", base[n], new[n]) for n in range(size)]), drops)
        outcomes[max((result.outcome for result in results), key=SEVERITY.index)] += 1
    return outcomes


def _values(generator, ease, trials: int, fall: float):
    """AR of an agent that breaks a case as often as the case is hard, and else meets most of it.

    A fall breaks episodes that would have earned something, so many that the mean falls by that much.
    """
    level = 0.85  # the mean of the levels below
    kept = 1 - fall / (float(ease.mean()) * level)
    meets = generator.random((len(ease), trials)) < ease[:, None] * kept
    return (meets * generator.choice([0.6, 0.75, 0.9, 1.0, 1.0], size=meets.shape)).tolist()


class Case(NamedTuple):
    """What the gate asks of a pair of episodes, from plain numbers: a thousand runs of scorecards would take an hour."""

    id: str
    base: list[float]
    new: list[float]
    domains: tuple[str, ...] = ()

    @property
    def cluster(self) -> str:
        return self.id

    @property
    def trials(self) -> int:
        return len(self.base)

    def mean(self, metric: str, *, new: bool):
        values = [_metric(value, metric) for value in (self.new if new else self.base)]
        return (statistics.fmean(values),) * 2

    def difference(self, metric: str):
        return (self.mean(metric, new=True)[0] - self.mean(metric, new=False)[0],) * 2

    def chance(self, metric: str):
        if self.trials == 1:
            return None
        sides = ([_metric(value, metric) for value in side] for side in (self.base, self.new))
        return sum(statistics.variance(side) / len(side) for side in sides)


def _metric(value: float, metric: str) -> float:
    return float(value > 0) if metric == "pass_rate" else value / 2 if metric == "ses" else value


def speed() -> Line:
    """A bootstrap of 10,000 over 500 cases and 7 metrics."""
    import numpy as np

    from pytest_mapsat.metrics import bootstrap_intervals

    levels, shares = _population(*DISTRIBUTIONS["a third fails"])
    columns = np.random.default_rng(1).choice(levels, p=shares, size=(7, 500)).tolist()
    bootstrap_intervals(columns, resamples=1_000)
    samples = []
    for _ in range(7):
        started, processor = time.perf_counter(), time.process_time()
        bootstrap_intervals(columns)
        samples.append((time.process_time() - processor, time.perf_counter() - started))
    used, passed = (statistics.median(part) for part in zip(*samples, strict=True))
    return Line(
        "bootstrap of 10,000, 500 cases, 7 metrics",
        f"{used:.3f} s of the processor, {passed:.3f} s by the clock, least {min(part for _, part in samples):.3f}",
        "0.1 s of the processor",
        used <= 0.1,
    )
