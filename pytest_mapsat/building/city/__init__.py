"""Made-up cities from a seed: the tables that the tools of the starter suite answer from, and what people do there."""

from __future__ import annotations

from .build import Person, build_city, people_of
from .people import DAYS, Habit, activity_row, chain_of, user_row
from .places import Group
from .sorts import Sort, Trait, meets, sorts
from .surroundings import metres_between
from .world import Centre, City, World, world_of

__all__ = [
    "DAYS",
    "Centre",
    "City",
    "Group",
    "Habit",
    "Person",
    "Sort",
    "Trait",
    "World",
    "activity_row",
    "build_city",
    "chain_of",
    "meets",
    "metres_between",
    "people_of",
    "sorts",
    "user_row",
    "world_of",
]
