import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import TypedDict

import pytest
from scenarios import DECLINED, Scenarios, Seen, as_text, callers, calls, find, mind, play, replies, weather

from pytest_mapsat import sandboxed

pytest.importorskip(
    "langchain.agents", reason="langgraph is not installed; python tests/frameworks installs and tests it"
)

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, before_model
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from pydantic import BaseModel

CALLED = {"messages": [AIMessage("", tool_calls=[{"name": "find", "args": {"query": "cafe"}, "id": "c1"}])]}
ROLES = {"system": "", "human": "user", "tool": "tool", "ai": "assistant"}


class Place(BaseModel):
    place: str
    stars: int


class Mind(BaseChatModel):
    slow: bool = False
    structured: bool = False

    @property
    def _llm_type(self):
        return "mind"

    async def _astream(self, messages, *given, **more):
        [generation] = (await self._agenerate(messages)).generations
        said = generation.message
        for content in [said.content] if isinstance(said.content, list) else said.content.split(" "):
            piece = [{**content[0], "index": 0}] if isinstance(content, list) else f"{content} "
            yield ChatGenerationChunk(message=AIMessageChunk(piece, id="m"))
        made = [
            {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": number}
            for number, call in enumerate(said.tool_calls)
        ]
        last = AIMessageChunk("", id="m", tool_call_chunks=made, usage_metadata=said.usage_metadata)
        yield ChatGenerationChunk(message=last)

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, *given, **more):
        step = mind(Seen([(ROLES[m.type], as_text(m.content)) for m in messages]), structured=self.structured)
        made = [("Place", step.data)] if step.data else step.calls
        said = AIMessage(
            [{"type": "reasoning", "reasoning": step.thought}] if step.thought else step.say,
            tool_calls=[
                {"name": name, "args": args, "id": f"c{len(messages)}-{number}"}
                for number, (name, args) in enumerate(made)
            ],
            usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        )
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(self, messages, *given, **more):
        await asyncio.sleep(30 if self.slow else 0.01)
        return self._generate(messages)


class FrontDesk(BaseChatModel):
    tool: str
    also: str = ""

    @property
    def _llm_type(self):
        return "front-desk"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, *given, **more):
        if messages[-1].type == "tool":
            return ChatResult(generations=[ChatGeneration(message=AIMessage(messages[-1].content))])
        made = [{"name": name, "args": {"query": ""}, "id": name} for name in (self.tool, self.also) if name]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=made))])


class TestLangGraph(Scenarios):
    name = "langgraph"
    example = "langgraph_agent.py"

    def model(self):
        return Mind()

    def agent(self, *, output=False, approval=False, tools=None, slow=False, middleware=(), **options):
        return create_agent(
            Mind(slow=slow, structured=output),
            [tool(find), tool(weather)] if tools is None else tools,
            response_format=ToolStrategy(Place) if output else None,
            middleware=[HumanInTheLoopMiddleware({"find": True}), *middleware] if approval else middleware,
            **options,
        )

    def handing_over(self):
        @tool
        def to_finder() -> Command:
            """Hand over to the finder."""
            return Command(goto="finder", graph=Command.PARENT)

        return self.team(to_finder)

    def with_context(self, seen):
        class Trip(BaseModel):
            city: str
            party: int = 0

        def look(state, config: RunnableConfig, runtime: Runtime[Trip]):
            fields = config["configurable"]
            seen.append((fields["city"], fields["uid"], fields["party"], runtime.context))
            assert seen[0] == ("Lindenau", "u1", 3, Trip(city="Lindenau", party=3))
            return {"messages": [AIMessage(tool(find).invoke({"query": "cafe"}))]}

        return StateGraph(MessagesState, Trip).add_node("look", look).add_edge(START, "look").compile()

    def guarded(self):
        @before_model(can_jump_to=["end"])
        def polite(state, runtime):
            return {"messages": [AIMessage(DECLINED)], "jump_to": "end"}

        return self.agent(middleware=[polite])

    def streaming(self):
        graph = sandboxed(self.agent())

        async def function(message, tools):
            given = {"messages": [("user", message)]}
            pieces = [piece async for piece, _ in graph.astream(given, stream_mode="messages")]
            last = max(number for number, piece in enumerate(pieces) if piece.type == "tool")
            return "".join(piece.text for piece in pieces[last + 1 :])

        return function

    def as_tool(self, function):
        return tool(function)

    def ask(self, agent, message):
        return agent.invoke({"messages": [("user", message)]})["messages"][-1].text

    def test_a_tool_that_a_node_calls_by_itself_is_answered(self):
        def look(state):
            return {"messages": [AIMessage(tool(find).invoke({"query": "cafe"}))]}

        self.played(StateGraph(MessagesState).add_node("look", look).add_edge(START, "look"))

    def test_an_interrupt_is_asked_of_the_user_and_gets_what_the_user_says(self):
        def look(state):
            told = interrupt("What time do you leave?")
            return {"messages": [AIMessage(f"{told} {tool(find).invoke({'query': 'trip'})}")]}

        ended = play(StateGraph(MessagesState).add_node("look", look).add_edge(START, "look").compile(), "Plan a trip")
        assert replies(ended) == ["What time do you leave?", 'Yes, go ahead. {"places": ["Old trip"]}']
        assert calls(ended) == [("find", "ok")]

    def test_an_entrypoint_is_given_the_message(self):
        @entrypoint()
        async def agent(message: str) -> str:
            return await tool(find).ainvoke({"query": message.removeprefix("Find a ")})

        self.played(agent)

    def test_behind_a_function_tasks_that_an_entrypoint_waits_for_run(self):
        look = task(tool(find).invoke)

        @entrypoint()
        def agent(message):
            return str(look({"query": "cafe"}).result())

        self.played(lambda message, tools: sandboxed(agent).invoke(message))

    def team(self, hand_over):
        """Return a team whose front desk calls the tool hand_over, and whose finder finds."""
        front = create_agent(FrontDesk(tool=hand_over.name), [hand_over], name="front")
        finder = create_agent(Mind(), [tool(find)], name="finder")
        graph = StateGraph(MessagesState).add_node("front", front, destinations=("finder",)).add_node("finder", finder)
        return graph.add_edge(START, "front").compile()

    def test_a_tool_that_hands_over_without_declaring_it_runs_where_it_is_named(self):
        @tool
        def to_finder():
            """Hand over to the finder."""
            return Command(goto="finder", graph=Command.PARENT)

        team = self.team(to_finder)
        assert calls(play(team, "Find a cafe"))[0] == ("to_finder", "error")
        assert callers(play(team, "Find a cafe", run=["to_finder"])) == [("find", "finder")]

    def test_a_handoff_to_itself_ends_as_the_agents_own_fault(self):
        @tool
        def to_finder() -> Command:
            """Hand over to the front desk again."""
            return Command(goto="front", graph=Command.PARENT)

        ended = play(self.team(to_finder), "Find a cafe")
        assert (ended.ending, ended.fault.blame) == ("agent_error", "agent")
        assert "ran each other more than 100 times in one reply, last by to_finder" in ended.fault.message

    def test_the_first_of_two_handoffs_in_one_turn_is_the_one_that_is_followed(self):
        def hand_over(name):
            def move(query: str) -> Command:
                return Command(goto=name, graph=Command.PARENT)

            return StructuredTool.from_function(move, name=f"to_{name}", description="Hands over.")

        handoffs = [hand_over("one"), hand_over("two")]
        graph = StateGraph(MessagesState).add_edge(START, "front")
        graph.add_node(
            "front", create_agent(FrontDesk(tool="to_one", also="to_two"), handoffs), destinations=("one", "two")
        )
        for name in ("one", "two"):
            graph.add_node(name, create_agent(Mind(), [tool(find)], name=name))
        assert callers(self.played(graph.compile())) == [("find", "one")]

    def test_an_entrypoint_gets_what_it_declares(self):
        class Asked(TypedDict):
            message: str
            city: str
            party: int

        seen = []

        @entrypoint()
        async def agent(asked: Asked) -> str:
            seen.append(asked)
            return await tool(find).ainvoke({"query": asked["message"].removeprefix("Find a ")})

        self.played(agent)
        assert seen == [{"message": "Find a cafe", "city": "Lindenau", "party": 3}]

    def test_a_graph_inside_a_graph_is_answered_too(self):
        self.played(StateGraph(MessagesState).add_node("inner", self.agent()).add_edge(START, "inner").compile())

    def test_a_state_without_messages_is_named(self):
        graph = (
            StateGraph(TypedDict("State", {"question": str})).add_node("n", lambda state: state).add_edge(START, "n")
        )
        fault = play(graph.compile(), "Find a cafe").fault
        assert "the state of the graph has no messages, only question" in fault.message

    def test_a_thread_that_lost_its_context_runs_no_real_tool(self):
        def look(state):
            heard = []
            thread = Thread(target=lambda: heard.append(tool(find).invoke({"query": "cafe"})))
            thread.start()
            thread.join()
            return {"messages": [AIMessage("done")]}

        ended = play(StateGraph(MessagesState).add_node("look", look).add_edge(START, "look"), "Find a cafe")
        assert ended.fault.blame == "infrastructure"
        assert "called on a thread without its context" in ended.fault.message

    @pytest.mark.parametrize(
        "call",
        [
            lambda own: own.invoke({"query": "cafe"}),
            lambda own: own.run({"query": "cafe"}),
            lambda own: own.run("cafe"),
            lambda own: own.batch([{"query": "cafe"}]),
            lambda own: own.func("cafe"),
            lambda own: own._run("cafe", config={}),
            lambda own: ThreadPoolExecutor(1).submit(own.func, query="cafe").result(),
            lambda own: asyncio.run(own.ainvoke({"query": "cafe"})),
            lambda own: ToolNode([own]).invoke(CALLED, config={"configurable": {"__pregel_runtime": Runtime()}}),
        ],
    )
    def test_behind_a_function_each_way_to_a_body_is_met(self, call):
        self.refused(lambda message, tools: str(call(tool(find))))
        ended = play(lambda message, tools: str(call(sandboxed([tool(find)])[0])), "Find a cafe")
        assert calls(ended) == [("find", "ok")]

    def test_behind_a_function_a_tool_of_a_class_of_its_own_is_met(self):
        class Find(BaseTool):
            name: str = "find"
            description: str = "Find places."

            def _run(self, query: str) -> str:
                return find(query)

            def invoke(self, given, config=None, **more):
                return find(str(given))

        self.refused(lambda message, tools: Find().invoke({"query": "cafe"}))
        self.refused(lambda message, tools: Find()._run("cafe"))
        self.played(lambda message, tools: sandboxed(Find()).invoke({"query": "cafe"}))

    def test_behind_a_function_streams_and_graphs_inside_graphs_are_answered(self):
        graph = sandboxed(self.agent())
        given = {"messages": [("user", "Find a cafe")]}

        async def streams(message, tools):
            return [state async for state in graph.astream(given, stream_mode="values")][-1]["messages"][-1].text

        self.played(streams)
        self.played(lambda message, tools: list(graph.stream(given, stream_mode="values"))[-1]["messages"][-1].text)
        outer = StateGraph(MessagesState).add_node("inner", graph).add_edge(START, "inner").compile()
        self.played(lambda message, tools: self.ask(outer, message))

    def test_tools_run_as_ever_outside_an_episode(self):
        self.played(self.agent())
        own = tool("twice")(twice)
        assert own.invoke({"query": "a"}) == "aa"
        assert asyncio.run(own.ainvoke({"query": "a"})) == "aa"


def twice(query: str) -> str:
    """Say it twice."""
    return query * 2


def test_a_task_is_not_wrapped_in_place_of_its_function():
    """Wrapped as an object of LangGraph it would run for real, without a word."""
    with pytest.raises(TypeError, match="write @task above @sandboxed"):
        sandboxed(task(lambda number: number))
