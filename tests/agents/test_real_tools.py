"""In an episode no tool of a framework runs for real: the sandbox answers it where the user says so, and it is refused elsewhere."""

import asyncio
import inspect
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_mapsat import guard, sandboxed
from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import Limits, run_episode, shutdown
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.users import make_user

sys.path.insert(0, str(Path(__file__).parents[1] / "episode"))
from episodes import CASE, FIND, RECORDING, recorded_sandbox

#: What a framework is where it calls tools, in a package of the name of one.
FRAMEWORK = """
class Tool:
    name, inputs, output_type = "find", {"query": {}}, "string"

    def __call__(self, *given, **options):
        return self.forward(*given, **options)
"""
really_called = []


def find(query: str, limit: int = 3, **more) -> str:
    """Find places in the real world, which no test may."""
    really_called.append(query)
    return "the real world"


@pytest.fixture(autouse=True)
def _run():
    really_called.clear()
    shutdown()  # tests before these may have left an agent's watch behind, and episodes without an end
    guard._under_way.clear()
    yield
    shutdown()


@pytest.fixture
def framework(tmp_path, monkeypatch):
    """A package that is called smolagents, and not imported yet."""
    (tmp_path / "smolagents").mkdir()
    (tmp_path / "smolagents" / "__init__.py").write_text("")
    (tmp_path / "smolagents" / "tools.py").write_text(FRAMEWORK)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "smolagents"]:
        del sys.modules[name]


def own_tool():
    from smolagents.tools import Tool

    class Find(Tool):
        def forward(self, query):
            return find(query)

    return Find()


def play(agent, **limits):
    user = make_user("scripted", CASE)
    return run_episode(CASE, source_of(agent, "mine:agent"), user, recorded_sandbox(), Limits(**limits))


def ended(agent, **limits):
    """Return how the episode of an agent ended, and what was said of it."""
    played = play(agent, **limits)
    return played.ending, played.fault and played.fault.blame, played.fault and played.fault.message


def calls(played):
    return [(step.tool, step.arguments) for turn in played.turns for step in turn.steps if step.kind == "call"]


def test_a_tool_that_would_run_for_real_is_refused_and_nobody_blames_the_agent(framework):
    def agent(message, tools):
        try:
            return own_tool()(query="cafe")  # the framework is imported in the middle of a reply
        except Exception:  # noqa: BLE001  # an agent that swallows everything
            return "swallowed"

    ending, blame, said = ended(agent)
    assert (ending, blame) == ("infrastructure_error", "infrastructure")
    assert "'find' (smolagents) would have run for real" in said
    assert "write `agent = pytest_mapsat.sandboxed(agent)`" in said

    async def coroutine(message, tools):
        return await asyncio.to_thread(own_tool().forward, "cafe")

    assert ended(coroutine)[:2] == ("infrastructure_error", "infrastructure")
    assert (
        ended(lambda message, tools: ThreadPoolExecutor(1).submit(own_tool(), "cafe").result())[1] == "infrastructure"
    )
    assert really_called == []


def test_the_sandbox_answers_what_is_sandboxed_wherever_it_is_called_from(framework):
    kept = []

    def agent(message, tools):
        kept[:] = kept or [sandboxed(own_tool())]
        with ThreadPoolExecutor(2) as pool:
            return " ".join([kept[0](query="cafe"), *pool.map(kept[0], ["cafe"]), sandboxed([own_tool()])[0]("cafe")])

    for _ in range(2):
        assert calls(play(agent)) == [("find", {"query": "cafe"})] * 3
    with ThreadPoolExecutor(8) as pool:
        assert all(len(calls(played)) == 3 for played in pool.map(play, [agent] * 8))
    assert really_called == []
    assert kept[0](query="cafe") == "the real world"  # outside


def test_a_thread_that_is_left_behind_is_refused_as_long_as_the_run_goes_on(framework):
    refused = []

    def late(tool):
        time.sleep(0.3)
        try:
            tool("late")
        except BaseException as error:  # noqa: BLE001
            refused.append(type(error).__name__)

    def hangs(message, tools):
        late(own_tool())

    def forgets(message, tools):
        threading.Thread(target=late, args=(own_tool(),)).start()
        return "on its way"

    assert ended(hangs, timeout=0.1)[0] == "timeout"
    assert ended(forgets)[1] is None
    tool = own_tool()
    for _ in range(100):
        if len(refused) == 2:
            break
        time.sleep(0.02)
    assert (refused, really_called) == (["RefusedTool"] * 2, [])

    thread = threading.Thread(target=tool, args=("a unit test",))  # afterwards, and nobody's in an episode
    thread.start()
    thread.join()
    assert really_called == ["a unit test"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_agent_that_waits_for_a_refused_thread_is_not_blamed_for_the_time(framework):
    def agent(message, tools):
        threading.Thread(target=own_tool(), args=("cafe",)).start()
        threading.Event().wait(5)

    ending, _, said = ended(agent, timeout=0.3)
    assert ending == "infrastructure_error"
    assert "called on a thread without its context" in said


def test_nothing_is_watched_before_an_agent_is_played_and_after_the_run(framework):
    own_tool()
    kind, submit, finders = sys.modules["smolagents.tools"].Tool, ThreadPoolExecutor.submit, list(sys.meta_path)
    ended(lambda message, tools: own_tool()("cafe"))
    assert "__getattribute__" in vars(kind)
    shutdown()
    assert "__getattribute__" not in vars(kind)
    assert (ThreadPoolExecutor.submit, sys.meta_path) == (submit, finders)
    assert own_tool()("cafe") == "the real world"


def test_a_plain_function_keeps_its_signature_and_is_answered_by_its_name():
    async def look(query: str) -> str:
        return find(query)

    own = sandboxed({"find": find})["find"]
    assert inspect.signature(own) == inspect.signature(find)
    assert inspect.iscoroutinefunction(sandboxed(look))
    assert sandboxed(own) is own
    assert sandboxed((find, look))[1].__name__ == "look"
    assert own("cafe") == asyncio.run(sandboxed(look)("cafe")) == "the real world"
    really_called.clear()

    async def agent(message, tools):
        await sandboxed(look)("cafe")
        return str(own("cafe", sort="near"))

    assert calls(play(agent)) == [("look", {"query": "cafe"}), ("find", {"query": "cafe", "sort": "near"})]
    assert really_called == []
    with pytest.raises(TypeError, match="takes an agent, tools or a function, not an object of type str"):
        sandboxed("find")


def test_a_session_with_an_mcp_server_is_refused_and_can_be_answered():
    mcp = pytest.importorskip("mcp")
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("places")
    server.tool(name="find")(find)

    async def asks(sandbox):
        async with mcp.Client(server) as client:
            result = await sandbox(client).call_tool("find", {"query": "cafe"})
            return result.content[0].text

    async def careless(message, tools):
        return await asks(lambda client: client)

    async def careful(message, tools):
        return await asks(sandboxed)

    assert ended(careless)[1] == "infrastructure"
    assert calls(play(careful)) == [("find", {"query": "cafe"})]
    assert really_called == []


def test_the_sandbox_itself_may_use_tools_of_a_framework(framework):
    class Asks(RecordedSandbox):
        def call(self, name, arguments):
            own_tool()("asked by the sandbox")
            return super().call(name, arguments)

    def agent(message, tools):
        return str(tools.find(query="cafe"))

    played = run_episode(
        CASE, source_of(agent, "mine:agent"), make_user("scripted", CASE), Asks({"find": FIND}, [RECORDING])
    )
    assert played.fault is None, played.fault
    assert set(really_called) == {"asked by the sandbox"}
