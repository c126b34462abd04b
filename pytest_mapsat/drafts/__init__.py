"""Cases out of what happened: what a user's next step shows to have been missing, its evidence, and drafts that people review."""

from __future__ import annotations

from .candidates import Candidate, requirement_of
from .conversations import Conversation, Line
from .log_suite import LogReport, build_from_logs
from .logs import missing_files

__all__ = ["Candidate", "Conversation", "Line", "LogReport", "build_from_logs", "missing_files", "requirement_of"]
