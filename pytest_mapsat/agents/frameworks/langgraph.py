"""LangGraph and LangChain: a compiled graph keeps its tools; wherever one of them is called, the sandbox answers."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from pytest_mapsat.agents.returned import AgentFault, as_json
from pytest_mapsat.agents.source import AgentContext, filled_fields
from pytest_mapsat.guard import GuardedCall

from . import (
    Adapter,
    AdapterEpisode,
    FrameworkConversation,
    data_from,
    go_ahead,
    in_turn,
    is_data_kind,
    must_answer,
    natively,
    question,
)

#: Where the tools come from with which agents hand over to each other and plan: they touch nothing outside the graph.
_OWN = (
    "deepagents.middleware.subagents",
    "langchain.agents.middleware.todo",
    "langgraph_supervisor",
    "langgraph_swarm",
)


#: The nodes of LangChain's agents, besides those of middleware.
_NODES = {"__start__", "agent", "model", "tools"}


class _GraphConversation(FrameworkConversation):
    """One episode with a graph, as a thread of its own checkpointer. A run stops at interrupts."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.store.memory import InMemoryStore

        update = {"checkpointer": InMemorySaver()}
        if hasattr(agent, "compile"):
            graph = agent.compile(**update)
        else:
            if getattr(agent, "store", None) is not None:
                update["store"] = InMemoryStore(index=getattr(agent.store, "index_config", None))
            graph = agent.copy(update)
        super().__init__(graph, episode)
        self._heard = 0
        fields = {**episode.context["details"], **filled_fields(episode.context)} if episode.context else {}
        self._config = {"configurable": {**fields, "thread_id": uuid4().hex}}
        kind = _context_kind(graph)
        self._context = {} if kind is None and episode.data is None else {"context": episode.data_for(kind)}

    def run_input(self, message: str) -> Any:
        """Return the graph's input for a message. Raises AgentFault if the graph's state has no messages."""
        # Besides the fields of the state there are channels of the graph's own.
        fields = [name for name in self.agent.channels if not name.startswith("__") and ":" not in name]
        if "messages" in fields:
            return {"messages": [{"role": "user", "content": message}]}
        if not fields:  # an entrypoint
            kind = getattr(self.agent.channels.get("__start__"), "typ", str)
            asked = AgentContext(self.episode.context, message=message, messages=self.episode.session.messages)
            return data_from(asked, kind) if is_data_kind(kind) and kind is not str else message
        raise AgentFault(
            f"the state of the graph has no messages, only {', '.join(fields)}; write a function of message that runs `pytest_mapsat.sandboxed(graph)`"
        )

    def resumed_input(self, stops: Sequence[Any], message: str) -> Any:
        """Return the command that resumes the interrupts, with the message as their value."""
        from langgraph.types import Command

        return Command(resume={interrupt.id: _decision(interrupt.value, message) for interrupt in stops})

    def question(self) -> str:
        """Return the question that the interrupts ask."""
        return "\n".join(_asked(interrupt.value, self.episode) for interrupt in self.stops)

    async def run(self, given: Any) -> Any:
        """Run the graph and return its structured response, or its state without the messages."""
        config = {**self._config, "callbacks": [_counter(self)]}
        # values: what the graph returns, for other modes of streaming, too.
        state = await self.agent.ainvoke(given, config, stream_mode="values", **self._context)
        self.stops = (await self.agent.aget_state(self._config)).interrupts
        if not isinstance(state, dict):
            return state if isinstance(state, str) else _text(state) or state
        messages = state.get("messages") or []
        new, self._heard = messages[self._heard :], len(messages)
        self.thoughts += [thought for answer in new for thought in _thoughts(answer)]
        self.text = _text(new[-1]) if new and new[-1].type == "ai" else ""
        output = state.get("structured_response")
        if output is None and "messages" not in state:
            output = {name: value for name, value in state.items() if name != "__interrupt__"}
        return output


def _context_kind(graph: Any) -> Any:
    """Return the context class of a graph; None if it takes no context."""
    return getattr(graph, "context_schema", None)


def _asked(value: Any, episode: AdapterEpisode) -> str:
    """Return the question of an interrupt in words."""
    if isinstance(value, str):
        return value
    requests = value.get("action_requests") if isinstance(value, dict) else None
    if requests:  # of HumanInTheLoopMiddleware
        calls = [(str(request["name"]), request.get("args") or request.get("arguments") or {}) for request in requests]
        return question(calls, episode)
    if isinstance(value, dict):
        words = next((value[name] for name in ("question", "message", "text") if isinstance(value.get(name), str)), "")
        if words:
            return words
    return json.dumps(as_json(value), ensure_ascii=False)


def _decision(value: Any, message: str) -> Any:
    """Return the value that resumes an interrupt: decisions on its requests, or the message if there are no requests."""
    requests = value.get("action_requests") if isinstance(value, dict) else None
    if not requests:
        return message
    decision = {"type": "approve"} if go_ahead(message) else {"type": "reject", "message": message}
    return {"decisions": [decision] * len(requests)}


def _text(message: Any) -> str:
    """Return the text of a message; empty if it has no text."""
    text = getattr(message, "text", "")
    return str(text() if callable(text) and not isinstance(text, str) else text)


def _thoughts(message: Any) -> Iterator[str]:
    """Yield the reasoning texts of a model's message."""
    if getattr(message, "type", "") != "ai":
        return
    for block in message.content_blocks:
        if block["type"] == "reasoning" and block.get("reasoning"):
            yield block["reasoning"]


def _counter(conversation: FrameworkConversation) -> Any:
    """Return a callback that counts the usage of each model, anywhere in the graph."""
    from langchain_core.callbacks import BaseCallbackHandler

    class Counter(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **_: Any) -> None:
            """Add the tokens of a model response."""
            for generations in response.generations:
                used = getattr(getattr(generations[0], "message", None), "usage_metadata", None) or {}
                conversation.spent.add(used.get("input_tokens"), used.get("output_tokens"))

    return Counter()


# -- calls of tools ------------------------------------------------------------------------------------------------------


def meet(call: GuardedCall) -> Any:
    """Answer a call of a LangChain tool from the sandbox, or refuse it; let agents without a loop run in one thread."""
    tool = call.thing
    if hasattr(tool, "channels"):
        # The tools of an agent are called one after the other: calls keep their order. Other nodes may wait for tasks of their own.
        most = 1 if "__start__" in tool.nodes and all(node in _NODES or "." in node for node in tool.nodes) else 32
        options = {"config": None, **call.options, **dict(zip(("input", "config"), call.given, strict=False))}
        return call.body(**{**options, "config": {"max_concurrency": most, **(options["config"] or {})}})
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    own = str(getattr(function, "__module__", "")).startswith(_OWN) or _hands_over(function)
    if not must_answer(call, tool.name, function or tool, own=own):
        return in_turn(call, _first_move) if call.name in ("invoke", "ainvoke") else in_turn(call)
    # One after the other in the loop, not in threads: calls keep their order.
    plain = {"arun": "run", "ainvoke": "invoke"}.get(call.name, call.name)
    if plain not in ("run", "invoke"):
        arguments = call.arguments(tool.args)
        known = {name: arguments[name] for name in tool.args if name in arguments}
        return call.episode.call(tool.name, known, _caller()).text
    options = dict(call.options)
    given, *others = call.given or [options.pop("input" if plain == "invoke" else "tool_input")]
    given = dict.fromkeys(list(tool.args)[:1], given) if isinstance(given, str) else given
    schema = {"type": "object", "properties": tool.args}
    stand_in = _substitute(tool.name, tool.description or tool.name, schema, call.episode, tool)
    return getattr(stand_in, plain)(given, *others, **options)


def _first_move(call: GuardedCall, result: Any) -> Any:
    """Return what a tool returned; of several handoffs in one turn only the first stays one, where LangGraph follows any of them."""
    if getattr(result, "graph", None) is None or not call.episode:
        return result
    turn = (_caller(), len(call.episode.spent.parts))
    if call.episode.moved.setdefault(turn, result) is result:
        return result
    from langchain_core.messages import ToolMessage

    given = call.given[0] if call.given else call.options["input"]
    return ToolMessage("Not done: another call of this turn handed over.", tool_call_id=given.get("id") or "")


def _caller() -> str:
    """Return the name of the agent or subgraph whose node is running; empty at the top of a graph."""
    from langchain_core.runnables.config import ensure_config

    metadata = ensure_config().get("metadata", {})
    *outer, _ = str(metadata.get("langgraph_checkpoint_ns", "")).split("|")
    return str(metadata.get("lc_agent_name") or (outer[-1].partition(":")[0] if outer else ""))


def _hands_over(function: Any) -> bool:
    """Return whether a tool's function is annotated to return a ``Command``, which only moves between agents and changes their state."""
    declared = getattr(inspect.unwrap(function), "__annotations__", {}).get("return", "") if function else ""
    return re.search(r"\bCommand\b", declared if isinstance(declared, str) else repr(declared)) is not None


def _substitute(name: str, description: str, schema: dict[str, Any], episode: AdapterEpisode, tool: Any = None) -> Any:
    """Return a LangChain tool that the sandbox answers, without the arguments that LangGraph adds (state, runtime)."""
    from langchain_core.tools import StructuredTool, ToolException

    wanted = set(schema.get("properties") or ())

    def call(**arguments: Any) -> str:
        """Return the sandbox's answer as text. Raises ToolException if the call failed."""
        answer = episode.call(name, {key: value for key, value in arguments.items() if key in wanted}, _caller())
        if answer.failed:
            raise ToolException(answer.text)
        return answer.text

    return StructuredTool(
        name=name,
        description=description,
        args_schema=schema,
        func=call,
        handle_tool_error=True,
        return_direct=getattr(tool, "return_direct", False),
    )


ADAPTER = Adapter(
    name="langgraph",
    versions=((1, 0), (2, 0)),
    classes=frozenset({("langgraph", "Pregel"), ("langgraph", "StateGraph")}),
    start=_GraphConversation,
    kind=_context_kind,
    native=natively(_substitute),
)
