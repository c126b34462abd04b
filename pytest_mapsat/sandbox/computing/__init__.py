"""Worlds computed from the tables of a suite: search, rows, routes."""

from __future__ import annotations

from .computed import Computed
from .ground import UnanswerableError

__all__ = ["Computed", "UnanswerableError"]
