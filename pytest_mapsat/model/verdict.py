"""The labels of one trajectory by a judge or by people, the measured quality of such judges, and the score of the episode.

How a metric is measured is its metric set's affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from .base import (
    SOFT_LEVELS,
    Bounds,
    Family,
    Identifier,
    Level,
    Membership,
    MetricName,
    Noun,
    RequirementKind,
    Text,
    digest,
)
from .trajectory import Blame, Fault, ProvenanceKind, Trajectory, Turn, Usage

if TYPE_CHECKING:
    from .case import Requirement


CALIBRATION_SCHEMA: Literal["mapsat-calibration/1"] = "mapsat-calibration/1"
JUDGING_SCHEMA: Literal["mapsat-judging/1"] = "mapsat-judging/1"

#: A kind of failure: ``choice, said, large``.
Cell = Annotated[str, StringConstraints(pattern=r"^[a-z]+, (said|absent), (small|medium|large)$")]
_Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
#: How much a reply says: clauses, different things named, figures, and figures of which no role could be read.
ReplySize = tuple[_Count, _Count, _Count, _Count]


class JudgedFailure(Noun):
    """A requirement that is broken according to the rules: its cell, the size of the reply, and whether it truly is broken."""

    requirement: str
    cell: Cell
    size: ReplySize
    broken: bool


class Judging(Noun):
    """The rules' labels for one labelled answer, before failures were marked as suspect.

    ``right``: whether the answer keeps all that its case requires. ``failed``: failures that rest on reading. ``sure``: required labels that failed without reading prose. ``passed``: required labels that passed
    rightly. ``missed``: required requirements that passed and are broken. ``open``: required labels left open, of kept and of broken requirements.
    """

    schema_: Literal["mapsat-judging/1"] = Field(default=JUDGING_SCHEMA, alias="schema")
    case: Identifier
    answer: Identifier
    language: str = "en"
    right: bool
    failed: tuple[JudgedFailure, ...] = ()
    sure: tuple[str, ...] = ()
    passed: _Count = 0
    missed: tuple[str, ...] = ()
    open: tuple[_Count, _Count] = (0, 0)


class ErrorRate(Noun):
    """The number of answers of a kind that the rules misjudge; at most one set of answers in twenty exceeds the upper rate."""

    errors: _Count
    answers: _Count
    upper: Level


class Calibration(Noun):
    """True and false failures by cell, and the error rates of whole answers with suspects left open.

    ``bound``: a failure stands where the 90 % lower bound of its cell's precision is at least this. ``least``: and where its cell has so many failures.
    ``sets``: what it was computed from. ``red_of_right``: right answers that come out red; ``green_of_wrong``: wrong ones that come out
    green; null in a suite's own table, which takes ours. ``digest``: of all the rest, so that a change by hand shows.
    """

    schema_: Literal["mapsat-calibration/1"] = Field(default=CALIBRATION_SCHEMA, alias="schema")
    bound: Level = 0.8
    least: _Count = 20
    sets: tuple[str, ...] = ()
    cells: dict[Cell, tuple[_Count, _Count]] = Field(default_factory=dict)
    red_of_right: ErrorRate | None = None
    green_of_wrong: ErrorRate | None = None
    digest: str = ""


class Misread(Noun):
    """How often a judge misreads whole answers; this widens the bounds of means.

    Attributes:
        red_of_right: share of right answers that it fails; at most one set of answers in twenty exceeds it. Example: ``0.03``
        green_of_wrong: share of wrong answers that it passes; at most one set of answers in twenty exceeds it. Example: ``0.08``
        bounds: least and greatest possible value of each metric, and of pass_rate, if everything that was read is undecided. Example: ``{"ar": [0.4, 1.0]}``
    """

    red_of_right: Level
    green_of_wrong: Level
    bounds: dict[MetricName, Bounds] = Field(default_factory=dict)


def _refuse_old_kind(kind: str) -> str:
    """Return the kind unchanged. Raises ValueError for the kinds of older files, explicit and implicit."""
    if kind in ("explicit", "implicit"):
        raise ValueError(f"found {kind!r}, expected one of {', '.join(get_args(RequirementKind))}")
    return kind


#: passed and failed are known; unevaluated: the judge could not say; error: what should be judged broke.
Outcome = Literal["passed", "failed", "error", "unevaluated", "not_applicable"]


def outcome_word(outcome: Outcome, *, lost: bool) -> str:
    """Return an outcome in plain words; an unknown outcome is "error" if a part other than the agent broke, otherwise "undecided"."""
    if outcome == "unevaluated":
        return "error" if lost else "undecided"
    return outcome.replace("_", " ")


#: The kinds of requirements, and kinds of a judge's own; not those that had other names before.
LabelKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$"), AfterValidator(_refuse_old_kind)]
#: Kinds of labels that a judge gives besides, where a metric set asks for them: of the steps of replies, of the things that replies name, of the replies as a whole.
STATE: LabelKind = "state"
OBSERVATION: LabelKind = "observation"
#: A label of all replies of a dialogue together, ``quality:fluent`` or ``quality:safe``, which has the levels of a soft requirement.
QUALITY: LabelKind = "quality"
#: A label of a user's turn, which is a failed one: the user surely departed from the script.
USER: LabelKind = "user"
#: Kinds of labels that are about no requirement of the case.
BESIDES = (STATE, OBSERVATION, QUALITY, USER)
#: How the reason begins of a label that the judge cannot decide; no party is to blame.
UNDECIDED = "undecided"


def step_name(reply: int, step: int) -> str:
    """Return the name in the label of a step, such as ``step:1.2``; both numbers count from 1."""
    return f"step:{reply}.{step}"


def thing_name(reply: int, thing: int) -> str:
    """Return the name in the label of a thing that a reply mentions, such as ``thing:1.2``; both numbers count from 1."""
    return f"thing:{reply}.{thing}"


def user_name(turn: int, slip: str) -> str:
    """Return the name in the label of a user's turn, such as ``user:2.SLIP``; ``turn`` indexes ``Trajectory.turns``."""
    return f"user:{turn}.{slip}"


def reply_of(name: str) -> str:
    """Return the number of the reply, as text, from the name of a step or a thing."""
    return name.partition(":")[2].partition(".")[0]


class Quote(Noun):
    """A part of the dialogue.

    Attributes:
        turn: index of the turn, from 0. Example: ``1``
        start: index of the first character, from 0. Example: ``0``
        end: index after the last character. Example: ``4``
        text: words that are quoted. Example: ``Done``
    """

    turn: int = Field(ge=0)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


class Label(Noun):
    """The judgement of one requirement.

    Attributes:
        requirement: id of the requirement. Example: ``cancelled``
        kind: kind of the requirement, or a kind of the judge's own. Example: ``asked``
        outcome: judgement; unevaluated: the judge could not decide.
        value: 0 or 1; for a soft requirement one of five levels; null if unevaluated. Example: ``1``
        why: reason in words. Example: ``no row of orders fits``
        wanted: what would satisfy the requirement. Example: ``status equal to 'cancelled'``
        quotes: parts of the dialogue that the judgement rests on. Example: ``[{"turn": 1, "start": 0, "end": 4, "text": "Done"}]``
        nothing_claimed: true for a fact that holds because the reply does not mention it.
        blame: party to blame for a label that is not known; null if there is none.
        by: who judged: checks, model, decision or recorded. Example: ``checks``
        votes: result of each evaluation by a model, in its own words. Example: ``["passed", "passed", "failed"]``
        compared: two columns, titles first: expected and found, or rows at the start and at the end. Example: ``[["expected", "found"], ["cancelled", "open"]]``
        idle: true if it holds although nothing had to be changed.
        reading: family of prose checks that decided it; empty if no prose was read. Example: ``words``
        cell: kind of failure in the calibration table; an undecided label with one is suspect: such failures were wrong too often. Example: ``words, absent, small``
        size: size of the reply, beside a cell: clauses, things named, figures, figures of unknown role. Example: ``[3, 1, 2, 0]``
        check: kind of the check that failed it, of several the first; empty if no check failed it, and in older files. Example: ``state``
    """

    requirement: str
    kind: LabelKind
    outcome: Outcome
    value: Level | None = None
    why: str = ""
    wanted: str = ""
    quotes: tuple[Quote, ...] = ()
    nothing_claimed: bool = False
    blame: Blame | None = None
    by: str = "checks"
    votes: tuple[str, ...] = ()
    compared: tuple[tuple[str, str], ...] = ()
    idle: bool = False
    reading: Family = ""
    cell: Cell | Literal[""] = ""
    size: ReplySize | None = None
    check: str = ""

    @property
    def suspect(self) -> bool:
        """Return whether the rules found a failure of an unreliable kind, so that the label is undecided."""
        return self.undecided and bool(self.cell)

    @property
    def undecided(self) -> bool:
        """Return whether the judge tried but could not decide, with no party to blame."""
        return self.outcome == "unevaluated" and self.blame is None and self.why.startswith(UNDECIDED)

    @property
    def bounded(self) -> bool:
        """Return whether the label is unknown but can have any value: undecided or lost in the sandbox, but not because of a broken judge."""
        return self.outcome == "unevaluated" and self.blame in (None, "sandbox")


class Count(Noun):
    """The number of requirements of a kind that are met, if the source does not identify them.

    Attributes:
        met: number of those that are met. Example: ``3``
        total: number of all. Example: ``4``
    """

    met: int = Field(ge=0)
    total: int = Field(ge=0)


class Verdict(Noun):
    """All labels of one trajectory.

    ``trajectory``: the digest of the trajectory that was judged, empty where the source does not say. ``explicit_count`` stands in for
    labels of kind asked. ``approved_tools``: expected tools whose prose rules a judge found kept; null where no judge looked.
    ``usage``: what the judge spent; null where it asked no model. ``misread``: how often the rules that read prose misjudge whole answers; null where
    no label rests on them.
    """

    case: str
    trial: int = 1
    judge: str
    trajectory: str = ""
    labels: tuple[Label, ...] = ()
    explicit_count: Count | None = None
    approved_tools: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()
    usage: Usage | None = None
    misread: Misread | None = None


LABELS_SCHEMA: Literal["mapsat-labels/1"] = "mapsat-labels/1"

_Note = Annotated[str, StringConstraints(max_length=10_000)]
_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


def _is_mark(value: Any) -> Any:
    """Return the mark unchanged. Raises ValueError if it is neither passed, failed nor a level of a soft requirement."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if value in ("passed", "failed") if isinstance(value, str) else numeric and value in SOFT_LEVELS:
        return value
    raise ValueError(
        f"found {value!r:.80}, expected passed, failed, or a soft requirement's level (0, 0.25, 0.5, 0.75, 1)"
    )


#: What becomes of one requirement: ``passed``, ``failed``, or a soft requirement's level.
Mark = Annotated[Literal["passed", "failed"] | Level, BeforeValidator(_is_mark)]


def mark_value(mark: Mark) -> float:
    """Return a mark as a number from 0 to 1."""
    return {"passed": 1.0, "failed": 0.0}[mark] if isinstance(mark, str) else mark


def fits(mark: Mark, requirement: Requirement) -> bool:
    """Return whether a mark is possible for a requirement: only soft requirements can have levels."""
    return isinstance(mark, str) or requirement.kind == "soft"


class PeopleLabels(Noun):
    """Labels of one dialogue of a case: marks of requirements, by a person, or by a model and reviewed by a person.

    The dialogue is given in one of four ways: ``text``, the final reply in place of the oracle dialogue's; ``turns``, a whole dialogue, in which calls
    that give neither result nor status are made in the case's sandbox; ``reply`` and ``evidence``, digests of the agent's replies and of its calls with
    their results, which is how a review ties labels to what was said; or ``trial`` of a run at hand, with ``agent`` and ``attempt`` where they are
    needed. ``wording``: digests of the requirements' words, for labels that count for no other words. ``style``: how the answer is written, one word.
    ``when``: the day, as 2026-05-07.
    """

    schema_: Literal["mapsat-labels/1"] = Field(default=LABELS_SCHEMA, alias="schema")
    case: Identifier
    id: Identifier | Literal[""] = ""
    style: Identifier | None = None
    by: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    when: Annotated[str, StringConstraints(pattern=r"^(\d{4}-\d\d-\d\d)?$")] = ""
    text: Text | None = None
    turns: tuple[Turn, ...] = ()
    trial: Annotated[int, Field(ge=1)] | None = None
    agent: str = ""
    attempt: int = Field(default=1, ge=1)
    reply: _Digest | None = None
    evidence: _Digest | None = None
    labels: dict[Identifier, Mark] = Field(min_length=1)
    wording: dict[Identifier, _Digest] = Field(default_factory=dict)
    why: dict[Identifier, _Note] = Field(default_factory=dict)
    note: _Note = ""

    @property
    def holds_dialogue(self) -> bool:
        """Return whether the labels contain the dialogue itself, so that a judge can be compared with them."""
        return self.text is not None or bool(self.turns)

    @model_validator(mode="after")
    def _names_a_dialogue(self) -> PeopleLabels:
        """Raise ValueError unless the dialogue is given in exactly one valid way, with an id where needed."""
        ways = (self.text is not None, bool(self.turns), self.trial is not None, self.reply is not None)
        if sum(ways) != 1:
            raise ValueError(
                "give one of text (the final reply), turns (the whole dialogue), reply with evidence (digests), or trial"
            )
        if (self.reply is None) != (self.evidence is None):
            raise ValueError("reply and evidence go together")
        if self.holds_dialogue and not self.id:
            raise ValueError("id is missing: it identifies the answers to a case")
        if self.text is not None and not self.text.strip():
            raise ValueError("text has no words")
        if self.turns and (self.turns[0].role != "user" or all(turn.role == "user" for turn in self.turns)):
            raise ValueError("turns begin with the user's query and hold a reply of the agent")
        if unlabelled := sorted({*self.why, *self.wording} - {*self.labels}):
            raise ValueError(f"why or wording names {unlabelled[0]!r:.80}, which has no label")
        return self


def wording_digest(requirement: Requirement) -> str:
    """Return a digest of a requirement's id and text, which reveals a changed wording."""
    return digest({"id": requirement.id, "text": requirement.text})


def reply_digest(trajectory: Trajectory) -> str:
    """Return a digest of the agent's replies: their texts and outputs."""
    return digest([[turn.text] if turn.output is None else [turn.text, turn.output] for turn in trajectory.replies])


def evidence_digest(trajectory: Trajectory) -> str:
    """Return a digest of the agent's calls and their results."""
    return digest([[call.tool, call.arguments, call.result] for call in trajectory.calls])


class JudgeRate(Noun):
    """The number of requirements of a kind that a judge labelled correctly; undecided labels count as wrong.

    ``labels``: how many there were, in ``dialogues`` dialogues. ``right``: how many it got right. ``value``: their share; null where there were none. ``low``: the one-sided
    lower bound of the share.
    """

    labels: int = Field(ge=0, le=10_000_000, strict=True)
    right: int = Field(ge=0, le=10_000_000, strict=True)
    dialogues: int = Field(ge=0, le=10_000_000, strict=True)
    value: float | None = Field(ge=0, le=1)
    low: float | None = Field(ge=0, le=1)


class JudgeCertificate(Noun):
    """A judge compared with known labels.

    ``judge``: its kind, as ``llm``. ``model``: what stands behind it in the spec. ``votes``: evaluations of one dialogue. ``version``: that of this package, whose rules verify quotes and
    figures. ``prompts``: version and digest of what the model was asked with, the suite's own sentence included. ``level``: per cent, at which the bounds hold.
    ``tpr``: kept requirements that it passed; ``tnr``: broken ones that it failed.
    """

    schema_: Literal["mapsat-judge-certificate/1"] = Field(alias="schema")
    suite: Text
    judge: Text
    model: str
    votes: int = Field(ge=1, strict=True)
    version: Text
    prompts: dict[str, str]
    level: float = Field(gt=0, lt=100)
    tpr: JudgeRate
    tnr: JudgeRate


class Metric(Noun):
    """One number of an episode, in the form of run files, gates and reports.

    Attributes:
        name: code of the metric. Example: ``ar``
        plain: plain name, which thresholds accept as well; null if it has none. Example: ``satisfied``
        title: what it measures. Example: ``requests met``
        unit: unit of the values. Example: ``share``
        earned: true if an agent that crashes or says nothing scores 0.
        gated: true if it lies between 0 and 1, more is better, and a threshold can use it.
        headline: true if summaries show it first, with its interval.
        metric_set: metric set that it belongs to. Example: ``msb``
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
    Metric(name="ifs", plain="facts", title="faithfulness: facts stated as they are"),
    Metric(name="eff", plain="brevity", title="interaction efficiency: few agent replies"),
    Metric(name="ses", plain="efficiency", title="satisfaction efficiency: satisfied x brevity", headline=True),
    Metric(
        name="cei", plain="per_token", title="cost efficiency", unit="SES per million tokens", earned=False, gated=False
    ),
)

#: The share of cases whose item passed: no metric of an episode, told and gated as one.
PASSED = Metric(name="pass_rate", plain="passed", title="cases without a broken asserted requirement")


#: pytest cuts what is longer out of the middle of a failed assertion.
_LONGEST_REPR = 230


class CallCounts(Noun):
    """Number of the agent's tool calls.

    Attributes:
        total: number of all calls. Example: ``4``
        failed: number of calls with wrong arguments or an unknown tool. Example: ``1``
        refused: number of calls that the sandbox refused. Example: ``0``
        over_limit: number of calls beyond the episode's limit. Example: ``0``
        by_tool: number of calls by tool. Example: ``{"list_orders": 2}``
    """

    total: int = 0
    failed: int = 0
    refused: int = 0
    over_limit: int = 0
    by_tool: dict[str, int] = Field(default_factory=dict)


class EpisodeTiming(Noun):
    """Wall time of an episode in seconds; never compared between runs.

    Attributes:
        seconds: time of the whole episode. Example: ``1.2``
        agent: time of the agent. Example: ``0.9``
        user: time of the model that plays the user. Example: ``0``
        judge: time of the judge. Example: ``0.2``
        worker: name of the worker process; empty if there was none. Example: ``gw0``
    """

    seconds: float = 0
    agent: float = 0
    user: float = 0
    judge: float = 0
    worker: str = ""


class CardRequirement(Noun):
    """A requirement in the case's own words, so that a report of a saved run needs no suite.

    Attributes:
        id: id of the requirement. Example: ``cancelled``
        kind: kind of the requirement. Example: ``asked``
        text: the requirement in words. Example: ``The order of noodle soup is cancelled``
        source: where the agent could learn it; empty if unknown. Example: ``context``
    """

    id: str
    kind: LabelKind
    text: str
    source: str = ""


class Scorecard(Noun):
    """One episode, judged and scored. ``agent``, ``attempt`` and ``trial`` distinguish it from other episodes of its case.

    Attributes:
        id: id of the case. Example: ``cancel-noodles``
        trial: number of the trial, from 1. Example: ``1``
        agent: parameters of a parametrised ``mapsat_agent``; empty if there are none. Example: ``gpt``
        attempt: number of the attempt, from 1; reruns are further attempts. Example: ``1``
        nodeid: pytest's name of its item. Example: ``benchmark_cases/cancel-noodles.yaml::cancel-noodles``
        line: line in its file where the case begins, from 1; null if unknown. Example: ``1``
        domains: domains of the case. Example: ``["orders"]``
        attributes: further groups of the case, by name. Example: ``{"time": "evening"}``
        group: sequence of tasks that the case belongs to; null if it is on its own.
        cluster: attribute of the suite whose cases intervals draw together; empty if there is none. Example: ``kind``
        outcome: outcome of the item under the asserted kinds of requirements.
        blame: party to blame if the item did not pass; null if there is none, which makes it undecided.
        reason: reason in words; empty if it passed. Example: ``cancelled: no row of orders fits``
        metrics: value of each metric by code, or null. Example: ``{"ar": 0.5, "ecr": null}``
        classes: reason for each null: unevaluated, not_applicable or error. Example: ``{"ecr": "unevaluated"}``
        bounds: least and greatest possible value of each metric that undecided labels leave open. Example: ``{"ecr": [0.5, 1.0]}``
        faults: what broke in a metric set, for each null that it caused. Example: ``{"ecr": {"blame": "judge", "message": "no answer"}}``
        unknown: ids of asserted requirements whose labels are unknown. Example: ``["told"]``
        labels: judgements of the requirements. Example: ``[{"requirement": "cancelled", "kind": "asked", "outcome": "passed"}]``
        requirements: requirements of the case in words; empty in older files. Example: ``[{"id": "cancelled", "kind": "asked", "text": "The order is cancelled"}]``
        explicit_count: number of requirements of kind asked that are met, if a recorded verdict has only this; null otherwise.
        misread: how often the judge misreads such answers; null if no label rests on prose.
        sandbox: number of tool answers by where they came from. Example: ``{"exact": 3, "miss": 1}``
        calls: number of the agent's tool calls.
        turns: number of agent replies. Example: ``2``
        clarifications: number of replies that asked the user something. Example: ``1``
        nothing_claimed: number of facts that hold because the reply does not mention them. Example: ``0``
        unchecked_rules: number of rules in words that no machine checked. Example: ``0``
        spent: tokens and money that the agent spent.
        user_spent: tokens and money of the model that plays the user; null if there was none.
        judge_spent: tokens and money of the judging model; null if there was none.
        warnings: remarks on the episode. Example: ``["a call came after the end"]``
        linked: whether a recorded verdict is known to be about this dialogue; null if the judge read it itself.
        stamp: digest of the case as it was. Example: ``5b8e0c2d9f1a4763``
        dialogue: digest of everything said and done. Example: ``0c2d9f1a47635b8e``
        trajectory: the episode as it happened.
        timing: wall time of the episode.
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
    cluster: str = ""
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
    warnings: tuple[str, ...] = ()
    linked: bool | None = None
    stamp: str = ""
    dialogue: str = ""
    trajectory: Trajectory
    timing: EpisodeTiming = EpisodeTiming()

    @property
    def key(self) -> tuple[str, int, str, int]:
        """Return the key of the episode in a run: case, trial, agent parameter, attempt."""
        return self.id, self.trial, self.agent, self.attempt

    @property
    def lost(self) -> bool:
        """Return whether the episode gives no information about the agent because another part broke; an undecided case is not lost."""
        if self.outcome == "unevaluated" and self.unknown:
            bounded = {label.requirement: label.bounded for label in self.labels}
            return not all(bounded.get(name, name in self.bounds) for name in self.unknown)
        return self.outcome == "error" or (self.outcome == "unevaluated" and self.blame not in (None, "sandbox"))

    def metric(self, name: str) -> float | None:
        """Return the value of a metric; None if there is none."""
        return self.metrics.get(name)

    def bounds_of(self, name: str) -> Bounds | None:
        """Return the minimum and maximum of a metric, both equal to its value if it has one; None if nothing is known."""
        value = self.metrics.get(name)
        return self.bounds.get(name) if value is None else (value, value)

    @property
    def ar(self) -> float | None:
        """Return the accepted-response probability, 0 to 1; None if it is unknown."""
        return self.metric("ar")

    @property
    def ses(self) -> float | None:
        """Return the satisfaction efficiency, 0 to 1; None if it is unknown."""
        return self.metric("ses")

    def __repr__(self) -> str:
        """Describe the episode for failed assertions on its numbers: its name, how it ended, the failures and their reasons."""
        bounds = self.bounds_of("ar")
        ar = "no AR" if bounds is None else "AR " + " to ".join(f"{end:.2f}" for end in dict.fromkeys(bounds))
        failed = [f"{label.requirement} failed ({label.why})" for label in self.labels if label.outcome == "failed"]
        reason = "; ".join(failed) or self.reason
        line = " ".join(
            f"Scorecard {self.id} trial {self.trial}: {outcome_word(self.outcome, lost=self.lost)}, {ar}; {reason}".rstrip(
                "; "
            ).split()
        )
        # Reasons quote replies, and no reply may steer a terminal.
        text = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in line)
        return f"<{text if len(text) <= _LONGEST_REPR else text[: _LONGEST_REPR - 3] + '...'}>"

    __str__ = __repr__
