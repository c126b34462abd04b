from crewai import Agent, BaseLLM
from crewai.tools import tool

SCRIPT = [
    "Final Answer: Shall I cancel booking BK-1?",
    'Action: cancel_booking\nAction Input: {"booking_id": "BK-1"}',
    "Final Answer: Booking BK-1 is cancelled.",
]


class ScriptedModel(BaseLLM):
    """Says the next line, whatever the guest said: put your model in its place."""

    def call(self, messages, *given, **options):
        line = SCRIPT[sum(message["role"] == "assistant" for message in messages)]
        return f"Thought: I know.\n{line}"


@tool
def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking."""
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers


agent = Agent(
    role="desk",
    goal="help guests",
    backstory="You know the house.",
    llm=ScriptedModel(model="script"),
    tools=[cancel_booking],
)
