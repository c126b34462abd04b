"""Thresholds, and the decision of a run: passed, failed, inconclusive or invalid."""

from __future__ import annotations

from .coverage import Coverage
from .decide import decide
from .thresholds import Origin, Threshold, gated, parse_thresholds

__all__ = ["Coverage", "Origin", "Threshold", "decide", "gated", "parse_thresholds"]
