"""What a judge was measured at, on labels that are known: what it may gate a suite with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Noun, Text


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
