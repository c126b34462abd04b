"""What the agents of every framework are put through: one world, one class of tests.

A test file of a framework says how its agent is built, and how its fake model asks the mind.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest
import tiny_suite
from minds import Seen, mind
from saved_runs import saved_text

from pytest_mapsat import sandboxed
from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.episode import Limits, run_episode, shutdown
from pytest_mapsat.model import (
    Case,
    Context,
    EpisodeTerms,
    Location,
    Recording,
    Requirement,
    ScriptedAnswer,
    Tool,
    Truth,
    UsageError,
    UserScript,
    Visible,
)
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.users import make_user

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "examples" / "frameworks" / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
#: The agents' own functions take any text.
SCHEMA = {"type": "object", "properties": {"query": {"type": "string", "minLength": 2}}, "required": ["query"]}
FIND = Tool(name="find", description="Find places.", parameters=SCHEMA)
__all__ = [
    "DECLINED",
    "Scenarios",
    "Seen",
    "as_text",
    "callers",
    "calls",
    "find",
    "mind",
    "play",
    "really_called",
    "replies",
    "source_of",
    "weather",
]

#: What a guardrail says.
DECLINED = "Only polite words, please."
#: What the user answers, whatever the agent asks.
ANSWER = "Yes, go ahead."
#: Calls of the agent's own tools that were not answered by the sandbox.
really_called: list[str] = []


def find(query: str) -> str:
    """Find places in the real world, which no test may."""
    really_called.append(f"find {query}")
    return "the real world"


def weather(query: str) -> str:
    """Tell the weather; the sandbox has no such tool."""
    really_called.append(f"weather {query}")
    return "the real weather"


def case(query: str, answer: str = ANSWER, run=()) -> Case:
    context = Context(
        now="2026-05-01T09:00:00",
        location=Location(lon=1, lat=2, name="Gate"),
        city="Lindenau",
        uid="u1",
        details={"party": 3},
    )
    script = UserScript(answers=(ScriptedAnswer(asked=("what time", "may i"), say=answer),))
    requirement = Requirement(kind="asked", id="e1", text="a place is named")
    name = "".join(c if c.isalnum() else "-" for c in query)
    return Case(
        id=name,
        language="en",
        visible=Visible(query=query, context=context),
        episode=EpisodeTerms(run=run),
        truth=Truth(intent="secret-intent", requirements=(requirement,), user=script),
    )


def play(source, query, answer=ANSWER, run=(), **limits):
    """Play an episode in which the place of anything is called after it; ``run``: the agent's tools that run another agent."""
    if isinstance(source, str):
        source = resolve_source(source, root=Path())
    elif not hasattr(source, "kind"):
        source = source_of(source, "mymod:agent")
    asked = case(query, answer, run)
    names = [query.partition(" a ")[2] or "trip", "secret"]
    recordings = [
        Recording(case=asked.id, tool="find", arguments={"query": name}, result={"places": [f"Old {name}"]})
        for name in names
    ]
    sandbox = RecordedSandbox({"find": FIND}, recordings)
    return run_episode(asked, source, make_user("scripted", asked), sandbox, Limits(**{"timeout": 30, **limits}))


def replies(trajectory):
    return [turn.text for turn in trajectory.turns if turn.role == "agent"]


def callers(trajectory):
    """Return the tools that were called, each with the agent of the team that called it."""
    return [(s.tool, s.agent) for turn in trajectory.turns for s in turn.steps if s.kind == "call"]


def calls(trajectory):
    return [(s.tool, s.status) for turn in trajectory.turns for s in turn.steps if s.kind == "call"]


class Scenarios:
    """The tests of one framework."""

    name: str
    #: What one call of the fake model uses, tokens in and out.
    usage: tuple[int, int] | None = (10, 5)
    #: The cells of the matrix that the framework leaves empty, each with what it has not, or has elsewhere.
    lacks: Mapping[str, str] = MappingProxyType({})
    #: Whether the framework shows what a model thinks, and has a go-ahead of its own for the calls of tools.
    thinks = approves = True
    #: The file in examples/frameworks/, where there is one.
    example = ""

    def model(self) -> Any:
        """Return the fake model, as the framework takes one."""
        raise NotImplementedError

    def finished(self, agent: Any) -> Any:
        """Return what the page's example has made, able to run here."""
        return agent

    def agent(self, **wishes: Any) -> Any:
        """Build the agent with the tools find and weather of this module.

        Args:
            wishes: ``output``: with the output type {place, stars}; ``approval``: find needs a go-ahead; ``tools``: these, of the framework, and no own ones.
        """
        raise NotImplementedError

    #: Whether the tools of an agent behind a function can be answered by the sandbox; those of a program that is started cannot.
    sandboxes = True

    def ask(self, agent: Any, message: str) -> str:
        """Run the agent as a function of the user's does, and return what it says."""
        raise NotImplementedError

    def as_tool(self, function: Any) -> Any:
        """Return a function as a tool of the framework."""
        raise NotImplementedError

    def handing_over(self) -> Any:
        """Return a team whose first agent hands over to the agent ``finder`` with the tools find and weather."""
        raise NotImplementedError

    def with_context(self, seen: list[Any]) -> Any:
        """Return an agent that adds to the list what it has of the context of the case."""
        raise NotImplementedError

    def guarded(self) -> Any:
        """Return an agent with a guardrail that declines with the words of ``DECLINED``, once."""
        raise NotImplementedError

    def streaming(self) -> Any:
        """Return the agent, or a function that runs it, such that the words of the model come in pieces, before its calls."""
        raise NotImplementedError

    def need(self, cell: str) -> None:
        """Skip the test where the framework has no such thing."""
        if cell in self.lacks:
            pytest.skip(f"not in this framework: {self.lacks[cell]}")

    def delegating(self):
        """Return an agent with find and the tool ask_finder, a function that runs the agent with the tools find and weather."""
        finder = self.agent()

        def ask_finder(query: str) -> str:
            """Ask the finder."""
            return self.ask(finder, f"Find a {query}")

        return self.agent(tools=[self.as_tool(find), self.as_tool(ask_finder)])

    def behind(self, agent):
        """Return the function of a user who runs the agent in it."""

        def function(message, tools):
            return self.ask(agent, message)

        return function

    def refused(self, agent, said="sandboxed", tool="'find'"):
        """See that no tool of an agent was run for real, and that the run's set-up is blamed for it."""
        ended = play(agent, "Find a cafe")
        assert (ended.ending, ended.fault.blame) == ("infrastructure_error", "infrastructure"), ended
        assert tool in ended.fault.message
        assert said in ended.fault.message
        assert calls(ended) == []
        assert really_called == []

    def refused_at_the_start(self, agent, reason, record_property):
        """See that an agent is refused before the first case, and record the reason for the matrix."""
        with pytest.raises(UsageError, match=reason) as refusal:
            source_of(agent, "my_agents:agent")
        record_property("refused", str(refusal.value).removeprefix("agent 'my_agents:agent': "))

    def lost(self, error):
        """See that an episode is lost, and not failed, where the agent's model raises an error."""
        ended = play(self.agent(error=error), "Find a cafe")
        assert (ended.ending, ended.fault.blame) == ("infrastructure_error", "infrastructure"), ended.fault

    def spec(self, monkeypatch, **attributes):
        module = ModuleType("agents_of_test")
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        (name,) = attributes
        return f"agents_of_test:{name}"

    @pytest.fixture(autouse=True)
    def _nothing_real(self):
        really_called.clear()
        yield
        assert really_called == []

    def played(self, agent):
        """Play an agent that finds a cafe."""
        ended = play(agent, "Find a cafe")
        assert ended.fault is None, ended.fault
        assert calls(ended) == [("find", "ok")]
        assert "Old cafe" in replies(ended)[0]
        return ended

    def test_a_call_of_its_own_tool_is_answered_by_the_sandbox(self):
        self.played(self.agent())

    def test_a_clarification_is_asked_and_the_first_turn_remembered(self):
        ended = play(self.agent(), "Plan a trip")
        assert ended.fault is None, ended.fault
        first, second = replies(ended)[:2]
        assert first == "What time do you leave?"
        assert "Plan a trip" in second
        assert ANSWER in second
        assert calls(ended) == [("find", "ok")]

    def test_the_error_of_a_tool_reaches_the_model(self):
        ended = play(self.agent(), "Find nothing")
        assert ended.fault is None, ended.fault
        assert calls(ended) == [("find", "error")]
        assert "query" in replies(ended)[0]

    def test_a_tool_that_the_case_lacks_is_never_run_and_counts_as_called(self):
        ended = play(self.agent(), "Weather a cafe")
        assert ended.fault is None, ended.fault
        assert calls(ended) == [("weather", "error")]
        assert "weather" in replies(ended)[0]

    def test_a_team_hands_over_and_steps_keep_which_agent_called(self):
        self.need("handoff")
        assert callers(self.played(self.handing_over())) == [("find", "finder")]

    def test_the_context_of_the_case_is_where_the_framework_has_one(self):
        self.need("context")
        seen: list[Any] = []
        self.played(self.with_context(seen))
        assert "Lindenau" in str(seen[0])

    def test_a_guardrail_that_declines_is_no_fault_and_its_words_are_read(self):
        self.need("guardrail")
        ended = play(self.guarded(), "Find a cafe")
        assert ended.fault is None, ended.fault
        assert DECLINED in replies(ended)[0]

    def test_a_model_that_streams_words_and_then_calls_is_answered(self):
        self.need("stream")
        self.played(self.streaming())

    def test_parallel_calls_of_one_turn_are_answered_in_their_order(self):
        ended = play(self.agent(), "Both a cafe")
        assert ended.fault is None, ended.fault
        places = [s.arguments["query"] for turn in ended.turns for s in turn.steps if s.kind == "call"]
        assert places == ["cafe", "secret"]
        assert "Old secret" in replies(ended)[0]
        if self.sandboxes:
            ended = play(self.behind(sandboxed(self.agent())), "Both a cafe")
            assert [s.arguments["query"] for turn in ended.turns for s in turn.steps if s.kind == "call"] == places

    def test_agents_that_are_run_by_parallel_calls_run_one_after_the_other(self):
        self.need("subagent")
        ended = play(self.delegating(), "Each a cafe", run=["ask_finder"])
        assert ended.fault is None, ended.fault
        places = [s.arguments["query"] for turn in ended.turns for s in turn.steps if s.kind == "call"]
        assert places == ["cafe", "secret"]

    def test_a_tool_that_runs_another_agent_runs_where_the_case_names_it(self):
        self.need("subagent")
        agent = self.delegating()
        assert calls(play(agent, "Ask_finder a cafe")) == [("ask_finder", "error")]
        ended = play(agent, "Ask_finder a cafe", run=["ask_finder"])
        assert ended.fault is None, ended.fault
        assert calls(ended) == [("find", "ok")]
        assert "Old cafe" in replies(ended)[0]
        if self.usage is not None:
            used = ended.turns[1].usage
            assert (used.input_tokens, used.output_tokens) == tuple(4 * n for n in self.usage)

    def test_a_tool_that_runs_another_agent_runs_where_the_spec_names_it(self, monkeypatch):
        self.need("subagent")
        spec = f"{self.name}:{self.spec(monkeypatch, agent=self.delegating())}?run=ask_finder"
        assert calls(play(spec, "Ask_finder a cafe")) == [("find", "ok")]

    def test_a_tool_that_the_case_has_never_runs_even_where_it_is_named(self):
        ended = play(self.agent(), "Find a cafe", run=["find"])
        assert calls(ended) == [("find", "ok")]

    def test_structured_output_is_the_output_of_the_reply(self):
        ended = play(self.agent(output=True), "Find a cafe")
        assert ended.fault is None, ended.fault
        reply = next(turn for turn in ended.turns if turn.role == "agent")
        assert reply.output["stars"] == 4
        assert "Old cafe" in reply.output["place"]
        assert reply.text

    def test_a_crash_is_the_agents_fault_in_its_own_words(self):
        ended = play(self.agent(), "Crash")
        assert ended.ending == "agent_error"
        assert ended.fault.blame == "agent"
        assert "the model's own words" in ended.fault.message

    def test_usage_until_a_crash_is_kept(self):
        ended = play(self.agent(), "Break a cafe")
        assert (ended.ending, calls(ended)) == ("agent_error", [("find", "ok")])
        if self.usage is not None:
            used = ended.turns[1].usage
            assert (used.input_tokens, used.output_tokens) == self.usage

    def test_usage_is_counted_over_all_calls_of_the_model(self):
        turn = play(self.agent(), "Find a cafe").turns[1]
        if self.usage is None:
            assert turn.usage.input_tokens is None
        else:
            assert (turn.usage.input_tokens, turn.usage.output_tokens) == tuple(2 * n for n in self.usage)

    def test_thoughts_are_kept(self):
        if not self.thinks:
            pytest.skip(f"{self.name} shows no thoughts")
        steps = play(self.agent(), "Find a cafe").turns[1].steps
        assert "I look it up." in [step.text for step in steps if step.kind == "thought"]

    def test_many_episodes_at_once_on_one_agent_never_mix(self):
        agent = self.agent()
        source, places = source_of(agent, "mymod:agent"), [f"place{number}" for number in range(6)]
        with ThreadPoolExecutor(len(places)) as pool:
            ended = list(pool.map(lambda place: play(source, f"Find a {place}"), places))
        for place, trajectory in zip(places, ended, strict=True):
            assert trajectory.fault is None, trajectory.fault
            assert calls(trajectory) == [("find", "ok")]
            assert replies(trajectory)[0].count("place") == 2 + replies(trajectory)[0].count("places")
            assert f"Find a {place}" in replies(trajectory)[0]
            assert f"Old {place}" in replies(trajectory)[0]

    def test_the_second_case_knows_nothing_of_the_first(self):
        source = source_of(self.agent(), "mymod:agent")
        play(source, "Find a bank")
        for _ in range(2):
            ended = play(source, "Find a cafe")
            assert "bank" not in replies(ended)[0]
            assert calls(ended) == [("find", "ok")]

    def test_a_go_ahead_is_asked_of_the_user(self):
        if not self.approves:
            pytest.skip(f"{self.name} asks for no go-ahead")
        ended = play(self.agent(approval=True), "Find a cafe")
        assert ended.fault is None, ended.fault
        assert "find" in replies(ended)[0]
        assert calls(ended) == [("find", "ok")]
        assert "Old cafe" in replies(ended)[1]

    def test_a_call_that_the_user_declines_is_not_made(self):
        if not self.approves:
            pytest.skip(f"{self.name} asks for no go-ahead")
        ended = play(self.agent(approval=True), "Find a cafe", answer="No, please don't.", max_turns=2)
        assert ended.fault is None, ended.fault
        assert calls(ended) == []

    def test_a_factory_is_given_the_tools_of_the_case_as_the_frameworks_own(self, monkeypatch):
        def make(tools):
            return self.agent(tools=tools)

        self.played(f"{self.name}:{self.spec(monkeypatch, make=make)}")

    def test_a_plain_factory_may_return_an_agent_of_the_framework(self):
        self.played(lambda: self.agent())  # noqa: PLW0108  # a callable without a message

    def test_a_spec_with_the_name_of_the_framework_takes_an_agent_too(self, monkeypatch):
        self.played(f"{self.name}:{self.spec(monkeypatch, agent=self.agent())}")

    def test_the_example_of_the_page_runs(self, monkeypatch):
        [block] = [block for block in BLOCKS if block.startswith(f"# {self.name}\n")]
        names = {"model": self.model()}
        exec(block, names)

        def make(tools):
            return self.finished(names["make"](tools))

        self.played(f"{self.name}:{self.spec(monkeypatch, make=make)}")

    def test_the_example_to_copy_passes(self):
        if not self.example:
            pytest.skip(f"there is no example of {self.name}")
        about = ast.get_docstring(ast.parse((ROOT / "examples" / "frameworks" / self.example).read_text("utf-8")))
        [command] = re.findall(r"``pytest (.+?)``", about)
        run = [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-W",
            "ignore",
            "-p",
            "no:cacheprovider",
            *command.split(),
        ]
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        assert re.search(r"sandbox +1 call", done.stdout)

    def test_behind_a_function_no_tool_runs_for_real(self):
        said = "sandboxed(agent)" if self.sandboxes else "--mapsat-agent=module:options"
        self.refused(self.behind(self.agent()), said, "'find'" if self.sandboxes else "'Bash'")

    def test_behind_a_function_the_sandbox_answers_what_is_sandboxed(self):
        if not self.sandboxes:
            pytest.skip(f"no tool of {self.name} can be answered behind a function")
        agent = self.agent()
        assert sandboxed(agent) is agent
        self.played(self.behind(agent))

        def made_inside(message, tools):
            return self.ask(sandboxed(self.agent()), message)

        self.played(made_inside)

        async def coroutine(message, tools):
            return await asyncio.to_thread(self.ask, agent, message)

        self.played(coroutine)

    def test_many_episodes_at_once_behind_a_function_never_mix(self):
        if not self.sandboxes:
            pytest.skip(f"no tool of {self.name} can be answered behind a function")

        def function(message, tools):
            return self.ask(sandboxed(self.agent()), message)

        source, places = source_of(function, "mymod:agent"), [f"place{number}" for number in range(8)]
        with ThreadPoolExecutor(len(places)) as pool:
            ended = list(pool.map(lambda place: play(source, f"Find a {place}"), places))
        for place, trajectory in zip(places, ended, strict=True):
            assert trajectory.fault is None, trajectory.fault
            assert calls(trajectory) == [("find", "ok")]
            assert f"Old {place}" in replies(trajectory)[0]

    def test_outside_an_episode_its_tools_run_as_ever(self):
        if not self.sandboxes:
            pytest.skip(f"it would take the program of {self.name}")
        agent = sandboxed(self.agent())
        self.played(self.behind(agent))
        for _ in range(2):
            assert "the real world" in self.ask(agent, "Find a cafe")
            assert really_called == ["find cafe"]
            really_called.clear()
            shutdown()  # the run is over: nothing of the framework is watched any more

    def test_run_files_are_equal_over_repeats_widths_workers_and_isolation(self, pytester):
        builder = "agent" if "subagent" in self.lacks else "delegating"
        pytester.makepyfile(
            my_agents=f"""
            import sys
            sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}
            from {type(self).__module__} import {type(self).__name__}
            agent = {type(self).__name__}().{builder}()
            """
        )
        write_team_suite(pytester.path / "benchmark_cases", delegates=builder == "delegating")
        variants = [
            ("--mapsat-concurrency=1",),
            ("--mapsat-concurrency=8",),
            ("-n", "2"),
            ("--mapsat-isolate", "--mapsat-concurrency=8"),
        ]
        files = []
        for number, options in enumerate(variants):
            save = ["--mapsat-agent=my_agents:agent", f"--mapsat-save={number}.json", "-W", "ignore", *options]
            pytester.runpytest_inprocess(*save)
            files.append(saved_text(pytester, f"{number}.json"))
        assert set(files) == {files[0]}
        calls_by_case = [
            [
                step["tool"]
                for turn in case["trajectory"]["turns"]
                for step in turn.get("steps", ())
                if step["kind"] == "call"
            ]
            for case in json.loads(files[0])["cases"]
        ]
        assert sorted(calls_by_case) == [["find"], ["find"], ["find", "find"]]

    def test_a_slow_agent_is_stopped_at_the_time_limit(self):
        started = time.monotonic()
        ended = play(self.agent(slow=True), "Find a cafe", timeout=0.5)
        assert ended.ending == "timeout"
        assert time.monotonic() - started < 10


def write_team_suite(folder: Path, *, delegates: bool) -> None:
    """Write a suite of three cases for the tool find: parallel calls, of agents where the agent delegates, a question, a crash."""
    queries = ("Each a charger" if delegates else "Both a charger", "Plan a trip", "Break a charger")
    cases = []
    for query in queries:
        name = query.partition(" ")[0].lower()
        case = tiny_suite.case(name, episode={"run": ["ask_finder"]})
        case["visible"]["query"] = query
        cases.append(case)
    tiny_suite.write_suite(folder, {"all.yaml": cases})
    recordings = [
        {**tiny_suite.recording(case["id"]), "tool": "find", "arguments": {"query": place}}
        for case in cases
        for place in ("charger", "secret", "trip")
    ]
    lines = [json.dumps(recording) + "\n" for recording in recordings]
    (folder / "recordings" / "all.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "tools" / "search_poi.yaml").unlink()
    (folder / "tools" / "find.yaml").write_text(tiny_suite.TOOL.replace("search_poi", "find"), encoding="utf-8")
    cases_text = (folder / "all.yaml").read_text(encoding="utf-8")
    (folder / "all.yaml").write_text(cases_text.replace("search_poi", "find"), encoding="utf-8")


def as_text(value: Any) -> str:
    """Return the result of a tool as a fake model reads it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
