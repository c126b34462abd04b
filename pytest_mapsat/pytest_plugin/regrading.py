"""Cases in Python of a saved run: collected as pytest does, and their functions played over the dialogues that the run holds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Generic, TypeVar

import pytest

from pytest_mapsat.formats import LocatedDocument
from pytest_mapsat.judges import Blocks, Decided, Finding, JudgedDialogue, unjudgeable
from pytest_mapsat.model import UNDECIDED, OptimisedError, RunOptions, Scorecard, UsageError, listed
from pytest_mapsat.printed import printed
from pytest_mapsat.registry import without_assertions
from pytest_mapsat.suite import CaseEntry, Suite, Sweep, find_suite, open_suite, project_suite, sweep_of

from .functions import Functions, blocks_for, call_body, stamp_of
from .items import PYTHON_CASE
from .private import definitions

_T = TypeVar("_T")


def _modules_of(nodeids: Iterable[str], here: Path) -> list[Path]:
    """Return the files of the Python cases with these node ids; the ids are relative to the project's root.

    Raises:
        UsageError: one is not there, in the current folder or above it.
    """
    names = sorted({name for nodeid in nodeids if (name := nodeid.partition("::")[0]).endswith(".py")})
    places = {name: [folder / name for folder in (here, *here.parents) if (folder / name).is_file()] for name in names}
    if missing := [name for name, paths in places.items() if not paths]:
        raise UsageError(f"the run has cases of {listed(missing)}, which is not in this folder or above it")
    return [paths[0] for paths in places.values()]


def with_bodies(
    nodeids: Iterable[str],
    suites: Sequence[Suite],
    work: Callable[[Regrading[_T] | None, Sequence[Suite]], _T],
    *,
    options: RunOptions | None = None,
    fixtures: bool = False,
) -> _T:
    """Run a function with the collected functions of Python cases, and return its result.

    Args:
        nodeids: those of the cases of a run, which begin at the root of the project.
        suites: those that are opened.
        work: is called with the functions while pytest has them collected (None: no case stands in Python), and with all suites.
        options: those of the run, which may ask for variants of cases; None: it has none.
        fixtures: whether functions are played that ask for fixtures.

    Raises:
        UsageError: a module is not there, or cannot be collected.
        OptimisedError: Python leaves out assertions.
        BaseException: what the work raises.
    """
    modules = _modules_of(nodeids, Path.cwd())
    if not modules:
        return work(None, suites)
    if without_assertions():
        raise OptimisedError
    plugin = Regrading(suites, work, sweep_of(options), fixtures=fixtures)
    alone = ["-n0"] if find_spec("xdist") else []
    output = StringIO()
    with redirect_stdout(output):
        pytest.main([*map(str, modules), "--mapsat-agent=off", "-k", "", "-m", "", *alone], plugins=[plugin])
    if plugin.error is not None:
        raise plugin.error
    if plugin.kept:
        names = listed(sorted({name for names in plugin.kept.values() for name in names}))
        cases = listed(sorted(plugin.kept))
        sys.stderr.write(
            printed(f"mapsat: labels are kept of {cases}: the functions ask for {names}; --with-fixtures plays them")
            + "\n"
        )
    if not plugin.result:
        raise UsageError(
            f"the cases in Python cannot be collected: {output.getvalue().strip() or 'pytest says no more'}"
        )
    return plugin.result[0]


class Regrading(Generic[_T]):
    """A pytest plugin that calls the bodies of Python cases only on saved dialogues.

    Attributes:
        kept: the cases whose labels were kept, as their functions ask for fixtures.
        result: what the work has come to.
        error: what it raised.
    """

    def __init__(
        self,
        suites: Sequence[Suite],
        work: Callable[[Regrading[_T] | None, Sequence[Suite]], _T],
        sweep: Sweep | None,
        *,
        fixtures: bool,
    ) -> None:
        self._sweep = sweep
        self._opened = {suite.root: suite for suite in suites}
        self._work = work
        self._fixtures = fixtures
        self._root = Path()
        self._markers: Callable[[str, str], None] = lambda *_: None
        self._functions = Functions(self._declare, 1)
        self._items: dict[str, pytest.Function] = {}
        #: What the function that is to be called is played over; why it was not called.
        self._now: list[tuple[JudgedDialogue, Blocks]] = []
        self._why = ""
        self.kept: dict[str, tuple[str, ...]] = {}
        self.result: list[_T] = []
        self.error: BaseException | None = None

    def _declare(self, document: LocatedDocument, path: Path) -> tuple[Suite, CaseEntry]:
        """Return the case in a saved run's suite that a collected function declares."""
        root = find_suite(path)
        suite = self._opened.get(root or self._root)
        if suite is None:
            suite = project_suite(self._root) if root is None else open_suite(root)
            self._opened[suite.root], suite.sweep = suite, self._sweep
        entry = suite.declare(document, path)
        for domain in entry.domains:  # pytest may take no other markers than those it knows
            self._markers("markers", domain)
        return suite, entry

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the plugin that turns decorated functions into cases."""
        self._root = config.rootpath
        self._markers = config.addinivalue_line
        config.pluginmanager.register(self._functions, "mapsat-functions")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the regrading instead of running tests, unless a module could not be collected."""
        self._items = {item.stash[PYTHON_CASE].param.id: item for item in self._functions.collected.values()}
        if not session.testsfailed:
            try:
                self.result.append(self._work(self, tuple(self._opened.values())))
            except BaseException as error:  # noqa: BLE001  (raised again behind pytest)
                self.error = error
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Have pytest call the body of a case with the episode of a saved dialogue."""
        if not self._now:
            return (yield)
        yield from call_body(pyfuncitem, *self._now.pop())
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record why a function could not be called."""
        if not report.passed and self._now:
            crash = getattr(report.longrepr, "reprcrash", None)
            self._why = getattr(crash, "message", "") or report.longreprtext.strip() or str(report.outcome)

    def play(self, card: Scorecard, context: JudgedDialogue) -> tuple[Decided | None, str]:
        """Call the function of an episode's case on its saved dialogue, and return its decisions.

        Returns:
            What it came to, or the labels as they are where it asks for fixtures that are not to be set up; and the digest of case and function.

        Raises:
            UsageError: its fixtures cannot be set up, or the function cannot be called.
        """
        item, case = self._items[card.id], context.case
        own = item.stash[PYTHON_CASE]
        if case is None or unjudgeable(case, card.trajectory, "", "") is not None:
            return None, stamp_of(own, context)
        if not self._fixtures and (names := _fixtures_of(item)):
            self.kept[card.id] = names
            return _as_labelled(card, own.decided), card.stamp
        blocks = blocks_for(own, context)
        self._now, self._why = [(context, blocks)], "nothing calls its function"
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        if self._now:
            raise UsageError(f"{item.nodeid} cannot be played: {self._why}")
        return blocks.decided, stamp_of(own, context)


def _fixtures_of(item: pytest.Function) -> tuple[str, ...]:
    """Return the fixtures that an item requests, without fixtures that an installed plugin gives to every test."""
    asked = [name for name in item.fixturenames if name not in {"request", *item.callspec.params}]
    own = item._fixtureinfo.argnames  # noqa: SLF001
    return tuple(name for name in asked if name in own or not _is_installed(item, name))


def _is_installed(item: pytest.Function, name: str) -> bool:
    """Return whether a fixture comes from an installed package."""
    made_by = definitions(item, name)
    return bool(made_by) and all("site-packages" in definition.func.__code__.co_filename for definition in made_by)


def _as_labelled(card: Scorecard, names: Iterable[str]) -> Decided:
    """Return decisions about some requirements, taken from the labels of a scorecard."""
    labels = {label.requirement: label for label in card.labels}
    findings = {
        name: Finding(
            None if label.value is None else label.value > 0,
            label.why.removeprefix(f"{UNDECIDED}: "),
            broken=label.blame == "judge",
        )
        for name in names
        if (label := labels.get(name)) is not None
    }
    return Decided({name: findings.get(name, Finding(None, "the run has no label of it")) for name in names})
