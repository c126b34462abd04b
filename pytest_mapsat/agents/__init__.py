"""Where trajectories come from: callables, baselines, the oracle, models, recorded files. ``isolation`` is a room of its own in it."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched
from pytest_mapsat.reply import Reply as Reply

from .callables import EventLoop as EventLoop
from .callables import shutdown as shutdown
from .resolve import load as load
from .resolve import names_own_code as names_own_code
from .resolve import resolve_source as resolve_source
from .resolve import source_of as source_of
from .returned import AgentFault as AgentFault
from .returned import as_json as as_json
from .returned import describe as describe
from .returned import scrubbed as scrubbed
from .returned import with_data as with_data
from .source import MODEL_KINDS as MODEL_KINDS
from .source import SERVICE_SCHEMES as SERVICE_SCHEMES
from .source import AgentSource as AgentSource
from .source import Conversation as Conversation
from .source import KeptAgent as KeptAgent
from .source import Session as Session
from .source import Source as Source
from .source import SourceElsewhere as SourceElsewhere
from .source import context_of as context_of
from .source import memory_asks_model as memory_asks_model
from .source import session_id as session_id

if TYPE_CHECKING:
    from .baselines import BaselineSource as BaselineSource
    from .baselines import Dialogue as Dialogue
    from .memory import MEMORY_METHODS as MEMORY_METHODS
    from .memory import MEMORY_PROMPTS as MEMORY_PROMPTS
    from .memory import Memory as Memory
    from .memory import MemorySource as MemorySource
    from .memory import memory_fault as memory_fault
    from .memory import open_memory as open_memory
    from .memory import recollection as recollection
    from .memory import spent_on as spent_on
    from .models import AGENT_PROMPTS as AGENT_PROMPTS
    from .recorded import RecordedSource as RecordedSource
    from .recorded import open_recorded as open_recorded
    from .recorded import recorded_dialogues as recorded_dialogues
    from .service_file import filled as filled
    from .service_file import placeholders as placeholders
    from .tool_server import ToolServer as ToolServer
    from .tool_server import serve_stdio as serve_stdio
else:
    __getattr__ = fetched(
        __name__,
        {
            "baselines": ("BaselineSource", "Dialogue"),
            "memory": (
                "MEMORY_METHODS",
                "MEMORY_PROMPTS",
                "Memory",
                "MemorySource",
                "memory_fault",
                "open_memory",
                "recollection",
                "spent_on",
            ),
            "models": ("AGENT_PROMPTS",),
            "recorded": ("RecordedSource", "open_recorded", "recorded_dialogues"),
            "service_file": ("filled", "placeholders"),
            "tool_server": ("ToolServer", "serve_stdio"),
        },
    )
