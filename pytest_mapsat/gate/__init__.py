"""Thresholds, comparison with an earlier run, and the decision of a run: passed, failed, inconclusive or invalid."""

from __future__ import annotations

from .compare import compare, false_alarms
from .decide import Coverage, decide, parse_allowance
from .likeness import Side, likeness, slim, without_turns
from .rules import EACH_CASE, Ceiling, Drop, Threshold, gated, parse_drops, parse_thresholds

__all__ = [
    "EACH_CASE",
    "Ceiling",
    "Coverage",
    "Drop",
    "Side",
    "Threshold",
    "compare",
    "decide",
    "false_alarms",
    "gated",
    "likeness",
    "parse_allowance",
    "parse_drops",
    "parse_thresholds",
    "slim",
    "without_turns",
]
