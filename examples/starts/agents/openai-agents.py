from agents import Agent, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

SCRIPT = [
    [assistant_message("Shall I cancel booking BK-1?")],
    [function_call("cancel_booking", {"booking_id": "BK-1"}, call_id="c1")],
    [assistant_message("Booking BK-1 is cancelled.")],
]


@function_tool
def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking."""
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers


def agent():
    """Return the agent; its model says the next line, whatever the guest said: put yours in its place."""
    return Agent(
        "desk", instructions="You are the desk of a hotel.", model=ScriptedModel(SCRIPT), tools=[cancel_booking]
    )
