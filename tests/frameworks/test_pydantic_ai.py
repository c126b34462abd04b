import asyncio
import json
from dataclasses import dataclass
from types import MappingProxyType

import pytest
import tiny_suite
from scenarios import DECLINED, Scenarios, Seen, as_text, callers, calls, find, mind, play, replies, source_of, weather

from pytest_mapsat import sandboxed
from pytest_mapsat.model import UsageError

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed; python tests/frameworks installs and tests it")

from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    ExternalToolset,
    FunctionToolset,
    ModelHTTPError,
    ModelRetry,
    RunContext,
    Tool,
    ToolDefinition,
)
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

ROLES = {"user-prompt": "user", "tool-return": "tool", "retry-prompt": "tool", "text": "assistant"}


class Place(BaseModel):
    place: str
    stars: int


def model(*, slow=False, error=None):
    async def answer(messages, info):
        if error:
            raise error
        await asyncio.sleep(30 if slow else 0.01)
        parts = [part for message in messages for part in message.parts if part.part_kind in ROLES]
        seen = Seen([(ROLES[part.part_kind], as_text(part.content)) for part in parts])
        step = mind(seen, structured=bool(info.output_tools))
        made = [ThinkingPart(step.thought)] if step.thought else []
        made += [ToolCallPart(*call) for call in step.calls]
        if step.data:
            made.append(ToolCallPart(info.output_tools[0].name, step.data))
        elif not step.calls:
            made.append(TextPart(step.say))
        return ModelResponse(made, usage=RequestUsage(input_tokens=10, output_tokens=5))

    async def pieces(messages, info):
        for part in (await answer(messages, info)).parts:
            if part.part_kind == "tool-call":
                yield "I look it up."
                yield {0: DeltaToolCall(part.tool_name, json.dumps(part.args), tool_call_id="c1")}
            elif part.part_kind == "text":
                yield part.content[:4]
                yield part.content[4:]

    return FunctionModel(answer, stream_function=pieces)


class TestPydanticAI(Scenarios):
    name = "pydantic-ai"
    lacks = MappingProxyType({"handoff": "an agent runs another one in a tool"})
    example = "pydantic_ai_agent.py"

    def model(self):
        return model()

    def agent(self, *, output=False, approval=False, tools=None, slow=False, error=None, **options):
        own = [Tool(find, requires_approval=approval), Tool(weather)]
        output_type = Place if output else [str, DeferredToolRequests] if approval else str
        made = model(slow=slow, error=error)
        return Agent(made, tools=own if tools is None else tools, output_type=output_type, **options)

    def as_tool(self, function):
        return Tool(function)

    def ask(self, agent, message):
        return agent.run_sync(message).output

    def with_context(self, seen):
        @dataclass
        class Where:
            city: str

        agent = self.agent(deps_type=Where)
        agent.instructions(lambda ctx: seen.append(ctx.deps) or "")
        return agent

    def guarded(self):
        agent = self.agent()

        @agent.output_validator
        def polite(ctx: RunContext, output: str) -> str:
            if ctx.retry == 0:
                raise ModelRetry(DECLINED)
            return output

        return agent

    def streaming(self):
        agent = sandboxed(self.agent())

        async def function(message, tools):
            async with agent.run_stream_events(message) as events:
                return [event async for event in events][-1].result.output

        return function

    def delegating(self):
        finder = self.agent()

        async def ask_finder(query: str) -> str:  # the framework runs an agent in a tool that is a coroutine only
            return (await finder.run(f"Find a {query}")).output

        return self.agent(tools=[Tool(find), Tool(ask_finder)])

    def test_a_service_that_is_down_loses_the_episode(self):
        self.lost(ModelHTTPError(503, "mind"))

    def test_what_runs_outside_the_agent_is_answered_by_the_sandbox(self):
        schema = {"type": "object", "properties": {"query": {"type": "string"}}}
        outside = ExternalToolset([ToolDefinition(name="find", parameters_json_schema=schema)])
        agent = Agent(model(), toolsets=[outside], output_type=[str, DeferredToolRequests])
        self.played(agent)

    def test_a_factory_may_return_the_agent_with_dependencies_of_its_own(self):
        @dataclass
        class Trip:
            client: object
            city: str = "nowhere"
            party: int = 0

        client, seen = object(), []

        def make():
            agent = self.agent(deps_type=Trip)
            agent.instructions(lambda ctx: seen.append(ctx.deps) or "")
            return agent, Trip(client)

        self.played(make)
        assert seen[0] == Trip(client, "Lindenau", 3)

    def test_a_factory_may_return_the_agent_with_no_dependencies(self):
        self.played(lambda: (self.agent(), None))

    @pytest.mark.parametrize("options", [(), ("--mapsat-isolate",)], ids=["here", "isolated"])
    def test_dependencies_that_a_case_cannot_fill_end_the_run_before_the_first_case(self, pytester, options):
        tiny_suite.write_suite(pytester.path / "benchmark_cases")
        pytester.makepyfile(
            mymod="""
            from dataclasses import dataclass
            from pydantic_ai import Agent

            @dataclass
            class Needs:
                tenant: str

            agent = Agent("test", deps_type=Needs)
            """
        )
        result = pytester.runpytest_inprocess("--mapsat-agent=mymod:agent", "-W", "ignore", *options)
        assert result.ret == 4
        result.stderr.fnmatch_lines(["*the agent wants Needs for its context, with tenant; the case has *"])
        result.stderr.fnmatch_lines(["*Put 'tenant' into visible.context.details*"])

    def test_steps_keep_which_agent_called(self):
        finder = self.agent(name="finder")

        async def ask_finder(query: str) -> str:
            return (await finder.run(f"Find a {query}")).output

        ended = play(self.agent(tools=[Tool(ask_finder)], name="desk"), "Ask_finder a cafe", run=["ask_finder"])
        assert callers(ended) == [("find", "finder")]

    def test_of_one_tool_name_with_two_schemas_the_one_of_the_case_counts(self):
        def rated(place: str, stars: int) -> str:
            return find(place)

        def calls_it(messages, info):
            if messages[-1].parts[-1].part_kind == "tool-return":
                return ModelResponse([TextPart(as_text(messages[-1].parts[-1].content))])
            return ModelResponse([ToolCallPart("find", {"place": "cafe", "stars": 3})])

        other = Agent(FunctionModel(calls_it), tools=[Tool(rated, name="find")], name="other")

        async def ask_other(query: str) -> str:
            return (await other.run(query)).output

        desk = self.agent(tools=[Tool(find), Tool(ask_other)], name="desk")
        ended = play(desk, "Ask_other a cafe", run=["ask_other"])
        assert ended.fault is None, ended.fault
        assert (callers(ended), calls(ended)) == ([("find", "other")], [("find", "error")])
        assert "unknown parameter 'place' (it has query)" in replies(ended)[0]

    def test_usage_of_an_agent_that_streams_within_a_tool_is_counted_once(self):
        finder = Agent(TestModel(call_tools=["find"]), tools=[Tool(find)])

        async def ask_finder(query: str) -> str:
            async with finder.run_stream("Find a cafe") as streamed:
                return await streamed.get_output()

        desk = self.agent(tools=[Tool(ask_finder)])
        ended, alone = play(desk, "Ask_finder a a", run=["ask_finder"]), play(finder, "Find a a")
        assert calls(ended) == [("find", "ok")]
        assert ended.turns[1].usage.input_tokens == 20 + alone.turns[1].usage.input_tokens

    def test_behind_a_function_sets_of_tools_are_met(self):
        def with_context(ctx: RunContext, query: str) -> str:
            return find(query)

        for made in (lambda: FunctionToolset([find]), lambda: FunctionToolset([Tool(with_context, name="find")])):
            self.refused(self.behind(Agent(model(), toolsets=[made()])))
            self.played(self.behind(Agent(model(), toolsets=[sandboxed(made())])))
            self.played(self.behind(sandboxed(Agent(model(), toolsets=[made().filtered(lambda *given: True)]))))
        self.played(self.behind(Agent(model(), tools=sandboxed([find, Tool(weather)]))))

    def test_behind_a_function_an_output_function_is_met(self):
        def calls_it(messages, info):
            return ModelResponse([ToolCallPart(info.output_tools[0].name, {"query": "cafe"})])

        async def asks(query: str) -> str:
            return (await self.agent().run(f"Find a {query}")).output

        self.refused(self.behind(Agent(FunctionModel(calls_it), output_type=find)))
        ended = play(self.behind(sandboxed(Agent(FunctionModel(calls_it), output_type=find))), "Find a cafe")
        assert calls(ended) == [("find", "ok")]
        self.played(self.behind(sandboxed(Agent(FunctionModel(calls_it), output_type=asks))))

    def test_behind_a_function_a_tool_that_the_provider_runs_is_refused(self):
        native_tools = pytest.importorskip("pydantic_ai.native_tools", reason="2.0 gave them their name")
        from pydantic_ai.capabilities import NativeTool

        agent = self.agent(capabilities=[NativeTool(native_tools.WebSearchTool())])
        self.refused(self.behind(sandboxed(agent)), "no sandbox can answer", "'web_search'")

    def test_a_tool_that_the_provider_runs_is_refused_by_name(self):
        native_tools = pytest.importorskip("pydantic_ai.native_tools", reason="2.0 gave them their name")
        from pydantic_ai.capabilities import NativeTool

        with pytest.raises(UsageError, match="web_search"):
            source_of(self.agent(capabilities=[NativeTool(native_tools.WebSearchTool())]), "mymod:agent")
