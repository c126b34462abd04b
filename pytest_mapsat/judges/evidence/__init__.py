"""What a dialogue knew, by thing and role: everything that tools declare of their results, what the user said, and the context.

Nothing is guessed from the name of a key: a value counts for what its tool declares it to be, and for the thing it stands with.
"""

from __future__ import annotations

from .gather import evidence
from .kinds import USER, Evidence, Figure, Identity, Moment, Origin, Point, Source

__all__ = ["USER", "Evidence", "Figure", "Identity", "Moment", "Origin", "Point", "Source", "evidence"]
