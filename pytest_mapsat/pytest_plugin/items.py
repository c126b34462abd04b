"""Case files as pytest modules: each holds one function, ``case``, parametrised with the file's cases.

A ``Module`` and not a bare ``File``: fixtures of module scope, other plugins and ``--lf`` then work as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from traceback import walk_tb
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy
import pytest

from pytest_mapsat.interpreter import waiting
from pytest_mapsat.model import Case, MapsatError, SuiteError
from pytest_mapsat.printed import printed
from pytest_mapsat.runs.episodes import Wanted
from pytest_mapsat.suite import CaseEntry, Suite
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error

from .private import LeanItem, LeanModule, definitions, is_overridden

if TYPE_CHECKING:
    from pytest_mapsat.sandbox import SandboxFactory

#: How the names of files end that may hold cases.
CASE_SUFFIXES = (".yaml", ".yml", ".jsonl", ".jsonl.gz")
#: The fixtures of a built-in item without fixtures of others.
OWN_FIXTURES = frozenset({"mapsat_case", "request"})
_OURS = Path(__file__).resolve().parents[1]


class CaseParam(NamedTuple):
    """The place of a parametrised test's case, which is loaded when the test runs. ``nodeid``: the test of a Python case."""

    suite: Suite
    entry: CaseEntry
    trial: int
    nodeid: str = ""

    @property
    def id(self) -> str:
        """The id between the brackets of the node id, without the trial."""
        return self.entry.id


class PythonCase(NamedTuple):
    """The data that a Python case's item keeps until it runs.

    Attributes:
        param: its case and trial.
        decided: the ids of the requirements that its body decides.
        rest: the id of the one among them for what stands outside of blocks; empty where there is none.
        digest: of the body.
    """

    param: CaseParam
    decided: frozenset[str]
    rest: str
    digest: str


PYTHON_CASE = pytest.StashKey[PythonCase]()


def is_built_in(item: pytest.Item) -> bool:
    """Return whether an item is itself a case, from a file or in Python, and not a user's test that requests cases."""
    return isinstance(item.parent, CaseFile) or PYTHON_CASE in item.stash


class CaseItem(LeanItem):
    """One case as a pytest test function, without source lines, and usually with only our fixtures."""

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the case: its file, with line 1 instead of a function's line."""
        return self.path, 0, self.name

    def setup(self) -> None:
        """Load the case; use fixtures only if a plugin or conftest overrides or observes them."""
        file, option = self.parent, self.config.option
        shown = any(getattr(option, name, False) for name in ("setupshow", "setuponly", "setupplan"))
        alone = OWN_FIXTURES.issuperset(self.fixturenames) and len(definitions(self, "mapsat_case")) == 1
        if isinstance(file, CaseFile) and alone and not shown:
            self.funcargs["mapsat_case"] = file.load(param_of(self))
        else:
            super().setup()


class CaseFile(LeanModule):
    """A YAML or JSONL file of cases, presented to pytest as a module with one parametrised test."""

    item_class = CaseItem
    suite: Suite
    entries: tuple[CaseEntry, ...]
    agent_fixture: bool
    taken: Callable[[Suite, tuple[CaseEntry, ...]], tuple[CaseEntry, ...]]
    load: Callable[[CaseParam], Case]

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Read the file's entries, then collect those that belong to the run, as pytest collects a module."""
        try:
            self.entries = self.taken(self.suite, self.suite.entries(self.path))
        except SuiteError as error:
            raise self.CollectError(printed(error)) from None
        module = ModuleType(self.path.stem)
        asked = ["mapsat_agent"] if self.agent_fixture else []
        asked += ["mapsat_environment"] if is_overridden(self, "mapsat_environment") else []
        module.__dict__["case"] = _test_of(self.path, asked)
        self.obj = module
        return super().collect() if self.entries else []

    def istestfunction(self, obj: object, name: str) -> bool:
        """Return True for ``case``, whatever ``python_functions`` is: an attribute ``__test__`` would become a keyword of every item."""
        return name == "case" and callable(obj)


def named_trials(entries: Iterable[CaseEntry], trials: int) -> dict[str, tuple[CaseEntry, int]]:
    """Return each case and trial, from 1, by its name in node ids."""
    numbers = range(1, trials + 1)
    return {case_name(entry.id, number, trials): (entry, number) for entry in entries for number in numbers}


def params(suite: Suite, entries: Iterable[CaseEntry], trials: int) -> Iterator[Any]:
    """Yield a pytest parameter for each case and trial, with its id and marks."""
    for entry in entries:
        marks = case_marks(entry)
        for trial in range(1, trials + 1):
            name = case_name(entry.id, trial, trials)
            yield pytest.param(CaseParam(suite, entry, trial), id=name, marks=marks)


def param_or_none(item: pytest.Item) -> CaseParam | None:
    """Return a test's parameter ``mapsat_case``, or the equivalent of a Python case; None if there is none."""
    if PYTHON_CASE in item.stash:
        return item.stash[PYTHON_CASE].param
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get("mapsat_case")


def param_of(item: pytest.Item) -> CaseParam:
    """Return a test's parameter ``mapsat_case``; the test fails if it has none."""
    param = param_or_none(item)
    if param is None:
        pytest.fail(
            "mapsat_sandbox and mapsat_run belong to a test that is parametrised with mapsat_case", pytrace=False
        )
    return param


def agent_of(item: pytest.Item) -> str:
    """Return a text that identifies the parameters of a parametrised ``mapsat_agent``; empty if there are none."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or "mapsat_agent" not in callspec.params:
        return ""
    value = callspec.params["mapsat_agent"]
    name = value if isinstance(value, str | int | float) else getattr(value, "__name__", None)
    return f"agent{callspec.indices['mapsat_agent']}" if name is None else str(name)[:80]


def wanted_of(item: pytest.Item, source: object = None) -> Wanted:
    """Return the episode that an item needs; ``source`` is the agent itself if a fixture created it."""
    param = param_of(item)
    return Wanted(param.suite.root, param.id, param.trial, agent_of(item), source)


def is_ours(file: str | Path) -> bool:
    """Return whether a code file belongs to this package."""
    return Path(file).is_relative_to(_OURS)


def raised_at(excinfo: pytest.ExceptionInfo[BaseException], rootpath: Path) -> str:
    """Return ``file:line`` of the last user code that led to an exception; empty if there is none."""
    for entry in reversed(excinfo.traceback):
        path = Path(str(entry.path))
        if path.is_relative_to(rootpath) and not is_ours(path) and "site-packages" not in path.parts:
            return f"{path.relative_to(rootpath).as_posix()}:{entry.lineno + 1}"
    return ""


def is_case(nodeid: str) -> bool:
    """Return whether a node id belongs to a case from a file."""
    path, _, name = nodeid.partition("::")
    return name.startswith("case[") and path.endswith(CASE_SUFFIXES)


def case_name(case: str, trial: int, trials: int) -> str:
    """Return the name of a case in node ids: its id, followed by the trial if there are several."""
    return case if trials == 1 else f"{case}-t{trial}"


@lru_cache(maxsize=1024)
def place_of(path: Path, rootpath: Path, suite: Path) -> str:
    """Return the place of a case file below pytest's root, or below the parent folder of its suite."""
    base = rootpath if path.is_relative_to(rootpath) else suite.parent
    return path.relative_to(base).as_posix()


def case_marks(entry: CaseEntry) -> list[pytest.MarkDecorator]:
    """Return the marks for selecting a case."""
    # One mapsat mark a domain: an -m expression matches any of them, but takes no lists. The first names the case, the
    # others are those of many cases: marks are what costs most of an item of ours.
    first = next(iter(entry.domains), "none")
    header = {"case": entry.id, "domain": first, "difficulty": entry.difficulty, "language": entry.language}
    mark = pytest.mark.mapsat(**{**entry.attributes, **header})
    return [mark, *_shared_marks(entry.domains, entry.difficulty, entry.language)]


@lru_cache(maxsize=1024)
def _shared_marks(domains: tuple[str, ...], difficulty: str, language: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the marks of a domain, a difficulty and a language; cases with equal values share them."""
    others = domains[1:]
    mapsat = [pytest.mark.mapsat(domain=domain, difficulty=difficulty, language=language) for domain in others]
    return (*mapsat, *(getattr(pytest.mark, domain) for domain in domains))


def _case(mapsat_case: object) -> None:
    """One benchmark case, run by the session; see ``pytest_pyfunc_call``."""


def _test_of(path: Path, fixtures: Sequence[str]) -> FunctionType:
    """Return the test function of a case file, with that file as its source, so that reports do not show our files.

    It asks for further fixtures by a mark, and for none without need: each costs a trivial case a tenth of its time.
    """
    code = _case.__code__.replace(co_filename=str(path), co_name="case", co_qualname="case", co_firstlineno=1)
    function = FunctionType(code, _case.__globals__, "case")
    function.__doc__ = _case.__doc__
    return pytest.mark.usefixtures(*fixtures)(function) if fixtures else function


# -- our hooks, called so that a plugin that breaks is named and breaks nothing else ------------------------------------


class HookError(MapsatError):
    """A plugin raised an exception in one of our hooks; the message names both."""


def call_hook(config: pytest.Config, caller: pluggy.HookCaller, /, **arguments: Any) -> Any:
    """Call one of our hooks and return its result; an error of a plugin names the plugin and the hook.

    Raises:
        HookError: a plugin raised.
        KeyboardInterrupt: the user interrupted the run.
    """
    if not caller.get_hookimpls():
        return caller(**arguments)  # no code of others runs, so nothing needs to be put back
    try:
        return call_user_code(caller, **arguments)
    except UserCodeError as broken:
        message = f"{caller.name} of {_plugin(config, caller, broken.error)}: {describe_error(broken.error)}"
    raise HookError(message)


def sandbox_of(config: pytest.Config, case: Case, suite: Suite) -> SandboxFactory | None:
    """Return the sandbox factory from a plugin for a case; None if no plugin provides one.

    Raises:
        HookError: a plugin raised, or it stands in the suite's own folder.
    """
    caller = config.hook.pytest_mapsat_sandbox
    implementations = caller.get_hookimpls()
    if not implementations:
        return None
    for implementation in implementations:
        file = getattr(implementation.plugin, "__file__", None)
        if file and suite.in_files and Path(file).is_relative_to(suite.root):
            raise HookError(
                f"pytest_mapsat_sandbox of {Path(file).name} stands in the suite {suite.manifest.name!r}, whose folder is data: put the hook into "
                "a conftest.py outside of it, or into a package"
            )
    with waiting():
        factory: SandboxFactory | None = call_hook(config, caller, config=config, case=case, suite=suite)
    return factory


def call_each(config: pytest.Config, caller: pluggy.HookCaller, /, **arguments: Any) -> list[str]:
    """Call a hook for each plugin separately, so that a broken plugin does not stop the others; return the error messages.

    Raises:
        KeyboardInterrupt: the user interrupted the run.
    """
    plugins = list(dict.fromkeys(implementation.plugin for implementation in reversed(caller.get_hookimpls())))
    faults = []
    for plugin in plugins:
        others = [other for other in plugins if other is not plugin]
        try:
            call_hook(config, config.pluginmanager.subset_hook_caller(caller.name, others), **arguments)
        except HookError as error:
            faults.append(str(error))
    return faults


def _plugin(config: pytest.Config, caller: pluggy.HookCaller, error: BaseException) -> str:
    """Return the name of the plugin in whose hook an exception was raised; for a conftest, its path below the root."""
    names = {
        getattr(implementation.function, "__code__", None): implementation.plugin_name
        for implementation in caller.get_hookimpls()
    }
    for frame, _ in walk_tb(error.__traceback__):
        if name := names.get(frame.f_code):
            return name.removeprefix(f"{config.rootpath}/")
    return "a plugin"
