"""OpenAI Agents SDK: an ``Agent`` keeps its tools, handoffs and agents as tools; each function that the model calls is answered by the sandbox."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from functools import wraps
from typing import Any

from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox

from .adapter import Adapter, Episode, Spent, Underway, declared, go_ahead, question, reply_of

_underway = Underway("openai_agents")
#: Tools that touch nothing outside the run.
_HARMLESS = {"FunctionTool", "ToolSearchTool"}


def native(tools: Toolbox) -> list[Any]:
    """Return the tools as ``agents.FunctionTool``."""
    from agents import FunctionTool

    episode = Episode.of(tools)

    def made(tool: dict[str, Any]) -> Any:
        async def invoke(_: Any, arguments: str) -> str:
            return episode.call(tool["name"], arguments).text

        return FunctionTool(tool["name"], tool["description"], tool["parameters"], invoke, strict_json_schema=False)

    return [made(tool) for tool in declared(tools)]


class _Conversation:
    """One episode with an agent: the dialogue, the agent that speaks after handoffs, and the run that waits for the user's go-ahead."""

    def __init__(self, agent: Any, episode: Episode) -> None:
        _answer_calls()
        self._agent = agent
        self._episode = episode
        self._dialogue: list[Any] = []
        self._waiting: Any = None
        _underway.begin()

    async def reply(self, message: str) -> Reply:
        """Return the agent's answer; where calls wait for a go-ahead, the message gives or denies it."""
        from agents import Runner

        _underway.enter(self._episode)  # in this task alone
        waited = self._waiting
        items = self._decided(message) if waited else [*self._dialogue, {"role": "user", "content": message}]
        before = _used(waited)
        result = await Runner.run(self._agent, items, context=self._episode.context)
        spent = Spent()
        # A run that goes on counts from where it stopped.
        spent.add(*(now - then for now, then in zip(_used(result), before, strict=True)))
        self._waiting = result if result.interruptions else None
        thoughts = list(_thoughts(result.new_items))
        if self._waiting is not None:
            asked = [(item.name or "a tool", item.arguments or "") for item in result.interruptions]
            return Reply(question(asked, self._episode), thoughts, spent.usage())
        self._dialogue, self._agent = result.to_input_list(), result.last_agent
        return reply_of(result.final_output, spent, thoughts=thoughts)

    def close(self) -> None:
        """Count the episode as ended."""
        _underway.end()

    def _decided(self, message: str) -> Any:
        """Return the state of the run that waits, with the user's decision in it."""
        state = self._waiting.to_state()
        for item in self._waiting.interruptions:
            if go_ahead(message):
                state.approve(item)
            else:
                state.reject(item, rejection_message=message)
        return state


def _used(result: Any) -> tuple[int, int]:
    """Return the tokens of a run so far."""
    used = result and result.context_wrapper.usage
    return (used.input_tokens, used.output_tokens) if used else (0, 0)


def _answer_calls() -> None:
    """Have agents be given tools that the sandbox answers, in an episode; everywhere else they get their own, as before."""
    from agents.agent import AgentBase

    original = AgentBase.get_all_tools
    if hasattr(original, "mapsat"):
        return

    @wraps(original)
    async def get_all_tools(self: Any, run_context: Any) -> list[Any]:
        tools = await original(self, run_context)
        episode = _underway.episode()
        return tools if episode is None else [_answered(tool, episode) for tool in tools]

    vars(get_all_tools)["mapsat"] = True
    AgentBase.get_all_tools = get_all_tools


def _answered(tool: Any, episode: Episode) -> Any:
    # An agent that is a tool is asked as ever: the tools that it has are answered, too.
    if type(tool).__name__ in _HARMLESS - {"FunctionTool"} or (
        getattr(tool, "_is_agent_tool", False) and tool.name not in episode.names
    ):
        return tool

    async def invoke(_: Any, arguments: str) -> str:
        return episode.call(tool.name, arguments).text

    twin = copy.copy(tool)
    twin.on_invoke_tool = invoke
    return twin


def _thoughts(items: list[Any]) -> Iterator[str]:
    for item in items:
        if item.type == "reasoning_item":
            raw = item.raw_item
            yield from (part.text for part in (*(raw.summary or ()), *(getattr(raw, "content", None) or ())))


def _refusal(agent: Any) -> str:
    """Name the tools of an agent, and of those that it hands over to, that are no functions of ours to answer."""
    seen: dict[int, Any] = {}
    left = [agent]
    while left:
        member = left.pop()
        if id(member) not in seen and hasattr(member, "tools"):
            seen[id(member)] = member
            left += getattr(member, "handoffs", ())
    kinds = {type(tool).__name__ for member in seen.values() for tool in member.tools} - _HARMLESS
    return f"no sandbox can answer its {', '.join(sorted(kinds))}; give it functions in their place" if kinds else ""


class _Adapter(Adapter):
    def recognises(self, agent: object) -> bool:
        # Many projects have a package of their own that is called agents.
        return super().recognises(agent) and hasattr(sys.modules.get("agents"), "Runner")


ADAPTER = _Adapter(
    name="openai-agents",
    versions=((0, 20), (1, 0)),
    classes=frozenset({("agents", "Agent")}),
    start=_Conversation,
    native=native,
    refusal=_refusal,
)
