"""Suites proved by running them: do oracles find their records, what do the checks catch, and what do they accuse wrongly."""

from __future__ import annotations

from .agreement import Agreement, Held, agreement_table
from .answers import AnswersProof, JudgedAnswer, answer_table, judging_of
from .harmless_changes import HARMLESS
from .lint_records import lint_records
from .oracle_run import play_oracle
from .prove import Proof, Trial, prove
from .table import table
from .wrong_changes import WRONG

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
    "lint_records",
    "play_oracle",
    "prove",
    "table",
]
