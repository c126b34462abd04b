"""Cases out of what happened: what a user's next step shows to have been missing, its evidence, and drafts that people review."""

from __future__ import annotations

from .candidates import Candidate, requirement_of
from .case import Draft, case_id_of, draft_of, write_draft
from .conversations import Conversation, Line, Log, choose, conversation_of
from .readers import personal_data_of, read_logs, without_personal

__all__ = [
    "Candidate",
    "Conversation",
    "Draft",
    "Line",
    "Log",
    "case_id_of",
    "choose",
    "conversation_of",
    "draft_of",
    "personal_data_of",
    "read_logs",
    "requirement_of",
    "without_personal",
    "write_draft",
]
