"""Agents in processes of their own, which hold neither suite nor truth.

    pytest (isolated)  <-- lines of JSON: messages, calls, replies (process) -->  the agent's process (inside)
      |        ^                                                                  ^
      |        +---- orders, its end ---->  its guard (inside)  ---- forks -------+
      +---- orders ---->  keeper (inside)  ---- forks ----> guards

A guard ends its agent's process with all that it started, and removes its folder; when pytest is gone, however that went, so does each guard.
"""

from .inside import unreadable
from .isolated import IsolatedSource, Isolation, Processes, isolated_source

__all__ = ["IsolatedSource", "Isolation", "Processes", "isolated_source", "unreadable"]
