"""An exception in somebody's code becomes a fault that can be printed, saved and compared."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from traceback import walk_tb
from types import FrameType

from pytest_mapsat.model import Blame, Fault
from pytest_mapsat.secrets import known_secrets
from pytest_mapsat.user_code import StrangerError, call_stranger, is_a, name_of

from .jsondata import text as writable
from .unreachable import unreachable_service

_SHOWN = 500
_FRAMES = 5
#: Of the words of an exception no more is looked at.
_READ = 20_000
_TRACEBACK = BaseException.__dict__["__traceback__"].__get__
_CAUSE = BaseException.__dict__["__cause__"].__get__
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
#: An absolute path of at least two parts; not the path of a URL.
_PATH = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?(?:[/\\][^\s'\"<>:,;()/\\]+)+[/\\]([^\s'\"<>:,;()/\\]+)")
_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_STANDARD = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib"))


class AgentFault(Exception):  # noqa: N818  # it carries a fault, and is not an error of ours
    """The agent broke its contract, or raised.

    Attributes:
        fault: what to say of it; blame is the agent's, or the infrastructure's where a service of the agent cannot be reached.
    """

    def __init__(self, message: str, detail: str = "", blame: Blame = "agent") -> None:
        self.fault = Fault(blame=blame, message=message, detail=detail)
        super().__init__(message)


def scrubbed(text: str, most: int = _SHOWN) -> str:
    """Return the text without secrets of the environment, memory addresses and absolute paths (the file name stays), cut to a readable length, in characters."""
    # Before it is cut: what is left of a secret that was cut through would not be known for one.
    words = writable(_PATH.sub(r"\1", _ADDRESS.sub("0x...", known_secrets().hidden(text)[:_READ])))
    return words if len(words) <= most else words[: most - 3] + "..."


def describe(error: BaseException, *, blame: Blame) -> Fault:
    """Return the fault for an exception: its type, its words, and the line it was raised at, in the user's own code if any; in detail, what it was raised from."""
    frames = _frames(error)
    where = f" ({frames[-1]})" if frames else ""
    cause = _CAUSE(error)
    because = [] if cause is None else [f"because of {name_of(type(cause))}: {_words(cause)}"]
    detail = "\n".join((*frames[-_FRAMES:], *because))
    return Fault(blame=blame, message=f"{name_of(type(error))}: {_words(error)}{where}", detail=detail)


def described(error: BaseException) -> Fault:
    """Return the fault for what an agent raised: its own, unless a service that it needs cannot be reached."""
    try:
        return call_stranger(_described, error)
    except StrangerError:
        return Fault(blame="agent", message="what the agent raised cannot be told")


def _described(error: BaseException) -> Fault:
    fault = describe(error, blame="agent")
    reason = unreachable_service(error)
    if reason is None:
        return fault
    because = "" if reason is error else f", because of {name_of(type(reason))}: {_words(reason)}"
    message = f"a service of the agent's own cannot be reached: {fault.message}{because}"
    return Fault(blame="infrastructure", message=message, detail=fault.detail)


def _words(error: BaseException) -> str:
    if is_a(error, RecursionError):
        return "maximum recursion depth exceeded"
    try:
        return scrubbed(call_stranger(str, error)) or "no message"
    except StrangerError:
        return "its message cannot be read"


def _frames(error: BaseException) -> list[str]:
    """Return ``file:line in function`` of the frames in the user's code, outermost first; failing those, in installed code."""
    frames = [
        (frame, line)
        for frame, line in walk_tb(_TRACEBACK(error))
        if not frame.f_code.co_filename.startswith(_OURS) and not _is_standard(frame.f_code.co_filename)
    ]
    own = [(frame, line) for frame, line in frames if not frame.f_code.co_filename.startswith(_INSTALLED)]
    return [_place(frame, line) for frame, line in own or frames]


def _is_standard(filename: str) -> bool:
    return filename.startswith((*_STANDARD, "<frozen ")) and not filename.startswith(_INSTALLED)


def _place(frame: FrameType, line: int) -> str:
    return f"{_module_file(frame)}:{line} in {frame.f_code.co_name}"


def _module_file(frame: FrameType) -> str:
    """Return the file as seen from the directory that holds the top package of the frame's module."""
    path = Path(frame.f_code.co_filename)
    name = str(frame.f_globals.get("__name__", ""))
    parts = name.count(".") + (2 if path.name == "__init__.py" else 1)
    return "/".join(path.parts[-parts:])
