"""A run: everything that a later command needs, with nothing that differs between two equal runs outside ``timing``; and what changed since another."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .base import DEFAULT_ASSERTED, Asserted, Bounds, Identifier, Noun
from .trajectory import MOST_BUILD
from .verdict import MSB_METRICS, LabelKind, Metric, Outcome, Quote, Scorecard

#: What a comparison, or one of its rules, comes to; ``invalid``: the runs cannot be compared.
ComparisonOutcome = Literal["passed", "failed", "inconclusive", "invalid"]
#: ``unclear``: the difference could be one of chance, or undecided labels leave its sign open.
Direction = Literal["worse", "better", "same", "unclear"]


class ComparedRun(Noun):
    """One of the two runs: what it was of, and how large.

    ``agent_build``: what names the build of its agent; empty where that is not known.
    ``digest``: of its episodes, which tells it from other runs of the same agent. ``suites``: each as ``name version fingerprint``. ``cases`` and
    ``episodes`` are counted before anything was left out.
    """

    agent: str
    agent_source: str = ""
    agent_build: str = ""
    suites: tuple[str, ...] = ()
    user: str = ""
    judge: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    digest: str = ""
    cases: int = 0
    episodes: int = 0


class Unlike(Noun):
    """One thing that must be equal for two runs to be comparable, and is not; each side as text."""

    what: str
    baseline: str
    new: str


class Change(Noun):
    """How one metric changed over the cases that both runs have: new minus baseline, so that below 0 is worse.

    ``dimension`` and ``group`` name the cases (``domain``, ``navigation``); both are empty for all of them. ``baseline``, ``new`` and ``difference`` are
    the least and the most that the means come to, equal where every label is known; null where no case has the metric in both runs. ``p``: how
    probable a difference at least as large, in either direction, is between two runs of one agent on these cases, corrected for all metrics and
    groups of the comparison. ``n`` cases are decided, ``undecided`` ones stand in at their bounds, ``left_out`` ones have no value in one of the runs.
    """

    metric: str
    dimension: str = ""
    group: str = ""
    baseline: Bounds | None = None
    new: Bounds | None = None
    difference: Bounds | None = None
    p: float | None = None
    direction: Direction = "unclear"
    n: int = 0
    undecided: int = 0
    left_out: int = 0


class RuleResult(Noun):
    """What became of one rule of ``--mapsat-max-drop``.

    ``rule``: as it was written, ``navigation.ar:0.02``. ``p``: how probable so large a drop is between two runs of one agent, corrected for all rules;
    null where nothing is known of chance, or the agent does not vary. ``low`` and ``high``, of a rule with ``@sampled``: they hold the difference over cases like these at 95 %, for
    all such rules together. ``settle``: what the answer is worth and what would decide an inconclusive rule, a line each. ``smallest``: the drop that so many
    cases and trials show four times in five; ``trials``: how many trials of each case would show one as large as the rule's; ``cases``, with ``@sampled``:
    how many cases would decide it.
    """

    rule: str
    metric: str
    domain: str = ""
    drop: float
    outcome: ComparisonOutcome
    reason: str
    difference: Bounds | None = None
    p: float | None = None
    low: float | None = None
    high: float | None = None
    settle: tuple[str, ...] = ()
    smallest: float | None = None
    cases: int | None = None
    trials: int | None = None


class RequirementChange(Noun):
    """A requirement whose label is another than before, in the first trial where it is; quotes and reasons of both sides.

    ``baseline_trials`` and ``new_trials``: in how many trials it was met, and of how many.
    """

    requirement: str
    kind: LabelKind
    direction: Direction
    baseline: Outcome
    new: Outcome
    baseline_value: float | None = None
    new_value: float | None = None
    baseline_why: str = ""
    new_why: str = ""
    wanted: str = ""
    baseline_quotes: tuple[Quote, ...] = ()
    new_quotes: tuple[Quote, ...] = ()
    baseline_trials: tuple[int, int] = (0, 0)
    new_trials: tuple[int, int] = (0, 0)


class CaseSide(Noun):
    """A case in one of the runs: how it ended under the pass rule, in how many of its trials it passed, and its metrics, bounds each."""

    outcome: Outcome
    reason: str = ""
    passed: int = 0
    trials: int = 0
    metrics: dict[str, Bounds] = Field(default_factory=dict)


class CaseChange(Noun):
    """A case that is not as it was. ``flipped``: it passed and does not, or the other way round."""

    id: str
    nodeid: str = ""
    domains: tuple[str, ...] = ()
    direction: Direction
    flipped: bool = False
    baseline: CaseSide
    new: CaseSide
    requirements: tuple[RequirementChange, ...] = ()


class Comparison(Noun):
    """A run held against an earlier one.

    ``unlike``: what keeps the runs from being comparable; where there is any, nothing is compared unless the common part was asked for
    (``common``). ``only_baseline``, ``only_new``: cases that one run has alone. ``pairs`` cases are in both. ``changes``: every metric for all cases
    first, then by domain. ``cases``: those that changed, the worst first. ``flips``: how many cases passed and do not, and the other way round;
    ``varies``: whether trials of a case in one run end differently (true), or both runs have several trials of each case and none does (false); null: neither. ``reasons``: one line each, the gravest first;
    ``where``: the domains in which cases got worse, with the cases and their requirements.
    ``inconclusive`` says whether an inconclusive comparison fails the gate.
    """

    baseline: ComparedRun
    new: ComparedRun
    unlike: tuple[Unlike, ...] = ()
    common: bool = False
    only_baseline: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    pairs: int = 0
    changes: tuple[Change, ...] = ()
    rules: tuple[RuleResult, ...] = ()
    cases: tuple[CaseChange, ...] = ()
    flips: tuple[int, int] = (0, 0)
    varies: bool | None = None
    outcome: ComparisonOutcome
    inconclusive: Literal["fail", "pass"] = "pass"
    reasons: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def comparable(self) -> bool:
        """Return whether the runs differ only in what is compared, or were compared on their common part."""
        return not self.unlike or self.common


RUN_SCHEMA: Literal["mapsat-run/1"] = "mapsat-run/1"
GateOutcome = Literal["passed", "failed", "inconclusive", "invalid"]


class Aggregate(Noun):
    """A mean with its denominator, its bounds and its interval.

    ``n`` cases are decided, ``undecided`` ones stand in at their bounds; ``left_out`` says how many are neither, by outcome class. ``bounds``: the least and
    the most that the mean can come to, widened by the measured errors of a judge that reads prose by rules; null where no case counts. ``mean`` is that of what
    was seen, null where a case is undecided. ``low`` and ``high`` hold the mean at 95 %: ``low`` of the least, ``high`` of the most.
    """

    mean: float | None
    bounds: Bounds | None = None
    n: int
    undecided: int = Field(default=0, ge=0)
    low: float | None = None
    high: float | None = None
    left_out: dict[str, int] = Field(default_factory=dict)


class Gate(Noun):
    """What the gate decided, and on what.

    ``thresholds``: those it was asked to hold, as ``ar>=0.65``; without any, a passed gate says only that nothing was lost.
    """

    outcome: GateOutcome
    reasons: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()


class JudgeInfo(Noun):
    """Which judge, and whether its verdicts are known to be about these trajectories (null: it judged them itself)."""

    spec: str
    linked: bool | None = None


class SuiteInfo(Noun):
    """A suite as part of the run's manifest.

    ``labels``, ``decisions``, ``calibration``: digests of its labels of people, of those that come before every judge, and of its own calibration table, which
    the fingerprint leaves out; empty where it has none. ``cases``: how many it has, whatever the run is of; 0 where they were not counted.
    """

    name: str
    version: str
    fingerprint: str
    cases: int = Field(default=0, ge=0, strict=True)
    labels: str = ""
    decisions: str = ""
    calibration: str = ""

    @property
    def label(self) -> str:
        """Return the name and version as text; only the name for Python cases, which have version 0."""
        return self.name if self.version == "0" else f"{self.name} {self.version}"


class RunOptions(Noun):
    """The options that decide what a run does and how it is graded.

    ``timeout_seconds``: wall time per episode. ``asserted`` (``assert`` in a file): the kinds of requirements that fail an item, or ``none``
    alone. ``fail_under``: thresholds as they were written, ``fail_under_from`` says where. ``max_drop``: the drops against an earlier run that fail, as they
    were written; ``inconclusive``: what a comparison means that cannot tell. ``allow_undecided``: cases, or
    with % their share, that may stay undecided. ``pass_rule``: how many trials of a case must pass, as ``3/4``; empty: all.
    ``sample``: how many cases of each suite the run is of, 0: all; ``sample_by``: the attributes that they are spread over; ``sample_seed``: what draws them.
    ``shard``: which part of the cases ran, as ``2/8``; empty: all. ``on_miss``: ``record`` where the user's own
    tools were asked for what no recording answered. ``judge_votes``: evaluations of one dialogue by a judge that asks a model.
    ``profile``: whether what the profile tools would return was given as context. ``metrics``: metric sets that every suite was measured by besides its own.
    ``http``: how a service was spoken to; empty: as usual, or as the agent's spec says.
    ``agent_memory``: the memory of an agent over a user's tasks.
    """

    trials: int = Field(default=1, ge=1, strict=True)
    max_turns: int = Field(default=10, ge=1, strict=True)
    timeout_seconds: float = Field(default=300.0, gt=0, strict=True)
    asserted: tuple[Asserted, ...] = Field(default=DEFAULT_ASSERTED, alias="assert", min_length=1)
    fail_under: tuple[str, ...] = ()
    fail_under_from: Literal["command line", "ini"] = "command line"
    max_drop: tuple[str, ...] = ()
    max_drop_from: Literal["command line", "ini"] = "command line"
    inconclusive: Literal["fail", "pass"] = "pass"
    pass_rule: str = Field(default="", pattern=r"^([1-9][0-9]{0,5}/[1-9][0-9]{0,5})?$")
    sample: int = Field(default=0, ge=0, strict=True)
    sample_by: tuple[str, ...] = ()
    sample_seed: int = Field(default=0, ge=0, strict=True)
    shard: str = Field(default="", pattern=r"^([1-9][0-9]{0,5}/[1-9][0-9]{0,5})?$")
    allow_undecided: str = Field(default="0", pattern=r"^([0-9]{1,9}|[0-9]{1,3}(\.[0-9]{1,6})?%)$")
    on_miss: str = Field(default="strict", pattern=r"^(strict|record)$")
    judge_votes: int = Field(default=1, ge=1, le=99, strict=True)
    profile: bool = False
    metrics: tuple[Identifier, ...] = Field(default=(), max_length=20)
    http: str = ""
    agent_memory: str = Field(default="none", min_length=1, max_length=300)

    @property
    def asserted_kinds(self) -> frozenset[str]:
        """Return the kinds of requirements that fail an item; empty if ``none`` was given."""
        return frozenset(self.asserted) - {"none"}

    @property
    def drawn(self) -> str:
        """Return how a sample was drawn, as text: attributes and seed."""
        by = f"by {', '.join(self.sample_by)} " if self.sample_by else ""
        return f"{by}(seed {self.sample_seed})"


class RunRequest(Noun):
    """What a run was asked for: it goes into the manifest whole and comes back from it.

    ``agent_source``: a digest of the files that make the agent and what is around it, empty where none can be read. ``agent_build``: what names its build: the text
    that was given, or for an agent in Python its ``agent_source``; empty where its code is elsewhere. ``decisions``: a digest of the file of people's
    decisions that was named; empty: each suite's own counts.
    """

    agent: str
    agent_source: str = ""
    agent_build: str = Field(default="", max_length=MOST_BUILD)
    user: str
    judge: str
    decisions: str = ""
    options: RunOptions = RunOptions()


class RunManifest(Noun):
    """What was run: all that must be equal for two runs to be comparable.

    ``metrics``: those that the suites declare, in the order of their metric sets. ``prompts``: version and digest of those that models were asked with.
    ``partial``: why not all of the suite ran; ``broken``: what could not be collected; ``unfinished``: why this is no whole run, as of
    one that was read from a journal.
    """

    versions: dict[str, str]
    suites: tuple[SuiteInfo, ...]
    agent: str
    agent_source: str = ""
    agent_build: str = Field(default="", max_length=MOST_BUILD)
    user: str
    judge: JudgeInfo
    decisions: str = ""
    options: RunOptions
    metrics: tuple[Metric, ...] = MSB_METRICS
    prompts: dict[str, str] = Field(default_factory=dict)
    partial: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    unfinished: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def request(self) -> RunRequest:
        """Return the request that the run was made for, rebuilt from the manifest."""
        same = {name: getattr(self, name) for name in RunRequest.model_fields}
        return RunRequest(**same | {"judge": self.judge.spec})

    @classmethod
    def of(cls, request: RunRequest, **known: Any) -> RunManifest:
        """Return the manifest of a run for a request; ``known``: the remaining fields."""
        same = {name: getattr(request, name) for name in RunRequest.model_fields}
        return cls(**same | {"judge": JudgeInfo(spec=request.judge)} | known)


class Lost(Noun):
    """An episode that was collected and has no scorecard, and why."""

    id: str
    trial: int = Field(default=1, ge=1, strict=True)
    reason: str


class Accounting(Noun):
    """Where every collected item went: to a scorecard, or it was deselected, or it is lost.

    ``drafts``: cases that no person has accepted yet, left out before they became items. ``excused``: cases that fail no item of ours: only a test of the user's
    own plays them, or a mark expects them to fail.
    """

    collected: int = Field(default=0, ge=0, strict=True)
    deselected: int = Field(default=0, ge=0, strict=True)
    lost: tuple[Lost, ...] = ()
    drafts: tuple[Identifier, ...] = ()
    excused: tuple[Identifier, ...] = ()


class RunTiming(Noun):
    """When, where and on what; never compared."""

    started: str = ""
    seconds: float = 0
    workers: int = 0
    python: str = ""
    pytest: str = ""


class Run(Noun):
    """All scorecards of a run, sorted by case id and trial, with aggregates and the gate's decision.

    ``starts``: the rows that tables of an environment had at the start of episodes, packed, by digest; not all where they are too many.
    """

    schema_: Literal["mapsat-run/1"] = Field(default=RUN_SCHEMA, alias="schema")
    manifest: RunManifest
    accounting: Accounting = Accounting()
    cases: tuple[Scorecard, ...]
    summary: dict[str, Aggregate]
    groups: dict[str, dict[str, dict[str, Aggregate]]]
    #: With an earlier run, where one was asked for, and with a second one, the anchor.
    comparison: Comparison | None = None
    anchor: Comparison | None = None
    gate: Gate
    timing: RunTiming = RunTiming()
    starts: dict[str, str] = Field(default_factory=dict)
