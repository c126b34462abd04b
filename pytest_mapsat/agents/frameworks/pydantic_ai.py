"""pydantic-ai: an ``Agent`` keeps its tools; a capability of the run has each call answered by the sandbox."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pytest_mapsat.guard import GuardedCall, is_sandboxed

from . import (
    Adapter,
    AdapterEpisode,
    FrameworkConversation,
    ToolAnswer,
    counted,
    go_ahead,
    in_turn,
    must_answer,
    natively,
)


def _native(name: str, description: str, parameters: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as ``pydantic_ai.Tool``."""
    from pydantic_ai import Tool

    return Tool.from_schema(lambda **arguments: episode.call(name, arguments).value, name, description, parameters)


class _PydanticConversation(FrameworkConversation):
    """One episode with an agent, and the messages so far; a run stops at calls that need an approval."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        super().__init__(agent, episode)
        self._messages: Sequence[Any] = ()
        self._deps = episode.data_for(_deps_type(agent))

    def resumed_input(self, stops: Sequence[Any], message: str) -> Any:
        """Return the user's decision on all calls."""
        from pydantic_ai import DeferredToolResults, ToolDenied

        decision = go_ahead(message) or ToolDenied(message)
        return DeferredToolResults(approvals={call.tool_call_id: decision for call in stops})

    def call_at(self, stop: Any) -> tuple[str, Any]:
        """Return name and arguments of a call."""
        return stop.tool_name, stop.args_as_dict()

    async def run(self, given: Any) -> Any:
        """Run the agent, answer external calls from the sandbox, and return the output; None if calls need approval."""
        from pydantic_ai import DeferredToolRequests, DeferredToolResults

        prompt, results = (given, None) if isinstance(given, str) else (None, given)
        result = await self.agent.run(
            prompt, message_history=list(self._messages), deferred_tool_results=results, deps=self._deps
        )
        self._messages = result.all_messages()
        parts = [part for message in result.new_messages() if message.kind == "response" for part in message.parts]
        self.thoughts += [part.content for part in parts if part.part_kind == "thinking" and part.content]
        output = result.output
        if not isinstance(output, DeferredToolRequests):
            return output
        calls = {call.tool_call_id: self.episode.call(call.tool_name, call.args).value for call in output.calls}
        self.stops = output.approvals
        return None if self.stops else await self.run(DeferredToolResults(calls=calls))


def _deps_type(agent: Any) -> Any:
    """Return the class of an agent's dependencies."""
    return getattr(agent, "deps_type", None)


def meet(call: GuardedCall) -> Any:
    """Answer a tool call from the sandbox, or refuse it; give an agent's run a capability that answers its calls."""
    if call.name == "iter":
        if not call.is_answered():
            return call.real()
        call.options["capabilities"] = [*(call.options.get("capabilities") or ()), _capability(call)]
        return call.inside()
    if call.name.startswith("request"):
        (parameters,) = [value for value in (*call.given, *call.options.values()) if hasattr(value, "function_tools")]
        if outside := _outside(getattr(parameters, "native_tools", None) or getattr(parameters, "builtin_tools", ())):
            call.refuse(outside[0], "no sandbox can answer what the model's provider runs; leave it out")
        return counted(call, _used) if call.name == "request" else _counted_stream(call)
    if call.name == "call":
        # A function of a set of tools is met there; this one makes the output, or is the framework's own.
        function = call.thing.function
        name = getattr(function, "__name__", "output")
        is_theirs = str(getattr(function, "__module__", "")).startswith("pydantic_ai.")
        if is_theirs or not must_answer(call, name, function, own=call.is_answered()):
            return in_turn(call)
        return _answered(call, name, call.given[0])
    return _met_in_a_set(call)


def _met_in_a_set(call: GuardedCall) -> Any:
    """Answer a call of a tool in a toolset from the sandbox, or refuse it; run the framework's own tools and wrappers."""
    from pydantic_ai.toolsets import FunctionToolset

    toolset, given = call.thing, inspect.signature(call.body).bind(*call.given, **call.options).arguments
    name, tool = given["name"], given.get("tool")
    functions = isinstance(toolset, FunctionToolset)
    member = toolset.tools.get(name) if functions else None
    # Sets around others hand on to them; tools that belong to the framework itself, such as the search for other tools, have a kind.
    theirs = not functions and type(toolset).__module__.startswith("pydantic_ai.toolsets.")
    own = (theirs and not is_sandboxed(toolset)) or getattr(tool and tool.tool_def, "tool_kind", None)
    if own or not must_answer(call, name, getattr(member, "function", None), member):
        return in_turn(call)
    ctx = given.get("ctx")
    arguments = given.get("tool_args", given.get("args"))
    return _answered(call, getattr(ctx, "tool_name", None) or name, arguments, getattr(ctx, "agent", None))


async def _answered(call: GuardedCall, name: str, arguments: Any, agent: Any = None) -> Any:
    """Return the sandbox's answer to an agent's call. If the call failed, raise ToolFailed where pydantic-ai defines it."""
    import pydantic_ai

    answer: ToolAnswer = call.episode.call(name, arguments, getattr(agent, "name", None))
    failed = getattr(pydantic_ai, "ToolFailed", None)  # where it is missing, the error is a result like others
    if answer.failed and failed is not None:
        raise failed(answer.text)
    return answer.value


def _capability(call: GuardedCall) -> Any:
    """Return the capability that lets the sandbox answer; defined here because its base class is the framework's."""
    from pydantic_ai.capabilities import AbstractCapability

    class Sandboxed(AbstractCapability):
        async def wrap_tool_execute(self, _: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
            # Tools that belong to the framework itself, such as the search for other tools, have a kind.
            """Answer a call from the sandbox; run the framework's own tool unless the case has a tool with the same name."""
            own = tool_def.kind == "output" or getattr(tool_def, "tool_kind", None)
            if (own and call.tool_name not in run.names) or run.runs(call.tool_name):
                return await handler(args)
            return await _answered(run, call.tool_name, call.args_as_dict(), run.thing)

    run = call
    return Sandboxed()


def _used(message: Any) -> tuple[int | None, int | None, float | None]:
    """Return tokens in, tokens out and cost of a model response."""
    return message.usage.input_tokens, message.usage.output_tokens, _cost(message)


@asynccontextmanager
async def _counted_stream(call: GuardedCall) -> AsyncIterator[Any]:
    """Stream a model's answer, and count its usage when the stream is closed."""
    async with call.real() as stream:
        yield stream
    if call.episode:
        call.episode.spent.add(*_used(stream.get()))


def _cost(message: Any) -> float | None:
    """Return the cost of a model response in US dollars; None if the price is not known."""
    try:
        return float(message.cost().total_price)
    except (LookupError, AssertionError, ValueError):  # a model without a known price
        return None


def _outside(tools: Any) -> list[str]:
    """Return the sorted kinds of tools that the model's provider runs, except the search for tools."""
    return sorted({str(getattr(tool, "kind", type(tool).__name__)) for tool in tools} - {"tool_search"})


def _refusal(agent: Any) -> str:
    """Return why an agent cannot be played: its model's provider runs some tools; empty if it can be played."""
    names = _outside(getattr(agent, "_cap_native_tools", None) or ())
    return f"the model's provider runs its tools {', '.join(names)}, which no sandbox can answer" if names else ""


ADAPTER = Adapter(
    name="pydantic-ai",
    distribution="pydantic-ai-slim",
    versions=((1, 90), (3, 0)),
    classes=frozenset({("pydantic_ai", "AbstractAgent")}),
    start=_PydanticConversation,
    native=natively(_native),
    refusal=_refusal,
    kind=_deps_type,
)
