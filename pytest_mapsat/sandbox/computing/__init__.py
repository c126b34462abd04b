"""Worlds computed from the tables of a suite: search, rows, routes."""

from __future__ import annotations

from .computed import Computed
from .ground import UnanswerableError
from .shape import shape_of

__all__ = ["Computed", "UnanswerableError", "shape_of"]
