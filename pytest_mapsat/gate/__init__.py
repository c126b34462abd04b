"""Thresholds, and the decision of a run: passed, failed, inconclusive or invalid."""

from __future__ import annotations

from .coverage import Coverage
from .decide import decide
from .thresholds import GATED, Origin, Threshold, parse_thresholds

__all__ = ["GATED", "Coverage", "Origin", "Threshold", "decide", "parse_thresholds"]
