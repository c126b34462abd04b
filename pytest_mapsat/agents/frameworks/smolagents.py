"""smolagents: each episode plays a copy of the agent, with copies of its tools that the sandbox answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from pytest_mapsat.guard import GuardedCall
from pytest_mapsat.reply import Reply

from . import Adapter, AdapterEpisode, FrameworkConversation, must_answer, natively

#: Tools that touch nothing outside: they end the run, and compute in the interpreter of the framework.
_OWN = {"final_answer", "python_interpreter"}
_ELSEWHERE = "where no sandbox can answer it; use executor_type='local'"
_TYPES = {"string", "boolean", "integer", "number", "array", "object", "null"}


def _native(called: str, about: str, parameters: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as a subclass of ``smolagents.Tool``."""
    from smolagents import Tool

    required, given = parameters.get("required", ()), parameters.get("properties", {})

    class SandboxTool(Tool):
        # What an object of it is called with is in its inputs.
        name, description, output_type = called, about, "object"
        inputs = {field: _input(field, schema, field in required) for field, schema in given.items()}  # noqa: RUF012  # fixed
        skip_forward_signature_validation = True

        def __init__(self) -> None:
            super().__init__()
            self.__dict__["forward"] = _answering(episode, called, list(self.inputs), self.output_type)

        def forward(self) -> None:
            """Do nothing: each object replaces this method with a function of its own."""

    return SandboxTool()


def _input(name: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """Return an input of a tool from the JSON Schema of a parameter: its type is known, and it is nullable if optional."""
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    fits = all(isinstance(member, str) and member in _TYPES for member in kinds)
    shown = {**schema, "type": kind if fits else "any", "description": schema.get("description", name)}
    return shown if required else {**shown, "nullable": True}


class _SmolConversation(FrameworkConversation):
    """One episode with a copy of an agent, and copies of the agents that it manages."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        super().__init__(_twin(agent, episode, self._keep), episode)
        self._begun = False

    def reply(self, message: str) -> Reply:  # type: ignore[override]  # the framework knows no coroutines
        """Return the agent's answer."""
        self.begin()
        output = self.agent.run(message, reset=not self._begun)
        self._begun = True
        return self.ended(str(output) if isinstance(output, str) else output)

    def close(self) -> None:
        """Stop an agent after its time limit; the current step ends first."""
        self.agent.interrupt()

    def _keep(self, step: Any) -> None:
        """Keep the plan or the model output of a step as a thought."""
        thought = getattr(step, "plan", None) or getattr(step, "model_output", None)
        if isinstance(thought, str) and thought.strip():
            self.thoughts.append(thought)


def _twin(agent: Any, episode: AdapterEpisode, keep: Callable[[Any], None]) -> Any:
    """Return a copy of an agent that has a memory of its own and tools that the sandbox answers."""
    from smolagents.memory import AgentMemory
    from smolagents.monitoring import Monitor

    def callback(step: Any, **others: Any) -> None:
        """Keep the thoughts of a step, then pass it to the agent's own callbacks."""
        keep(step)
        agent.step_callbacks.callback(step, **others)

    twin = copy.copy(agent)
    twin.tools = {
        name: tool if episode.runs(name) else _answered(name, tool, episode, agent.name or "")
        for name, tool in agent.tools.items()
    }
    twin.managed_agents = {name: _twin(other, episode, keep) for name, other in agent.managed_agents.items()}
    twin.state = {}
    twin.memory = AgentMemory(agent.system_prompt)
    twin.monitor = Monitor(agent.model, agent.logger)
    twin.step_callbacks = SimpleNamespace(callback=callback)
    twin.return_full_result = False
    twin.max_tool_threads = 1  # calls keep their order
    if hasattr(agent, "python_executor"):
        twin.python_executor = agent.create_python_executor()
    return twin


def _answered(name: str, tool: Any, episode: AdapterEpisode, agent: str) -> Any:
    """Return a copy of a tool that the sandbox answers; the framework's own tool stays unless the case has a tool of that name."""
    if _is_own(tool) and name not in episode.names:
        return tool
    twin = copy.copy(tool)
    twin.is_initialized = True  # its setup is for the real call
    twin.output_type = "string" if tool.output_type in ("image", "audio") else tool.output_type
    twin.forward = _answering(episode, name, list(tool.inputs), twin.output_type, agent)
    return twin


def _is_own(tool: Any) -> bool:
    """Return whether a tool is one of the framework's own and affects nothing outside."""
    return type(tool).__module__ == "smolagents.default_tools" and tool.name in _OWN


def meet(call: GuardedCall) -> Any:
    """Answer a call of a tool from the sandbox, or refuse it; refuse code that runs elsewhere."""
    tool = call.thing
    if call.name == "generate":
        return _counted(call, call.real())
    if call.name == "generate_stream":
        return _counted_stream(call)
    if call.name == "send_tools":
        call.refuse(type(tool).__name__, f"its code runs {_ELSEWHERE}")
    if not must_answer(call, tool.name, vars(tool).get("forward", type(tool)), own=_is_own(tool)):
        return call.real()
    if call.name == "setup":
        return None  # it is for the real call
    return _answering(call.episode, tool.name, list(tool.inputs), tool.output_type)(*call.given, **call.options)


def _counted(call: GuardedCall, message: Any) -> Any:
    """Return a message of a model, and count its tokens."""
    used = message.token_usage
    if call.episode:
        call.episode.spent.add(used and used.input_tokens, used and used.output_tokens)
    return message


def _counted_stream(call: GuardedCall) -> Iterator[Any]:
    """Yield the pieces of a model's message, and count the tokens of each that states them."""
    for piece in call.real():
        yield _counted(call, piece) if piece.token_usage else piece


def _answering(episode: AdapterEpisode, name: str, inputs: list[str], kind: str, agent: str = "") -> Callable[..., Any]:
    """Return a function that becomes the ``forward`` of a tool and returns the sandbox's answer."""

    def forward(*positional: Any, **arguments: Any) -> Any:
        """Return the sandbox's answer as text or data. Raises RuntimeError if the call failed."""
        answer = episode.call(name, {**dict(zip(inputs, positional, strict=False)), **arguments}, agent)
        if answer.failed:
            raise RuntimeError(answer.text)
        return answer.text if kind == "string" else answer.value

    return forward


def _refusal(agent: Any) -> str:
    """Return why an agent cannot be played: its code runs outside this process; empty if it can be played."""
    kind = getattr(agent, "executor_type", "local")
    where = kind if isinstance(kind, str) else type(kind).__name__
    return "" if where == "local" else f"its code runs in {where}, {_ELSEWHERE}"


ADAPTER = Adapter(
    name="smolagents",
    versions=((1, 24), (2, 0)),
    classes=frozenset({("smolagents", "MultiStepAgent")}),
    start=_SmolConversation,
    native=natively(_native),
    refusal=_refusal,
    waits=False,
)
