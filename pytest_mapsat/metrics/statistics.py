"""Intervals: how far a mean or a proportion of so few cases can be trusted; and whether two runs differ by more than chance.

Means have a bootstrap interval, BCa (Efron 1987, "Better bootstrap confidence intervals", JASA 82), its level widened for small samples as
Student's is (Hesterberg 2015, "What teachers should know about the bootstrap", The American Statistician 69, section 4.4). A plain percentile
interval holds the mean of 20 skewed values in 9 cases of 10 only; benchmarks/RESULTS.md has the figures.

Every number here is the same on every machine and for every order of the values: values are sorted and brought to whole numbers
that floats add without error, and the random stream is one that numpy has frozen. Quantiles are computed here: scipy is 35 MB and takes a second
to import. Last comes how far judges agree: Cohen's kappa (Cohen 1960, Educational and Psychological Measurement 20), and votes.

Is a difference between two runs of the same cases more than chance, and what can a comparison of so many cases and trials see?

Two tests. ``chances``: if both runs are of one agent, which run a trial of a case stands in is mere chance, so the trials of each case are dealt out
to the two runs anew, and the probability is the share of deals that go at least as far (Fisher 1935; Pitman 1937, Supplement to the JRSS 4). The cases
stay as they are: the answer is about these cases. ``sign_flip`` and ``joint_level`` are about other cases like them, from one difference for each *unit*,
a case or a cluster of cases; 0 where the unit has no part in a column.

``Spread`` says what would be seen, by normal approximations (Cohen 1988, "Statistical power analysis", chapter 2): a difference is seen four times in
five where it is 2.8 standard errors away from what it is held against, 1.96 for the interval and 0.84 for the four times in five.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from pytest_mapsat.model import Bounds

if TYPE_CHECKING:
    import numpy as np

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

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
    """Return the mean, rounded exactly, so that the order of the values does not matter."""
    return math.fsum(values) / len(values)


def by_key(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """Return values grouped by key, in the order in which keys and values first occur."""
    groups: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def mean_span(spans: Sequence[Bounds]) -> Bounds:
    """Return the mean of the lower bounds and the mean of the upper bounds."""
    least, most = (mean(ends) for ends in zip(*spans, strict=True))
    return least, most


def clustered(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """Return one value per cluster, so that mean and spread are those of cases drawn by cluster.

    Cases of one cluster (the tasks of one user, say) are alike, and count as less than as many others. The mean over all cases is a ratio of
    two sums over clusters; each cluster stands in with its linearised share of it (Taylor linearisation, as in surveys: Wolter 2007,
    "Introduction to Variance Estimation", chapter 6). Clusters of one case each give the values back.
    """
    if len(set(clusters)) == len(values):  # mostly: each case stands by itself
        return list(values)
    members = by_key(zip(clusters, values, strict=True))
    centre, share = mean(values), len(members) / len(values)
    return [centre + share * math.fsum(value - centre for value in some) for some in members.values()]


def variance(values: Sequence[float]) -> float:
    """Return the unbiased variance; 0 for fewer than two values."""
    if len(values) < 2:  # noqa: PLR2004 - one value has no spread
        return 0.0
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def worth(values: Sequence[float], clusters: Sequence[str]) -> float:
    """Return the number of independent cases to which some clustered cases are equivalent (Kish 1965, the design effect)."""
    together = clustered(values, clusters)
    if len(together) == len(values):
        return len(values)
    alone, drawn = variance(values) / len(values), variance(together) / len(together)
    return len(values) * min(1.0, alone / drawn) if drawn else len(together)


def bootstrap_intervals(
    samples: Sequence[Sequence[float]], *, level: float = LEVEL, resamples: int = RESAMPLES
) -> tuple[Bounds | None, ...]:
    """Return a bootstrap interval of the mean of each sample; None for a sample with fewer than two values.

    Samples of one size share their resamples, which makes many metrics of one run cheap; fewer, but at least 1,000, are drawn for samples of more
    than a thousand. Where all values are equal the interval is that value: it says that the sample does not vary, not that the next case cannot differ.
    """
    intervals: list[Bounds | None] = [None] * len(samples)
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


def bootstrap_interval(sample: Sequence[float], *, level: float = LEVEL, resamples: int = RESAMPLES) -> Bounds | None:
    """Return the interval of one sample; see ``bootstrap_intervals``."""
    return bootstrap_intervals([sample], level=level, resamples=resamples)[0]


def wilson_interval(share: float, n: float, *, level: float = LEVEL) -> Bounds | None:
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


def share_interval(rates: Sequence[float], clusters: Sequence[str], level: float) -> Bounds | None:
    """Return the Wilson interval of the mean rate of clustered cases; None for no cases."""
    return wilson_interval(mean(rates), worth(rates, clusters), level=level) if rates else None


class _Resampled(NamedTuple):
    """The resamples of one column: their sorted sums in whole numbers of ``1 / scale``, and the sum of the original values."""

    values: Sequence[float]
    sums: np.ndarray
    scale: float
    observed: float

    def interval(self, level: float) -> Bounds:
        """Return the interval of the mean at a level, within the range of the values."""
        low, high = (self._end(sign, level) for sign in (-1, 1))
        return max(min(self.values), low), min(max(self.values), high)

    def _end(self, sign: int, level: float) -> float:
        """Return one end of the interval: the quantile of the resamples, adjusted for bias, skew and sample size."""
        n = len(self.values)
        z = sign * math.sqrt(n / (n - 1)) * student_quantile(round((1 + level) / 2, _PLACES), n - 1)
        bias = self._bias()
        share = normal_share(bias + (bias + z) / max(1 - self._acceleration() * (bias + z), _LEAST))
        return _quantile(self.sums, round(share, _PLACES)) / self.scale / n

    def _bias(self) -> float:
        """Return the bias z0: the imbalance of the resamples about the observed sum, with ties counted half."""
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
    """Draw resamples of columns of equal length; return their sums in whole numbers, each column's scale, and its original sum."""
    import numpy as np  # noqa: PLC0415 - numpy costs more to import than most runs need

    size = len(columns[0])
    rows = max(_FEWEST_RESAMPLES, min(resamples, resamples * _FULLY_RESAMPLED // size))
    scales = [_scale(column) for column in columns]
    whole = np.rint(np.array(columns, dtype=np.float64).T * np.array(scales))
    return _resampled_sums(whole, rows), scales, [float(total) for total in whole.sum(axis=0)]


def _scale(column: Sequence[float]) -> float:
    """Return the power of two that turns a column into whole numbers below 2^30."""
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
    """Return the value below which ``share`` of the standard normal distribution lies, for shares between 0 and 1."""
    from statistics import NormalDist  # noqa: PLC0415 - 10 ms

    return NormalDist().inv_cdf(share)


@lru_cache(maxsize=256)
def student_quantile(share: float, df: int) -> float:
    """Return the value below which ``share``, at least 0.5, of Student's distribution lies; at most 100,000.

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


def cohen_kappa(table: Table, *, quadratic: bool = False) -> float | None:
    """Return kappa of a table of counts: 1 for full agreement, 0 for chance agreement; None if it is undefined, as with a single category.

    Args:
        table: how often one rater said the category of the row and the other that of the column.
        quadratic: the categories are ordered, and raters who differ agree the more the closer they are: by 1 - (i - j)^2 / (K - 1)^2 for K categories (He et al.
            2025, arXiv 2512.07436, A.2, equations 4 to 6).
    """
    total, places, most = sum(map(sum, table)), range(len(table)), len(table) - 1
    alike = [[1 - ((i - j) / most) ** 2 if quadratic and most else float(i == j) for j in places] for i in places]
    rows, columns = [sum(row) for row in table], [sum(row[j] for row in table) for j in places]
    chance = math.fsum(alike[i][j] * rows[i] * columns[j] for i in places for j in places)
    agreed = math.fsum(alike[i][j] * table[i][j] for i in places for j in places)
    return None if not total or chance >= total**2 else (agreed / total - chance / total**2) / (1 - chance / total**2)


def kappa_interval(tables: Sequence[Table], *, level: float = LEVEL) -> Bounds | None:
    """Return a bootstrap interval of kappa (percentile method) from one table per dialogue, since labels of one dialogue are correlated.

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
    """Return the share of pairs of votes that agree; None for fewer than two votes."""
    counts = Counter(votes)
    pairs = len(votes) * (len(votes) - 1)
    return sum(count * (count - 1) for count in counts.values()) / pairs if pairs else None


# -- two runs of the same cases ----------------------------------------------------------------------------------------

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
class TrialBlock:
    """The values of one case's trials in both runs, for one column.

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


def chances(units: Sequence[Sequence[TrialBlock]], columns: int, *, tail: Tail = "down") -> list[float]:
    """Return for each column the probability of an equally large difference between two runs of one agent; 1 if nothing differs.

    Several columns are corrected for by the step-down min-p procedure (Westfall and Young 1993, "Resampling-based multiple testing", algorithm 2.8),
    with the same ways for all of them: the probability of any false alarm is that of the alarm level.

    Args:
        units: what chance deals out together: one case each, or the cases of a group, whose n-th trials belong together.
        columns: how many columns there are.
        tail: ``down``: only drops count; ``both``: any difference. Flips always count as such.
    """
    import numpy as np  # noqa: PLC0415

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
    """Return every way to deal trials to two runs, one per row; True marks the trials of the new run."""
    import numpy as np  # noqa: PLC0415  likewise

    chosen = list(combinations(range(baseline + new), new))
    dealt = np.zeros((len(chosen), baseline + new), dtype=bool)
    for row, places in enumerate(chosen):
        dealt[row, list(places)] = True
    return dealt


def _some_deals(generator: np.random.RandomState, baseline: int, new: int, number: int) -> np.ndarray:
    """Return random ways to deal trials to two runs, one per row; True marks the trials of the new run."""
    import numpy as np  # noqa: PLC0415  likewise

    if baseline == new == 1:
        first = generator.randint(0, 2, size=number).astype(bool)
        return np.column_stack([first, ~first])
    return np.argsort(generator.random_sample((number, baseline + new)), axis=1, kind="stable") < new


def _difference(block: TrialBlock, dealt: np.ndarray, baseline: int, new: int) -> np.ndarray:
    """Return new minus baseline of a case for each deal of its trials; 0 if a run gets no trial with a value."""
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
    """Return the corrected probability of each observed value among all deals; larger values are more extreme."""
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
    """Return the sum of a column's values for each cluster; 0 for a cluster without values."""
    sums = by_key((cluster, value or 0.0) for cluster, value in zip(clusters, values, strict=True))
    return [some[0] if len(some) == 1 else math.fsum(some) for some in sums.values()]


def joint_level(columns: Sequence[Sequence[float]]) -> float:
    """Return the level that each of several intervals needs so that all of them together reach ``LEVEL``.

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
    """Return for each column the probability of a mean equally far below 0 if both runs are of one agent; 1 if nothing differs.

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
    """Return rows of signs, either all combinations or as many as a bootstrap draws, and whether they are complete."""
    import numpy as np  # noqa: PLC0415

    if size <= _EXACT_FLIPS:
        ways = np.arange(2**size)[:, None] >> np.arange(size) & 1
        return 1.0 - 2.0 * ways, True
    generator = np.random.RandomState(_FLIP_SEED)
    return 1.0 - 2.0 * generator.randint(0, 2, size=(RESAMPLES, size), dtype=np.int8), False


class Spread(NamedTuple):
    """The spread of the differences between cases: the number of cases, and the variance."""

    n: int
    total: float

    @classmethod
    def of(cls, differences: Sequence[float]) -> Spread:
        """Return the spread of some differences, one for each case."""
        return cls(len(differences), variance(differences))

    @property
    def smallest(self) -> float | None:
        """Return the smallest drop that is detected four times in five; None if too few cases differ."""
        return None if self.n < 2 or not self.total else _errors(self.n) * math.sqrt(self.total / self.n)  # noqa: PLR2004

    def cases_for(self, distance: float) -> int | None:
        """Return the number of cases that reveal a difference this far from its limit; None if the distance is 0 or too many are needed."""
        if not distance or self.n < 2:  # noqa: PLR2004
            return None
        needed = (_errors(self.n) / distance) ** 2 * self.total
        return math.ceil(needed) if needed <= _MOST else None


def _errors(n: int) -> float:
    """Return the number of standard errors at which a difference over n cases is detected four times in five."""
    return student_quantile(_TAIL, n - 1) + student_quantile(_POWER, n - 1)
