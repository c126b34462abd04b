import asyncio
from types import MappingProxyType

import pytest
from scenarios import DECLINED, Scenarios, Seen, as_text, callers, find, mind, play, weather

from pytest_mapsat import sandboxed
from pytest_mapsat.model import UsageError

pytest.importorskip(
    "agent_framework", reason="agent-framework is not installed; python tests/frameworks installs and tests it"
)

from agent_framework import (
    Agent,
    AgentResponse,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    WorkflowBuilder,
    agent_middleware,
    tool,
)
from pydantic import BaseModel


class Place(BaseModel):
    place: str
    stars: int


def said(message):
    """Yield who says what in a message."""
    for content in message.contents:
        if content.type == "function_result":
            yield "tool", as_text(content.result)
        elif content.type == "text":
            yield message.role, content.text


class Mind(FunctionInvocationLayer, BaseChatClient):
    def __init__(self, *, slow=False):
        super().__init__()
        self.slow = slow

    def _inner_get_response(self, *, messages, stream, options, **more):
        async def answer():
            await asyncio.sleep(30 if self.slow else 0.01)
            seen = Seen([line for message in messages for line in said(message)])
            step = mind(seen, structured=options.get("response_format") is not None)
            contents = [Content.from_text_reasoning(text=step.thought)] if step.thought else []
            for number, (name, arguments) in enumerate(step.calls):
                contents.append(Content.from_function_call(f"c{len(messages)}-{number}", name, arguments=arguments))
            if not step.calls:
                contents.append(Content.from_text(Place(**step.data).model_dump_json() if step.data else step.say))
            return ChatResponse(
                messages=[Message("assistant", contents)],
                usage_details={"input_token_count": 10, "output_token_count": 5},
                response_format=options.get("response_format"),
            )

        async def stream_of_answer():
            response = await answer()
            contents = [*response.messages[0].contents, Content.from_usage(response.usage_details)]
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text("So: ")])
            yield ChatResponseUpdate(role="assistant", contents=contents)

        return ResponseStream(stream_of_answer(), finalizer=ChatResponse.from_updates) if stream else answer()


class TestAgentFramework(Scenarios):
    name = "agent-framework"
    lacks = MappingProxyType({"context": "what run() is given goes to tools alone"})

    def model(self):
        return Mind()

    def agent(self, *, output=False, approval=False, tools=None, slow=False, name="guide", **given):
        own = [tool(find, approval_mode="always_require" if approval else "never_require"), tool(weather)]
        options = {"response_format": Place} if output else None
        own = own if tools is None else tools
        return Agent(Mind(slow=slow), name=name, tools=own, default_options=options, **given)

    def test_a_team_hands_over_and_steps_keep_which_agent_called(self, record_property):
        def workflow(*agents):
            return WorkflowBuilder(start_executor=agents[0]).add_chain(agents).build()

        team = [self.agent(name="desk", tools=[]), self.agent(name="finder")]
        self.refused_at_the_start(workflow(*team), "a workflow keeps the state of one run", record_property)
        self.refused_at_the_start(workflow(*team).as_agent("team"), "a workflow keeps", record_property)

        async def function(message, tools):
            ran = await workflow(self.agent(name="desk", tools=[]), *sandboxed(team[1:])).run(message)
            return ran.get_outputs()[-1].text

        assert ("find", "finder") in callers(play(function, "Find a cafe"))

    def guarded(self):
        @agent_middleware
        async def polite(context, call_next):
            context.result = AgentResponse(messages=[Message("assistant", [DECLINED])])

        return self.agent(middleware=[polite])

    def streaming(self):
        agent = sandboxed(self.agent())

        async def function(message, tools):
            stream = agent.run(message, stream=True)
            assert [update async for update in stream]
            return (await stream.get_final_response()).text

        return function

    def as_tool(self, function):
        return tool(function)

    def ask(self, agent, message):
        return asyncio.run(agent.run(message)).text

    def test_an_agent_that_is_a_tool_runs_and_its_tools_are_answered(self):
        helper = self.agent(name="finder").as_tool(name="ask_finder", arg_name="query")
        ended = play(self.agent(tools=[helper], name="desk"), "Ask_finder a Find a cafe")
        assert ended.fault is None, ended.fault
        assert callers(ended) == [("find", "finder")]
        assert (ended.turns[1].usage.input_tokens, ended.turns[1].usage.output_tokens) == (40, 20)

    def test_a_tool_that_the_provider_runs_is_refused_by_name(self):
        with pytest.raises(UsageError, match="no sandbox can answer its web_search"):
            play(self.agent(tools=[{"type": "web_search"}]), "Find a cafe")
