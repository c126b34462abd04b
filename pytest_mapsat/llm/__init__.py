"""The door to models: what is asked, what comes back, what it may cost. Nothing of a model's library is imported before a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .exchange import OF_THE_REPLY, Answer, ModelClient, ModelError, Request, ToolCall, ceilings_met, named_model

if TYPE_CHECKING:
    from .cache import Cache, Mode, export_entries, import_entries, read_batch, write_batch
    from .client import Limits, LiteLLMClient, Patience, open_door
    from .prompts import marks, prompt
else:
    __getattr__ = fetched(
        __name__,
        {
            "cache": ("Cache", "Mode", "export_entries", "import_entries", "read_batch", "write_batch"),
            "client": ("Limits", "LiteLLMClient", "Patience", "open_door"),
            "prompts": ("marks", "prompt"),
        },
    )

__all__ = [
    "OF_THE_REPLY",
    "Answer",
    "Cache",
    "Limits",
    "LiteLLMClient",
    "Mode",
    "ModelClient",
    "ModelError",
    "Patience",
    "Request",
    "ToolCall",
    "ceilings_met",
    "export_entries",
    "import_entries",
    "marks",
    "named_model",
    "open_door",
    "prompt",
    "read_batch",
    "write_batch",
]
