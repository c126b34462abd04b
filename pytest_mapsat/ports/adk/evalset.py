"""Evalsets of the Agent Development Kit (ADK) as typed values: those of today, and the lists of queries that came before them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pytest_mapsat.model import Json, JsonObject

_CAPITAL = re.compile("[A-Z]")


class _Part(BaseModel):
    """Part of an evalset: names in either spelling, what is not used here is passed over, null counts as not given."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _in_one_spelling(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        named = {_CAPITAL.sub(lambda match: f"_{match[0].lower()}", str(name)): value for name, value in data.items()}
        return {name: value for name, value in named.items() if value is not None}


class ToolCall(_Part):
    """A call that is expected."""

    name: str
    args: JsonObject = Field(default_factory=dict)
    id: str = ""


class ToolResponse(_Part):
    """What a tool answers."""

    name: str = ""
    response: Json = None
    id: str = ""


class ContentPart(_Part):
    """A part of a content: a text, a call or an answer."""

    text: str = ""
    function_call: ToolCall | None = None
    function_response: ToolResponse | None = None
    thought: bool = False


class Content(_Part):
    """What the user or the model says."""

    parts: tuple[ContentPart, ...] = ()

    @property
    def text(self) -> str:
        """Its words, without thoughts."""
        return "\n".join(part.text for part in self.parts if part.text and not part.thought).strip()


class _Event(_Part):
    content: Content = Content()


class _Between(_Part):
    tool_uses: tuple[ToolCall, ...] = ()
    tool_responses: tuple[ToolResponse, ...] = ()
    invocation_events: tuple[_Event, ...] = ()


class _RubricContent(_Part):
    text_property: str = ""


class Rubric(_Part):
    """A property that a model looks for."""

    rubric_id: str = ""
    rubric_content: _RubricContent = _RubricContent()


class Invocation(_Part):
    """One turn: the user's words, what is expected in between, and the reference of the reply."""

    user_content: Content
    final_response: Content = Content()
    intermediate_data: _Between = _Between()
    rubrics: tuple[Rubric, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that are expected, in their order."""
        events = [part.function_call for part in self._parts() if part.function_call is not None]
        return (*self.intermediate_data.tool_uses, *events)

    @property
    def responses(self) -> tuple[ToolResponse, ...]:
        """What tools answered, in their order."""
        events = [part.function_response for part in self._parts() if part.function_response is not None]
        return (*self.intermediate_data.tool_responses, *events)

    def _parts(self) -> Iterator[ContentPart]:
        return (part for event in self.intermediate_data.invocation_events for part in event.content.parts)


class SessionInput(_Part):
    """What the session begins with."""

    user_id: str = ""
    state: JsonObject = Field(default_factory=dict)


class Scenario(_Part):
    """A conversation that a model of the user carries on."""

    starting_prompt: str
    conversation_plan: str = ""


class EvalCase(_Part):
    """One case."""

    eval_id: str
    conversation: tuple[Invocation, ...] = ()
    conversation_scenario: Scenario | None = None
    session_input: SessionInput = SessionInput()
    final_session_state: JsonObject = Field(default_factory=dict)
    rubrics: tuple[Rubric, ...] = ()


def raw_cases(data: Json) -> list[JsonObject] | None:
    """Return the cases of a file, in the form of today; None where it is no evalset."""
    if isinstance(data, dict):
        listed = next((data[name] for name in ("eval_cases", "evalCases") if isinstance(data.get(name), list)), None)
        return None if listed is None else [case for case in listed if isinstance(case, dict)]
    if not isinstance(data, list) or not data or not all(isinstance(member, dict) for member in data):
        return None
    if all("query" in member for member in data):
        return [_of_queries("conversation", data, {})]
    if all(isinstance(member.get("data"), list) for member in data):
        return [_of_queries(str(member.get("name", "case")), member["data"], member) for member in data]
    return None


def _of_queries(name: str, queries: list[Json], around: JsonObject) -> JsonObject:
    """Return a case in the form of today of a list of queries, each with expected calls and a reference."""
    conversation = []
    for query in queries:
        query = query if isinstance(query, dict) else {}  # noqa: PLW2901  what is no query has no words, and is told so
        listed = query.get("expected_tool_use")
        uses = [use for use in listed if isinstance(use, dict)] if isinstance(listed, list) else []
        between = {
            "tool_uses": [{"name": use.get("tool_name"), "args": use.get("tool_input")} for use in uses],
            "tool_responses": [
                {"name": use.get("tool_name"), "response": use["mock_tool_output"]}
                for use in uses
                if "mock_tool_output" in use
            ],
        }
        conversation.append(
            {
                "user_content": _said(query.get("query")),
                "final_response": _said(query.get("reference")),
                "intermediate_data": between,
            }
        )
    session = around.get("initial_session")
    return {
        "eval_id": name,
        "conversation": conversation,
        "session_input": session if isinstance(session, dict) else {},
    }


def _said(text: Json) -> JsonObject:
    return {"parts": [{"text": text}]}
