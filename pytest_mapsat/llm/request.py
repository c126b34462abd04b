"""What is asked of a model, and what comes back: plain values, the same for a live call, the cache and a batch file."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import Any, Literal, Protocol

from pydantic import Field

from pytest_mapsat.model import Json, JsonObject, Noun, Usage, UsageError, did_you_mean, digest

#: Who asks; it decides whose the spending is, and who is blamed for a reply that is no use. Not part of the key.
Purpose = Literal["agent", "user", "judge", "sandbox"]

#: The parameters that a spec may set, as in ``llm:openai/gpt-4o?temperature=0``, and how each is read.
_PARAMETERS: Mapping[str, type] = {
    "temperature": float,
    "top_p": float,
    "max_tokens": int,
    "seed": int,
    "reasoning_effort": str,
}


class Request(Noun):
    """One call of a model.

    ``model``: its name as litellm knows it, as ``openai/gpt-4o``. ``messages``, ``tools``: in the form of the OpenAI chat interface.
    ``schema``: the JSON Schema that the reply has to follow; null: free text. ``parameters``: sampling parameters by their OpenAI names.
    ``trial``, ``vote``: tell calls apart that are equal otherwise, so that repeated trials and votes share no answer.
    """

    model: str = Field(min_length=1, max_length=200)
    messages: tuple[JsonObject, ...] = Field(min_length=1)
    tools: tuple[JsonObject, ...] = ()
    schema_: JsonObject | None = Field(default=None, alias="schema")
    parameters: JsonObject = Field(default_factory=dict)
    seed: int | None = None
    trial: int = Field(default=1, ge=1)
    vote: int = Field(default=1, ge=1)
    purpose: Purpose = "agent"

    def identity(self) -> JsonObject:
        """Return all that an answer depends on, as plain data."""
        return {**self.body(), "trial": self.trial, "vote": self.vote}

    def key(self) -> str:
        """Return a digest of all that an answer depends on: the name of the answer in the cache and in a batch."""
        return digest(self.identity(), size=40)

    def body(self) -> JsonObject:
        """Return the body of the call in the form of the OpenAI chat interface."""
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
    """A tool that the model wants called. ``arguments``: null where they are no JSON object; ``text`` has them as they came."""

    id: str
    name: str
    arguments: JsonObject | None = None
    text: str = ""


class Answer(Noun):
    """What a model answered.

    ``data``: what the text holds, where a schema was asked for: a JSON object, not yet held against the schema. ``finish``: why the
    model stopped, in its own word. ``usage``: tokens and US dollars; of a cached answer those that it once cost. ``seconds``: how
    long the model took, then. ``cached``: whether nobody was called.
    """

    text: str = ""
    data: JsonObject | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = ""
    usage: Usage = Usage()
    seconds: float = Field(default=0.0, ge=0)
    cached: bool = False


class ModelClient(Protocol):
    """The way to models."""

    def ask(self, request: Request, *, timeout: float | None = None, cancelled: Event | None = None) -> Answer:
        """Return the model's answer, from the cache where it is there.

        Args:
            request: what is asked.
            timeout: seconds that all attempts together may take; None: the door's own.
            cancelled: set by somebody who no longer wants the answer.

        Raises:
            ModelError: there is none; the error says why, and who is to blame.
        """
        ...


def named_model(text: str, spec: str) -> tuple[str, dict[str, Json]]:
    """Return the model and the parameters that a spec names behind its colon.

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
    kind = _PARAMETERS.get(name)
    if kind is None:
        hint = did_you_mean(name, _PARAMETERS)
        known = ", ".join(_PARAMETERS)
        raise UsageError(f"{spec}: no parameter {name!r}; there are {known}" + (f" ({hint})" if hint else ""))
    try:
        return kind(value)
    except ValueError:
        kinds = {float: "a number", int: "a whole number"}
        raise UsageError(f"{spec}: {name}={value!r}: expected {kinds[kind]}") from None
