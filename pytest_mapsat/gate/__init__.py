"""Thresholds, comparison with an earlier run, and the decision of a run: passed, failed, inconclusive or invalid."""

from __future__ import annotations

from .alarms import Alarms, false_alarms
from .compare import compare
from .decide import decide, parse_allowance
from .finding import Coverage
from .likeness import Side, likeness, slim, without_turns
from .rules import EACH_CASE, Ceiling, Drop, Origin, Threshold, gated, parse_drops, parse_thresholds

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
