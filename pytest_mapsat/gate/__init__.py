"""Thresholds, comparison with an earlier run, and the decision of a run: passed, failed, inconclusive or invalid."""

from __future__ import annotations

from .compare import compare
from .coverage import Coverage
from .decide import decide
from .likeness import Side, unlike_requests
from .thresholds import Drop, Origin, Threshold, gated, parse_drops, parse_thresholds

__all__ = [
    "Coverage",
    "Drop",
    "Origin",
    "Side",
    "Threshold",
    "compare",
    "decide",
    "gated",
    "parse_drops",
    "parse_thresholds",
    "unlike_requests",
]
