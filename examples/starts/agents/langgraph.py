from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

SCRIPT = [
    AIMessage("Shall I cancel booking BK-1?"),
    AIMessage("", tool_calls=[{"name": "cancel_booking", "args": {"booking_id": "BK-1"}, "id": "c1"}]),
    AIMessage("Booking BK-1 is cancelled."),
]


def scripted(state):
    """Say the next line, whatever the guest said: put your model in its place."""
    return {"messages": SCRIPT[sum(message.type == "ai" for message in state["messages"])]}


@tool
def cancel_booking(booking_id: str) -> dict:
    """Cancel a booking."""
    raise NotImplementedError  # it never runs here: the sandbox in conftest.py answers


graph = StateGraph(MessagesState)
graph.add_node("model", scripted)
graph.add_node("tools", ToolNode([cancel_booking]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
agent = graph.compile()
