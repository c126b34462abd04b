"""Sandboxes computed from the tables of a suite: search, rows, routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.on_demand import fetched

from .days import DAY_WORDS, day_of

if TYPE_CHECKING:
    from .computed import Computed
    from .shape import shape_of
else:
    __getattr__ = fetched(__name__, {"computed": ("Computed",), "shape": ("shape_of",)})

__all__ = ["DAY_WORDS", "Computed", "day_of", "shape_of"]
