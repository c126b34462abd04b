"""The door to models: requests, answers and costs. Nothing of a model's library is imported before a call.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .cache import *
    from .client import *
    from .exchange import *
    from .heard import *
else:
    _NAMES = {
        "cache": "Cache Mode Replay asked_by exchanges export_entries import_entries read_batch write_batch",
        "client": "LiteLLMClient Patience SpendingLimits open_door",
        "exchange": (
            "Answer ModelCalls ModelClient ModelError OF_THE_REPLY Request ToolCall Voice calls_of ceilings_met marks named_model own_language prompt summed usage_of why_lost"
        ),
        "heard": "HeardAnswer HeardModels",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
