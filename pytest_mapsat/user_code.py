"""Code of others, called so that whatever it raises or changes stays its own.

Agents, custom checks and hooks all run in this process. What they raise is theirs, a ``KeyboardInterrupt`` as well: only a signal
is the user's Ctrl-C. What they turn off for everybody is put back after each call.
"""

from __future__ import annotations

import builtins
import os
import select
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from threading import Thread, current_thread, local, main_thread
from traceback import walk_tb
from types import FrameType
from typing import Any, ParamSpec, TextIO, TypeVar

from pytest_mapsat.secrets import known_secrets

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SHOWN = 500
#: What a process that may use so much memory only keeps for the time when others have used it up, bytes: to say so takes some.
SPARE = 8 << 20
_spare: list[bytearray] = []
_OURS = str(Path(__file__).resolve().parent) + os.sep
_LIBRARIES = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_NAME = type.__dict__["__name__"].__get__
#: Modules whose names all code looks up as it goes.
_SHARED = (builtins, time)

#: How long a copy of the process may take to come back from a call, seconds, before it counts as one with work of its own.
_PATIENCE = 0.5

#: The calls under way, the one of this context, the pipes from the copies that were made and in which call, the pipe of a fork under way, and
#: where a copy tells that it came back.
_under_way: set[object] = set()
_call: ContextVar[object] = ContextVar("mapsat_call", default=None)
_copies: list[tuple[int, object]] = []
_forking = local()
_original: int | None = None

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
        super().__init__(name_of(type(error)))


def is_a(value: object, *kinds: type) -> bool:
    """Return whether a value of others is of one of the types, whatever it says of itself: ``isinstance`` would ask it."""
    return issubclass(type(value), kinds)


def name_of(kind: type) -> str:
    """Return the name of a type of others, whatever its own type says."""
    name: str = _NAME(kind)
    return name


def forget_installed() -> None:
    """Have packages looked for anew: others may be installed when another run begins in this process."""
    _select_installed.cache_clear()


def installed(group: str) -> list[EntryPoint]:
    """Return what installed packages add under the name of a group, in a fixed order."""
    return sorted(_select_installed(tuple(sys.path))(group=group), key=lambda point: (point.name, point.value))


@lru_cache(maxsize=1)
def _select_installed(path: tuple[str, ...]) -> Callable[..., EntryPoints]:  # noqa: ARG001  where packages are looked for
    """Look through the packages of a process once: it takes 5 ms with a hundred of them, and three rooms ask."""
    return entry_points().select


def keep_spare() -> None:
    """Keep memory for the time when there is none."""
    _spare.append(bytearray(SPARE))


def make_room(error: BaseException) -> None:
    """Let go of the memory that was kept, where code of others has found none; called before anything is made of what it raised."""
    if is_a(error, MemoryError):
        _spare.clear()


class Surroundings:
    """What all code of a process shares and an agent, a check or a hook may change: remembered, to be put back.

    Args:
        streams: whether the standard streams are kept open meanwhile.
    """

    def __init__(self, *, streams: bool = True) -> None:
        self._limit = sys.getrecursionlimit()
        self._directory = _directory()
        self._modules = [(vars(module), vars(module).copy()) for module in _SHARED]
        self._excepthook = threading.excepthook
        self._streams = [stream for stream in (sys.stdout, sys.stderr) if streams and _keep_open(stream)]

    def restore(self) -> None:
        """Put everything back."""
        # Nothing else can be called below a limit that is too low.
        if sys.getrecursionlimit() != self._limit:
            sys.setrecursionlimit(self._limit)
        for names, former in self._modules:
            names.update(former)
        threading.excepthook = self._excepthook
        if self._directory and _directory() != self._directory:
            with suppress(OSError):
                os.chdir(self._directory)
        for stream in self._streams:
            vars(stream).pop("close", None)


def new_thread(work: Callable[..., None], name: str, *arguments: object) -> Thread:
    """Return a thread of ours that ends with the process, whatever an agent that is in its reply has made of ``threading.excepthook``."""
    threading.excepthook = vars(threading)["excepthook"] or threading.__excepthook__
    return Thread(target=work, args=arguments, name=name, daemon=True)


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
        StrangerError: the function raised, whatever it was, or a copy of the process came back from it.
        KeyboardInterrupt: the user interrupted the run meanwhile, whatever the function made of it.
    """
    process, limit, heard = os.getpid(), sys.getrecursionlimit(), _heard
    # Elsewhere the thread that waits puts back: one that was left behind must not, whenever it comes to an end.
    before = _OfMainThread() if _on_main_thread() else None
    raised: BaseException | None = None
    under_way = object()
    _under_way.add(under_way)
    outer = _call.set(under_way)
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001  # whatever others raise; told apart below
        raised = error
        make_room(error)
    end_copy_of(process, raised)
    _call.reset(outer)
    _under_way.discard(under_way)
    if sys.getrecursionlimit() != limit:
        sys.setrecursionlimit(limit)
    if _copies and _any_came_back(under_way) and raised is None:
        raised = RuntimeError("a copy of the process came back from the call: one made with os.fork ends with os._exit")
    if before is not None:
        before.restore()
    if _is_interrupted(heard, raised):
        raise KeyboardInterrupt
    if raised is not None:
        raise StrangerError(raised)
    return result


def end_copy_of(process: int, raised: BaseException | None = None) -> None:
    """End this process at once if it is not the one of the given id: the copy of it that ``os.fork`` made.

    The process that it is a copy of is told, unless the copy meant to end: it raised ``SystemExit``.
    """
    if os.getpid() == process:
        return
    if _original is not None and not is_a(raised, SystemExit):
        with suppress(OSError):
            os.write(_original, b".")
    os._exit(1)


# A fork during a call is noticed, and a pipe tells what became of the copy: it wrote, so it came back; it closed its end, so it ran
# another program or ended. One that does neither for a while has work of its own.


def _before_fork() -> None:
    _forking.pipe = None
    if _under_way:
        with suppress(OSError):
            _forking.pipe = os.pipe()


def _after_fork_in_parent() -> None:
    if _forking.pipe is not None:
        reads, writes = _forking.pipe
        os.close(writes)
        _copies.append((reads, _call.get()))


def _after_fork_in_child() -> None:
    global _original  # a process is a copy of one other
    while _copies:
        os.close(_copies.pop()[0])
    if _forking.pipe is not None:
        reads, _original = _forking.pipe
        os.close(reads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def _any_came_back(under_way: object) -> bool:
    """Wait a moment for the copies that were made in a call, or nobody knows where, and return whether one of them came back."""
    until = time.perf_counter() + _PATIENCE
    came_back = False
    for copy in [copy for copy in _copies if copy[1] in (under_way, None)]:
        try:
            _copies.remove(copy)
        except ValueError:
            continue  # another call has looked after it
        reads = copy[0]
        listener = select.poll()
        listener.register(reads, select.POLLIN)
        if listener.poll(max(until - time.perf_counter(), 0) * 1000):
            came_back = bool(os.read(reads, 1)) or came_back
        os.close(reads)
    return came_back


def plain(text: str) -> str:
    """Return what others wrote so that it cannot steer a terminal: control characters become escapes, lines stay lines."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in text)


def words_of(error: BaseException) -> str:
    """Return the type and the words of what others raised, cut to a readable length."""
    try:
        words = known_secrets().hidden(call_stranger(str, error))
    except StrangerError:
        words = "its message cannot be read"
    words = plain(words[: 2 * _SHOWN].encode(errors="replace").decode()) or "no message"
    return f"{name_of(type(error))}: {words if len(words) <= _SHOWN else words[: _SHOWN - 3] + '...'}"


def place_of(error: BaseException) -> str:
    """Return where code of others raised, as `` (conftest.py:12)``; empty where it was not in a file of theirs."""
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(BaseException.__dict__["__traceback__"].__get__(error))
        if not frame.f_code.co_filename.startswith((_OURS, "<"))
    ]
    own = [place for place in frames if not place[0].startswith(_LIBRARIES)]
    return f" ({Path((own or frames)[-1][0]).name}:{(own or frames)[-1][1]})" if frames else ""


@contextmanager
def listening() -> Iterator[None]:
    """Note the user's interrupts, so that they can be told from an exception that somebody raises; each is passed on."""
    global _listeners  # noqa: PLW0603  # signals belong to the process
    former = signal.getsignal(signal.SIGINT)
    if not _on_main_thread() or former is None:
        yield
        return
    listener = _listener(former) if callable(former) else former  # where it is ignored, no interrupt is the user's
    if listener is not former:
        signal.signal(signal.SIGINT, listener)
    _listeners += 1
    try:
        yield
    finally:
        _listeners -= 1
        if listener is not former and signal.getsignal(signal.SIGINT) is listener:
            signal.signal(signal.SIGINT, former)


def _listener(former: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], None]:
    def note(number: int, frame: FrameType | None) -> None:
        global _heard  # noqa: PLW0603
        try:
            former(number, frame)
        except KeyboardInterrupt:
            _heard += 1
            raise

    return note


def _is_interrupted(heard: int, raised: BaseException | None) -> bool:
    """Return whether the user interrupted this thread. While nobody listens, any interrupt is taken for the user's."""
    if not _on_main_thread():
        return False
    return _heard != heard if _listeners else is_a(raised, KeyboardInterrupt)


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
