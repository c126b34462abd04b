import json
import os
import time

import pytest
from scenarios import Scenarios, Seen, find, mind, source_of, weather

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

    def supports_function_calling(self):
        return False

    def call(self, messages, *given, **more):
        time.sleep(3 if self.slow else 0.01)
        self._track_token_usage_internal({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
        step = mind(Seen(list(said(messages))), structured=self.structured)
        if step.call:
            return f"Thought: {step.thought}\nAction: {step.call[0]}\nAction Input: {json.dumps(step.call[1])}"
        return f"Thought: I know.\nFinal Answer: {json.dumps(step.data) if step.data else step.say}"

    async def acall(self, messages, *given, **more):
        import asyncio

        return await asyncio.to_thread(self.call, messages)


def said(messages):
    """Yield who said what; the framework puts the request, and results, into prompts of its own."""
    for message in messages:
        text = "" if message["role"] == "system" else message["content"]
        if "Current Task: " in text:
            task = text.split("Current Task: ")[1].split("\n")[0]
            yield "user", task
        elif message["role"] == "user":
            yield "user", text
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

    def agent(self, *, output=False, tools=None, slow=False):
        own = [own_tool(find), own_tool(weather)] if tools is None else tools
        persona = {"role": "guide", "goal": "help", "backstory": "knows places"}
        agent = Agent(**persona, llm=Mind(model="mind", slow=slow, structured=output), tools=own)
        return self.crew(agent, output_pydantic=Place) if output else agent

    def crew(self, agent, **options):
        task = Task(description="{message}", expected_output="a place", agent=agent, **options)
        return Crew(agents=[agent], tasks=[task])

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
