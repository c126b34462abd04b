from smolagents import Model, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

SCRIPT = [
    ("final_answer", {"answer": "Shall I cancel booking BK-1?"}),
    ("cancel_booking", {"booking_id": "BK-1"}),
    ("final_answer", {"answer": "Booking BK-1 is cancelled."}),
]


class ScriptedModel(Model):
    """Says the next line, whatever the guest said: put your model in its place."""

    def generate(self, messages, **options):
        name, arguments = SCRIPT[sum(message.role == MessageRole.TOOL_CALL for message in messages)]
        call = ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), id="c1", type="function")
        return ChatMessage(MessageRole.ASSISTANT, "", [call])


@tool
def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking.

    Args:
        booking_id: its number.
    """
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers


agent = ToolCallingAgent([cancel_booking], ScriptedModel(), instructions="You are the desk of a hotel.")
