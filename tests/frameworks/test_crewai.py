import json
import os
import time
from functools import partial
from typing import Any

import pytest
from scenarios import DECLINED, Scenarios, Seen, find, mind, source_of, weather

from pytest_mapsat.model import UsageError

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}
pytest.importorskip("crewai", reason="crewai is not installed; python tests/frameworks installs and tests it")

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool
from pydantic import BaseModel


class Place(BaseModel):
    place: str
    stars: int


class Mind(BaseLLM):
    model: str = "mind"
    slow: bool = False
    structured: bool = False
    first_call: Any = None
    #: Whether the calls are the provider's own, several at once, and not lines of text.
    native: bool = False
    heard: Any = None

    def supports_function_calling(self):
        return self.native

    def call(self, messages, *given, **more):
        time.sleep(3 if self.slow else 0.01)
        step = mind(Seen(list(said(messages))), structured=self.structured)
        self._track_token_usage_internal({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
        if self.heard is not None:
            self.heard.append(messages)
        if step.calls and self.native:
            return [
                {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for number, (name, arguments) in enumerate(step.calls)
            ]
        if step.calls and self.first_call:
            step.calls = [self.first_call]
        if step.calls:
            [(name, arguments)] = step.calls[:1]
            return f"Thought: {step.thought}\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        return f"Thought: I know.\nFinal Answer: {json.dumps(step.data) if step.data else step.say}"

    async def acall(self, messages, *given, **more):
        import asyncio

        return await asyncio.to_thread(self.call, messages)


def said(messages):
    """Yield who said what; the framework puts the request, and results, into prompts of its own."""
    for message in messages:
        text = "" if message["role"] == "system" else message["content"] or ""
        if "Current Task: " in text:
            task = text.split("Current Task: ")[1].split("\n")[0]
            yield from [("user", task), *[("user", DECLINED)] * (DECLINED in text)]
        elif message["role"] == "user":
            yield "user", text
        elif message["role"] == "tool":
            yield "tool", text
        if "Observation: " in text:
            yield "tool", text.split("Observation: ")[-1]


def own_tool(function):
    def run(query: str) -> str:
        return function(query)

    run.__doc__ = function.__doc__
    return tool(function.__name__)(run)


class TestCrewAI(Scenarios):
    name = "crewai"
    approves = False

    def model(self):
        return Mind(model="mind")

    def agent(self, *, output=False, tools=None, slow=False, role="guide", more=None, **options):
        own = [own_tool(find), own_tool(weather)] if tools is None else tools
        persona = {"role": role, "goal": "help", "backstory": "knows places"}
        agent = Agent(
            **persona, llm=Mind(model="mind", slow=slow, structured=output, **more or {}), tools=own, **options
        )
        return self.crew(agent, output_pydantic=Place) if output else agent

    def crew(self, agent, *others, stream=False, description="{message}", **options):
        task = Task(description=description, expected_output="a place", agent=agent, **options)
        return Crew(agents=[agent, *others], tasks=[task], stream=stream)

    def handing_over(self):
        given = {"task": "Find a cafe", "context": "none", "coworker": "finder"}
        model = {"first_call": ("delegate_work_to_coworker", given)}
        desk = self.agent(role="desk", tools=[], allow_delegation=True, more=model)
        return self.crew(desk, self.agent(role="finder"))

    def with_context(self, seen):
        return self.crew(self.agent(more={"heard": seen}), description="{message}\nThe city is {city}.")

    def guarded(self):
        declined = []

        def polite(output):
            declined.append(output)
            return (True, output.raw) if len(declined) > 1 else (False, DECLINED)

        return self.crew(self.agent(), guardrail=polite)

    def streaming(self):
        return self.crew(self.agent(), stream=True)

    def delegating(self):
        self.agent = partial(self.agent, more={"native": True})
        return super().delegating()

    def test_parallel_calls_of_one_turn_are_answered_in_their_order(self):
        self.agent = partial(self.agent, more={"native": True})
        super().test_parallel_calls_of_one_turn_are_answered_in_their_order()

    def as_tool(self, function):
        return own_tool(function)

    def ask(self, agent, message):
        return agent.kickoff(message).raw

    def test_a_crew_is_played_too(self):
        self.played(self.crew(self.agent()))

    def test_a_crew_whose_tasks_do_not_take_the_message_is_refused(self):
        agent = self.agent()
        crew = Crew(agents=[agent], tasks=[Task(description="Rest.", expected_output="rest", agent=agent)])
        with pytest.raises(UsageError, match=r"no task of the crew has \{message\}"):
            source_of(crew, "mymod:crew")
