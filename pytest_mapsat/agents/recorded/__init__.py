"""Trajectories that were recorded elsewhere, taken as they are."""

from __future__ import annotations

from .source import RecordedSource, open_recorded

__all__ = ["RecordedSource", "open_recorded"]
