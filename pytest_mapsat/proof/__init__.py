"""Suites proved by running them: do oracles find their recordings, what do the checks catch, and what do they accuse wrongly."""

from __future__ import annotations

from .agreement import (
    Agreement,
    AnswersProof,
    Held,
    JudgedAnswer,
    agreement_table,
    answer_table,
    judging_of,
    uncertified,
)
from .mutants import HARMLESS, WRONG
from .oracles import lint_recordings
from .plain import play_oracle
from .prove import Proof, Trial, prove, table

__all__ = [
    "HARMLESS",
    "WRONG",
    "Agreement",
    "AnswersProof",
    "Held",
    "JudgedAnswer",
    "Proof",
    "Trial",
    "agreement_table",
    "answer_table",
    "judging_of",
    "lint_recordings",
    "play_oracle",
    "prove",
    "table",
    "uncertified",
]
