"""A run as data for other programs: everything but the dialogues, one row an episode, with a schema."""

from __future__ import annotations

import json
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
    Spent,
)
from pytest_mapsat.model.trajectory import Blame

from . import values


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
    spent: Spent = Spent()
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


def report_of(run: Run) -> Report:
    """Return a run as data, without its dialogues."""
    title, state = values.headline(run)
    return Report(
        title=title,
        state=state,
        manifest=run.manifest,
        accounting=run.accounting,
        gate=run.gate,
        comparison=run.comparison,
        anchor=run.anchor,
        summary=run.summary,
        groups=run.groups,
        cases=tuple(map(_case, run.cases)),
        timing=run.timing,
    )


def json_report(run: Run) -> str:
    """Return a run as a text of JSON, keys sorted."""
    data = report_of(run).model_dump(mode="json", by_alias=True)
    return json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def _case(card: Scorecard) -> ReportedCase:
    path, _ = values.case_place(card)
    spans = {name: card.bounds_of(name) for name in card.metrics}
    return ReportedCase(
        id=card.id,
        trial=card.trial,
        agent=card.agent,
        attempt=card.attempt,
        nodeid=card.nodeid,
        file=path,
        line=card.line,
        domains=card.domains,
        attributes=card.attributes,
        outcome=card.outcome,
        blame=card.blame,
        reason=card.reason,
        bounds={name: span for name, span in spans.items() if span is not None},
        missed=tuple(_label(card, label) for label in values.missed(card)),
        open=tuple(_label(card, label) for label in card.labels if label.outcome == "unevaluated"),
        turns=card.turns,
        calls=card.calls,
        spent=card.spent,
        timing=card.timing,
    )


def _label(card: Scorecard, label: Label) -> ReportedLabel:
    wanted = values.requirements(card)[label.requirement]
    return ReportedLabel(**dict(label), text=wanted.text, severity=wanted.kind)
