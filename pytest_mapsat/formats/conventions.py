"""The kind, the messages and the attributes of spans, by the conventions of OpenTelemetry's GenAI group, of OpenInference and of others.

Neither convention is stable, and each instrumentation tells less or more of it. The names that are read stand in tables here, and in
docs/how-to/bring-what-you-have.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pytest_mapsat.model import Json, JsonObject

from .messages import Message, data_of, numbered, read_messages
from .otlp import Span

Kind = Literal["agent", "chat", "tool", "other"]

#: Attributes that say what a span is of, with their values.
_KINDS: dict[str, dict[str, Kind]] = {
    "gen_ai.operation.name": {
        "chat": "chat", "text_completion": "chat", "generate_content": "chat", "completion": "chat", "responses": "chat",
        "invoke_agent": "agent", "invoke_workflow": "agent", "execute_tool": "tool",
    },
    "openinference.span.kind": {"LLM": "chat", "AGENT": "agent", "TOOL": "tool", "CHAIN": "other"},
    "traceloop.span.kind": {"tool": "tool", "agent": "agent", "workflow": "agent"},
    "langfuse.observation.type": {"generation": "chat", "agent": "agent", "tool": "tool"},
    "langsmith.span.kind": {"llm": "chat", "tool": "tool"},
    "ai.operationId": {
        "ai.generateText": "agent", "ai.streamText": "agent", "ai.generateText.doGenerate": "chat", "ai.streamText.doStream": "chat", "ai.toolCall": "tool",
    },
    "llm.request.type": {"chat": "chat", "completion": "chat"},
}  # fmt: skip
#: Where the parts stand, the first that is there; the last ones are whatever the framework took for input and output.
_VALUES_IN, _VALUES_OUT = (
    (
        "input.value",
        "ai.prompt",
        "traceloop.entity.input",
        "langfuse.observation.input",
        "gcp.vertex.agent.llm_request",
    ),
    ("output.value", "traceloop.entity.output", "langfuse.observation.output", "gcp.vertex.agent.llm_response"),
)
_MESSAGES_IN = ("gen_ai.input.messages", "ai.prompt.messages", "gen_ai.prompt")
_MESSAGES_OUT = ("gen_ai.output.messages", "gen_ai.completion")
_NUMBERED_IN, _NUMBERED_OUT = ("llm.input_messages", "gen_ai.prompt"), ("llm.output_messages", "gen_ai.completion")
TOOL = ("gen_ai.tool.name", "tool.name", "tool_call.function.name", "ai.toolCall.name", "traceloop.entity.name")
CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
ARGUMENTS = (
    "gen_ai.tool.call.arguments", "tool_call.function.arguments", "tool_arguments", "ai.toolCall.args", "gcp.vertex.agent.tool_call_args", *_VALUES_IN,
)  # fmt: skip
RESULT = (
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "gcp.vertex.agent.tool_response",
    *_VALUES_OUT,
)
TOKENS_IN = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.promptTokens",
)
TOKENS_OUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.completionTokens",
)
INSTRUCTIONS = ("gen_ai.system_instructions",)
_TOOLS, _NUMBERED_TOOLS = ("gen_ai.tool.definitions", "ai.prompt.tools"), ("llm.tools", "llm.request.functions")
USER = ("user.id", "enduser.id")
AGENT = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
COST = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")


def kind_of(span: Span) -> Kind:
    """Return the kind of a span, by the first convention that names one."""
    for name, kinds in _KINDS.items():
        kind = kinds.get(str(span.attributes.get(name, "")))
        if kind is not None:
            return kind
    if span.name == "call_llm" or any(
        name.startswith(("gen_ai.prompt.", "llm.input_messages.")) for name in span.attributes
    ):
        return "chat"
    if span.first(CALL_ID) or span.name.startswith("execute_tool ") or span.attributes.get("tool_arguments"):
        return "tool"
    return "agent" if span.name.startswith("invoke_agent") or "pydantic_ai.all_messages" in span.attributes else "other"


def messages_in(span: Span) -> list[Message] | None:
    """Return the messages that a model or an agent was given in a span; None where the span does not tell."""
    for prefix in _NUMBERED_IN:
        if listed := numbered(span.attributes, prefix):
            return _fuller(read_messages(listed, "user"), span.first(_VALUES_IN), "user")
    if (value := span.first(_MESSAGES_IN)) is not None:
        return read_messages(value, "user")
    if messages := [message for kind, message in _events(span) if kind != "choice"]:
        return messages
    value = span.first(_VALUES_IN)
    return None if value is None else read_messages(value, "user", loose=kind_of(span) != "chat")


def _fuller(listed: list[Message] | None, value: Json, role: str) -> list[Message] | None:
    """Return numbered messages; where one of them is empty, those of the whole value if none of these is."""
    if listed is not None and all(map(_tells, listed)):
        return listed
    whole = None if value is None else read_messages(value, role, loose=False)
    return whole if whole and all(map(_tells, whole)) else listed


def _tells(message: Message) -> bool:
    return bool(message.text or message.calls or message.results)


def messages_out(span: Span) -> list[Message] | None:
    """Return the messages that a model or an agent gave in a span; None where the span does not tell."""
    for prefix in _NUMBERED_OUT:
        if listed := numbered(span.attributes, prefix):
            return _fuller(read_messages(listed, "assistant"), span.first(_VALUES_OUT), "assistant")
    if (value := span.first(_MESSAGES_OUT)) is not None:
        return read_messages(value, "assistant")
    if "ai.response.text" in span.attributes or "ai.response.toolCalls" in span.attributes:
        text, calls = (
            span.attributes.get("ai.response.text") or "",
            objects_of(span.attributes.get("ai.response.toolCalls")),
        )
        return read_messages([{"role": "assistant", "content": text, "tool_calls": calls}], "assistant")
    if choices := [message for kind, message in _events(span) if kind == "choice"]:
        return choices
    value = span.first(_VALUES_OUT)
    return None if value is None else read_messages(value, "assistant", loose=kind_of(span) != "chat")


def tools_in(span: Span) -> list[JsonObject]:
    """Return the schemas of the tools that a model or an agent was given in a span, in the forms of their vendors."""
    listed = objects_of(span.first(_TOOLS))
    for prefix in _NUMBERED_TOOLS:
        listed += [object_of(tool) for tool in numbered(span.attributes, prefix)]
    wrapped = [
        object_of(tool.get("tool.json_schema", object_of(tool.get("tool")).get("json_schema"))) for tool in listed
    ]
    return [inner or tool for inner, tool in zip(wrapped, listed, strict=True)]


_EVENT_ROLES = {
    "gen_ai.user.message": "user",
    "gen_ai.system.message": "system",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def _events(span: Span) -> Iterator[tuple[str, Message]]:
    """Yield the messages of a span's events, as earlier versions of the conventions have them: each is ``choice`` or of a message before it."""
    listed = [(name, attributes) for name, attributes in span.events]
    listed += [(str(event.get("event.name", "")), event) for event in objects_of(span.attributes.get("events"))]
    for name, attributes in listed:
        body = {**attributes, **object_of(attributes.get("gen_ai.event.content"))}
        body |= {
            key: blocks
            for key in ("content", "message")
            if isinstance(body.get(key), str) and (blocks := objects_of(body[key]))
        }
        if isinstance(body.get("tool_calls"), str):
            body["tool_calls"] = objects_of(body["tool_calls"])
        if name == "gen_ai.choice":
            inner = body.get("message")
            body = object_of(inner) or ({"content": inner} if isinstance(inner, (str, list)) else body)
            yield from (
                ("choice", message) for message in read_messages([{**body, "role": "assistant"}], "assistant") or ()
            )
        elif name in _EVENT_ROLES:
            yield from (
                ("before", message) for message in read_messages([{**body, "role": _EVENT_ROLES[name]}], "user") or ()
            )
        elif name == "gen_ai.content.prompt":
            yield from (("before", message) for message in read_messages(attributes.get("gen_ai.prompt"), "user") or ())
        elif name == "gen_ai.content.completion":
            yield from (
                ("choice", message) for message in read_messages(attributes.get("gen_ai.completion"), "assistant") or ()
            )
        elif name == "gen_ai.client.inference.operation.details":
            yield from (
                ("before", message) for message in read_messages(attributes.get("gen_ai.input.messages"), "user") or ()
            )
            yield from (
                ("choice", message)
                for message in read_messages(attributes.get("gen_ai.output.messages"), "assistant") or ()
            )


def object_of(value: Json) -> JsonObject:
    """Return an object, of JSON text too; an empty one where there is none."""
    data = data_of(value)
    return dict(data) if isinstance(data, dict) else {}


def objects_of(value: Json) -> list[JsonObject]:
    """Return the objects of a list, of JSON text too; none where there is no list."""
    data = data_of(value)
    return [member for member in data if isinstance(member, dict)] if isinstance(data, list) else []
