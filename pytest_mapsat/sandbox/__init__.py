"""The world of a case: canonical arguments, matching, and the tools that an agent is handed."""

from __future__ import annotations

from .canonical import UnfitError, canonical
from .canonical import point as point_of
from .door import WorldSuite, make_world
from .geo import distance_m
from .resolver import MISS_RESULT
from .satisfy import satisfies, values_at
from .tables import Table
from .text import normalise, text_similarity, tokens
from .times import opening_hours
from .toolbox import Toolbox
from .world import Answer, Sandbox, World, argument_problems, record_key

__all__ = [
    "MISS_RESULT",
    "Answer",
    "Sandbox",
    "Table",
    "Toolbox",
    "UnfitError",
    "World",
    "WorldSuite",
    "argument_problems",
    "canonical",
    "distance_m",
    "make_world",
    "normalise",
    "opening_hours",
    "point_of",
    "record_key",
    "satisfies",
    "text_similarity",
    "tokens",
    "values_at",
]
