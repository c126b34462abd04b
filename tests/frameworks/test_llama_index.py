import asyncio
from types import MappingProxyType

import pytest
from scenarios import Scenarios, Seen, find, mind, play, replies, weather

from pytest_mapsat import sandboxed
from pytest_mapsat.model import UsageError

pytest.importorskip(
    "llama_index.core", reason="llama-index is not installed; python tests/frameworks installs and tests it"
)

from llama_index.core.agent.workflow import AgentStream, AgentWorkflow, CodeActAgent, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, TextBlock, ThinkingBlock
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from pydantic import BaseModel


class Place(BaseModel):
    place: str
    stars: int


class Mind(FunctionCallingLLM):
    slow: bool = False
    hands_over: str = ""

    @property
    def metadata(self):
        return LLMMetadata(is_function_calling_model=True)

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **more):
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, response, **more):
        return response.message.additional_kwargs.get("calls", [])

    async def _answer(self, messages):
        await asyncio.sleep(30 if self.slow else 0.01)
        seen = Seen([(m.role.value, m.content or "") for m in messages if not (m.content or "").startswith("Agent ")])
        step, calls = mind(seen), []
        if self.hands_over:
            calls = [
                ToolSelection(
                    tool_id="h1", tool_name="handoff", tool_kwargs={"to_agent": self.hands_over, "reason": "x"}
                )
            ]
        else:
            calls = [
                ToolSelection(tool_id=f"c{number}", tool_name=name, tool_kwargs=arguments)
                for number, (name, arguments) in enumerate(step.calls)
            ]
        blocks = [ThinkingBlock(content=step.thought)] if step.thought else []
        blocks += [] if calls else [TextBlock(text=step.say)]
        message = ChatMessage(role="assistant", blocks=blocks, additional_kwargs={"calls": calls})
        return ChatResponse(message=message, raw={"usage": {"prompt_tokens": 10, "completion_tokens": 5}})

    async def achat(self, messages, **more):
        return await self._answer(messages)

    async def astream_chat(self, messages, **more):
        async def pieces():
            yield ChatResponse(message=ChatMessage(role="assistant", content="I"), delta="I")
            yield await self._answer(messages)

        return pieces()

    def chat(self, messages, **more):
        raise NotImplementedError

    stream_chat = complete = stream_complete = acomplete = astream_complete = chat


class TestLlamaIndex(Scenarios):
    name = "llama-index"
    lacks = MappingProxyType({"context": "the state is the workflow's own", "guardrail": "it has none"})
    approves = False

    def model(self):
        return Mind()

    def agent(self, *, output=False, tools=None, slow=False, name="guide", **options):
        async def structured(messages):
            return {"place": messages[-1].content, "stars": 4}

        own = [FunctionTool.from_defaults(find), FunctionTool.from_defaults(weather)] if tools is None else tools
        options |= {"structured_output_fn": structured} if output else {}
        return FunctionAgent(llm=Mind(slow=slow), name=name, description=name, tools=own, **options)

    def as_tool(self, function):
        return FunctionTool.from_defaults(function)

    def ask(self, agent, message):
        async def asked():
            return str(await agent.run(user_msg=message))

        return asyncio.run(asked())

    def handing_over(self):
        desk = FunctionAgent(llm=Mind(hands_over="finder"), name="desk", description="desk", can_handoff_to=["finder"])
        return AgentWorkflow(agents=[desk, self.agent(name="finder")], root_agent="desk")

    def streaming(self):
        agent = sandboxed(self.agent())

        async def function(message, tools):
            run = agent.run(user_msg=message)
            assert any([isinstance(event, AgentStream) async for event in run.stream_events()])
            return str(await run)

        return function

    def delegating(self):
        finder = self.agent()

        async def ask_finder(query: str) -> str:
            return str(await finder.run(user_msg=f"Find a {query}"))

        return self.agent(tools=[FunctionTool.from_defaults(find), FunctionTool.from_defaults(async_fn=ask_finder)])

    def test_a_second_turn_warns_of_nothing(self, recwarn):
        assert len(replies(play(self.agent(), "Plan a trip"))) == 2
        assert [str(warning.message) for warning in recwarn if "memory" in str(warning.message)] == []

    def test_input_that_a_tool_asks_for_is_asked_of_the_user(self):
        async def confirm(context: Context, query: str) -> str:
            event = InputRequiredEvent(prefix="What time do you leave?")
            answer = await context.wait_for_event(HumanResponseEvent, waiter_id="t", waiter_event=event)
            return answer.response

        agent = self.agent(tools=[FunctionTool.from_defaults(async_fn=confirm)])
        ended = play(agent, "Confirm a trip", run=["confirm"])
        assert ended.fault is None, ended.fault
        assert replies(ended)[0] == "What time do you leave?"
        assert "Yes, go ahead." in replies(ended)[1]

    def test_an_agent_that_runs_code_is_refused_by_name(self):
        agent = CodeActAgent(code_execute_fn=lambda code: code, llm=Mind())
        with pytest.raises(UsageError, match="no sandbox can answer its CodeActAgent"):
            play(agent, "Find a cafe")
