"""A run as data for other programs: the JSON report, one row an episode, with a schema; and an episode as properties of a JUnit file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from pydantic import Field

from pytest_mapsat.model import (
    Accounting,
    Aggregate,
    Bounds,
    CallCounts,
    Comparison,
    EpisodeTiming,
    Gate,
    Label,
    Noun,
    Outcome,
    Run,
    RunManifest,
    RunTiming,
    Scorecard,
    Usage,
)
from pytest_mapsat.model.trajectory import Blame
from pytest_mapsat.printed import harmless

from .text import cut, printable
from .view import case_place, headline, missed, requirements

#: The most characters of a reason in a JUnit file.
_TEXT = 2_000


class ReportedLabel(Label):
    """A label that is not satisfied in full, or is open, with the words of its requirement."""

    text: str = ""
    severity: str = ""


class ReportedCase(Noun):
    """One episode without its dialogue.

    ``file`` and ``line``: where the case stands. ``bounds``: the least and the most of every metric of which something is known, equal where it
    has a value. ``missed``: labels that are not satisfied in full; ``open``: those that are not known.
    """

    id: str
    trial: int
    agent: str = ""
    attempt: int = 1
    nodeid: str = ""
    file: str = ""
    line: int | None = None
    domains: tuple[str, ...] = ()
    attributes: dict[str, str] = Field(default_factory=dict)
    outcome: Outcome
    blame: Blame | None = None
    reason: str = ""
    bounds: dict[str, Bounds]
    missed: tuple[ReportedLabel, ...] = ()
    open: tuple[ReportedLabel, ...] = ()
    turns: int = 0
    calls: CallCounts = CallCounts()
    spent: Usage = Usage()
    timing: EpisodeTiming = EpisodeTiming()


class Report(Noun):
    """A run in short. ``title`` says in words what became of it, ``state`` in one."""

    schema_: Literal["mapsat-report/1"] = Field(default="mapsat-report/1", alias="schema")
    title: str
    state: Literal["passed", "failed", "open"]
    manifest: RunManifest
    accounting: Accounting
    gate: Gate
    comparison: Comparison | None = None
    anchor: Comparison | None = None
    summary: dict[str, Aggregate]
    groups: dict[str, dict[str, dict[str, Aggregate]]]
    cases: tuple[ReportedCase, ...]
    timing: RunTiming = RunTiming()


def json_report(run: Run) -> str:
    """Return a run as a text of JSON, keys sorted, without its dialogues."""
    title, state = headline(run)
    same = {name: getattr(run, name) for name in Report.model_fields.keys() & Run.model_fields.keys() - {"schema_"}}
    report = Report(title=title, state=state, **same | {"cases": tuple(map(_case, run.cases))})
    return (
        json.dumps(report.model_dump(mode="json", by_alias=True), ensure_ascii=False, sort_keys=True, indent=1) + "\n"
    )


def _case(card: Scorecard) -> ReportedCase:
    same = {name: getattr(card, name) for name in ReportedCase.model_fields.keys() & Scorecard.model_fields.keys()}
    spans = {name: card.bounds_of(name) for name in card.metrics}
    words = requirements(card)

    def reported(labels: Iterable[Label]) -> tuple[ReportedLabel, ...]:
        told = ((label, words[label.requirement]) for label in labels)
        return tuple(ReportedLabel(**dict(label), text=wanted.text, severity=wanted.kind) for label, wanted in told)

    own = {
        "file": case_place(card)[0],
        "bounds": {name: span for name, span in spans.items() if span is not None},
        "missed": reported(missed(card)),
        "open": reported(label for label in card.labels if label.outcome == "unevaluated"),
    }
    return ReportedCase(**same | own)


def properties(card: Scorecard) -> list[tuple[str, object]]:
    """Return an episode as properties of its test case in a JUnit file: each metric, or the bounds that it lies between, then what is missed and what is open."""
    told: list[tuple[str, object]] = [
        ("mapsat.case", printable(card.id)),
        ("mapsat.trial", card.trial),
        ("mapsat.outcome", card.outcome),
        ("mapsat.domains", printable(", ".join(card.domains))),
    ]
    for name in card.metrics:
        span = card.bounds_of(name)
        if span is not None and span[0] == span[1]:
            told.append(_property(name, span[0]))
        elif span is not None:
            told += [(f"mapsat.{name}.least", span[0]), (f"mapsat.{name}.most", span[1])]
    labels = [
        ("missed", [label.requirement for label in missed(card)]),
        ("open", [label.requirement for label in card.labels if label.outcome == "unevaluated"]),
    ]
    told += [(f"mapsat.{name}", printable(", ".join(names))) for name, names in labels if names]
    if card.reason:
        told.append(("mapsat.reason", harmless(cut(printable(card.reason), _TEXT))))
    return told


@lru_cache(maxsize=4096)
def _property(name: str, value: float) -> tuple[str, object]:
    """Return the property of a metric. pytest keeps all of them to the end of a run, and most are one of few view."""
    return f"mapsat.{name}", value
