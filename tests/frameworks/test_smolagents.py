import json
import re
import time
from types import MappingProxyType

import pytest
from scenarios import DECLINED, Scenarios, Seen, callers, find, mind, play, replies, weather

from pytest_mapsat import sandboxed

pytest.importorskip("smolagents", reason="smolagents is not installed; python tests/frameworks installs and tests it")

from smolagents import CodeAgent, LogLevel, Model, Tool, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
)
from smolagents.monitoring import TokenUsage


def own_tool(function):
    made = tool(find_again if function is find else weather_again)
    made.name = function.__name__
    return made


def find_again(query: str) -> str:
    """Find places.

    Args:
        query: what to look for.
    """
    return find(query)


def weather_again(query: str) -> str:
    """Tell the weather.

    Args:
        query: where.
    """
    return weather(query)


def words(message):
    text = "".join(part.get("text", "") for part in message.content)
    if message.role == MessageRole.TOOL_RESPONSE:  # the framework's tool for the last word has a result, too
        return ("" if text.endswith("What time do you leave?") else "tool"), text
    delegated = re.search(r"Task:\n(.*)\n---", text)
    task = delegated[1] if delegated else text.removeprefix("New task:\n")
    return ("user" if message.role == MessageRole.USER else ""), task


class Mind(Model):
    def __init__(self, *, slow=False, structured=False, code=False):
        super().__init__(model_id="mind")
        self.slow, self.structured, self.code = slow, structured, code

    def generate(self, messages, **options):
        time.sleep(3 if self.slow else 0.01)
        step = mind(Seen([words(m) for m in messages]), structured=self.structured)
        calls = step.calls or [("final_answer", {"answer": step.data or step.say})]
        content, made = step.thought, None
        if self.code:
            lines = "\n".join(f"result = {name}(**{arguments!r})\nprint(result)" for name, arguments in calls)
            content = f"{step.thought}\n<code>\n{lines}\n</code>"
        else:
            made = [
                ChatMessageToolCall(
                    id=f"c{len(messages)}-{number}",
                    type="function",
                    function=ChatMessageToolCallFunction(name=name, arguments=arguments),
                )
                for number, (name, arguments) in enumerate(calls)
            ]
        return ChatMessage(MessageRole.ASSISTANT, content, made, token_usage=TokenUsage(10, 5))

    def generate_stream(self, messages, **options):
        said = self.generate(messages, **options)
        yield ChatMessageStreamDelta(content="I look it up.")
        made = []
        for number, call in enumerate(said.tool_calls):
            call.function.arguments = json.dumps(call.function.arguments)
            made.append(ChatMessageToolCallStreamDelta(number, call.id, "function", call.function))
        yield ChatMessageStreamDelta(tool_calls=made, token_usage=said.token_usage)


class TestSmolagents(Scenarios):
    name = "smolagents"
    lacks = MappingProxyType(
        {"handoff": "a managed agent answers its manager", "context": "an agent is given the task alone"}
    )
    approves = False

    def model(self):
        return Mind()

    def agent(self, *, kind=ToolCallingAgent, output=False, tools=None, slow=False, **options):
        model = Mind(slow=slow, structured=output, code=kind is CodeAgent)
        own = [own_tool(find), own_tool(weather)]
        return kind(own if tools is None else tools, model, verbosity_level=LogLevel.OFF, **options)

    def guarded(self):
        declined = []

        def polite(answer, memory, agent=None):
            if not declined:
                declined.append(answer)
                raise ValueError(DECLINED)
            return True

        return self.agent(final_answer_checks=[polite])

    def streaming(self):
        agent = sandboxed(self.agent(stream_outputs=True))
        return lambda message, tools: list(agent.run(message, stream=True))[-1].output

    def as_tool(self, function):
        class Delegate(Tool):
            name = function.__name__
            description = "Asks another agent."
            inputs = {"query": {"type": "string", "description": "what to look for"}}  # noqa: RUF012  # the framework's own
            output_type = "string"

            def forward(self, query):
                return function(query)

        return Delegate()

    def ask(self, agent, message):
        return agent.run(message)

    def test_an_agent_that_writes_code_is_played_too(self):
        self.played(self.agent(kind=CodeAgent))

    def test_the_tools_of_a_managed_agent_are_answered(self):
        helper = self.agent()
        helper.name, helper.description = "helper", "Finds places."
        boss = ToolCallingAgent([], Delegating(), managed_agents=[helper], verbosity_level=LogLevel.OFF)
        ended = play(boss, "Find a cafe")
        assert callers(ended) == [("find", "helper")]
        assert "Old cafe" in replies(ended)[0]


class Delegating(Mind):
    """Has its helper do everything."""

    def generate(self, messages, **options):
        seen = Seen([words(m) for m in messages])
        told = seen.said("tool")
        call = ("final_answer", {"answer": told[-1]}) if told else ("helper", {"task": seen.said("user")[0]})
        function = ChatMessageToolCallFunction(name=call[0], arguments=call[1])
        made = [ChatMessageToolCall(id=f"c{len(messages)}", type="function", function=function)]
        return ChatMessage(MessageRole.ASSISTANT, "", made, token_usage=TokenUsage(10, 5))
