"""Where trajectories come from: callables, baselines, the oracle, models, recorded files.

What only some runs need is imported from its module: ``baselines``, ``isolated``, ``memory``, ``models``, ``recorded``, ``service_file``, ``tool_server``.
"""

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
