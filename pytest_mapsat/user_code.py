"""Code of others, called so that whatever it raises stays its own.

Agents, custom checks and hooks share our process and are trusted not to attack it; ``--mapsat-isolate`` is for agents that are not. What they
raise is theirs, a ``KeyboardInterrupt`` as well: only a signal is the user's Ctrl-C.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import current_thread, main_thread
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast

from pytest_mapsat.secrets import known_secrets

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SHOWN = 500
_OURS = str(Path(__file__).resolve().parent) + os.sep
_STANDARD = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib"))

#: How many listeners there are, and how many interrupts they have heard.
_listeners = 0
_heard = 0


class UserCodeError(Exception):
    """User code raised an exception.

    Attributes:
        error: what it raised; any ``BaseException``.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__(type(error).__name__)


def forget_installed() -> None:
    """Clear the cache of installed packages, since another run in this process may find others."""
    _select_installed.cache_clear()


def installed(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, sorted by name and value."""
    return sorted(_select_installed(tuple(sys.path))(group=group), key=lambda point: (point.name, point.value))


@lru_cache(maxsize=1)
def _select_installed(path: tuple[str, ...]) -> Callable[..., EntryPoints]:  # noqa: ARG001  where packages are looked for
    """Return the function that selects entry points, cached by search path because reading all of them takes time."""
    return entry_points().select


class Surroundings:
    """The working directory and the recursion limit at one time, restored after user code has run."""

    def __init__(self) -> None:
        self._limit = sys.getrecursionlimit()
        self._directory = _directory()

    def restore(self) -> None:
        """Restore the recursion limit and the working directory."""
        if sys.getrecursionlimit() != self._limit:
            sys.setrecursionlimit(self._limit)
        if self._directory and _directory() != self._directory:
            with suppress(OSError):
                os.chdir(self._directory)


def call_user_code(function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call a function of the user's and return its result, with recursion limit and working directory restored.

    Raises:
        UserCodeError: the function raised, whatever it was.
        KeyboardInterrupt: the user interrupted the run meanwhile, whatever the function made of it.
    """
    heard, limit = _heard, sys.getrecursionlimit()
    raised: BaseException | None = None
    # Elsewhere the thread that waits puts back: one that was left behind must not, whenever it comes to an end.
    before = Surroundings() if _on_main_thread() else None
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001  # whatever others raise; told apart below
        raised = error
    if sys.getrecursionlimit() != limit:
        sys.setrecursionlimit(limit)
    if before is not None:
        before.restore()
    if _is_interrupted(heard, raised):
        raise KeyboardInterrupt
    if raised is not None:
        raise UserCodeError(raised)
    return result


def load_file(path: str) -> ModuleType:
    """Load a Python file as a new module and return it, with its folder on ``sys.path``. Exceptions of the file pass through."""
    if (folder := str(Path(path).parent)) not in sys.path:
        sys.path.insert(0, folder)
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(text: str) -> str:
    """Return a text with escaped control characters, so that it cannot control a terminal; line ends stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in text)


def describe_error(error: BaseException) -> str:
    """Return the type and message of an exception, without secrets and cut to a readable length."""
    try:
        words = known_secrets().hidden(call_user_code(str, error))
    except UserCodeError:
        words = "its message cannot be read"
    words = plain(words[: 2 * _SHOWN].encode(errors="replace").decode()) or "no message"
    return f"{type(error).__name__}: {words if len(words) <= _SHOWN else words[: _SHOWN - 3] + '...'}"


def frames_of(error: BaseException) -> list[tuple[FrameType, int]]:
    """Return the frames of the user's code in a traceback, with lines, outermost first; without any, those of installed packages."""
    frames = [(frame, line) for frame, line in walk_tb(error.__traceback__) if not _is_ours(frame.f_code.co_filename)]
    own = [(frame, line) for frame, line in frames if not frame.f_code.co_filename.startswith(_INSTALLED)]
    return own or frames


def _is_ours(filename: str) -> bool:
    """Return whether a file belongs to this package or to Python's standard library."""
    standard = filename.startswith(_STANDARD) and not filename.startswith(_INSTALLED)
    return standard or filename.startswith((_OURS, "<frozen "))


def place_of(error: BaseException) -> str:
    """Return the place where user code raised an exception, such as `` (conftest.py:12)``; empty if it is in no user file."""
    places = [(frame.f_code.co_filename, line) for frame, line in frames_of(error)]
    files = [(Path(file).name, line) for file, line in places if not file.startswith("<")]
    return f" ({files[-1][0]}:{files[-1][1]})" if files else ""


def defined_at(code: object) -> str:
    """Return the place where a user's function or class begins, such as `` (conftest.py:12)``; empty if unknown."""
    with suppress(Exception):  # an object may raise anything when it is asked for its source
        inner = inspect.unwrap(cast("Any", code))
        file = inspect.getsourcefile(inner)
        line = inspect.getsourcelines(inner)[1]
        return f" ({Path(file).name}:{line})" if file and not _is_ours(file) else ""
    return ""


@contextmanager
def listening() -> Iterator[None]:
    """Count the user's interrupts in the block, to distinguish them from a KeyboardInterrupt raised by user code."""
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
    """Return a SIGINT handler that calls the previous handler and counts each KeyboardInterrupt from it."""

    def note(number: int, frame: FrameType | None) -> None:
        """Call the previous handler and count a KeyboardInterrupt from it."""
        global _heard  # noqa: PLW0603
        try:
            former(number, frame)
        except KeyboardInterrupt:
            _heard += 1
            raise

    return note


def _is_interrupted(heard: int, raised: BaseException | None) -> bool:
    """Return whether the user interrupted this thread; without a listener, any KeyboardInterrupt counts as the user's."""
    if not _on_main_thread():
        return False
    return _heard != heard if _listeners else isinstance(raised, KeyboardInterrupt)


def _on_main_thread() -> bool:
    """Return whether this is the main thread."""
    return current_thread() is main_thread()


def _directory() -> str:
    """Return the working directory; empty if it no longer exists."""
    try:
        return os.getcwd()  # noqa: PTH109  # a Path would cost more than the call
    except OSError:
        return ""
