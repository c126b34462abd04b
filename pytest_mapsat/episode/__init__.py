"""One dialogue with its limits: an agent, a user, a world of tools, and what happened between them."""

from __future__ import annotations

from .dialogue import run_episode, without_world
from .limits import Limits
from .worker import shutdown

__all__ = ["Limits", "run_episode", "shutdown", "without_world"]
