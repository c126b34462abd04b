"""The door to models: what is asked, what comes back, what it may cost. Nothing of a model's library is imported before a call."""

from __future__ import annotations

from .errors import OF_THE_REPLY, Kind, ModelError
from .prompts import Prompt, marks, prompt
from .request import Answer, Door, Purpose, Request, ToolCall, named_model

__all__ = [
    "OF_THE_REPLY",
    "Answer",
    "Door",
    "Kind",
    "ModelError",
    "Prompt",
    "Purpose",
    "Request",
    "ToolCall",
    "marks",
    "named_model",
    "prompt",
]
