"""Made-up cities from a seed: the tables that the tools of the starter suite answer from, and what people do there."""

from .people import Habit as Habit
from .people import activity_row as activity_row
from .people import chain_of as chain_of
from .plans import kinds as kinds
from .plans_suite import briefs_of as briefs_of
from .plans_suite import build_city as build_city
from .plans_suite import build_suite as build_suite
from .plans_suite import people_of as people_of
from .plans_suite import scenes_of as scenes_of
from .plans_suite import wordings as wordings
from .sorts import meets as meets
from .sorts import metres_between as metres_between
from .world import world_of as world_of
