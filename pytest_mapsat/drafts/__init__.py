"""Cases out of what happened: what a user's next step shows to have been missing, its evidence, and drafts that people review."""

from __future__ import annotations

from .case import Draft as Draft
from .case import case_id_of as case_id_of
from .case import draft_of as draft_of
from .case import write_draft as write_draft
from .conversations import choose as choose
from .conversations import conversation_of as conversation_of
from .conversations import personal_data_in_name as personal_data_in_name
from .conversations import personal_data_of as personal_data_of
from .conversations import read_logs as read_logs
from .conversations import without_personal as without_personal
from .log_cases import build_from_logs as build_from_logs
from .logs import missing_files as missing_files
from .proposed import ProposingModel as ProposingModel
from .review import Proposal as Proposal
from .review import ProposalDecision as ProposalDecision
from .review import ProposalReview as ProposalReview
