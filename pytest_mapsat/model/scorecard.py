"""What one episode scored: metrics with their classes, labels, provenance, and who is to blame."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Noun
from .trajectory import Blame, Trajectory
from .verdict import Count, Label, Outcome

MetricName = Literal["ecr", "iisr", "ar", "ts", "ifs", "eff", "ses", "cei"]
#: The seven metrics of the paper, then the one given for reference only.
METRICS: tuple[MetricName, ...] = ("ecr", "iisr", "ar", "ts", "ifs", "eff", "ses", "cei")
#: Those that an agent which crashes or says nothing has earned a 0 in.
EARNED_METRICS: tuple[MetricName, ...] = METRICS[:7]


class SandboxCounts(Noun):
    """How many tool answers came from where."""

    exact: int = 0
    near: int = 0
    composed: int = 0
    simulated: int = 0
    recorded: int = 0
    miss: int = 0


class CallCounts(Noun):
    """How often the agent called tools, and how many calls failed on their arguments or name."""

    total: int = 0
    failed: int = 0
    by_tool: dict[str, int] = Field(default_factory=dict)


class Spent(Noun):
    """What the agent spent in the episode; null where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


class EpisodeTiming(Noun):
    """Wall time of the episode, seconds; never compared between runs."""

    seconds: float = 0
    worker: str = ""


class Scorecard(Noun):
    """One episode, judged and scored.

    ``metrics``: value or null by name; ``classes``: for a null the outcome class that says why (``unevaluated``, ``not_applicable``, ``error``).
    ``outcome`` is that of the item under the asserted labels; ``blame`` names who it is laid to when not passed. ``turns`` counts agent replies,
    ``clarifications`` those that asked something, ``vacuous`` fact requirements that held because nothing was claimed.
    ``agent`` tells the parameters of a parametrised ``mapsat_agent`` apart, ``attempt`` counts the episodes of one case, trial and agent
    from 1: reruns are further attempts.
    ``explicit_count`` stands in for explicit labels where a recorded verdict gave a count only. ``linked``: whether a recorded verdict is known to be about this trajectory; null where the judge judged it itself.
    """

    id: str
    trial: int = Field(default=1, ge=1)
    agent: str = ""
    attempt: int = Field(default=1, ge=1)
    nodeid: str = ""
    domains: tuple[str, ...] = ()
    attributes: dict[str, str] = Field(default_factory=dict)
    outcome: Outcome
    blame: Blame | None = None
    reason: str = ""
    metrics: dict[MetricName, float | None]
    classes: dict[MetricName, Outcome] = Field(default_factory=dict)
    labels: tuple[Label, ...] = ()
    explicit_count: Count | None = None
    sandbox: SandboxCounts = SandboxCounts()
    calls: CallCounts = CallCounts()
    turns: int = 0
    clarifications: int = 0
    vacuous: int = 0
    unchecked_rules: int = 0
    spent: Spent = Spent()
    warnings: tuple[str, ...] = ()
    linked: bool | None = None
    trajectory: Trajectory
    timing: EpisodeTiming = EpisodeTiming()

    @property
    def key(self) -> tuple[str, int, str, int]:
        """What tells this episode from all others of a run: case, trial, agent parameter, attempt."""
        return self.id, self.trial, self.agent, self.attempt

    def metric(self, name: MetricName) -> float | None:
        """Return the metric's value, or None where it has none."""
        return self.metrics.get(name)

    @property
    def ar(self) -> float | None:
        """Accepted-response probability, 0 to 1."""
        return self.metric("ar")

    @property
    def ses(self) -> float | None:
        """Satisfaction efficiency, 0 to 1."""
        return self.metric("ses")
