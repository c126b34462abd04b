"""Agents in processes of their own, which hold neither suite nor truth.

    pytest (isolated)  <-- line: messages, calls, replies (messages) -->  the agent's process (inside)
      |                                                                   ^
      +---- control, fate ---->  keeper (inside)  ---- forks -------------+

The keeper forks a process for each episode, ends it with all that it started, and removes its folder; it ends them all when pytest is
gone, however that went.
"""

from .inside import unreadable
from .isolated import IsolatedSource, isolated_source
from .processes import Isolation

__all__ = ["IsolatedSource", "Isolation", "isolated_source", "unreadable"]
