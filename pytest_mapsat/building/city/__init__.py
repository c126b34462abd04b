"""Made-up cities from a seed: the tables that the tools of the starter suite answer from, and what people do there."""

from __future__ import annotations

from .build import Person, build_city, people_of
from .people import DAYS, Habit, activity_row, chain_of, user_row
from .places import Group
from .plans import Kind, Need, kinds
from .plans_scenes import Scene
from .plans_suite import briefs_of, build_suite, scenes_of, wordings
from .sorts import Sort, Trait, meets, sorts
from .surroundings import metres_between
from .world import Centre, City, World, world_of

__all__ = [
    "DAYS",
    "Centre",
    "City",
    "Group",
    "Habit",
    "Kind",
    "Need",
    "Person",
    "Scene",
    "Sort",
    "Trait",
    "World",
    "activity_row",
    "briefs_of",
    "build_city",
    "build_suite",
    "chain_of",
    "kinds",
    "meets",
    "metres_between",
    "people_of",
    "scenes_of",
    "sorts",
    "user_row",
    "wordings",
    "world_of",
]
