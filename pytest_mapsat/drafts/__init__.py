"""Cases out of what happened: what a user's next step shows to have been missing, its evidence, and drafts that people review."""

from __future__ import annotations

from .candidates import Candidate, requirement_of
from .conversations import Conversation, Line

__all__ = ["Candidate", "Conversation", "Line", "requirement_of"]
