"""Made-up cities from a seed: the tables that the tools of the starter suite answer from, and what people do there."""

from __future__ import annotations

from .places import Group
from .sorts import Sort, Trait, meets, sorts
from .surroundings import metres_between
from .world import Centre, City, World, world_of

__all__ = ["Centre", "City", "Group", "Sort", "Trait", "World", "meets", "metres_between", "sorts", "world_of"]
