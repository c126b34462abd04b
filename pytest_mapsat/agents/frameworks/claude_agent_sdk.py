"""Claude Agent SDK: ``ClaudeAgentOptions`` keep their prompt and tools; tools of servers in this process are answered by the sandbox, built-in ones denied."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pytest_mapsat.agents.returned import AgentFault, is_unavailable
from pytest_mapsat.guard import GuardedCall
from pytest_mapsat.reply import Unavailable

from . import Adapter, AdapterEpisode, FrameworkConversation, is_ours, natively

#: Built-in tools that touch nothing outside: they plan, look for tools, and hand over to agents, whose tools pass the same hook.
_OWN = {"Agent", "ExitPlanMode", "StructuredOutput", "Task", "TodoWrite", "ToolSearch"}
_NAMED = "name the options as the agent, --mapsat-agent=module:options, and the sandbox answers its tools"
_ASK = "AskUserQuestion"


class _ClaudeConversation(FrameworkConversation):
    """One episode with agent options; each episode has its own client and program."""

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        super().__init__(getattr(agent, "options", agent), episode)
        self._client: Any = None
        self._paid = 0.0

    async def run(self, given: Any) -> Any:
        """Send the message to the program and return its structured output; count its usage, thoughts and text."""
        if self._client is None:
            self._client = await self._connected()
        await self._client.query(given)
        used: dict[str, Any] = {}
        result = None
        async for event in self._client.receive_response():
            kind = type(event).__name__
            if kind == "AssistantMessage":
                used[getattr(event, "message_id", None) or str(len(used))] = getattr(event, "usage", None)
                self.thoughts += [block.thinking for block in event.content if type(block).__name__ == "ThinkingBlock"]
                words = "".join(block.text for block in event.content if type(block).__name__ == "TextBlock")
                self.text = words if words and event.parent_tool_use_id is None else self.text
            elif kind == "ResultMessage":
                result = event
        if result is None:
            raise AgentFault("the agent's program ended without a result")
        self._count(used, result)
        _look_for_errors(result)
        output = getattr(result, "structured_output", None)
        if output is None and isinstance(result.result, str):
            self.text = result.result
        return output

    async def close(self) -> None:
        """Disconnect from the program, which ends it."""
        if self._client is not None:
            await self._client.disconnect()

    async def _connected(self) -> Any:
        """Start the program with our hook and with MCP servers that the sandbox answers; return the client."""
        from claude_agent_sdk import ClaudeSDKClient, HookMatcher, create_sdk_mcp_server

        servers: dict[str, Any] = {}
        for name, config in self.agent.mcp_servers.items():
            async with _connection(config["instance"]) as server:
                listed = (await server.list_tools()).tools
            tools = [_tool(tool.name, tool.description or "", _schema(tool), self.episode) for tool in listed]
            servers[name] = create_sdk_mcp_server(name, tools=tools)
        hooks = dict(self.agent.hooks or {})
        hooks["PreToolUse"] = [HookMatcher(hooks=[self._asked_before]), *hooks.get("PreToolUse", ())]
        fresh = {"resume": None, "continue_conversation": False, "session_id": None, "session_store": None}
        fields = {field.name for field in dataclasses.fields(self.agent)}
        changes = {name: value for name, value in fresh.items() if name in fields}
        options = dataclasses.replace(self.agent, mcp_servers=servers, hooks=hooks, **changes)
        client = ClaudeSDKClient(options)
        await client.connect()
        return client

    async def _asked_before(self, call: dict[str, Any], *_: Any) -> dict[str, Any]:
        """Allow MCP tools, which the sandbox answers; deny built-in tools, with the sandbox's answer as the reason."""
        name = str(call.get("tool_name"))
        if name.startswith("mcp__"):
            reason = ""
        elif name == _ASK:
            reason = "The user reads your replies only: ask in your reply, and end it there."
        elif name in _OWN and name not in self.episode.names:
            return {}
        else:
            reason = self.episode.call(name, call.get("tool_input")).text
        decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny" if reason else "allow"}
        return {"hookSpecificOutput": decision | ({"permissionDecisionReason": reason} if reason else {})}

    def _count(self, used: dict[str, Any], result: Any) -> None:
        # The program reports its cost since its start.
        """Add the tokens of the reply's messages, and the cost since the previous reply."""
        total = result.total_cost_usd
        cost, self._paid = (None, self._paid) if total is None else (max(total - self._paid, 0.0), total)
        parts = [part for part in used.values() if part] if all(used.values()) else []
        inputs = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        tokens = sum(part.get(name) or 0 for part in parts for name in inputs)
        self.spent.add(tokens, sum(part.get("output_tokens") or 0 for part in parts), cost)


def meet(call: GuardedCall) -> Any:
    """Refuse a tool or program that the sandbox cannot answer; let our own client and tools through."""
    if not is_ours(call.body) and (call.name == "handler" or not call.is_answered()):
        call.refuse(getattr(call.thing, "name", "Bash"), _NAMED)
    return call.real()


def _look_for_errors(result: Any) -> None:
    """Raise the error that a result reports, if any.

    Raises:
        Unavailable: the model's service is down, or refuses the key.
        AgentFault: the program ended with another error.
    """
    if not result.is_error:
        return
    words = "; ".join(getattr(result, "errors", None) or ()) or result.result or result.subtype
    status = getattr(result, "api_error_status", None)
    if status is not None and is_unavailable(status, of_models=True):
        raise Unavailable(f"the model's service answered {status}: {words}")
    raise AgentFault(f"the agent's program ended with {result.subtype}: {words}")


def _tool(name: str, description: str, schema: dict[str, Any], episode: AdapterEpisode) -> Any:
    """Return a tool as ``claude_agent_sdk.SdkMcpTool``, for ``create_sdk_mcp_server``."""
    from claude_agent_sdk import SdkMcpTool

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the sandbox's answer to a call as an MCP result."""
        answer = episode.call(name, arguments)
        return {"content": [{"type": "text", "text": answer.text}], "is_error": answer.failed}

    return SdkMcpTool(name, description, schema, handler)


def _schema(tool: Any) -> dict[str, Any]:
    """Return the input schema of an MCP tool; the package ``mcp`` has had two names for this field."""
    schema: dict[str, Any] = getattr(tool, "inputSchema", None) or getattr(tool, "input_schema", None) or {}
    return schema if schema.get("type") == "object" else {"type": "object", **schema}


@asynccontextmanager
async def _connection(server: Any) -> AsyncIterator[Any]:
    """Yield a client that is connected to an MCP server in this process."""
    try:
        from mcp import Client
    except ImportError:  # before mcp 2
        from mcp.shared.memory import create_connected_server_and_client_session as connected

        async with connected(server) as session:
            yield session
    else:
        async with Client(server) as client:
            yield client


def _refusal(agent: Any) -> str:
    """Return why the MCP servers of an agent cannot be answered; empty if all of them run in this process."""
    servers = getattr(agent, "options", agent).mcp_servers
    if not isinstance(servers, dict):
        return (
            "its MCP servers are in a file; give them as a dict, with servers in this process (create_sdk_mcp_server)"
        )
    outside = [name for name, config in servers.items() if config.get("type") != "sdk"]
    if not outside:
        return ""
    return f"no sandbox can answer its MCP servers outside of this process ({', '.join(outside)}); put servers of create_sdk_mcp_server in their place"


ADAPTER = Adapter(
    name="claude-agent-sdk",
    versions=((0, 2), (1, 0)),
    classes=frozenset({("claude_agent_sdk", "ClaudeAgentOptions"), ("claude_agent_sdk", "ClaudeSDKClient")}),
    start=_ClaudeConversation,
    native=natively(_tool),
    refusal=_refusal,
)
