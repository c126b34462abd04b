"""What was measured of the judge that reads prose by rules: its failures by cell, and how many answers it takes for what they are not."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .base import Bounds, Identifier, Level, Noun
from .metric import MetricName

CALIBRATION_SCHEMA: Literal["mapsat-calibration/1"] = "mapsat-calibration/1"
JUDGING_SCHEMA: Literal["mapsat-judging/1"] = "mapsat-judging/1"

#: What a label rests on that reads prose: what is proposed, a figure, words, a claim held against results, a way of travelling. Empty: it reads none.
Family = Literal["", "choice", "figure", "words", "claims", "travels"]
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
