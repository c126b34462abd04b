"""How fast and how much: requests and tokens a minute, and what a run may cost. Shared by all its processes through the store."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from time import time
from typing import Any

from pytest_mapsat.model import Usage
from pytest_mapsat.store import Store

from .errors import ModelError
from .request import Request

_MINUTE = 60.0
#: Characters of UTF-8 that make a token, at the least; and tokens of a reply that nobody has bounded.
_BYTES_A_TOKEN = 3
_REPLY_TOKENS = 500
#: How often a call that has to wait for others looks again, and how long one is under way at most before it counts as lost, seconds.
_GLANCE = 0.05
_LOST = 600.0


@dataclass(frozen=True)
class Limits:
    """What a run may ask of models.

    Attributes:
        requests_a_minute: of all processes together; 0: any number.
        tokens_a_minute: likewise, in and out.
        max_cost: US dollars that the run may spend; None: any sum.
    """

    requests_a_minute: int = 0
    tokens_a_minute: int = 0
    max_cost: float | None = None

    @property
    def any(self) -> bool:
        """Whether there is anything to be kept."""
        return self != Limits()


class Budget:
    """The limits of one run, kept.

    Args:
        store: what the run's processes share.
        run: names the run.
        limits: what it may ask.
    """

    def __init__(self, store: Store, run: str, limits: Limits) -> None:
        self.store = store
        self.limits = limits
        self._spent = f"run/{run}"
        #: Of this machine and not of the run: a service counts what comes from all of them.
        self._calls = "calls"

    def check(self, request: Request, *, priced: bool) -> None:
        """Check that the run may still ask.

        Args:
            request: what is to be asked.
            priced: whether the price of the model is known.

        Raises:
            ModelError: of kind ``ceiling``: what the run may spend is spent, or a ceiling in dollars cannot be kept as the model has no known price.
        """
        limits = self.limits
        if limits.max_cost is not None and not priced:
            said = f"the price of {request.model} is not known, so the ceiling cannot be kept; leave it out"
            raise self._reached(request, f"--mapsat-max-cost={limits.max_cost:g}: {said}")
        spent = self.store.get(self._spent) or {}
        cost = spent.get("cost", 0.0)
        if limits.max_cost is not None and cost >= limits.max_cost:
            raise self._reached(request, f"--mapsat-max-cost={limits.max_cost:g}: the run has spent {cost:.4f} USD")

    def reserve(self, request: Request, tokens: int, *, priced: bool, cancelled: Event | None = None) -> bool:
        """Wait until a call fits into what is left below the ceilings beside the calls under way, and count it as one of these.

        A call that would go beyond goes out alone, so that of many at once no more than one does.

        Args:
            request: what is to be asked.
            tokens: what it will need, estimated.
            priced: whether the price of the model is known.
            cancelled: ends the waiting.

        Returns:
            Whether it may go out; not where the waiting was ended.

        Raises:
            ModelError: as of ``check``.
        """
        pause = cancelled or Event()
        while not self._reserved(request, tokens, priced=priced):
            if pause.wait(_GLANCE):
                return False
        return True

    def _reserved(self, request: Request, tokens: int, *, priced: bool) -> bool:
        if not self._bounded:
            return True
        with self.store.alone():
            self.check(request, priced=priced)
            spent, now = self.store.get(self._spent) or {}, time()
            out = [one for one in spent.get("out", ()) if now - _LOST < one[1] <= now]
            if out and not self._fits(spent, tokens + sum(one[0] for one in out)):
                return False
            self.store.put(self._spent, {**spent, "out": [*out, [tokens, now]]})
        return True

    @property
    def _bounded(self) -> bool:
        return self.limits.max_cost is not None

    def _fits(self, spent: Any, coming: int) -> bool:
        """Return whether so many tokens more stay below the ceilings, at the price of those that were used so far."""
        cost, tokens, limits = spent.get("cost", 0.0), spent.get("tokens", 0), self.limits
        return limits.max_cost is None or (tokens > 0 and cost + cost / tokens * coming <= limits.max_cost)

    @staticmethod
    def _reached(request: Request, said: str) -> ModelError:
        return ModelError("ceiling", said, purpose=request.purpose)

    def spend(self, usage: Usage, estimated: int, reserved: int = 0) -> None:
        """Add what a call has cost; where the service did not say, the tokens that were estimated. It is under way no more.

        Args:
            usage: what the service says.
            estimated: the tokens that count where it does not.
            reserved: those with which the call was counted as one under way.
        """
        tokens = estimated if usage.input_tokens is None else usage.input_tokens + (usage.output_tokens or 0)
        if not self._bounded:
            return
        with self.store.alone():
            spent = self.store.get(self._spent) or {}
            out = list(spent.get("out", ()))
            mine = next((place for place, one in enumerate(out) if one[0] == reserved), None)
            if mine is not None:
                del out[mine]
            total = {"cost": spent.get("cost", 0.0) + (usage.cost or 0.0), "tokens": spent.get("tokens", 0) + tokens}
            self.store.put(self._spent, {**total, "out": out})

    def forget(self) -> None:
        """Drop what the run has spent."""
        self.store.delete(self._spent)

    def wait_for(self, tokens: int, cancelled: Event | None = None) -> bool:
        """Wait until a call may go out under the limits of a minute, and count it.

        Args:
            tokens: what it will need, estimated.
            cancelled: ends the waiting.

        Returns:
            Whether it may go out; not where the waiting was ended.
        """
        if not (self.limits.requests_a_minute or self.limits.tokens_a_minute):
            return True
        pause = cancelled or Event()
        while (wait := self._take(tokens)) > 0:
            if pause.wait(wait):
                return False
        return True

    def _take(self, tokens: int) -> float:
        """Count a call now and return 0, or return the seconds until there may be room for it."""
        limits = self.limits
        with self.store.alone():
            now = time()
            calls: list[Any] = self.store.get(self._calls) or []
            calls = [call for call in calls if now - _MINUTE < call[0] <= now]
            used = sum(call[1] for call in calls)
            full = bool(limits.requests_a_minute) and len(calls) >= limits.requests_a_minute
            # A call beyond the whole budget goes out alone.
            full = full or (bool(limits.tokens_a_minute) and bool(calls) and used + tokens > limits.tokens_a_minute)
            if full:
                return float(max(calls[0][0] + _MINUTE - now, 0.01))
            self.store.put(self._calls, [*calls, [now, tokens]])
        return 0.0


def estimated_tokens(request: Request) -> int:
    """Return about how many tokens a request will need, in and out; more rather than less."""
    size = len(str(request.body()).encode("utf-8", "replace"))
    reply = request.parameters.get("max_tokens", _REPLY_TOKENS)
    return size // _BYTES_A_TOKEN + (reply if isinstance(reply, int) else _REPLY_TOKENS)
