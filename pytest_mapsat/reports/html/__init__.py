"""A run as one HTML file that works from disk: nothing is loaded, and what others wrote stays text. The page is in ``templates/``."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.model import Aggregate, Run
from pytest_mapsat.printed import visible
from pytest_mapsat.reports import changes, view
from pytest_mapsat.reports.text import cell_width, cut, printable

from .case import HEIGHT, WIDTH, Dialogues, opening, row_views, told_views

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["Dialogues", "html_report", "opening", "templates_of"]

#: Metrics of an episode that stand in the table of cases.
_IN_TABLE = 3
#: Groups of a dimension that are shown at once; the others are folded.
_OPEN_DIMENSIONS = ("domain", "requirement_source", "difficulty")


def html_report(run: Run, dialogues: Dialogues | None = None) -> str:
    """Return the run as a page of HTML, self-contained: style, script and all cases are in it.

    Args:
        run: the run; of its trajectories what the user asked is enough, where ``dialogues`` is given.
        dialogues: gives scorecards with their whole trajectories; None: those of the run have them.
    """
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title, state = view.headline(run)
    metrics = view.shown_metrics(run)
    rows = row_views(run)
    shown = told_views(rows, dialogues)
    outcomes = {outcome: view.outcome_title(outcome) for outcome in dict.fromkeys(row.outcome for row in rows)}
    page = environment().get_template("page.html.jinja")
    return page.render(
        run=run,
        style=style,
        script=script,
        policy=policy,
        title=title,
        state=state,
        sample=view.sample_text(run.manifest),
        counts=view.counts_text(run),
        metrics=metrics,
        about={metric.name: metric.title for metric in run.manifest.metrics},
        shares=set(metrics) - {metric.name for metric in run.manifest.metrics if metric.unit != "share"},
        dimensions=view.dimension_order(run.groups),
        open_dimensions=_OPEN_DIMENSIONS,
        columns=[name for name in metrics if name != view.PASS_RATE][:_IN_TABLE],
        rows=rows,
        told=shown,
        anchors={row.row.id: row.told.anchor for place, row in reversed([*enumerate(rows)]) if place in shown},
        outcomes=outcomes,
        domains=sorted({domain for card in run.cases for domain in card.domains}),
        any_open=any(row.open for row in rows),
    )


class Bar(NamedTuple):
    """An interval and what lies between the bounds, as places on a bar from 0 to 100."""

    low: float
    high: float
    least: float
    most: float


def bar_of(mean: Aggregate) -> Bar | None:
    """Return a mean as a bar; None where it does not lie between 0 and 1."""
    if mean.bounds is None:
        return None
    least, most = mean.bounds
    ends = (least if mean.low is None else mean.low, most if mean.high is None else mean.high, least, most)
    return Bar(*(round(100 * end, 1) for end in ends)) if min(ends) >= 0 and max(ends) <= 1 else None


def counted_text(mean: Aggregate) -> str:
    """Return how many cases a mean is made of, and what became of the others."""
    parts = [str(mean.n + mean.undecided)]
    parts += [f"{mean.undecided} undecided"] if mean.undecided else []
    parts += [f"{count} {view.outcome_title(kind)} left out" for kind, count in sorted(mean.left_out.items())]
    return ", ".join(parts)


@cache
def environment() -> Environment:
    """Return the environment of the page."""
    environment = templates_of("pytest_mapsat.reports.html")
    environment.filters |= {
        "bar": bar_of,
        "cells": cell_width,
        "counted": counted_text,
        "dimension": view.dimension_title,
        "group_order": view.group_order,
        "interval": view.interval_text,
        "mean": view.mean_text,
        "metric": view.metric_title,
        "outcome": view.outcome_title,
        "plain": printable,
        "short": cut,
        "text_only": _text_only,
    }
    environment.globals |= {"view": view, "comparing": changes, "width": WIDTH, "height": HEIGHT}
    return environment


def templates_of(package: str) -> Environment:
    """Return an environment of the templates of a package, which escapes whatever it is given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  for pages and charts only

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def _text_only(text: str) -> Markup:
    """Return text for the inside of an element, where quotation marks may stand as they are: JSON is a third of the file."""
    from markupsafe import Markup  # noqa: PLC0415  comes with jinja2

    return Markup(visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))  # noqa: S704  all that could end the text is escaped


@cache
def _asset(name: str) -> str:
    return files("pytest_mapsat.reports.html").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
