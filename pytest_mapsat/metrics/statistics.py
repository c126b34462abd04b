"""Intervals: how far a mean or a proportion of so few cases can be trusted.

Every number here is the same on every machine and for every order of the values: values are sorted and brought to whole numbers
that floats add without error, and the random stream is one that numpy has frozen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Interval = tuple[float, float]

RESAMPLES = 10_000

# 95 %, two-sided.
_LOW, _HIGH = 0.025, 0.975
_Z = 1.959963984540054
_SEED = 20_260_617
_FEWEST_RESAMPLES = 1_000
# Above this many values fewer resamples are drawn: the interval is narrow by then, and its ends steady.
_FULLY_RESAMPLED = 1_000
# Draws held at once: few enough for the processor's cache.
_CHUNK_DRAWS = 64_000
_NARROW = 65_536
# Values are held as multiples of 2^-30 of their magnitude; up to 2^22 of them add exactly in a double.
_SCALE_BITS = 30
_LARGEST_EXPONENT = 1_000


def mean(values: Sequence[float]) -> float:
    """Return the mean, exactly rounded, so that no order of the values changes it."""
    return math.fsum(values) / len(values)


def bootstrap_intervals(
    samples: Sequence[Sequence[float]], *, resamples: int = RESAMPLES
) -> tuple[Interval | None, ...]:
    """Return a 95 % percentile bootstrap interval of the mean of each sample.

    Samples of one size share their resamples, which makes many metrics of one run cheap.

    Args:
        samples: finite values, in any order.
        resamples: how many resamples to draw; fewer, but at least 1,000, are drawn for samples of more than a thousand.

    Returns:
        ``(low, high)`` per sample; None where it has fewer than two values. Where all values are equal the interval is that value:
        it says that the sample does not vary, not that the next case cannot differ.
    """
    intervals: list[Interval | None] = [None] * len(samples)
    by_size: dict[int, list[int]] = {}
    for position, sample in enumerate(samples):
        if len(sample) < 2:  # noqa: PLR2004 - one value has no spread
            continue
        if min(sample) == max(sample):
            intervals[position] = (sample[0], sample[0])
        else:
            by_size.setdefault(len(sample), []).append(position)
    for size, positions in by_size.items():
        columns = [sorted(samples[position]) for position in positions]
        for position, interval in zip(positions, _percentiles(columns, size, resamples), strict=True):
            intervals[position] = interval
    return tuple(intervals)


def bootstrap_interval(sample: Sequence[float], *, resamples: int = RESAMPLES) -> Interval | None:
    """Return the interval of one sample; see ``bootstrap_intervals``."""
    return bootstrap_intervals([sample], resamples=resamples)[0]


def wilson_interval(share: float, n: int) -> Interval | None:
    """Return the 95 % Wilson score interval of a proportion.

    Args:
        share: the proportion, 0 to 1. A mean of per-case proportions gives an interval that is rather too wide than too narrow.
        n: the number of cases.

    Returns:
        ``(low, high)``, or None for no cases.
    """
    if n < 1:
        return None
    spread = _Z * _Z / n
    centre = share + spread / 2
    half = _Z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    # At the ends the bounds are 0 and 1 but for rounding.
    return (0.0 if share == 0 else max(0.0, low), 1.0 if share == 1 else min(1.0, high))


def _percentiles(columns: Sequence[Sequence[float]], size: int, resamples: int) -> list[Interval]:
    """Return the interval of each column of ``size`` sorted values, all from the same resamples."""
    import numpy as np  # noqa: PLC0415 - numpy costs more to import than most runs need

    rows = max(_FEWEST_RESAMPLES, min(resamples, resamples * _FULLY_RESAMPLED // size))
    scales = [_scale(column) for column in columns]
    whole = np.rint(np.array(columns, dtype=np.float64).T * np.array(scales))
    sums = np.sort(_resampled_sums(whole, rows), axis=0)
    return [
        (
            max(column[0], _quantile(sums[:, index], _LOW) / scale / size),
            min(column[-1], _quantile(sums[:, index], _HIGH) / scale / size),
        )
        for index, (column, scale) in enumerate(zip(columns, scales, strict=True))
    ]


def _scale(column: Sequence[float]) -> float:
    """Return the power of two that brings a sorted column to whole numbers below 2^30."""
    magnitude = math.frexp(max(abs(column[0]), abs(column[-1])))[1]
    return math.ldexp(1.0, min(_SCALE_BITS - magnitude, _LARGEST_EXPONENT))


def _resampled_sums(whole: np.ndarray, rows: int) -> np.ndarray:
    """Return the sums of ``rows`` resamples of each column; whole numbers, so exact in any order of addition."""
    import numpy as np  # noqa: PLC0415

    size, width = whole.shape
    chunk = max(1, _CHUNK_DRAWS // size)
    # The legacy generator: numpy promises that its stream never changes. Narrow numbers are drawn twice as fast.
    generator = np.random.RandomState(_SEED)
    narrow = np.uint16 if size <= _NARROW else np.uint32
    offsets = np.arange(chunk, dtype=np.intp)[:, None] * size
    sums = np.empty((rows, width))
    for start in range(0, rows, chunk):
        count = min(chunk, rows - start)
        drawn = generator.randint(0, size, size=(count, size), dtype=narrow) + offsets[:count]
        times = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        np.matmul(times.astype(np.float64), whole, out=sums[start : start + count])
    return sums


def _quantile(ordered: np.ndarray, share: float) -> float:
    """Return the quantile of sorted values, linear between neighbours."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    low, high = float(ordered[below]), float(ordered[above])
    return low + (high - low) * (place - below)
