from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

SCRIPT = [
    TextPart("Shall I cancel booking BK-1?"),
    ToolCallPart("cancel_booking", {"booking_id": "BK-1"}),
    TextPart("Booking BK-1 is cancelled."),
]


def scripted(messages, info):
    """Say the next line, whatever the guest said: put your model in its place."""
    return ModelResponse([SCRIPT[sum(message.kind == "response" for message in messages)]])


agent = Agent(FunctionModel(scripted), instructions="You are the desk of a hotel.")


@agent.tool_plain
def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking."""
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers
