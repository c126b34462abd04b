"""The parts of a span that describe a conversation, by the conventions of OpenTelemetry and of other instrumentations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.model import Json, JsonObject

from .messages import ChatMessage, data_of, numbered, read_messages

Kind = Literal["agent", "chat", "tool", "other"]


@dataclass(frozen=True, slots=True)
class OtlpSpan:
    """One OpenTelemetry span, with the attributes that concern conversations.

    Attributes:
        trace: the id of its trace, as the file has it.
        id: its own.
        parent: id of the enclosing span; empty for a root.
        name: what it is called.
        start: nanoseconds since 1970; 0 where it is not told.
        end: when it ended, in the same form.
        failed: whether its status is an error.
        attributes: those that say something of a conversation, by dotted names.
        events: names and attributes of its events.
        line: its line in the file.
        again: a line on which a span of the same id stands once more; 0: none.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    failed: bool
    attributes: JsonObject
    events: tuple[tuple[str, JsonObject], ...]
    line: int
    again: int = 0

    def first(self, names: Iterable[str]) -> Json:
        """Return the first non-empty attribute under one of these names; None if all are empty or missing."""
        return next((self.attributes[name] for name in names if self.attributes.get(name) not in (None, "")), None)


#: The attribute with the kind of a LangSmith run.
RUN_KIND = "langsmith.span.kind"
#: Attributes that say what a span is of, with their values.
_KINDS: dict[str, dict[str, Kind]] = {
    "gen_ai.operation.name": {
        "chat": "chat", "text_completion": "chat", "generate_content": "chat", "completion": "chat", "responses": "chat",
        "invoke_agent": "agent", "invoke_workflow": "agent", "execute_tool": "tool",
    },
    "openinference.span.kind": {"LLM": "chat", "AGENT": "agent", "TOOL": "tool", "CHAIN": "other"},
    "traceloop.span.kind": {"tool": "tool", "agent": "agent", "workflow": "agent"},
    "langfuse.observation.type": {"generation": "chat", "agent": "agent", "tool": "tool"},
    RUN_KIND: {"llm": "chat", "tool": "tool"},
    "ai.operationId": {
        "ai.generateText": "agent", "ai.streamText": "agent", "ai.generateText.doGenerate": "chat", "ai.streamText.doStream": "chat", "ai.toolCall": "tool",
    },
    "llm.request.type": {"chat": "chat", "completion": "chat"},
}  # fmt: skip
#: Where the parts stand, the first that is there; the last ones are whatever the framework took for input and output.
_VALUES_IN = (
    "input.value", "ai.prompt", "traceloop.entity.input", "langfuse.observation.input", "gcp.vertex.agent.llm_request",
)  # fmt: skip
_VALUES_OUT = (
    "output.value",
    "traceloop.entity.output",
    "langfuse.observation.output",
    "gcp.vertex.agent.llm_response",
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
    "gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "gcp.vertex.agent.tool_response", *_VALUES_OUT,
)  # fmt: skip
TOKENS_IN = (
    "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.promptTokens",
)  # fmt: skip
TOKENS_OUT = (
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "ai.usage.completionTokens",
)  # fmt: skip
INSTRUCTIONS = ("gen_ai.system_instructions",)
_TOOLS, _NUMBERED_TOOLS = ("gen_ai.tool.definitions", "ai.prompt.tools"), ("llm.tools", "llm.request.functions")
USER = ("user.id", "enduser.id")
AGENT = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
COST = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")


def kind_of(span: OtlpSpan) -> Kind:
    """Return the kind of a span, from the first convention that defines it; ``other`` if no convention does."""
    for name, kinds in _KINDS.items():
        kind = kinds.get(str(span.attributes.get(name, "")))
        if kind is not None:
            return kind
    numbered_in = ("gen_ai.prompt.", "llm.input_messages.")
    if span.name == "call_llm" or any(name.startswith(numbered_in) for name in span.attributes):
        return "chat"
    if span.first(CALL_ID) or span.name.startswith("execute_tool ") or span.attributes.get("tool_arguments"):
        return "tool"
    return "agent" if span.name.startswith("invoke_agent") or "pydantic_ai.all_messages" in span.attributes else "other"


def messages_in(span: OtlpSpan) -> list[ChatMessage] | None:
    """Return the input messages of a model's or agent's span; None if the span does not contain them."""
    return _messages(span, "user", _NUMBERED_IN, _MESSAGES_IN, _VALUES_IN)


def messages_out(span: OtlpSpan) -> list[ChatMessage] | None:
    """Return the output messages of a model's or agent's span; None if the span does not contain them."""
    return _messages(span, "assistant", _NUMBERED_OUT, _MESSAGES_OUT, _VALUES_OUT)


def _messages(
    span: OtlpSpan, role: str, prefixes: Sequence[str], names: Sequence[str], values: Sequence[str]
) -> list[ChatMessage] | None:
    """Return a span's messages from the first convention that has them, or None; ``role``: the default role of a message."""
    for prefix in prefixes:
        if listed := numbered(span.attributes, prefix):
            return _fuller(read_messages(listed, role), span.first(values), role)
    if (value := span.first(names)) is not None:
        return read_messages(value, role)
    if role == "assistant" and not span.attributes.keys().isdisjoint(("ai.response.text", "ai.response.toolCalls")):
        text = span.attributes.get("ai.response.text") or ""
        calls = objects_of(span.attributes.get("ai.response.toolCalls"))
        return read_messages([{"role": role, "content": text, "tool_calls": calls}], role)
    if messages := [message for of, message in _events(span) if of == role]:
        return messages
    value = span.first(values)
    return None if value is None else read_messages(value, role, loose=kind_of(span) != "chat")


def _fuller(listed: list[ChatMessage] | None, value: Json, role: str) -> list[ChatMessage] | None:
    """Return the numbered messages, or the messages of the whole value if only those are without empty members."""
    if listed is not None and all(map(tells, listed)):
        return listed
    whole = None if value is None else read_messages(value, role, loose=False)
    return whole if whole and all(map(tells, whole)) else listed


def tells(message: ChatMessage) -> bool:
    """Return whether a message has text, calls or results."""
    return bool(message.text or message.calls or message.results)


def tools_in(span: OtlpSpan) -> list[JsonObject]:
    """Return the tool schemas in a model's or agent's span, in their vendors' forms."""
    listed = objects_of(span.first(_TOOLS))
    for prefix in _NUMBERED_TOOLS:
        listed += [object_of(tool) for tool in numbered(span.attributes, prefix)]
    wrapped = [
        object_of(tool.get("tool.json_schema", object_of(tool.get("tool")).get("json_schema"))) for tool in listed
    ]
    return [inner or tool for inner, tool in zip(wrapped, listed, strict=True)]


#: Events that are a message each; and the attributes of others in which messages stand, those before a reply and the reply's own.
_SENT = re.compile(r"gen_ai\.(user|system|assistant|tool)\.message")
_OF_EVENTS = (
    ("user", "gen_ai.prompt"),
    ("user", "gen_ai.input.messages"),
    ("assistant", "gen_ai.completion"),
    ("assistant", "gen_ai.output.messages"),
)


def _events(span: OtlpSpan) -> Iterator[tuple[str, ChatMessage]]:
    """Yield the messages in a span's events, after ``assistant`` for a reply or ``user`` for an earlier message."""
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
        values = [(role, attributes.get(place)) for role, place in _OF_EVENTS]
        if name == "gen_ai.choice":
            inner = body.get("message")
            body = object_of(inner) or ({"content": inner} if isinstance(inner, (str, list)) else body)
            values = [("assistant", [{**body, "role": "assistant"}])]
        elif sent := _SENT.fullmatch(name):
            values = [("user", [{**body, "role": sent[1]}])]
        for role, value in values:
            yield from ((role, message) for message in read_messages(value, role) or ())


def object_of(value: Json) -> JsonObject:
    """Return a value, or the value of a JSON text, as an object; empty if it is not an object."""
    data = data_of(value)
    return dict(data) if isinstance(data, dict) else {}


def objects_of(value: Json) -> list[JsonObject]:
    """Return the objects in a list, or in a list in JSON text; empty if the value is not a list."""
    data = data_of(value)
    return [member for member in data if isinstance(member, dict)] if isinstance(data, list) else []
