"""Agents in processes of their own, which hold neither suite nor truth.

    pytest  <-- line: messages, calls, replies (wire) -->  the agent's process (inside)
      |                                                       ^
      +---- control, fate ---->  keeper  ---- forks ----------+

The keeper is a fresh interpreter that has loaded what an agent's process needs and nothing of the agent. It forks a process for each
episode, ends it with all that it started, and removes its folder; it ends them all when pytest is gone, however that went.
"""

from __future__ import annotations

from .locks import unreadable
from .processes import Isolation
from .source import IsolatedSource, isolated_source

__all__ = ["IsolatedSource", "Isolation", "isolated_source", "unreadable"]
