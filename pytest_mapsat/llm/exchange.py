"""Requests to a model and its answers: plain values, the same for a live call, the cache and a batch file; or the reason for a missing answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import isfinite
from threading import Event, Lock
from typing import Any, Literal, Protocol

from pydantic import Field

from pytest_mapsat.formats import object_in
from pytest_mapsat.model import (
    Blame,
    Json,
    JsonObject,
    MapsatError,
    Noun,
    Usage,
    UsageError,
    digest,
    hint_at,
    shown,
    values_at,
)

#: Who asks; it decides whose the spending is, and who is blamed for a reply that is no use. Not part of the key.
Purpose = Literal["agent", "user", "judge", "sandbox", "builder"]


class Request(Noun):
    """One call of a model, for a chat or for the embeddings of texts.

    ``model``: its name as litellm knows it, as ``openai/gpt-4o``. ``messages``, ``tools``: in the form of the OpenAI chat interface.
    ``schema``: the JSON Schema that the reply has to follow; null: free text. ``parameters``: sampling parameters by their OpenAI names.
    ``trial``, ``vote``: tell calls apart that are equal otherwise, so that repeated trials and votes share no answer. ``embeds``: whether the contents of the
    messages are to be embedded, each for itself.
    """

    model: str = Field(min_length=1, max_length=200)
    messages: tuple[JsonObject, ...] = Field(min_length=1)
    tools: tuple[JsonObject, ...] = ()
    schema_: JsonObject | None = Field(default=None, alias="schema")
    parameters: JsonObject = Field(default_factory=dict)
    seed: int | None = None
    trial: int = Field(default=1, ge=1)
    vote: int = Field(default=1, ge=1)
    embeds: bool = False
    purpose: Purpose = "agent"

    def key(self) -> str:
        """Return a digest of everything that affects an answer, which identifies the answer in the cache and in a batch."""
        return digest({**self.body(), "trial": self.trial, "vote": self.vote}, size=40)

    def body(self) -> JsonObject:
        """Return the body of the call in the form of the OpenAI interface for chats, or for embeddings."""
        if self.embeds:
            return {"model": self.model, "input": [message["content"] for message in self.messages]}
        body: JsonObject = {"model": self.model, "messages": [dict(message) for message in self.messages]}
        if self.tools:
            body["tools"] = [dict(tool) for tool in self.tools]
        if self.schema_ is not None:
            form = {"name": "reply", "strict": True, "schema": self.schema_}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if self.seed is not None:
            body["seed"] = self.seed
        return body | self.parameters


class ToolCall(Noun):
    """A tool that the model wants to call. ``arguments``: null if they are not a JSON object; ``text`` holds the original text."""

    id: str
    name: str
    arguments: JsonObject | None = None
    text: str = ""


class Answer(Noun):
    """The answer of a model.

    ``data``: what the text holds, where a schema was asked for: a JSON object, not yet held against the schema; of embeddings an object with
    ``embeddings``, a list of vectors in the order of the texts. ``finish``: why the
    model stopped, in its own word. ``usage``: tokens and US dollars; of a cached answer those that it once cost. ``seconds``: how
    long the model took, then.
    """

    text: str = ""
    data: JsonObject | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = ""
    usage: Usage = Usage()
    seconds: float = Field(default=0.0, ge=0)


class ModelClient(Protocol):
    """The interface of clients that ask models."""

    def ask(self, request: Request, *, timeout: float | None = None, cancelled: Event | None = None) -> Answer:
        """Return the model's answer, from the cache if possible.

        Args:
            request: what is asked.
            timeout: seconds that all attempts together may take; None: the door's own.
            cancelled: set by somebody who no longer wants the answer.

        Raises:
            ModelError: there is none; the error says why, and who is to blame.
        """
        ...


@dataclass(frozen=True)
class Voice:
    """A model that plays a role: its client, name, sampling parameters and role, and the trial of the case."""

    client: ModelClient
    model: str
    parameters: JsonObject
    purpose: Purpose
    trial: int = 1

    def ask(self, messages: Iterable[JsonObject], schema: JsonObject, *, vote: int = 1) -> Answer:
        """Return the model's answer; arguments as for ``Request``, errors as for ``ModelClient.ask``."""
        request = Request(
            model=self.model,
            messages=tuple(messages),
            schema_=schema,
            parameters=self.parameters,
            trial=self.trial,
            vote=vote,
            purpose=self.purpose,
        )
        return self.client.ask(request)


# -- no answer ----------------------------------------------------------------------------------------------------

#: Outcomes of a call that brought no answer. The first group is of the way to the model, the second of the model's reply.
Kind = Literal[
    "no_key", "unknown_model", "unsupported", "rejected", "too_long", "rate_limited", "unavailable", "timeout", "cancelled", "not_cached", "ceiling",
    "empty", "cut", "malformed", "refused",
]  # fmt: skip
#: Kinds that tell of the model's reply: an agent that is a model is to blame for them itself.
OF_THE_REPLY: frozenset[Kind] = frozenset({"too_long", "empty", "cut", "malformed", "refused"})
_BLAME: dict[Purpose, Blame] = {"user": "user", "judge": "judge", "sandbox": "sandbox", "builder": "infrastructure"}


class ModelError(MapsatError):
    """A model gave no usable answer.

    Attributes:
        kind: what happened.
        purpose: who asked.
        retry_after: seconds that the service asks to wait; None: it did not say.
        usage: what it cost all the same.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        purpose: Purpose,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.kind: Kind = kind
        self.purpose: Purpose = purpose
        self.retry_after = retry_after
        self.usage = usage or Usage()
        super().__init__(message)

    def after(self, attempts: int) -> ModelError:
        """Return the error with the number of attempts in its message, if there were several attempts."""
        if attempts > 1:
            self.args = (f"{self} ({attempts} attempts)",)
        return self

    @property
    def blame(self) -> Blame:
        """Return the party to blame: the asking party; for an agent's call the agent if the reply is bad, otherwise the infrastructure."""
        if self.purpose == "agent":
            return "agent" if self.kind in OF_THE_REPLY else "infrastructure"
        return _BLAME[self.purpose]


# -- the response of the chat interface, of a live call or a batch file ------------------------------------------------

#: Characters of one reply, and of the arguments of one call; calls in one reply.
_MOST_TEXT = 1_000_000
_MOST_CALLS = 100


def answer_of(response: Json, request: Request, *, cost: float | None = None, seconds: float = 0.0) -> Answer:
    """Return the answer in a model's response.

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
        """Return the error for an unusable reply, with the usage of the reply."""
        return ModelError(kind, f"{request.model} {what}", purpose=request.purpose, usage=usage)

    choice, message = (next(iter(values_at(response, path)), None) for path in ("choices.0", "choices.0.message"))
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
    calls = _tool_calls(message.get("tool_calls"))
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


def embeddings_of(response: Json, request: Request, *, cost: float | None, seconds: float) -> Answer:
    """Return the answer in a response to a request for embeddings; arguments and errors as for ``answer_of``."""
    usage, vectors = _usage(response, cost), _vectors(response)
    if len(vectors) != len(request.messages):
        what = f"{request.model} gave {len(vectors)} embeddings for {len(request.messages)} texts"
        raise ModelError("malformed", what, purpose=request.purpose, usage=usage)
    return Answer(data={"embeddings": vectors}, usage=usage, seconds=round(seconds, 3))


def _vectors(response: Json) -> list[list[float]]:
    """Return the embeddings in a response, in the order of their texts, up to the first invalid embedding."""
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
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _usage(response: Json, cost: float | None) -> Usage:
    """Return the usage in a response; an empty usage if a count is missing or no input was counted."""
    used = usage_of(response.get("usage")) if isinstance(response, Mapping) else {}
    if not used.get("input_tokens") or "output_tokens" not in used:
        return Usage()
    return Usage(input_tokens=int(used["input_tokens"]), output_tokens=int(used["output_tokens"]), cost=cost)


def _refusal(message: Mapping[str, Json]) -> str:
    """Return the words of a model's refusal; empty if it does not refuse."""
    refusals = (*values_at(message, "refusal"), *values_at(message, "provider_specific_fields.refusal"))
    return next((refusal for refusal in refusals if isinstance(refusal, str) and refusal.strip()), "")


def _tool_calls(given: Json) -> tuple[ToolCall, ...] | None:
    """Return the tool calls of a reply; None if they cannot be read."""
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


# -- ceilings: asked for by every episode, also without a model -----------------------------------------------

_ceilings: ContextVar[list[str] | None] = ContextVar("mapsat_ceilings", default=None)


@contextmanager
def ceilings_met() -> Iterator[list[str]]:
    """Yield a list that collects the messages of cost ceilings that refuse a call in this context or a copy of it."""
    met: list[str] = []
    token = _ceilings.set(met)
    try:
        yield met
    finally:
        _ceilings.reset(token)


def note_ceiling(words: str) -> None:
    """Add the message of a ceiling to the list of ``ceilings_met`` in this context, if there is one."""
    if (met := _ceilings.get()) is not None:
        met.append(words)


# -- usage --------------------------------------------------------------------------------------------------------

_SPELLINGS = {
    "input_tokens": ("input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount"),
    "output_tokens": ("output_tokens", "completion_tokens", "outputTokens", "candidatesTokenCount"),
    "cost": ("cost",),
}


def usage_of(data: Json) -> dict[str, float]:
    """Return the usage in an object under our own names: tokens, and cost in US dollars. Non-numeric values are omitted."""
    if not isinstance(data, Mapping):
        return {}
    amounts = {name: next((data[key] for key in keys if key in data), None) for name, keys in _SPELLINGS.items()}
    whole = {name: amount for name, amount in amounts.items() if type(amount) is int or name == "cost"}
    return {name: amount for name, amount in whole.items() if isinstance(amount, int | float) and amount >= 0}


def summed(parts: list[dict[str, float]]) -> dict[str, float]:
    """Return the total usage of all answers of a reply; a figure is omitted if any answer lacks it."""
    names = _SPELLINGS if parts else ()
    return {name: sum(part[name] for part in parts) for name in names if all(name in part for part in parts)}


# -- a spec -------------------------------------------------------------------------------------------------------

#: The parameters that a spec may set, as in ``llm:openai/gpt-4o?temperature=0``, and how each is read.
_PARAMETERS: Mapping[str, type] = {
    "temperature": float,
    "top_p": float,
    "max_tokens": int,
    "seed": int,
    "reasoning_effort": str,
}


def named_model(text: str, spec: str) -> tuple[str, dict[str, Json]]:
    """Return the model and the parameters that follow the colon in a spec.

    Args:
        text: ``MODEL`` or ``MODEL?temperature=0&max_tokens=2000``.
        spec: the whole spec with its option, for errors.

    Raises:
        UsageError: no model is named, or a parameter cannot be used.
    """
    model, mark, query = text.strip().partition("?")
    if not model or len(model) > 200 or not model.isprintable() or " " in model:  # noqa: PLR2004  as in Request.model
        raise UsageError(f"{spec} names no model; expected one as litellm knows it, as in openai/gpt-4o")
    parameters: dict[str, Json] = {}
    for part in query.split("&") if mark else ():
        name, _, value = part.partition("=")
        parameters[name] = _parameter(name, value, spec)
    return model, parameters


def _parameter(name: str, value: str, spec: str) -> Any:
    """Return the value of a sampling parameter in its type. Raises UsageError if the name or the value is wrong."""
    kind = _PARAMETERS.get(name)
    if kind is None:
        hint = hint_at(name, _PARAMETERS)
        raise UsageError(f"{spec}: no parameter {name!r}; there are {', '.join(_PARAMETERS)}{hint}")
    try:
        return kind(value)
    except ValueError:
        kinds = {float: "a number", int: "a whole number"}
        raise UsageError(f"{spec}: {name}={value!r}: expected {kinds[kind]}") from None


# -- whose calls they are: an agent's own model calls are those of its episode ---------------------------------------------


@dataclass
class ModelCalls:
    """The model calls that an agent makes itself in one episode.

    Attributes:
        trial: which of several episodes of its case it is.
        case: a digest of the case's id, as the agent's own thread leads here; empty where the episode is unclear.
        missed: why a call was not answered, once one was not; the episode is then lost.
    """

    trial: int = 1
    case: str = ""
    missed: str = ""
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_known(self) -> bool:
        """Return whether the episode of the calls is known."""
        return self is not _stray

    def count(self, key: str, more: int = 1) -> int:
        """Count a request (``more`` -1 undoes this); return its count in the episode, or 1 if the episode is unknown."""
        if not self.is_known:
            return 1
        with self._lock:
            self._counts[key] += more
            return self._counts[key]


#: Calls of judges and simulated users: they have a cache of their own.
_OURS = ModelCalls()
#: Calls of threads that an agent starts without its context: it is unclear which episode they are of.
_stray = ModelCalls()
_calls: ContextVar[ModelCalls] = ContextVar("mapsat_model_calls", default=_stray)


@contextmanager
def calls_of(calls: ModelCalls = _OURS) -> Iterator[None]:
    """Count the model calls of a block as an episode's, or as our own by default; this includes threads with its context."""
    token = _calls.set(calls)
    try:
        yield
    finally:
        _calls.reset(token)


def current_calls() -> ModelCalls | None:
    """Return the ``ModelCalls`` for a model call made now; None if the call is our own."""
    calls = _calls.get()
    return None if calls is _OURS else calls


def why_lost(calls: ModelCalls) -> str:
    """Return why a model call of the episode, or of an unknown episode, was not answered; empty if all calls were."""
    return calls.missed or _stray.missed


def forget_stray_calls() -> None:
    """Forget why a call of an unknown episode was not answered."""
    _stray.missed = ""


# -- prompts: text files of ours, one a language, each with a version. A run's manifest says which it used, with a digest --

# A file begins with a line ``version: N``; the rest is the text. ``{{name}}`` is replaced by what the caller gives.
LANGUAGES = ("en", "zh")
_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_VERSION = "version: "


@dataclass(frozen=True)
class Prompt:
    """One prompt in one language.

    Attributes:
        version: as the file's first line has it.
        text: with its places.
    """

    version: str
    text: str

    @property
    def mark(self) -> str:
        """Return the version and a digest of the text, for manifests."""
        return f"{self.version} {digest(self.text)}"

    def fill(self, **values: str) -> str:
        """Return the text with its placeholders filled in one pass: the values are not searched for placeholders.

        Raises:
            KeyError: a place has no value, or a value no place.
        """
        if unused := values.keys() - set(_PLACE.findall(self.text)):
            raise KeyError(*sorted(unused))
        return _PLACE.sub(lambda place: values[place[1]], self.text)


def own_language(language: str) -> str:
    """Return the built-in language for a BCP 47 language: ``zh`` for ``zh`` and its variants, otherwise ``en``."""
    return "zh" if language.lower().replace("_", "-").split("-")[0] == "zh" else "en"


@cache
def prompt(name: str, language: str) -> Prompt:
    """Return the prompt for a BCP 47 language: Chinese for ``zh`` and its variants, else English."""
    folder = own_language(language)
    text = (files("pytest_mapsat") / "prompts" / folder / f"{name}.md").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    if not first.startswith(_VERSION):
        raise ValueError(f"prompts/{folder}/{name}.md: the first line is {first!r}, expected '{_VERSION}N'")
    return Prompt(first.removeprefix(_VERSION).strip(), rest.strip())


def marks(*names: str) -> dict[str, str]:
    """Return the marks of some prompts in all languages, by ``language/name``."""
    return {f"{language}/{name}": prompt(name, language).mark for language in LANGUAGES for name in sorted(names)}
