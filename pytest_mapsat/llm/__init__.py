"""The door to models: what is asked, what comes back, what it may cost. Nothing of a model's library is imported before a call."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .exchange import OF_THE_REPLY as OF_THE_REPLY
from .exchange import Answer as Answer
from .exchange import ModelCalls as ModelCalls
from .exchange import ModelClient as ModelClient
from .exchange import ModelError as ModelError
from .exchange import Request as Request
from .exchange import ToolCall as ToolCall
from .exchange import Voice as Voice
from .exchange import calls_of as calls_of
from .exchange import ceilings_met as ceilings_met
from .exchange import named_model as named_model
from .exchange import summed as summed
from .exchange import usage_of as usage_of
from .exchange import why_lost as why_lost

if TYPE_CHECKING:
    from .cache import Cache as Cache
    from .cache import Mode as Mode
    from .cache import export_entries as export_entries
    from .cache import import_entries as import_entries
    from .cache import read_batch as read_batch
    from .cache import write_batch as write_batch
    from .client import LiteLLMClient as LiteLLMClient
    from .client import Patience as Patience
    from .client import SpendingLimits as SpendingLimits
    from .client import open_door as open_door
    from .prompts import marks as marks
    from .prompts import prompt as prompt
    from .replay import Replay as Replay
    from .replay import exchanges as exchanges
else:
    __getattr__ = fetched(
        __name__,
        {
            "cache": ("Cache", "Mode", "export_entries", "import_entries", "read_batch", "write_batch"),
            "client": ("SpendingLimits", "LiteLLMClient", "Patience", "open_door"),
            "prompts": ("marks", "prompt"),
            "replay": ("Replay", "exchanges"),
        },
    )
