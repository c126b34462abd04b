"""Suites proved by running them: do oracles find their recordings, what do the checks catch, and what do they accuse wrongly."""

from __future__ import annotations

from .agreement import Agreement, AnswersProof, JudgedDialogue, agreement_table, answer_table, judging_of
from .baselines import BASELINES, METRICS, SuiteWorth, interval_text, value_text, worth_table
from .card import card_text
from .certificate import (
    CERTIFICATE,
    LEVEL,
    certificate_of,
    certificate_table,
    lacking,
    parse_required,
    rates_of,
    uncertified,
    write_certificate,
)
from .mutants import HARMLESS, WRONG
from .oracles import lint_recordings, play_oracle
from .prove import Proof, Trial, prove, table
from .retrieval import Retrieval, measure_retrieval
from .surface import CaseSandboxes, dialogue_of

__all__ = [
    "BASELINES",
    "CERTIFICATE",
    "HARMLESS",
    "LEVEL",
    "METRICS",
    "WRONG",
    "Agreement",
    "AnswersProof",
    "CaseSandboxes",
    "JudgedDialogue",
    "Proof",
    "Retrieval",
    "SuiteWorth",
    "Trial",
    "agreement_table",
    "answer_table",
    "card_text",
    "certificate_of",
    "certificate_table",
    "dialogue_of",
    "interval_text",
    "judging_of",
    "lacking",
    "lint_recordings",
    "measure_retrieval",
    "parse_required",
    "play_oracle",
    "prove",
    "rates_of",
    "table",
    "uncertified",
    "value_text",
    "worth_table",
    "write_certificate",
]
