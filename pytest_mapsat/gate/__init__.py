"""Thresholds, comparison with an earlier run, and the decision of a run: passed, failed, inconclusive or invalid."""

from __future__ import annotations

from .alarms import Alarms, false_alarms
from .compare import compare
from .coverage import Coverage
from .decide import decide
from .likeness import Side, likeness
from .thresholds import Drop, Origin, Threshold, gated, parse_drops, parse_thresholds

__all__ = [
    "Alarms",
    "Coverage",
    "Drop",
    "Origin",
    "Side",
    "Threshold",
    "compare",
    "decide",
    "false_alarms",
    "gated",
    "likeness",
    "parse_drops",
    "parse_thresholds",
]
