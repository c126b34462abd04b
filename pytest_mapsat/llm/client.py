"""The door itself: the cache first, then the model, within limits, again where that may help."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import perf_counter
from zlib import crc32

from pytest_mapsat.model import Usage
from pytest_mapsat.store import Store, store_folder
from pytest_mapsat.turns import waiting

from .budget import Budget, Limits, estimated_tokens
from .cache import Cache, Mode
from .call import call_model, has_price
from .ceilings import note_ceiling
from .errors import Kind, ModelError
from .reading import answer_of
from .request import Answer, Request

#: What may go away by itself.
_PASSING: frozenset[Kind] = frozenset({"rate_limited", "unavailable", "timeout"})


@dataclass(frozen=True)
class Patience:
    """How long to try.

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


@dataclass
class LiteLLMClient:
    """The way to models for one process of a run.

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
    _priced: dict[str, bool] = field(default_factory=dict)

    def ask(self, request: Request, *, timeout: float | None = None, cancelled: Event | None = None) -> Answer:
        """Return the model's answer; see ``ModelClient.ask``."""
        found = self._cached(request)
        if found is not None:
            return found
        if self.mode == "only":
            raise ModelError("not_cached", self._why_not_cached(request), purpose=request.purpose)
        with waiting():
            answer = self._ask_model(request, self.patience.seconds if timeout is None else timeout, cancelled)
        if self.cache is None:
            return answer
        if self.mode == "refresh":
            self._renewed.add(request.key())
        return self.cache.keep(request, answer, again=self.mode == "refresh")

    def forget_run(self) -> None:
        """Drop what the run has spent; its processes are done."""
        if self.budget is not None:
            self.budget.forget()

    def close(self) -> None:
        """Close the store, where there is one."""
        store = self.cache.store if self.cache is not None else self.budget.store if self.budget is not None else None
        if store is not None:
            store.close()

    def _cached(self, request: Request) -> Answer | None:
        if self.cache is None or (self.mode == "refresh" and request.key() not in self._renewed):
            return None
        return self.cache.find(request)

    def _why_not_cached(self, request: Request) -> str:
        near = self.cache.nearest(request) if self.cache is not None else ""
        said = f"--mapsat-cache=only: no answer of {request.model} to this is in the cache"
        said += f"; the nearest entry {near}" if near else ", which has none to anything like it"
        return f"{said}; fill it with --mapsat-cache=auto, or with: python -m pytest_mapsat cache import FILE"

    def _ask_model(self, request: Request, seconds: float, cancelled: Event | None) -> Answer:
        used, attempt = 0.0, 1
        while True:
            tokens = self._admitted(request, cancelled)  # waiting for room is not the model's time
            started = perf_counter()
            try:
                return self._attempt(request, tokens, seconds - used, cancelled)
            except ModelError as error:
                wait = self._pause(request, error, attempt)
                used += perf_counter() - started + (wait or 0)
                if wait is None or used >= seconds:
                    raise self._in_all(error, attempt) from None
            if (cancelled or Event()).wait(wait):
                raise _cancelled(request)
            attempt += 1

    def _admitted(self, request: Request, cancelled: Event | None) -> int:
        """Wait until a call may go out; return the tokens that were counted for it.

        Raises:
            ModelError: a ceiling is reached, or nobody wants the answer any more.
        """
        tokens = estimated_tokens(request)
        if self.budget is None:
            return tokens
        if request.model not in self._priced:
            self._priced[request.model] = self.budget.limits.max_cost is None or has_price(request.model)
        priced = self._priced[request.model]
        try:
            self.budget.check(request, priced=priced)
            admitted = self.budget.wait_for(tokens, cancelled)
            admitted = admitted and self.budget.reserve(request, tokens, priced=priced, cancelled=cancelled)
        except ModelError as error:
            note_ceiling(str(error))
            raise
        if not admitted:
            raise _cancelled(request)
        return tokens

    def _attempt(self, request: Request, tokens: int, seconds: float, cancelled: Event | None) -> Answer:
        usage, reserved = Usage(), tokens
        try:
            response = call_model(request, timeout=min(self.patience.attempt, seconds), cancelled=cancelled)
            answer = answer_of(response.body, request, cost=response.cost, seconds=response.seconds)
            usage = answer.usage
        except ModelError as error:
            usage, tokens = error.usage, 0
            raise
        finally:
            if self.budget is not None:
                self.budget.spend(usage, tokens, reserved)
        return answer

    def _pause(self, request: Request, error: ModelError, attempt: int) -> float | None:
        """Return the seconds until the next attempt; None where there is to be none."""
        if error.kind not in _PASSING or attempt >= self.patience.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after
        # Spread by the request and not by chance, so that many processes do not come back at once.
        spread = 1 + crc32(f"{request.key()} {attempt}".encode()) % 100 / 200
        return float(min(self.patience.first_wait * 2 ** (attempt - 1) * spread, self.patience.longest_wait))

    @staticmethod
    def _in_all(error: ModelError, attempts: int) -> ModelError:
        if attempts == 1:
            return error
        said = f"{error} ({attempts} attempts)"
        return ModelError(error.kind, said, purpose=error.purpose, retry_after=error.retry_after, usage=error.usage)


def _cancelled(request: Request) -> ModelError:
    return ModelError("cancelled", f"{request.model}: the call was cancelled", purpose=request.purpose)


def open_door(
    mode: Mode = "auto",
    limits: Limits | None = None,
    *,
    run: str = "",
    folder: Path | None = None,
    patience: Patience | None = None,
) -> LiteLLMClient:
    """Return the door for a process of a run.

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
    limits = limits or Limits()
    store = Store(folder or store_folder()) if mode != "off" or limits.any else None
    return LiteLLMClient(
        mode=mode,
        cache=None if store is None or mode == "off" else Cache(store),
        budget=Budget(store, run, limits) if store is not None and limits.any else None,
        patience=patience or Patience(),
    )
