"""How a service is asked, and how its answers are read: fields of its own, or a protocol that many services speak.

A form knows nothing of HTTP: it hands a body to ``Exchange.post`` and gets back JSON, text, or the events of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from pytest_mapsat.formats import parse_json
from pytest_mapsat.llm import summed, usage_of
from pytest_mapsat.model import Blame, Json, JsonObject, ReportedCall, did_you_mean, shown, values_at
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox, ToolsClosed

from .service_file import ServiceFile, filled, placeholders
from .source import AgentContext, FormName, Session

#: The most answers with tool calls in one reply. The episode limits calls as well, but does not count those whose arguments are no JSON.
MOST_ROUNDS = 200


class ServiceFault(Exception):  # noqa: N818  # becomes an AgentFault, which names the service
    """A service did not reply as its form wants it.

    Attributes:
        message: what was observed, and what to do.
        blame: whose fault it is.
        speaks: the form that the answer seems to be in, where that is another one than was asked for.
    """

    def __init__(self, message: str, blame: Blame = "infrastructure", speaks: FormName = "json") -> None:
        self.message = message
        self.blame: Blame = blame
        self.speaks: FormName = speaks
        super().__init__(message)


class Answer(NamedTuple):
    """What a service answered: ``data`` is JSON, or the text of a plain one; ``events`` are those of a stream, each JSON, else None."""

    data: Json
    events: Iterator[JsonObject] | None = None


@dataclass
class Exchange:
    """What a form needs of the episode under way.

    Attributes:
        post: sends a body, with further headers, and returns the answer.
        pause: waits so many seconds.
        toolbox: the tools of the case.
        session: the session as agents know it; its messages hold the dialogue so far.
        context: makes the context anew.
        values: what placeholders stand for, but for those of the message at hand.
        file: what the service file says.
        own_calls: for each part of its answers, the calls of the service's own tools that it shows.
    """

    post: Callable[[Json, Mapping[str, str]], Answer]
    pause: Callable[[float], None]
    toolbox: Toolbox
    session: Session
    context: Callable[[], AgentContext]
    values: dict[str, Json]
    file: ServiceFile
    own_calls: list[list[ReportedCall]] = field(default_factory=list)

    def fields(self, template: Json, message: str) -> Any:
        """Return a template with its placeholders filled."""
        named = {name.partition(".")[0] for _, name, _ in placeholders(template)}
        makers: Mapping[str, Callable[[], Json]] = {
            "message": lambda: message,
            "messages": lambda: self.session.messages,
            "context": self.context,
            "tools": self.toolbox.schemas,
        }
        made = {name: make() for name, make in makers.items() if name in named}
        return filled(template, {**self.values, **made})


# -- reading answers -----------------------------------------------------------------------------------------------------

_KINDS: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text"}


def part_of(data: Json, key: str, kind: type, what: str = "its answer") -> Any:
    """Return a required member of an object.

    Args:
        data: the object.
        key: the name of the member.
        kind: its type: dict, list or str.
        what: what the object is, as messages name it.

    Raises:
        ServiceFault: the member is missing or of another type.
    """
    value = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(value, kind):
        raise ServiceFault(f"{what} does not fit its form: expected {_KINDS[kind]} under {key!r}, found {shown(data)}")
    return value


def text_of(data: Json, key: str, what: str) -> str:
    """Return a text of an object, empty where it has none.

    Raises:
        ServiceFault: the member is no text.
    """
    value = data.get(key) if isinstance(data, Mapping) else None
    return "" if value is None else str(part_of(data, key, str, what))


def members_of(data: Json, key: str, what: str) -> list[JsonObject]:
    """Return a list of objects in an object, empty where it has none.

    Raises:
        ServiceFault: the member is no list of objects.
    """
    if isinstance(data, Mapping) and data.get(key) is None:
        return []
    members = part_of(data, key, list, what)
    if not all(isinstance(member, dict) for member in members):
        raise ServiceFault(f"{what} does not fit its form: expected objects under {key!r}, found {shown(members)}")
    return list(members)


def calls_of(calls: Iterable[tuple[JsonObject, JsonObject]], key: str) -> list[Call]:
    """Return tool calls.

    Args:
        calls: for each call the object that holds its id, and the object that holds its name and arguments.
        key: the name of the id.

    Raises:
        ServiceFault: an id or a name is missing.
    """
    what = "a tool call"
    return [
        Call(part_of(call, key, str, what), part_of(function, "name", str, what), function.get("arguments"))
        for call, function in calls
    ]


def told_error(error: Json) -> ServiceFault:
    """Return the fault for an error that the agent itself reports in the field of its form."""
    message = error.get("message") if isinstance(error, Mapping) else error
    words = message if isinstance(message, str) else json.dumps(error, ensure_ascii=False)
    return ServiceFault(f"the agent reports an error: {words}", "agent")


#: What services call an answer that failed, was given up, cut or filtered, which is the agent's own doing: the words of the forms, and other vendors' in their places.
_BAD_STATES = (
    *("failed", "error", "cancelled", "canceled", "rejected", "expired", "incomplete", "length", "max-tokens"),
    *("max-output-tokens", "model-length", "content-filter", "safety"),
)


def state_name(state: Json) -> str:
    """Return a state in one spelling: ``TASK_STATE_AUTH_REQUIRED``, ``auth_required`` and ``auth-required`` are one."""
    return str(state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def require_complete(state: Json, complete: Collection[Json], what: str, why: Json = None) -> None:
    """Check that a service calls its answer complete: this alone makes it a reply, whatever text it has.

    Args:
        state: what the service says.
        complete: the states that its form documents as complete.
        what: where the state stands, as messages name it.
        why: what the service says about the reason; empty: nothing.

    Raises:
        ServiceFault: it is another state: one that is known to be bad is the agent's, any other says nothing about the agent.
    """
    if any(state == known and type(state) is type(known) for known in complete):
        return
    reason = f" ({why if isinstance(why, str) else json.dumps(why, ensure_ascii=False)})" if why else ""
    if state_name(state) in _BAD_STATES:
        raise ServiceFault(f"the agent gave no whole answer: {what} is {shown(state)}{reason}", "agent")
    expected = " or ".join(map(shown, complete))
    raise ServiceFault(f"it does not call its answer complete: {what} is {shown(state)}{reason}, expected {expected}")


def require_same(given: Json, asked: Json, what: str) -> None:
    """Check that an answer is to what was asked.

    Args:
        given: the id in the answer; None: it has none.
        asked: the id that was sent; empty: none was.
        what: what the id is of, as messages name it.

    Raises:
        ServiceFault: it is another one's.
    """
    if given is not None and asked and given != asked:
        raise ServiceFault(f"it answers for another {what}: expected {shown(asked)}, found {shown(given)}")


def form_of_answer(answer: Json) -> FormName:
    """Return the form that an answer, or the first event of one, is in as far as its fields show; ``json`` where they show none."""
    if not isinstance(answer, Mapping):
        return "json"
    kind = str(answer.get("type", ""))
    if isinstance(answer.get("choices"), list):
        return "openai-chat"
    if answer.get("object") == "response" or kind.startswith("response."):
        return "openai-responses"
    if "jsonrpc" in answer:
        return "a2a"
    return "ag-ui" if kind.startswith(("RUN_", "TEXT_MESSAGE_")) else "json"


def texts_of(parts: Json, key: str = "text") -> str:
    """Return the text of content that is a text or a list of parts."""
    if isinstance(parts, str):
        return parts
    members = parts if isinstance(parts, list) else []
    return "".join(part[key] for part in members if isinstance(part, Mapping) and isinstance(part.get(key), str))


def filled_fields(context: AgentContext) -> JsonObject:
    """Return the fields of a context that the case fills."""
    return {key: value for key, value in context.items() if value not in (None, [], {}, "")}


def _introduction(context: AgentContext) -> str:
    """Return the system message: the instructions of the case, and the context as JSON."""
    situation = filled_fields(context)
    instructions = situation.pop("instructions", "")
    text = f"The situation, as JSON:\n{json.dumps(situation, ensure_ascii=False)}"
    return f"{instructions}\n\n{text}" if instructions else text


# -- forms ---------------------------------------------------------------------------------------------------------------


class WireForm:
    """One dialogue in one form.

    Attributes:
        path: what stands behind the address that the user names.
    """

    path: ClassVar[str] = ""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def reply(self, message: str) -> Reply:
        """Return the reply to a message.

        Args:
            message: what the user says.

        Raises:
            ServiceFault: there is none.
        """
        raise NotImplementedError

    def _extended(self, body: JsonObject, message: str = "") -> JsonObject:
        """Return a body with the fields that the service file adds."""
        added: JsonObject = self._exchange.fields(self._exchange.file.request or {}, message)
        return {**body, **added}


class JsonForm(WireForm):
    """Fields of the service's own, or those that are usual where no file names them."""

    _USUAL: ClassVar[JsonObject] = {
        "message": "$message",
        "messages": "$messages",
        "session": "$session",
        "context": "$context",
    }
    _TEXTS = ("text", "reply", "message", "content")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        if exchange.file.response.session:
            exchange.values["session"] = None

    def reply(self, message: str) -> Reply:
        """Return the reply to a message; see ``WireForm.reply``."""
        exchange, paths = self._exchange, self._exchange.file.response
        request = exchange.file.request
        answer = exchange.post(exchange.fields(self._USUAL if request is None else request, message), {})
        if answer.events is not None:
            data: Json = None
            try:
                data = next(answer.events, None)
            except ServiceFault as fault:
                if fault.blame == "agent":
                    raise  # else the first event is none: that it is a stream is what matters
            wrong = "it answers with a stream of events; the form json reads one JSON answer"
            raise ServiceFault(wrong, speaks=form_of_answer(data))
        data = answer.data
        errors = [self._at(data, path) for path in ([paths.error] if paths.error else ["error", "errors"])]
        if any(errors) and form_of_answer(data) != "a2a":
            raise told_error(next(filter(None, errors)))
        if paths.complete is not None:
            path, equals = paths.complete.path, paths.complete.equals
            complete = equals if isinstance(equals, list) else [equals]
            require_complete(self._at(data, path), complete, f"{path!r} (response.complete)")
        if isinstance(data, str):
            return Reply(data)
        if paths.session:
            exchange.values["session"] = self._at(data, paths.session) or exchange.values["session"]
        output = self._at(data, paths.output or "output")
        if paths.output and output is not None and not isinstance(output, Mapping):
            raise ServiceFault(f"expected an object at {paths.output!r} (response.output), found {shown(output)}")
        places = {name: self._at(data, path) for name, path in paths.usage if path}
        return Reply(
            self._text(data, paths.text),
            usage=usage_of(places or self._at(data, "usage")) or None,
            output=output if isinstance(output, Mapping) else None,
        )

    @staticmethod
    def _at(data: Json, path: str) -> Json:
        return next(iter(values_at(data, path)), None)

    def _text(self, data: Json, path: str) -> str:
        for place in (path,) if path else self._TEXTS:
            text = self._at(data, place)
            if isinstance(text, str):
                return text
        keys = sorted(data) if isinstance(data, Mapping) else []
        expected = f"a text at {path!r} (response.text)" if path else f"a text under {', '.join(self._TEXTS)}"
        speaks: FormName = "json" if path else form_of_answer(data)
        hint = did_you_mean(path.partition(".")[0], keys) if path else "say where with response: {text: PATH}"
        content = f"an object with {', '.join(map(shown, keys))}" if keys else shown(data)
        hint = f" ({hint})" if hint and speaks == "json" else ""
        raise ServiceFault(f"expected {expected}, found {content}{hint}", speaks=speaks)


class Call(NamedTuple):
    """A tool call in an answer; ``arguments`` as they came, a JSON text or an object."""

    id: str
    name: str
    arguments: Json

    def reported(self, result: Json) -> ReportedCall:
        """Return it as a call that the service has made itself; without a result where there is none."""
        told: ReportedCall = {"tool": self.name, "arguments": self.arguments or {}, "id": self.id}
        return told if result is None else {**told, "result": result}


class Step(NamedTuple):
    """One answer of a service that calls tools: its text, its calls and its usage."""

    text: str
    calls: list[Call]
    usage: dict[str, float]


class ToolForm(WireForm):
    """A form in which tool calls come back in answers: they are made here, and their results sent with the next request."""

    def reply(self, message: str) -> Reply:
        """Return the reply to a message; see ``WireForm.reply``."""
        self._hear(message)
        tools = [schema["function"] for schema in self._exchange.toolbox.schemas()]
        spent: list[dict[str, float]] = []
        for _ in range(MOST_ROUNDS):
            step = self._ask(tools, message)
            spent.append(step.usage)
            if not step.calls:
                return Reply(step.text, usage=summed(spent) or None)
            if step.text.strip():
                self._exchange.session.think(step.text)
            for call in step.calls:
                self._answer(call, json.dumps(self._made(call), ensure_ascii=False))
        raise ServiceFault(f"the agent went on calling tools after {MOST_ROUNDS} answers in one reply", "agent")

    def _made(self, call: Call) -> Json:
        """Make a call and return its result; a service that gives bad arguments reads what is wrong with them."""
        arguments = call.arguments
        if isinstance(arguments, str):
            try:
                arguments = parse_json(arguments or "{}")
            except ValueError:
                arguments = None
        if not isinstance(arguments, dict):
            thought = f"{call.name} was to be called with arguments that are no JSON object: {shown(call.arguments)}"
            self._exchange.session.think(thought)
            return {
                "status": "error",
                "message": "the arguments are no JSON object; give one, as the tool's schema says",
            }
        try:
            return self._exchange.toolbox.call(call.name, arguments)
        except ToolsClosed as error:
            raise ServiceFault(f"the agent called {call.name!r:.80}: {error}", "agent") from None

    def _hear(self, message: str) -> None:
        """Take the user's message."""
        raise NotImplementedError

    def _ask(self, tools: list[JsonObject], message: str) -> Step:
        """Send a request and read the answer."""
        raise NotImplementedError

    def _answer(self, call: Call, result: str) -> None:
        """Take the result of a call, for the next request."""
        raise NotImplementedError


class ChatForm(ToolForm):
    """OpenAI's chat completions."""

    path = "/chat/completions"
    #: What servers of open models call the thoughts of a model.
    _REASONING = ("reasoning_content", "reasoning")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._messages: list[JsonObject] = []

    def _hear(self, message: str) -> None:
        if not self._messages:
            self._messages.append({"role": "system", "content": _introduction(self._exchange.context())})
            self._messages += self._exchange.session.earlier
        self._messages.append({"role": "user", "content": message})

    def _answer(self, call: Call, result: str) -> None:
        self._messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def _ask(self, tools: list[JsonObject], message: str) -> Step:
        body: JsonObject = {"model": "agent", "messages": self._messages}
        if tools:
            body["tools"] = [{"type": "function", "function": tool} for tool in tools]
        body = self._extended(body, message)
        if body.get("stream") is True:
            body.setdefault("stream_options", {"include_usage": True})
        answer = self._exchange.post(body, {})
        assistant, usage, finish = self._whole(answer.data) if answer.events is None else self._streamed(answer.events)
        if old := assistant.get("function_call"):
            name = old.get("name") if isinstance(old, Mapping) else old
            raise ServiceFault(f"it calls {shown(name)} by function_call, which is no longer made: use tool_calls")
        text = texts_of(assistant.get("content")) or texts_of(assistant.get("refusal"))
        if thought := "".join(texts_of(assistant.get(name)) for name in self._REASONING):
            self._exchange.session.think(thought)
        made = members_of(assistant, "tool_calls", "its message")
        calls = calls_of(((call, part_of(call, "function", dict, "a tool call")) for call in made), "id")
        require_complete(finish, ("stop", "tool_calls") if calls else ("stop",), "finish_reason")
        # The message goes back with those fields only that every service takes.
        self._messages.append({"role": "assistant", "content": text or None})
        if calls:
            self._messages[-1]["tool_calls"] = [function_call(call) for call in calls]
        return Step(text, calls, usage_of(usage))

    @staticmethod
    def _whole(data: Json) -> tuple[JsonObject, Json, Json]:
        """Return the message, the usage and the reason why it ended; a whole answer that gives no reason is not called unfinished."""
        if isinstance(data, Mapping) and data.get("error"):
            raise told_error(data["error"])
        choice: Any = next(iter(part_of(data, "choices", list)), None)
        message = part_of(choice, "message", dict, "its first choice")
        return message, data.get("usage"), choice.get("finish_reason", "stop")

    @classmethod
    def _streamed(cls, events: Iterator[JsonObject]) -> tuple[JsonObject, Json, Json]:
        text, thought, old, usage, finish = "", "", None, None, None
        calls: dict[str, JsonObject] = {}
        for event in events:
            if event.get("error"):
                raise told_error(event["error"])
            usage = event.get("usage") or usage
            for choice in members_of(event, "choices", "an event"):
                finish = choice.get("finish_reason") or finish
                delta = choice.get("delta") or {}
                old = old or next(iter(values_at(choice, "delta.function_call")), None)
                text += text_of(delta, "content", "a delta") + text_of(delta, "refusal", "a delta")
                thought += "".join(text_of(delta, name, "a delta") for name in cls._REASONING)
                for piece in members_of(delta, "tool_calls", "a delta"):
                    call = calls.setdefault(str(piece.get("index", 0)), {"id": "", "name": "", "arguments": ""})
                    function = piece.get("function") or {}
                    call["id"] = text_of(piece, "id", "a tool call") or call["id"]
                    call["name"] += text_of(function, "name", "a tool call")
                    call["arguments"] += text_of(function, "arguments", "a tool call")
        if finish is None:
            raise ServiceFault("its stream ended before the answer did: no finish_reason came")
        assistant: JsonObject = {
            "content": text,
            "reasoning": thought,
            "function_call": old,
            "tool_calls": [{"id": call.pop("id"), "function": call} for call in calls.values()],
        }
        return assistant, usage, finish


def function_call(call: Call) -> JsonObject:
    """Return a call as the service reads it again; arguments that are no JSON are left out, which services refuse."""
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    try:
        parse_json(arguments)
    except ValueError:
        arguments = "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class ResponsesForm(ToolForm):
    """OpenAI's responses: all items are sent again, or with ``store: true`` the new ones behind ``previous_response_id``."""

    path = "/responses"

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._items: list[JsonObject] = []
        self._stored = (exchange.file.request or {}).get("store") is True
        self._previous = ""

    def _hear(self, message: str) -> None:
        if not self._items and not self._previous:
            self._items += self._exchange.session.earlier
        self._items.append({"role": "user", "content": message})

    def _answer(self, call: Call, result: str) -> None:
        self._items.append({"type": "function_call_output", "call_id": call.id, "output": result})

    def _ask(self, tools: list[JsonObject], message: str) -> Step:
        body: JsonObject = {
            "model": "agent",
            "instructions": _introduction(self._exchange.context()),
            "input": self._items,
        }
        if tools:
            body["tools"] = [{"type": "function", **tool} for tool in tools]
        if self._previous:
            body["previous_response_id"] = self._previous
        answer = self._exchange.post(self._extended(body, message), {})
        data = answer.data if answer.events is None else self._last(answer.events)
        told: Mapping[str, Json] = data if isinstance(data, Mapping) else {}
        if told.get("error"):
            raise told_error(told["error"])
        details = told.get("incomplete_details")
        status = told.get("status") or ("incomplete" if details else "completed")
        require_complete(status, ("completed",), "its status", details)
        part_of(data, "output", list)
        output = members_of(data, "output", "its answer")
        require_same(data.get("previous_response_id"), self._previous, "response")
        self._items = [] if self._stored else [*self._items, *output]
        self._previous = part_of(data, "id", str) if self._stored else ""
        results = {item.get("call_id"): item for item in output if item.get("type") == "function_call_output"}
        asked = calls_of(((item, item) for item in output if item.get("type") == "function_call"), "call_id")
        results |= {item.get("id"): item for item in output if item.get("type") == "mcp_call"}
        asked += calls_of(((item, item) for item in output if item.get("type") == "mcp_call"), "id")
        # What stands beside its result has the service carried out itself.
        own = [call.reported(results[call.id].get("output")) for call in asked if call.id in results]
        self._exchange.own_calls.append(own)
        calls = [call for call in asked if call.id not in results]
        spoken = [item.get("content") for item in output if item.get("type") == "message"]
        for item in output:
            if item.get("type") == "reasoning" and (thought := texts_of(item.get("summary"))):
                self._exchange.session.think(thought)
        text = "\n\n".join(texts_of(content) or texts_of(content, "refusal") for content in spoken)
        return Step(text, calls, usage_of(data.get("usage")))

    @staticmethod
    def _last(events: Iterator[JsonObject]) -> Json:
        """Return the answer in the event that ends a stream, with the state that the event names unless it is complete."""
        for event in events:
            kind = event.get("type")
            if kind == "error":
                raise told_error(event)
            if kind in ("response.completed", "response.incomplete", "response.failed", "response.cancelled"):
                answer: JsonObject = part_of(event, "response", dict, "its last event")
                state = kind.removeprefix("response.")
                return {**answer, "status": answer.get("status") if state == "completed" else state}
        raise ServiceFault("its stream ended before the answer did: no response.completed came")
