"""An agent of the OpenAI Agents SDK, made anew for each case; its own function is never run, the suite answers the call.

``pytest benchmark_cases/realtime/next-bus.yaml --mapsat-agent=examples.frameworks.openai_agent:make``
"""

from __future__ import annotations

from typing import Any

from agents import Agent, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call


@function_tool
def get_transit_lines(city: str, origin: str, destination: str) -> dict[str, Any]:
    """Find the lines between two places of a city, with their next departures."""
    raise RuntimeError(f"a test never asks the timetable of {city} for {origin} to {destination}")


LOOK_UP = {"city": "Larkhaven", "origin": "Harbour front", "destination": "Chapel Corner"}


def make() -> Agent[Any]:
    """Return the agent, with a model that says what it was told to; put your own in its place."""
    script = [
        [function_call("get_transit_lines", LOOK_UP, call_id="c1")],
        [
            assistant_message(
                "Take Bus 7 at 09:12 and get off at Chapel Corner. The ride takes 13 min and costs 3 yuan."
            )
        ],
    ]
    return Agent("guide", instructions="You help travellers.", model=ScriptedModel(script), tools=[get_transit_lines])
