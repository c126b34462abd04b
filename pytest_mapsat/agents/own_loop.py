"""For agents that run the loop of model and tools themselves, over the client of a model's vendor: schemas as the client takes them, and answers to calls."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pytest_mapsat.guard import now
from pytest_mapsat.model import JsonObject, UsageError
from pytest_mapsat.sandbox import Toolbox

from .source import declared

Form: TypeAlias = Literal["openai", "openai-responses", "anthropic"]


def tools_of(tools: Toolbox, form: Form = "openai") -> list[JsonObject]:
    """Return the schemas of the case's tools in the format of a client.

    Args:
        tools: the agent's argument ``tools``.
        form: ``openai`` for chat completions, ``openai-responses``, or ``anthropic`` for messages.

    Raises:
        UsageError: there is no such form.
    """
    if form == "openai":
        return tools.schemas()
    if form == "openai-responses":
        return [{"type": "function", **schema} for schema in declared(tools)]
    if form == "anthropic":
        return [
            {"name": schema["name"], "description": schema["description"], "input_schema": schema["parameters"]}
            for schema in declared(tools)
        ]
    raise UsageError(f"tools_of: found the form {form!r}, expected openai, openai-responses or anthropic")


def answer(call: Any) -> JsonObject:
    """Let the sandbox of the running episode answer a model's tool call, and return the message for the model.

    Args:
        call: the call as the client gives it, or the same as a dict: an item of ``message.tool_calls`` (OpenAI chat completions), an output item
            ``function_call`` (OpenAI responses), or a content block ``tool_use`` (Anthropic).

    Raises:
        UsageError: it is none of these, or no episode is running.
    """
    here = now()
    if here is None or here.scope is None:
        raise UsageError(
            "answer() is called inside an agent, while its reply is under way, and in a thread with its context"
        )
    episode = here.scope.episode
    function, identity = _part(call, "function"), _part(call, "id")
    if function is not None:
        result = episode.call(_part(function, "name"), _part(function, "arguments"))
        return {"role": "tool", "tool_call_id": identity, "content": result.text}
    if _part(call, "type") == "function_call":
        result = episode.call(_part(call, "name"), _part(call, "arguments"))
        return {"type": "function_call_output", "call_id": _part(call, "call_id"), "output": result.text}
    if _part(call, "type") == "tool_use":
        result = episode.call(_part(call, "name"), _part(call, "input"))
        return {"type": "tool_result", "tool_use_id": identity, "content": result.text, "is_error": result.failed}
    raise UsageError(f"answer() takes a call of a tool from an OpenAI or Anthropic client, not {type(call).__name__}")


def _part(call: Any, name: str) -> Any:
    """Return a part of an object or a dict; None if there is no such part."""
    return call.get(name) if isinstance(call, dict) else getattr(call, name, None)
