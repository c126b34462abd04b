"""One dialogue with its limits: an agent, a user, a sandbox of tools, and what happened between them."""

from __future__ import annotations

from .channel import Limits, Remembering
from .dialogue import run_episode, without_sandbox
from .threads import leave_behind, shutdown

__all__ = ["Limits", "Remembering", "leave_behind", "run_episode", "shutdown", "without_sandbox"]
