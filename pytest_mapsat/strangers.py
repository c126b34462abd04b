"""Code of others, called so that whatever it raises or changes stays its own.

Agents, custom checks and hooks all run in this process. What they raise is theirs, a ``KeyboardInterrupt`` as well: only a signal
is the user's Ctrl-C. What they turn off for everybody is put back after each call.
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, ParamSpec, TextIO, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SHOWN = 500
#: Modules whose names all code looks up as it goes.
_SHARED = (builtins, time)

#: How many listeners there are, and how many interrupts they have heard.
_listeners = 0
_heard = 0


class StrangerError(Exception):
    """The code of others raised.

    Attributes:
        error: what it raised; any ``BaseException``.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__(type(error).__name__)


class Surroundings:
    """What all code of a process shares and an agent, a check or a hook may change: remembered, to be put back."""

    def __init__(self) -> None:
        self._limit = sys.getrecursionlimit()
        self._directory = _directory()
        self._modules = [(vars(module), vars(module).copy()) for module in _SHARED]
        self._streams = [stream for stream in (sys.stdout, sys.stderr) if _keep_open(stream)]

    def restore(self) -> None:
        """Put everything back."""
        # Nothing else can be called below a limit that is too low.
        if sys.getrecursionlimit() != self._limit:
            sys.setrecursionlimit(self._limit)
        for names, former in self._modules:
            names.update(former)
        if self._directory and _directory() != self._directory:
            with suppress(OSError):
                os.chdir(self._directory)
        for stream in self._streams:
            vars(stream).pop("close", None)


class _OfMainThread(Surroundings):
    """The same, and who hears the user's interrupt: only the main thread can change that."""

    def __init__(self) -> None:
        self._on_interrupt = signal.getsignal(signal.SIGINT)
        super().__init__()

    def restore(self) -> None:
        super().restore()
        if _listeners and signal.getsignal(signal.SIGINT) is not self._on_interrupt:
            signal.signal(signal.SIGINT, self._on_interrupt)


def call_stranger(function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return what the function returns.

    A copy of the process that the function forks ends here: two of them would write to the same files.

    Raises:
        StrangerError: the function raised, whatever it was.
        KeyboardInterrupt: the user interrupted the run meanwhile, whatever the function made of it.
    """
    process, limit, heard = os.getpid(), sys.getrecursionlimit(), _heard
    # Elsewhere the thread that waits puts back: one that was left behind must not, whenever it comes to an end.
    before = _OfMainThread() if _on_main_thread() else None
    raised: BaseException | None = None
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001  # whatever others raise; told apart below
        raised = error
    end_copy_of(process)
    if sys.getrecursionlimit() != limit:
        sys.setrecursionlimit(limit)
    if before is not None:
        before.restore()
    if _is_interrupted(heard, raised):
        raise KeyboardInterrupt
    if raised is not None:
        raise StrangerError(raised)
    return result


def end_copy_of(process: int) -> None:
    """End this process at once if it is not the one of the given id: the copy of it that ``os.fork`` made."""
    if os.getpid() != process:
        os._exit(1)


def words_of(error: BaseException) -> str:
    """Return the type and the words of what others raised, cut to a readable length."""
    try:
        words = call_stranger(str, error)
    except StrangerError:
        words = "its message cannot be read"
    words = words.encode(errors="replace").decode() or "no message"
    return f"{type(error).__name__}: {words if len(words) <= _SHOWN else words[: _SHOWN - 3] + '...'}"


@contextmanager
def listening() -> Iterator[None]:
    """Note the user's interrupts, so that they can be told from an exception that somebody raises; each is passed on."""
    global _listeners  # noqa: PLW0603  # signals belong to the process
    former = signal.getsignal(signal.SIGINT)
    if not _on_main_thread() or not callable(former):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        global _heard  # noqa: PLW0603
        try:
            former(number, frame)
        except KeyboardInterrupt:
            _heard += 1
            raise

    signal.signal(signal.SIGINT, note)
    _listeners += 1
    try:
        yield
    finally:
        _listeners -= 1
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, former)


def _is_interrupted(heard: int, raised: BaseException | None) -> bool:
    """Return whether the user interrupted this thread. While nobody listens, any interrupt is taken for the user's."""
    if not _on_main_thread():
        return False
    return _heard != heard if _listeners else isinstance(raised, KeyboardInterrupt)


def _on_main_thread() -> bool:
    return current_thread() is main_thread()


def _directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  # a Path would cost more than the call
    except OSError:
        return ""


def _keep_open(stream: TextIO | None) -> bool:
    """Make ``close`` of a stream of everybody do nothing but flush; return whether that was done here."""
    attributes: dict[str, Any] | None = getattr(stream, "__dict__", None)
    if stream is None or attributes is None or "close" in attributes:
        return False
    attributes["close"] = stream.flush
    return True
