"""How far the intervals can be trusted: coverage, by simulation with what ships. ``gate.py`` does the same for comparisons."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

#: Shares of cases at each level of AR: none, in part, in full. Levels between are twelfths, as a case with weighted requirements has them.
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
