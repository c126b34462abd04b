import asyncio
import json
from dataclasses import dataclass
from typing import TypedDict

import pytest
from minds import Step
from scenarios import DECLINED, Scenarios, Seen, callers, calls, find, mind, play, replies, source_of, weather

from pytest_mapsat import sandboxed
from pytest_mapsat.model import UsageError

pytest.importorskip(
    "agents.tool", reason="openai-agents is not installed; python tests/frameworks installs and tests it"
)

from agents import (
    Agent,
    AgentHooks,
    FunctionTool,
    GuardrailFunctionOutput,
    Model,
    ModelResponse,
    RunContextWrapper,
    Runner,
    ToolGuardrailFunctionOutput,
    Usage,
    WebSearchTool,
    function_tool,
    handoff,
    input_guardrail,
    tool_input_guardrail,
)
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseReasoningItem,
    ResponseUsage,
)
from pydantic import BaseModel


@dataclass
class Trip:
    uid: str
    city: str
    party: int = 0


class TripModel(BaseModel):
    uid: str
    city: str
    party: int = 0


class TripDict(TypedDict):
    uid: str
    city: str
    party: int


@dataclass
class Lacking:
    uid: str
    tenant: str


class Place(BaseModel):
    place: str
    stars: int


def words(item):
    if item.get("type") == "function_call_output":
        # A handover has a result, too, which names the next agent.
        return ("" if item["output"].startswith('{"assistant"') else "tool"), item["output"]
    content = item.get("content") or ""
    return item.get("role", ""), content if isinstance(content, str) else content[0]["text"]


class Mind(Model):
    def __init__(self, *, slow):
        self.slow = slow

    async def get_response(self, *, input, output_schema, **more):  # noqa: A002  # the framework's own names
        await asyncio.sleep(30 if self.slow else 0.01)
        seen = Seen([words(item) for item in input])
        step = mind(seen, structured=output_schema is not None)
        return answered(step, len(input))

    async def stream_response(self, system_instructions, input, *given, **more):  # noqa: A002  # the framework's own names
        answer = await self.get_response(input=input, output_schema=None)
        used = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        used |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = Response.model_construct(id="r", output=answer.output, usage=ResponseUsage.model_construct(**used))
        yield ResponseCompletedEvent.model_construct(response=response, type="response.completed", sequence_number=1)


def answered(step, number):
    """Return what the mind decides, as the model's response."""
    thought = {"id": "r1", "type": "reasoning", "summary": [{"type": "summary_text", "text": step.thought}]}
    output = [ResponseReasoningItem.model_validate(thought)] if step.thought else []
    for place, (name, arguments) in enumerate(step.calls):
        call = {
            "name": name,
            "arguments": json.dumps(arguments),
            "call_id": f"c{number}-{place}",
            "type": "function_call",
        }
        output.append(ResponseFunctionToolCall.model_validate(call))
    if not step.calls:
        said = {"type": "output_text", "text": json.dumps(step.data) if step.data else step.say, "annotations": []}
        message = {"id": "m1", "role": "assistant", "type": "message", "status": "completed", "content": [said]}
        output.append(ResponseOutputMessage.model_validate(message))
    return ModelResponse(output, Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15), None)


class TestOpenAIAgents(Scenarios):
    name = "openai-agents"
    example = "openai_agent.py"

    def model(self):
        return Mind(slow=False)

    def agent(self, *, output=False, approval=False, tools=None, slow=False, name="guide", **options):
        own = [function_tool(find, needs_approval=approval), function_tool(weather)]
        own = own if tools is None else tools
        return Agent(name, model=Mind(slow=slow), tools=own, output_type=Place if output else None, **options)

    def as_tool(self, function):
        return function_tool(function)

    def ask(self, agent, message):
        return asyncio.run(Runner.run(agent, message)).final_output

    def handing_over(self):
        return Agent("desk", model=HandsOver("transfer_to_finder", {}), handoffs=[self.agent(name="finder")])

    def with_context(self, seen):
        def instructions(context: RunContextWrapper[Trip], agent):
            seen.append(context.context)
            return "You help."

        return self.agent(instructions=instructions)

    def guarded(self):
        @input_guardrail
        def polite(context, agent, asked):
            return GuardrailFunctionOutput(DECLINED, tripwire_triggered=True)

        return self.agent(input_guardrails=[polite])

    def streaming(self):
        agent = sandboxed(self.agent())

        async def function(message, tools):
            run = Runner.run_streamed(agent, message)
            assert [event async for event in run.stream_events()]
            return run.final_output

        return function

    def test_the_tools_of_an_agent_that_is_a_tool_are_answered(self):
        helper = self.agent().as_tool("helper", "Finds places.")
        self.played(Agent("desk", model=HandsOver("helper", {"input": "Find a cafe"}), tools=[helper]))

    def test_an_agent_that_is_a_tool_does_not_run_where_the_case_has_a_tool_of_its_name(self):
        helper = self.agent(name="helper").as_tool("find", "Finds places.")
        ended = self.played(Agent("desk", model=HandsOver("find", {"query": "cafe"}), tools=[helper]))
        assert callers(ended) == [("find", "desk")]

    def test_the_agent_that_was_handed_over_to_goes_on(self):
        ended = play(Agent("desk", model=HandsOver("transfer_to_guide", {}), handoffs=[self.agent()]), "Plan a trip")
        assert calls(ended) == [("find", "ok")]
        assert "Plan a trip" in replies(ended)[1]

    def test_steps_of_an_agent_that_is_a_tool_keep_which_agent_called(self):
        helper = self.agent().as_tool("helper", "Finds places.")
        desk = Agent("desk", model=HandsOver("helper", {"input": "Find a cafe"}), tools=[helper])
        assert callers(self.played(desk)) == [("find", "guide")]

    @pytest.mark.parametrize("kind", [Trip, TripModel, TripDict], ids=["dataclass", "pydantic", "typed-dict"])
    def test_a_context_of_ones_own_is_filled_from_the_case(self, kind):
        seen = []

        def instructions(context, agent):
            seen.append(context.context)
            return "You help."

        self.played(
            Agent[kind]("guide", instructions=instructions, model=Mind(slow=False), tools=[function_tool(find)])
        )
        expected = {"uid": "u1", "city": "Lindenau", "party": 3}
        assert isinstance(seen[0], dict if kind is TripDict else kind)
        assert {name: seen[0][name] if kind is TripDict else getattr(seen[0], name) for name in expected} == expected

    def test_the_context_is_known_from_instructions_and_guardrails_too(self):
        seen = []

        def instructions(context: RunContextWrapper[Trip], agent):
            seen.append(context.context)
            return "You help."

        self.played(self.agent(instructions=instructions))
        assert seen[0] == Trip("u1", "Lindenau", 3)

        @input_guardrail
        def guard(context: RunContextWrapper[Trip], agent, asked):
            seen.append(context.context)
            return GuardrailFunctionOutput(None, tripwire_triggered=False)

        self.played(self.agent(input_guardrails=[guard]))
        assert seen[-1] == Trip("u1", "Lindenau", 3)

    def test_a_context_that_the_case_cannot_fill_loses_the_episode_and_says_where_to_put_the_field(self):
        def instructions(context: RunContextWrapper[Lacking], agent):
            return "You help."

        fault = play(self.agent(instructions=instructions), "Find a cafe").fault
        assert fault.blame == "infrastructure"
        assert "Put 'tenant' into visible.context.details of the case" in fault.message

    @pytest.mark.parametrize("words", ["I only know about places.", ""])
    def test_a_guardrail_that_trips_is_a_reply_with_its_words(self, words):
        @input_guardrail
        def off_topic(context, agent, asked):
            return GuardrailFunctionOutput(words, tripwire_triggered=True)

        ended = play(self.agent(input_guardrails=[off_topic]), "Find a cafe")
        assert ended.fault is None, ended.fault
        assert replies(ended)[0] == (words or "The guardrail off_topic declined this.")
        assert "the guardrail off_topic tripped" in [step.text for step in ended.turns[1].steps]

    def test_an_agent_that_is_a_tool_of_its_own_is_the_agents_own_fault(self):
        agent = Agent("guide", model=HandsOver("helper", {"input": "Find a cafe"}))
        agent.tools = [agent.as_tool("helper", "Asks itself.")]
        ended = play(agent, "Find a cafe")
        assert (ended.ending, ended.fault.blame) == ("agent_error", "agent")
        assert "ran each other more than 100 times in one reply, last by helper" in ended.fault.message

    def test_hooks_of_ones_own_ask_for_no_context(self):
        class Hooks(AgentHooks):
            async def on_tool_end(self, context, agent, tool, result):
                seen.append(result)

        seen = []
        self.played(self.agent(hooks=Hooks()))
        assert "Old cafe" in seen[0]

    def test_a_guardrail_of_a_tool_that_trips_is_a_reply_with_its_words(self):
        @tool_input_guardrail
        def polite(data):
            return ToolGuardrailFunctionOutput.raise_exception(DECLINED)

        own = function_tool(find)
        own.tool_input_guardrails = [polite]
        ended = play(self.agent(tools=[own]), "Find a cafe")
        assert ended.fault is None, ended.fault
        assert replies(ended)[0] == DECLINED

    def test_a_server_that_is_not_connected_is_refused_at_the_start(self):
        mcp = pytest.importorskip("agents.mcp")
        server = mcp.MCPServerStdio({"command": "maps"}, name="maps")
        with pytest.raises(
            UsageError, match="its MCP server 'maps' is not connected; connect it in an `async def make"
        ):
            source_of(self.agent(mcp_servers=[server]), "mymod:agent")

    def test_behind_a_function_agents_that_are_asked_by_others_are_met(self):
        desks = [
            lambda: Agent("desk", model=HandsOver("transfer_to_guide", {}), handoffs=[self.agent()]),
            lambda: Agent("desk", model=HandsOver("transfer_to_guide", {}), handoffs=[handoff(self.agent())]),
            lambda: Agent(
                "desk",
                model=HandsOver("helper", {"input": "Find a cafe"}),
                tools=[self.agent().as_tool("helper", "Finds places.")],
            ),
        ]
        for desk in desks:
            self.refused(self.behind(desk()))
            self.played(self.behind(sandboxed(desk())))
        guide = sandboxed(self.agent())
        self.played(self.behind(Agent("desk", model=HandsOver("transfer_to_guide", {}), handoffs=[guide])))

    def test_behind_a_function_tools_are_met_however_they_are_made_and_called(self):
        async def invoke(context, arguments):
            return find(**json.loads(arguments))

        schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
        by_hand = FunctionTool("find", "Finds.", schema, invoke, strict_json_schema=False)
        for own in (by_hand, function_tool(find)):
            self.refused(self.behind(self.agent(tools=[own])))
            self.refused(lambda message, tools, own=own: asyncio.run(own.on_invoke_tool(None, '{"query": "cafe"}')))
            self.played(self.behind(self.agent(tools=sandboxed([own]))))
        self.played(self.behind(self.agent(tools=[function_tool(sandboxed(find))])))

    def test_behind_a_function_a_tool_that_the_provider_runs_is_refused(self):
        agent = Agent("web", model=Mind(slow=False), tools=[WebSearchTool()])
        self.refused(self.behind(sandboxed(agent)), "no sandbox can answer it", "'web_search'")

    def test_a_tool_that_the_provider_runs_is_refused_by_name(self):
        with pytest.raises(UsageError, match="no sandbox can answer its WebSearchTool"):
            source_of(Agent("desk", handoffs=[Agent("web", tools=[WebSearchTool()])]), "mymod:agent")


class HandsOver(Mind):
    """Calls one tool, and says what comes back."""

    def __init__(self, *call):
        super().__init__(slow=False)
        self.call = call

    async def get_response(self, *, input, **more):  # noqa: A002  # the framework's own names
        results = [text for role, text in map(words, input) if role == "tool"]
        step = Step(results[-1]) if results else Step(calls=[self.call])
        return answered(step, len(input))
