"""Calls of models that an agent makes by itself, with any client that sends with httpx: they pass unchanged, and the answers are heard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from inspect import iscoroutinefunction
from typing import Any

from pytest_mapsat.guard import GuardedCall
from pytest_mapsat.llm import HeardAnswer, asked_by

_LEAST_ERROR = 400
#: Requests on their way, by identity: a client that hands a request on to another client sends it once.
_on_their_way: set[int] = set()


def meet(call: GuardedCall) -> Any:
    """Send a request, and listen to the answer if a model is asked."""
    request = call.given[0] if call.given else call.options["request"]
    asked = None if id(request) in _on_their_way else asked_by(request)
    if asked is None:
        return call.real()
    answer = HeardAnswer(asked.url, asked.body)
    if iscoroutinefunction(call.body):
        return _awaited(call, request, answer)
    with _listening(call, request, answer) as heard:
        return heard(call.real())


async def _awaited(call: GuardedCall, request: Any, answer: HeardAnswer) -> Any:
    """Send a request of an asynchronous client, and listen to the answer."""
    with _listening(call, request, answer) as heard:
        return heard(await call.real())


@contextmanager
def _listening(call: GuardedCall, request: Any, answer: HeardAnswer) -> Iterator[Callable[[Any], Any]]:
    """Note an answer in its episode, and yield the function that listens to the response and returns it.

    If the episode is unknown, as on a thread without its context, the usage of all that are under way is.
    """

    def heard(response: Any) -> Any:
        """Note the answer in a response, now or as the agent reads it; a refused request costs nothing."""
        answer.failed = response.status_code >= _LEAST_ERROR
        answer.kind = response.headers.get("content-type", "")
        if response.is_stream_consumed:
            with suppress(RuntimeError):  # a hook of the client's has read it by itself
                answer.content, answer.is_whole = response.content, True
        else:
            _listen(response, answer)
        return response

    known = call.here.scope is not None
    for scope in call.scopes:
        if scope.heard is not None:
            scope.heard.answers.append(answer if known else HeardAnswer("", None))
    _on_their_way.add(id(request))
    try:
        yield heard
    except BaseException:
        answer.failed = True
        raise
    finally:
        _on_their_way.discard(id(request))


def _listen(response: Any, answer: HeardAnswer) -> None:
    """Keep the parts of a streamed answer as the agent reads them."""
    parts, aparts = response.iter_bytes, response.aiter_bytes

    def heard(part: bytes) -> bytes:
        """Keep a part, unless there are too many, and return it."""
        if len(answer.content) <= answer.MOST_BYTES:
            answer.content += part
        return part

    def iter_bytes(*given: Any, **options: Any) -> Iterator[bytes]:
        """Yield the parts as the client has them."""
        vars(response).update(iter_bytes=parts, aiter_bytes=aparts)
        yield from map(heard, parts(*given, **options))
        answer.is_whole = True

    async def aiter_bytes(*given: Any, **options: Any) -> AsyncIterator[bytes]:
        """Yield the parts as the client has them."""
        vars(response).update(iter_bytes=parts, aiter_bytes=aparts)
        async for part in aparts(*given, **options):
            yield heard(part)
        answer.is_whole = True

    response.iter_bytes, response.aiter_bytes = iter_bytes, aiter_bytes
