import asyncio

import pytest
from scenarios import Scenarios, Seen, as_text, find, mind, weather

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed; python tests/frameworks installs and tests it")

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

ROLES = {"user-prompt": "user", "tool-return": "tool", "retry-prompt": "tool", "text": "assistant"}


class Place(BaseModel):
    place: str
    stars: int


def model(*, slow=False):
    async def answer(messages, info):
        await asyncio.sleep(30 if slow else 0.01)
        parts = [part for message in messages for part in message.parts if part.part_kind in ROLES]
        seen = Seen([(ROLES[part.part_kind], as_text(part.content)) for part in parts])
        step = mind(seen, structured=bool(info.output_tools))
        made = [ThinkingPart(step.thought)] if step.thought else []
        if step.call:
            made.append(ToolCallPart(*step.call))
        elif step.data:
            made.append(ToolCallPart(info.output_tools[0].name, step.data))
        else:
            made.append(TextPart(step.say))
        return ModelResponse(made, usage=RequestUsage(input_tokens=10, output_tokens=5))

    return FunctionModel(answer)


class TestPydanticAI(Scenarios):
    name = "pydantic-ai"

    def agent(self, *, output=False, approval=False, tools=None, slow=False):
        own = [Tool(find, requires_approval=approval), Tool(weather)]
        output_type = Place if output else [str, DeferredToolRequests] if approval else str
        return Agent(model(slow=slow), tools=own if tools is None else tools, output_type=output_type)
