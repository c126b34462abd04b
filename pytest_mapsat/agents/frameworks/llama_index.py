"""LlamaIndex: an agent or an ``AgentWorkflow`` keeps its tools and handoffs; wherever a tool is called, the sandbox answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pytest_mapsat.guard import GuardedCall, calling

from . import Adapter, AdapterEpisode, FrameworkConversation, counted, in_turn, must_answer, natively, refusal_of

#: Where the tool comes from with which agents hand over to each other.
_HANDOFFS = "llama_index.core.agent.workflow.multi_agent_workflow"


def _native(name: str, description: str, parameters: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as ``llama_index.core.tools.FunctionTool``."""
    from llama_index.core.tools import FunctionTool, ToolMetadata

    class Metadata(ToolMetadata):
        def get_parameters_dict(self) -> dict[str, Any]:
            """Return the JSON Schema of the case's tool."""
            return parameters

    def call(**arguments: Any) -> str:
        """Return the sandbox's answer to a call as text."""
        return episode.call(name, arguments).text

    return FunctionTool(fn=call, metadata=Metadata(description, name, None))


class _WorkflowConversation(FrameworkConversation):
    """One episode with an agent: its own context, and a run that may wait for the user."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        from llama_index.core.memory import ChatMemoryBuffer
        from llama_index.core.workflow import Context

        super().__init__(agent, episode)
        first = agent.agents[agent.root_agent] if hasattr(agent, "agents") else agent
        # A context does not carry the memory from one run to the next.
        self._context, self._memory = Context(agent), ChatMemoryBuffer.from_defaults(llm=first.llm)
        self._handler: Any = None

    def resumed_input(self, stops: Sequence[Any], message: str) -> Any:  # noqa: ARG002
        """Return the event that carries the user's words to the waiting run."""
        from llama_index.core.workflow import HumanResponseEvent

        return HumanResponseEvent(response=message)

    def question(self) -> str:
        """Return the question of the run to the user."""
        return "\n".join(str(getattr(stop, "prefix", "") or stop) for stop in self.stops)

    async def run(self, given: Any) -> Any:
        """Start or continue a run until it ends or waits for the user; the output is its structured response, or its text."""
        from llama_index.core.agent.workflow import AgentOutput
        from llama_index.core.workflow import InputRequiredEvent

        if isinstance(given, str):
            self._handler = self.agent.run(user_msg=given, ctx=self._context, memory=self._memory)
        else:
            self._handler.ctx.send_event(given)
        async for event in self._handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                self.stops = [event]
                return None
            if isinstance(event, AgentOutput):
                self.thoughts += [b.content for b in event.response.blocks if b.block_type == "thinking" and b.content]
        output = await self._handler
        # We give the memory to each run; a context that still holds it could not be serialised for the next.
        await self._context.store.set("memory", None)
        self.text = output.response.content or ""
        return output.structured_response or self.text


def meet(call: GuardedCall) -> Any:
    """Answer a tool call from the sandbox, or refuse it; let agents run, and count the usage of their models."""
    if call.name == "run":
        return call.started() if call.is_answered() else call.real()
    if call.name == "_call_tool":
        return _named(call)
    if call.name in ("achat", "astream_chat"):
        return counted(call, _used) if call.name == "achat" else _streamed(call)
    tool, name = call.thing, str(call.thing.metadata.get_name())
    function = getattr(tool, "real_fn", None)
    own = getattr(function, "__module__", "") == _HANDOFFS
    if not must_answer(call, name, function or tool, own=own):
        return in_turn(call)
    return _output(call, name)


async def _named(call: GuardedCall) -> Any:
    """Call a tool, with the current agent recorded as the caller."""
    current = getattr(call.thing, "name", "")
    if hasattr(call.thing, "agents"):
        current = await call.given[0].store.get("current_agent_name", default="")
    with calling(current):
        return await call.real()


def _output(call: GuardedCall, name: str) -> Any:
    """Return the sandbox's answer to a call of a tool, as a ``ToolOutput``."""
    from llama_index.core.tools import ToolOutput

    context = getattr(call.thing, "ctx_param_name", None)
    arguments = {key: value for key, value in call.options.items() if key != context}
    arguments |= {"input": call.given[0]} if call.given else {}
    answer = call.episode.call(name, arguments)
    return ToolOutput(
        content=answer.text, tool_name=name, raw_input=arguments, raw_output=answer.value, is_error=answer.failed
    )


async def _streamed(call: GuardedCall) -> AsyncIterator[Any]:
    """Return the pieces of a model's answer; its usage is counted once the answer is complete."""
    stream = await call.real()

    async def pieces() -> AsyncIterator[Any]:
        piece = None
        async for piece in stream:
            yield piece
        if call.episode and piece is not None:
            call.episode.spent.add(*_used(piece))

    return pieces()


def _used(response: Any) -> tuple[int | None, int | None, None]:
    """Return the input tokens, output tokens and cost (always None) of a model's response, under its vendor's names."""
    raw = response.raw if isinstance(response.raw, dict) else getattr(response.raw, "__dict__", {})
    used = raw.get("usage") or raw.get("usage_metadata") or {}
    used = used if isinstance(used, dict) else vars(used)
    sides = (
        ("prompt_tokens", "input_tokens", "prompt_token_count"),
        ("completion_tokens", "output_tokens", "candidates_token_count"),
    )
    read, written = (next((used[name] for name in names if isinstance(used.get(name), int)), None) for names in sides)
    return read, written, None


def _refusal(agent: Any) -> str:
    """Return why an agent cannot be played: it would run code that it writes; empty if it can be played."""
    members = getattr(agent, "agents", {"": agent}).values()
    return refusal_of({type(member).__name__ for member in members if hasattr(member, "code_execute_fn")})


ADAPTER = Adapter(
    name="llama-index",
    distribution="llama-index-core",
    versions=((0, 14), (1, 0)),
    classes=frozenset({("llama_index.core", "BaseWorkflowAgent"), ("llama_index.core", "AgentWorkflow")}),
    start=_WorkflowConversation,
    native=natively(_native),
    refusal=_refusal,
)
