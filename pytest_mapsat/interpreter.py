"""Services of the interpreter for threads and rooms: a turn to compute, memory at the end, names when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from functools import cached_property
from importlib import import_module
from threading import Lock, Thread, local
from typing import TYPE_CHECKING, Any, TypeVar

_Made = TypeVar("_Made")

# -- memory ---------------------------------------------------------------------------------------------------------------

#: What is kept, bytes: a few of the arenas that Python takes at a time.
_RESERVE = 8 << 20


class _Reserve:
    """Memory that is reserved and released when the program runs out of memory, so that it can still report this.

    It is a private mapping where there is a choice: only such memory counts against a limit of the process, and the system has it back at once, which
    it may not with what Python or its allocator frees.

    Attributes:
        release: gives it back. No function of Python's own: to call one may take memory.
    """

    def __init__(self) -> None:
        self.release: Callable[[], object] = object  # nothing is kept yet
        self._memory: Any = None

    def keep(self) -> None:
        """Allocate the reserve, unless it is allocated already."""
        import mmap  # noqa: PLC0415 (for agents only)

        if self._memory is None or self._memory.closed:
            private = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
            self._memory = mmap.mmap(-1, _RESERVE, **private)
            self.release = self._memory.close


reserve = _Reserve()  # a process has one


# -- turns ----------------------------------------------------------------------------------------------------------------
# Agents and models are waited for side by side, our own work is done by one thread after another. Python runs one thread at a time anyway: where
# many want to run, each wakes every few milliseconds to ask for the interpreter, which costs more than the work.

#: Seconds after which a waiting thread goes on without the turn: its holder is itself waiting for something.
_PATIENCE = 1.0


class Turns:
    """A turn that lets one thread at a time compute. It only improves speed: no code may rely on it as a lock."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._taken = 0
        self._mine = local()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Wait for the turn and hold the turn while the context is open."""
        if self._is_mine():
            yield
            return
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Give up the turn while the context is open and the thread waits; take the turn again afterwards."""
        if not self._is_mine():
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take()

    def _is_mine(self) -> bool:
        """Return whether this thread has the turn."""
        return getattr(self._mine, "held", False)

    def _take(self) -> None:
        """Wait for the turn as long as it keeps passing between threads; continue without it if its holder seems to be stuck."""
        taken = -1
        while taken != self._taken:
            taken = self._taken
            if self._turn.acquire(timeout=_PATIENCE):
                self._mine.held = True
                self._taken += 1
                return

    def _give(self) -> None:
        """Give up the turn, if this thread holds it."""
        if self._is_mine():
            self._mine.held = False
            self._turn.release()


_turns = Turns()  # there is one interpreter in a process
computing = _turns.computing
waiting = _turns.waiting


def on_thread(function: Callable[[], _Made], name: str) -> Future[_Made]:
    """Call a function on a new daemon thread and return a future of its result; the thread may be left running."""
    outcome: Future[_Made] = Future()

    def run() -> None:
        """Call the function and set its result or its exception in the future."""
        try:
            outcome.set_result(function())
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            outcome.set_exception(error)

    Thread(target=copy_context().run, args=(run,), name=name, daemon=True).start()
    return outcome


# -- properties -----------------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    cached = cached_property
else:

    class cached(cached_property):  # noqa: N801  used as functools' own is
        """A property that is computed once, without the lock of Python 3.11's ``cached_property``, which costs more than most values here."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Compute and store the value; later accesses find the stored value directly."""
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


# -- names ----------------------------------------------------------------------------------------------------------------


def fetched(package: str, homes: Mapping[str, Sequence[str]], rest: str = "") -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package that imports names on first use, so that a run loads only the modules it needs.

    Args:
        package: its name.
        homes: names that it shows, by the module of the package in which they live. None is called like a module of the package.
        rest: the module of all classes that ``homes`` does not name; empty: there are none.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def fetch(name: str) -> Any:
        """Import the module of a name, store the value in the package and return it. Raises AttributeError for an unknown name."""
        home = home_of.get(name, rest if name[:1].isupper() else "")
        module = import_module(f"{package}.{home}") if home else None
        if not hasattr(module, name):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return fetch
