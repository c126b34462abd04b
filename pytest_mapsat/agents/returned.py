"""The result of an agent: a reply, data or an exception, and its meaning.

The harness never fails on any of it: the agent does, or the service that it could not reach.
"""

from __future__ import annotations

import errno
import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from math import isfinite
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic_core import to_jsonable_python

from pytest_mapsat.formats import DocumentLines, LocatedDocument, object_in, validate
from pytest_mapsat.model import Blame, Fault, Json, JsonObject, Problem, Usage
from pytest_mapsat.reply import Reply, Unavailable
from pytest_mapsat.secrets import known_secrets
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, frames_of

# -- anything, as JSON data of our own ---------------------------------------------------------------------------------

_MAX_DEPTH = 60
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
#: The most values in one piece of data: a copy of lists that hold each other many times over would never end.
_MAX_VALUES = 1_000_000
#: Integers up to 1024 bits: Python refuses to write those of more than 4300 digits.
_MAX_BITS = 1024


#: Types that are asked for first: to ask whether a value is any mapping costs more than to copy it.
_SCALARS = frozenset({int, float, bool, type(None)})


def as_json(value: Any, other: Callable[[Any], Any] | None = None) -> Json:
    """Return a deep copy of the value as JSON data.

    A value that JSON cannot hold is replaced by ``other(value)`` if that is JSON data, otherwise by the name of its type in angle brackets.
    Its ``repr`` is never used: it may show an address.
    """
    return _Copy(other).of(value, 0)


def writable(value: str) -> str:
    """Return the text as a plain ``str`` that UTF-8 can encode: lone surrogates are replaced."""
    value = str.__str__(value)
    if value.isascii():
        return value
    return _LONE_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)


class _Copy:
    """Copies one value to JSON data, up to a depth and a number of values."""

    def __init__(self, other: Callable[[Any], Any] | None) -> None:
        self._left = _MAX_VALUES
        self._other = other

    def of(self, value: Any, depth: int) -> Json:
        """Return a copy of a value as JSON data; parts that are too deep or too large become a short note."""
        self._left -= 1
        kind = type(value)
        if kind is str:
            return writable(value)
        if kind in _SCALARS or not isinstance(value, (dict, list, tuple, Mapping)):
            other = None if isinstance(value, (str, int, float, type(None))) else self._other
            return _scalar(value) if other is None else as_json(other(value))
        if depth >= _MAX_DEPTH or self._left < 0:
            return "<too deep>" if depth >= _MAX_DEPTH else "<too large>"
        if isinstance(value, (list, tuple)):
            return [self.of(item, depth + 1) for item in value]
        return {_key(key): self.of(item, depth + 1) for key, item in value.items()}


def _key(key: object) -> str:
    """Return a key of a mapping as text."""
    return writable(key) if isinstance(key, str) else str(_scalar(key))


def _scalar(value: Any) -> Json:
    """Return a scalar as JSON data; a scalar that JSON cannot hold becomes its type or value in angle brackets."""
    if isinstance(value, str):
        return writable(value)
    if value is None or isinstance(value, bool):
        return value
    # By the methods of the types themselves: those of a number of somebody's own may say anything.
    if isinstance(value, int) and int.bit_length(value) <= _MAX_BITS:
        return int.__pos__(value)
    if isinstance(value, float):
        number = float.__pos__(value)
        return number if isfinite(number) else f"<{number}>"
    return f"<{type(value).__name__}>"


# -- an exception ------------------------------------------------------------------------------------------------------

_SHOWN = 500
_FRAMES = 5
#: Of the words of an exception no more is looked at.
_READ = 20_000
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
#: An absolute path of at least two parts; not the path of a URL.
_PATH = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?(?:[/\\][^\s'\"<>:,;()/\\]+)+[/\\]([^\s'\"<>:,;()/\\]+)")


class AgentFault(Exception):  # noqa: N818  # it carries a fault, and is not an error of ours
    """The agent broke its contract, or raised an exception.

    Attributes:
        fault: what to say of it; blame is the agent's, or the infrastructure's where a service of the agent cannot be reached.
        usage: what its models used until then; None: unknown.
    """

    usage: Mapping[str, float | None] | None = None

    def __init__(self, message: str, detail: str = "", blame: Blame = "agent") -> None:
        self.fault = Fault(blame=blame, message=message, detail=detail)
        super().__init__(message)


def scrubbed(text: str, most: int = _SHOWN) -> str:
    """Return a text without secrets, memory addresses and the folders of absolute paths, cut to ``most`` characters."""
    # Before it is cut: what is left of a secret that was cut through would not be known for one.
    words = writable(_PATH.sub(r"\1", _ADDRESS.sub("0x...", known_secrets().hidden(text)[:_READ])))
    return words if len(words) <= most else words[: most - 3] + "..."


def describe(error: BaseException, *, blame: Blame) -> Fault:
    """Return the fault for an exception: its type, message and place; the detail holds the last frames and the cause."""
    places = [f"{_module_file(frame)}:{line} in {frame.f_code.co_name}" for frame, line in frames_of(error)]
    where = f" ({places[-1]})" if places else ""
    cause = error.__cause__
    because = [] if cause is None else [f"because of {type(cause).__name__}: {_words(cause)}"]
    detail = "\n".join((*places[-_FRAMES:], *because))
    return Fault(blame=blame, message=f"{type(error).__name__}: {_words(error)}{where}", detail=detail)


def described(error: BaseException) -> Fault:
    """Return the fault for an exception of the agent. The infrastructure is to blame if a service of the agent is unreachable."""
    try:
        return call_user_code(_described, error)
    except UserCodeError:
        return Fault(blame="agent", message="the agent raised an exception that cannot be printed")


def _described(error: BaseException) -> Fault:
    """Return the fault for an exception of the agent, as ``described`` does; the exception's own code may raise here."""
    fault = describe(error, blame="agent")
    reason = _reason(error, iter(range(_MOST)))
    if reason is None:
        return fault
    because = "" if reason is error else f", because of {type(reason).__name__}: {_words(reason)}"
    message = f"a service of the agent's own cannot be reached: {fault.message}{because}"
    return Fault(blame="infrastructure", message=message, detail=fault.detail)


def _words(error: BaseException) -> str:
    """Return the scrubbed message of an exception; a placeholder if it is empty or cannot be read."""
    if isinstance(error, RecursionError):
        return "maximum recursion depth exceeded"
    try:
        return scrubbed(call_user_code(str, error)) or "no message"
    except UserCodeError:
        return "its message cannot be read"


def _module_file(frame: FrameType) -> str:
    """Return the file of a frame, relative to the directory that holds its top package."""
    path = Path(frame.f_code.co_filename)
    name = str(frame.f_globals.get("__name__", ""))
    parts = name.count(".") + (2 if path.name == "__init__.py" else 1)
    return "/".join(path.parts[-parts:])


# -- a service that cannot be reached: exceptions are known by the names of their classes, so that no library is imported for them

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
    ("google", "APIError"): ("code",),
    ("openai", "APIStatusError"): ("status_code",),
    ("pydantic_ai", "ModelHTTPError"): ("status_code",),
    ("requests", "HTTPError"): ("response", "status_code"),
    ("urllib", "HTTPError"): ("code",),
}
#: No key, none for the proxy, waited too long for the request, too many requests.
_UNAVAILABLE = {401, 407, 408, 429}
#: What only asks a model is forbidden what its key may not do; another service may forbid what the agent asks for.
_MODELS = {"anthropic", "google", "litellm", "openai", "pydantic_ai"}
_FORBIDDEN = 403
_SERVER_ERRORS = range(500, 600)
_ERRNOS = {errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT}
#: So many exceptions are looked at: each may be raised from another one, in a circle too.
_MOST = 100


def _reason(error: BaseException | None, left: Iterator[int]) -> BaseException | None:
    """Return the exception in a chain that reports an unreachable service; None if there is no such exception.

    Of a group of exceptions each must be one; the first that tells of an answer decides: what came before a 404 is over.
    User code may raise here.

    Args:
        error: what the agent raised.
        left: gives as many numbers as exceptions may be looked at.
    """
    while error is not None and next(left, None) is not None:
        unreachable = _is_unreachable(error)
        if unreachable is not None:
            return error if unreachable else None
        if isinstance(error, BaseExceptionGroup):
            reasons = [_reason(member, left) for member in error.exceptions]
            return None if any(reason is None for reason in reasons) else reasons[0]
        cause = error.__cause__
        error = error.__context__ if cause is None and not error.__suppress_context__ else cause
    return None


def _is_unreachable(error: BaseException) -> bool | None:
    """Return whether an exception reports an unreachable service; None if it does not concern a service."""
    if isinstance(error, Unavailable | socket.gaierror):
        return True
    if isinstance(error, ConnectionError):
        # The pipe is most often that of a program that the agent has started itself.
        return None if isinstance(error, BrokenPipeError) else True
    for ancestor in type(error).__mro__:
        package, name = ancestor.__module__.partition(".")[0], ancestor.__name__
        if (package, name) in _STATUS:
            status: Any = error
            for part in _STATUS[package, name]:
                status = getattr(status, part, None)
            return is_unavailable(status, of_models=package in _MODELS) if isinstance(status, int) else None
        if name in _NO_ANSWER.get(package, ()):
            return True
        if (package, name) == ("urllib", "URLError"):
            # Of what was raised while it waited for the answer urllib makes nothing of its own.
            reason: Any = getattr(error, "reason", None)
            return isinstance(reason, TimeoutError) or (isinstance(reason, BaseException) and _is_unreachable(reason))
    return True if isinstance(error, OSError) and error.errno in _ERRNOS else None


def is_unavailable(status: int, *, of_models: bool) -> bool:
    """Return whether an HTTP status means that a service is down or rejects all requests.

    Args:
        status: the status of its answer.
        of_models: whether the service only asks models: 403 is then about its key, and not about what the agent asked for.
    """
    return status in _UNAVAILABLE or status in _SERVER_ERRORS or (status == _FORBIDDEN and of_models)


# -- a reply -----------------------------------------------------------------------------------------------------------

_EXPECTED = 'expected a string, a dict, a dataclass, a pydantic model or a Reply, as in: return "text"'
#: More tokens, or dollars, than anybody will ever use in one reply.
_MOST_USED = 10**15
#: The most thoughts in one reply; they are kept in the run file.
_MANY = 10_000


def checked(value: object) -> Reply:
    """Return the agent's return value as a Reply of plain data.

    Data (a dict, a dataclass, a pydantic model) are the output, and what they have under ``text`` is the text; without it, their JSON is.

    Args:
        value: what it returned.

    Raises:
        AgentFault: it is none of what an agent may return, or a part of it is not what it should be.
    """
    if isinstance(value, str):
        return Reply(writable(value))
    if _is_data(value):
        output = _output(value)
        written = output.get("text")
        return Reply(written if isinstance(written, str) else json.dumps(output, ensure_ascii=False), output=output)
    if not isinstance(value, Reply):
        raise AgentFault(f"the agent returned {_with_article(value)}; {_EXPECTED}")
    if not isinstance(value.text, str):
        raise AgentFault(f"the agent returned a Reply whose text is {_with_article(value.text)}; expected a string")
    return Reply(
        writable(value.text),
        _thoughts(value.thoughts),
        _usage(value.usage),
        None if value.output is None else _output(value.output),
    )


def with_data(reply: Reply, schema: JsonObject) -> Reply:
    """Return a reply with the JSON object in its text as output if the case asks for data; otherwise return it unchanged.

    Args:
        reply: what ``checked`` returned; data of its own stay.
        schema: the case's ``output_schema``, which is that of an object; empty where no data are asked for.

    Raises:
        AgentFault: the data are too deep or too large to be kept.
    """
    if not schema or reply.output is not None:
        return reply
    data, _, alone = object_in(reply.text)
    if data is None:
        return reply
    data_reply = checked(data)
    # Words around a block of code are what the user reads.
    return replace(
        data_reply, text=data_reply.text if alone else reply.text, thoughts=reply.thoughts, usage=reply.usage
    )


def _with_article(value: object) -> str:
    """Return the type of a value with its article, such as ``an int``, for messages."""
    if value is None:
        return "None"
    name = type(value).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    hint = " (a generator: return the text as a whole)" if "generator" in name else ""
    return f"{article} {name}{hint}"


def _thoughts(thoughts: object) -> tuple[str, ...]:
    """Return the thoughts of a reply as a tuple of texts. Raises AgentFault if they are not strings, or too many."""
    if isinstance(thoughts, str):
        return (writable(thoughts),)
    if not isinstance(thoughts, Sequence) or isinstance(thoughts, bytes):
        raise AgentFault(
            f"the agent returned a Reply whose thoughts are {_with_article(thoughts)}; expected a list of strings"
        )
    if not all(isinstance(thought, str) for thought in thoughts) or len(thoughts) > _MANY:
        raise AgentFault(f"the agent returned a Reply whose thoughts are not up to {_MANY} strings")
    return tuple(writable(thought) for thought in thoughts)


def _usage(usage: object) -> dict[str, Any] | None:
    """Return the usage of a reply without empty entries; None if the reply has no usage. Raises AgentFault if it is invalid."""
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        expected = f"expected a dict of {', '.join(Usage.model_fields)}"
        raise AgentFault(f"the agent returned a Reply whose usage is {_with_article(usage)}; {expected}")
    data: JsonObject = as_json(usage)
    for name, amount in data.items():
        number = isinstance(amount, int | float) and not isinstance(amount, bool) and amount <= _MOST_USED
        if amount is not None and not number:
            raise AgentFault(f"the agent returned bad usage: {name}: found {amount!r}, expected a number")
    problems: list[Problem] = []
    validate(Usage, LocatedDocument(data, DocumentLines(0)), "usage", problems)
    if problems:
        raise AgentFault(f"the agent returned bad {problems[0]}")
    return {name: amount for name, amount in data.items() if amount is not None}


def _jsonable(value: Any) -> Any:
    """Return a date, a decimal, an enum, a model or a similar value as JSON data. Raises AgentFault if it cannot be converted."""
    try:
        return call_user_code(to_jsonable_python, value)
    except UserCodeError as broken:
        raise AgentFault(
            f"the agent returned data with {_with_article(value)} in it: {describe_error(broken.error)}"
        ) from None


def _is_data(value: object) -> bool:
    """Return whether a value is structured data: a mapping, a dataclass or a pydantic model."""
    model = callable(getattr(type(value), "model_dump", None))
    return isinstance(value, Mapping) or model or (is_dataclass(value) and not isinstance(value, type | Reply))


def _output(output: object) -> JsonObject:
    """Return the output of a reply as a JSON object. Raises AgentFault if it is not structured data."""
    if not _is_data(output):
        raise AgentFault(f"the agent returned a Reply whose output is {_with_article(output)}; expected a dict")
    plain = output if isinstance(output, Mapping) else _jsonable(output)
    if not isinstance(plain, Mapping):
        raise AgentFault(
            f"the agent returned {_with_article(output)} that is {_with_article(plain)} in JSON; expected an object"
        )
    data: JsonObject = as_json(plain, _jsonable)
    return data
