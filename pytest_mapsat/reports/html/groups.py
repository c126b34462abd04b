"""The means of a run and of its groups, ready to be shown with a bar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_mapsat.model import Aggregate, Run
from pytest_mapsat.reports import values

#: A bar is so many units long.
_BAR = 100.0
#: Groups of a dimension that are shown at once; the others are folded.
_OPEN_DIMENSIONS = ("domain", "requirement_source", "difficulty")


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval and what lies between the bounds, as places on a bar from 0 to 100."""

    low: float
    high: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean as it is shown.

    Attributes:
        text: the mean, or its bounds.
        interval: its 95 % interval.
        counted: how many cases it is made of, and what became of the others.
        bar: the same as a drawing; None for a metric that does not lie between 0 and 1.
    """

    text: str
    interval: str
    counted: str
    bar: Bar | None


@dataclass(frozen=True, slots=True)
class Row:
    """A metric, or a group with its metrics; ``about``: what the metric says."""

    name: str
    cells: tuple[Cell, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One way to group the cases."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    open: bool


def metric_rows(run: Run) -> list[Row]:
    """Return a row for each metric of the run that has a value."""
    about = {metric.name: metric.title for metric in run.manifest.metrics}
    names, counts = values.shown_metrics(run), _counts(run)
    return [
        Row(values.metric_title(name), (_cell(run.summary[name], name not in counts),), about.get(name, ""))
        for name in names
    ]


def _counts(run: Run) -> frozenset[str]:
    """Return the metrics that are no share: they lie on no line from 0 to 1."""
    return frozenset(metric.name for metric in run.manifest.metrics if metric.unit != "share")


def dimensions(run: Run) -> list[Dimension]:
    """Return the groups of the run by dimension, with the metrics that have a value in the run."""
    columns, counts = values.shown_metrics(run), _counts(run)
    found = []
    for dimension in values.dimension_order(run.groups):
        groups = run.groups[dimension]
        rows = tuple(
            Row(name, tuple(_cell(groups[name].get(column), column not in counts) for column in columns))
            for name in sorted(groups)
        )
        title = values.dimension_title(dimension)
        titles = tuple(map(values.metric_title, columns))
        found.append(Dimension(title, titles, rows, open=dimension in _OPEN_DIMENSIONS))
    return found


def _cell(aggregate: Aggregate | None, share: bool) -> Cell:
    if aggregate is None:
        return Cell("", "", "", None)
    bar = _bar(aggregate) if share else None
    return Cell(values.mean_text(aggregate), values.interval_text(aggregate), _counted(aggregate), bar)


def _counted(aggregate: Aggregate) -> str:
    parts = [str(aggregate.n + aggregate.undecided)]
    parts += [f"{aggregate.undecided} undecided"] if aggregate.undecided else []
    parts += [f"{count} {values.outcome_title(kind)} left out" for kind, count in sorted(aggregate.left_out.items())]
    return ", ".join(parts)


def _bar(aggregate: Aggregate) -> Bar | None:
    bounds = aggregate.bounds
    if bounds is None:
        return None
    low = bounds[0] if aggregate.low is None else aggregate.low
    high = bounds[1] if aggregate.high is None else aggregate.high
    ends = (low, high, *bounds)
    return Bar(*_places(ends)) if min(ends) >= 0 and max(ends) <= 1 else None


def _places(ends: Iterable[float]) -> Iterable[float]:
    return (round(_BAR * end, 1) for end in ends)
