"""Made-up cities from a seed: the tables that the tools of the starter suite answer from, and what people do there."""

from .plans_suite import briefs_of as briefs_of
from .plans_suite import build_city as build_city
