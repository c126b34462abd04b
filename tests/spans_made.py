"""Spans for tests: one conversation of two turns and a call, as several conventions tell it."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Attributes = dict[str, Any]

QUERY, REPLY = "Take me to a charger.", "Do you mean Old Mill or Blue Bay?"
ANSWER, LAST = "Blue Bay.", "I suggest Blue Bay."
ARGUMENTS = {"query": "charger"}
RESULT = {"pois": [{"name": "Old Mill", "open": False}, {"name": "Blue Bay", "open": True}]}


def any_value(value: Any) -> dict[str, Any]:
    """Return a value as OTLP writes it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(member) for member in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": key_values(value)}}
    return {"stringValue": value}


def key_values(attributes: Attributes) -> list[dict[str, Any]]:
    """Return attributes as OTLP writes them."""
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def span(
    number: int,
    name: str,
    attributes: Attributes,
    *,
    parent: int = 0,
    trace: int = 1,
    events: Iterable[tuple[str, Attributes]] = (),
    **fields: Any,
) -> dict[str, Any]:
    """Return a span of OTLP JSON that begins ``number`` seconds after another one's."""
    start = 1_700_000_000 + number
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": f"{start}000000000",
        "endTimeUnixNano": f"{start}500000000",
        "attributes": key_values(attributes),
        "events": [{"name": event, "attributes": key_values(body)} for event, body in events],
        **fields,
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return an export request."""
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "test"}, "spans": list(spans)}]}]}


def write(path: Path, *spans: dict[str, Any]) -> Path:
    """Write spans as one line of OTLP JSON."""
    path.write_text(json.dumps(otlp(*spans)) + "\n", encoding="utf-8")
    return path


def text(role: str, words: str) -> dict[str, Any]:
    """Return a message of the GenAI conventions."""
    return {"role": role, "parts": [{"type": "text", "content": words}]}


CALL = {"type": "tool_call", "id": "c1", "name": "search_poi", "arguments": ARGUMENTS}
ANSWERED = {"type": "tool_call_response", "id": "c1", "response": RESULT}


def genai(*, tool: Attributes | None = None, first: Attributes | None = None) -> list[dict[str, Any]]:
    """Return it in attributes of the GenAI conventions, a trace for each turn, joined by the conversation's id."""
    session = {"gen_ai.conversation.id": "talk"} if first is None else first

    def chat(heard: list[Any], said: dict[str, Any]) -> Attributes:
        told = {"gen_ai.input.messages": json.dumps(heard), "gen_ai.output.messages": json.dumps([said])}
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 2,
            **told,
        }

    made = (
        {"gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), "gen_ai.tool.call.result": json.dumps(RESULT)}
        if tool is None
        else tool
    )
    heard = [text("user", QUERY)]
    called, answered = {"role": "assistant", "parts": [CALL]}, {"role": "tool", "parts": [ANSWERED]}
    history = [*heard, called, answered, text("assistant", REPLY), text("user", ANSWER)]
    return [
        span(1, "invoke_agent maps", {"gen_ai.operation.name": "invoke_agent", **session}),
        span(2, "chat m", chat(heard, called), parent=1),
        span(
            3,
            "execute_tool search_poi",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search_poi",
                "gen_ai.tool.call.id": "c1",
                **made,
            },
            parent=1,
        ),
        span(4, "chat m", chat([*heard, called, answered], text("assistant", REPLY)), parent=1),
        span(5, "invoke_agent maps", {"gen_ai.operation.name": "invoke_agent", **session}, trace=2),
        span(6, "chat m", chat(history, text("assistant", LAST)), parent=5, trace=2),
    ]


def _events() -> list[dict[str, Any]]:
    """Return it in events, as earlier versions of the GenAI conventions have it; no span of an agent."""
    asked = ("gen_ai.user.message", {"content": QUERY})
    call = [{"id": "c1", "type": "function", "function": {"name": "search_poi", "arguments": json.dumps(ARGUMENTS)}}]
    called = ("gen_ai.assistant.message", {"tool_calls": json.dumps(call)})
    chose = ("gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": json.dumps({"tool_calls": call})})
    answered = ("gen_ai.tool.message", {"id": "c1", "content": json.dumps(RESULT)})
    told, more = ("gen_ai.assistant.message", {"content": REPLY}), ("gen_ai.user.message", {"content": ANSWER})
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "talk",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
    }
    return [
        span(1, "chat m", chat, events=[asked, chose]),
        span(
            2,
            "chat m",
            chat,
            trace=2,
            events=[asked, called, answered, ("gen_ai.choice", {"message": json.dumps({"content": REPLY})})],
        ),
        span(
            3,
            "chat m",
            chat,
            trace=3,
            events=[asked, called, answered, told, more, ("gen_ai.choice", {"message": json.dumps({"content": LAST})})],
        ),
    ]


def _openinference() -> list[dict[str, Any]]:
    def said(prefix: str, number: int, role: str, content: str = "", **more: Any) -> Attributes:
        return {
            f"{prefix}.{number}.message.{name}": value
            for name, value in {"role": role, "content": content, **more}.items()
        }

    asked = said("llm.input_messages", 0, "user", QUERY)
    call = {"tool_calls.0.tool_call.id": "c1", "tool_calls.0.tool_call.function.name": "search_poi"}
    call["tool_calls.0.tool_call.function.arguments"] = json.dumps(ARGUMENTS)
    called = said("llm.input_messages", 1, "assistant", **call)
    answered = said("llm.input_messages", 2, "tool", json.dumps(RESULT), tool_call_id="c1")
    told, more = said("llm.input_messages", 3, "assistant", REPLY), said("llm.input_messages", 4, "user", ANSWER)
    kind, session = "openinference.span.kind", {"session.id": "talk"}
    llm = {kind: "LLM", "llm.token_count.prompt": 10, "llm.token_count.completion": 2}
    tool = {
        kind: "TOOL",
        "tool.name": "search_poi",
        "input.value": json.dumps(ARGUMENTS),
        "output.value": json.dumps(RESULT),
    }
    return [
        span(1, "agent", {kind: "AGENT", "input.value": QUERY, "output.value": REPLY, **session}),
        span(2, "llm", {**llm, **asked, **said("llm.output_messages", 0, "assistant", **call)}, parent=1),
        span(3, "search_poi", tool, parent=1),
        span(
            4,
            "llm",
            {**llm, **asked, **called, **answered, **said("llm.output_messages", 0, "assistant", REPLY)},
            parent=1,
        ),
        span(5, "agent", {kind: "AGENT", "input.value": ANSWER, "output.value": LAST, **session}, trace=2),
        span(
            6,
            "llm",
            {**llm, **asked, **called, **answered, **told, **more, **said("llm.output_messages", 0, "assistant", LAST)},
            parent=5,
            trace=2,
        ),
    ]


def _traceloop() -> list[dict[str, Any]]:
    def prompt(number: int, role: str, content: str = "", **more: Any) -> Attributes:
        return {
            f"gen_ai.prompt.{number}.{name}": value
            for name, value in {"role": role, "content": content, **more}.items()
        }

    call = {"tool_calls.0.id": "c1", "tool_calls.0.name": "search_poi", "tool_calls.0.arguments": json.dumps(ARGUMENTS)}
    asked, called = prompt(0, "user", QUERY), prompt(1, "assistant", **call)
    answered = prompt(2, "tool", json.dumps(RESULT), tool_call_id="c1")
    chose = {f"gen_ai.completion.0.{name}": value for name, value in {"role": "assistant", **call}.items()}
    llm = {"llm.request.type": "chat", "gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": 2}
    session = {"traceloop.association.properties.session_id": "talk"}
    tool = {"traceloop.span.kind": "tool", "traceloop.entity.name": "search_poi"}
    tool |= {"traceloop.entity.input": json.dumps(ARGUMENTS), "traceloop.entity.output": json.dumps(RESULT)}
    return [
        span(1, "maps.workflow", {"traceloop.span.kind": "workflow", **session}),
        span(2, "openai.chat", {**llm, **asked, **chose}, parent=1),
        span(3, "search_poi.tool", tool, parent=1),
        span(4, "openai.chat", {**llm, **asked, **called, **answered, "gen_ai.completion.0.content": REPLY}, parent=1),
        span(5, "maps.workflow", {"traceloop.span.kind": "workflow", **session}, trace=2),
        span(
            6,
            "openai.chat",
            {**llm, **prompt(0, "user", ANSWER), "gen_ai.completion.0.content": LAST},
            parent=5,
            trace=2,
        ),
    ]


CONVENTIONS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "attributes": genai,
    "events": _events,
    "openinference": _openinference,
    "traceloop": _traceloop,
}
