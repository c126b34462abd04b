"""Intervals: how far a mean or a proportion of so few cases can be trusted.

Means have a bootstrap interval, BCa (Efron 1987, "Better bootstrap confidence intervals", JASA 82), its level widened for small samples as
Student's is (Hesterberg 2015, "What teachers should know about the bootstrap", The American Statistician 69, section 4.4). A plain percentile
interval holds the mean of 20 skewed values in 9 cases of 10 only; benchmarks/RESULTS.md has the figures.

Every number here is the same on every machine and for every order of the values: values are sorted and brought to whole numbers
that floats add without error, and the random stream is one that numpy has frozen. Quantiles are computed here: scipy is 35 MB and takes a second
to import. Last comes how far judges agree: Cohen's kappa (Cohen 1960, Educational and Psychological Measurement 20), and votes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

Interval = tuple[float, float]

RESAMPLES = 10_000
LEVEL = 0.95

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
# Quantiles are looked up at places rounded to this: the last digit of a logarithm differs between machines.
_PLACES = 9
# An acceleration so great that the formula turns over means the farthest resample.
_LEAST = 1e-6
# From here on a series in 1/df is exact to more digits than any interval is shown with.
_MANY = 100
_HALVINGS = 60
_FARTHEST = 1e5
#: A table of counts: rows are what is true, columns what was said, both in the same order.
Table = Sequence[Sequence[int]]


def mean(values: Sequence[float]) -> float:
    """Return the mean, exactly rounded, so that no order of the values changes it."""
    return math.fsum(values) / len(values)


def clustered(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """Return one value for each cluster, such that their mean and its spread are those of a mean over cases drawn by the cluster.

    Cases of one cluster (the tasks of one user, say) are alike, and count as less than as many others. The mean over all cases is a ratio of
    two sums over clusters; each cluster stands in with its linearised share of it (Taylor linearisation, as in surveys: Wolter 2007,
    "Introduction to Variance Estimation", chapter 6). Clusters of one case each give the values back.
    """
    if len(set(clusters)) == len(values):  # mostly: each case stands by itself
        return list(values)
    members: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    centre, share = mean(values), len(members) / len(values)
    return [centre + share * math.fsum(value - centre for value in some) for some in members.values()]


def variance(values: Sequence[float]) -> float:
    """Return the unbiased variance; 0 for fewer than two values."""
    if len(values) < 2:  # noqa: PLR2004 - one value has no spread
        return 0.0
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def worth(values: Sequence[float], clusters: Sequence[str]) -> float:
    """Return how many independent cases some clustered ones are worth, at most as many as they are (Kish 1965, the design effect)."""
    together = clustered(values, clusters)
    if len(together) == len(values):
        return len(values)
    alone, drawn = variance(values) / len(values), variance(together) / len(together)
    return len(values) * min(1.0, alone / drawn) if drawn else len(together)


def bootstrap_intervals(
    samples: Sequence[Sequence[float]], *, level: float = LEVEL, resamples: int = RESAMPLES
) -> tuple[Interval | None, ...]:
    """Return a bootstrap interval of the mean of each sample; None where it has fewer than two values.

    Samples of one size share their resamples, which makes many metrics of one run cheap; fewer, but at least 1,000, are drawn for samples of more
    than a thousand. Where all values are equal the interval is that value: it says that the sample does not vary, not that the next case cannot differ.
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
    for positions in by_size.values():
        columns = [sorted(samples[position]) for position in positions]
        sums, scales, observed = draw(columns, resamples)
        sums.sort(axis=0)
        for place, position in enumerate(positions):
            resampled = _Resampled(columns[place], sums[:, place], scales[place], observed[place])
            intervals[position] = resampled.interval(level)
    return tuple(intervals)


def bootstrap_interval(sample: Sequence[float], *, level: float = LEVEL, resamples: int = RESAMPLES) -> Interval | None:
    """Return the interval of one sample; see ``bootstrap_intervals``."""
    return bootstrap_intervals([sample], level=level, resamples=resamples)[0]


def wilson_interval(share: float, n: float, *, level: float = LEVEL) -> Interval | None:
    """Return the Wilson score interval of a proportion (Wilson 1927, JASA 22); None for no cases.

    A mean of per-case proportions gives an interval that is rather too wide than too narrow. ``n``: cases; of clustered ones, how many they are worth.
    """
    if n <= 0:
        return None
    z = normal_quantile((1 + level) / 2)
    spread = z * z / n
    centre = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    # At the ends the bounds are 0 and 1 but for rounding.
    return (0.0 if share == 0 else max(0.0, low), 1.0 if share == 1 else min(1.0, high))


class _Resampled(NamedTuple):
    """The resamples of one column of values: their sorted sums in whole numbers of ``1 / scale``, and what the values themselves sum to."""

    values: Sequence[float]
    sums: np.ndarray
    scale: float
    observed: float

    def interval(self, level: float) -> Interval:
        """Return the interval of the mean at a level, within the range of the values."""
        low, high = (self._end(sign, level) for sign in (-1, 1))
        return max(min(self.values), low), min(max(self.values), high)

    def _end(self, sign: int, level: float) -> float:
        """Return one end: the quantile of the resamples that bias, skew and the small sample move it to."""
        n = len(self.values)
        z = sign * math.sqrt(n / (n - 1)) * student_quantile(round((1 + level) / 2, _PLACES), n - 1)
        bias = self._bias()
        share = normal_share(bias + (bias + z) / max(1 - self._acceleration() * (bias + z), _LEAST))
        return _quantile(self.sums, round(share, _PLACES)) / self.scale / n

    def _bias(self) -> float:
        """Return z0: how far the resamples lie to one side of what was observed, ties counted half."""
        below, upto = (int(self.sums.searchsorted(self.observed, side=side)) for side in ("left", "right"))
        rows = len(self.sums)
        return normal_quantile(min(max((below + upto) / 2 / rows, 0.5 / rows), 1 - 0.5 / rows))

    def _acceleration(self) -> float:
        """Return the acceleration of a mean: a sixth of its skewness."""
        # Divided by the greatest first, so that no cube of a large value overflows.
        centre = math.fsum(value / len(self.values) for value in self.values)
        greatest = max(abs(value / 2 - centre / 2) for value in self.values)
        apart = [(value / 2 - centre / 2) / greatest for value in self.values] if greatest else []
        squares = math.fsum(distance**2 for distance in apart)
        return math.fsum(distance**3 for distance in apart) / (6 * math.sqrt(squares) ** 3) if squares else 0.0


def draw(columns: Sequence[Sequence[float]], resamples: int = RESAMPLES) -> tuple[np.ndarray, list[float], list[float]]:
    """Return the sums of the resamples of columns of one length, in whole numbers; the scale of each column, and its own sum."""
    import numpy as np  # noqa: PLC0415 - numpy costs more to import than most runs need

    size = len(columns[0])
    rows = max(_FEWEST_RESAMPLES, min(resamples, resamples * _FULLY_RESAMPLED // size))
    scales = [_scale(column) for column in columns]
    whole = np.rint(np.array(columns, dtype=np.float64).T * np.array(scales))
    return _resampled_sums(whole, rows), scales, [float(total) for total in whole.sum(axis=0)]


def _scale(column: Sequence[float]) -> float:
    """Return the power of two that brings a column to whole numbers below 2^30."""
    magnitude = math.frexp(max(abs(min(column)), abs(max(column))))[1]
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


def normal_share(z: float) -> float:
    """Return the share of the standard normal distribution below ``z``."""
    return math.erfc(-z / math.sqrt(2)) / 2


@lru_cache(maxsize=256)
def normal_quantile(share: float) -> float:
    """Return what ``share`` of the standard normal distribution lies below; ``share`` is between 0 and 1, both excluded."""
    from statistics import NormalDist  # noqa: PLC0415 - 10 ms

    return NormalDist().inv_cdf(share)


@lru_cache(maxsize=256)
def student_quantile(share: float, df: int) -> float:
    """Return what ``share``, from 0.5, of Student's distribution lies below; at most 100,000.

    Source: Abramowitz and Stegun 26.7.3, 26.7.4 (turned round by halving) and 26.7.5.
    """
    if df > _MANY:
        z = normal_quantile(share)
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / df + second / df**2 + third / df**3
    low, high = 0.0, _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_share(middle, df) < share else (low, middle)
    return high


def _student_share(t: float, df: int) -> float:
    """Return the share of Student's distribution below ``t``, which is at least 0."""
    angle = math.atan(t / math.sqrt(df))
    cos2 = math.cos(angle) ** 2
    odd = df % 2
    term = math.cos(angle) if odd else 1.0
    total = term if df > 1 else 0.0
    for step in range(2 + odd, df - 1, 2):
        term *= (step - 1) / step * cos2
        total += term
    within = math.sin(angle) * total
    return 0.5 + (angle + within) / math.pi if odd else 0.5 + within / 2


def cohen_kappa(table: Table) -> float | None:
    """Return kappa of a table of counts: 1 for full agreement, 0 for that of chance; None where it is not defined, as with one category alone."""
    total = sum(map(sum, table))
    if not total:
        return None
    agreed = sum(row[place] for place, row in enumerate(table)) / total
    columns = [sum(row[place] for row in table) for place in range(len(table))]
    chance = sum(sum(row) * column for row, column in zip(table, columns, strict=True)) / total**2
    return None if chance >= 1 else (agreed - chance) / (1 - chance)


def kappa_interval(tables: Sequence[Table], *, level: float = LEVEL) -> Interval | None:
    """Return a bootstrap interval of kappa (percentile method) from a table for each dialogue: labels of one dialogue hang together.

    It is None for fewer than two dialogues, or where kappa is not defined in most resamples.
    """
    if len(tables) < 2 or not tables[0]:  # noqa: PLR2004  one dialogue has no spread
        return None
    import numpy as np  # noqa: PLC0415  numpy costs more to import than most runs need

    size = len(tables[0])
    columns = [[float(table[row][column]) for table in tables] for row in range(size) for column in range(size)]
    sums, scales, _ = draw(columns)
    cells = (sums / np.array(scales)).reshape(-1, size, size)
    total = cells.sum(axis=(1, 2))
    total = np.where(total > 0, total, 1)
    agreed = np.trace(cells, axis1=1, axis2=2) / total
    chance = (cells.sum(axis=2) * cells.sum(axis=1)).sum(axis=1) / total**2
    defined = chance < 1 - 1e-12
    if defined.sum() * 2 < len(defined):
        return None
    kappas = (agreed[defined] - chance[defined]) / (1 - chance[defined])
    low, high = np.quantile(kappas, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def votes_agree(votes: Sequence[str]) -> float | None:
    """Return the share of pairs of votes that say the same; None for fewer than two votes."""
    counts = Counter(votes)
    pairs = len(votes) * (len(votes) - 1)
    return sum(count * (count - 1) for count in counts.values()) / pairs if pairs else None
