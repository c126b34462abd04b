"""Made-up worlds: what is drawn from a seed, the towns that it gives, and the builders by which ``mapsat build`` makes suites of them."""

from __future__ import annotations

from .builders import BuildRequest, builder_of, builders
from .towns import TOWNS, Area, District, Draws, Town, coined_name, town

__all__ = [
    "TOWNS",
    "Area",
    "BuildRequest",
    "District",
    "Draws",
    "Town",
    "builder_of",
    "builders",
    "coined_name",
    "town",
]
