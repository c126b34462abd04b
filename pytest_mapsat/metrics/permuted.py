"""Is a difference between two runs of the same cases more than chance? The trials of each case are dealt out to the two runs anew.

If both runs are of one agent, which run a trial of a case stands in is mere chance. So the trials of each case are pooled and dealt out again, in
every way or in 10,000 ways, and the probability is the share of ways that go at least as far (Fisher 1935; Pitman 1937, Supplement to the JRSS 4).
The cases stay as they are: the answer is about these cases, not about others like them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

#: All ways are gone through where there are at most so many, else so many are drawn.
_EXACT = 10_000
#: Of many cases with many trials fewer ways are drawn: so many numbers in all, but no fewer than 2,000 ways.
_ROOM, _FEWEST = 12_000_000, 2_000
_SEED = 19_350_601
_TIE = 1e-9

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
    """Return for each column how probable a difference at least as large is between two runs of one agent.

    Several columns are corrected for by the step-down min-p procedure (Westfall and Young 1993, "Resampling-based multiple testing", algorithm 2.8),
    with the same ways for all of them: the probability of any false alarm is that of the alarm level.

    Args:
        units: what chance deals out together: one case each, or the cases of a group, whose n-th trials belong together.
        columns: how many columns there are.
        tail: ``down``: only drops count; ``both``: any difference. Flips always count as such.

    Returns:
        A probability for each column; 1 for one in which nothing differs.
    """
    import numpy as np  # noqa: PLC0415  loaded when a run is compared

    live = [unit for unit in units if any(map(_varies, unit))]
    sizes = [_size(unit) for unit in live]
    ways = 1
    for baseline, new in sizes:
        ways = min(ways * math.comb(baseline + new, new), _EXACT + 1)
    exact = ways <= _EXACT
    drawn = max(_FEWEST, min(_EXACT, _ROOM // max(1, sum(map(sum, sizes)))))
    totals = np.zeros((1 if exact else drawn, columns))
    observed = np.zeros(columns)
    generator = np.random.RandomState(_SEED)
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


def _varies(block: Block) -> bool:
    return len({value for value in (*block.baseline, *block.new) if value is not None}) > 1


def _size(unit: Sequence[Block]) -> tuple[int, int]:
    return max(len(block.baseline) for block in unit), max(len(block.new) for block in unit)


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
    known = np.array([value is not None for value in row], dtype=np.float64)
    values = np.array([0.0 if value is None else value for value in row])
    count, total = dealt @ known, dealt @ values
    count_baseline, total_baseline = known.sum() - count, values.sum() - total
    both = (count > 0) & (count_baseline > 0)
    if block.flips:
        return np.where(both & (total <= _TIE) & (total_baseline >= count_baseline - _TIE), block.weight, 0.0)
    means = total / np.maximum(count, 1) - total_baseline / np.maximum(count_baseline, 1)
    return np.where(both, block.weight * means, 0.0)


def _stepped_down(totals: np.ndarray, observed: np.ndarray) -> list[float]:
    """Return the corrected probability of each observed value among all ways; the greater a value, the farther it goes."""
    import numpy as np  # noqa: PLC0415  likewise

    ranked = np.empty_like(totals)
    alone = []
    for column, value in enumerate(observed):
        ordered = np.sort(totals[:, column])
        ranked[:, column] = 1 - np.searchsorted(ordered, totals[:, column] - _TIE, side="left") / len(ordered)
        alone.append(1 - float(np.searchsorted(ordered, value - _TIE, side="left")) / len(ordered))
    corrected = [1.0] * len(alone)
    order = sorted(range(len(alone)), key=alone.__getitem__)
    least = np.full(len(totals), np.inf)
    shares = {}
    for column in reversed(order):
        np.minimum(least, ranked[:, column], out=least)
        shares[column] = float((least <= alone[column] + _TIE).mean())
    running = 0.0
    for column in order:
        running = max(running, shares[column])
        corrected[column] = min(1.0, running)
    return corrected
