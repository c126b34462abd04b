"""Cases out of what happened: what a user's next step shows to have been missing, its evidence, and drafts that people review."""

from __future__ import annotations

from .candidates import Candidate, requirement_of
from .conversations import Conversation, Line
from .differences import Proposals, proposals_of
from .review import Proposal, ProposalDecision, ProposalReview

__all__ = [
    "Candidate",
    "Conversation",
    "Line",
    "Proposal",
    "ProposalDecision",
    "ProposalReview",
    "Proposals",
    "proposals_of",
    "requirement_of",
]
