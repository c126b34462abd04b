import asyncio
import json
from typing import Any

import pytest
from scenarios import DECLINED, Scenarios, Seen, as_text, find, mind, source_of, weather

from pytest_mapsat import sandboxed
from pytest_mapsat.model import UsageError

pytest.importorskip(
    "google.adk.agents", reason="google-adk is not installed; python tests/frameworks installs and tests it"
)

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, FunctionTool, google_search
from google.genai.errors import ServerError
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from pydantic import BaseModel, Field


class Place(BaseModel):
    place: str
    stars: int


def words(part, role):
    if part.function_response:
        return "tool", as_text(part.function_response.response)
    return ("user" if role == "user" else "assistant"), part.text or ""


class Mind(BaseLlm):
    slow: bool = False
    structured: bool = False
    error: Any = None
    first_call: Any = None
    system: list = Field(default_factory=list)

    async def generate_content_async(self, llm_request, stream=False):
        await asyncio.sleep(30 if self.slow else 0.01)
        if self.error:
            raise self.error
        self.system.append(llm_request.config.system_instruction)
        seen = Seen([words(part, content.role) for content in llm_request.contents for part in content.parts])
        # What asks for a go-ahead is no result.
        seen.messages = [m for m in seen.messages if "requires confirmation" not in m[1]]
        step = mind(seen, structured=self.structured)
        if step.calls and self.first_call:
            step.calls = [self.first_call]
        parts = [Part(text=step.thought, thought=True)] if step.thought else []
        parts += [Part.from_function_call(name=name, args=args) for name, args in step.calls]
        if not step.calls:
            parts.append(Part(text=json.dumps(step.data) if step.data else step.say))
        usage = GenerateContentResponseUsageMetadata(prompt_token_count=10, candidates_token_count=5)
        if stream:
            piece = Content(role="model", parts=[Part(text="I look it up.")])
            yield LlmResponse(content=piece, partial=True)
        yield LlmResponse(content=Content(role="model", parts=parts), usage_metadata=usage)


class TestGoogleADK(Scenarios):
    name = "google-adk"

    def model(self):
        return Mind(model="mind")

    def agent(self, *, output=False, approval=False, tools=None, slow=False, error=None, name="guide", **options):
        return LlmAgent(
            name=name,
            model=Mind(model="mind", slow=slow, structured=output, error=error),
            tools=[FunctionTool(find, require_confirmation=approval), weather] if tools is None else tools,
            output_schema=Place if output else None,
            **options,
        )

    def ask(self, agent, message):
        events = asyncio.run(InMemoryRunner(agent).run_debug(message, quiet=True))
        return events[-1].content.parts[0].text

    def handing_over(self):
        finder = self.agent(name="finder", description="Finds places.")
        model = Mind(model="mind", first_call=("transfer_to_agent", {"agent_name": "finder"}))
        return LlmAgent(name="desk", model=model, sub_agents=[finder])

    def with_context(self, seen):
        agent = self.agent(instruction="Help in {city}.")
        agent.model.system = seen
        return agent

    def guarded(self):
        def polite(callback_context, llm_request):
            return LlmResponse(content=Content(role="model", parts=[Part(text=DECLINED)]))

        return self.agent(before_model_callback=polite)

    def streaming(self):
        agent = sandboxed(self.agent())

        async def function(message, tools):
            runner = InMemoryRunner(agent)
            session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
            asked = Content(role="user", parts=[Part(text=message)])
            config = RunConfig(streaming_mode=StreamingMode.SSE)
            ran = runner.run_async(user_id="u", session_id=session.id, new_message=asked, run_config=config)
            events = [event async for event in ran]
            assert any(event.partial for event in events)
            return events[-1].content.parts[0].text

        return function

    def delegating(self):
        finder = self.agent()

        async def ask_finder(query: str) -> str:
            events = await InMemoryRunner(finder).run_debug(f"Find a {query}", quiet=True)
            return events[-1].content.parts[0].text

        return self.agent(tools=[find, ask_finder])

    def test_an_app_is_played_like_its_agent(self):
        self.played(App(name="guide_app", root_agent=self.agent()))

    def test_an_agent_that_is_a_tool_runs_and_its_tools_are_answered(self):
        helper = self.agent()
        helper.description = "Finds places."
        boss = LlmAgent(name="boss", model=Mind(model="mind", first_call=("guide", {"request": "Find a cafe"})))
        boss.tools = [AgentTool(helper)]
        self.played(boss)

    def test_a_service_that_is_down_loses_the_episode(self):
        self.lost(ServerError(503, {"error": {"message": "overloaded"}}))

    def test_a_tool_that_the_provider_runs_is_refused_by_name(self):
        with pytest.raises(UsageError, match="no sandbox can answer its GoogleSearchTool"):
            source_of(self.agent(tools=[google_search]), "mymod:agent")
