from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

SCRIPT = [
    TextBlock(text="Shall I cancel booking BK-1?"),
    ToolCallBlock(tool_call_id="c1", tool_name="cancel_booking", tool_kwargs={"booking_id": "BK-1"}),
    TextBlock(text="Booking BK-1 is cancelled."),
]


def scripted(messages, **options):
    """Say the next line, whatever the guest said: put your model in its place."""
    said = sum(message.role == "assistant" for message in messages)
    return ChatMessage(role="assistant", blocks=[SCRIPT[said]])


def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking."""
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers


agent = FunctionAgent(
    name="desk",
    system_prompt="You are the desk of a hotel.",
    llm=MockFunctionCallingLLM(response_generator=scripted),
    tools=[cancel_booking],
)
