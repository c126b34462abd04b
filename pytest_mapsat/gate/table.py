"""The differences of all cases that two runs share, by metric and group: what intervals and tests are made from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from pytest_mapsat.metrics import LEVEL, bootstrap_intervals, clustered
from pytest_mapsat.metrics.paired import units
from pytest_mapsat.metrics.permuted import Block
from pytest_mapsat.metrics.statistics import RESAMPLES, Interval, mean
from pytest_mapsat.model import Bounds

from .pairs import Pair


class Table:
    """The cases that two runs share.

    Args:
        pairs: them, by id.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.clusters = [pair.cluster for pair in pairs]
        self._differences: dict[str, list[Bounds | None]] = {}
        self._places: dict[str, list[int]] = {"": [*range(len(pairs))]}
        for place, pair in enumerate(pairs):
            for domain in dict.fromkeys(pair.domains):
                self._places.setdefault(domain, []).append(place)

    @property
    def domains(self) -> list[str]:
        """All domains, sorted."""
        return sorted(filter(None, self._places))

    def column(self, metric: str, domain: str = "") -> Column:
        """Return the differences of a metric, over all cases or those of a domain."""
        if metric not in self._differences:
            self._differences[metric] = [pair.difference(metric) for pair in self.pairs]
        return Column(self, metric, domain, self._places.get(domain, []), self._differences[metric])

    def intervals(
        self, columns: Sequence[Column], *, level: float = LEVEL, resamples: int = RESAMPLES
    ) -> list[Interval | None]:
        """Return the interval of each column: the low end of its least, the high end of its most."""
        samples = [clustered(end, column.clusters) for column in columns for end in (column.least, column.most)]
        drawn = bootstrap_intervals(samples, level=level, resamples=resamples)
        return [
            None if low is None or high is None else (low[0], high[1])
            for low, high in zip(drawn[::2], drawn[1::2], strict=True)
        ]


def blocks_of(
    columns: Sequence[Column], kinds: Sequence[Literal["most", "least", "flips", "none"]]
) -> list[list[Block]]:
    """Return what chance deals out between two runs: a unit for each case, or for the cases of a group.

    Args:
        columns: the columns that are asked about, of one table.
        kinds: of each of them, what is asked: its mean, with what is not known at the end at which the difference is ``most`` or ``least``; how
            many cases flipped (``flips``); nothing (``none``).
    """
    units: dict[str, list[Block]] = {}
    for number, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        weight = 1.0 if kind == "flips" else 1 / max(1, len(column.members))
        for pair in column.members if kind != "none" else ():
            base, new = pair.values(column.metric, most=kind != "least")
            if base == new and len(set(base)) == 1:
                continue  # however it is dealt out, nothing of it differs
            units.setdefault(pair.cluster, []).append(Block(number, weight, base, new, flips=kind == "flips"))
    return [units[cluster] for cluster in sorted(units)]


class Column:
    """The differences of one metric over some cases: new minus base.

    Attributes:
        metric: the metric.
        domain: the domain; empty for all cases.
        cases: how many cases the group has.
        members: those of them that have the metric in both runs.
        clusters: what each of these is drawn with.
        least: the least that their differences can come to.
        most: the most.
    """

    def __init__(
        self, table: Table, metric: str, domain: str, places: Sequence[int], differences: Sequence[Bounds | None]
    ) -> None:
        self.metric = metric
        self.domain = domain
        self.cases = len(places)
        self._table = table
        known = [(place, found) for place in places if (found := differences[place]) is not None]
        self._places = [place for place, _ in known]
        self.members = [table.pairs[place] for place in self._places]
        self.clusters = [table.clusters[place] for place in self._places]
        self.least = [low for _, (low, _) in known]
        self.most = [high for _, (_, high) in known]

    @cached_property
    def bounds(self) -> Bounds | None:
        """The least and the most that the mean difference can come to; None where no case has one."""
        return (mean(self.least), mean(self.most)) if self.least else None

    @property
    def differ(self) -> int:
        """How many cases may differ."""
        return sum(low != 0 or high != 0 for low, high in zip(self.least, self.most, strict=True))

    @property
    def undecided(self) -> int:
        """How many cases have a difference that is not known."""
        return sum(low != high for low, high in zip(self.least, self.most, strict=True))

    def side(self, *, new: bool) -> Bounds | None:
        """Return the mean in one of the runs, at its bounds."""
        means = [one for pair in self.members if (one := pair.mean(self.metric, new=new)) is not None]
        return (mean([low for low, _ in means]), mean([high for _, high in means])) if means else None

    def aligned(self, values: Sequence[float]) -> list[float]:
        """Return values of the members as a column of units of all cases, the same rows for every column."""
        every: list[float | None] = [None] * len(self._table.pairs)
        for place, value in zip(self._places, values, strict=True):
            every[place] = value
        return units(every, self._table.clusters)

    @property
    def cautious(self) -> Literal["most", "least", "none"]:
        """The end of the mean difference that is nearer to nothing; ``none`` where the bounds lie on both sides of it."""
        least, most = self.bounds or (0.0, 0.0)
        return "none" if least < 0 < most else "most" if most <= 0 else "least"
