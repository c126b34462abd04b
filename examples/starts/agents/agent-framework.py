from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool

SCRIPT = [
    Content.from_text("Shall I cancel booking BK-1?"),
    Content.from_function_call("c1", "cancel_booking", arguments={"booking_id": "BK-1"}),
    Content.from_text("Booking BK-1 is cancelled."),
]


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Says the next line, whatever the guest said: put your client in its place."""

    def _inner_get_response(self, *, messages, **options):
        said = sum(message.role == "assistant" for message in messages)

        async def answer():
            return ChatResponse(messages=[Message("assistant", [SCRIPT[said]])])

        return answer()


@tool
def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking."""
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers


agent = Agent(Scripted(), name="desk", instructions="You are the desk of a hotel.", tools=[cancel_booking])
