"""What a judge said of one trajectory, label by label. All numbers are derived from it later."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Level, Noun
from .trajectory import Blame

#: passed and failed are known; unevaluated: the judge could not say; error: what should be judged broke.
Outcome = Literal["passed", "failed", "error", "unevaluated", "not_applicable"]
LabelKind = Literal["explicit", "implicit", "fact"]


class Quote(Noun):
    """A span of the dialogue: ``turn`` indexes ``Trajectory.turns``, ``start`` and ``end`` count characters of its text."""

    turn: int = Field(ge=0)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


class Label(Noun):
    """The judgement of one factor.

    ``value``: 0 or 1, for a soft factor one of the five levels, null when unevaluated. ``vacuous``: a fact requirement that
    held because the answer does not make the claim. ``wanted``: what would have satisfied it, in words.
    """

    factor: str
    kind: LabelKind
    outcome: Outcome
    value: Level | None = None
    why: str = ""
    wanted: str = ""
    quotes: tuple[Quote, ...] = ()
    vacuous: bool = False
    blame: Blame | None = None
    by: str = "checks"


class Count(Noun):
    """How many of a kind of factors are met, where a source does not say which."""

    met: int = Field(ge=0)
    total: int = Field(ge=0)


class Verdict(Noun):
    """All labels of one trajectory.

    ``trajectory``: the digest of the trajectory that was judged, empty where the source does not say. ``explicit_count`` stands in for
    explicit labels. ``approved_tools``: expected tools whose prose rules a judge found kept; null where nobody looked.
    """

    case: str
    trial: int = 1
    judge: str
    trajectory: str = ""
    labels: tuple[Label, ...] = ()
    explicit_count: Count | None = None
    approved_tools: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()
