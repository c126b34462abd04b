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
    """One of the two runs of a comparison.

    Attributes:
        agent: agent of the run, as it was given. Example: ``my_agent:Agent``
        agent_source: digest of the agent's files; empty where none can be read. Example: ``5b8e0c2d9f1a4763``
        agent_build: name of the agent's build; empty where it is unknown. Example: ``2026-05-07.1``
        suites: suites as name, version and fingerprint. Example: ``["shop 1 9f1a4763"]``
        user: who played the user. Example: ``scripted``
        judge: judge of the run. Example: ``checks``
        versions: version of each package that affects results. Example: ``{"pytest-mapsat": "1.0"}``
        digest: digest of its episodes, which identifies the run. Example: ``0c2d9f1a47635b8e``
        cases: number of cases before any were left out. Example: ``50``
        episodes: number of episodes before any were left out. Example: ``200``
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
    """A difference in one setting that must be equal for two runs to be comparable.

    Attributes:
        what: name of the thing. Example: ``suites``
        baseline: its value in the earlier run, as text. Example: ``shop 1``
        new: its value in the new run, as text. Example: ``shop 2``
    """

    what: str
    baseline: str
    new: str


class Change(Noun):
    """The change of one metric over the cases of both runs: new minus baseline.

    Attributes:
        metric: code of the metric. Example: ``ar``
        dimension: dimension of the group of cases; empty for all cases. Example: ``domain``
        group: name of the group; empty for all cases. Example: ``navigation``
        baseline: least and greatest possible mean of the earlier run; null if no case has the metric in both runs. Example: ``[0.6, 0.7]``
        new: least and greatest possible mean of the new run; null if no case has the metric in both runs. Example: ``[0.5, 0.6]``
        difference: least and greatest possible difference, new minus baseline; below 0 is worse. Example: ``[-0.2, 0.0]``
        p: probability of a difference at least as large between two runs of one agent, corrected for all metrics and groups; null if unknown. Example: ``0.03``
        direction: worse, better, same, or unclear: chance or undecided labels may explain the difference.
        n: number of decided cases. Example: ``48``
        undecided: number of undecided cases, which count at their bounds. Example: ``2``
        left_out: number of cases without a value in one of the runs. Example: ``0``
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
    """Result of one rule of ``--mapsat-max-drop``.

    Attributes:
        rule: the rule as it was written. Example: ``navigation.ar:0.02``
        metric: code of the metric. Example: ``ar``
        domain: domain that the rule is for; empty for all cases. Example: ``navigation``
        drop: greatest allowed drop. Example: ``0.02``
        outcome: whether the rule holds.
        reason: reason in words. Example: ``ar dropped by 0.05, more than 0.02``
        difference: least and greatest possible difference, new minus baseline. Example: ``[-0.06, -0.04]``
        p: probability of so large a drop between two runs of one agent, corrected for all rules; null if unknown, or if the agent does not vary. Example: ``0.01``
        low: with @sampled: lower end of the 95 % interval for cases like these, for all such rules together. Example: ``-0.08``
        high: with @sampled: upper end of that interval. Example: ``-0.01``
        settle: lines on what the result is worth, and what would decide an inconclusive rule. Example: ``["4 trials of each case would show a drop of 0.02"]``
        smallest: smallest drop that this number of cases and trials shows four times in five. Example: ``0.03``
        cases: with @sampled: number of cases that would decide the rule. Example: ``400``
        trials: number of trials of each case that would show the rule's drop. Example: ``4``
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
    """A requirement whose label changed, in the first trial with a change.

    Attributes:
        requirement: id of the requirement. Example: ``cancelled``
        kind: kind of the requirement. Example: ``asked``
        direction: whether the change is for the worse.
        baseline: label in the earlier run.
        new: label in the new run.
        baseline_value: value of that label, 0 to 1; null if unknown. Example: ``1``
        new_value: value of the new label, 0 to 1; null if unknown. Example: ``0``
        baseline_why: reason of the earlier label. Example: ``1 row of orders fits``
        new_why: reason of the new label. Example: ``no row of orders fits``
        wanted: what would satisfy the requirement. Example: ``status equal to 'cancelled'``
        baseline_quotes: quotes behind the earlier label. Example: ``[{"turn": 1, "start": 0, "end": 4, "text": "Done"}]``
        new_quotes: quotes behind the new label. Example: ``[{"turn": 1, "start": 0, "end": 4, "text": "Done"}]``
        baseline_trials: number of trials of the earlier run that met it, and of all trials. Example: ``[4, 4]``
        new_trials: number of trials of the new run that met it, and of all trials. Example: ``[1, 4]``
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
    """A case in one of the two runs.

    Attributes:
        outcome: outcome under the pass rule.
        reason: reason in words; empty if the case passed. Example: ``cancelled: no row of orders fits``
        passed: number of trials that passed. Example: ``3``
        trials: number of trials. Example: ``4``
        metrics: least and greatest possible value of each metric, by code. Example: ``{"ar": [0.5, 0.5]}``
    """

    outcome: Outcome
    reason: str = ""
    passed: int = 0
    trials: int = 0
    metrics: dict[str, Bounds] = Field(default_factory=dict)


class CaseChange(Noun):
    """A case that changed between two runs.

    Attributes:
        id: id of the case. Example: ``cancel-noodles``
        nodeid: pytest's name of its item. Example: ``benchmark_cases/cancel-noodles.yaml::cancel-noodles``
        domains: domains of the case. Example: ``["orders"]``
        direction: whether the change is for the worse.
        flipped: true if it passed in only one of the two runs.
        baseline: the case in the earlier run.
        new: the case in the new run.
        requirements: requirements whose labels changed. Example: ``[{"requirement": "cancelled", "kind": "asked", "direction": "worse", "baseline": "passed", "new": "failed"}]``
    """

    id: str
    nodeid: str = ""
    domains: tuple[str, ...] = ()
    direction: Direction
    flipped: bool = False
    baseline: CaseSide
    new: CaseSide
    requirements: tuple[RequirementChange, ...] = ()


class Comparison(Noun):
    """A run compared with an earlier one.

    Attributes:
        baseline: the earlier run.
        new: the new run.
        unlike: differences that make the runs incomparable; if there are any, nothing is compared unless ``common`` is true. Example: ``[{"what": "suites", "baseline": "shop 1", "new": "shop 2"}]``
        common: true if only the common part was compared, as requested.
        only_baseline: ids of cases that only the earlier run has. Example: ``["old-case"]``
        only_new: ids of cases that only the new run has. Example: ``["new-case"]``
        pairs: number of cases in both runs. Example: ``50``
        changes: changes of each metric, for all cases first, then by domain. Example: ``[{"metric": "ar"}]``
        rules: results of the rules of --mapsat-max-drop. Example: ``[{"rule": "ar:0.02", "metric": "ar", "drop": 0.02, "outcome": "passed", "reason": "no drop"}]``
        cases: cases that changed, worst first. Example: ``[{"id": "cancel-noodles", "direction": "worse", "baseline": {"outcome": "passed"}, "new": {"outcome": "failed"}}]``
        flips: number of cases that passed and no longer do, and of those that pass now. Example: ``[2, 1]``
        varies: true if trials of a case end differently; false if each case has several trials and none does; null if unknown.
        outcome: result of the comparison; invalid: the runs cannot be compared.
        inconclusive: whether an inconclusive comparison fails the gate.
        reasons: reasons in words, most serious first. Example: ``["2 cases passed and fail now"]``
        where: domains in which cases got worse, with cases and requirements. Example: ``["orders: cancel-noodles (cancelled)"]``
        warnings: remarks on the comparison. Example: ``["the agent's build is unknown"]``
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
        """Return whether the runs differ only in the compared parts, or were compared only on their common part."""
        return not self.unlike or self.common


RUN_SCHEMA: Literal["mapsat-run/1"] = "mapsat-run/1"
GateOutcome = Literal["passed", "failed", "inconclusive", "invalid"]


class Aggregate(Noun):
    """The mean of a metric over a group of cases.

    Attributes:
        mean: mean of the decided cases; null if a case is undecided or none counts. Example: ``0.72``
        bounds: least and greatest possible mean, widened by the measured error of reading prose; null if no case counts. Example: ``[0.68, 0.76]``
        n: number of decided cases. Example: ``48``
        undecided: number of undecided cases, which count at their bounds. Example: ``2``
        low: lower end of the 95 % interval of the least possible mean; null if there is none. Example: ``0.55``
        high: upper end of the 95 % interval of the greatest possible mean; null if there is none. Example: ``0.85``
        left_out: number of cases that do not count, by the reason. Example: ``{"not_applicable": 1}``
    """

    mean: float | None
    bounds: Bounds | None = None
    n: int
    undecided: int = Field(default=0, ge=0)
    low: float | None = None
    high: float | None = None
    left_out: dict[str, int] = Field(default_factory=dict)


class Gate(Noun):
    """Decision of the gate and the reasons for it.

    Attributes:
        outcome: decision: passed, failed, inconclusive or invalid.
        reasons: reasons in words. Example: ``["47 cases failed"]``
        thresholds: thresholds that were set; without any, a passed gate only means that nothing failed or was lost. Example: ``["ar>=0.65"]``
    """

    outcome: GateOutcome
    reasons: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()


class JudgeInfo(Noun):
    """Judge of a run.

    Attributes:
        spec: judge as it was given. Example: ``checks``
        linked: whether recorded verdicts are known to be about these dialogues; null if the judge read them itself.
    """

    spec: str
    linked: bool | None = None


class SuiteInfo(Noun):
    """A suite in the manifest of a run.

    Attributes:
        name: name of the suite. Example: ``shop``
        version: version of the suite. Example: ``"1"``
        fingerprint: digest of everything in the suite that affects results. Example: ``9f1a47635b8e0c2d``
        cases: number of cases in the suite, whatever the run covers; 0 if unknown. Example: ``50``
        labels: digest of the suite's labels by people; empty if it has none. Example: ``5b8e0c2d9f1a4763``
        decisions: digest of decisions by people that override judges; empty if there are none. Example: ``5b8e0c2d9f1a4763``
        calibration: digest of the suite's own calibration table; empty if it has none. Example: ``5b8e0c2d9f1a4763``
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
    """The options that determine the content and the grading of a run.

    Attributes:
        trials: number of trials of each case. Example: ``4``
        max_turns: most agent replies in an episode. Example: ``10``
        timeout_seconds: wall time of an episode in seconds. Example: ``300.0``
        assert: kinds of requirements whose failure fails an item, or none alone. Example: ``["asked", "facts", "hard"]``
        fail_under: thresholds as they were written. Example: ``["ar=0.65"]``
        fail_under_from: where the thresholds were set.
        max_drop: greatest allowed drops against an earlier run, as they were written. Example: ``["ar:0.02"]``
        max_drop_from: where the allowed drops were set.
        inconclusive: whether an inconclusive comparison fails the gate.
        pass_rule: number of trials of a case that must pass, such as 3/4; empty: all. Example: ``3/4``
        sample: number of cases drawn from each suite; 0: all. Example: ``100``
        sample_by: attributes that the sample is spread over. Example: ``["domain"]``
        sample_seed: seed of the sample. Example: ``0``
        shard: part of the cases that ran, such as 2/8; empty: all. Example: ``2/8``
        allow_undecided: number or percentage of cases that may stay undecided. Example: ``5%``
        on_miss: record if calls without a recording were made with the user's own tools and recorded; else strict. Example: ``strict``
        judge_votes: evaluations of one dialogue by a judging model. Example: ``1``
        profile: whether the agent was given the user's profile.
        metrics: metric sets added to those of the suites. Example: ``["pipa"]``
        http: form or service file for an HTTP service; empty: that of the agent's own text. Example: ``openai``
        agent_memory: memory of the agent over a user's tasks. Example: ``none``
        faults: errors of tools that each case was varied by; empty: none. Example: ``timeout``
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
    faults: str = Field(default="", max_length=300)

    @property
    def asserted_kinds(self) -> frozenset[str]:
        """Return the kinds of requirements that fail an item; empty for ``none``."""
        return frozenset(self.asserted) - {"none"}

    @property
    def drawn(self) -> str:
        """Return how a sample was drawn, as text: attributes and seed."""
        by = f"by {', '.join(self.sample_by)} " if self.sample_by else ""
        return f"{by}(seed {self.sample_seed})"


class RunRequest(Noun):
    """The request for a run, which is part of the manifest.

    Attributes:
        agent: agent, as it was given. Example: ``my_agent:Agent``
        agent_source: digest of the agent's files; empty where none can be read. Example: ``5b8e0c2d9f1a4763``
        agent_build: name of the agent's build: the text that was given, else agent_source; empty where it is unknown. Example: ``2026-05-07.1``
        user: who played the user. Example: ``scripted``
        judge: judge, as it was given. Example: ``checks``
        decisions: digest of the file of people's decisions that was given; empty: each suite's own. Example: ``5b8e0c2d9f1a4763``
        options: options of the run.
    """

    agent: str
    agent_source: str = ""
    agent_build: str = Field(default="", max_length=MOST_BUILD)
    user: str
    judge: str
    decisions: str = ""
    options: RunOptions = RunOptions()


class RunManifest(Noun):
    """The manifest of a run: all settings that must be equal for two runs to be comparable.

    Attributes:
        versions: version of each package that affects results. Example: ``{"pytest-mapsat": "1.0"}``
        suites: suites of the run. Example: ``[{"name": "shop", "version": "1", "fingerprint": "9f1a47635b8e0c2d"}]``
        agent: agent, as it was given. Example: ``my_agent:Agent``
        agent_source: digest of the agent's files; empty where none can be read. Example: ``5b8e0c2d9f1a4763``
        agent_build: name of the agent's build; empty where it is unknown. Example: ``2026-05-07.1``
        user: who played the user. Example: ``scripted``
        judge: judge of the run.
        decisions: digest of the file of people's decisions that was given; empty: each suite's own. Example: ``5b8e0c2d9f1a4763``
        options: options of the run.
        metrics: metrics that the suites declare, in the order of their metric sets. Example: ``[{"name": "ar"}]``
        prompts: version and digest of each prompt that a model was given. Example: ``{"judge": "3 5b8e0c2d"}``
        partial: reasons why not the whole suite ran. Example: ``["deselected by -k"]``
        broken: files that could not be collected. Example: ``["benchmark_cases/total.yaml"]``
        unfinished: reason why the run is incomplete, for one read from a journal; empty if it is complete. Example: ``the run was interrupted``
        warnings: remarks on the run. Example: ``["the suite has no licence"]``
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
        """Return the request of the run, rebuilt from the manifest."""
        same = {name: getattr(self, name) for name in RunRequest.model_fields}
        return RunRequest(**same | {"judge": self.judge.spec})

    @classmethod
    def of(cls, request: RunRequest, **known: Any) -> RunManifest:
        """Return the manifest of a run from its request; ``known``: the remaining fields."""
        same = {name: getattr(request, name) for name in RunRequest.model_fields}
        return cls(**same | {"judge": JudgeInfo(spec=request.judge)} | known)


class Lost(Noun):
    """A collected episode without a scorecard.

    Attributes:
        id: id of the case. Example: ``cancel-noodles``
        trial: number of the trial, from 1. Example: ``1``
        reason: why it has no scorecard. Example: ``a worker crashed``
    """

    id: str
    trial: int = Field(default=1, ge=1, strict=True)
    reason: str


class Accounting(Noun):
    """The fate of every collected item: scorecard, deselected, or lost.

    Attributes:
        collected: number of collected items. Example: ``50``
        deselected: number of deselected items. Example: ``0``
        lost: episodes without a scorecard. Example: ``[{"id": "cancel-noodles", "reason": "a worker crashed"}]``
        drafts: cases left out because no person has accepted them yet. Example: ``["new-case"]``
        excused: cases that fail no item: a test of the user's own plays them, or a mark expects them to fail. Example: ``["known-bug"]``
    """

    collected: int = Field(default=0, ge=0, strict=True)
    deselected: int = Field(default=0, ge=0, strict=True)
    lost: tuple[Lost, ...] = ()
    drafts: tuple[Identifier, ...] = ()
    excused: tuple[Identifier, ...] = ()


class RunTiming(Noun):
    """The time and place of the run; never compared.

    Attributes:
        started: start of the run, ISO 8601, UTC. Example: ``2026-05-07T16:30:00Z``
        seconds: wall time in seconds. Example: ``3.1``
        workers: number of worker processes; 0: the run had none. Example: ``2``
        python: version of Python. Example: ``3.12.4``
        pytest: version of pytest. Example: ``9.0.1``
    """

    started: str = ""
    seconds: float = 0
    workers: int = 0
    python: str = ""
    pytest: str = ""


class Run(Noun):
    """All scorecards of a run, sorted by case id and trial, with means and the gate's decision.

    Attributes:
        schema: format and version of the file.
        manifest: what was run.
        accounting: where every collected item went.
        cases: scorecards, one for each episode. Example: ``[]``
        summary: mean of each metric over all cases, by code. Example: ``{"ar": {"mean": 0.72, "n": 50}}``
        variants: recovery over the cases that ran both plain and varied, by attribute and kind: the first metric of the variants, divided by that of the plain cases. Example: ``{"fault timeout": {"mean": 0.9, "n": 48}}``
        groups: mean of each metric, by dimension, group and code. Example: ``{"domain": {"orders": {"ar": {"mean": 0.72, "n": 12}}}}``
        comparison: comparison with an earlier run; null if none was requested.
        anchor: comparison with a second earlier run, the anchor; null if none was requested.
        gate: decision of the gate.
        timing: when and where the run took place.
        starts: rows of the tables at the start of episodes, packed, by digest; tables that are too large are missing. Example: ``{"5b8e0c2d9f1a4763": "eJyLjgUAARUAuQ=="}``
    """

    schema_: Literal["mapsat-run/1"] = Field(default=RUN_SCHEMA, alias="schema")
    manifest: RunManifest
    accounting: Accounting = Accounting()
    cases: tuple[Scorecard, ...]
    summary: dict[str, Aggregate]
    groups: dict[str, dict[str, dict[str, Aggregate]]]
    variants: dict[str, Aggregate] = Field(default_factory=dict)
    #: With an earlier run, where one was asked for, and with a second one, the anchor.
    comparison: Comparison | None = None
    anchor: Comparison | None = None
    gate: Gate
    timing: RunTiming = RunTiming()
    starts: dict[str, str] = Field(default_factory=dict)
