"""Agents that are a model of ours to run: ``react:MODEL`` takes a step at a time, ``plan:MODEL`` makes a plan first.

The steps of their replies, in which tools are called, are those of services whose answers hold calls as well (``wire_forms.py``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pytest_mapsat.llm import Answer, ModelClient, ModelError, Request, ToolCall, named_model, prompt
from pytest_mapsat.model import InfrastructureError, Json, JsonObject, UsageError, mismatches, total_usage
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox

from .returned import AgentFault
from .source import Conversation, ModelKind, Session, SourceElsewhere, SourceSpec, declared, filled_fields, trial_of

#: The prompts of each kind, for the manifest.
AGENT_PROMPTS: dict[ModelKind, tuple[str, ...]] = {
    "react": ("react", "answer_now", "output"),
    "plan": ("react", "plan", "understood", "carry_out", "answer_now", "output"),
}
#: Calls of the model for one reply, and how often the same call of a tool is made in an episode.
MOST_STEPS = 20
MOST_EQUAL_CALLS = 3
#: What a case may ask for that is known before the first step: what the user wants, and how it is to be found out.
_BEFORE = ("intent", "constraints", "plan")
#: What of the context stands elsewhere in what the model reads.
_ELSEWHERE = ("instructions", "output_schema", "locale")
#: What is shown of arguments that are not a JSON object, characters.
_SHOWN = 200


class ToolSteps:
    """A reply in steps: a model or a service calls tools and reads their results until it answers in words."""

    _toolbox: Toolbox
    _session: Session
    _messages: list[JsonObject]

    def take_steps(self, most: int) -> str | None:
        """Take up to ``most`` steps and return the first text without calls; None if every step had calls."""
        for _ in range(most):
            text, calls = self._step()
            if not calls:
                return text
            if text.strip():
                self._session.think(text)
            for call in calls:
                self._take_result(call, json.dumps(self._result_of(call), ensure_ascii=False))
        return None

    def _step(self) -> tuple[str, Sequence[ToolCall]]:
        """Ask for the next step, and return its text and its tool calls."""
        raise NotImplementedError

    def _take_result(self, call: ToolCall, result: str) -> None:
        """Keep the result of a call for the next step: by default in the messages, in OpenAI's form."""
        self._messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def _result_of(self, call: ToolCall) -> Json:
        """Make a call and return its result; return an error if the arguments are not a JSON object."""
        if call.arguments is None:
            shown = call.text[:_SHOWN]
            self._session.think(f"{call.name} was to be called with arguments that are not a JSON object: {shown}")
            message = "the arguments are not a JSON object; give one, as the tool's schema says"
            return {"status": "error", "message": message}
        return self._toolbox.call(call.name, call.arguments)


def function_call(call: ToolCall) -> JsonObject:
    """Return a tool call in the form of a message; arguments that are not a JSON object become an empty object."""
    arguments = "{}" if call.arguments is None else call.text
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class ModelConversation(ToolSteps, Conversation):
    """One episode with a model: the messages, its calls and their results."""

    _source: ModelSource

    def __init__(self, *handed: Any) -> None:
        super().__init__(*handed)
        self._messages: list[JsonObject] = []
        self._made: Counter[str] = Counter()
        self._taken: list[JsonObject] = []
        self._spent: list[Answer] = []
        self._language = "en"

    def reply(self, message: str) -> Reply:
        """Return the model's answer to the user; see ``Conversation.reply``."""
        try:
            return self._replied(message)
        except ModelError as error:
            if error.blame == "agent":
                raise AgentFault(str(error)) from None
            raise InfrastructureError(str(error)) from None

    def _replied(self, message: str) -> Reply:
        """Return the model's reply, after its plan, its steps and its structured output. Raises ModelError."""
        context = self._context()
        self._language = context.locale or "en"
        self._spent = []
        if not self._messages:
            self._messages += [_said("system", self._system()), *self._session.earlier]
        self._messages.append(_said("user", message))
        output: JsonObject = {}
        if self._source.name == "plan":
            output = self._plan(_part(context.output_schema, _BEFORE))
        text = self._answer()
        if text.strip():
            output = self._output(context.output_schema, output)
        usage = total_usage(answer.usage for answer in self._spent).model_dump(exclude_none=True)
        return Reply(text, usage=usage, output=output or None)

    def _system(self) -> str:
        """Return the system prompt: the built-in prompt with the context filled in, then the case's instructions."""
        context = self._context()
        shared_context = {name: value for name, value in filled_fields(context).items() if name not in _ELSEWHERE}
        text = prompt("react", self._language).fill(context=json.dumps(shared_context, ensure_ascii=False, indent=1))
        return f"{text}\n\n{context.instructions}" if context.instructions else text

    def _plan(self, schema: JsonObject) -> JsonObject:
        """Have the model write a plan, keep it as a thought and in the messages, and return the plan's data."""
        tools = "\n".join(f"- {tool['name']}: {tool['description']}" for tool in declared(self._toolbox))
        asked = _said("user", prompt("plan", self._language).fill(tools=tools))
        plan = self._ask([*self._messages, asked]).text
        self._session.think(plan)
        self._messages += [asked, _said("assistant", plan)]
        data = self._data("understood", schema)
        self._messages.append(_said("user", prompt("carry_out", self._language).text))
        return data

    def _answer(self) -> str:
        """Take steps until the model answers in words, and return the answer. Raises AgentFault if there is no answer."""
        text = self.take_steps(MOST_STEPS)
        if text is not None:
            return text
        now = _said("user", prompt("answer_now", self._language).text)
        answer = self._ask([*self._messages, now], self._toolbox.schemas())
        if answer.tool_calls:
            raise AgentFault(f"the model went on calling tools after {MOST_STEPS} steps in one reply")
        self._messages += [now, _said("assistant", answer.text)]
        return answer.text

    def _step(self) -> tuple[str, Sequence[ToolCall]]:
        """Ask the model, add its answer to the messages, and return its text and its tool calls."""
        answer = self._ask(self._messages, self._toolbox.schemas())
        message = _said("assistant", answer.text)
        if answer.tool_calls:
            message |= {"content": answer.text or None, "tool_calls": list(map(function_call, answer.tool_calls))}
        self._messages.append(message)
        return answer.text, answer.tool_calls

    def _result_of(self, call: ToolCall) -> Json:
        """Make a call and return its result; refuse a call that was made three times already."""
        if call.arguments is not None:
            key = json.dumps([call.name, call.arguments], sort_keys=True)
            self._made[key] += 1
            if self._made[key] > MOST_EQUAL_CALLS:
                self._session.think(f"{call.name} was to be called with the same arguments once more, and was not")
                refusal = f"this call was made {MOST_EQUAL_CALLS} times already and is not made again; go on with what you know"
                return {"status": "error", "message": refusal}
            schemas = {tool["name"]: tool["parameters"] for tool in declared(self._toolbox)}
            properties = schemas.get(call.name, {}).get("properties", {})
            in_full = {name: schema.get("default") for name, schema in properties.items()} | call.arguments
            self._taken.append({"tool": call.name, "arguments": in_full})
        return super()._result_of(call)

    def _output(self, schema: JsonObject, output: JsonObject) -> JsonObject:
        """Return the data that the case asks for: known members are kept, the model supplies the rest."""
        properties = schema.get("properties", {})
        plan = properties.get("plan")
        if self._source.name == "react" and plan is not None and not any(mismatches(plan, self._taken)):
            # Who decides from step to step has planned what it did.
            output = {**output, "plan": list(self._taken)}
        rest = _part(schema, properties.keys() - output.keys()) if output else schema
        return output | self._data("output", rest)

    def _data(self, name: str, schema: JsonObject) -> JsonObject:
        """Ask the model for data that fit a schema; empty if the schema is empty or the answer cannot be read."""
        if not schema:
            return {}
        asked = _said("user", prompt(name, self._language).text)
        try:
            return self._ask([*self._messages, asked], schema=schema).data or {}
        except ModelError as error:
            if error.kind != "malformed":
                raise
            self._session.think(f"the structured answer could not be read: {error}")
            return {}

    def _ask(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject] = (), schema: JsonObject | None = None
    ) -> Answer:
        """Send messages to the model, with tools or a schema, count the usage, and return the answer."""
        source = self._source
        request = Request(
            model=source.model,
            messages=tuple(messages),
            tools=tuple(tools),
            schema_=schema,
            parameters=source.parameters,
            trial=trial_of(self._session),
            purpose="agent",
        )
        answer = source.client.ask(request, cancelled=self._cancelled)
        self._spent.append(answer)
        return answer


@dataclass(frozen=True)
class ModelSource(SourceElsewhere):
    """A model that plays the agent with our prompts.

    Attributes:
        name: which of the two it is.
        spec: as the user wrote it.
        model: its name as litellm knows it.
        parameters: sampling parameters.
        client: the way to it.
    """

    conversation = ModelConversation
    name: ModelKind
    spec: str
    model: str
    parameters: JsonObject
    client: ModelClient


def open_source(spec: SourceSpec) -> ModelSource:
    """Return the source that ``react:MODEL`` or ``plan:MODEL`` names.

    Raises:
        UsageError: it names no model, or there is no way to models here.
    """
    model, parameters = named_model(spec.rest, f"--mapsat-agent={spec.text}")
    if spec.client is None:
        raise UsageError(f"agent {spec.text!r}: models are asked in a run only, with --mapsat-agent")
    return ModelSource(cast("ModelKind", spec.scheme), spec.text, model, parameters, spec.client)


def _part(schema: JsonObject, names: Collection[str]) -> JsonObject:
    """Return the part of an output schema that describes some members; empty if the schema has no such member."""
    properties = {name: member for name, member in schema.get("properties", {}).items() if name in names}
    required = [name for name in schema.get("required", ()) if name in properties]
    return {**schema, "properties": properties, "required": required} if properties else {}


def _said(role: str, text: str) -> JsonObject:
    """Return a chat message with a role and a text."""
    return {"role": role, "content": text}
