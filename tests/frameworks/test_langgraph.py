import asyncio

import pytest
from scenarios import Scenarios, Seen, as_text, find, mind, weather

pytest.importorskip(
    "langchain.agents", reason="langgraph is not installed; python tests/frameworks installs and tests it"
)

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import BaseModel

ROLES = {"human": "user", "tool": "tool", "ai": "assistant"}


class Place(BaseModel):
    place: str
    stars: int


class Mind(BaseChatModel):
    slow: bool = False
    structured: bool = False

    @property
    def _llm_type(self):
        return "mind"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, *given, **more):
        step = mind(Seen([(ROLES[m.type], as_text(m.content)) for m in messages]), structured=self.structured)
        made = [("Place", step.data)] if step.data else [step.call] if step.call else []
        said = AIMessage(
            [{"type": "reasoning", "reasoning": step.thought}] if step.thought else step.say,
            tool_calls=[{"name": name, "args": args, "id": f"c{len(messages)}"} for name, args in made],
            usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        )
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(self, messages, *given, **more):
        await asyncio.sleep(30 if self.slow else 0.01)
        return self._generate(messages)


class TestLangGraph(Scenarios):
    name = "langgraph"

    def agent(self, *, output=False, approval=False, tools=None, slow=False):
        return create_agent(
            Mind(slow=slow, structured=output),
            [tool(find), tool(weather)] if tools is None else tools,
            response_format=ToolStrategy(Place) if output else None,
            middleware=[HumanInTheLoopMiddleware({"find": True})] if approval else [],
        )
