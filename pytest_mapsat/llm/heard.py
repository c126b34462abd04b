"""The models that an agent asks by itself, as far as they can be heard on the wire: tokens, cost, thoughts, calls of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pytest_mapsat.formats import ChatMessage, limits, parse_json, read_messages, reported_call
from pytest_mapsat.model import Json, JsonObject, ReportedCall, values_at

from .exchange import summed, usage_of

#: Characters of the thoughts of one reply.
_MOST_THOUGHTS = 200_000
#: Where answers, and events of streams, tell what they cost: OpenAI's and others', the first and the last event of a stream, Gemini's.
_USAGE = ("usage", "message.usage", "response.usage", "usageMetadata")
#: Where they tell what the model thought, as a whole or in the pieces of a stream.
_THOUGHTS = (
    "choices.*.message.reasoning_content", "choices.*.message.reasoning", "choices.*.delta.reasoning_content", "choices.*.delta.reasoning",
    "content.*.thinking", "delta.thinking", "output.*.summary.*.text", "response.output.*.summary.*.text",
)  # fmt: skip
#: Where they tell the ids of calls that the model asks for; of OpenAI responses also the calls themselves.
_IDS = (
    "choices.*.message.tool_calls.*.id", "choices.*.delta.tool_calls.*.id", "content.*.id", "content_block.id", "output.*.call_id",
    "response.output.*.call_id",
)  # fmt: skip
#: The events that end a stream.
_ENDS = ("message_stop", "response.completed", "response.incomplete", "response.failed")
_MESSAGES = ("messages", "input", "contents")
_OUTPUTS = ("output", "response.output")
#: The services whose tokens cost what litellm's list says, by host.
_PRICED = {"api.openai.com": "openai", "api.anthropic.com": "anthropic"}
#: The figures of a usage that the list has prices for, and the words that change no price: tiers, places, kinds of output.
_LISTED = re.compile(
    r"(prompt|completion|total|input|output|text|reasoning|thinking|cached|cache_(read|creation)_input|ephemeral_5m_input|(accepted|rejected)_prediction)_tokens"
)
_PLAIN = ("default", "standard", "global", "not_available", "message", "reasoning", "function_call", "custom_tool_call")
#: Tokens from which on some models have higher prices.
_LONG = 128_000


class HeardAnswer:
    """One answer of a model.

    Args:
        url: the address that was asked.
        body: what was asked.

    Attributes:
        failed: whether the request was refused or never answered, so that it is no part of the usage.
        kind: the content type of the answer.
        content: what the agent has received so far, unpacked.
        is_whole: whether this is the whole answer.
    """

    #: Bytes of an answer that is read.
    MOST_BYTES: ClassVar[int] = 16 * limits.MIB

    def __init__(self, url: str, body: Json) -> None:
        self.body = body
        self.kind = ""
        self.content: bytes | bytearray = bytearray()
        self.failed = self.is_whole = False
        self._url = urlsplit(url)

    @cached_property
    def events(self) -> list[Json]:
        """The answer, or the events of its stream; nothing of an answer that is too large or no JSON."""
        text, events = self.content.decode("utf-8", "replace") if len(self.content) <= self.MOST_BYTES else "", []
        is_stream = "event-stream" in self.kind
        for part in re.findall(r"^data: ?(\{.*)$", text, re.MULTILINE) if is_stream else [text]:
            with suppress(ValueError):
                events.append(parse_json(part, depth=limits.RUN_DEPTH))
        self.is_whole |= "data: [DONE]" in text[-100:] or not {*_ENDS}.isdisjoint(map(str, values_at(events, "*.type")))
        return events

    @cached_property
    def usage(self) -> dict[str, float]:
        """Tokens and US dollars by our names; empty unless the agent has received the whole answer."""
        used: JsonObject = {}
        for usage in self.at(*_USAGE):
            used |= usage if isinstance(usage, dict) else {}
        if not self.is_whole:
            return {}
        told = ({"output_tokens": 0} if self._url.path.endswith("/embeddings") else {}) | usage_of(used)
        cost = self._listed_cost(used, told) if "cost" not in told else None
        return told if cost is None else told | {"cost": cost}

    @cached_property
    def thoughts(self) -> list[str]:
        """The thoughts of the model."""
        return next(filter(None, map(self._thoughts_at, _THOUGHTS)), [])

    def at(self, *places: str) -> list[Json]:
        """Return the values at some places of all events."""
        return [value for event in self.events for place in places for value in values_at(event, place)]

    def _thoughts_at(self, place: str) -> list[str]:
        """Return the thoughts at a place; the pieces of a stream are joined, each to the block that it is of."""
        blocks: dict[object, str] = {}
        for number, event in enumerate(self.events):
            block = event.get("index") if "delta" in place and isinstance(event, dict) else number
            for position, text in enumerate(values_at(event, place)):
                if isinstance(text, str) and text:
                    blocks[str(block), position] = blocks.get((str(block), position), "") + text
        return [*blocks.values()]

    def _listed_cost(self, used: JsonObject, tokens: dict[str, float]) -> float | None:
        """Return the cost in US dollars by the list of prices; None where anything in the answer has no price there."""
        provider, models = _PRICED.get(self._url.hostname or ""), self.at("model", "message.model", "response.model")
        prices = _listed_prices().get(str(models[0]), {}) if provider and models else {}
        words = self.at("service_tier", "response.service_tier", "output.*.type", "response.output.*.type")
        figures = dict(_figures(used))
        plain = all(
            type(value) is int and value > 0 if _LISTED.fullmatch(name) else value in _PLAIN
            for name, value in [*_figures(used), *(("", word) for word in words if word)]
        )
        cached, created = figures.get("cached_tokens", 0), figures.get("cache_creation_input_tokens", 0)
        if not (plain and prices) or prices["litellm_provider"] != provider or len(tokens) < 2:  # noqa: PLR2004
            return None
        read, fresh = cached or figures.get("cache_read_input_tokens", 0), tokens["input_tokens"] - cached
        if fresh < 0 or (fresh + read + created >= _LONG and any("_above_" in name for name in prices)):
            return None
        amounts = {
            "input_cost_per_token": fresh, "output_cost_per_token": tokens["output_tokens"],
            "cache_read_input_token_cost": read, "cache_creation_input_token_cost": created,
        }  # fmt: skip
        with suppress(KeyError, TypeError):
            return float(sum(amount * prices[name] for name, amount in amounts.items() if amount))
        return None


def _figures(data: JsonObject | list[Json]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values in an object, from nested objects and lists as well, except zeros and nulls."""
    for name, value in data.items() if isinstance(data, dict) else (("", member) for member in data):
        if isinstance(value, dict | list):
            yield from _figures(value)
        elif value:
            yield name, value


@cache
def _listed_prices() -> dict[str, JsonObject]:
    """Return the prices of models from the list that comes with litellm, which is not imported; empty where it is not installed."""
    spec, listed = find_spec("litellm"), dict[str, JsonObject]()
    with suppress(OSError, ValueError):
        place = Path((spec and spec.origin) or "").with_name("model_prices_and_context_window_backup.json")
        listed = json.loads(place.read_bytes())
    return listed


class HeardModels:
    """The answers of models heard in one episode.

    Attributes:
        answers: those of the reply that is under way.
    """

    def __init__(self) -> None:
        self.answers: list[HeardAnswer] = []
        self._asked: set[Json] = set()
        self._known: set[str] = set()

    def usage(self) -> dict[str, float] | None:
        """Return the usage of the reply; None where no model was asked, or no figure is known of all answers."""
        return summed([answer.usage for answer in self.answers if not answer.failed]) or None

    def thoughts(self) -> list[str]:
        """Return what the models thought; what is too much for a reply is left out, with a word about it."""
        thoughts, left = list[str](), _MOST_THOUGHTS
        for thought in (thought for answer in self.answers for thought in answer.thoughts):
            thoughts += [thought[:left]] if left > 0 else []
            left -= len(thought)
        return [*thoughts, f"[{-left:,} characters left out]"] if left < 0 else thoughts

    def new_calls(self) -> list[ReportedCall]:
        """Return the calls that a model asked for in this episode, and whose results the agent has given to it in this reply."""
        talk: list[ChatMessage] = []
        for answer in self.answers:
            body = answer.body if isinstance(answer.body, dict) else {}
            self._asked.update(filter(lambda value: isinstance(value, str), answer.at(*_IDS)))
            for part in (*(body[key] for key in _MESSAGES if key in body), *answer.at(*_OUTPUTS)):
                talk += read_messages(part, "user") or ()
        calls = {call.id: call for message in talk for call in message.calls}
        results = {result.id: result.value for message in talk for result in message.results}
        made: list[ReportedCall] = []
        for key, call in calls.items():
            if key in results and key in self._asked and key not in self._known:
                made.append({**reported_call(call.name, call.arguments, results[key]), "id": key})
                self._known.add(key)
        return made
