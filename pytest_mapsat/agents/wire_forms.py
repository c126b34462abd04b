"""How a service is asked, and how its answers are read: fields of its own, or a protocol that many services speak.

A form knows nothing of HTTP: it hands a body to ``FormExchange.post`` and gets back JSON, text, or the events of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4

from pytest_mapsat.formats import parse_json
from pytest_mapsat.llm import ToolCall, summed, usage_of
from pytest_mapsat.model import Blame, Json, JsonObject, ReportedCall, did_you_mean, shown, values_at
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox, ToolsClosed

from .models import ToolSteps, function_call
from .service_file import ServiceFile, filled, placeholders
from .source import AgentContext, FormName, Session, declared, filled_fields, with_earlier

#: The most answers with tool calls in one reply. The episode limits calls as well, but does not count those whose arguments are no JSON.
MOST_ROUNDS = 200


class ServiceFault(Exception):  # noqa: N818  # becomes an AgentFault, which names the service
    """A service did not reply in the expected form.

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


class ServiceAnswer(NamedTuple):
    """The answer of a service: ``data`` is JSON or plain text; ``events`` are the JSON events of a stream, or None."""

    data: Json
    events: Iterator[JsonObject] | None = None


@dataclass
class FormExchange:
    """The data of the current episode that a form needs.

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

    post: Callable[[Json, Mapping[str, str]], ServiceAnswer]
    pause: Callable[[float], None]
    toolbox: Toolbox
    session: Session
    context: Callable[[], AgentContext]
    values: dict[str, Json]
    file: ServiceFile
    own_calls: list[list[ReportedCall]] = field(default_factory=list)

    def fields(self, template: Json, message: str) -> Any:
        """Return a template with its placeholders filled."""
        names = {name.partition(".")[0] for _, name, _ in placeholders(template)}
        makers: Mapping[str, Callable[[], Json]] = {
            "message": lambda: message,
            "messages": lambda: self.session.messages,
            "context": self.context,
            "tools": self.toolbox.schemas,
        }
        values = {name: make() for name, make in makers.items() if name in names}
        return filled(template, {**self.values, **values})


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
    """Return a text member of an object; empty if there is none.

    Raises:
        ServiceFault: the member is no text.
    """
    value = data.get(key) if isinstance(data, Mapping) else None
    return "" if value is None else str(part_of(data, key, str, what))


def members_of(data: Json, key: str, what: str) -> list[JsonObject]:
    """Return a list of objects from an object; empty if there is none.

    Raises:
        ServiceFault: the member is no list of objects.
    """
    if isinstance(data, Mapping) and data.get(key) is None:
        return []
    members = part_of(data, key, list, what)
    if not all(isinstance(member, dict) for member in members):
        raise ServiceFault(f"{what} does not fit its form: expected objects under {key!r}, found {shown(members)}")
    return list(members)


def call_of(call: JsonObject, key: str, function: JsonObject) -> ToolCall:
    """Return the tool call that an object of an answer describes.

    Args:
        call: the object that holds its id.
        key: the name of the id.
        function: the object that holds its name and arguments.

    Raises:
        ServiceFault: the id or the name is missing.
    """
    what = "a tool call"
    identity, name = part_of(call, key, str, what), part_of(function, "name", str, what)
    return tool_call(identity, name, function.get("arguments"))


def tool_call(identity: str, name: str, arguments: Json) -> ToolCall:
    """Return a tool call with its arguments, read from an object or from JSON text; None as arguments if they are not an object."""
    text = (arguments or "{}") if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    with suppress(ValueError):
        arguments = parse_json(text) if isinstance(arguments, str) else arguments
    return ToolCall(id=identity, name=name, arguments=arguments if isinstance(arguments, dict) else None, text=text)


def own_call(call: ToolCall, result: Json) -> ReportedCall:
    """Return a tool call as a report of a call that the service made itself, with the result if it is known."""
    arguments = call.text if call.arguments is None else call.arguments
    report: ReportedCall = {"tool": call.name, "arguments": arguments, "id": call.id}
    return report if result is None else {**report, "result": result}


def reported_error_fault(error: Json) -> ServiceFault:
    """Return the fault for an error that the agent itself reports in its answer; the agent is to blame."""
    message = error.get("message") if isinstance(error, Mapping) else error
    words = message if isinstance(message, str) else json.dumps(error, ensure_ascii=False)
    return ServiceFault(f"the agent reports an error: {words}", "agent")


#: What services call an answer that failed, was given up, cut or filtered, which is the agent's own doing: the words of the forms, and other vendors' in their places.
_BAD_STATES = (
    *("failed", "error", "cancelled", "canceled", "rejected", "expired", "incomplete", "length", "max-tokens"),
    *("max-output-tokens", "model-length", "content-filter", "safety"),
)


def state_name(state: Json) -> str:
    """Return a state in one spelling: ``TASK_STATE_AUTH_REQUIRED``, ``auth_required`` and ``auth-required`` are the same."""
    return str(state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def require_complete(state: Json, complete: Collection[Json], what: str, why: Json = None) -> None:
    """Check that a service marks its answer as complete: without the mark, no text counts as a reply.

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
    """Check that the id in an answer equals the id that was sent.

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
    """Return the form that an answer or its first event seems to have; ``json`` if its fields indicate no other form."""
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
    """Return the text of content, which is either a text or a list of parts."""
    if isinstance(parts, str):
        return parts
    members = parts if isinstance(parts, list) else []
    return "".join(part[key] for part in members if isinstance(part, Mapping) and isinstance(part.get(key), str))


def _introduction(context: AgentContext) -> str:
    """Return the system message: the instructions of the case, and the context as JSON."""
    situation = filled_fields(context)
    instructions = situation.pop("instructions", "")
    text = f"The situation, as JSON:\n{json.dumps(situation, ensure_ascii=False)}"
    return f"{instructions}\n\n{text}" if instructions else text


# -- forms ---------------------------------------------------------------------------------------------------------------


class WireForm:
    """One dialogue with a service, in one form of requests and answers.

    Attributes:
        path: what stands behind the address that the user names.
    """

    path: ClassVar[str] = ""

    def __init__(self, exchange: FormExchange) -> None:
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
        return {**body, **self._exchange.fields(self._exchange.file.request or {}, message)}


class JsonForm(WireForm):
    """A form with the service's own fields, or the usual fields if no file names others."""

    _USUAL: ClassVar[JsonObject] = {name: f"${name}" for name in ("message", "messages", "session", "context")}
    _TEXTS = ("text", "reply", "message", "content")

    def __init__(self, exchange: FormExchange) -> None:
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
            raise reported_error_fault(next(filter(None, errors)))
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
        """Return the first value at a path of an answer; None if the path does not exist."""
        return next(iter(values_at(data, path)), None)

    def _text(self, data: Json, path: str) -> str:
        """Return the text of an answer. Raises ServiceFault with a hint if the text is missing."""
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


class ToolForm(ToolSteps, WireForm):
    """A form in which answers contain tool calls: this process makes the calls and sends their results with the next request."""

    def __init__(self, exchange: FormExchange) -> None:
        super().__init__(exchange)
        self._toolbox = exchange.toolbox
        self._session = exchange.session
        self._message = ""
        self._spent: list[dict[str, float]] = []

    def reply(self, message: str) -> Reply:
        """Return the reply to a message; see ``WireForm.reply``."""
        self._message, self._spent = message, []
        self._hear(message)
        text = self.take_steps(MOST_ROUNDS)
        if text is None:
            raise ServiceFault(f"the agent went on calling tools after {MOST_ROUNDS} answers in one reply", "agent")
        return Reply(text, usage=summed(self._spent) or None)

    def _result_of(self, call: ToolCall) -> Json:
        """Make a call and return its result. Raises ServiceFault if the tools are closed."""
        try:
            return super()._result_of(call)
        except ToolsClosed as error:
            raise ServiceFault(f"the agent called {call.name!r:.80}: {error}", "agent") from None

    def _hear(self, message: str) -> None:
        """Add the user's message to the next request."""
        raise NotImplementedError


class ChatForm(ToolForm):
    """The form of OpenAI's chat completions."""

    path = "/chat/completions"
    #: What servers of open models call the thoughts of a model.
    _REASONING = ("reasoning_content", "reasoning")

    def __init__(self, exchange: FormExchange) -> None:
        super().__init__(exchange)
        self._messages: list[JsonObject] = []

    def _hear(self, message: str) -> None:
        """Add the user's message to the messages, after the system message and the earlier dialogue."""
        if not self._messages:
            self._messages.append({"role": "system", "content": _introduction(self._exchange.context())})
            self._messages += self._session.earlier
        self._messages.append({"role": "user", "content": message})

    def _step(self) -> tuple[str, Sequence[ToolCall]]:
        """Send the messages, add the answer to them, and return its text and tool calls. Raises ServiceFault."""
        body: JsonObject = {"model": "agent", "messages": self._messages}
        if tools := self._toolbox.schemas():
            body["tools"] = tools
        body = self._extended(body, self._message)
        if body.get("stream") is True:
            body.setdefault("stream_options", {"include_usage": True})
        answer = self._exchange.post(body, {})
        assistant, usage, finish = self._whole(answer.data) if answer.events is None else self._streamed(answer.events)
        if old := assistant.get("function_call"):
            name = old.get("name") if isinstance(old, Mapping) else old
            raise ServiceFault(f"it calls {shown(name)} by function_call, which is no longer made: use tool_calls")
        text = texts_of(assistant.get("content")) or texts_of(assistant.get("refusal"))
        if thought := "".join(texts_of(assistant.get(name)) for name in self._REASONING):
            self._session.think(thought)
        entries = members_of(assistant, "tool_calls", "its message")
        calls = [call_of(entry, "id", part_of(entry, "function", dict, "a tool call")) for entry in entries]
        require_complete(finish, ("stop", "tool_calls") if calls else ("stop",), "finish_reason")
        # The message goes back with those fields only that every service takes.
        self._messages.append({"role": "assistant", "content": text or None})
        if calls:
            self._messages[-1]["tool_calls"] = list(map(function_call, calls))
        self._spent.append(usage_of(usage))
        return text, calls

    @staticmethod
    def _whole(data: Json) -> tuple[JsonObject, Json, Json]:
        """Return the message, the usage and the finish reason of an answer; ``stop`` if the reason is missing."""
        if isinstance(data, Mapping) and data.get("error"):
            raise reported_error_fault(data["error"])
        choice: Any = next(iter(part_of(data, "choices", list)), None)
        message = part_of(choice, "message", dict, "its first choice")
        return message, data.get("usage"), choice.get("finish_reason", "stop")

    @classmethod
    def _streamed(cls, events: Iterator[JsonObject]) -> tuple[JsonObject, Json, Json]:
        """Return the message, the usage and the finish reason, assembled from a stream's events. Raises ServiceFault."""
        text, thought, old, usage, finish = "", "", None, None, None
        calls: dict[str, JsonObject] = {}
        for event in events:
            if event.get("error"):
                raise reported_error_fault(event["error"])
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


class ResponsesForm(ToolForm):
    """OpenAI's responses: every request sends all items or, with ``store: true``, only new items and ``previous_response_id``."""

    path = "/responses"

    def __init__(self, exchange: FormExchange) -> None:
        super().__init__(exchange)
        self._items: list[JsonObject] = []
        self._stored = (exchange.file.request or {}).get("store") is True
        self._previous = ""

    def _hear(self, message: str) -> None:
        """Add the user's message to the items, after the earlier dialogue."""
        if not self._items and not self._previous:
            self._items += self._session.earlier
        self._items.append({"role": "user", "content": message})

    def _take_result(self, call: ToolCall, result: str) -> None:
        """Add the result of a tool call to the items."""
        self._items.append({"type": "function_call_output", "call_id": call.id, "output": result})

    def _step(self) -> tuple[str, Sequence[ToolCall]]:
        """Send the items and return the answer's text and the tool calls to make; record the service's own calls."""
        body: JsonObject = {
            "model": "agent",
            "instructions": _introduction(self._exchange.context()),
            "input": self._items,
        }
        if tools := declared(self._toolbox):
            body["tools"] = [{"type": "function", **tool} for tool in tools]
        if self._previous:
            body["previous_response_id"] = self._previous
        answer = self._exchange.post(self._extended(body, self._message), {})
        data = answer.data if answer.events is None else self._last(answer.events)
        answered: Mapping[str, Json] = data if isinstance(data, Mapping) else {}
        if answered.get("error"):
            raise reported_error_fault(answered["error"])
        details = answered.get("incomplete_details")
        status = answered.get("status") or ("incomplete" if details else "completed")
        require_complete(status, ("completed",), "its status", details)
        part_of(data, "output", list)
        output = members_of(data, "output", "its answer")
        require_same(data.get("previous_response_id"), self._previous, "response")
        self._items = [] if self._stored else [*self._items, *output]
        self._previous = part_of(data, "id", str) if self._stored else ""
        results = {item.get("call_id"): item for item in output if item.get("type") == "function_call_output"}
        asked = [call_of(item, "call_id", item) for item in output if item.get("type") == "function_call"]
        results |= {item.get("id"): item for item in output if item.get("type") == "mcp_call"}
        asked += [call_of(item, "id", item) for item in output if item.get("type") == "mcp_call"]
        # What stands beside its result has the service carried out itself.
        own = [own_call(call, results[call.id].get("output")) for call in asked if call.id in results]
        self._exchange.own_calls.append(own)
        calls = [call for call in asked if call.id not in results]
        spoken = [item.get("content") for item in output if item.get("type") == "message"]
        for item in output:
            if item.get("type") == "reasoning" and (thought := texts_of(item.get("summary"))):
                self._session.think(thought)
        text = "\n\n".join(texts_of(content) or texts_of(content, "refusal") for content in spoken)
        self._spent.append(usage_of(data.get("usage")))
        return text, calls

    @staticmethod
    def _last(events: Iterator[JsonObject]) -> Json:
        """Return the response in the last event of a stream, with its state. Raises ServiceFault if there is no such event."""
        for event in events:
            kind = event.get("type")
            if kind == "error":
                raise reported_error_fault(event)
            if kind in ("response.completed", "response.incomplete", "response.failed", "response.cancelled"):
                answer: JsonObject = part_of(event, "response", dict, "its last event")
                state = kind.removeprefix("response.")
                return {**answer, "status": answer.get("status") if state == "completed" else state}
        raise ServiceFault("its stream ended before the answer did: no response.completed came")


# -- protocols that agents speak to those who use them ------------------------------------------------------------------


class AgUiForm(ToolForm):
    """AG-UI: our tools are frontend tools; their results are sent with another run."""

    _THOUGHTS = ("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT")

    def __init__(self, exchange: FormExchange) -> None:
        super().__init__(exchange)
        self._messages: list[JsonObject] = []
        self._state: Json = {}

    def _hear(self, message: str) -> None:
        """Add the user's message to the messages, after the earlier dialogue."""
        earlier = [] if self._messages else self._session.earlier
        turns = [*earlier, {"role": "user", "content": message}]
        self._messages += [{"id": str(uuid4()), **turn} for turn in turns]

    def _take_result(self, call: ToolCall, result: str) -> None:
        """Add the result of a tool call to the messages."""
        self._messages.append({"id": str(uuid4()), "role": "tool", "toolCallId": call.id, "content": result})

    def _step(self) -> tuple[str, Sequence[ToolCall]]:
        """Start a run with the messages, and return its text and the tool calls to make. Raises ServiceFault."""
        context = [
            {"description": key, "value": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}
            for key, value in filled_fields(self._exchange.context()).items()
        ]
        body: JsonObject = {
            "threadId": self._exchange.values["session"],
            "runId": str(uuid4()),
            "state": self._state,
            "messages": self._messages,
            "tools": declared(self._toolbox),
            "context": context,
            "forwardedProps": {},
        }
        body = self._extended(body, self._message)
        answer = self._exchange.post(body, {"Accept": "text/event-stream"})
        if answer.events is None:
            raise ServiceFault("expected a stream of events (text/event-stream), found one answer")
        return self._read(self._of_run(answer.events, body))

    @staticmethod
    def _of_run(events: Iterator[JsonObject], asked: JsonObject) -> Iterator[JsonObject]:
        """Yield the events of the requested run. Raises ServiceFault for an event of another run."""
        for event in events:
            if part_of(event, "type", str, "an event") in ("RUN_STARTED", "RUN_FINISHED"):
                require_same(event.get("threadId"), asked["threadId"], "thread")
                require_same(event.get("runId"), asked["runId"], "run")
            yield event

    def _read(self, events: Iterator[JsonObject]) -> tuple[str, Sequence[ToolCall]]:
        """Read the events of a run, keep its state and messages, and return its text and the tool calls to make."""
        run = _Run()
        snapshot: list[JsonObject] | None = None
        for event in events:
            kind = event["type"]
            if kind == "RUN_ERROR":
                raise reported_error_fault(event)
            if kind == "STATE_SNAPSHOT":
                self._state = event.get("snapshot")
            elif kind == "MESSAGES_SNAPSHOT":
                snapshot = members_of(event, "messages", "an event")
            elif kind in self._THOUGHTS:
                run.thought += text_of(event, "delta", "an event")
            elif kind == "RUN_FINISHED":
                outcome = event.get("outcome") or "success"
                state = outcome.get("type") if isinstance(outcome, Mapping) else outcome
                require_complete(state, ("success", "interrupt"), "the outcome of the run", event.get("message"))
                if run.thought.strip():
                    self._session.think(run.thought)
                self._exchange.own_calls.append(run.own_calls())
                self._messages = [*self._messages, *run.messages()] if snapshot is None else snapshot
                usage = event.get("usage")
                entries = [usage_of(entry) for entry in usage] if isinstance(usage, list) else []
                self._spent.append(summed(entries))
                return run.text(event), run.calls()
            else:
                run.take(kind, event)
        raise ServiceFault("its stream ended before the run did: no RUN_FINISHED came")


class _Run:
    """The texts, thoughts and calls of one AG-UI run, assembled from its events."""

    def __init__(self) -> None:
        self.thought = ""
        self._texts: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        self._arguments: dict[str, str] = {}
        self._results: dict[str, JsonObject] = {}
        self._open = ""

    def take(self, kind: str, event: JsonObject) -> None:
        """Add an event of a message or a tool call to the run; ignore any other event."""
        group = next((name for name in ("TEXT_MESSAGE", "TOOL_CALL") if kind.startswith(f"{name}_")), "")
        if kind == "TOOL_CALL_RESULT":
            self._results[part_of(event, "toolCallId", str, f"the event {kind}")] = event
        elif group and kind.endswith(("_START", "_CONTENT", "_ARGS", "_CHUNK")):
            self._grow(kind, event, "messageId" if group == "TEXT_MESSAGE" else "toolCallId")

    def _grow(self, kind: str, event: JsonObject, key: str) -> None:
        """Start or extend a text or a call's arguments. Raises ServiceFault for an event that continues nothing."""
        place = f"the event {kind}"
        if not kind.endswith("_CHUNK") or event.get(key):
            self._open = part_of(event, key, str, place)
        is_new = kind.endswith("_CHUNK") and self._open not in {**self._texts, **self._tools}
        opens = kind.endswith("_START") or is_new
        if opens and key == "messageId":
            self._texts[self._open] = ""
        elif opens:
            self._tools[self._open], self._arguments[self._open] = part_of(event, "toolCallName", str, place), ""
        delta = "" if kind.endswith("_START") else text_of(event, "delta", place)
        if key == "messageId" and self._open in self._texts:
            self._texts[self._open] += delta
        elif key == "toolCallId" and self._open in self._tools:
            self._arguments[self._open] += delta
        else:
            raise ServiceFault(f"{place} goes on with {self._open!r:.80}, which was not started")

    def text(self, finished: JsonObject) -> str:
        """Return the text for the user: all texts of the run, else the messages of its interrupts."""
        outcome = finished.get("outcome")
        interrupts = outcome.get("interrupts") if isinstance(outcome, Mapping) else None
        texts = [text for text in self._texts.values() if text]
        return "\n\n".join(texts) or texts_of(interrupts, "message")

    def calls(self) -> list[ToolCall]:
        """Return the tool calls that have no result yet: the calls that this process must make."""
        return [call for call in self._calls() if call.id not in self._results]

    def own_calls(self) -> list[ReportedCall]:
        """Return the calls of the service's own tools, with their results."""
        answered = (call for call in self._calls() if call.id in self._results)
        return [own_call(call, self._results[call.id].get("content")) for call in answered]

    def _calls(self) -> list[ToolCall]:
        """Return all tool calls of the run."""
        return [tool_call(key, name, self._arguments[key]) for key, name in self._tools.items()]

    def messages(self) -> list[JsonObject]:
        """Return the messages that the run adds to the dialogue."""
        text = "\n\n".join(text for text in self._texts.values() if text)
        assistant: JsonObject = {"id": next(iter(self._texts), str(uuid4())), "role": "assistant", "content": text}
        if self._tools:
            assistant["toolCalls"] = list(map(function_call, self._calls()))
        results = [
            {
                "id": result.get("messageId") or str(uuid4()),
                "role": "tool",
                "toolCallId": key,
                "content": result.get("content", ""),
            }
            for key, result in self._results.items()
        ]
        return [assistant, *results]


class A2AForm(WireForm):
    """Agent2Agent over JSON-RPC: version 1.0, or version 0.3 if a service does not support 1.0."""

    _METHODS: ClassVar[Mapping[str, tuple[str, str]]] = {
        "1.0": ("SendMessage", "GetTask"),
        "0.3": ("message/send", "tasks/get"),
    }
    #: No such method; this version is not supported.
    _OLD = (-32601, -32009)
    #: What a service says of a request that it cannot read: it is not the agent that fails.
    _UNREADABLE = (-32700, -32600, -32601, -32602, -32009)
    _AT_WORK = ("submitted", "working")
    #: A question: the user's answer goes to the same task.
    _ASKS = "input-required"
    #: Between two looks at a task that is at work, seconds.
    _PAUSE = 0.5

    def __init__(self, exchange: FormExchange) -> None:
        super().__init__(exchange)
        self._version = "1.0"
        self._ids: dict[str, str] = {}
        self._begun = False

    def reply(self, message: str) -> Reply:
        """Return the reply to a message; see ``WireForm.reply``."""
        if not self._begun:
            self._begun, message = True, with_earlier(message, self._exchange.session)
        error, result = self._send(message)
        if error and error.get("code") in self._OLD and self._version == "1.0":
            self._version = "0.3"  # refused before anything was done
            error, result = self._send(message)
        while not error and (task := self._task(result)) and self._state(task) in self._AT_WORK:
            self._exchange.pause(self._PAUSE)
            asked = part_of(task, "id", str, "a task")
            error, result = self._rpc(1, {"id": asked})
            require_same((self._task(result) or {}).get("id"), asked, "task")
        if error:
            raise self._refused(error)
        return self._read(result)

    def _send(self, message: str) -> tuple[JsonObject, JsonObject]:
        """Send a message in the current version of the protocol; return the error and the result, of which one is empty."""
        old = self._version == "0.3"
        outgoing: JsonObject = {
            "messageId": str(uuid4()),
            "role": "user" if old else "ROLE_USER",
            "parts": [{"kind": "text", "text": message} if old else {"text": message}],
            "metadata": {
                "context": filled_fields(self._exchange.context()),
                "session": self._exchange.values["session"],
            },
            **self._ids,
        }
        if old:
            outgoing["kind"] = "message"
        params = {"message": outgoing, "configuration": {"blocking": True} if old else {}}
        return self._rpc(0, self._extended(params, message))

    def _rpc(self, method: int, params: JsonObject) -> tuple[JsonObject, JsonObject]:
        """Make a JSON-RPC call and return the error and the result, of which one is empty. Raises ServiceFault."""
        name = self._METHODS[self._version][method]
        request: JsonObject = {"jsonrpc": "2.0", "id": str(uuid4()), "method": name, "params": params}
        answer = self._exchange.post(request, {"A2A-Version": self._version})
        if answer.events is not None:
            raise ServiceFault(f"it answers {name} with a stream of events; expected one JSON answer")
        if isinstance(answer.data, Mapping):
            require_same(answer.data.get("id"), request["id"], "request")
            if answer.data.get("error"):
                return part_of(answer.data, "error", dict), {}
        return {}, part_of(answer.data, "result", dict)

    def _refused(self, error: JsonObject) -> ServiceFault:
        """Return the fault for an error. The agent is to blame unless the service could not read the request."""
        if error.get("code") in self._UNREADABLE:
            return ServiceFault(f"it refuses the request: {shown(error.get('message'))} ({error.get('code')})")
        return reported_error_fault(error)

    @staticmethod
    def _task(result: JsonObject) -> JsonObject | None:
        """Return the task in a result; None if the result is a message."""
        task = result.get("task", result)
        return task if isinstance(task, dict) and "status" in task else None

    @staticmethod
    def _state(task: JsonObject) -> str:
        """Return the state of a task in one spelling. Raises ServiceFault if it has no state."""
        state: str = part_of(part_of(task, "status", dict, "a task"), "state", str, "the status of a task")
        return state_name(state)

    def _read(self, result: JsonObject) -> Reply:
        """Return the reply in a message or a task, and keep the ids for the next message. Raises ServiceFault."""
        task = self._task(result)
        message = result.get("message", result) if task is None else task
        state = "" if task is None else self._state(task)
        parts = part_of(message, "parts", list, "a message") if task is None else self._parts(task, state)
        if task is not None:
            require_complete(state, ("completed", self._ASKS), "the state of the task", texts_of(parts))
        context, key = message.get("contextId"), message.get("taskId" if task is None else "id")
        require_same(context, self._ids.get("contextId"), "context")
        require_same(key, self._ids.get("taskId"), "task")
        ids = {"contextId": context or self._ids.get("contextId"), "taskId": key if state == self._ASKS else None}
        self._ids = {key: value for key, value in ids.items() if isinstance(value, str)}
        objects = (part.get("data") for part in parts if isinstance(part, dict))
        data = next((value for value in objects if isinstance(value, dict)), None)
        return Reply(texts_of(parts) or (json.dumps(data, ensure_ascii=False) if data else ""), output=data)

    @staticmethod
    def _parts(task: JsonObject, state: str) -> list[JsonObject]:
        """Return the parts of a completed task's artifacts, else of its status message; the reverse order for other tasks."""
        artifacts = members_of(task, "artifacts", "a task")
        results = [part for artifact in artifacts for part in members_of(artifact, "parts", "an artifact")]
        status = members_of(task["status"].get("message") or {}, "parts", "a message")
        return (results or status) if state == "completed" else (status or results)


FORMS: Mapping[str, type[WireForm]] = {
    "json": JsonForm,
    "openai-chat": ChatForm,
    "openai-responses": ResponsesForm,
    "a2a": A2AForm,
    "ag-ui": AgUiForm,
}
