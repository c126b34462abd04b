"""An agent of pydantic-ai that is given the tools of the suite as its own: names, descriptions and schemas are the suite's.

``pytest benchmark_cases/realtime/next-bus.yaml --mapsat-agent=pydantic-ai:examples.frameworks.pydantic_ai_agent:make``
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

LOOK_UP = {"city": "Larkhaven", "origin": "Harbour front", "destination": "Chapel Corner"}


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Look the lines up, then read them out; put your own model in the place of this function."""
    del info
    results = [part.content for part in messages[-1].parts if part.part_kind == "tool-return"]
    if not results:
        return ModelResponse([ToolCallPart("get_transit_lines", LOOK_UP)])
    first: Any = min(results[0]["lines"], key=lambda line: line["next"][0])
    fare = f"The ride takes {first['ride_min']} min and costs {first['fare_yuan']} yuan."
    return ModelResponse(
        [TextPart(f"Take {first['line']} at {first['next'][0]} and get off at {first['alight']}. {fare}")]
    )


def make(tools: Any) -> Agent[Any]:
    """Return the agent with these tools."""
    return Agent(FunctionModel(scripted), instructions="You help travellers.", tools=tools)
