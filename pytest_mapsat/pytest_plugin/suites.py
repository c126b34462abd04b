"""The suites of one process: found, opened once, their domains made markers, their cases collected, and what is left of them to run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mapsat.formats import LocatedDocument, printable, shown_path
from pytest_mapsat.model import Problem, SuiteError, did_you_mean, shown
from pytest_mapsat.printed import on_one_line, printed
from pytest_mapsat.runs.episodes import Ledger
from pytest_mapsat.runs.request import cases_of_shard, entries_of, metric_sets_of
from pytest_mapsat.runs.saved import looked_for
from pytest_mapsat.sandbox import SandboxHook, installed_sandboxes
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite, project_suite, sweep_of

from .functions import Listed
from .items import (
    CASE_SUFFIXES,
    PYTHON_CASE,
    CaseFile,
    case_name,
    is_built_in,
    is_case,
    named_trials,
    param_or_none,
    params,
    place_of,
)
from .settings import refuse_other_defaults, with_suites

if TYPE_CHECKING:
    from .session import MapsatSession

#: The domains of the interface, which are markers while an agent is active, whatever the suite.
DOMAINS = (
    ("search", "finding places"),
    ("navigation", "routes and how to travel"),
    ("itinerary", "plans of several stops"),
    ("realtime", "traffic, weather, opening"),
    ("ride_hailing", "taxis and rides"),
    ("local_services", "booking, buying, dining"),
)

#: So many cases that an argument names in vain are told.
_SHOWN = 5


class Suites:
    """The suites that this process has found, and the hooks with which pytest collects their cases.

    Attributes:
        ledger: the items that this process has collected, and on the controller what has come of those of the run.
        opened: suites by their folder.
        samples: the ids of the cases that the run is of, by the folder of their suite; all cases where it is not among them.
        settings: what was asked for, with what the suites say of options that were not given.
        touched: folders of the suites that files were collected from; the others were only opened for their domains.
    """

    def __init__(self, session: MapsatSession, sandboxes: Sequence[SandboxHook]) -> None:
        self._session = session
        self.config = session.config
        self.settings = settings = session.settings
        self._sandboxes = tuple(sandboxes)
        self._sweep = sweep_of(settings.request.options)
        self.ledger = Ledger()
        self._begun = False
        self.opened: dict[Path, Suite] = {}
        self.samples: dict[Path, frozenset[str]] = {}
        self.touched: set[Path] = set()
        #: The case and trial of each test that is a case in Python, by its node id.
        self.in_python: dict[str, tuple[str, int]] = {}
        #: The file that has told of a suite that cannot be opened, by the folder of the suite.
        self._told_of: dict[Path, Path] = {}
        self._register_domains(DOMAINS)
        for path in (*settings.cases, *self.argument_paths()):
            self.open_known(path)
        asked = self._asked_for()
        self.settings = with_suites(settings, asked)
        for suite in asked:
            self._draw(suite)
        self._begun = True

    def open(self, root: Path) -> Suite:
        """Return the suite in a folder, opened once, with its domains as markers.

        Raises:
            SuiteError: it cannot be used.
        """
        if root not in self.opened:
            suite = open_suite(root)
            metric_sets_of(suite, self._session.metric_sets)  # an unknown one is told with its line
            suite.sandboxes, suite.sweep = self._sandboxes, self._sweep
            if self._begun:
                refuse_other_defaults(self.settings, suite)
                self._draw(suite)
            self._register_domains(suite.manifest.domains.items())
            self.opened[root] = suite
        return self.opened[root]

    def declare(self, document: LocatedDocument, path: Path) -> tuple[Suite, CaseEntry]:
        """Add a Python case to the suite of its module, and return both.

        Raises:
            SuiteError: it cannot be used, or another case of the run has its id.
        """
        suite = self._of_module(path)
        entry = suite.declare(document, path)
        self._register_domains(suite.manifest.domains.items())
        self._refuse_taken(suite, [entry])
        return suite, entry

    def _of_module(self, path: Path) -> Suite:
        """Return the suite of a module and add it to the run: the nearest at or above it, otherwise the project, which has no tools. Raises SuiteError."""
        root = find_suite(path)
        if root is None:
            root = self.config.rootpath if path.is_relative_to(self.config.rootpath) else path.parent
            if root not in self.opened:
                project = self.opened[root] = project_suite(root)
                project.sandboxes, project.sweep = self._sandboxes, self._sweep
        suite = self.open(root)
        self.touched.add(root)
        return suite

    def add_listed(self, listing: bytes) -> None:
        """Add the Python cases collected by a worker, from the JSON of ``listed_items``. Raises SuiteError."""
        for nodeid, trial, entry in Listed.validate_json(listing):
            self._of_module(entry.path).declare_listed(entry)
            self.in_python[nodeid] = entry.id, trial

    def leave_out(self, nodeid: str) -> None:
        """Remove a Python case from the run because its author skipped it."""
        case, _ = self.in_python[nodeid]
        self.ledger.deselect([nodeid])
        for suite in self.used():
            suite.withdraw(case)

    def case_of(self, nodeid: str) -> str:
        """Return the case name of a test with its trial; empty if the test is not a case."""
        if nodeid in self.in_python:
            return case_name(*self.in_python[nodeid], self.settings.request.options.trials)
        return nodeid.partition("::case[")[2].removesuffix("]") if is_case(nodeid) else ""

    def open_known(self, path: Path) -> None:
        """Open the suite at a place early, so that its domains are markers before ``-m`` is read."""
        root = find_suite(path)
        if root is not None:
            try:
                self.open(root)
            except SuiteError:
                return  # told where its files are collected

    def touch(self, root: Path) -> None:
        """Record that cases were collected from the suite in a folder, by this or another process."""
        self.touched.add(root)
        self.open_known(root)

    def touch_items(self, nodeids: Iterable[str]) -> None:
        """Record the suites from which another process collected items, judged by the items' paths."""
        for place in dict.fromkeys(nodeid.partition("::")[0] for nodeid in nodeids):
            root = find_suite(self.config.rootpath / place)
            if root is not None:
                self.touch(root)

    def names(self) -> Callable[[str], tuple[str, int]]:
        """Return a function that returns the case and trial of a node id."""
        trials = self.settings.request.options.trials

        @cache
        def known() -> dict[str, tuple[str, int]]:
            """Return case and trial by the name in node ids, for all suites in use."""
            entries = (entry for suite in self.used() for entry in suite.readable())
            return {name: (entry.id, trial) for name, (entry, trial) in named_trials(entries, trials).items()}

        return lambda nodeid: (
            self.in_python.get(nodeid) or _case_and_trial(nodeid.partition("::case[")[2].removesuffix("]"), known())
        )

    def argument_paths(self) -> list[Path]:
        """Return the places in pytest's arguments from which it collects."""
        return [self._argument_path(argument) for argument in self.config.args]

    def used(self) -> list[Suite]:
        """Return the suites from which cases were collected, by folder."""
        return [self.opened[root] for root in sorted(self.touched) if root in self.opened]

    def of_cases(self) -> dict[str, Suite]:
        """Return the suite of each case, by its id."""
        return {entry.id: suite for suite in self.used() for entry in suite.readable()}

    def why_none(self) -> str:
        """Return why no case was collected."""
        if self.ledger.drafts:
            return self.drafts_note()
        if self.samples:
            return "no case of the sample is among what was to be collected"
        if unknown := list(self._unknown_cases()):
            return "; ".join(unknown[:_SHOWN])
        places = (*self.settings.cases, *self.argument_paths(), self.config.rootpath / "benchmark_cases")
        return (
            f"looked for a suite in: {looked_for(places, self.config.invocation_params.dir)} (mapsat init writes one)"
        )

    def drafts_note(self) -> str:
        """Return a note on the number of omitted drafts and how to review them; empty if there were none."""
        by_root: dict[str, list[str]] = {}
        for case, root in sorted(self.ledger.drafts.items()):
            by_root.setdefault(root, []).append(case)
        return "; ".join(
            f"{len(cases)} draft{'' if len(cases) == 1 else 's'} left out: mapsat review {shown_path(Path(root))}"
            for root, cases in by_root.items()
        )

    def _unknown_cases(self) -> Iterator[str]:
        """Yield a message for each case in an argument that its file does not contain, with a suggestion."""
        trials = self.settings.request.options.trials
        for argument in self.config.args:
            place, _, name = argument.partition("::case[")
            path = self._argument_path(argument)
            suite = self.opened.get(find_suite(path) or path)
            if not name or suite is None or not suite.holds_cases(path):
                continue
            places = {case: entry.path for case, (entry, _) in named_trials(suite.readable(), trials).items()}
            name = name.removesuffix("]")
            if (other := places.get(name)) != path:
                ids = [case for case, where in places.items() if where == path]
                hint = did_you_mean(name, ids) if other is None else f"it stands in {shown_path(other)}"
                yield f"{printable(place)} has no case {shown(name)}{f', {hint}' if hint else ''}"

    def _asked_for(self) -> list[Suite]:
        """Return the suites on the command line, before collection starts."""
        roots = dict.fromkeys(find_suite(path) for path in (*self._added(), *self.argument_paths()))
        return [self.opened[root] for root in roots if root in self.opened]

    def _added(self) -> tuple[Path, ...]:
        """Return the additional places for collection: those of --mapsat-cases; defaults only if no path was given."""
        given = self.config.args_source is pytest.Config.ArgsSource.ARGS
        return self.settings.cases if self.config.getoption("mapsat_cases") is not None or not given else ()

    def add_defaults(self) -> None:
        """Add the places of suites to pytest's arguments.

        Raises:
            pytest.UsageError: a place that was named holds no cases.
        """
        for path in self._added():
            self._refuse_empty(path)
            self.config.args.append(str(path))
        self.config.args[:] = self._without_overlaps(self.config.args)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the files that hold cases of a suite."""
        if self.settings.only_python or not file_path.name.endswith(CASE_SUFFIXES):
            return None
        root = find_suite(file_path)
        if root is None:
            return None
        # Of a suite that cannot be opened one file tells, and those that are named themselves.
        if root in self._told_of and file_path not in (self._told_of[root], *self.argument_paths()):
            return None
        place = place_of(file_path, self.config.rootpath, root)
        try:
            suite = self.open(root)
            if not suite.holds_cases(file_path):
                return None
            _refuse_name(place)
        except SuiteError as error:
            if root not in self.opened:
                self._told_of.setdefault(root, file_path)
            broken: pytest.File = _BrokenFile.from_parent(
                parent, path=file_path, nodeid=printable(place), message=printed(error)
            )
            return broken
        collector: CaseFile = CaseFile.from_parent(parent, path=file_path, nodeid=place)
        collector.suite, collector.taken = suite, self._taken
        collector.agent_fixture, collector.load = self._session.agent_fixture, self._session.case
        self.touched.add(root)
        return collector

    # -- hooks ------------------------------------------------------------------------------

    def parametrise(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise a case file's test with the file's cases, and a user's test with all cases of the suites."""
        file, trials = metafunc.definition.getparent(CaseFile), self.settings.request.options.trials
        values: list[Any] = []
        if file is not None:
            values += params(file.suite, file.entries, trials)
        else:
            self._session.episodes.shared = True
            try:
                for suite, path in self._case_files():
                    values += params(suite, self._taken(suite, suite.entries(path)), trials)
                    self.touched.add(suite.root)
            except SuiteError as error:
                raise pytest.Collector.CollectError(printed(error)) from None
        metafunc.parametrize("mapsat_case", values, indirect=True)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note every built-in item, so that none can be lost unnoticed."""
        if is_built_in(item):
            self.ledger.expect([item.nodeid])
        if PYTHON_CASE in item.stash:
            param = item.stash[PYTHON_CASE].param
            self.in_python[item.nodeid] = param.id, param.trial

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note the items that pytest deselects."""
        self.ledger.any_deselected = self.ledger.any_deselected or bool(items)
        self.ledger.deselect(item.nodeid for item in items if is_built_in(item))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop cases that two arguments reached."""
        first: dict[tuple[Path, str], pytest.Item] = {}
        items[:] = [
            item
            for item in items
            if item.getparent(CaseFile) is None or first.setdefault((item.path, item.name), item) is item
        ]
        if self.settings.request.options.shard:
            self._keep_shard(items)
        if self.in_python and self.settings.request.options.sample:
            raise pytest.UsageError(
                "--mapsat-sample draws from the files of suites: -k or -m chooses among cases in Python"
            )

    def _keep_shard(self, items: list[pytest.Item]) -> None:
        """Deselect the cases of other shards; tests that are not cases run in every shard."""
        cases = {item: param.id for item in items if (param := param_or_none(item)) is not None}
        mine = cases_of_shard(cases.values(), self.settings.request.options.shard)
        others = [item for item in items if cases.get(item, "") not in ("", *mine)]
        items[:] = [item for item in items if cases.get(item, "") in ("", *mine)]
        self.config.hook.pytest_deselected(items=others)

    def pytest_report_collectionfinish(self) -> list[str]:
        """Print which sample of the suite is run, and how many variants of its cases there are. Raises UsageError if a sweep gives none."""
        swept = {
            suite.manifest.name: sum(bool(entry.plain) for entry in suite.readable())
            for suite in self.used()
            if suite.sweep is not None
        }
        if swept and not any(swept.values()):
            options = self.settings.request.options
            reasons = ["no tool of an oracle or of truth.tools can have these faults"] if options.faults else []
            reasons += ["these manners suit no user's script"] if options.manners else []
            raise pytest.UsageError(f"no case has variants: {', and '.join(reasons)}")
        return [f"mapsat: {printable(name)}: {count} variants of cases" for name, count in swept.items()] + [
            f"mapsat: a sample of {printable(suite.manifest.name)}: {len(self.samples[suite.root])} of {suite.size} cases {suite.manifest.sample}"
            for suite in self.used()
            if suite.root in self.samples
        ]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which items are left to run. All conftest files are known now: who makes no sandbox need not be asked for each case."""
        if not self.config.hook.pytest_mapsat_sandbox.get_hookimpls():
            self._sandboxes = tuple(installed_sandboxes())
            for suite in self.opened.values():
                suite.sandboxes = self._sandboxes
        for suite in self.used():
            if any(entry.group for entry in suite.in_python):
                try:
                    suite.refuse_broken_sequences(suite.in_python)
                except SuiteError as error:
                    raise pytest.UsageError(printed(error)) from None
        self.ledger.select(item.nodeid for item in session.items if is_built_in(item))
        if self._session.reporter is not None:
            self._session.reporter.collected()

    # -- inside -----------------------------------------------------------------------------

    def _case_files(self) -> list[tuple[Suite, Path]]:
        """Yield the case files of the run's suites, for tests that ask for all cases."""
        suites = [(self.open(root), path) for path in self.settings.cases if (root := find_suite(path))]
        suites = suites or [(suite, root) for root, suite in sorted(self.opened.items()) if suite.inventory.cases]
        return [
            (suite, file) for suite, place in suites for file in suite.files() if file == place or place in file.parents
        ]

    def _taken(self, suite: Suite, entries: tuple[CaseEntry, ...]) -> tuple[CaseEntry, ...]:
        """Return the non-draft entries of the run; refuse an id that another suite also has, because reports identify cases by id.

        Raises:
            SuiteError: another suite of this run has a case of the same id, or a sequence of its cases is broken.
        """
        suite.refuse_broken_sequences(entries)
        sample = self.samples.get(suite.root)
        self.ledger.drafts |= {entry.id: str(suite.root) for entry in entries if entry.draft}
        taken = tuple(entry for entry in entries if not entry.draft and (sample is None or entry.id in sample))
        self._refuse_taken(suite, taken)
        return taken

    def _refuse_taken(self, suite: Suite, entries: Iterable[CaseEntry]) -> None:
        """Raise SuiteError if another suite of this run already has one of these case ids."""
        for other in (self.opened[root] for root in sorted(self.touched - {suite.root}) if root in self.opened):
            theirs = self.samples.get(other.root)
            for entry in entries:
                entry_of_other = other.listed(entry.id)
                if entry_of_other is not None and (theirs is None or entry_of_other.id in theirs):
                    message = f"the id {entry.id!r} is taken: {entry_of_other.path}:{entry_of_other.line} of another suite has it"
                    raise SuiteError(Problem(str(entry.path), entry.line, message, "ids are unique in a run"))

    def _draw(self, suite: Suite) -> None:
        """Draw the sample of a suite if one was requested. Raises UsageError."""
        options = self.settings.request.options
        if options.sample:
            self.samples[suite.root] = frozenset(entry.id for entry in entries_of(suite, options))

    def _register_domains(self, domains: Iterable[tuple[str, str]]) -> None:
        """Register each domain as a marker, once."""
        markers = {line.partition(":")[0] for line in self.config.getini("markers")}
        for name, description in domains:
            if name not in markers:
                markers.add(name)
                self.config.addinivalue_line(
                    "markers", f"{name}: {printable(description) or 'a domain of benchmark cases'}"
                )

    def _without_overlaps(self, arguments: list[str]) -> list[str]:
        """Remove arguments inside another argument: pytest 8 would collect only the narrower one."""
        kept: list[str] = []
        for argument in dict.fromkeys(arguments):
            path = self._argument_path(argument)
            wider = [path, *path.parents] if "::" in argument else path.parents
            others = {self._argument_path(other) for other in arguments if other != argument and "::" not in other}
            if find_suite(path) is None or others.isdisjoint(wider):
                kept.append(argument)
        return kept

    def _argument_path(self, argument: str) -> Path:
        """Return the absolute path of a pytest argument."""
        path = self.config.invocation_params.dir / argument.partition("::")[0]
        return Path(os.path.abspath(path))  # noqa: PTH100  a/../b is not below a, and resolve() would leave links

    def _refuse_empty(self, path: Path) -> None:
        """Refuse a named place that holds no cases."""
        root = find_suite(path)
        if root is None and not (path.is_dir() and any(path.rglob("suite.yaml"))):
            raise pytest.UsageError(f"{path}: no suite here: expected a suite.yaml in this folder or one above")
        in_python = (name for glob in self.config.getini("python_files") for name in (root or path).rglob(glob))
        if root in self.opened and not self.opened[root].inventory.cases and not any(in_python):
            raise pytest.UsageError(f"{path}: the suite has no cases: expected YAML or JSONL files below {root.name}")


def _case_and_trial(name: str, places: Mapping[str, tuple[str, int]]) -> tuple[str, int]:
    """Return the case and trial in a node id's brackets, which may also contain other parameters."""
    if name in places:
        return places[name]
    parts = name.split("-")
    cuts = [("-".join(parts[first:last])) for first in range(len(parts)) for last in range(len(parts), first, -1)]
    return next((places[cut] for cut in sorted(cuts, key=len, reverse=True) if cut in places), (name, 1))


def _refuse_name(place: str) -> None:
    """Refuse a case file whose name xdist, pytest's cache or a terminal cannot handle. Raises SuiteError."""
    try:
        place.encode()
    except UnicodeEncodeError:
        raise SuiteError(Problem(printable(place), 0, "has a name that is not UTF-8", "rename it")) from None
    if on_one_line(place) != place:
        raise SuiteError(Problem(place, 0, "has a name with characters that steer a terminal", "rename it"))


class _BrokenFile(pytest.File):
    """A suite file that cannot be opened: its collection fails with the reason."""

    def __init__(self, *, message: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._message = message

    def collect(self) -> list[pytest.Item]:
        raise self.CollectError(self._message)
