"""The hotel's team in LangGraph: two agents in one graph, with a tool that hands over."""

import json
from typing import Annotated

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from people import BILLING, DESK, SCHEMAS, is_handover, real_hotel, think

from pytest_mapsat import Refused


class Mind(BaseChatModel):
    who: str

    @property
    def _llm_type(self):
        return "mind"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, *given, **more):
        users = [message.text for message in messages if message.type == "human"]
        last = max(number for number, message in enumerate(messages) if message.type == "human")
        results = [message.text for message in messages[last:] if message.type == "tool"]
        step = think(self.who, users, [text for text in results if not is_handover(text)])
        calls = step if isinstance(step, list) else []
        text = step if isinstance(step, str) else json.dumps(step) if isinstance(step, dict) else ""
        said = AIMessage(
            text,
            tool_calls=[
                {"name": name, "args": args, "id": f"c{len(messages)}{n}"} for n, (name, args) in enumerate(calls)
            ],
            usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        )
        return ChatResult(generations=[ChatGeneration(message=said)])


@tool
def transfer_to_billing(
    state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command:
    """Hand over to billing."""
    told = ToolMessage("Transferred to billing", tool_call_id=tool_call_id, name="transfer_to_billing")
    return Command(goto="billing", graph=Command.PARENT, update={"messages": [*state["messages"], told]})


def _native(hotel, name):
    own = getattr(hotel, name)

    def function(**given):
        try:
            return own(**given)
        except Refused as error:
            raise ToolException(str(error)) from None

    made = StructuredTool.from_function(own)
    made.func, made.handle_tool_error = function, True
    return made


def _by_schema(name, call):
    return StructuredTool(
        name=name, description=name, args_schema=SCHEMAS[name], func=lambda **given: call(name, given)
    )


def team(call=None):
    hotel = real_hotel()
    tools = {name: _by_schema(name, call) if call else _native(hotel, name) for name in (*DESK, *BILLING)}
    desk = create_agent(Mind(who="desk"), [*(tools[name] for name in DESK), transfer_to_billing], name="desk")
    billing = create_agent(Mind(who="billing"), [tools[name] for name in BILLING], name="billing")
    graph = StateGraph(MessagesState).add_node("desk", desk, destinations=("billing",)).add_node("billing", billing)
    return graph.add_edge(START, "desk").compile(name="team")


agent = team()


class Talk:
    def __init__(self, call=None):
        self.graph, self.messages = team(call), []

    def ask(self, message):
        self.messages = self.graph.invoke({"messages": [*self.messages, ("user", message)]})["messages"]
        return self.messages[-1].text


def instrument(kind, provider):
    if kind == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor
    else:
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor as LangChainInstrumentor
    LangChainInstrumentor().instrument(tracer_provider=provider)
