"""Which framework an object is for, what is refused, and what adapters share; no framework is installed here."""

import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import TypedDict

import pytest

from pytest_mapsat import user_code
from pytest_mapsat.agents import Reply, resolve_source, source_of
from pytest_mapsat.agents.frameworks import (
    ADAPTERS,
    Adapter,
    AdapterEpisode,
    Spent,
    adapter_for,
    adapter_named,
    data_from,
    question,
    reply_of,
)
from pytest_mapsat.agents.returned import AgentFault
from pytest_mapsat.agents.source import AgentContext, Session
from pytest_mapsat.model import Tool, Turn, UsageError
from pytest_mapsat.sandbox import Toolbox


def framework_object(module, name="Agent", **members):
    """Return an object of a class that says that it is a framework's."""
    return type(name, (), {"__module__": module, **members})()


GRAPH = "langgraph.pregel.main", "Pregel"
OTHER = Adapter(
    name="other",
    distribution="pytest",
    versions=((1, 0), (99, 0)),
    classes=frozenset({("other_framework", "Agent")}),
    start=lambda agent, episode: lambda message: Reply(f"{agent.name}: {message}"),
    native=lambda tools: [],
    waits=False,
)


@pytest.fixture
def others(monkeypatch):
    """Have a package of others installed that adds adapters."""

    def install(**values):
        module = ModuleType("package_of_others")
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        points = [metadata.EntryPoint(name, f"{module.__name__}:{name}", "pytest_mapsat.adapters") for name in values]
        monkeypatch.setattr(user_code, "_select_installed", lambda path: lambda group: points)

    return install


def test_an_agent_of_a_framework_hears_the_messages_before_the_query_and_has_its_own_tools_only(others):
    others(other=OTHER)
    agent = framework_object("other_framework", name="Agent")
    agent.name = "heard"
    source = source_of(agent, "other:mymod:agent")
    whose = {
        name: Tool(name=name, description=name, by=by, parameters={"type": "object", "properties": {}})
        for name, by in (("look", "agent"), ("touch", "user"))
    }
    toolbox = Toolbox(whose, lambda name, arguments: None)
    session = Session("s", lambda thought: None)
    earlier = [Turn(role="user", text="Hello."), Turn(role="agent", text="What is it?")]
    talk = source.open(None, toolbox, AgentContext, session)
    session.remember([*earlier, Turn(role="user", text="No signal.")])
    assert talk.reply("No signal.").text == "heard: user: Hello.\n\nassistant: What is it?\n\nuser: No signal."
    session.remember([*earlier, Turn(role="user", text="No signal."), Turn(role="user", text="Still.")])
    assert talk.reply("Still.").text == "heard: Still."
    assert AdapterEpisode.of(toolbox).names == {"look"}


class TestDetection:
    @pytest.mark.parametrize("name", ADAPTERS)
    def test_an_object_is_known_by_the_names_of_its_classes(self, name, monkeypatch):
        adapter = adapter_named(name)
        monkeypatch.setitem(sys.modules, "agents", ModuleType("agents"))
        sys.modules["agents"].Runner = object
        for package, kind in adapter.classes:
            assert adapter_for(framework_object(f"{package}.deep", kind)) is adapter

    def test_a_class_below_the_frameworks_is_known_too(self):
        base = type(framework_object(*GRAPH))
        assert adapter_for(type("Mine", (base,), {"__module__": "mymod"})()) is adapter_named("langgraph")

    def test_a_package_of_ones_own_that_is_called_agents_is_not_the_frameworks(self):
        assert adapter_for(framework_object("agents.agent")) is None

    def test_what_could_be_called_before_stays_what_it_was(self):
        def reply(self, message):
            return "mine"

        assert adapter_for(framework_object(*GRAPH, reply=reply)) is None
        assert adapter_for(framework_object(*GRAPH, __call__=reply)) is None
        assert adapter_for(type(framework_object(*GRAPH))) is None
        assert adapter_for(lambda: framework_object(*GRAPH)) is None

    def test_other_objects_are_refused_as_before(self):
        with pytest.raises(UsageError, match=r"an object of type Box; an agent is a callable"):
            source_of(framework_object("mymod", "Box"), "mymod:box")


class TestVersions:
    def refusal(self, spec, tmp_path):
        with pytest.raises(UsageError) as caught:
            resolve_source(spec, root=tmp_path)
        return str(caught.value)

    def test_a_framework_that_is_missing_says_what_to_install(self, tmp_path):
        told = self.refusal("langgraph:my_graph:graph", tmp_path)
        assert told == "langgraph is not installed; run: pip install 'langgraph>=1.0,<2.0'"

    @pytest.mark.parametrize("version", ["0.6.11", "2.0.0rc1"])
    def test_a_version_that_is_not_supported_is_named_with_those_that_are(self, version, tmp_path, monkeypatch):
        monkeypatch.setattr("pytest_mapsat.agents.frameworks.version", lambda package: version)
        told = self.refusal("langgraph:my_graph:graph", tmp_path)
        assert told == f"langgraph {version} is not supported; run: pip install 'langgraph>=1.0,<2.0'"

    def test_an_object_whose_framework_is_too_old_is_refused(self, monkeypatch):
        monkeypatch.setattr("pytest_mapsat.agents.frameworks.version", lambda package: "0.1")
        with pytest.raises(UsageError, match=r"langgraph 0\.1 is not supported"):
            source_of(framework_object(*GRAPH), "mymod:graph")

    def test_a_misspelt_framework_gets_a_suggestion(self, tmp_path):
        assert "did you mean 'pydantic-ai'?" in self.refusal("pydantic_ai:my_agents:agent", tmp_path)

    def test_what_is_neither_an_agent_nor_a_factory_is_refused(self, tmp_path, others):
        others(other=OTHER)
        (tmp_path / "kinds_of_agents.py").write_text("agent = 3\ndef make(tools, depth): pass\n")
        told = self.refusal("other:kinds_of_agents:agent", tmp_path)
        assert "is an object of type int; expected a Agent, or a function of `tools` that returns one" in told
        assert "it requires 'depth'" in self.refusal("other:kinds_of_agents:make", tmp_path)


class TestAdaptersOfOthers:
    def test_an_installed_package_adds_a_framework(self, others):
        others(other=OTHER)
        source = source_of(framework_object("other_framework.core", "Agent"), "mymod:agent")
        assert source.waits is False
        assert adapter_named("other") is OTHER

    def test_one_that_is_no_adapter_is_named(self, others):
        others(other=3)
        with pytest.raises(
            UsageError, match=r"the adapter 'other' \(package_of_others:other\) is an object of type int"
        ):
            adapter_named("other")

    def test_a_factory_of_another_kind_of_object_is_the_agents_fault(self, others, tmp_path):
        others(other=OTHER)
        (tmp_path / "wrong_factories.py").write_text("def make(tools):\n    return 3\n")
        source = resolve_source("other:wrong_factories:make", root=tmp_path)
        conversation = source.open(None, None, AgentContext, Session("s", print))
        with pytest.raises(AgentFault, match="returned an object of type int; expected an agent of other"):
            conversation.reply("hello")


class TestWhatAdaptersShare:
    CONTEXT = AgentContext(now="2026-05-01T09:00:00", city="Lindenau", locale="zh-CN")

    def test_context_becomes_the_frameworks_own_kind_of_data(self):
        @dataclass
        class Data:
            city: str
            limit: int = 3

        class Typed(TypedDict):
            now: str

        assert data_from(self.CONTEXT, Data) == Data("Lindenau")
        assert data_from(self.CONTEXT, Typed) == {"now": "2026-05-01T09:00:00"}
        assert data_from(self.CONTEXT, None) is self.CONTEXT
        assert data_from(self.CONTEXT, dict) is self.CONTEXT

    def test_a_kind_of_data_that_the_context_cannot_fill_is_named(self):
        @dataclass
        class Needs:
            database: str

        with pytest.raises(AgentFault, match="wants Needs for its context, with database; the case has now, city"):
            data_from(self.CONTEXT, Needs)
        with pytest.raises(AgentFault, match="wants Path for its context, whose fields cannot be read"):
            data_from(self.CONTEXT, type("Path", (), {}))

    def test_usage_that_a_model_does_not_tell_is_not_known_of_the_sum(self):
        spent = Spent()
        assert spent.usage() is None
        spent.add(10, 5, 0.5)
        assert spent.usage() == {"input_tokens": 10, "output_tokens": 5, "cost": 0.5}
        spent.add(0, 0)
        assert spent.usage() == {"input_tokens": None, "output_tokens": None, "cost": None}

    def test_output_of_any_kind_is_data_and_text(self):
        assert reply_of("hello", Spent()) == Reply("hello")
        assert reply_of({"text": "hello", "a": 1}, Spent()) == Reply("hello", output={"text": "hello", "a": 1})
        assert reply_of([1], Spent()) == Reply('{"response":[1]}', output={"response": [1]})

    def test_a_question_for_a_go_ahead_is_in_the_language_of_the_case(self):
        episode = type("Fake", (), {"context": self.CONTEXT})
        assert question([("book", {"seats": 2})], episode) == "我可以执行 book(seats=2) 吗？"
        episode.context = AgentContext()
        assert question([("book", "{}")], episode) == "May I go ahead with book({})?"

    def test_arguments_that_are_no_json_reach_the_sandbox_as_they_are(self):
        class Tools:
            def schemas(self):
                return []

            def call(self, name, arguments):
                return {"status": "error", "message": f"{name}: {arguments}"}

        answer = AdapterEpisode.of(Tools()).call("find", "{oops")
        assert answer.failed
        assert answer.value["message"] == "find: {'arguments': '{oops'}"


def test_a_run_with_a_plain_function_imports_no_framework():
    packages = sorted(ADAPTERS.values())
    code = f"""
import sys
from pytest_mapsat import plugin
from pytest_mapsat.agents import source_of
source_of(lambda message: "hello", "x")
print([name for name in {packages} + ["pytest_mapsat.agents.frameworks." + n for n in {packages}] if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
