"""An agent of LangChain, tested as it is: the graph keeps its own tool, and the suite answers the call.

``pytest benchmark_cases/realtime/next-bus.yaml --mapsat-agent=examples.frameworks.langgraph_agent:guide``
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


@tool
def get_transit_lines(city: str, origin: str, destination: str) -> dict[str, Any]:
    """Find the lines between two places of a city, with their next departures."""
    raise RuntimeError(f"a test never asks the timetable of {city} for {origin} to {destination}")


class ScriptedModel(FakeMessagesListChatModel):
    """Says what it was told to, whichever dialogue it is asked in; put your own model in its place."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        said = sum(message.type == "ai" for message in messages)
        step = self.responses[min(said, len(self.responses) - 1)].model_copy(update={"id": None})
        return ChatResult(generations=[ChatGeneration(message=step)])

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:
        """Return itself: it knows which tool it calls."""
        del tools
        return self


LOOK_UP = {"city": "Larkhaven", "origin": "Harbour front", "destination": "Chapel Corner"}
SCRIPT = [
    AIMessage("", tool_calls=[{"name": "get_transit_lines", "args": LOOK_UP, "id": "c1"}]),
    AIMessage("Take Bus 7 at 09:12 and get off at Chapel Corner. The ride takes 13 min and costs 3 yuan."),
]
guide = create_agent(ScriptedModel(responses=SCRIPT), [get_transit_lines], system_prompt="You help travellers.")
