"""Whose turn it is to compute: agents and models are waited for side by side, our own work is done by one thread after another.

Python runs one thread at a time anyway. Where many want to run, each of them wakes every few milliseconds to ask for the interpreter, and
those wakings cost more than the work. In turn, a thread that cannot go on sleeps until it is called.

Turns are a courtesy and exclude nobody: nothing may rely on them, and whoever waits while nobody is called goes on without.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local

#: How long nobody may have been called, seconds, before those that wait for a turn go on without: whoever has it is waiting for something.
_PATIENCE = 1.0


class Turns:
    """One turn, which goes from thread to thread in the order in which they asked for it."""

    def __init__(self) -> None:
        self._changing = Lock()
        self._taken = False
        self._calls = 0
        self._queue: deque[Lock] = deque()
        self._mine = local()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute when it is this thread's turn."""
        if self._is_mine():
            yield
            return
        self._mine.held = self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let others compute, if this thread has the turn, while it waits for something or runs code that may."""
        if not self._is_mine():
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._mine.held = self._take()

    def _is_mine(self) -> bool:
        return getattr(self._mine, "held", False)

    def _take(self) -> bool:
        """Wait for the turn; return whether it came."""
        with self._changing:
            if not self._taken:
                self._taken = True
                return True
            called = Lock()
            called.acquire()
            self._queue.append(called)
        try:
            calls = -1
            while calls != self._calls:
                calls = self._calls
                if called.acquire(timeout=_PATIENCE):
                    return True
        except BaseException:
            if not self._leave(called):  # nobody may be left with it
                self._mine.held = True
                self._give()
            raise
        return not self._leave(called)

    def _leave(self, called: Lock) -> bool:
        """Wait no longer; return False where the turn has come meanwhile."""
        with self._changing:
            if called not in self._queue:
                return False
            self._queue.remove(called)
            return True

    def _give(self) -> None:
        if not self._is_mine():
            return
        self._mine.held = False
        with self._changing:
            if self._queue:
                self._calls += 1
                self._queue.popleft().release()
            else:
                self._taken = False


_turns = Turns()  # there is one interpreter in a process
computing = _turns.computing
waiting = _turns.waiting
