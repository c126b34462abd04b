"""Conversations for tests, as files of several kinds tell them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spans_made import span

SEARCH = {
    "type": "function",
    "function": {
        "name": "search_places",
        "description": "Searches places.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "lon": {"type": "number"},
                "lat": {"type": "number"},
                "limit": {"type": "integer"},
            },
            "required": ["query"],
        },
    },
}
PLACES = {
    "places": [
        {"id": "p1", "name": "The Anchor", "kind": "café", "step_free": False, "rating": 4.7, "price_eur": 6},
        {"id": "p2", "name": "Lighthouse Café", "kind": "café", "step_free": True, "rating": 4.4, "price_eur": 5},
    ]
}
QUERY = "My grandmother uses a wheelchair. Find us a café at the harbour."
REFUSED, ACCEPTED = "I recommend The Anchor, rated 4.7.", "Then take the Lighthouse Café: it is step-free."


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def agent(text: str | None = None, *calls: tuple[str, str, Any], **more: Any) -> dict[str, Any]:
    """Return a message of the assistant; a call is its id, its tool, and its arguments."""
    listed = [
        {
            "id": of,
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for of, name, given in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": listed} if listed else {}), **more}


def result(of: str, value: Any) -> dict[str, Any]:
    content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": of, "content": content}


def harbour(**places: Any) -> dict[str, Any]:
    """Return a chat in which the user refuses one café and accepts another."""
    call = ("c1", "search_places", {"query": "harbour", "lon": 9.99371, "lat": 53.54612, "limit": 5})
    return {
        "id": "chat-77",
        "user": "u-17",
        "tools": [SEARCH],
        "messages": [
            {"role": "system", "content": "You find places. Current time: 2026-05-09T15:40:00+02:00. City: Hamburg"},
            user(QUERY),
            agent(None, call),
            result("c1", {**PLACES, **places}),
            agent(REFUSED),
            user("That has stairs, she cannot get in."),
            agent(ACCEPTED),
            user("Great, thanks!"),
        ],
    }


def write(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def otlp(spans: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def harbour_spans() -> list[dict[str, Any]]:
    """Return the same conversation as two traces of one session, as OpenTelemetry's convention for GenAI has it."""
    system = [{"type": "text", "content": "You find places. City: Hamburg"}]
    said = [("user", QUERY), ("assistant", REFUSED), ("user", "That has stairs, she cannot get in.")]
    heard = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]

    def chat(number: int, parent: int, trace: int, before: list[Any], reply: str) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": "s-9",
            "gen_ai.system_instructions": json.dumps(system),
            "gen_ai.tool.definitions": json.dumps([SEARCH]),
            "gen_ai.input.messages": json.dumps(before),
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": reply}]}]
            ),
        }
        return span(number, "chat model", attributes, parent=parent, trace=trace)

    def root(number: int, trace: int) -> dict[str, Any]:
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s-9"}
        return span(number, "invoke_agent", attributes, trace=trace)

    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_places",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": json.dumps({"query": "harbour"}),
        "gen_ai.tool.call.result": json.dumps(PLACES, ensure_ascii=False),
    }
    return [
        root(1, 1),
        span(2, "execute_tool search_places", tool, parent=1, trace=1),
        chat(3, 1, 1, heard[:1], REFUSED),
        root(4, 2),
        chat(5, 4, 2, heard, ACCEPTED),
    ]
