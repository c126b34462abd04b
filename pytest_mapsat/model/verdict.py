"""What was said of one trajectory, label by label, by a judge or by people; what such judges were measured at; and what the episode scored.

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
    """A requirement that the rules found broken: its cell, the size of the reply, and whether it truly is broken."""

    requirement: str
    cell: Cell
    size: ReplySize
    broken: bool


class Judging(Noun):
    """What the rules made of one labelled answer, before any failure was called suspect.

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
    """How many of some answers the rules took for what they are not, and the rate that is exceeded in one set of answers of twenty."""

    errors: _Count
    answers: _Count
    upper: Level


class Calibration(Noun):
    """Failures by cell, true ones and false ones, and the error rates of whole answers with suspects left open.

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
    """How often a judge that reads prose takes answers for what they are not, for the bounds of means.

    ``red_of_right``, ``green_of_wrong``: the rates that are exceeded in one set of answers of twenty. ``bounds``: the least and the most that each metric comes to, and ``pass_rate``,
    if all that was read is open.
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
    """Return an outcome in plain words; an unknown one is "error" if something other than the agent broke, else "undecided"."""
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
    """Return the number of the reply, as text, in the name of a step or a thing."""
    return name.partition(":")[2].partition(".")[0]


class Quote(Noun):
    """A span of the dialogue: ``turn`` indexes ``Trajectory.turns``, ``start`` and ``end`` count characters of its text."""

    turn: int = Field(ge=0)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


class Label(Noun):
    """The judgement of one requirement.

    ``value``: 0 or 1, for a soft requirement one of the five levels, null when unevaluated. ``nothing_claimed``: a fact requirement that
    held because the answer does not make the claim. ``wanted``: what would have satisfied it, in words. ``by``: who gave it: checks, model, decision,
    recorded. ``votes``: what each evaluation of a model said, in its own words. ``compared``: two columns, titles first: what was
    expected and what was found, or rows at the start and at the end. ``idle``: it holds at an end that nothing had to be changed for.
    ``reading``: the family of what was read of prose to come to it, empty where nothing was. ``cell``: the kind of failure that the rules saw; on a label
    that is undecided they were too often wrong about such failures, and it is *suspect*. ``size``: how much the reply says, beside a cell.
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

    @property
    def suspect(self) -> bool:
        """Return whether the rules found a failure of a kind that they get wrong too often, so that the label is undecided."""
        return self.undecided and bool(self.cell)

    @property
    def undecided(self) -> bool:
        """Return whether the judge looked and could not decide, with no party to blame."""
        return self.outcome == "unevaluated" and self.blame is None and self.why.startswith(UNDECIDED)

    @property
    def bounded(self) -> bool:
        """Return whether the label is unknown but can have any value: undecided, or lost in the sandbox, not through a broken judge."""
        return self.outcome == "unevaluated" and self.blame in (None, "sandbox")


class Count(Noun):
    """How many of a kind of requirements are met, where a source does not say which."""

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
    """Return whether a mark is possible for a requirement: only soft ones can have levels."""
    return isinstance(mark, str) or requirement.kind == "soft"


class PeopleLabels(Noun):
    """What is known of one dialogue of a case: marks of requirements, by a person, or by a model whose labels a person looked over.

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
            raise ValueError("id is missing: answers to a case are told apart by it")
        if self.text is not None and not self.text.strip():
            raise ValueError("text has no words")
        if self.turns and (self.turns[0].role != "user" or all(turn.role == "user" for turn in self.turns)):
            raise ValueError("turns begin with the user's query and hold a reply of the agent")
        if unlabelled := sorted({*self.why, *self.wording} - {*self.labels}):
            raise ValueError(f"why or wording names {unlabelled[0]!r:.80}, which has no label")
        return self


def wording_digest(requirement: Requirement) -> str:
    """Return a digest of a requirement's id and text, by which changed wording is noticed."""
    return digest({"id": requirement.id, "text": requirement.text})


def reply_digest(trajectory: Trajectory) -> str:
    """Return a digest of the agent's replies: their texts and outputs."""
    return digest([[turn.text] if turn.output is None else [turn.text, turn.output] for turn in trajectory.replies])


def evidence_digest(trajectory: Trajectory) -> str:
    """Return a digest of the agent's calls and their results."""
    return digest([[call.tool, call.arguments, call.result] for call in trajectory.calls])


class JudgeRate(Noun):
    """How many requirements of a kind a judge labelled as is true, left open counting as wrong.

    ``labels``: how many there were, in ``dialogues`` dialogues. ``right``: how many it got right. ``value``: their share; null where there were none. ``low``: the one-sided
    lower bound of the share.
    """

    labels: int = Field(ge=0, le=10_000_000, strict=True)
    right: int = Field(ge=0, le=10_000_000, strict=True)
    dialogues: int = Field(ge=0, le=10_000_000, strict=True)
    value: float | None = Field(ge=0, le=1)
    low: float | None = Field(ge=0, le=1)


class JudgeCertificate(Noun):
    """A judge held against labels that are known.

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
    is undecided. ``group``: the sequence of cases that it stands in. ``cluster``: the attribute whose cases intervals draw together; empty: none. ``sandbox``: how many tool answers came from where. ``turns`` counts agent replies,
    ``clarifications`` those that asked something, ``nothing_claimed`` fact requirements that held because nothing was claimed.
    ``agent`` tells the parameters of a parametrised ``mapsat_agent`` apart, ``attempt`` counts the episodes of one case, trial and agent
    from 1: reruns are further attempts.
    ``line``: where in its file the case begins, from 1; null: not known. ``requirements``: the case's requirements in words; empty in older files.
    ``spent``: by the agent; ``user_spent``, ``judge_spent``: by the models that speak for the user and judge, null
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
        """Return what identifies the episode in a run: case, trial, agent parameter, attempt."""
        return self.id, self.trial, self.agent, self.attempt

    @property
    def lost(self) -> bool:
        """Return whether the episode tells nothing of the agent, as something else broke; an undecided case is not lost."""
        if self.outcome == "unevaluated" and self.unknown:
            bounded = {label.requirement: label.bounded for label in self.labels}
            return not all(bounded.get(name, name in self.bounds) for name in self.unknown)
        return self.outcome == "error" or (self.outcome == "unevaluated" and self.blame not in (None, "sandbox"))

    def metric(self, name: str) -> float | None:
        """Return the value of a metric; None if it has none."""
        return self.metrics.get(name)

    def bounds_of(self, name: str) -> Bounds | None:
        """Return the least and the most that a metric can be, both its value if it has one; None if nothing is known."""
        value = self.metrics.get(name)
        return self.bounds.get(name) if value is None else (value, value)

    @property
    def ar(self) -> float | None:
        """Return the accepted-response probability, 0 to 1; None if it is not known."""
        return self.metric("ar")

    @property
    def ses(self) -> float | None:
        """Return the satisfaction efficiency, 0 to 1; None if it is not known."""
        return self.metric("ses")

    def __repr__(self) -> str:
        """Say in short what an assertion on one of the numbers leaves out: which episode, how it ended, what failed and why."""
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
