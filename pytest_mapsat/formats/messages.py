"""Messages of models as the APIs and conventions of several vendors write them, in one form: text, calls of tools, results, thoughts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pytest_mapsat.model import Json, JsonObject, ReportedCall

from .files import limits
from .plain_data import parse_json, parse_literal

#: What an instrumentation writes in the place of a value that it hides.
HIDDEN = ("__REDACTED__", "<redacted>", "[REDACTED]")
_ROLES = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "model": "assistant", "bot": "assistant", "tool": "tool",
    "function": "tool", "system": "system", "developer": "system",
}  # fmt: skip
#: How prose begins where it begins like JSON: in quotes, or in brackets that no quoted name follows.
_PROSE = re.compile(r'\s*(?:"|\[\s*[^\s"{\[])')
#: Kinds of parts, without case, ``-`` and ``_``: vendors write one name in all three ways.
_CALLS = frozenset({"toolcall", "functioncall", "tooluse"})
_RESULTS = frozenset({"toolcallresponse", "toolresult", "functioncalloutput", "functionresponse", "toolcallresult"})
_WRAPPERS = _CALLS | _RESULTS | {"messagecontent"}
_THOUGHTS = ("reasoning", "thinking", "thought")


#: What only a message has, and the names that frameworks give the words that an agent is asked with.
_OF_A_MESSAGE = {"role", "parts", "type", "tool_calls", "toolCalls", "functionCall", "message", "kwargs"}
_LISTS = ("messages", "contents", "input", "choices", "output", "content", "candidates")
_INPUTS = ("task", "query", "question", "prompt", "input", "message", "text", "content", "user_input")


class Unknown:
    """The type of UNKNOWN, which marks a value that a span does not contain."""


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class CallPart:
    """A tool call in a message; ``arguments`` is UNKNOWN if they are missing or not an object."""

    id: str
    name: str
    arguments: JsonObject | Unknown


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A tool result in a message; ``value`` is UNKNOWN if it is missing, ``failed`` whether the tool failed, None if the message does not say so."""

    id: str
    name: str
    value: Json | Unknown
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A chat message; ``role`` is user, assistant, tool or system; ``text`` is None if it is missing."""

    role: str
    text: str | None
    calls: tuple[CallPart, ...] = ()
    results: tuple[ResultPart, ...] = ()
    thoughts: tuple[str, ...] = ()


def data_of(value: Json) -> Json | Unknown:
    """Return an attribute's value, with JSON and Python literals parsed; UNKNOWN if it is None, hidden or cut off."""
    if value is None or value in HIDDEN:
        return UNKNOWN
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    try:
        return parse_json(value, depth=limits.RUN_DEPTH)
    except json.JSONDecodeError:
        try:
            return parse_literal(value)
        except ValueError:
            return value if _PROSE.match(value) else UNKNOWN
    except ValueError:
        return UNKNOWN


def arguments_of(value: Json) -> JsonObject | Unknown:
    """Return a call's arguments from the recorded attributes of an instrumentation; UNKNOWN if they are not an object of named arguments."""
    data = data_of(value)
    if not isinstance(data, dict):
        return UNKNOWN
    if data.keys() <= {"args", "kwargs", "sanitize_inputs_outputs"} and isinstance(data.get("kwargs"), dict):
        return UNKNOWN if data.get("args") else data["kwargs"]
    if data.keys() >= {"input_str", "inputs"} and isinstance(data["inputs"], dict):
        return data["inputs"]
    return data


def read_messages(value: Json, role: str, *, loose: bool = True) -> list[ChatMessage] | None:
    """Return the chat messages in a value of any known form; None if it is missing, cut off or no message.

    Args:
        value: JSON text, a list of messages, one of them, an object that holds such a list, or the words of one.
        role: of a message that has none: ``user`` or ``assistant``.
        loose: whether data in which nothing is a message are the words of one: what an agent was asked, in whatever form.
    """
    data = data_of(value)
    if isinstance(data, dict):
        if isinstance(data.get("content"), dict) and "parts" in data["content"]:
            return read_messages(data["content"], role)
        inner = next((data[key] for key in _LISTS if _has_messages(data, key)), None)
        if inner is not None and not data.keys() & _OF_A_MESSAGE:
            return read_messages(inner, role, loose=loose)
        if not data.keys() & _OF_A_MESSAGE:
            return [ChatMessage(role, _words(data))] if loose else None
        data = [data]
    if isinstance(data, str):
        return [ChatMessage(role, data)]
    if not isinstance(data, list) or not (loose or all(isinstance(member, (dict, list)) for member in data)):
        return None
    if data and all(isinstance(member, list) for member in data):  # one list for each prompt of a batch
        data = data[0]
    return [message for member in data for message in _message(member, role)]


def _words(data: JsonObject) -> str:
    """Return the text of an input or output without messages: one of its text fields, otherwise the whole value as JSON."""
    text = next((data[key] for key in _INPUTS if isinstance(data.get(key), str)), None)
    return json.dumps(data, ensure_ascii=False) if text is None else text


def _has_messages(data: JsonObject, key: str) -> bool:
    """Return whether an object has messages under a key: a list, or a text that is its only member."""
    return isinstance(data.get(key), list) or (isinstance(data.get(key), str) and len(data) == 1)


def _message(data: Json, role: str) -> Iterator[ChatMessage]:
    """Yield the messages in one member of a list; ``role`` is used for messages without a role."""
    if isinstance(data, str):
        yield ChatMessage(role, data)
        return
    if not isinstance(data, dict):
        return
    for wrapper in ("message", "kwargs", "data"):
        if isinstance(inner := data.get(wrapper), dict):
            data = {**data, **inner}
    kind = str(data.get("type") or data.get("kind") or "")
    if _folded(kind) in _CALLS | _RESULTS:
        own = "assistant" if _folded(kind) in _CALLS else "tool"
    else:
        role_name = str(data.get("role") or kind or role).lower()
        own = _ROLES.get(role_name.removesuffix("message").removesuffix("chunk") or role_name, role)
    if isinstance(data.get("parts"), list) and kind in ("request", "response"):  # a message whose parts have roles
        for part in data["parts"]:
            if isinstance(part, dict):
                yield from _message({"role": _PARTS_OF.get(str(part.get("part_kind")), "system"), **part}, role)
        return
    text, calls, results, thoughts = _parts(data)
    if own == "tool" and not results:
        results = [ResultPart(_id(data), _tool(data), UNKNOWN if text is None else _result(text), _is_failed(data))]
    yield ChatMessage(own, text, tuple(calls), tuple(results), tuple(thoughts))


_PARTS_OF = {"user-prompt": "user", "tool-return": "tool", "retry-prompt": "tool"} | dict.fromkeys(
    ("text", "tool-call", "thinking"), "assistant"
)


def _parts(data: JsonObject) -> tuple[str | None, list[CallPart], list[ResultPart], list[str]]:
    """Return the text of a message (None if there is none), and its calls, results and thoughts."""
    content = next((data[key] for key in ("parts", "content", "contents", "text") if data.get(key) is not None), None)
    if isinstance(content, dict):
        content = content.get("parts", [content])
    parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    texts: list[str] = []
    # Outside its content stand a list of calls, or the one call of OpenAI's first form.
    beside = [data.get(key) for key in ("tool_calls", "toolCalls", "function_call", "functionCall")]
    listed = [call for value in beside for call in (value if isinstance(value, list) else [value])]
    calls = [_call(call) for call in listed if isinstance(call, dict)]
    results: list[ResultPart] = []
    thoughts = [str(data["reasoning_content"])] if data.get("reasoning_content") else []
    kind = data.get("type") or data.get("part_kind")
    if _folded(kind) in _CALLS | _RESULTS:
        parts, content = [data], []
    for part in parts:
        for key in [*part] if isinstance(part, dict) else ():
            if _folded(key) in _WRAPPERS and isinstance(inner := part[key], dict):
                part = {"type": key, **inner}  # noqa: PLW2901  the part without its wrapper
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            _take_part(part, texts, calls, results, thoughts)
    hidden = any(text in HIDDEN for text in texts)
    tells = bool(texts) or content is not None or bool(calls)
    return None if hidden or not tells else "\n".join(texts), calls, results, thoughts


def _folded(kind: Any) -> str:
    """Return the name of a part's kind in lower case, without ``-`` and ``_``."""
    return str(kind).replace("_", "").replace("-", "").lower()


def _take_part(
    part: JsonObject, texts: list[str], calls: list[CallPart], results: list[ResultPart], thoughts: list[str]
) -> None:
    """Add one part of a message to the list of its texts, calls, results or thoughts."""
    kind = str(part.get("type") or part.get("kind") or part.get("part_kind") or "text")
    text = next((part[key] for key in ("content", "text", "thinking") if isinstance(part.get(key), str)), "")
    if _folded(kind) in _CALLS:
        calls.append(_call(part))
    elif _folded(kind) in _RESULTS:
        value = next((part[key] for key in ("response", "result", "output", "content") if key in part), UNKNOWN)
        results.append(ResultPart(_id(part), _tool(part), _result(value), _is_failed(part)))
    elif kind in _THOUGHTS or part.get("thought") is True:
        thoughts += [text] if text else []
    elif text:
        texts.append(text)


def _call(data: JsonObject) -> CallPart:
    """Return a tool call from any vendor's form."""
    data = {**data, **(data["tool_call"] if isinstance(data.get("tool_call"), dict) else {})}
    inner = data["function"] if isinstance(data.get("function"), dict) else data
    value = next((inner[key] for key in ("arguments", "args", "input", "parameters") if key in inner), None)
    return CallPart(_id(data), _tool(inner), {} if value == "" else arguments_of(value))


def _tool(part: JsonObject) -> str:
    """Return the tool's name in a call or a result; empty if it is missing."""
    return next((part[key] for key in ("name", "tool_name", "toolName") if isinstance(part.get(key), str)), "")


def _id(data: JsonObject) -> str:
    """Return the id of the call in a call or a result; empty if it is missing."""
    names = ("call_id", "tool_call_id", "tool_use_id", "toolCallId", "toolUseId", "id")
    return str(next((data[name] for name in names if data.get(name)), ""))


def _result(value: Json | Unknown) -> Json | Unknown:
    """Return a tool result in a message as data; content blocks of text alone are joined and parsed."""
    if isinstance(value, dict) and value.keys() == {"type", "value"}:  # the AI SDK
        return value["value"]
    return value if isinstance(value, Unknown) else data_of(_joined_blocks(value))


def _joined_blocks(value: Json) -> Json:
    """Return the joined text of a list of text blocks; any other value unchanged."""
    parts = value if isinstance(value, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts and len(texts) == len(parts) else value


def _is_failed(data: JsonObject) -> bool | None:
    """Return whether a result or its message says that the tool failed; None if it is unknown."""
    told = (data.get("is_error"), data.get("isError"), {"error": True, "success": False}.get(str(data.get("status"))))
    return next((failed for failed in told if isinstance(failed, bool)), None)


def result_of(value: Json) -> tuple[Json | Unknown, bool]:
    """Return a tool's result from the recorded attributes of an instrumentation, and whether it says that the tool failed.

    It is unwrapped from the frameworks' message objects.
    """
    data = data_of(value)
    # LangChain's callback, with what it was called with.
    if isinstance(data, dict) and data.keys() == {"output", "kwargs"}:
        data = data["output"]
    if isinstance(data, dict) and data.keys() >= {"blocks", "tool_name"}:  # LlamaIndex
        return _result(data["blocks"]), False
    wrapped = [data.get(wrapper) for wrapper in ("kwargs", "data")] if isinstance(data, dict) else []
    for message in (*wrapped, data):
        if isinstance(message, dict) and message.keys() >= {"content", "tool_call_id"}:
            return _result(message["content"]), bool(_is_failed(message))
    joined = UNKNOWN if isinstance(data, Unknown) else _joined_blocks(data)
    return joined if joined is data else data_of(joined), False


def reported_call(tool: str, arguments: JsonObject | Unknown, result: Json | Unknown) -> ReportedCall:
    """Return a call as the report of a call that an agent made by itself, without what is unknown."""
    parts = {"tool": tool, "arguments": arguments, "result": result}
    return cast("ReportedCall", {part: value for part, value in parts.items() if not isinstance(value, Unknown)})


def numbered(attributes: Mapping[str, Any], prefix: str) -> list[Json]:
    """Return attributes ``PREFIX.0.name``, ``PREFIX.1.name``, ... as a list of objects; return a list at PREFIX unchanged.

    Numbered names further in become lists, too.
    """
    if isinstance(attributes.get(prefix), list):
        return list(attributes[prefix])
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        if name.startswith(f"{prefix}."):
            here = tree
            *above, last = name.removeprefix(f"{prefix}.").split(".")
            for key in above[: limits.DEPTH]:
                below = here.setdefault(key, {})
                here = below if isinstance(below, dict) else {}
            here[last] = value
    return _as_list(tree) if tree else []


def _as_list(tree: dict[str, Any]) -> Any:
    """Return a tree of keys with every mapping of numeric keys turned into a list."""
    data = {key: _as_list(value) if isinstance(value, dict) else value for key, value in tree.items()}
    if data and all(key.isdecimal() and len(key) < 8 for key in data):  # noqa: PLR2004  no number of a message is longer
        return [data[key] for key in sorted(data, key=int)]
    return data
