"""The one place that calls a model, through litellm, which is imported inside the call only; and what its response says."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from math import isfinite
from threading import Event, Lock
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

from pytest_mapsat.formats import object_in, redacted
from pytest_mapsat.interpreter import on_thread
from pytest_mapsat.model import Json, JsonObject, Usage, UsageError, shown
from pytest_mapsat.store import missing

from .exchange import Answer, Kind, ModelError, Request, ToolCall, calls_of

#: How litellm is to behave from its import on: prices from its own copy, no file of settings read into the environment.
_ENVIRONMENT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
#: Packages whose warnings are about each other; where a user turns warnings into errors they would break a call.
_NOISY = r"(litellm|openai|pydantic|httpx|aiohttp|importlib)\b"
#: Classes of litellm's errors, the most special first, and what they mean here.
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("ContextWindowExceededError", "too_long"),
    ("ContentPolicyViolationError", "refused"),
    ("UnsupportedParamsError", "unsupported"),
    ("AuthenticationError", "no_key"),
    ("PermissionDeniedError", "no_key"),
    ("NotFoundError", "unknown_model"),
    ("LiteLLMUnknownProvider", "unknown_model"),
    ("RateLimitError", "rate_limited"),
    ("Timeout", "timeout"),
    ("ServiceUnavailableError", "unavailable"),
    ("BadGatewayError", "unavailable"),
    ("InternalServerError", "unavailable"),
    ("APIConnectionError", "unavailable"),
    ("JSONSchemaValidationError", "malformed"),
    ("BadRequestError", "rejected"),
    ("UnprocessableEntityError", "rejected"),
)
#: Words of errors that come in too general a class.
_TOLD: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"LLM Provider NOT provided"), "unknown_model"),
    (re.compile(r"Missing credentials|api_key client option must be set"), "no_key"),
    (
        re.compile(r"context[_ ](?:length|window)|too many (?:input )?tokens|prompt is too long", re.IGNORECASE),
        "too_long",
    ),
)
_ADVICE: Mapping[Kind, str] = {
    "no_key": "set the service's key in the environment, as OPENAI_API_KEY",
    "unknown_model": "name it as litellm does, as in openai/gpt-4o or anthropic/claude-sonnet-4-0",
}
_SHOWN = 300
_CLIENT_ERRORS = range(400, 500)
#: How often somebody who waits looks whether the answer is still wanted, seconds.
_GLANCE = 0.1
#: How long the first call of a model is waited for before others are made beside it, seconds.
_FIRST = 10.0
#: A model, and where its service is.
_Service = tuple[str, tuple[tuple[str, str], ...]]
_lock = Lock()
_firsts: dict[_Service, Lock] = {}
_met: set[_Service] = set()


class Response(NamedTuple):
    """What came back: the body as data, the price in US dollars where it is known, and how long it took in seconds."""

    body: JsonObject
    cost: float | None
    seconds: float


def call_model(request: Request, *, timeout: float, cancelled: Event | None = None) -> Response:
    """Call a model once.

    Args:
        request: what is asked.
        timeout: seconds until the call is left behind.
        cancelled: set by somebody who no longer wants the answer.

    Raises:
        ModelError: there is no response.
        UsageError: litellm is not installed.
    """
    litellm = library()
    # Not catch_warnings: it is not safe with threads. pytest takes the filter back at the end of the item.
    warnings.filterwarnings("ignore", module=_NOISY)
    started = perf_counter()

    def complete() -> Any:
        with _after_the_first(request.model), calls_of():
            return completion()

    def completion() -> Any:
        if request.embeds:
            return litellm.embedding(**request.body(), timeout=timeout, num_retries=0, max_retries=0)
        # Models' tools are ours: without the switch litellm looks for tools of MCP servers, and for the package mcp.
        return litellm.completion(
            **request.body(), timeout=timeout, num_retries=0, max_retries=0, _skip_mcp_handler=True
        )

    outcome = _in_time(complete, timeout, cancelled)
    seconds = perf_counter() - started
    if outcome is None:
        gone = cancelled is not None and cancelled.is_set()
        reason = "the call was cancelled" if gone else f"did not answer in {timeout:.3g} s"
        raise ModelError("cancelled" if gone else "timeout", f"{request.model}: {reason}", purpose=request.purpose)
    if isinstance(outcome, BaseException):
        raise _fault(litellm, outcome, request)
    return Response(outcome.model_dump(mode="json"), _price(litellm, outcome, request.model), seconds)


@contextmanager
def _after_the_first(model: str) -> Iterator[None]:
    """Let the first call of a model be made alone.

    Libraries of models make a connection for every call that comes before the first has ended, and leave the others open.
    """
    places = ((name, value) for name, value in os.environ.items() if name.endswith(("_API_BASE", "_BASE_URL")))
    service = (model, tuple(sorted(places)))
    with _lock:
        first = _firsts.setdefault(service, Lock())
    mine = service not in _met and first.acquire(timeout=_FIRST)
    if mine and service in _met:  # it has been made meanwhile
        first.release()
        mine = False
    try:
        yield
    finally:
        _met.add(service)
        if mine:
            first.release()


def has_price(model: str) -> bool:
    """Return whether litellm knows what a model's tokens cost."""
    try:
        info = library().get_model_info(model)
    except Exception:  # noqa: BLE001  it raises plain Exception for a model that it does not know
        return False
    return bool(info.get("input_cost_per_token") is not None and info.get("output_cost_per_token") is not None)


def library() -> ModuleType:
    """Return litellm, imported now if need be: offline, quiet, and with the environment left as it was.

    Raises:
        UsageError: it is not installed.
    """
    with _lock:
        fresh = "litellm" not in sys.modules
        before = {name: os.environ.get(name) for name in _ENVIRONMENT}
        os.environ.update({name: value for name, value in _ENVIRONMENT.items() if before[name] is None})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import litellm  # noqa: PLC0415  3 s, 200 MB, an extra
        except ImportError as error:
            if error.name not in (None, "litellm"):
                raise UsageError(f"litellm cannot be imported: there is no module {error.name!r}") from None
            raise missing("litellm", "asking a model") from None
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
        if fresh:
            litellm.telemetry = False
            litellm.suppress_debug_info = True
    module: ModuleType = litellm
    return module


def _in_time(work: Callable[[], Any], seconds: float, cancelled: Event | None) -> Any:
    """Return what the work returns or raises; None when it is not done in time or not wanted any more.

    On a thread of its own, which is left behind then: a service that sends a byte now and then outlives every timeout of a socket.
    """
    outcome = on_thread(work, "mapsat-model")
    until = perf_counter() + seconds
    while not wait([outcome], min(_GLANCE if cancelled else seconds, max(until - perf_counter(), 0))).done:
        if perf_counter() >= until or (cancelled is not None and cancelled.is_set()):
            return None
    return outcome.exception() or outcome.result()


def _price(litellm: ModuleType, response: Any, model: str) -> float | None:
    with suppress(Exception):  # it raises plain Exception for a model without prices
        return float(litellm.completion_cost(completion_response=response, model=model))
    return None


def _fault(litellm: ModuleType, error: BaseException, request: Request) -> ModelError:
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    kinds = ((getattr(litellm, name, None) or getattr(litellm.exceptions, name, None), kind) for name, kind in _KINDS)
    kind: Kind = next(
        (kind for error_class, kind in kinds if error_class is not None and isinstance(error, error_class)),
        "unavailable",
    )
    status = getattr(error, "status_code", None)
    text = str(error)
    kind_of_words = next((error_class for words, error_class in _TOLD if words.search(text)), None)
    if kind_of_words is not None and kind in ("rejected", "unavailable"):
        kind = kind_of_words
    elif kind == "unavailable" and isinstance(status, int) and status in _CLIENT_ERRORS:
        kind = "rejected"
    reason = " ".join(redacted(text).removeprefix("litellm.").split())
    reason = reason if len(reason) <= _SHOWN else reason[: _SHOWN - 3] + "..."
    advice = f"; {_ADVICE[kind]}" if kind in _ADVICE else ""
    wait = _retry_after(error)
    return ModelError(kind, f"{request.model}: {reason}{advice}", purpose=request.purpose, retry_after=wait)


def _retry_after(error: BaseException) -> float | None:
    """Return the seconds of a Retry-After header; None where there is none, or a date."""
    sources = (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    )
    for headers in sources:
        with suppress(Exception):
            value = float(headers["retry-after"])  # type: ignore[index]  # a mapping, or anything else that raises
            if 0 <= value < 1e6:  # noqa: PLR2004  neither infinite nor a year
                return value
    return None


# -- the response of the chat interface, of a live call or a batch file ------------------------------------------------

#: Characters of one reply, and of the arguments of one call; calls in one reply.
_MOST_TEXT = 1_000_000
_MOST_CALLS = 100


def answer_of(response: Json, request: Request, *, cost: float | None = None, seconds: float = 0.0) -> Answer:
    """Return the answer that a response holds.

    Args:
        response: the body, as data.
        request: what was asked.
        cost: US dollars; None: not known.
        seconds: how long it took.

    Raises:
        ModelError: the reply is empty, cut, refused, or not what was asked for.
    """
    usage = _usage(response, cost)

    def fault(kind: Kind, what: str) -> ModelError:
        return ModelError(kind, f"{request.model} {what}", purpose=request.purpose, usage=usage)

    choices = response.get("choices") if isinstance(response, Mapping) else None
    choice = choices[0] if isinstance(choices, Sequence) and not isinstance(choices, str) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise fault("malformed", f"gave a response without choices[0].message: {shown(response)}")
    finish, text = str(choice.get("finish_reason") or "")[:40], message.get("content")
    text = text if isinstance(text, str) else ""
    if len(text) > _MOST_TEXT:
        raise fault("malformed", f"gave {len(text):,} characters; at most {_MOST_TEXT:,} are taken")
    if (refusal := _refusal(message)) or finish == "content_filter":
        raise fault("refused", "refused" + (f": {shown(refusal)}" if refusal else " (finish_reason content_filter)"))
    if finish == "length":
        raise fault("cut", f"was cut off after {len(text):,} characters (finish_reason length)")
    calls = _calls(message.get("tool_calls"))
    if calls is None:
        raise fault("malformed", "gave tool calls that cannot be read")
    if not calls and not text.strip():
        raise fault("empty", "gave an empty reply")
    data: JsonObject | None = None
    if request.schema_ is not None and not calls:
        data = object_in(text).data or object_in(text[text.find("{") : text.rfind("}") + 1]).data
        if data is None:
            raise fault("malformed", f"was asked for a JSON object and gave {shown(text)}")
    return Answer(text=text, data=data, tool_calls=calls, finish=finish, usage=usage, seconds=round(seconds, 3))


def embeddings_of(response: Json, request: Request, *, cost: float | None = None, seconds: float = 0.0) -> Answer:
    """Return the answer that a response to a request for embeddings holds; arguments and errors as of ``answer_of``."""
    usage, vectors = _usage(response, cost), _vectors(response)
    if len(vectors) != len(request.messages):
        what = f"{request.model} gave {len(vectors)} embeddings for {len(request.messages)} texts"
        raise ModelError("malformed", what, purpose=request.purpose, usage=usage)
    return Answer(data={"embeddings": vectors}, usage=usage, seconds=round(seconds, 3))


def _vectors(response: Json) -> list[list[float]]:
    """Return the vectors of a response in the order of their texts, up to the first that is none."""
    data = response.get("data") if isinstance(response, Mapping) else None
    entries = [entry for entry in data if isinstance(entry, Mapping)] if isinstance(data, list) else []
    vectors: list[list[float]] = []
    for entry in sorted(entries, key=lambda entry: int(entry.get("index") or 0)):
        vector = entry.get("embedding")
        if not (isinstance(vector, list) and vector and all(map(_is_figure, vector))):
            break
        vectors.append([float(value) for value in vector])
    return vectors


def _is_figure(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _usage(response: Json, cost: float | None) -> Usage:
    """Return what the response says it used; a count of 0 for what went in stands for none at all."""
    used = response.get("usage") if isinstance(response, Mapping) else None
    counts = [used.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(used, Mapping) else []
    tokens = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count >= 0]
    if len(tokens) != 2 or tokens[0] == 0:  # noqa: PLR2004  in and out
        return Usage()
    return Usage(input_tokens=tokens[0], output_tokens=tokens[1], cost=cost)


def _refusal(message: Mapping[str, Json]) -> str:
    extra = message.get("provider_specific_fields")
    places = [message, extra] if isinstance(extra, Mapping) else [message]
    return next(
        (refusal for place in places if isinstance(refusal := place.get("refusal"), str) and refusal.strip()), ""
    )


def _calls(given: Json) -> tuple[ToolCall, ...] | None:
    """Return the calls of a reply; None where they have not the form of calls."""
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > _MOST_CALLS:
        return None
    calls = []
    for number, call in enumerate(given, start=1):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            return None
        name, text = function.get("name"), function.get("arguments")
        text = "{}" if text in (None, "") else text
        if not isinstance(name, str) or not isinstance(text, str) or len(text) > _MOST_TEXT:
            return None
        call_id = str(call.get("id") or f"call_{number}")[:200]
        calls.append(ToolCall(id=call_id, name=name, arguments=object_in(text).data, text=text))
    return tuple(calls)
