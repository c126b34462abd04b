"""Suites made from other data: cases from conversations and logs, reviewed by people, and made-up worlds with cases in them.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .conversations import *
    from .drafts import *
    from .log_cases import *
    from .logs import *
    from .proposals import *
    from .worlds import *
else:
    _NAMES = {
        "conversations": "choose conversation_of personal_data_in_name personal_data_of read_logs without_personal",
        "drafts": "Proposal ProposalDecision ProposalReview case_id_of draft_of write_draft",
        "log_cases": "build_from_logs",
        "logs": "missing_files",
        "proposals": "ProposingModel",
        "worlds": "TOWNS BuildRequest Draws Town builder_of builders coined_name town",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
