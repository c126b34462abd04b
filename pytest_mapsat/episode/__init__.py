"""One dialogue with its limits: an agent, a user, a sandbox of tools, and what happened between them."""

from __future__ import annotations

from .dialogue import run_episode, without_sandbox
from .limits import Limits
from .worker import LeftBehind, leave_behind, shutdown

__all__ = ["LeftBehind", "Limits", "leave_behind", "run_episode", "shutdown", "without_sandbox"]
