"""Worlds computed from the tables of a suite: search, rows, routes."""

from __future__ import annotations

from .computed import Computed
from .days import DAY_WORDS, day_of
from .ground import UnanswerableError
from .shape import shape_of

__all__ = ["DAY_WORDS", "Computed", "UnanswerableError", "day_of", "shape_of"]
