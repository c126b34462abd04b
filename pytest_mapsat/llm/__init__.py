"""The door to models: what is asked, what comes back, what it may cost. Nothing of a model's library is imported before a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .exchange import (
    OF_THE_REPLY,
    Answer,
    ModelCalls,
    ModelClient,
    ModelError,
    Request,
    ToolCall,
    calls_of,
    ceilings_met,
    named_model,
    why_lost,
)

if TYPE_CHECKING:
    from .cache import Cache, Mode, export_entries, import_entries, read_batch, write_batch
    from .client import Limits, LiteLLMClient, Patience, open_door
    from .prompts import marks, prompt
    from .replay import Replay, exchanges
else:
    __getattr__ = fetched(
        __name__,
        {
            "cache": ("Cache", "Mode", "export_entries", "import_entries", "read_batch", "write_batch"),
            "client": ("Limits", "LiteLLMClient", "Patience", "open_door"),
            "prompts": ("marks", "prompt"),
            "replay": ("Replay", "exchanges"),
        },
    )

__all__ = [
    "OF_THE_REPLY",
    "Answer",
    "Cache",
    "Limits",
    "LiteLLMClient",
    "Mode",
    "ModelCalls",
    "ModelClient",
    "ModelError",
    "Patience",
    "Replay",
    "Request",
    "ToolCall",
    "calls_of",
    "ceilings_met",
    "exchanges",
    "export_entries",
    "import_entries",
    "marks",
    "named_model",
    "open_door",
    "prompt",
    "read_batch",
    "why_lost",
    "write_batch",
]
