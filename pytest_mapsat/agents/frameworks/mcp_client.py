"""Sessions of agents with MCP servers, whatever framework opens them: the server is asked for its tools, and none of them is called."""

from __future__ import annotations

from typing import Any

from pytest_mapsat.guard import GuardedCall

from . import ToolAnswer


def meet(call: GuardedCall) -> Any:
    """Answer a call of an MCP tool from the sandbox, or refuse it; calls to our own MCP server go through."""
    given = [*call.given, None, None]
    name = str(call.options.get("name", call.options.get("tool_name", given[0])))
    session = getattr(call.thing, "session", None) or call.thing
    if getattr(getattr(session, "server_info", None), "name", "") == "mapsat":  # the sandbox, over MCP
        return call.real()
    if not call.is_answered():
        call.refuse(name)
    return _answered(call, name, call.options.get("arguments", given[1] if call.given else None))


async def _answered(call: GuardedCall, name: str, arguments: Any) -> Any:
    """Return the sandbox's answer to a call as an MCP ``CallToolResult``."""
    from mcp.types import CallToolResult

    answer: ToolAnswer = call.episode.call(name, arguments)
    shown = {"content": [{"type": "text", "text": answer.text}], "isError": answer.failed}
    return CallToolResult.model_validate(shown)
