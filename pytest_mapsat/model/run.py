"""A run: everything that a later command needs, with nothing that differs between two equal runs outside ``timing``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import JsonObject, Noun
from .scorecard import Scorecard

RUN_SCHEMA: Literal["mapsat-run/1"] = "mapsat-run/1"
GateOutcome = Literal["passed", "failed", "inconclusive", "invalid"]


class Aggregate(Noun):
    """A mean with its denominator and interval.

    ``n`` cases count in the mean; ``left_out`` says how many do not, by outcome class. ``low`` and ``high`` bound the mean at 95 %.
    """

    mean: float | None
    n: int
    low: float | None = None
    high: float | None = None
    left_out: dict[str, int] = Field(default_factory=dict)


class Gate(Noun):
    """What the gate decided, and on what."""

    outcome: GateOutcome
    reasons: tuple[str, ...] = ()


class JudgeInfo(Noun):
    """Which judge, and whether its verdicts are known to be about these trajectories (null: it judged them itself)."""

    spec: str
    linked: bool | None = None


class SuiteInfo(Noun):
    """A suite as part of the run's manifest."""

    name: str
    version: str
    fingerprint: str


class RunManifest(Noun):
    """What was run: all that must be equal for two runs to be comparable."""

    versions: dict[str, str]
    suites: tuple[SuiteInfo, ...]
    agent: str
    user: str
    judge: JudgeInfo
    options: JsonObject
    warnings: tuple[str, ...] = ()


class RunTiming(Noun):
    """When, where and on what; never compared."""

    started: str = ""
    seconds: float = 0
    workers: int = 0
    python: str = ""
    pytest: str = ""


class Run(Noun):
    """All scorecards of a run, sorted by case id and trial, with aggregates and the gate's decision."""

    schema_: Literal["mapsat-run/1"] = Field(default=RUN_SCHEMA, alias="schema")
    manifest: RunManifest
    cases: tuple[Scorecard, ...]
    summary: dict[str, Aggregate]
    groups: dict[str, dict[str, dict[str, Aggregate]]]
    gate: Gate
    timing: RunTiming = RunTiming()
