"""Where trajectories come from: callables, baselines, the oracle, recorded files.

Names are fetched when they are first used, so that an agent's own module can import ``Reply`` without the weight of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .reply import Reply

if TYPE_CHECKING:
    from .callables import EventLoop, shutdown
    from .isolation import IsolatedSource, Isolation, isolated_source, unreadable
    from .models import AGENT_PROMPTS
    from .recorded import RecordedSource
    from .resolve import load, names_own_code, resolve_source, source_of
    from .returned import FORM_PROMPT, AgentFault, as_json, describe, form_of, form_request, scrubbed
    from .source import (
        MODEL_KINDS,
        AgentContext,
        AgentSource,
        Conversation,
        Session,
        Source,
        context_of,
        session_id,
    )
else:
    __getattr__ = fetched(
        __name__,
        {
            "callables": ("EventLoop", "shutdown"),
            "isolation": ("IsolatedSource", "Isolation", "isolated_source", "unreadable"),
            "models": ("AGENT_PROMPTS",),
            "recorded": ("RecordedSource",),
            "resolve": ("load", "names_own_code", "resolve_source", "source_of"),
            "returned": (
                "FORM_PROMPT",
                "AgentFault",
                "as_json",
                "describe",
                "form_of",
                "form_request",
                "scrubbed",
            ),
            "source": (
                "MODEL_KINDS",
                "AgentContext",
                "AgentSource",
                "Conversation",
                "Session",
                "Source",
                "context_of",
                "session_id",
            ),
        },
    )

__all__ = [
    "AGENT_PROMPTS",
    "FORM_PROMPT",
    "MODEL_KINDS",
    "AgentContext",
    "AgentFault",
    "AgentSource",
    "Conversation",
    "EventLoop",
    "IsolatedSource",
    "Isolation",
    "RecordedSource",
    "Reply",
    "Session",
    "Source",
    "as_json",
    "context_of",
    "describe",
    "form_of",
    "form_request",
    "isolated_source",
    "load",
    "names_own_code",
    "resolve_source",
    "scrubbed",
    "session_id",
    "shutdown",
    "source_of",
    "unreadable",
]
