"""Where trajectories come from: callables, baselines, the oracle, models, recorded files. ``isolation`` is a room of its own in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched
from pytest_mapsat.reply import Reply

from .baselines import BaselineSource, Dialogue
from .callables import EventLoop, shutdown
from .live_spans import EpisodeSpans, spans_heard, told_by_spans
from .memory import (
    MEMORY_METHODS,
    MEMORY_PROMPTS,
    Memory,
    MemorySource,
    memory_asks_model,
    memory_fault,
    open_memory,
    recollection,
    spent_on,
)
from .models import AGENT_PROMPTS
from .recorded import RecordedSource, open_recorded, recorded_dialogues
from .resolve import load, names_own_code, resolve_source, source_of
from .returned import FORM_PROMPT, AgentFault, as_json, describe, form_of, form_request, scrubbed, with_data
from .source import (
    MODEL_KINDS,
    SERVICE_SCHEMES,
    AgentSource,
    Conversation,
    KeptAgent,
    Session,
    Source,
    SourceElsewhere,
    context_of,
    session_id,
)
from .span_dialogues import span_trajectory

if TYPE_CHECKING:
    from .tool_server import ToolServer, serve_stdio, serve_tools
else:
    __getattr__ = fetched(__name__, {"tool_server": ("ToolServer", "serve_stdio", "serve_tools")})

__all__ = [
    "AGENT_PROMPTS",
    "FORM_PROMPT",
    "MEMORY_METHODS",
    "MEMORY_PROMPTS",
    "MODEL_KINDS",
    "SERVICE_SCHEMES",
    "AgentFault",
    "AgentSource",
    "BaselineSource",
    "Conversation",
    "Dialogue",
    "EpisodeSpans",
    "EventLoop",
    "KeptAgent",
    "Memory",
    "MemorySource",
    "RecordedSource",
    "Reply",
    "Session",
    "Source",
    "SourceElsewhere",
    "ToolServer",
    "as_json",
    "context_of",
    "describe",
    "form_of",
    "form_request",
    "load",
    "memory_asks_model",
    "memory_fault",
    "names_own_code",
    "open_memory",
    "open_recorded",
    "recollection",
    "recorded_dialogues",
    "resolve_source",
    "scrubbed",
    "serve_stdio",
    "serve_tools",
    "session_id",
    "shutdown",
    "source_of",
    "span_trajectory",
    "spans_heard",
    "spent_on",
    "told_by_spans",
    "with_data",
]
