"""Protocols that agents speak to those who use them: AG-UI, in which our tools are those of the frontend, and Agent2Agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar
from uuid import uuid4

from pytest_mapsat.llm import summed, usage_of
from pytest_mapsat.model import Json, JsonObject, ReportedCall, shown
from pytest_mapsat.reply import Reply

from .source import with_earlier
from .wire_forms import (
    Call,
    Exchange,
    ServiceFault,
    Step,
    ToolForm,
    WireForm,
    filled_fields,
    function_call,
    members_of,
    part_of,
    require_complete,
    require_same,
    state_name,
    text_of,
    texts_of,
    told_error,
)


class AgUiForm(ToolForm):
    """AG-UI: our tools are those of the frontend; their results come with a further run."""

    _THOUGHTS = ("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._messages: list[JsonObject] = []
        self._state: Json = {}

    def _hear(self, message: str) -> None:
        earlier = [] if self._messages else self._exchange.session.earlier
        told = [*earlier, {"role": "user", "content": message}]
        self._messages += [{"id": str(uuid4()), **turn} for turn in told]

    def _answer(self, call: Call, result: str) -> None:
        self._messages.append({"id": str(uuid4()), "role": "tool", "toolCallId": call.id, "content": result})

    def _ask(self, tools: list[JsonObject], message: str) -> Step:
        context = [
            {"description": key, "value": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}
            for key, value in filled_fields(self._exchange.context()).items()
        ]
        body: JsonObject = {
            "threadId": self._exchange.values["session"],
            "runId": str(uuid4()),
            "state": self._state,
            "messages": self._messages,
            "tools": tools,
            "context": context,
            "forwardedProps": {},
        }
        body = self._extended(body, message)
        answer = self._exchange.post(body, {"Accept": "text/event-stream"})
        if answer.events is None:
            raise ServiceFault("expected a stream of events (text/event-stream), found one answer")
        return self._read(self._of_run(answer.events, body))

    @staticmethod
    def _of_run(events: Iterator[JsonObject], asked: JsonObject) -> Iterator[JsonObject]:
        """Yield the events of the run that was asked for. Raises ServiceFault for those of another one."""
        for event in events:
            if part_of(event, "type", str, "an event") in ("RUN_STARTED", "RUN_FINISHED"):
                require_same(event.get("threadId"), asked["threadId"], "thread")
                require_same(event.get("runId"), asked["runId"], "run")
            yield event

    def _read(self, events: Iterator[JsonObject]) -> Step:
        run = _Run()
        snapshot: list[JsonObject] | None = None
        for event in events:
            kind = event["type"]
            if kind == "RUN_ERROR":
                raise told_error(event)
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
                    self._exchange.session.think(run.thought)
                self._exchange.own_calls.append(run.own_calls())
                self._messages = [*self._messages, *run.messages()] if snapshot is None else snapshot
                usage = event.get("usage")
                entries = [usage_of(entry) for entry in usage] if isinstance(usage, list) else []
                return Step(run.text(event), run.calls(), summed(entries) if entries else {})
            else:
                run.take(kind, event)
        raise ServiceFault("its stream ended before the run did: no RUN_FINISHED came")


class _Run:
    """The texts, thoughts and calls that the events of one run of AG-UI add up to."""

    def __init__(self) -> None:
        self.thought = ""
        self._texts: dict[str, str] = {}
        self._made: dict[str, Call] = {}
        self._results: dict[str, JsonObject] = {}
        self._open = ""

    def take(self, kind: str, event: JsonObject) -> None:
        """Take an event of a message or a tool call; other events add nothing to a reply."""
        group = next((name for name in ("TEXT_MESSAGE", "TOOL_CALL") if kind.startswith(f"{name}_")), "")
        if kind == "TOOL_CALL_RESULT":
            self._results[part_of(event, "toolCallId", str, f"the event {kind}")] = event
        elif group and kind.endswith(("_START", "_CONTENT", "_ARGS", "_CHUNK")):
            self._grow(kind, event, "messageId" if group == "TEXT_MESSAGE" else "toolCallId")

    def _grow(self, kind: str, event: JsonObject, key: str) -> None:
        place = f"the event {kind}"
        if not kind.endswith("_CHUNK") or event.get(key):
            self._open = part_of(event, key, str, place)
        opens = kind.endswith("_START") or (kind.endswith("_CHUNK") and self._open not in {**self._texts, **self._made})
        if opens and key == "messageId":
            self._texts[self._open] = ""
        elif opens:
            self._made[self._open] = Call(self._open, part_of(event, "toolCallName", str, place), "")
        delta = "" if kind.endswith("_START") else text_of(event, "delta", place)
        if key == "messageId" and self._open in self._texts:
            self._texts[self._open] += delta
        elif key == "toolCallId" and self._open in self._made:
            call = self._made[self._open]
            self._made[self._open] = call._replace(arguments=f"{call.arguments}{delta}")
        else:
            raise ServiceFault(f"{place} goes on with {self._open!r:.80}, which was not started")

    def text(self, finished: JsonObject) -> str:
        """Return what the user reads: all texts of the run, else the messages of its interrupts."""
        outcome = finished.get("outcome")
        interrupts = outcome.get("interrupts") if isinstance(outcome, Mapping) else None
        texts = [text for text in self._texts.values() if text]
        return "\n\n".join(texts) or texts_of(interrupts, "message")

    def calls(self) -> list[Call]:
        """Return the calls that wait for a result: tools of the service's own have theirs already."""
        return [call for key, call in self._made.items() if key not in self._results]

    def own_calls(self) -> list[ReportedCall]:
        """Return the calls of tools of the service's own, with their results."""
        return [
            call.reported(self._results[key].get("content")) for key, call in self._made.items() if key in self._results
        ]

    def messages(self) -> list[JsonObject]:
        """Return the messages that the run adds to the dialogue."""
        text = "\n\n".join(text for text in self._texts.values() if text)
        assistant: JsonObject = {"id": next(iter(self._texts), str(uuid4())), "role": "assistant", "content": text}
        if self._made:
            assistant["toolCalls"] = [function_call(call) for call in self._made.values()]
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
    """Agent2Agent over JSON-RPC: version 1.0, and 0.3 where a service does not know that."""

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

    def __init__(self, exchange: Exchange) -> None:
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
        """Return the error and the result of a call, of which one is empty."""
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
        if error.get("code") in self._UNREADABLE:
            return ServiceFault(f"it refuses the request: {shown(error.get('message'))} ({error.get('code')})")
        return told_error(error)

    @staticmethod
    def _task(result: JsonObject) -> JsonObject | None:
        task = result.get("task", result)
        return task if isinstance(task, dict) and "status" in task else None

    @staticmethod
    def _state(task: JsonObject) -> str:
        state: str = part_of(part_of(task, "status", dict, "a task"), "state", str, "the status of a task")
        return state_name(state)

    def _read(self, result: JsonObject) -> Reply:
        """Return the reply in a message, or in a task that does not work on, and keep what the next message goes on from."""
        task = self._task(result)
        message = result.get("message", result) if task is None else task
        state = "" if task is None else self._state(task)
        parts = part_of(message, "parts", list, "a message") if task is None else self._parts(task, state)
        if task is not None:
            require_complete(state, ("completed", self._ASKS), "the state of the task", texts_of(parts))
        context, key = message.get("contextId"), message.get("taskId" if task is None else "id")
        require_same(context, self._ids.get("contextId"), "context")
        require_same(key, self._ids.get("taskId"), "task")
        ids = {
            "contextId": context or self._ids.get("contextId"),
            "taskId": key if state == self._ASKS else None,
        }
        self._ids = {key: value for key, value in ids.items() if isinstance(value, str)}
        objects = (part.get("data") for part in parts if isinstance(part, dict))
        data = next((value for value in objects if isinstance(value, dict)), None)
        return Reply(texts_of(parts) or (json.dumps(data, ensure_ascii=False) if data else ""), output=data)

    @staticmethod
    def _parts(task: JsonObject, state: str) -> list[JsonObject]:
        """Return the parts of a task's result: its artifacts, else the message of its status; the message first where the task is not completed."""
        artifacts = members_of(task, "artifacts", "a task")
        results = [part for artifact in artifacts for part in members_of(artifact, "parts", "an artifact")]
        status = members_of(task["status"].get("message") or {}, "parts", "a message")
        return (results or status) if state == "completed" else (status or results)
