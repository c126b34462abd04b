"""The figures of the MapSatisfyBench paper from saved runs, each as a table in CSV and as a chart in SVG.

Figure 4: calls by tool; figure 5: metrics by domain and by source of the implicit requirements; B.4: what the profile is worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from pytest_mapsat.metrics import SOURCE_ATTRIBUTE, bootstrap_interval, by_key, mean_span, summarise
from pytest_mapsat.model import Bounds, Run, Scorecard, UsageError
from pytest_mapsat.ports import csv_text
from pytest_mapsat.reports import cell_width, cut, metric_title, printable, range_text, shown_metrics, templates_of

if TYPE_CHECKING:
    from jinja2 import Environment

#: What the paper shows by group; of a run without them its first metrics are shown.
_METRICS = ("iisr", "ar", "ses")
_AVERAGE = "mean of the runs"
_NOTE = "Lighter: what undecided labels leave open. Line: 95 % interval."


#: A chart: its width, the strips for heads and note, the height of a bar and of the gap behind a group, the width of a character.
_WIDTH, _TOP, _FOOT, _BAR, _GAP, _CELL, _NAME = 760, 62, 34, 13, 12, 6.6, 34

Row = tuple[str | float | None, ...]


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar of a chart: its group and series, the bounds of its value, and the ends of its 95 % interval."""

    group: str
    series: str
    least: float
    most: float
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """Return the value as text, or both bounds if they differ."""
        return range_text((self.least, self.most))


def _files(
    name: str, title: str, note: str, columns: Sequence[str], *, rows: Sequence[Row], bars: Sequence[ChartBar]
) -> dict[str, str]:
    """Return the files of a figure by name: its table and its chart."""
    return {f"{name}.csv": csv_text(columns, rows), f"{name}.svg": bar_chart(title, note, bars)}


def figures(runs: Sequence[tuple[str, Run]]) -> dict[str, str]:
    """Return the files of figures 4 and 5 by name: calls by tool, and metrics by domain and by requirement source.

    Args:
        runs: the runs, each with its name; groups are averaged over them, as in the paper.
    """
    metrics = _metrics([run for _, run in runs])
    source = "Metrics by source of the implicit requirements (figure 5b)"
    by_domain = _by_group(runs, metrics, "by-domain", "domain", "Metrics by domain (figure 5a)")
    by_source = _by_group(runs, metrics, "by-source", SOURCE_ATTRIBUTE, source)
    return _tool_calls(runs) | by_domain | by_source


def profile(runs: Sequence[tuple[str, Run]]) -> dict[str, str]:
    """Return the files of figure B.4 by name: the effect of giving the agent the user's profile.

    Args:
        runs: two runs, each with its name: one, and the same in the profile setting, in which the agent is given the profile.

    Raises:
        UsageError: they are not two, or have no case in common.
    """
    if len(runs) != len(("without", "with")):
        raise UsageError(f"profile: expected two runs, without and with the profile, found {len(runs)}")
    (_, without), (_, given) = runs
    return _of_profile(without, given)


def _metrics(runs: Sequence[Run]) -> list[str]:
    """Return the paper's metrics that all runs have; if there are none, the first three metrics that all runs have."""
    shown = [name for name in shown_metrics(runs[0]) if all(name in shown_metrics(run) for run in runs)]
    return [name for name in _METRICS if name in shown] or shown[: len(_METRICS)]


def _tool_calls(runs: Sequence[tuple[str, Run]]) -> dict[str, str]:
    """Return the table and the chart of the number of calls of each tool in each run (figure 4)."""
    rows: list[Row] = []
    bars = []
    for tool in sorted({tool for _, run in runs for card in run.cases for tool in card.calls.by_tool}):
        for name, run in runs:
            calls = [card.calls.by_tool.get(tool, 0) for card in run.cases]
            share = sum(map(bool, calls)) / len(calls)
            rows.append((tool, name, sum(calls), sum(calls) / len(calls), share))
            bars.append(ChartBar(tool, name, share, share))
    title = "Share of episodes in which a tool is called (figure 4)"
    note = "Tools that no run called are not listed: a run file does not know them."
    columns = ("tool", "run", "calls", "calls per episode", "share of episodes")
    return _files("tool-calls", title, note, columns, rows=rows, bars=bars)


def _by_group(
    runs: Sequence[tuple[str, Run]], metrics: Sequence[str], name: str, dimension: str, title: str
) -> dict[str, str]:
    """Return the table and the chart of metrics for each group of a dimension, averaged over the runs (figure 5)."""
    groups = [(run_name, run.groups.get(dimension, {})) for run_name, run in runs]
    rows: list[Row] = []
    bars = []
    for group, metric in product(sorted({group for _, some in groups for group in some}), metrics):
        spans = []
        for run_name, some in groups:
            mean = some.get(group, {}).get(metric)
            if mean is None or mean.bounds is None:
                continue
            spans.append((mean.bounds, mean.low, mean.high))
            counts = (mean.n + mean.undecided, mean.undecided)
            rows.append((group, metric, run_name, *mean.bounds, mean.low, mean.high, *counts))
        if not spans:
            continue
        bounds = mean_span([span for span, _, _ in spans])
        interval = spans[0][1:] if len(spans) == 1 else (None, None)
        if len(runs) > 1:
            rows.append((group, metric, _AVERAGE, *bounds, None, None, None, None))
        bars.append(ChartBar(group, metric_title(metric), *bounds, *interval))
    note = _NOTE if len(runs) == 1 else f"Means over {len(runs)} runs. {_NOTE.partition('.')[0]}."
    columns = (dimension, "metric", "run", "least", "most", "low", "high", "cases", "undecided")
    return _files(name, title, note, columns, rows=rows, bars=bars)


# -- the profile setting -----------------------------------------------------------------------


def _of_profile(without: Run, given: Run) -> dict[str, str]:
    """Return the table and the chart of metrics with the profile minus without, over the cases of both runs (B.4)."""
    both = {card.id for card in without.cases} & {card.id for card in given.cases}
    if not both:
        raise UsageError("the run in the profile setting has no case of the run without: nothing can be paired")
    rows: list[Row] = []
    bars = []
    for (where, members), metric in product(_members(without, both), _metrics([without, given])):
        sides = [[card for card in run.cases if card.id in members] for run in (without, given)]
        before, after = (_spans(side, metric) for side in sides)
        pairs = [(before[case], after[case]) for case in sorted(before.keys() & after.keys())]
        if not pairs:
            continue
        least, most = [new[0] - old[1] for old, new in pairs], [new[1] - old[0] for old, new in pairs]
        lower, upper = bootstrap_interval(least), bootstrap_interval(most)
        interval = (None if lower is None else lower[0], None if upper is None else upper[1])
        bounds = (bound or (None, None) for bound in (summarise(side)[metric].bounds for side in sides))
        ends = [end for bound in bounds for end in bound]
        difference = mean_span(list(zip(least, most, strict=True)))
        rows.append((where, metric, *ends, *difference, *interval, len(pairs)))
        bars.append(ChartBar(where, metric_title(metric), *difference, *interval))
    heads = ("without least", "without most", "profile least", "profile most", "difference least", "difference most")
    title = "What changes when the agent is given the profile (B.4)"
    note = f"With the profile minus without, over {len(both)} cases of both runs. {_NOTE}"
    return _files("profile", title, note, ("cases", "metric", *heads, "low", "high", "pairs"), rows=rows, bars=bars)


def _members(run: Run, both: set[str]) -> list[tuple[str, set[str]]]:
    """Return the cases of both runs in named groups: all, then by source of requirements, then by domain."""
    groups: list[tuple[str, str]] = []
    for card in run.cases:
        sources = card.attributes.get(SOURCE_ATTRIBUTE, "").split(", ")
        groups += [(f"source {name}", card.id) for name in sources if name]
    domains = [(f"domain {name}", card.id) for card in run.cases for name in card.domains]
    listed = [name for some in (groups, domains) for name in sorted({name for name, case in some if case in both})]
    members = {name: {case for other, case in groups + domains if other == name} & both for name in listed}
    return [("all", both), *members.items()]


def _spans(cards: Sequence[Scorecard], metric: str) -> dict[str, Bounds]:
    """Return the bounds of a metric for each case, averaged over its trials."""
    by_case = by_key((card.id, span) for card in cards if (span := card.bounds_of(metric)) is not None)
    return {case: mean_span(spans) for case, spans in by_case.items()}


# -- files -------------------------------------------------------------------------------------


def bar_chart(title: str, note: str, bars: Sequence[ChartBar]) -> str:
    """Return a bar chart as SVG text, on white ground.

    Args:
        title: what is shown.
        note: how it is to be read, a line.
        bars: the bars; groups and series stand in the order in which they first come.
    """
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    ends = [end for bar in bars for end in (bar.least, bar.most, bar.low, bar.high) if end is not None]
    reach = 10.0 ** math.ceil(math.log10(max(map(abs, ends), default=1) or 1))  # a share ends at 1
    reach, low = max(reach, 1.0), -max(reach, 1.0) if min(ends, default=0) < 0 else 0.0
    left = round(18 + _CELL * min(max(map(cell_width, groups), default=0), _NAME))
    row = len(series) * _BAR + _GAP
    chart = _environment().get_template("chart.svg.jinja")
    text = chart.render(
        title=title,
        note=note,
        bars=bars,
        groups=groups,
        series=series,
        left=left,
        top=_TOP,
        foot=_FOOT,
        row=row,
        width=_WIDTH,
        height=_TOP + len(groups) * row + _FOOT,
        marks=[reach * number / 5 for number in range(-5 if low else 0, 6)],
        x=lambda value: round(left + (value - low) / (reach - low) * (_WIDTH - left - 84), 1),
    )
    return f"{text}\n"


@cache
def _environment() -> Environment:
    """Return the template environment of the charts, with the filters that they use."""
    environment = templates_of("pytest_mapsat.ports.mapsatisfybench")
    environment.filters |= {"cells": cell_width, "plain": printable, "short": cut}
    return environment
