"""What one episode scored: metrics with their classes, labels, provenance, and who is to blame. How a metric is measured is its metric set's affair."""

from __future__ import annotations

from pydantic import Field

from .base import Bounds, Identifier, Membership, MetricName, Noun
from .trajectory import Blame, Fault, ProvenanceKind, Trajectory, Usage
from .verdict import Count, Label, LabelKind, Misread, Outcome, outcome_word


class Metric(Noun):
    """One number of an episode, as run files, gates and reports know it.

    ``plain``: its everyday name, which thresholds take as well, as ``satisfied``. ``title`` says in words what it is, ``unit`` what it is counted in. ``earned``: an agent that crashes or says nothing has earned a 0 in it.
    ``gated``: it lies between 0 and 1, more is better, and a threshold may stand on it. ``headline``: it is told first, with its interval.
    """

    name: MetricName
    plain: MetricName | None = None
    title: str = Field(default="", max_length=200)
    unit: str = Field(default="share", max_length=40)
    earned: bool = True
    gated: bool = True
    headline: bool = False
    metric_set: Identifier = "msb"


#: The seven metrics of MapSatisfyBench, then the one given for reference only; those of every run file that tells none.
MSB_METRICS = (
    Metric(name="ecr", plain="requests", title="requests met"),
    Metric(name="iisr", plain="unspoken", title="unspoken needs met"),
    Metric(name="ar", plain="satisfied", title="accepted-response probability: requests x unspoken", headline=True),
    Metric(name="ts", plain="tools", title="tool selection: the calls that the case needs"),
    Metric(name="ifs", plain="facts", title="faithfulness: facts told as they are"),
    Metric(name="eff", plain="brevity", title="interaction efficiency: few agent replies"),
    Metric(name="ses", plain="efficiency", title="satisfaction efficiency: satisfied x brevity", headline=True),
    Metric(
        name="cei", plain="per_token", title="cost efficiency", unit="SES per million tokens", earned=False, gated=False
    ),
)

#: The share of cases whose item passed: no metric of an episode, told and gated as one.
PASSED = Metric(name="pass_rate", plain="passed", title="cases of which nothing asserted is broken")


#: pytest cuts what is longer out of the middle of a failed assertion.
_LONGEST_REPR = 230


class CallCounts(Noun):
    """How often the agent called tools, how many calls failed on their arguments or name, were refused by the sandbox, or came when the episode's were used up."""

    total: int = 0
    failed: int = 0
    refused: int = 0
    over_limit: int = 0
    by_tool: dict[str, int] = Field(default_factory=dict)


class EpisodeTiming(Noun):
    """Wall time, seconds; never compared between runs: of the episode in all, and in it of the agent, of the model that speaks for the user, and of the judge."""

    seconds: float = 0
    agent: float = 0
    user: float = 0
    judge: float = 0
    worker: str = ""


class CardRequirement(Noun):
    """What a label is about, in the case's own words, so that a report of a saved run needs no suite.

    ``kind``: ``asked``, ``hard``, ``soft``, ``fact`` or what else the case has; ``source``: where the user's wish could have been learnt.
    """

    id: str
    kind: LabelKind
    text: str
    source: str = ""


class Scorecard(Noun):
    """One episode, judged and scored.

    ``metrics``: value or null by name, of the metric sets that the suite declares; ``classes``: for a null the outcome class that says why (``unevaluated``, ``not_applicable``, ``error``).
    ``bounds``: for a null that unknown labels leave open, the least and the most that the metric can come to; ``faults``: for a null that the
    metric's own metric set has left, what broke there. ``unknown``: the asserted requirements whose label is not known.
    ``outcome`` is that of the item under the asserted labels; ``blame`` names who it is laid to when not passed, null where no party is: the item
    is undecided. ``group``: the sequence of cases that it stands in. ``sandbox``: how many tool answers came from where. ``turns`` counts agent replies,
    ``clarifications`` those that asked something, ``nothing_claimed`` fact requirements that held because nothing was claimed.
    ``agent`` tells the parameters of a parametrised ``mapsat_agent`` apart, ``attempt`` counts the episodes of one case, trial and agent
    from 1: reruns are further attempts.
    ``line``: where in its file the case begins, from 1; null: not known. ``requirements``: the case's requirements in words; empty in older files.
    ``spent``: by the agent; ``user_spent``, ``judge_spent``, ``sandbox_spent``: by the models that speak for the user, judge, and simulate answers of tools, null
    where none was asked.
    ``stamp`` is a digest of the case as it was, ``dialogue`` one of what was said and done: two runs are compared by them.
    ``misread``: how often the judge takes such answers for what they are not, and what each metric comes to with all that it read left open.
    ``explicit_count`` stands in for labels of kind asked where a recorded verdict gave a count only. ``linked``: whether a recorded verdict is known to be about this trajectory; null where the judge judged it itself.
    """

    id: str
    trial: int = Field(default=1, ge=1)
    agent: str = ""
    attempt: int = Field(default=1, ge=1)
    nodeid: str = ""
    line: int | None = Field(default=None, ge=1)
    domains: tuple[str, ...] = ()
    attributes: dict[str, str] = Field(default_factory=dict)
    group: Membership | None = None
    outcome: Outcome
    blame: Blame | None = None
    reason: str = ""
    metrics: dict[MetricName, float | None]
    classes: dict[MetricName, Outcome] = Field(default_factory=dict)
    bounds: dict[MetricName, Bounds] = Field(default_factory=dict)
    faults: dict[MetricName, Fault] = Field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    requirements: tuple[CardRequirement, ...] = ()
    explicit_count: Count | None = None
    misread: Misread | None = None
    sandbox: dict[ProvenanceKind, int] = Field(default_factory=dict)
    calls: CallCounts = CallCounts()
    turns: int = 0
    clarifications: int = 0
    nothing_claimed: int = 0
    unchecked_rules: int = 0
    spent: Usage = Usage()
    user_spent: Usage | None = None
    judge_spent: Usage | None = None
    sandbox_spent: Usage | None = None
    warnings: tuple[str, ...] = ()
    linked: bool | None = None
    stamp: str = ""
    dialogue: str = ""
    trajectory: Trajectory
    timing: EpisodeTiming = EpisodeTiming()

    @property
    def key(self) -> tuple[str, int, str, int]:
        """What tells this episode from all others of a run: case, trial, agent parameter, attempt."""
        return self.id, self.trial, self.agent, self.attempt

    @property
    def lost(self) -> bool:
        """Whether it tells nothing of the agent, because the infrastructure, the user or the judge broke. An undecided case is not lost."""
        if self.outcome == "unevaluated" and self.unknown:
            bounded = {label.requirement: label.bounded for label in self.labels}
            return not all(bounded.get(name, name in self.bounds) for name in self.unknown)
        return self.outcome == "error" or (self.outcome == "unevaluated" and self.blame not in (None, "sandbox"))

    def metric(self, name: str) -> float | None:
        """Return the metric's value, or None where it has none."""
        return self.metrics.get(name)

    def bounds_of(self, name: str) -> Bounds | None:
        """Return the least and the most that the metric can come to, both its value where it has one; None where nothing is known of it."""
        value = self.metrics.get(name)
        return self.bounds.get(name) if value is None else (value, value)

    @property
    def ar(self) -> float | None:
        """Accepted-response probability, 0 to 1."""
        return self.metric("ar")

    @property
    def ses(self) -> float | None:
        """Satisfaction efficiency, 0 to 1."""
        return self.metric("ses")

    def __repr__(self) -> str:
        """Say in short what an assertion on one of the numbers leaves out: which episode, how it ended, what failed and why."""
        bounds = self.bounds_of("ar")
        ar = "no AR" if bounds is None else "AR " + " to ".join(f"{end:.2f}" for end in dict.fromkeys(bounds))
        failed = [f"{label.requirement} failed ({label.why})" for label in self.labels if label.outcome == "failed"]
        told = "; ".join(failed) or self.reason
        line = " ".join(
            f"Scorecard {self.id} trial {self.trial}: {outcome_word(self.outcome, lost=self.lost)}, {ar}; {told}".rstrip(
                "; "
            ).split()
        )
        # Reasons quote replies, and no reply may steer a terminal.
        text = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in line)
        return f"<{text if len(text) <= _LONGEST_REPR else text[: _LONGEST_REPR - 3] + '...'}>"

    __str__ = __repr__
