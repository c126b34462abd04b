"""Where trajectories come from: callables, baselines, the oracle, recorded files.

Names are fetched when they are first used, so that an agent's own module can import ``Reply`` without the weight of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.on_demand import fetched

from .reply import Reply

if TYPE_CHECKING:
    from .context import AgentContext, Session, context_of, session_id
    from .faults import AgentFault, describe, scrubbed
    from .form import FORM_PROMPT, form_of, form_request
    from .isolation import IsolatedSource, Isolation, isolated_source, unreadable
    from .jsondata import as_json
    from .loop import EventLoop, shutdown
    from .models import AGENT_PROMPTS
    from .recorded import RecordedSource
    from .resolve import load, names_own_code, resolve_source, source_of
    from .source import MODEL_KINDS, AgentSource, Conversation, Source
else:
    __getattr__ = fetched(
        __name__,
        {
            "context": ("AgentContext", "Session", "context_of", "session_id"),
            "faults": ("AgentFault", "describe", "scrubbed"),
            "form": ("FORM_PROMPT", "form_of", "form_request"),
            "isolation": ("IsolatedSource", "Isolation", "isolated_source", "unreadable"),
            "jsondata": ("as_json",),
            "loop": ("EventLoop", "shutdown"),
            "models": ("AGENT_PROMPTS",),
            "recorded": ("RecordedSource",),
            "resolve": ("load", "names_own_code", "resolve_source", "source_of"),
            "source": ("MODEL_KINDS", "AgentSource", "Conversation", "Source"),
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
