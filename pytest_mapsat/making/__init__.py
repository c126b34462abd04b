"""What suites are made of: cases out of what happened, reviewed by people, and made-up worlds with the cases in them."""

from __future__ import annotations

from .conversations import choose as choose
from .conversations import conversation_of as conversation_of
from .conversations import personal_data_in_name as personal_data_in_name
from .conversations import personal_data_of as personal_data_of
from .conversations import read_logs as read_logs
from .conversations import without_personal as without_personal
from .drafts import Draft as Draft
from .drafts import Proposal as Proposal
from .drafts import ProposalDecision as ProposalDecision
from .drafts import ProposalReview as ProposalReview
from .drafts import case_id_of as case_id_of
from .drafts import draft_of as draft_of
from .drafts import write_draft as write_draft
from .log_cases import build_from_logs as build_from_logs
from .logs import missing_files as missing_files
from .proposals import ProposingModel as ProposingModel
from .worlds import TOWNS as TOWNS
from .worlds import BuildRequest as BuildRequest
from .worlds import Draws as Draws
from .worlds import Town as Town
from .worlds import builder_of as builder_of
from .worlds import builders as builders
from .worlds import coined_name as coined_name
from .worlds import town as town
