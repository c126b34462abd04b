"""Two runs side by side, case by case: what changed, how sure that is, and whether the gate holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from .base import Bounds, Noun
from .verdict import LabelKind, Outcome, Quote

#: What a comparison, or one of its rules, comes to.
ComparisonOutcome = Literal["passed", "failed", "inconclusive"]
#: ``unclear``: the difference could be one of chance, or undecided labels leave its sign open.
Direction = Literal["worse", "better", "same", "unclear"]

_RENAMED = {
    "base": "baseline",
    "base_value": "baseline_value",
    "base_why": "baseline_why",
    "base_quotes": "baseline_quotes",
    "base_trials": "baseline_trials",
    "only_base": "only_baseline",
}


class ComparedRun(Noun):
    """One of the two runs: what it was of, and how large.

    ``digest``: of its episodes, which tells it from other runs of the same agent. ``suites``: each as ``name version fingerprint``. ``cases`` and
    ``episodes`` are counted before anything was left out.
    """

    agent: str
    agent_source: str = ""
    suites: tuple[str, ...] = ()
    user: str = ""
    judge: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    digest: str = ""
    cases: int = 0
    episodes: int = 0


class Unlike(Noun):
    """One thing that must be equal for two runs to be comparable, and is not; each side as text."""

    renamed: ClassVar[Mapping[str, str]] = _RENAMED

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

    renamed: ClassVar[Mapping[str, str]] = _RENAMED

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
    null where the agent does not vary. ``low`` and ``high``, of a rule with ``@sampled``: they hold the difference over cases like these at 95 %, for
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

    renamed: ClassVar[Mapping[str, str]] = _RENAMED

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

    renamed: ClassVar[Mapping[str, str]] = _RENAMED

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
    ``varies``: whether the agent is known to end otherwise in another trial (true) or to do the same each time (false); null: neither. ``reasons``: one line each, the gravest first;
    ``where``: the domains in which cases got worse, with the cases and their requirements.
    ``inconclusive`` says whether an inconclusive comparison fails the gate.
    """

    renamed: ClassVar[Mapping[str, str]] = _RENAMED

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
        """Whether the runs differ in nothing but what is to be compared, or were compared on their common part."""
        return not self.unlike or self.common
