"""Thresholds, comparison with an earlier run, and the decision of a run: passed, failed, inconclusive or invalid."""

from __future__ import annotations

from .alarms import Alarms, false_alarms
from .compare import compare
from .coverage import Coverage
from .decide import decide, parse_allowance
from .likeness import Side, likeness, slim, without_turns
from .rules import Ceiling, Drop, Origin, Threshold, gated, parse_drops, parse_thresholds
from .spending import EACH_CASE

__all__ = [
    "EACH_CASE",
    "Alarms",
    "Ceiling",
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
    "parse_allowance",
    "parse_drops",
    "parse_thresholds",
    "slim",
    "without_turns",
]
