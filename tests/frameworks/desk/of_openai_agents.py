"""The hotel's team in the OpenAI Agents SDK: a desk that hands over to billing."""

import asyncio
import json

import httpx
from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, function_tool
from agents.tool_context import ToolContext
from openai import AsyncOpenAI
from people import BILLING, DESK, SCHEMAS, is_handover, real_hotel, think


def _answer(request):
    """Answer a request of chat completions, as OpenAI's service does; the name of the model is that of the agent."""
    asked = json.loads(request.content)
    messages = asked["messages"]
    users = [message["content"] for message in messages if message["role"] == "user"]
    last = max(number for number, message in enumerate(messages) if message["role"] == "user")
    results = [message["content"] for message in messages[last:] if message["role"] == "tool"]
    step = think(asked["model"], users, [text for text in results if not is_handover(text)])
    said = {"role": "assistant", "content": step if isinstance(step, str) else json.dumps(step)}
    if isinstance(step, list):
        functions = [{"name": name, "arguments": json.dumps(given)} for name, given in step]
        calls = [{"id": f"c{len(messages)}{n}", "type": "function", "function": f} for n, f in enumerate(functions)]
        said = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    about = {"id": "r1", "object": "chat.completion", "created": 1, "model": asked["model"]}
    return httpx.Response(200, json={**about, "choices": [choice], "usage": usage})


def _model(who):
    http = httpx.AsyncClient(transport=httpx.MockTransport(_answer))
    return OpenAIChatCompletionsModel(who, AsyncOpenAI(api_key="none", http_client=http))


def _by_schema(name, call):
    async def invoke(context: ToolContext, arguments: str):
        return await asyncio.to_thread(call, name, json.loads(arguments))

    return FunctionTool(name, name, SCHEMAS[name], invoke, strict_json_schema=False)


def team(call=None):
    """Return the desk; ``call``: answers the calls of tools, instead of a hotel of its own."""
    hotel = real_hotel()
    tools = {
        name: _by_schema(name, call) if call else function_tool(getattr(hotel, name)) for name in (*DESK, *BILLING)
    }
    billing = Agent("billing", model=_model("billing"), tools=[tools[name] for name in BILLING])
    return Agent("desk", model=_model("desk"), tools=[tools[name] for name in DESK], handoffs=[billing])


agent = team()


class Talk:
    """A conversation with the team, whoever asks."""

    def __init__(self, call=None):
        self.agent, self.items = team(call), []

    def ask(self, message):
        result = asyncio.run(Runner.run(self.agent, [*self.items, {"role": "user", "content": message}]))
        self.items, self.agent = result.to_input_list(), result.last_agent
        return result.final_output


def instrument(kind, provider):
    if kind == "openinference":
        from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as Instrumentor
    elif kind == "client":
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor as Instrumentor
    else:
        from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as Instrumentor
    Instrumentor().instrument(tracer_provider=provider)
