"""The door to models: what is asked, what comes back, what it may cost. Nothing of a model's library is imported before a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.on_demand import fetched

from .ceilings import ceilings_met

if TYPE_CHECKING:
    from .batch import Taken, Written, read_batch, write_batch
    from .budget import Limits
    from .cache import MODES, Cache, Entry, Imported, Mode, export_entries, import_entries
    from .client import LiteLLMClient, Patience, open_door
    from .errors import OF_THE_REPLY, Kind, ModelError
    from .prompts import Prompt, marks, prompt
    from .request import Answer, ModelClient, Purpose, Request, ToolCall, named_model
else:
    __getattr__ = fetched(
        __name__,
        {
            "batch": ("Taken", "Written", "read_batch", "write_batch"),
            "budget": ("Limits",),
            "cache": ("MODES", "Cache", "Entry", "Imported", "Mode", "export_entries", "import_entries"),
            "client": ("LiteLLMClient", "Patience", "open_door"),
            "errors": ("OF_THE_REPLY", "Kind", "ModelError"),
            "prompts": ("Prompt", "marks", "prompt"),
            "request": ("Answer", "ModelClient", "Purpose", "Request", "ToolCall", "named_model"),
        },
    )

__all__ = [
    "MODES",
    "OF_THE_REPLY",
    "Answer",
    "Cache",
    "Entry",
    "Imported",
    "Kind",
    "Limits",
    "LiteLLMClient",
    "Mode",
    "ModelClient",
    "ModelError",
    "Patience",
    "Prompt",
    "Purpose",
    "Request",
    "Taken",
    "ToolCall",
    "Written",
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
