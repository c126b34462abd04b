"""Where frameworks call tools: their classes are watched while a run goes on, from the moment at which they are imported, by whomever. We import none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Lock
from types import ModuleType, SimpleNamespace
from typing import Any

from pytest_mapsat.guard import GuardedCall, guarded, handed_on, is_sandboxed, now

_RUNS = "invoke ainvoke batch abatch stream astream astream_events"
_LANGCHAIN = "invoke ainvoke run arun _run _arun func coroutine"
_CREW = "kickoff kickoff_async akickoff execute_task aexecute_task"
#: Of a class, and those below it, what is called where a tool's body may be reached, behind the module of ours whose ``meet`` decides. Without a
#: module: what runs agents, which is met where it was given to ``sandboxed``. A class that a version of a framework does not have is passed over.
_WATCHED = {
    "agent_framework._agents.RawAgent": "agent_framework: run",
    "agent_framework._clients.BaseChatClient": "agent_framework: _inner_get_response",
    "agent_framework._tools.FunctionTool": "agent_framework: invoke",
    "agents.agent.AgentBase": "openai_agents: get_all_tools",
    "agents.mcp.server.MCPServer": "mcp_client: call_tool",
    "agents.models.interface.Model": "openai_agents: get_response stream_response",
    "agents.run.AgentRunner": "openai_agents: run run_sync run_streamed",
    "agents.tool.FunctionTool": "openai_agents: on_invoke_tool",
    "claude_agent_sdk.SdkMcpTool": "claude_agent_sdk: handler",
    "claude_agent_sdk._internal.client.InternalClient": "claude_agent_sdk: process_query",
    "claude_agent_sdk.client.ClaudeSDKClient": "claude_agent_sdk: connect",
    "crewai.agents.agent_builder.base_agent.BaseAgent": f"crewai: {_CREW}",
    "crewai.agents.agent_executor.AgentExecutor": "crewai: _should_parallelize_native_tool_calls",
    "crewai.crew.Crew": f"crewai: {_CREW}",
    "crewai.llms.base_llm.BaseLLM": "crewai: _track_token_usage_internal",
    "crewai.tools.base_tool.BaseTool": f"crewai: {_LANGCHAIN}",
    "crewai.tools.structured_tool.CrewStructuredTool": f"crewai: {_LANGCHAIN}",
    "fastmcp.client.client.Client": "mcp_client: call_tool call_tool_mcp",
    "google.adk.code_executors.base_code_executor.BaseCodeExecutor": "google_adk: execute_code",
    "google.adk.models.base_llm.BaseLlm": "google_adk: generate_content_async",
    "google.adk.runners.Runner": "google_adk: run run_async run_live",
    "google.adk.tools.base_tool.BaseTool": "google_adk: run_async process_llm_request",
    "google.adk.tools.function_tool.FunctionTool": "google_adk: func",
    "httpx.AsyncClient": "model_client: send",
    "httpx.Client": "model_client: send",
    "httpx2.AsyncClient": "model_client: send",
    "httpx2.Client": "model_client: send",
    "langchain_core.runnables.base.Runnable": f": {_RUNS}",
    "langchain_core.tools.base.BaseTool": f"langgraph: {_LANGCHAIN}",
    "langgraph.pregel.main.Pregel": "langgraph: invoke",
    "llama_index.core.agent.workflow.base_agent.BaseWorkflowAgent": "llama_index: run _call_tool",
    "llama_index.core.agent.workflow.multi_agent_workflow.AgentWorkflow": "llama_index: run _call_tool",
    "llama_index.core.base.llms.base.BaseLLM": "llama_index: achat astream_chat",
    "llama_index.core.tools.types.BaseTool": "llama_index: call acall",
    "mcp.client.client.Client": "mcp_client: call_tool",
    "mcp.client.session.ClientSession": "mcp_client: call_tool",
    "pydantic_ai._function_schema.FunctionSchema": "pydantic_ai: call",
    "pydantic_ai.agent.abstract.AbstractAgent": "pydantic_ai: iter",
    "pydantic_ai.models.Model": "pydantic_ai: request request_stream",
    "pydantic_ai.toolsets.abstract.AbstractToolset": "pydantic_ai: call_tool direct_call_tool",
    "smolagents.agents.MultiStepAgent": ": run",
    "smolagents.models.Model": "smolagents: generate generate_stream",
    "smolagents.remote_executors.RemotePythonExecutor": "smolagents: send_tools",
    "smolagents.tools.Tool": "smolagents: setup forward",
}
#: What a framework compares, and calls where it is met elsewhere: its own modules read what is there.
_READ_BY_ITSELF = {"on_invoke_tool": "agents.", "func": "google.adk."}


class _Watch:
    """An import finder that patches the watched framework classes, now or as soon as their modules have run."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, str]] = {}
        for place, called in _WATCHED.items():
            module, _, kind = place.rpartition(".")
            self._kinds.setdefault(module, {})[kind] = called
        self._undo = [_patch_thread_pools()]
        sys.meta_path.insert(0, self)
        for name in self._kinds.keys() & sys.modules.keys():
            self._look_at(name, sys.modules[name])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a watched module, with a loader that patches its classes; None for any other module."""
        if name not in self._kinds or _watching is not self:  # others may put it back after the run
            return None
        finders = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec: Any = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        loader = spec and spec.loader

        def exec_module(module: Any) -> None:
            """Run the module with its original loader, then patch its watched classes."""
            module.__loader__ = module.__spec__.loader = loader
            loader.exec_module(module)
            self._look_at(name, module)

        if loader:
            spec.loader = SimpleNamespace(create_module=loader.create_module, exec_module=exec_module)
        return spec

    def stop(self) -> None:
        """Remove the finder and undo all patches."""
        with suppress(ValueError):  # others may have taken it away, too
            sys.meta_path.remove(self)
        for undo in reversed(self._undo):
            undo()

    def _look_at(self, place: str, module: ModuleType) -> None:
        """Patch the watched classes of a module, and keep the functions that undo it; a module may have been given another name by then."""
        for name, called in self._kinds[place].items():
            kind = getattr(module, name, None)
            if isinstance(kind, type):
                self._undo.append(_watch(kind, *called.split(":")))


def _patch_thread_pools() -> Callable[[], None]:
    """Patch thread pools so that a job belongs to the episode of its submitter; return the function that undoes it."""
    original = ThreadPoolExecutor.submit

    def submit(pool: Any, function: Any, /, *given: Any, **options: Any) -> Any:
        """Submit a function to a pool, bound to the episode of the caller."""
        return original(pool, handed_on(function), *given, **options)

    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
    return partial(setattr, ThreadPoolExecutor, "submit", original)


def _watch(kind: Any, adapter: str, called: str) -> Callable[[], None]:
    """Patch a class so that the named methods are guarded when read; return the function that undoes it."""
    names = frozenset(called.split())
    own = vars(kind).get("__getattribute__")

    def __getattribute__(thing: Any, name: str) -> Any:  # noqa: N807  # what it takes the place of
        value = own(thing, name) if own else super(kind, thing).__getattribute__(name)
        if name not in names or now() is None or not callable(value) or not (adapter or is_sandboxed(thing)):
            return value
        if name in _READ_BY_ITSELF and _reader().startswith(_READ_BY_ITSELF[name]):
            return value
        meet = import_module(f"{__package__}.{adapter}").meet if adapter else GuardedCall.inside
        return guarded(adapter.replace("_", "-"), thing, name, value, meet)

    kind.__getattribute__ = __getattribute__

    def end() -> None:
        """Restore the previous ``__getattribute__`` of the class."""
        del kind.__getattribute__
        if own is not None:
            kind.__getattribute__ = own

    return end


def _reader() -> str:
    """Return the name of the module that reads the attribute, found two frames up."""
    return str(sys._getframe(2).f_globals.get("__name__", ""))  # noqa: SLF001  # no other way to it


_watching: _Watch | None = None
_lock = Lock()


def watch() -> None:
    """Watch all frameworks, imported now or later, until ``unwatch`` is called."""
    global _watching  # noqa: PLW0603  # classes belong to the process
    with _lock:
        _watching = _watching or _Watch()


def unwatch() -> None:
    """Stop watching, and undo all patches of the frameworks."""
    global _watching  # noqa: PLW0603  # likewise
    with _lock:
        if _watching is not None:
            _watching.stop()
            _watching = None
