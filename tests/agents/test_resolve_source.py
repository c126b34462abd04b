import functools
import subprocess
import sys
import textwrap

import pytest

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.model import UsageError
from pytest_mapsat.user_code import listening


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A directory of modules with names of their own, and a clean import system around it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)

    def write(name, source):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return tmp_path

    yield write
    for name in set(sys.modules) - known:
        del sys.modules[name]


def refusal(spec, root):
    with listening(), pytest.raises(UsageError) as caught:
        resolve_source(spec, root=root)
    return str(caught.value)


class TestModules:
    def test_a_function_of_a_module_in_the_start_directory(self, project):
        root = project("agent_of_root.py", "def agent(message, tools): return message")
        source = resolve_source("agent_of_root:agent", root=root)
        assert (source.kind, source.name, source.shared) == ("agent", "agent", True)
        assert source.agent is sys.modules["agent_of_root"].agent

    def test_dots_lead_into_packages_and_attributes(self, project):
        project("pkg_of_agents/__init__.py", "")
        root = project("pkg_of_agents/deep.py", "class Box:\n    @staticmethod\n    def agent(message): return message")
        assert resolve_source("pkg_of_agents.deep:Box.agent", root=root).kind == "agent"

    def test_the_start_directory_is_searched_before_the_rest_of_the_path(self, project, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "twice_there.py").write_text("agent = None")
        sys.path.insert(0, str(tmp_path / "elsewhere"))
        root = project("twice_there.py", "def agent(message): return message")
        assert callable(resolve_source("twice_there:agent", root=root).agent)

    def test_a_module_on_the_path_is_found_as_well(self, tmp_path):
        assert "requires 'text'" in refusal("textwrap:dedent", tmp_path)

    @pytest.mark.parametrize(
        ("source", "told"),
        [
            ("def agent(message:\n    pass", "smolagent_of_mine.py:1: SyntaxError: '(' was never closed"),
            ("if True:\nagent = 1", "smolagent_of_mine.py:2: IndentationError: expected an indented block"),
            ("import os\nos.nothing", "smolagent_of_mine.py:2: AttributeError: module 'os' has no attribute 'nothing'"),
            ("from os import nothing", "smolagent_of_mine.py:1: ImportError: cannot import name 'nothing'"),
            ("import not_there_at_all", "smolagent_of_mine.py:1: ModuleNotFoundError: No module named"),
            ("agent_x = len", "'smolagent_of_mine' has no attribute 'agent' (did you mean 'agent_x'?)"),
        ],
    )
    def test_a_module_that_is_there_and_breaks_is_told_without_a_guess_at_another_kind(self, project, source, told):
        message = refusal("smolagent_of_mine:agent", project("smolagent_of_mine.py", source))
        assert told in message
        assert "smolagents" not in message

    def test_a_missing_module_is_told_from_a_missing_import_inside_it(self, project):
        root = project("needs_more.py", "import os\nimport not_installed_anywhere\n")
        inside = refusal("needs_more:agent", root)
        assert "importing 'needs_more' failed: needs_more.py:2: ModuleNotFoundError" in inside
        assert "'not_installed_anywhere'" in inside
        missing = refusal("need_more:agent", root)
        assert "there is no module 'need_more'" in missing
        assert "did you mean 'needs_more'?" in missing

    def test_a_missing_module_gets_the_modules_of_the_folder_and_no_framework(self, project):
        project("shopping.py", "")
        root = project("not-a-module.py", "")
        for spec in ("lang_agents:agent", "crew_of_mine:agent", "smol_agent_of_mine:agent"):
            message = refusal(spec, root)
            assert message.endswith("on sys.path; the folder has shopping")

    @pytest.mark.parametrize(
        ("spec", "kind"),
        [("lang-graph:mod:agent", "langgraph"), ("crewa:agent", "crewai"), ("htp://host/path", "http")],
    )
    def test_a_kind_of_agent_that_is_misspelt_is_suggested(self, tmp_path, spec, kind):
        assert f"(did you mean '{kind}'?)" in refusal(spec, tmp_path)

    def test_an_exception_inside_the_module_is_placed(self, project):
        root = project("raises_early.py", "def go():\n    raise ValueError('no key')\n\ngo()\n")
        assert "raises_early.py:2: ValueError: no key" in refusal("raises_early:agent", root)

    def test_a_syntax_error_is_placed(self, project):
        root = project("not_python.py", "x = 1\ndef agent(:\n")
        assert "not_python.py:2: SyntaxError" in refusal("not_python:agent", root)

    def test_a_module_that_exits_is_an_error_like_any_other(self, project):
        root = project("exits_early.py", "import sys\nsys.exit(3)\n")
        assert "exits_early.py:2: SystemExit: 3" in refusal("exits_early:agent", root)

    @pytest.mark.parametrize("raised", ["KeyboardInterrupt", "SystemExit(0)"])
    def test_an_attribute_that_raises_is_told(self, project, raised):
        name = f"raises_late_{raised[:3].lower()}"
        root = project(f"{name}.py", f"def __getattr__(name):\n    raise {raised}\n")
        assert f"'agent' of '{name}' is not available: {raised.partition('(')[0]}" in refusal(f"{name}:agent", root)

    def test_an_interrupt_raised_by_a_module_is_an_error_like_any_other(self, project):
        root = project("interrupts_early.py", "raise KeyboardInterrupt\n")
        assert "interrupts_early.py:1: KeyboardInterrupt" in refusal("interrupts_early:agent", root)

    def test_a_missing_attribute_gets_a_suggestion(self, project):
        root = project("has_agent.py", "def my_agent(message): return message")
        message = refusal("has_agent:my_agnet", root)
        assert "'has_agent' has no attribute 'my_agnet'" in message
        assert "did you mean 'my_agent'?" in message

    @pytest.mark.parametrize(
        ("spec", "suggestion"),
        [("my_agent", "my_agent:agent"), ("./my_agent.py:reply", "my_agent:reply"), ("my_agent:", "my_agent:agent")],
    )
    def test_a_spec_of_another_form_says_which_is_expected(self, spec, suggestion, tmp_path):
        message = refusal(spec, tmp_path)
        assert "expected module:attribute" in message
        assert f"did you mean '{suggestion}'?" in message

    def test_a_misspelt_scheme_gets_a_suggestion(self, tmp_path):
        assert "did you mean 'recorded'?" in refusal("recoded:run.json", tmp_path)


class TestSpecsOfOurOwn:
    def test_an_unknown_baseline_gets_a_suggestion(self, tmp_path):
        assert "did you mean 'silent'?" in refusal("baseline:silnt", tmp_path)

    @pytest.mark.parametrize("name", ["silent", "constant", "surface", "profile", "oracle"])
    def test_baselines_have_names(self, name, tmp_path):
        source = resolve_source(f"baseline:{name}", root=tmp_path)
        assert (source.kind, source.name, source.spec) == ("agent", name, f"baseline:{name}")


class TestWhatCountsAsAnAgent:
    def test_functions_objects_methods_and_partials_are_shared(self):
        def function(message, tools):
            return message

        async def coroutine(message):
            return message

        class Callable:
            def __call__(self, message):
                return message

        class Replying:
            def reply(self, message, tools):
                return message

        made = [function, coroutine, Callable(), Replying(), Replying().reply, functools.partial(function, tools=None)]
        assert [source_of(agent, "x").shared for agent in made] == [True] * 6

    def test_classes_and_callables_without_a_message_are_factories(self):
        class Agent:
            def __call__(self, message):
                return message

        def make():
            return Agent()

        def make_with(tools, session):
            return Agent()

        assert [source_of(agent, "x").shared for agent in (Agent, make, make_with)] == [False] * 3

    @pytest.mark.parametrize("thing", [None, 3, "text", {"a": 1}, pytest])
    def test_anything_else_is_refused_with_what_was_found_and_an_example(self, thing):
        with pytest.raises(UsageError, match=r"is (None|an object of type|the module).*def agent\(message, tools\)"):
            source_of(thing, "mymod:thing")

    def test_a_parameter_that_nobody_gives_is_refused(self):
        def agent(message, toolz):
            return message

        with pytest.raises(UsageError, match=r"requires 'toolz'.*did you mean 'tools'\?"):
            source_of(agent, "mymod:agent")

    def test_a_parameter_that_has_a_place_and_no_name_is_refused(self):
        def agent(message, /, tools):
            return message

        with pytest.raises(UsageError, match="takes 'message' by its place alone, and arguments are given by name"):
            source_of(agent, "mymod:agent")

    def test_another_name_for_the_message_is_refused(self):
        with pytest.raises(UsageError, match="requires 'text': rename `text` to `message`"):
            source_of(lambda text: text, "mymod:agent")
        with pytest.raises(UsageError, match="rename `query` to `message`"):
            source_of(lambda query, tools: query, "mymod:agent")

    def test_what_a_class_wants_is_never_taken_for_the_message(self):
        class Agent:
            def __init__(self, model):
                pass

        with pytest.raises(UsageError, match="requires 'model', but the arguments, given by name, are tools, context"):
            source_of(Agent, "mymod:Agent")

    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
    def test_an_object_that_raises_when_it_is_looked_at_is_refused(self, error):
        class Agent:
            @property
            def reply(self):
                raise error

        with listening(), pytest.raises(UsageError, match=f"cannot be looked at: {error.__name__}"):
            source_of(Agent(), "mymod:agent")

    def test_a_callable_that_hides_its_signature_is_refused(self):
        with pytest.raises(UsageError, match="wrap it in a function"):
            source_of(iter, "mymod:agent")  # in C, without a signature, on every Python

    def test_a_source_is_taken_as_it_is(self, tmp_path):
        source = resolve_source("baseline:silent", root=tmp_path)
        assert source_of(source, "fixture") is source


def test_importing_reply_is_light():
    code = "import sys; from pytest_mapsat import Reply; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
