"""Differences between two runs of the same cases: how much of one is more than chance, for several metrics and groups at once.

A column holds one difference for each *unit*, a case or a cluster of cases, in one order for all columns; 0 where the unit has no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from .statistics import LEVEL, RESAMPLES, draw

if TYPE_CHECKING:
    import numpy as np

#: How many cases with a difference may have their signs flipped in every way; of more, some ways are drawn.
_EXACT = 13
_SEED = 19_470_601
_ROOM = 1e-9


def units(values: Sequence[float | None], clusters: Sequence[str]) -> list[float]:
    """Return one column of units: the sums of the cases of each cluster; 0 for a cluster whose cases have no value.

    Args:
        values: one for each case, in an order that all columns share.
        clusters: the cluster of each case.
    """
    sums: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums.setdefault(cluster, []).append(0.0 if value is None else value)
    return [some[0] if len(some) == 1 else math.fsum(some) for some in sums.values()]


def joint_level(columns: Sequence[Sequence[float]], *, level: float = LEVEL, resamples: int = RESAMPLES) -> float:
    """Return the level that each of several intervals needs for all of them together to hold at ``level``.

    In every resample the farthest rank among all columns is taken; the level is the quantile of these (the max-statistic, on ranks: Beran 1988,
    "Balanced simultaneous confidence sets", JASA 83). Columns that go together, as AR and SES do, cost hardly anything; those that do not cost
    what Bonferroni's correction would.

    Args:
        columns: distances from the mean, one for each unit; 0 where it has no part.
        level: how probably all intervals together are to hold.
        resamples: how many resamples to draw.
    """
    different = list(dict.fromkeys(tuple(column) for column in columns if min(column) != max(column)))
    if len(different) <= 1:
        return level
    import numpy as np  # noqa: PLC0415 - lazily, as everywhere

    sums, _, _ = draw(different, resamples)
    farthest = np.zeros(len(sums))
    for place in range(len(different)):
        ranks = np.empty(len(sums))
        ranks[np.argsort(sums[:, place], kind="stable")] = np.arange(len(sums))
        np.maximum(farthest, np.abs((2 * ranks + 1) / len(sums) - 1), out=farthest)
    return max(level, float(np.quantile(farthest, level)))


def sign_flip(
    columns: Sequence[Sequence[float]], *, tail: Literal["down", "both"] = "both", resamples: int = RESAMPLES
) -> list[float]:
    """Return for each column how probable a mean at least as far from 0 is where both runs are of one agent.

    Which run a difference is counted from is then mere chance, so its sign is flipped: in every way for up to 13 units that differ, else in 10,000
    ways. That is exact at any size and for any distribution (Fisher 1935); for differences of -1, 0 and 1 it is McNemar's exact test. Several
    columns are corrected for by the step-down max-statistic (Westfall and Young 1993), which keeps the probability of any false alarm.

    Args:
        columns: one difference for each unit.
        tail: ``down``: only drops count; ``both``: any difference.
        resamples: how many ways are drawn where there are too many.

    Returns:
        A probability for each column; 1 for one without any difference.
    """
    import numpy as np  # noqa: PLC0415

    probabilities = [1.0] * len(columns)
    live = [place for place, column in enumerate(columns) if any(column)]
    if not live:
        return probabilities
    table = np.array([columns[place] for place in live], dtype=np.float64).T
    table = table[np.any(table != 0, axis=1)]
    greatest = np.abs(table).max(axis=0)
    # Whole numbers, which add exactly: ties must stay ties.
    table = np.rint(table / greatest * 2.0**30)
    root = np.sqrt((table * table).sum(axis=0))
    observed = _statistic(table.sum(axis=0)[None, :] / root, tail)[0]
    flips, exact = _signs(len(table), resamples)
    farthest = _statistic(flips @ table / root, tail)
    order = np.argsort(observed, kind="stable")
    np.maximum.accumulate(farthest[:, order], axis=1, out=farthest)
    counts = (farthest >= observed[order] - _ROOM).sum(axis=0)
    shares = counts / len(flips) if exact else (counts + 1) / (len(flips) + 1)
    running = 0.0
    for place in range(len(live) - 1, -1, -1):  # from the clearest on: none is less probable than a clearer one
        running = max(running, float(shares[place]))
        probabilities[live[int(order[place])]] = running
    return probabilities


def _statistic(values: np.ndarray, tail: Literal["down", "both"]) -> np.ndarray:
    import numpy as np  # noqa: PLC0415

    return -values if tail == "down" else np.abs(values)


def _signs(size: int, resamples: int) -> tuple[np.ndarray, bool]:
    """Return rows of signs: all that there are, or as many as are asked for; and whether they are all."""
    import numpy as np  # noqa: PLC0415

    if size <= _EXACT:
        ways = np.arange(2**size)[:, None] >> np.arange(size) & 1
        return 1.0 - 2.0 * ways, True
    generator = np.random.RandomState(_SEED)
    return 1.0 - 2.0 * generator.randint(0, 2, size=(resamples, size), dtype=np.int8), False
