"""Is what an answer states borne out by tool results, context or the user's words?"""

from __future__ import annotations

from .claims import CLAIM_TYPES, Claim, ClaimType, Decision
from .decide import Judged
from .ground import ground
from .pool import Pool, gather

__all__ = ["CLAIM_TYPES", "Claim", "ClaimType", "Decision", "Judged", "Pool", "gather", "ground"]
