import asyncio
import json

import pytest
from scenarios import Scenarios, Seen, as_text, find, mind, weather

pytest.importorskip(
    "google.adk.agents", reason="google-adk is not installed; python tests/frameworks installs and tests it"
)

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.tools import FunctionTool
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from pydantic import BaseModel


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

    async def generate_content_async(self, llm_request, stream=False):
        await asyncio.sleep(30 if self.slow else 0.01)
        seen = Seen([words(part, content.role) for content in llm_request.contents for part in content.parts])
        # What asks for a go-ahead is no result.
        seen.messages = [m for m in seen.messages if "requires confirmation" not in m[1]]
        step = mind(seen, structured=self.structured)
        parts = [Part(text=step.thought, thought=True)] if step.thought else []
        if step.call:
            parts.append(Part.from_function_call(name=step.call[0], args=step.call[1]))
        else:
            parts.append(Part(text=json.dumps(step.data) if step.data else step.say))
        usage = GenerateContentResponseUsageMetadata(prompt_token_count=10, candidates_token_count=5)
        yield LlmResponse(content=Content(role="model", parts=parts), usage_metadata=usage)


class TestGoogleADK(Scenarios):
    name = "google-adk"

    def agent(self, *, output=False, approval=False, tools=None, slow=False):
        return LlmAgent(
            name="guide",
            model=Mind(model="mind", slow=slow, structured=output),
            tools=[FunctionTool(find, require_confirmation=approval), weather] if tools is None else tools,
            output_schema=Place if output else None,
        )

    def test_an_app_is_played_like_its_agent(self):
        self.played(App(name="guide_app", root_agent=self.agent()))
