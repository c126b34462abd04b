"""Whether an agent's code raised because a service of its own could not be reached, which says nothing of the agent.

Exceptions are known by the names of their classes: no library is imported for them, and they may be of any version.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from typing import Any

from pytest_mapsat.user_code import is_a, name_of


class Unavailable(Exception):  # noqa: N818  # users raise it by this name
    """A service that the agent needs cannot be reached: the episode is lost, and the agent neither passes nor fails.

    Args:
        reason: what cannot be reached, and why; shown to people.
    """


#: Package, then class: the service did not answer. The classes below it are meant, too.
_NO_ANSWER = {
    "aiohttp": {"ClientConnectionError"},
    "anthropic": {"APIConnectionError"},
    "httpcore": {"NetworkError", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "RemoteProtocolError", "ProxyError"},
    "httpx": {"NetworkError", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "RemoteProtocolError", "ProxyError"},
    "openai": {"APIConnectionError"},
    "requests": {"ConnectionError", "Timeout", "RetryError"},
    "ssl": {"SSLError"},
    "urllib3": {"MaxRetryError", "ProtocolError", "ProxyError", "TimeoutError"},
}
#: Package, then class: the service answered with a status, and where that stands.
_STATUS = {
    ("aiohttp", "ClientResponseError"): ("status",),
    ("anthropic", "APIStatusError"): ("status_code",),
    ("httpx", "HTTPStatusError"): ("response", "status_code"),
    ("litellm", "APIError"): ("status_code",),
    ("openai", "APIStatusError"): ("status_code",),
    ("requests", "HTTPError"): ("response", "status_code"),
    ("urllib", "HTTPError"): ("code",),
}
#: No key, none for the proxy, waited too long for the request, too many requests.
_UNAVAILABLE = {401, 407, 408, 429}
#: What only asks a model is forbidden what its key may not do; another service may forbid what the agent asks for.
_MODELS = {"anthropic", "litellm", "openai"}
_FORBIDDEN = 403
_SERVER_ERRORS = range(500, 600)
_ERRNOS = {errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT}
#: So many exceptions are looked at: each may be raised from another one, in a circle too.
_MOST = 100

# Read past what a class of somebody's own makes of them.
_ERRNO = OSError.__dict__["errno"].__get__
_CAUSE = BaseException.__dict__["__cause__"].__get__
_CONTEXT = BaseException.__dict__["__context__"].__get__
_SUPPRESSED = BaseException.__dict__["__suppress_context__"].__get__
_GROUPED = BaseExceptionGroup.__dict__["exceptions"].__get__
_CLASSES = type.__dict__["__mro__"].__get__
_NAMES = type.__dict__["__dict__"].__get__


def unreachable_service(error: BaseException) -> BaseException | None:
    """Return the exception that says that a service could not be reached: the one that left the agent, or one that it was raised from or after.

    Of a group of exceptions each must be one; the first that tells of an answer decides: what came before a 404 is over.
    Exceptions of strangers may raise here.

    Args:
        error: what the agent raised.
    """
    return _reason(error, iter(range(_MOST)))


def _reason(error: BaseException | None, left: Iterator[int]) -> BaseException | None:
    while error is not None and next(left, None) is not None:
        told = _is_unreachable(error)
        if told is not None:
            return error if told else None
        if is_a(error, BaseExceptionGroup):
            reasons = [_reason(member, left) for member in _GROUPED(error)]
            return None if any(reason is None for reason in reasons) else reasons[0]
        cause = _CAUSE(error)
        error = _CONTEXT(error) if cause is None and not _SUPPRESSED(error) else cause
    return None


def _is_unreachable(error: BaseException) -> bool | None:
    """Return whether an exception says that a service could not be reached; None where it says nothing of one."""
    if is_a(error, Unavailable, socket.gaierror):
        return True
    if is_a(error, ConnectionError):
        # The pipe is most often that of a program that the agent has started itself.
        return None if is_a(error, BrokenPipeError) else True
    for package, name in _ancestors(type(error)):
        if (package, name) in _STATUS:
            return _is_unavailable(error, package, _STATUS[package, name])
        if name in _NO_ANSWER.get(package, ()):
            return True
        if (package, name) == ("urllib", "URLError"):
            # Of what was raised while it waited for the answer urllib makes nothing of its own.
            reason: Any = getattr(error, "reason", None)
            return is_a(reason, TimeoutError) or (is_a(reason, BaseException) and _is_unreachable(reason))
    return True if is_a(error, OSError) and _ERRNO(error) in _ERRNOS else None


def _ancestors(kind: type) -> Iterator[tuple[str, str]]:
    """Yield package and name of a class and of those that it is made from."""
    for ancestor in _CLASSES(kind):
        module = _NAMES(ancestor).get("__module__")
        if type(module) is str:
            yield module.partition(".")[0], name_of(ancestor)


def _is_unavailable(error: BaseException, package: str, path: tuple[str, ...]) -> bool | None:
    status: object = error
    for name in path:
        status = getattr(status, name, None)
    if not is_a(status, int):
        return None
    code = int.__pos__(status)  # type: ignore[arg-type]  # a plain number, whatever its class makes of it
    return code in _UNAVAILABLE or code in _SERVER_ERRORS or (code == _FORBIDDEN and package in _MODELS)
