"""Is what an answer states borne out by tool results, the context or the user's words?"""

from __future__ import annotations

from .claims import Claim, ClaimType, claims_of
from .figures import Verdict
from .weigh import Judged, weigh

__all__ = ["Claim", "ClaimType", "Judged", "Verdict", "claims_of", "weigh"]
