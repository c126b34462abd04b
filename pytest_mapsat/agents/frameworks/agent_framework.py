"""Microsoft Agent Framework: an ``Agent`` keeps its tools; wherever one of them is invoked, the sandbox answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_mapsat.guard import GuardedCall

from . import (
    Adapter,
    AdapterEpisode,
    FrameworkConversation,
    as_agent,
    counted,
    go_ahead,
    in_turn,
    kinds_of,
    must_answer,
    natively,
    refusal_of,
)


def _native(name: str, description: str, parameters: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as ``agent_framework.FunctionTool``."""
    from agent_framework import FunctionTool

    def invoke(**arguments: Any) -> str:
        """Return the sandbox's answer to a call as text."""
        return episode.call(name, arguments).text

    return FunctionTool(name=name, description=description, func=invoke, input_model=parameters)


class _AgentConversation(FrameworkConversation):
    """One episode with an agent: its own session, and the approval requests at which a run stops."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        super().__init__(agent, episode)
        self._session = agent.create_session()

    def resumed_input(self, stops: Sequence[Any], message: str) -> Any:
        """Return the message that applies the user's decision to all requests."""
        from agent_framework import Message

        return Message("user", [stop.to_function_approval_response(go_ahead(message)) for stop in stops])

    def call_at(self, stop: Any) -> tuple[str, Any]:
        """Return name and arguments of a call."""
        return stop.function_call.name, stop.function_call.parse_arguments() or {}

    async def run(self, given: Any) -> Any:
        """Run the agent; the output is its structured value, or its text."""
        response = await self.agent.run(given, session=self._session)
        contents = [content for message in response.messages for content in message.contents]
        self.thoughts += [c.text for c in contents if c.type == "text_reasoning" and c.text]
        self.stops = response.user_input_requests
        self.text = response.text
        return response.value if response.value is not None else response.text


def meet(call: GuardedCall) -> Any:
    """Answer a tool call from the sandbox, or refuse it; let agents run, and count the usage of their models."""
    if call.name == "run":
        return as_agent(call, call.thing.name)
    if call.name == "_inner_get_response":
        return _streamed(call) if call.options.get("stream") else counted(call, _used)
    tool = call.thing
    function = getattr(tool, "func", None)
    own = str(getattr(function, "__module__", "")).startswith("agent_framework.")
    if not must_answer(call, tool.name, function or tool, own=own):
        return in_turn(call)
    return _answered(call)


def _streamed(call: GuardedCall) -> Any:
    """Return the stream of a model's response; its usage is counted once the stream is complete."""
    return call.real().with_result_hook(lambda answer: call.episode and call.episode.spent.add(*_used(answer)))


async def _answered(call: GuardedCall) -> Any:
    """Return the sandbox's answer to a call of a tool, as ``invoke`` returns it."""
    from agent_framework import Content

    arguments = call.options.get("arguments")
    if arguments is None:
        arguments = getattr(call.options.get("context"), "arguments", None) or call.options
    text = call.episode.call(call.thing.name, dict(arguments)).text
    return text if call.options.get("skip_parsing") else [Content.from_text(text)]


def _used(response: Any) -> tuple[int | None, int | None, None]:
    """Return the input tokens, output tokens and cost (always None) of a model's response."""
    used = response.usage_details or {}
    return used.get("input_token_count"), used.get("output_token_count"), None


def _refusal(agent: Any) -> str:
    """Return why an agent cannot be played: it is a workflow, or its model's provider runs some tools; empty if it can be played."""
    if any(kind in ("Workflow", "WorkflowAgent") for _, kind in kinds_of(agent)):
        return (
            "a workflow keeps the state of one run, which episodes cannot share; "
            "write a function of message that builds it of `pytest_mapsat.sandboxed(agent)` and runs it"
        )
    options = getattr(agent, "default_options", None) or {}
    tools = options.get("tools") or ()
    return refusal_of({str(tool.get("type", "tool")) for tool in tools if isinstance(tool, dict)})


ADAPTER = Adapter(
    name="agent-framework",
    distribution="agent-framework-core",
    versions=((1, 0), (2, 0)),
    classes=frozenset({("agent_framework", kind) for kind in ("RawAgent", "Workflow", "WorkflowAgent")}),
    start=_AgentConversation,
    native=natively(_native),
    refusal=_refusal,
)
