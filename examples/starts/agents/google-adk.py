from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai.types import Content, Part

SCRIPT = [
    Part(text="Shall I cancel booking BK-1?"),
    Part.from_function_call(name="cancel_booking", args={"booking_id": "BK-1"}),
    Part(text="Booking BK-1 is cancelled."),
]


class ScriptedModel(BaseLlm):
    """Says the next line, whatever the guest said: put your model in its place."""

    async def generate_content_async(self, llm_request, stream=False):
        line = SCRIPT[sum(content.role == "model" for content in llm_request.contents)]
        yield LlmResponse(content=Content(role="model", parts=[line]))


def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking."""
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers


agent = LlmAgent(
    name="desk", model=ScriptedModel(model="script"), instruction="You are the desk.", tools=[cancel_booking]
)
