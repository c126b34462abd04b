"""Mutation testing of judges and cases: what the checks of a suite catch, and what they accuse wrongly."""

from __future__ import annotations

from .harmless_changes import HARMLESS
from .prove import Proof, Trial, prove
from .table import table
from .wrong_changes import WRONG

__all__ = ["HARMLESS", "WRONG", "Proof", "Trial", "prove", "table"]
