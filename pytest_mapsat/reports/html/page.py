"""A run as one HTML file that works from disk: nothing is loaded, and what strangers wrote stays text."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from pytest_mapsat.model import Run
from pytest_mapsat.reports import changes, values
from pytest_mapsat.reports.text import cut, printable, visible

from .case import Dialogues, RowView, row_views, told_views
from .drawing import HEIGHT, WIDTH, length_text
from .groups import dimensions, metric_rows

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: Metrics of an episode that stand in the table of cases.
_IN_TABLE = 3


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
    title, state = values.headline(run)
    names = values.shown_metrics(run)
    rows = row_views(run)
    told = told_views(rows, dialogues)
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            run=run,
            style=style,
            script=script,
            policy=policy,
            title=title,
            state=state,
            sample=values.sample_text(run.manifest),
            counts=values.counts_text(values.outcome_counts(run.cases)),
            metrics=metric_rows(run),
            dimensions=dimensions(run),
            columns=[name for name in names if name != values.PASS_RATE][:_IN_TABLE],
            rows=rows,
            told=told,
            anchors={row.row.id: row.told.anchor for place, row in reversed([*enumerate(rows)]) if place in told},
            outcomes=_outcomes(rows),
            domains=sorted({domain for card in run.cases for domain in card.domains}),
            any_open=any(row.open for row in rows),
        )
    )


def _outcomes(rows: list[RowView]) -> dict[str, str]:
    """Return the outcomes that occur, with how they are called."""
    return {outcome: values.outcome_title(outcome) for outcome in dict.fromkeys(row.outcome for row in rows)}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  for this report only

    environment = Environment(
        loader=PackageLoader("pytest_mapsat.reports.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {
        "metric": values.metric_title,
        "outcome": values.outcome_title,
        "plain": printable,
        "short": cut,
        "length": length_text,
        "text_only": _text_only,
    }
    environment.globals |= {
        "metric_names": values.metric_names,
        "metric_text": values.metric_text,
        "range_text": values.range_text,
        "width": WIDTH,
        "height": HEIGHT,
        "before_and_now": changes.before_and_now,
        "change_rows": changes.change_rows,
        "counted": changes.counts_text,
        "requirement_change": changes.requirement_change,
        "flip": changes.flip,
    }
    return environment


def _text_only(text: str) -> Markup:
    """Return text for the inside of an element, where quotation marks may stand as they are: JSON is a third of the file."""
    from markupsafe import Markup  # noqa: PLC0415  comes with jinja2

    return Markup(visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))  # noqa: S704  all that could end the text is escaped


@cache
def _asset(name: str) -> str:
    return files("pytest_mapsat.reports.html").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
