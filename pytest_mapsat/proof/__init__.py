"""Mutation testing of judges and cases: what the checks of a suite catch, and what they accuse wrongly."""

from __future__ import annotations

from .answers import AnswersProof, JudgedAnswer, answer_table
from .harmless_changes import HARMLESS
from .prove import Proof, Trial, play_oracle, prove
from .table import table
from .wrong_changes import WRONG

__all__ = [
    "HARMLESS",
    "WRONG",
    "AnswersProof",
    "JudgedAnswer",
    "Proof",
    "Trial",
    "answer_table",
    "play_oracle",
    "prove",
    "table",
]
