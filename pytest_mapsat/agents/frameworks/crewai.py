"""CrewAI: each episode plays a copy of the ``Agent`` or ``Crew``, whose tools are answered by the sandbox where they are called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from inspect import unwrap
from typing import Any

from pydantic import BaseModel, Field, create_model

from pytest_mapsat.guard import GuardedCall

from . import Adapter, AdapterEpisode, FrameworkConversation, as_agent, in_turn, must_answer, natively

#: Where the tools come from with which agents hand over to each other: they touch nothing outside the crew.
_OWN = ("crewai.tools.agent_tools.ask", "crewai.tools.agent_tools.delegate")
_THOUGHT = re.compile(r"Thought:\s*(.+?)\s*(?=\n\s*(?:Action|Final Answer):|\Z)", re.DOTALL)


def _native(name: str, description: str, parameters: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as a subclass of ``crewai.tools.BaseTool``."""
    from crewai.tools import BaseTool

    # The sandbox looks at the values; what the model is shown is the schema of each.
    fields: dict[str, Any] = {
        field: (Any, Field(... if field in parameters.get("required", ()) else None, json_schema_extra=schema))
        for field, schema in parameters.get("properties", {}).items()
    }
    shape = create_model(name, **fields)

    class SandboxTool(BaseTool):
        def _run(self, **arguments: Any) -> str:
            """Return the sandbox's answer to a call as text."""
            return episode.call(name, _given(shape, arguments)).text

    return SandboxTool(name=name, description=description, args_schema=shape)


class _CrewConversation(FrameworkConversation):
    """One episode with a copy of an agent or crew."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        super().__init__(agent.copy(), episode)
        self._dialogue: list[dict[str, str]] = []
        self._is_crew = hasattr(agent, "tasks")
        if self._is_crew:
            self.agent.memory = False  # it would last on the disk
            self.agent.stream = False  # a crew that streams returns pieces, not its output

    async def run(self, given: Any) -> Any:
        """Run the agent or the crew, note its thoughts, and return its data or text."""
        self._dialogue.append({"role": "user", "content": given})
        if self._is_crew:
            result = await self.agent.kickoff_async(inputs=self._inputs(given))
        else:
            result = await self.agent.kickoff_async(list(self._dialogue))
        self._dialogue.append({"role": "assistant", "content": result.raw})
        parts = result.tasks_output if self._is_crew else [result]
        self.thoughts += [thought for part in parts for thought in _thoughts(getattr(part, "messages", ()))]
        data = result.pydantic if result.pydantic is not None else getattr(result, "json_dict", None)
        return result.raw if data is None else data

    def _inputs(self, message: str) -> dict[str, Any]:
        """Return the values for placeholders in a crew's tasks: the context, the message and the history."""
        before = "\n".join(f"{entry['role']}: {entry['content']}" for entry in self._dialogue[:-1])
        fits = (str, int, float, bool, dict, list)
        context = {name: value for name, value in self.episode.context.items() if isinstance(value, fits)}
        return {**context, "message": message, "history": before}


def meet(call: GuardedCall) -> Any:
    """Answer a tool call from the sandbox, or refuse it; let agents, and tools that hand over to them, run. Count what a model reports."""
    tool = call.thing
    if call.name == "_track_token_usage_internal":  # with which a model reports each of its calls
        return _counted(call)
    if call.name == "_should_parallelize_native_tool_calls":
        return False  # one after the other, not in threads: calls keep their order
    if not hasattr(tool, "args_schema"):  # an agent or a crew
        return as_agent(call, getattr(tool, "role", ""))
    # A structured tool is made from one of the other kind, whose method was read, and so guarded, then.
    made_from = getattr(unwrap(getattr(tool, "func", None) or tool), "__self__", tool)
    own, body = type(made_from).__module__.startswith(_OWN), getattr(made_from, "func", None) or type(made_from)
    if not must_answer(call, tool.name, body, made_from, own=own):
        return in_turn(call)
    arguments: Any = dict(zip(tool.args_schema.model_fields, call.given, strict=False)) | call.options
    if call.name.endswith("invoke"):
        arguments = call.options.get("input", *call.given[:1])
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    return call.episode.call(tool.name, _given(tool.args_schema, arguments)).text


def _counted(call: GuardedCall) -> Any:
    """Count the usage that a model reports about one of its calls, then let the framework count it."""
    from crewai.types.usage_metrics import UsageMetrics

    used = UsageMetrics.from_provider_dict(call.given[0])
    if call.episode and used:
        call.episode.spent.add(used.prompt_tokens, used.completion_tokens)
    return call.real()


def _given(schema: type[BaseModel], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that the model gave, without the defaults that the framework fills in."""
    defaults = {
        name: member.get_default(call_default_factory=True)
        for name, member in schema.model_fields.items()
        if not member.is_required()
    }
    return {name: value for name, value in arguments.items() if name not in defaults or value != defaults[name]}


def _thoughts(messages: Iterable[Any]) -> Iterator[str]:
    """Yield the thoughts in the assistant's messages, marked by ``Thought:``."""
    for message in messages:
        if message.get("role") == "assistant" and isinstance(message.get("content"), str):
            yield from _THOUGHT.findall(message["content"])


def _refusal(agent: Any) -> str:
    """Return why an agent or a crew cannot be played; empty if it can be played."""
    members = [*getattr(agent, "agents", ()), getattr(agent, "manager_agent", None), agent]
    wants = ("allow_code_execution", "apps", "mcps")
    outside = sorted({name for member in members for name in wants if getattr(member, name, None)})
    if outside:
        return f"no sandbox can answer its {', '.join(outside)}; give it tools in their place"
    tasks = getattr(agent, "tasks", None)
    if tasks is not None and not any("{message}" in task.description for task in tasks):
        return "no task of the crew has {message} in its description, so that no task would know what the user says"
    return ""


ADAPTER = Adapter(
    name="crewai",
    versions=((1, 15), (2, 0)),
    classes=frozenset({("crewai", "BaseAgent"), ("crewai", "Crew")}),
    start=_CrewConversation,
    native=natively(_native),
    refusal=_refusal,
)
