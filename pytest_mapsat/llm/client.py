"""The door itself: the cache first, then the model, within limits, again where that may help; and the one place that calls a model, through litellm, which is imported inside the call only."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event, Lock
from time import perf_counter, time
from types import ModuleType
from typing import Any
from zlib import crc32

from pytest_mapsat.formats import redacted
from pytest_mapsat.interpreter import on_thread, waiting
from pytest_mapsat.model import Usage, UsageError
from pytest_mapsat.store import Store, missing, store_folder

from .cache import Cache, Mode
from .exchange import Answer, Kind, ModelError, Request, answer_of, calls_of, embeddings_of, note_ceiling

#: What may go away by itself.
_PASSING: frozenset[Kind] = frozenset({"rate_limited", "unavailable", "timeout"})


@dataclass(frozen=True)
class Patience:
    """The limits of time and attempts for a model call.

    Attributes:
        seconds: for all attempts together.
        attempt: for one of them, seconds.
        attempts: how many at most.
        first_wait: before the second attempt, seconds; doubled each time, unless the service says how long.
        longest_wait: seconds.
    """

    seconds: float = 300.0
    attempt: float = 120.0
    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0


@dataclass(frozen=True)
class SpendingLimits:
    """The limits of a run's requests to models.

    Attributes:
        requests_a_minute: of all processes together; 0: any number.
        tokens_a_minute: likewise, in and out.
        max_cost: US dollars that the run may spend; None: any sum.
    """

    requests_a_minute: int = 0
    tokens_a_minute: int = 0
    max_cost: float | None = None


@dataclass
class LiteLLMClient:
    """The client for models in one process of a run.

    Attributes:
        mode: what the cache is used for.
        cache: the kept answers; None where the mode is ``off``.
        budget: limits shared with other processes; None where there are none.
        patience: how long to try.
    """

    mode: Mode = "auto"
    cache: Cache | None = None
    budget: Budget | None = None
    patience: Patience = field(default_factory=Patience)
    _renewed: set[str] = field(default_factory=set)

    def ask(self, request: Request, *, timeout: float | None = None, cancelled: Event | None = None) -> Answer:
        """Return the model's answer; see ``ModelClient.ask``."""
        if self.cache is not None and (self.mode != "refresh" or request.key() in self._renewed):
            kept = self.cache.find(request)
            if kept is not None:
                return kept
        if self.mode == "only":
            raise ModelError("not_cached", self._why_not_cached(request), purpose=request.purpose)
        with waiting():
            answer = self._ask_model(
                request, self.patience.seconds if timeout is None else timeout, cancelled or Event()
            )
        if self.cache is None:
            return answer
        if self.mode == "refresh":
            self._renewed.add(request.key())
        return self.cache.keep(request, answer, again=self.mode == "refresh")

    def forget_run(self) -> None:
        """Delete the run's record of spending once its processes have finished."""
        if self.budget is not None:
            self.budget.forget()

    def close(self) -> None:
        """Close the store, if there is one."""
        holder = self.cache or self.budget
        if holder is not None:
            holder.store.close()

    def _why_not_cached(self, request: Request) -> str:
        """Return the message for an answer missing from the cache: the most similar entry, and how to fill the cache."""
        near = self.cache.nearest(request) if self.cache is not None else ""
        reason = f"--mapsat-cache=only: no answer of {request.model} to this is in the cache"
        reason += f"; the nearest entry {near}" if near else ", which has none to anything like it"
        return f"{reason}; fill it with --mapsat-cache=auto, or with: python -m pytest_mapsat cache import FILE"

    def _ask_model(self, request: Request, seconds: float, cancelled: Event) -> Answer:
        """Ask the model until the time is over, with retries if they may help. Raises ModelError."""
        used, attempt = 0.0, 1
        while True:
            tokens = self._admitted(request, cancelled)  # waiting for room is not the model's time
            started = perf_counter()
            try:
                return self._attempt(request, tokens, seconds - used, cancelled)
            except ModelError as error:
                wait = self._pause(request, error, attempt)
                used += perf_counter() - started + wait
                if error.kind not in _PASSING or attempt >= self.patience.attempts or used >= seconds:
                    raise error.after(attempt) from None
            if cancelled.wait(wait):
                raise _cancelled(request)
            attempt += 1

    def _admitted(self, request: Request, cancelled: Event) -> int:
        """Wait until a call is allowed, and return its estimated tokens.

        Raises:
            ModelError: a ceiling is reached, or the answer is no longer wanted.
        """
        tokens = estimated_tokens(request)
        if self.budget is None:
            return tokens
        try:
            admitted = self.budget.admit(request, tokens, cancelled)
        except ModelError as error:
            note_ceiling(str(error))
            raise
        if not admitted:
            raise _cancelled(request)
        return tokens

    def _attempt(self, request: Request, tokens: int, seconds: float, cancelled: Event) -> Answer:
        """Ask the model once, add the cost to the budget, and return the answer."""
        usage, reserved = Usage(), tokens
        try:
            answer = call_model(request, timeout=min(self.patience.attempt, seconds), cancelled=cancelled)
            usage = answer.usage
        except ModelError as error:
            usage, tokens = error.usage, 0
            raise
        finally:
            if self.budget is not None:
                self.budget.spend(usage, tokens, reserved)
        return answer

    def _pause(self, request: Request, error: ModelError, attempt: int) -> float:
        """Return the seconds until the next attempt: as the service requests, otherwise growing and varied by the request's hash."""
        if error.retry_after is not None:
            return error.retry_after
        spread = 1 + crc32(f"{request.key()} {attempt}".encode()) % 100 / 200
        return float(min(self.patience.first_wait * 2 ** (attempt - 1) * spread, self.patience.longest_wait))


def _cancelled(request: Request) -> ModelError:
    """Return the error for a call that was cancelled."""
    return ModelError("cancelled", f"{request.model}: the call was cancelled", purpose=request.purpose)


def open_door(
    mode: Mode = "auto",
    limits: SpendingLimits | None = None,
    *,
    run: str = "",
    folder: Path | None = None,
    patience: Patience | None = None,
) -> LiteLLMClient:
    """Return the client for a process that asks models, after checking that the required libraries are installed.

    Args:
        mode: what the cache is used for.
        limits: what the run may ask of models.
        run: names the run; its processes share what it may spend.
        folder: where the store lies; the user's own where none is named.
        patience: how long to try.

    Raises:
        UsageError: the libraries of the extra ``llm`` are not installed.
        StoreError: the store cannot be used.
    """
    if mode != "only" and importlib.util.find_spec("litellm") is None:
        raise missing("litellm", "asking a model")
    client = LiteLLMClient(mode=mode, patience=patience or Patience())
    bounded = limits is not None and limits != SpendingLimits()
    if mode != "off" or bounded:
        store = Store(folder or store_folder())
        client.cache = None if mode == "off" else Cache(store)
        client.budget = Budget(store, run, limits) if limits is not None and bounded else None
    return client


# -- one call of a model -------------------------------------------------------------------------------------------------

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
_KINDS_BY_WORDS: tuple[tuple[re.Pattern[str], Kind], ...] = (
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
_LOOK = 0.1
#: How long the first call of a model is waited for before others are made beside it, seconds.
_FIRST = 10.0
#: A model, and where its service is.
_Service = tuple[str, tuple[tuple[str, str], ...]]
_lock = Lock()
_firsts: dict[_Service, Lock] = {}
_met: set[_Service] = set()


def call_model(request: Request, *, timeout: float, cancelled: Event | None = None) -> Answer:
    """Call a model once, and return its answer.

    Args:
        request: what is asked.
        timeout: seconds until the call is left behind.
        cancelled: set by somebody who no longer wants the answer.

    Raises:
        ModelError: there is no response, or none of use.
        UsageError: litellm is not installed.
    """
    litellm = library()
    # Not catch_warnings: it is not safe with threads. pytest takes the filter back at the end of the item.
    warnings.filterwarnings("ignore", module=_NOISY)
    started = perf_counter()

    def complete() -> Any:
        """Return litellm's response to the request (embeddings or a completion), marked as our own, once the first call of the model is over."""
        asked = {**request.body(), "timeout": timeout, "num_retries": 0, "max_retries": 0}
        with _after_the_first(request.model), calls_of():
            # Models' tools are ours: without the switch litellm looks for tools of MCP servers, and for the package mcp.
            return litellm.embedding(**asked) if request.embeds else litellm.completion(**asked, _skip_mcp_handler=True)

    outcome = _in_time(complete, timeout, cancelled)
    seconds = perf_counter() - started
    if outcome is None:
        gone = cancelled is not None and cancelled.is_set()
        reason = "the call was cancelled" if gone else f"did not answer in {timeout:.3g} s"
        raise ModelError("cancelled" if gone else "timeout", f"{request.model}: {reason}", purpose=request.purpose)
    if isinstance(outcome, BaseException):
        raise _fault(litellm, outcome, request)
    body, cost = outcome.model_dump(mode="json"), _price(litellm, outcome, request.model)
    return (embeddings_of if request.embeds else answer_of)(body, request, cost=cost, seconds=seconds)


@contextmanager
def _after_the_first(model: str) -> Iterator[None]:
    """Delay calls of a model until its first call is over, for at most ten seconds.

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
    """Return whether litellm knows the price of a model's tokens."""
    try:
        info = library().get_model_info(model)
    except Exception:  # noqa: BLE001  it raises plain Exception for a model that it does not know
        return False
    return bool(info.get("input_cost_per_token") is not None and info.get("output_cost_per_token") is not None)


def library() -> ModuleType:
    """Return litellm, imported on first use: offline, quiet, and with an unchanged environment.

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
    """Run a function on a new thread and return its result or its exception; None if it takes too long or is cancelled.

    On a thread of its own, which is left behind then: a service that sends a byte now and then outlives every timeout of a socket.
    """
    outcome = on_thread(work, "mapsat-model")
    until = perf_counter() + seconds
    while not wait([outcome], min(_LOOK if cancelled else seconds, max(until - perf_counter(), 0))).done:
        if perf_counter() >= until or (cancelled is not None and cancelled.is_set()):
            return None
    return outcome.exception() or outcome.result()


def _price(litellm: ModuleType, response: Any, model: str) -> float | None:
    """Return the cost of a response in US dollars; None if no price is known."""
    with suppress(Exception):  # it raises plain Exception for a model without prices
        return float(litellm.completion_cost(completion_response=response, model=model))
    return None


def _fault(litellm: ModuleType, error: BaseException, request: Request) -> ModelError:
    """Return the error for an exception of litellm: its kind, and its message without secrets."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    kinds = ((getattr(litellm, name, None) or getattr(litellm.exceptions, name, None), kind) for name, kind in _KINDS)
    kind: Kind = next(
        (kind for error_class, kind in kinds if error_class is not None and isinstance(error, error_class)),
        "unavailable",
    )
    status = getattr(error, "status_code", None)
    text = str(error)
    kind_of_words = next((error_class for words, error_class in _KINDS_BY_WORDS if words.search(text)), None)
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
    """Return the seconds of a Retry-After header; None if there is no header or it is a date."""
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


# -- how fast and how much: shared by all processes of a run through the store -------------------------------------------

_MINUTE = 60.0
#: Characters of UTF-8 that make a token, at the least; and tokens of a reply without a bound.
_BYTES_A_TOKEN = 3
_REPLY_TOKENS = 500
#: How often a call that has to wait for others looks again, and how long one is under way at most before it counts as lost, seconds.
_GLANCE = 0.05
_LOST = 600.0
#: The calls of the last minute. Of this machine and not of the run: a service counts what comes from all of them.
_CALLS = "calls"


class Budget:
    """The limits of one run, stored for all its processes.

    Args:
        store: what the run's processes share.
        run: names the run.
        limits: what it may ask.
        priced: whether the price of a model is known.
    """

    def __init__(
        self, store: Store, run: str, limits: SpendingLimits, priced: Callable[[str], bool] = has_price
    ) -> None:
        self.store = store
        self._limits = limits
        self._spent = f"run/{run}"
        self._priced = cache(priced)

    def admit(self, request: Request, tokens: int, cancelled: Event) -> bool:
        """Wait until a call is allowed, and count it as running.

        Under a ceiling it has to fit into what is left beside the calls under way; one that would go beyond goes out alone, so that of many
        at once no more than one does.

        Args:
            request: what is to be asked.
            tokens: what it will need, estimated.
            cancelled: ends the waiting.

        Returns:
            Whether it may go out; not where the waiting was ended.

        Raises:
            ModelError: of kind ``ceiling``: what the run may spend is spent, or the ceiling cannot be kept as the model has no known price.
        """
        if self._limits.max_cost is not None and not self._priced(request.model):
            why = f"the price of {request.model} is not known, so the ceiling cannot be kept; leave it out"
            raise self._reached(request, why)
        while (wait := self._taken(request, tokens)) > 0:
            if cancelled.wait(wait):
                return False
        return True

    def spend(self, usage: Usage, estimated: int, reserved: int = 0) -> None:
        """Add the cost of a finished call, and no longer count it as running.

        Args:
            usage: what the service says.
            estimated: the tokens that count where it does not say.
            reserved: those with which the call was counted as one under way.
        """
        if self._limits.max_cost is None:
            return
        tokens = estimated if usage.input_tokens is None else usage.input_tokens + (usage.output_tokens or 0)
        with self.store.alone():
            spent = self._so_far()
            mine = next((place for place, (size, _) in enumerate(spent["out"]) if size == reserved), None)
            if mine is not None:
                del spent["out"][mine]
            total = {"cost": spent["cost"] + (usage.cost or 0.0), "tokens": spent["tokens"] + tokens}
            self.store.put(self._spent, {**spent, **total})

    def forget(self) -> None:
        """Delete the run's record of spending."""
        self.store.delete(self._spent)

    def _so_far(self) -> dict[str, Any]:
        """Return the run's spending so far, and its running calls with the tokens and time of each."""
        return {"cost": 0.0, "tokens": 0, "out": [], **(self.store.get(self._spent) or {})}

    def _taken(self, request: Request, tokens: int) -> float:
        """Count a call as running and return 0, or return the seconds to wait for capacity. Raises ModelError at the ceiling."""
        limits = self._limits
        with self.store.alone():
            now, spent = time(), self._so_far()
            if limits.max_cost is not None and spent["cost"] >= limits.max_cost:
                raise self._reached(request, f"the run has spent {spent['cost']:.4f} USD")
            out = [call for call in spent["out"] if now - _LOST < call[1] <= now]
            if out and not self._fits(spent, tokens + sum(size for size, _ in out)):
                return _GLANCE
            calls = [call for call in self.store.get(_CALLS) or [] if now - _MINUTE < call[0] <= now]
            used = tokens + sum(size for _, size in calls)
            full = bool(limits.requests_a_minute) and len(calls) >= limits.requests_a_minute
            # A call beyond the whole budget goes out alone.
            full = full or (bool(limits.tokens_a_minute) and bool(calls) and used > limits.tokens_a_minute)
            if full:
                return float(max(calls[0][0] + _MINUTE - now, 0.01))
            if limits.requests_a_minute or limits.tokens_a_minute:
                self.store.put(_CALLS, [*calls, [now, tokens]])
            if limits.max_cost is not None:
                self.store.put(self._spent, {**spent, "out": [*out, [tokens, now]]})
        return 0.0

    def _fits(self, spent: dict[str, Any], coming: int) -> bool:
        """Return whether ``coming`` more tokens stay below the cost ceiling, at the price per token so far."""
        cost, tokens, most = spent["cost"], spent["tokens"], self._limits.max_cost
        return most is None or (tokens > 0 and cost + cost / tokens * coming <= most)

    def _reached(self, request: Request, why: str) -> ModelError:
        """Return the error for a cost ceiling that is reached or cannot be enforced."""
        return ModelError("ceiling", f"--mapsat-max-cost={self._limits.max_cost:g}: {why}", purpose=request.purpose)


def estimated_tokens(request: Request) -> int:
    """Return a generous estimate of the tokens that a request needs, in and out."""
    size = len(str(request.body()).encode("utf-8", "replace"))
    reply = request.parameters.get("max_tokens", _REPLY_TOKENS)
    return size // _BYTES_A_TOKEN + (reply if isinstance(reply, int) else _REPLY_TOKENS)
