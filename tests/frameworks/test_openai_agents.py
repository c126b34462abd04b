import asyncio
import json

import pytest
from scenarios import Scenarios, Seen, find, mind, weather

pytest.importorskip(
    "agents.tool", reason="openai-agents is not installed; python tests/frameworks installs and tests it"
)

from agents import Agent, Model, ModelResponse, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseReasoningItem
from pydantic import BaseModel


class Place(BaseModel):
    place: str
    stars: int


def words(item):
    if item.get("type") == "function_call_output":
        return "tool", item["output"]
    content = item.get("content") or ""
    return item.get("role", ""), content if isinstance(content, str) else content[0]["text"]


class Mind(Model):
    def __init__(self, *, slow):
        self.slow = slow

    async def get_response(self, *, input, output_schema, **more):  # noqa: A002  # the framework's own names
        await asyncio.sleep(30 if self.slow else 0.01)
        seen = Seen([words(item) for item in input])
        step = mind(seen, structured=output_schema is not None)
        thought = {"id": "r1", "type": "reasoning", "summary": [{"type": "summary_text", "text": step.thought}]}
        output = [ResponseReasoningItem.model_validate(thought)] if step.thought else []
        if step.call:
            name, arguments = step.call
            call = {
                "name": name,
                "arguments": json.dumps(arguments),
                "call_id": f"c{len(input)}",
                "type": "function_call",
            }
            output.append(ResponseFunctionToolCall.model_validate(call))
        else:
            said = {"type": "output_text", "text": json.dumps(step.data) if step.data else step.say, "annotations": []}
            message = {"id": "m1", "role": "assistant", "type": "message", "status": "completed", "content": [said]}
            output.append(ResponseOutputMessage.model_validate(message))
        return ModelResponse(output, Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15), None)

    def stream_response(self, *given, **more):
        raise NotImplementedError


class TestOpenAIAgents(Scenarios):
    name = "openai-agents"

    def agent(self, *, output=False, approval=False, tools=None, slow=False):
        own = [function_tool(find, needs_approval=approval), function_tool(weather)]
        return Agent(
            "guide", model=Mind(slow=slow), tools=own if tools is None else tools, output_type=Place if output else None
        )
