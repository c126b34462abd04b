"""Google ADK: an agent or ``App`` keeps its tools; a plugin of the runner has each call answered by the sandbox."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pytest_mapsat.guard import GuardedCall

from . import (
    Adapter,
    AdapterEpisode,
    FrameworkConversation,
    go_ahead,
    in_turn,
    must_answer,
    natively,
    refusal_of,
    team_of,
)

#: The tools with which agents hand over, ask each other and end: those of these modules of ``google.adk.tools`` touch nothing outside the run.
_OWN = (
    "_node_tool",
    "_request_input_tool",
    "agent_tool",
    "exit_loop_tool",
    "set_model_response_tool",
    "transfer_to_agent_tool",
)
#: What the provider of the model runs.
_HOSTED = {
    "EnterpriseWebSearchTool",
    "GoogleMapsGroundingTool",
    "GoogleSearchTool",
    "UrlContextTool",
    "VertexAiSearchTool",
}
_INSTEAD = "no sandbox can answer it; give the agent a function in its place"
_CONFIRM = "adk_request_confirmation"
_USER = "user"


def _native(name: str, description: str, parameters: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as a subclass of ``google.adk.tools.BaseTool``."""
    from google.adk.tools import BaseTool
    from google.genai.types import FunctionDeclaration

    class SandboxTool(BaseTool):
        def _get_declaration(self) -> Any:
            """Return the declaration of the tool for the model."""
            return FunctionDeclaration(name=name, description=description, parameters_json_schema=parameters)

        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            """Return the sandbox's answer to a call."""
            return _result(episode, name, args, tool_context.agent_name)

    return SandboxTool(name=name, description=description)


class _AdkConversation(FrameworkConversation):
    """One episode with an agent, in its own in-memory session. A run stops at calls that need a confirmation."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        from google.adk.runners import InMemoryRunner

        plugin = self._plugin()
        if hasattr(agent, "plugins"):  # an App
            app = agent.model_copy(update={"plugins": [plugin, *agent.plugins]})
            agent, self._runner = agent.root_agent, InMemoryRunner(app=app)
        else:
            self._runner = InMemoryRunner(agent, plugins=[plugin])
        super().__init__(agent, episode)
        self._session = ""

    def run_input(self, message: str) -> Any:
        """Return the parts of the user's message."""
        from google.genai.types import Part

        return [Part(text=message)]

    def resumed_input(self, stops: Sequence[Any], message: str) -> Any:
        """Return the user's decision as the response to each confirmation."""
        from google.genai.types import FunctionResponse, Part

        answer = {"confirmed": go_ahead(message)}
        responses = (FunctionResponse(id=call.id, name=_CONFIRM, response=answer) for call in stops)
        return [Part(function_response=response) for response in responses]

    def call_at(self, stop: Any) -> tuple[str, Any]:
        """Return the name and arguments of the call that awaits confirmation."""
        call = stop.args.get("originalFunctionCall") or {}
        return str(call.get("name") or "a tool"), call.get("args") or {}

    async def run(self, given: Any) -> Any:
        """Run the agent and return its last text or data; note the calls that wait for a confirmation."""
        from google.genai.types import Content

        if not self._session:
            service, app = self._runner.session_service, self._runner.app_name
            session = await service.create_session(app_name=app, user_id=_USER, state=dict(self.episode.context))
            self._session = session.id
        last, text, stops = None, "", list[Any]()
        content = Content(role="user", parts=given)
        async for event in self._runner.run_async(user_id=_USER, session_id=self._session, new_message=content):
            stops += [call for call in event.get_function_calls() if call.name == _CONFIRM]
            words = _text(event) if event.is_final_response() else ""
            last, text = (event, words) if words else (last, text)
        self.stops = stops
        return self._output(last, text)

    async def close(self) -> None:
        """Close the connections of the agent's tools."""
        await self._runner.close()

    def _output(self, event: Any, text: str) -> Any:
        """Return the last words of the agent; as data if that agent has an output schema."""
        speaker = event and self.agent.find_agent(event.author)
        if getattr(speaker, "output_schema", None) is None:
            return text
        try:
            return json.loads(text)
        except ValueError:
            return text

    def _plugin(self) -> Any:
        """Return a plugin that keeps the thoughts of each model response."""
        from google.adk.plugins.base_plugin import BasePlugin

        conversation = self

        class Sandboxed(BasePlugin):
            async def after_model_callback(self, *, llm_response: Any, **_: Any) -> None:
                """Keep the thoughts of a complete model response; ignore partial ones."""
                if not llm_response.partial:
                    parts = _parts(llm_response)
                    conversation.thoughts += [part.text for part in parts if part.thought and part.text]

        return Sandboxed("mapsat")


async def _counted(call: GuardedCall) -> AsyncIterator[Any]:
    """Yield the responses of a model, and count the tokens of the complete ones."""
    async for response in call.real():
        if call.episode and not response.partial:
            used = response.usage_metadata
            tokens_out = used and (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
            call.episode.spent.add(used and used.prompt_token_count, tokens_out)
        yield response


def meet(call: GuardedCall) -> Any:
    """Answer a call of a tool from the sandbox, or refuse it; let the runs of agents go on."""
    tool = call.thing
    if call.name.startswith("run") and hasattr(tool, "session_service"):  # a runner
        answered = call.is_answered(getattr(tool, "agent", None), getattr(tool, "app", None))
        return call.inside() if answered else call.real()
    if call.name == "generate_content_async":
        return _counted(call)
    if call.name == "execute_code":
        call.refuse(type(tool).__name__, _INSTEAD)
    if call.name == "process_llm_request":
        if type(tool).__name__ in _HOSTED:
            call.refuse(tool.name, _INSTEAD)
        return call.real()
    if not must_answer(call, tool.name, getattr(tool, "func", None) or tool, own=_is_own(tool)):
        return in_turn(call)
    if call.name == "func":
        return call.episode.call(tool.name, call.arguments()).value
    return _answered(call)


def _is_own(tool: Any) -> bool:
    """Return whether a tool is one of ADK's own and affects nothing outside the run."""
    module = str(getattr(getattr(tool, "func", None), "__module__", "") or type(tool).__module__)
    return module.removeprefix("google.adk.tools.") in _OWN


async def _answered(call: GuardedCall) -> Any:
    """Return the sandbox's answer to a call; if a confirmation is missing, let ADK's own tool ask for it."""
    tool, arguments, context = call.thing, call.options["args"], call.options["tool_context"]
    confirm = getattr(tool, "_require_confirmation", False)
    if callable(confirm):
        confirm = confirm(**arguments)
        confirm = await confirm if inspect.isawaitable(confirm) else confirm
    if confirm and not (context.tool_confirmation and context.tool_confirmation.confirmed):
        tool._require_confirmation = True  # noqa: SLF001  # it may not decide otherwise, and run
        return await call.real()
    return _result(call.episode, tool.name, arguments, context.agent_name)


def _result(episode: AdapterEpisode, name: str, arguments: dict[str, Any], agent: str) -> dict[str, Any]:
    """Return the sandbox's answer to an agent's call as a non-empty object; ADK would run the real tool for an empty one."""
    value = episode.call(name, arguments, agent).value
    return value if isinstance(value, dict) and value else {"result": value}


def _parts(holder: Any) -> list[Any]:
    """Return the content parts of an event or a response; an empty list if it has no content."""
    return (holder.content and holder.content.parts) or []


def _text(event: Any) -> str:
    """Return the text of an event, without its thoughts."""
    return "".join(part.text for part in _parts(event) if part.text and not part.thought)


def _refusal(agent: Any) -> str:
    """Return why an agent or its sub-agents cannot be played (hosted tools, code execution); empty if they can be played."""
    team = team_of(agent.root_agent if hasattr(agent, "plugins") else agent, "sub_agents")
    kinds = {type(tool).__name__ for member in team for tool in getattr(member, "tools", ())} & _HOSTED
    runs_code = any(getattr(member, "code_executor", None) is not None for member in team)
    return refusal_of(kinds | ({"code_executor"} if runs_code else set()))


ADAPTER = Adapter(
    name="google-adk",
    versions=((2, 0), (3, 0)),
    classes=frozenset({("google.adk", "BaseAgent"), ("google.adk", "App")}),
    start=_AdkConversation,
    native=natively(_native),
    refusal=_refusal,
)
