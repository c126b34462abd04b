"""Is a difference between two runs of the same cases more than chance, and what can a comparison of so many cases and trials see?

Two tests. ``chances``: if both runs are of one agent, which run a trial of a case stands in is mere chance, so the trials of each case are dealt out
to the two runs anew, and the probability is the share of deals that go at least as far (Fisher 1935; Pitman 1937, Supplement to the JRSS 4). The cases
stay as they are: the answer is about these cases. ``sign_flip`` and ``joint_level`` are about other cases like them, from one difference for each *unit*,
a case or a cluster of cases; 0 where the unit has no part in a column.

``Spread`` says what would be seen, by normal approximations (Cohen 1988, "Statistical power analysis", chapter 2): a difference is seen four times in
five where it is 2.8 standard errors away from what it is held against, 1.96 for the interval and 0.84 for the four times in five.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from .statistics import LEVEL, RESAMPLES, draw, student_quantile, variance

if TYPE_CHECKING:
    import numpy as np

#: How many cases with a difference may have their signs flipped in every way; of more, some ways are drawn.
_EXACT_FLIPS = 13
_FLIP_SEED = 19_470_601
_ROUNDING = 1e-9
#: All deals are gone through where there are at most so many, else so many are drawn.
_EXACT = 10_000
#: Of many cases with many trials fewer deals are drawn: so many numbers in all, but no fewer than 2,000 deals.
_ROOM, _FEWEST = 12_000_000, 2_000
_DEAL_SEED = 19_350_601
_POWER = 0.8
_TAIL = 0.975
#: More than this are not recommended.
_MOST = 1_000_000

Tail = Literal["down", "both"]


@dataclass(frozen=True, slots=True)
class Block:
    """The trials of one case as one column sees them.

    Attributes:
        column: the column's number.
        weight: what the case's difference counts for in the column: 1 / cases for a mean.
        baseline: a value for each trial of the baseline run; None where a trial has none.
        new: likewise for the new run.
        flips: count 1 where the case holds (1) in every trial of the one run and fails (0) in every trial of the other, in place of a difference of means.
    """

    column: int
    weight: float
    baseline: Sequence[float | None]
    new: Sequence[float | None]
    flips: bool = False


def chances(units: Sequence[Sequence[Block]], columns: int, *, tail: Tail = "down") -> list[float]:
    """Return for each column how probable a difference at least as large is between two runs of one agent; 1 where nothing differs.

    Several columns are corrected for by the step-down min-p procedure (Westfall and Young 1993, "Resampling-based multiple testing", algorithm 2.8),
    with the same ways for all of them: the probability of any false alarm is that of the alarm level.

    Args:
        units: what chance deals out together: one case each, or the cases of a group, whose n-th trials belong together.
        columns: how many columns there are.
        tail: ``down``: only drops count; ``both``: any difference. Flips always count as such.
    """
    import numpy as np  # noqa: PLC0415  loaded when a run is compared

    live = [unit for unit in units if any(len({*block.baseline, *block.new} - {None}) > 1 for block in unit)]
    sizes = [(max(len(block.baseline) for block in unit), max(len(block.new) for block in unit)) for unit in live]
    ways = 1
    for baseline, new in sizes:
        ways = min(ways * math.comb(baseline + new, new), _EXACT + 1)
    exact = ways <= _EXACT
    drawn = max(_FEWEST, min(_EXACT, _ROOM // max(1, sum(map(sum, sizes)))))
    totals = np.zeros((1 if exact else drawn, columns))
    observed = np.zeros(columns)
    generator = np.random.RandomState(_DEAL_SEED)
    for unit, (baseline, new) in zip(live, sizes, strict=True):
        dealt = _every_deal(baseline, new) if exact else _some_deals(generator, baseline, new, drawn)
        shares = np.zeros((len(dealt), columns))
        as_it_was = np.arange(baseline + new)[None, :] >= baseline
        for block in unit:
            shares[:, block.column] += _difference(block, dealt, baseline, new)
            observed[block.column] += _difference(block, as_it_was, baseline, new)[0]
        totals = (totals[:, None, :] + shares[None, :, :]).reshape(-1, columns) if exact else totals + shares
    if not exact:
        totals = np.vstack([totals, observed])
    flips = {block.column for unit in units for block in unit if block.flips}
    for column in range(columns):
        if column not in flips:
            for values in (totals[:, column], observed[column : column + 1]):
                np.negative(values, out=values) if tail == "down" else np.abs(values, out=values)
    return _stepped_down(totals, observed)


def _every_deal(baseline: int, new: int) -> np.ndarray:
    import numpy as np  # noqa: PLC0415  likewise

    chosen = list(combinations(range(baseline + new), new))
    dealt = np.zeros((len(chosen), baseline + new), dtype=bool)
    for row, places in enumerate(chosen):
        dealt[row, list(places)] = True
    return dealt


def _some_deals(generator: np.random.RandomState, baseline: int, new: int, number: int) -> np.ndarray:
    import numpy as np  # noqa: PLC0415  likewise

    if baseline == new == 1:
        first = generator.randint(0, 2, size=number).astype(bool)
        return np.column_stack([first, ~first])
    return np.argsort(generator.random_sample((number, baseline + new)), axis=1, kind="stable") < new


def _difference(block: Block, dealt: np.ndarray, baseline: int, new: int) -> np.ndarray:
    """Return new minus baseline of a case for each way its trials are dealt out; 0 where a run gets none with a value."""
    import numpy as np  # noqa: PLC0415  likewise

    pad: list[list[float | None]] = [[None] * (baseline - len(block.baseline)), [None] * (new - len(block.new))]
    row = [*block.baseline, *pad[0], *block.new, *pad[1]]
    present = np.array([value is not None for value in row], dtype=np.float64)
    values = np.array([0.0 if value is None else value for value in row])
    count, total = dealt @ present, dealt @ values
    count_baseline, total_baseline = present.sum() - count, values.sum() - total
    both = (count > 0) & (count_baseline > 0)
    if block.flips:
        return np.where(both & (total <= _ROUNDING) & (total_baseline >= count_baseline - _ROUNDING), block.weight, 0.0)
    means = total / np.maximum(count, 1) - total_baseline / np.maximum(count_baseline, 1)
    return np.where(both, block.weight * means, 0.0)


def _stepped_down(totals: np.ndarray, observed: np.ndarray) -> list[float]:
    """Return the corrected probability of each observed value among all ways; the greater a value, the farther it goes."""
    import numpy as np  # noqa: PLC0415  likewise

    ranked = np.empty_like(totals)
    alone = []
    for column, value in enumerate(observed):
        ordered = np.sort(totals[:, column])
        ranked[:, column] = 1 - np.searchsorted(ordered, totals[:, column] - _ROUNDING, side="left") / len(ordered)
        alone.append(1 - float(np.searchsorted(ordered, value - _ROUNDING, side="left")) / len(ordered))
    corrected = [1.0] * len(alone)
    order = sorted(range(len(alone)), key=alone.__getitem__)
    least = np.full(len(totals), np.inf)
    shares = {}
    for column in reversed(order):
        np.minimum(least, ranked[:, column], out=least)
        shares[column] = float((least <= alone[column] + _ROUNDING).mean())
    running = 0.0
    for column in order:
        running = max(running, shares[column])
        corrected[column] = min(1.0, running)
    return corrected


def units(values: Sequence[float | None], clusters: Sequence[str]) -> list[float]:
    """Return one column of units: the sums of the cases of each cluster; 0 for a cluster whose cases have no value."""
    sums: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums.setdefault(cluster, []).append(0.0 if value is None else value)
    return [some[0] if len(some) == 1 else math.fsum(some) for some in sums.values()]


def joint_level(columns: Sequence[Sequence[float]]) -> float:
    """Return the level that each of several intervals needs for all of them together to hold at ``LEVEL``.

    A column holds distances from the mean. In every resample the farthest rank among all columns is taken; the level is the quantile of these (the
    max-statistic, on ranks: Beran 1988, "Balanced simultaneous confidence sets", JASA 83). Columns that go together, as AR and SES do, cost hardly
    anything; those that do not cost what Bonferroni's correction would.
    """
    different = list(dict.fromkeys(tuple(column) for column in columns if min(column) != max(column)))
    if len(different) <= 1:
        return LEVEL
    import numpy as np  # noqa: PLC0415 - lazily, as everywhere

    sums, _, _ = draw(different)
    farthest = np.zeros(len(sums))
    for place in range(len(different)):
        ranks = np.empty(len(sums))
        ranks[np.argsort(sums[:, place], kind="stable")] = np.arange(len(sums))
        np.maximum(farthest, np.abs((2 * ranks + 1) / len(sums) - 1), out=farthest)
    return max(LEVEL, float(np.quantile(farthest, LEVEL)))


def sign_flip(columns: Sequence[Sequence[float]]) -> list[float]:
    """Return for each column how probable a mean at least as far below 0 is where both runs are of one agent; 1 where nothing differs.

    Which run a difference is counted from is then mere chance, so its sign is flipped: in every way for up to 13 units that differ, else in 10,000
    ways. That is exact at any size and for any distribution (Fisher 1935); for differences of -1, 0 and 1 it is McNemar's exact test, one-sided. Several
    columns are corrected for by the step-down max-statistic (Westfall and Young 1993), which keeps the probability of any false alarm.
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
    observed = -table.sum(axis=0) / root
    flips, exact = _signs(len(table))
    farthest = -(flips @ table) / root
    order = np.argsort(observed, kind="stable")
    np.maximum.accumulate(farthest[:, order], axis=1, out=farthest)
    counts = (farthest >= observed[order] - _ROUNDING).sum(axis=0)
    shares = counts / len(flips) if exact else (counts + 1) / (len(flips) + 1)
    running = 0.0
    for place in range(len(live) - 1, -1, -1):  # from the clearest on: none is less probable than a clearer one
        running = max(running, float(shares[place]))
        probabilities[live[int(order[place])]] = running
    return probabilities


def _signs(size: int) -> tuple[np.ndarray, bool]:
    """Return rows of signs: all that there are, or as many as a bootstrap draws; and whether they are all."""
    import numpy as np  # noqa: PLC0415

    if size <= _EXACT_FLIPS:
        ways = np.arange(2**size)[:, None] >> np.arange(size) & 1
        return 1.0 - 2.0 * ways, True
    generator = np.random.RandomState(_FLIP_SEED)
    return 1.0 - 2.0 * generator.randint(0, 2, size=(RESAMPLES, size), dtype=np.int8), False


class Spread(NamedTuple):
    """How much the differences of cases spread: how many cases, and the variance of a case's difference."""

    n: int
    total: float

    @classmethod
    def of(cls, differences: Sequence[float]) -> Spread:
        """Return the spread of a difference for each case."""
        return cls(len(differences), variance(differences))

    @property
    def smallest(self) -> float | None:
        """The smallest drop that is seen four times in five; None where too few cases differ to say."""
        return None if self.n < 2 or not self.total else _errors(self.n) * math.sqrt(self.total / self.n)  # noqa: PLR2004

    def cases_for(self, distance: float) -> int | None:
        """Return how many cases show a difference that is so far from its limit; None where it is no distance, or too many are needed."""
        if not distance or self.n < 2:  # noqa: PLR2004
            return None
        needed = (_errors(self.n) / distance) ** 2 * self.total
        return math.ceil(needed) if needed <= _MOST else None


def _errors(n: int) -> float:
    """Return how many standard errors away a difference over so many cases is seen four times in five."""
    return student_quantile(_TAIL, n - 1) + student_quantile(_POWER, n - 1)
