"""What a judge said of one trajectory, label by label. All numbers are derived from it later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from .base import Level, Noun, kind_of_today
from .calibration import Cell, Family, Misread, ReplySize
from .trajectory import Blame, Usage

#: passed and failed are known; unevaluated: the judge could not say; error: what should be judged broke.
Outcome = Literal["passed", "failed", "error", "unevaluated", "not_applicable"]
#: The kinds of requirements, and kinds of a judge's own.
LabelKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$"), BeforeValidator(kind_of_today)]
#: Kinds of labels that a judge gives besides, where a metric set asks for them: of the steps of replies, and of the things that replies name.
STATE: LabelKind = "state"
OBSERVATION: LabelKind = "observation"
#: A label of a user's turn, which is a failed one: the user surely departed from the script.
USER: LabelKind = "user"
#: Kinds of labels that are about no requirement of the case.
BESIDES = (STATE, OBSERVATION, USER)
#: How the reason of a label begins that the judge cannot decide, which is nobody's fault.
UNDECIDED = "undecided"


def step_name(reply: int, step: int) -> str:
    """Return what the label of a step is about; both count from 1. No requirement can be named so."""
    return f"step:{reply}.{step}"


def thing_name(reply: int, thing: int) -> str:
    """Return what the label of a thing that a reply names is about; both count from 1."""
    return f"thing:{reply}.{thing}"


def user_name(turn: int, slip: str) -> str:
    """Return what the label of a user's turn is about: ``turn`` indexes ``Trajectory.turns``."""
    return f"user:{turn}.{slip}"


def reply_of(name: str) -> str:
    """Return the number of the reply that the name of a step or a thing is about."""
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

    renamed: ClassVar[Mapping[str, str]] = {"factor": "requirement", "vacuous": "nothing_claimed"}

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
        """Whether the rules found it broken, and are too often wrong about such failures to say so."""
        return self.undecided and bool(self.cell)

    @property
    def undecided(self) -> bool:
        """Whether the judge looked and cannot say: nobody's fault, unlike every other label without a value."""
        return self.outcome == "unevaluated" and self.blame is None and self.why.startswith(UNDECIDED)

    @property
    def bounded(self) -> bool:
        """Whether it is not known but may be anything that such a label can be: what the checks or the recordings lack is no fault of the judging."""
        return self.outcome == "unevaluated" and self.blame in (None, "sandbox")


class Count(Noun):
    """How many of a kind of requirements are met, where a source does not say which."""

    met: int = Field(ge=0)
    total: int = Field(ge=0)


class Verdict(Noun):
    """All labels of one trajectory.

    ``trajectory``: the digest of the trajectory that was judged, empty where the source does not say. ``explicit_count`` stands in for
    labels of kind asked. ``approved_tools``: expected tools whose prose rules a judge found kept; null where nobody looked.
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
