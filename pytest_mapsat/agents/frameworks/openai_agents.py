"""OpenAI Agents SDK: an ``Agent`` keeps its tools, handoffs and agents as tools; each function that the model calls is answered by the sandbox."""

from __future__ import annotations

import copy
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from pytest_mapsat.guard import GuardedCall, is_sandboxed

from . import (
    Adapter,
    AdapterEpisode,
    FrameworkConversation,
    counted,
    go_ahead,
    in_turn,
    is_ours,
    kind_in,
    natively,
    refusal_of,
    team_of,
)

#: Tools that touch nothing outside the run.
_HARMLESS = {"FunctionTool", "ToolSearchTool"}
_INSTEAD = "no sandbox can answer it; give the agent a function in its place"


def _native(name: str, description: str, parameters: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as ``agents.FunctionTool``."""
    from agents import FunctionTool

    async def invoke(_: Any, arguments: str) -> str:
        """Return the sandbox's answer to a call as text."""
        return episode.call(name, arguments).text

    return FunctionTool(name, description, parameters, invoke, strict_json_schema=False)


class _OpenAIConversation(FrameworkConversation):
    """One episode with an agent: the dialogue, the current agent after handoffs, and a run that waits for approval."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        super().__init__(agent, episode)
        self._context = episode.data_for(_context_kind(agent))
        self._dialogue: list[Any] = []
        self._stopped: Any = None

    def run_input(self, message: str) -> Any:
        """Return the dialogue with the message."""
        return [*self._dialogue, {"role": "user", "content": message}]

    def resumed_input(self, stops: Sequence[Any], message: str) -> Any:
        """Return the state of the stopped run, updated with the user's decision."""
        state = self._stopped.to_state()
        for item in stops:
            if go_ahead(message):
                state.approve(item)
            else:
                state.reject(item, rejection_message=message)
        return state

    def call_at(self, stop: Any) -> tuple[str, Any]:
        """Return name and arguments of a call."""
        return stop.name or "a tool", stop.arguments or ""

    async def run(self, given: Any) -> Any:
        """Run or resume the agent, note its thoughts and where it stops, and return the output."""
        from agents import Runner
        from agents.exceptions import AgentsException

        try:
            result = await Runner.run(self.agent, given, context=self._context)
        except AgentsException as tripped:
            # That of a tool is its own result.
            declined = getattr(tripped, "guardrail_result", tripped)
            if not hasattr(declined, "guardrail"):
                raise
            return self._declined(declined)
        self.thoughts += _thoughts(result.new_items)
        self.stops = result.interruptions
        self._stopped = result if self.stops else None
        if not self.stops:
            self._dialogue, self.agent = result.to_input_list(), result.last_agent
        return result.final_output

    def _declined(self, result: Any) -> str:
        """Return the words of a tripped guardrail as the reply, and record them as a thought."""
        guard, info = result.guardrail, result.output.output_info
        name = guard.get_name()
        self.thoughts.append(f"the guardrail {name} tripped")
        return info if isinstance(info, str) and info else f"The guardrail {name} declined this."


def meet(call: GuardedCall) -> Any:
    """Answer a tool call from the sandbox, or refuse it; let agents run, with their tools replaced."""
    if not _is_there():
        return call.real()
    if call.name == "get_all_tools":
        return _listed(call)
    if call.name.endswith("_response"):
        return counted(call, _used) if call.name == "get_response" else _counted_stream(call)
    if call.name.startswith("run"):
        agent = call.given[0] if call.given else call.options.get("starting_agent")
        return call.inside() if call.is_answered(agent) else call.real()
    if _is_own(call.thing, call):
        return call.real()
    return _invoker(call.thing, call, "")(*call.given, **call.options)


def _used(answer: Any) -> tuple[int, int, None]:
    """Return the input tokens, output tokens and cost (always None) of a model's answer."""
    return answer.usage.input_tokens, answer.usage.output_tokens, None


async def _counted_stream(call: GuardedCall) -> AsyncIterator[Any]:
    """Yield the events of a model's answer, and count its usage once it is complete."""
    async for event in call.real():
        if event.type == "response.completed" and call.episode and (used := event.response.usage):
            call.episode.spent.add(used.input_tokens, used.output_tokens)
        yield event


async def _listed(call: GuardedCall) -> list[Any]:
    """Return the tools of an agent, replaced by tools that the sandbox answers or refuses; raise at once for hosted tools."""
    tools = await call.real()
    outside = [tool for tool in tools if type(tool).__name__ not in _HARMLESS]
    if outside:
        call.refuse(str(getattr(outside[0], "name", type(outside[0]).__name__)), _INSTEAD)
    # Whether a tool of an MCP server is answered, the server knows, which was perhaps given to ``sandboxed``.
    passed = any(map(is_sandboxed, call.thing.mcp_servers)) and not call.is_answered()
    return [tool if passed and _is_of_a_server(tool) else _twin(tool, call) for tool in tools]


def _is_of_a_server(tool: Any) -> bool:
    """Return whether a tool comes from an MCP server."""
    return str(getattr(getattr(getattr(tool, "_tool_origin", None), "type", None), "value", "")) == "mcp"


def _is_own(tool: Any, call: GuardedCall) -> bool:
    """Return whether a tool stays unchanged: a tool search, an already replaced tool, or an agent used as a tool."""
    functions = (getattr(tool, name, None) for name in ("on_invoke_tool", "__wrapped__"))
    if type(tool).__name__ in _HARMLESS - {"FunctionTool"} or any(map(is_ours, functions)):
        return True
    return (getattr(tool, "_is_agent_tool", False) and tool.name not in call.names) or call.runs(tool.name)


def _twin(tool: Any, call: GuardedCall) -> Any:
    """Return a copy of a tool whose calls the sandbox answers or refuses; of an own tool that runs an agent, a copy whose runs are counted and keep their order; any other own tool as it is."""
    own = _is_own(tool, call)
    real: Any = getattr(tool, "on_invoke_tool", None)
    if own and (real is None or is_ours(real) or not call.episode):
        return tool

    async def run(*given: Any) -> Any:
        """Run the agent."""
        call.episode.count_run(tool.name)
        return await in_turn(call._replace(body=real, given=given, options={}))

    twin = copy.copy(tool)
    twin.on_invoke_tool = run if own else _invoker(tool, call, str(call.thing.name))
    return twin


def _invoker(tool: Any, call: GuardedCall, agent: str) -> Callable[[Any, str], Awaitable[str]]:
    """Return a function that answers an agent's calls of a tool from the sandbox, or refuses them."""

    async def invoke(ctx: Any, input: str) -> str:  # noqa: A002, ARG001  # the framework's names
        """Return the sandbox's answer to a call as text; refuse the call if no sandbox answers the tool."""
        if not call.is_answered(tool):
            call.refuse(tool.name)
        return str(call.episode.call(tool.name, input, agent).text)

    return invoke


def _thoughts(items: list[Any]) -> Iterator[str]:
    """Yield the reasoning texts among the items of a run."""
    for item in items:
        if item.type == "reasoning_item":
            raw = item.raw_item
            yield from (part.text for part in (*(raw.summary or ()), *(getattr(raw, "content", None) or ())))


def _context_kind(agent: Any) -> Any:
    """Return the user's own context class in the annotations of agents, instructions, hooks and guardrails; None if there is none."""
    for member in team_of(agent, "handoffs"):
        guards = [*getattr(member, "input_guardrails", ()), *getattr(member, "output_guardrails", ())]
        functions = [guard.guardrail_function for guard in guards]
        own = (getattr(member, name, None) for name in ("__orig_class__", "instructions", "hooks"))
        kind = kind_in(*own, *functions)
        if kind is not None:
            return kind
    return None


def _refusal(agent: Any) -> str:
    """Return why a team of agents cannot be played: some tools are not functions; empty if it can be played."""
    team = team_of(agent, "handoffs")
    servers = [server for member in team for server in getattr(member, "mcp_servers", ())]
    if apart := [server.name for server in servers if getattr(server, "session", server) is None]:
        return (
            f"its MCP server {apart[0]!r} is not connected; connect it in an `async def make()` that returns the agent"
        )
    return refusal_of({type(tool).__name__ for member in team for tool in getattr(member, "tools", ())} - _HARMLESS)


def _is_there() -> bool:
    """Return whether the imported package ``agents`` is the OpenAI Agents SDK rather than a package of the project."""
    return hasattr(sys.modules.get("agents"), "Runner")


class _Adapter(Adapter):
    def recognises(self, agent: object) -> bool:
        """Return whether an object is an agent of the SDK, rather than of another package called ``agents``."""
        return super().recognises(agent) and _is_there()


ADAPTER = _Adapter(
    name="openai-agents",
    versions=((0, 20), (1, 0)),
    classes=frozenset({("agents", "Agent")}),
    start=_OpenAIConversation,
    native=natively(_native),
    refusal=_refusal,
    kind=_context_kind,
)
