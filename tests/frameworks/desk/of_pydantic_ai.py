"""The hotel's team in pydantic-ai: a desk that delegates to billing, with data as an output type."""

import json

from people import BILLING, DESK, SCHEMAS, real_hotel, think
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, Tool
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from pytest_mapsat import Refused


class Total(BaseModel):
    text: str
    total: int


def _model(who):
    async def answer(messages, info):
        users, results = [], []
        for part in (part for message in messages for part in message.parts):
            if part.part_kind == "user-prompt":
                users.append(part.content)
                results = []
            elif part.part_kind in ("tool-return", "retry-prompt"):
                results.append(part.content if isinstance(part.content, str) else json.dumps(part.content))
        if who == "desk" and results and "ask_billing" in str(messages[-2].parts):
            step = results[-1]
        else:
            step = think(who, users, results)
        if isinstance(step, str):
            made = [TextPart(step)]
        elif isinstance(step, dict):
            made = [ToolCallPart(info.output_tools[0].name, step)]
        else:
            handed = [("ask_billing", {"question": users[-1]})]
            made = [ToolCallPart(*call) for call in (handed if step[0][0] == "transfer_to_billing" else step)]
        return ModelResponse(made, usage=RequestUsage(input_tokens=10, output_tokens=5))

    return FunctionModel(answer)


def _native(hotel, name):
    own = getattr(hotel, name)

    def function(**given):
        try:
            return own(**given)
        except Refused as error:
            raise ModelRetry(str(error)) from None

    made = Tool(own, max_retries=3)
    made.function_schema.function = function
    return made


def _by_schema(name, call):
    return Tool.from_schema(lambda **given: call(name, given), name, name, SCHEMAS[name])


def team(call=None):
    hotel = real_hotel()
    tools = {name: _by_schema(name, call) if call else _native(hotel, name) for name in (*DESK, *BILLING)}
    billing = Agent(_model("billing"), name="billing", tools=[tools[name] for name in BILLING])

    async def ask_billing(question: str) -> str:
        """Ask the billing office."""
        return (await billing.run(question)).output

    own = [*(tools[name] for name in DESK), Tool(ask_billing)]
    return Agent(_model("desk"), name="desk", tools=own, output_type=[str, Total])


agent = team()


class Talk:
    def __init__(self, call=None):
        self.agent, self.history = team(call), []

    def ask(self, message):
        result = self.agent.run_sync(message, message_history=self.history)
        self.history = result.all_messages()
        return result.output if isinstance(result.output, str) else result.output.model_dump_json()


def instrument(kind, provider):
    from pydantic_ai.models.instrumented import InstrumentationSettings

    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider, include_content=kind != "hidden"))
