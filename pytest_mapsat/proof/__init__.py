"""Suites proved by running them: do oracles find their records, what do the checks catch, and what do they accuse wrongly."""

from __future__ import annotations

from .harmless_changes import HARMLESS
from .lint_records import lint_records
from .prove import Proof, Trial, prove
from .table import table
from .wrong_changes import WRONG

__all__ = ["HARMLESS", "WRONG", "Proof", "Trial", "lint_records", "prove", "table"]
