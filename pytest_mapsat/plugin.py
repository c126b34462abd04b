"""The pytest plugin: hooks and fixtures only. While no agent is given it does nothing and imports nothing heavy."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import pytest

from .options import OPTIONS, RENAMED, agent_spec, mistyped_key, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from pytest_mapsat.model import Case
    from pytest_mapsat.sandbox import Sandbox, Toolbox

    from .pytest_plugin.session import CaseRun, MapsatSession

_NAME = "mapsat-session"
#: What a run with an agent registers; without one of them cases would pass unheard.
_OTHERS = ("collecting", "functions", "items", "reporter", "passes", "progress", "ahead")
_PARTS = (_NAME, *(f"mapsat-{name}" for name in _OTHERS))
_NO_AGENT = "no agent: give one with --mapsat-agent=module:attr"
_NO_AGENT_FOR_CASES = f"{_NO_AGENT}, the key mapsat_agent of an ini file, or a fixture mapsat_agent in a conftest.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register every option and every ini key."""
    group = parser.getgroup("mapsat", "agent benchmarks (pytest-mapsat; mapsat init writes a suite to begin with)")
    for option in OPTIONS.values():
        name, dest, text = f"--mapsat-{option.name}", option.dest, option.help.replace("%", "%%")
        if option.default and option.kind != "flag":
            text += f" (default {option.default})"
        if option.typed:
            kind: dict[str, Any] = {"metavar": option.metavar, "action": "append" if option.repeatable else "store"}
            if option.kind == "flag":
                kind = {"action": "store_const", "const": "on"}
            elif option.kind == "optional":
                kind = {"nargs": "?", "const": "on", "metavar": option.metavar}
            group.addoption(name, dest=dest, help=text, **kind)
        if option.ini:
            how: Literal["linelist", "string"] = "linelist" if option.repeatable else "string"
            parser.addini(dest, option.help, type=how)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register our hooks."""
    from . import hookspecs  # noqa: PLC0415

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Refuse old names of options, and give a nested run in this process its own checks."""
    for name in (argument.partition("=")[0] for argument in args):
        if name in RENAMED:
            raise pytest.UsageError(f"{name} is now {RENAMED[name]}")
    registry = sys.modules.get(f"{__package__}.registry")
    if registry is not None:  # where there was no check yet, there is nothing to keep
        former = registry.exchange({})
        early_config.add_cleanup(lambda: registry.exchange(former))


def pytest_configure(config: pytest.Config) -> None:
    """Start a mapsat session if an agent is given."""
    config.addinivalue_line("markers", "mapsat(case, domain, difficulty, language): a benchmark case of pytest-mapsat")
    if message := mistyped_key(config):
        raise pytest.UsageError(message)
    has_agent = config.getoption("mapsat_agent") is not None or config.getini("mapsat_agent")
    if not has_agent and _has_agent_fixture(config):
        config.option.mapsat_only_python = True  # workers get the options of the controller
    if agent_spec(config):
        if blocked := [name for name in _PARTS if config.pluginmanager.is_blocked(name)]:
            raise pytest.UsageError(
                f"-p no:{blocked[0]}: a run with an agent needs all of pytest-mapsat; without an agent: --mapsat-agent=off"
            )
        from .pytest_plugin.session import start_session  # noqa: PLC0415 (pydantic and all rooms)

        config.pluginmanager.register(start_session(config), _NAME)
    elif not hasattr(config, "workerinput"):  # a worker's arguments are the controller's
        _refuse_without_agent(config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int | pytest.ExitCode, int | pytest.ExitCode | None]:
    """Keep the exit status of a failed run, even if a ``sys.exit(0)`` ends pytest during the summary."""
    ended = None
    try:
        status = yield
    except pytest.UsageError as error:
        from .printed import printed  # noqa: PLC0415

        error.args = tuple(map(printed, error.args))
        raise
    except SystemExit as error:
        if error.code:
            raise
        status, ended = pytest.ExitCode.OK, error
    session = _session(config)
    if session is not None and session.reporter is not None:
        return session.reporter.exit_status.kept(status)
    if ended is not None:
        raise ended
    return status


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int | pytest.ExitCode, config: pytest.Config
) -> None:
    """Explain how to run a suite if nothing was collected because no agent is given."""
    nothing = exitstatus in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR)
    if not nothing or agent_spec(config) or typed(config, "agent") or terminalreporter.stats.get("deselected"):
        return
    if any(getattr(config.option, name) for name in ("keyword", "markexpr", "deselect", "ignore", "ignore_glob")):
        return
    folders = [config.rootpath / text for text in config.getini(OPTIONS["cases"].dest)]
    places = [config.rootpath]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        given = (config.invocation_params.dir / text.partition("::")[0] for text in config.args)
        folders, places = [], [place for place in given if place.exists()]
    if exitstatus == pytest.ExitCode.USAGE_ERROR:  # pytest does not know what a file of cases is
        folders, places = [], [place for place in places if place.suffix in (".yaml", ".yml", ".jsonl", ".gz")]
    folders += [folder for place in places for folder in (place / "benchmark_cases", place, *place.parents)]
    suite = next((folder for folder in folders if (folder / "suite.yaml").is_file()), None)
    if suite is not None:
        terminalreporter.write_line(f"mapsat: {suite.name!r} is a suite: --mapsat-agent=module:attr runs its cases")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise every test that asks for ``mapsat_case``."""
    session = _session(metafunc.config)
    if session is not None and not session.settings.only_python and "mapsat_case" in metafunc.fixturenames:
        session.suites.parametrise(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> Generator[None, Any, Any]:
    """Skip cases in Python if no agent is given."""
    cases = sys.modules.get(f"{__package__}.python_cases")
    items = yield
    if (
        cases is not None
        and isinstance(items, list)
        and not collector.config.pluginmanager.has_plugin("mapsat-functions")
    ):
        for item in items if cases.declared(obj) is not None else ():
            item.add_marker(pytest.mark.skip(reason=_NO_AGENT_FOR_CASES))
    return items


@pytest.fixture(scope="session")
def mapsat_agent(request: pytest.FixtureRequest) -> object:
    """The agent that ``--mapsat-agent`` names. To override the fixture in a conftest, use ``--mapsat-agent=fixture``."""
    return _active(request).agent


@pytest.fixture(scope="session")
def mapsat_environment() -> object:
    """The environment of episodes that replaces the sandbox; override it with a ``SqlEnvironment`` or another environment. If None, a hook or a file may supply one."""
    return None


@pytest.fixture
def mapsat_case(request: pytest.FixtureRequest) -> Case:
    """Each benchmark case in turn: the visible part and the truth."""
    return _active(request).case(request.param)


@pytest.fixture
def mapsat_sandbox(request: pytest.FixtureRequest, mapsat_case: Case) -> Sandbox:
    """The sandbox of the case in its initial state."""
    return _active(request).sandbox(request, mapsat_case)


@pytest.fixture
def mapsat_run(request: pytest.FixtureRequest, mapsat_case: Case) -> Callable[[], CaseRun]:
    """A callable that runs the case once and returns its ``scorecard`` and its ``episode``. It never asserts."""
    return _active(request).run_of(request, mapsat_case)


@pytest.fixture
def mapsat_record(request: pytest.FixtureRequest) -> Iterator[Callable[..., Toolbox]]:
    """A callable that wraps your own tools for an agent: ``mapsat_record(tools, suite, case)``.

    Each call goes to the tool itself; when the test ends, the answers are recordings of the case in the suite. See docs/how-to/record-tools.md.
    """
    from .model import MapsatError  # noqa: PLC0415 (pydantic, and more below: for those who ask for it)
    from .printed import printed  # noqa: PLC0415
    from .recording import recording  # noqa: PLC0415

    with ExitStack() as ended:

        def record(tools: object, suite: str | Path, case: str, *, replace: bool = False) -> Toolbox:
            try:
                return ended.enter_context(recording(tools, request.config.rootpath / suite, case, replace=replace))
            except MapsatError as error:
                raise pytest.fail.Exception(printed(error), pytrace=False) from None

        yield record


def _session(config: pytest.Config) -> MapsatSession | None:
    session: MapsatSession | None = config.pluginmanager.get_plugin(_NAME)
    return session


def _active(request: pytest.FixtureRequest) -> MapsatSession:
    session = _session(request.config)
    if session is None or session.settings.only_python:
        pytest.skip(_NO_AGENT)
    return session


def _has_agent_fixture(config: pytest.Config) -> bool:
    """Return whether a loaded conftest or plugin overrides the fixture ``mapsat_agent``."""
    modules = (plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, ModuleType))
    return any("mapsat_agent" in vars(module) and module.__name__ != __name__ for module in modules)


def _refuse_without_agent(config: pytest.Config) -> None:
    """Refuse mapsat options that were typed for a run without an agent.

    Raises:
        pytest.UsageError: there is one, or ``--mapsat-agent`` is empty.
    """
    if any(not value.strip() for value in typed(config, "agent")):
        raise pytest.UsageError("--mapsat-agent names no agent: expected module:attr, or off")
    lonely = next((name for name in OPTIONS if name != "agent" and typed(config, name)), None)
    if lonely is not None:
        raise pytest.UsageError(f"--mapsat-{lonely} without an agent: give one with --mapsat-agent=module:attr")
