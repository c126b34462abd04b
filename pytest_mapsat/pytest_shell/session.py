"""What one pytest process holds while an agent is active: suites, the runner, and the run of each case."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_mapsat.agents import Source, resolve_source, source_of
from pytest_mapsat.episode import Limits, shutdown
from pytest_mapsat.judges import gather_checks
from pytest_mapsat.model import Case, MapsatError, Problem, Scorecard, SuiteError
from pytest_mapsat.reports import failure_text, scorecard_json
from pytest_mapsat.runner import Runner
from pytest_mapsat.sandbox import Sandbox
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite

from .collect import CaseFile, CaseParam, params, register_domains
from .options import Settings, read_settings

CARD = pytest.StashKey[Scorecard]()
#: The domains of the interface, which are markers while an agent is active, whatever the suite.
DOMAINS = (
    ("search", "finding places"),
    ("navigation", "routes and how to travel"),
    ("itinerary", "plans of several stops"),
    ("realtime", "traffic, weather, opening"),
    ("ride_hailing", "taxis and rides"),
    ("local_services", "booking, buying, dining"),
)
_CASE_SUFFIXES = {".yaml", ".yml", ".jsonl", ".gz"}


def start_session(config: pytest.Config) -> MapsatSession:
    """Return the session of this process; on the controller, register the reporter too.

    Raises:
        pytest.UsageError: an option, the agent's spec, the judge's or the user's cannot be used.
    """
    from .reporter import Reporter  # noqa: PLC0415 (imports this module)

    settings = read_settings(config)
    try:
        session = MapsatSession(config, settings)
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Reporter(config, session), "mapsat-reporter")
    except MapsatError as error:
        raise pytest.UsageError(str(error)) from None
    session.add_default_suites()
    return session


class MapsatSession:
    """Suites, source, runner; the hooks of collection and of the items' reports."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.root = config.invocation_params.dir
        self.suites: dict[Path, Suite] = {}
        #: Roots of the suites that files were collected from; the others were only opened for their domains.
        self.touched: set[Path] = set()
        self._owners: dict[str, tuple[Path, CaseEntry]] = {}
        self._cards: dict[tuple[Path, str, int], Scorecard] = {}
        self._keep_cards = False
        self._source = None if settings.agent == "fixture" else self._resolve(settings.agent)
        self._runner: Runner | None = None
        self._checks = gather_checks(config.hook.pytest_mapsat_check(config=config))
        self._check_specs()
        register_domains(config, DOMAINS)
        for path in self._known_places():
            self.open_known(path)

    # -- what fixtures ask for -------------------------------------------------------------

    @property
    def agent(self) -> object:
        """The agent object that the spec names."""
        if self._source is None:
            pytest.fail("--mapsat-agent=fixture: no conftest.py overrides the fixture mapsat_agent", pytrace=False)
        return self._source.agent

    def case(self, param: CaseParam) -> Case:
        """Load and validate a case."""
        try:
            case = param.suite.load(param.entry)
        except SuiteError as error:
            pytest.fail(str(error), pytrace=False)
        self.config.hook.pytest_mapsat_case_loaded(case=case)
        return case

    def sandbox(self, request: pytest.FixtureRequest) -> Sandbox:
        """Return the world of the case that the test is parametrised with."""
        param = param_of(request)
        return self.runner(request).sandbox(param.suite, param.entry.id)

    def run_of(self, request: pytest.FixtureRequest) -> CaseRun:
        """Return the run of the case that the test is parametrised with."""
        self.runner(request)  # an agent from a fixture is made now, in the test's set-up
        return CaseRun(self, request)

    def runner(self, request: pytest.FixtureRequest) -> Runner:
        """Return the runner; with ``--mapsat-agent=fixture`` it takes the agent from the fixture as this test sees it."""
        if self._source is None:
            return self._make_runner(source_of(request.getfixturevalue("mapsat_agent"), "fixture"))
        if self._runner is None:
            self._runner = self._make_runner(self._source)
        return self._runner

    def scorecard(self, request: pytest.FixtureRequest, case: Case) -> Scorecard:
        """Run a case and trial once and return its scorecard; a second test that asks gets the same one."""
        param = param_of(request)
        key = (param.suite.root, param.entry.id, param.trial)
        if self._source is None or key not in self._cards:
            card = self.runner(request).run(
                param.suite, param.entry, case, trial=param.trial, nodeid=self.nodeid(param)
            )
            if not self._keep_cards:
                return card
            self._cards[key] = card
        return self._cards[key]

    def nodeid(self, param: CaseParam) -> str:
        """Return the built-in item's node id; for a suite outside the root, from the suite's own folder on."""
        path, root = param.entry.path, self.config.rootpath
        base = root if path.is_relative_to(root) else param.suite.root.parent
        return f"{path.relative_to(base).as_posix()}::case[{self._name(param)}]"

    def again(self, param: CaseParam) -> str:
        """Return what to give pytest, from where it was started, to run one case again."""
        return f"{os.path.relpath(param.entry.path, self.root)}::case[{self._name(param)}]"

    def _name(self, param: CaseParam) -> str:
        return param.entry.id if self.settings.trials == 1 else f"{param.entry.id}-t{param.trial}"

    # -- collection ------------------------------------------------------------------------

    def suite(self, root: Path) -> Suite:
        """Return the suite in a folder, opened once, its domains made markers."""
        if root not in self.suites:
            suite = open_suite(root)
            register_domains(self.config, suite.manifest.domains.items())
            self.suites[root] = suite
        return self.suites[root]

    def add_default_suites(self) -> None:
        """Add the suites to what pytest collects: always those of --mapsat-cases, the default only where no path was given."""
        if hasattr(self.config, "workerinput"):
            return  # the controller's arguments already name them
        given = self.config.args_source is pytest.Config.ArgsSource.ARGS
        chosen = self.config.getoption("mapsat_cases") is not None
        if given and not chosen:
            return
        here = [self._argument_path(argument) for argument in self.config.args]
        for path in self.settings.cases:
            self._refuse_empty(path)
            if not any(path == other or other in path.parents for other in here):
                self.config.args.append(str(path))

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take the files that hold cases of a suite."""
        if file_path.suffix not in _CASE_SUFFIXES:
            return None
        root = find_suite(file_path)
        if root is None:
            return None
        try:
            suite = self.suite(root)
            if not suite.holds_cases(file_path):
                return None
        except SuiteError as error:
            broken: pytest.File = _BrokenFile.from_parent(parent, path=file_path, message=str(error))
            return broken
        collector: CaseFile = CaseFile.from_parent(parent, path=file_path)
        collector.suite, collector.claim = suite, self.claim
        self.touched.add(root)
        return collector

    def parametrise(self, metafunc: pytest.Metafunc) -> None:
        """Give a test the cases of its file; a test of the user's own, all cases of the suites."""
        file = metafunc.definition.getparent(CaseFile)
        trials = self.settings.trials
        if file is not None:
            values = list(params(file.suite, file.entries, trials))
        else:
            self._keep_cards = True
            try:
                values = [
                    value for suite, path in self._case_files() for value in params(suite, suite.entries(path), trials)
                ]
            except SuiteError as error:
                raise pytest.Collector.CollectError(str(error)) from None
        metafunc.parametrize("mapsat_case", values, indirect=True)

    def claim(self, suite: Suite, entries: tuple[CaseEntry, ...]) -> None:
        """Note whose ids these are: a run file, a baseline and a report know a case by its id alone.

        Raises:
            SuiteError: another suite of this run has a case of the same id.
        """
        for entry in entries:
            root, other = self._owners.setdefault(entry.id, (suite.root, entry))
            if root != suite.root:
                message = f"the id {entry.id!r} is taken: {other.path}:{other.line} of another suite has it"
                raise SuiteError(Problem(str(entry.path), entry.line, message, "ids are unique in a run"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop cases that two arguments reached."""
        seen: set[tuple[Path, str]] = set()
        kept = []
        for item in items:
            key = (item.path, item.name)
            if item.getparent(CaseFile) is not None:
                if key in seen:
                    continue
                seen.add(key)
            kept.append(item)
        items[:] = kept

    # -- reports ---------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the scorecard to the item's report, as text: that crosses to another process by itself."""
        report = yield
        if item.getparent(CaseFile) is None:
            return report
        if call.when == "call" and (card := item.stash.get(CARD, None)) is not None:
            report.__dict__["mapsat"] = scorecard_json(card)
            del item.stash[CARD]
        elif report.failed:
            report.__dict__["mapsat_broken"] = (
                f"{item.name}: could not be set up" if call.when == "setup" else item.name
            )
        return report

    def pytest_sessionfinish(self) -> None:
        """On a worker, tell the controller which suites were met."""
        if (output := getattr(self.config, "workeroutput", None)) is not None:
            output["mapsat_suites"] = [str(root) for root in sorted(self.touched)]

    def pytest_unconfigure(self) -> None:
        """Stop our threads."""
        shutdown()

    # -- inside ----------------------------------------------------------------------------

    def _resolve(self, spec: str) -> Source:
        made = self.config.hook.pytest_mapsat_make_agent(config=self.config, spec=spec)
        return source_of(made, spec) if made is not None else resolve_source(spec, root=self.root)

    def _make_runner(self, source: Source) -> Runner:
        settings = self.settings
        return Runner(
            source=source,
            user=settings.user,
            judge=settings.judge,
            limits=Limits(max_turns=settings.max_turns, timeout=settings.timeout),
            asserted=settings.asserted,
            root=self.root,
            checks=self._checks,
        )

    def _check_specs(self) -> None:
        """Refuse a judge or a user that cannot be had before anything is collected."""
        from pytest_mapsat.judges import make_judge  # noqa: PLC0415
        from pytest_mapsat.users import check_user_spec  # noqa: PLC0415

        check_user_spec(self.settings.user)
        make_judge(self.settings.judge, {}, root=self.root)

    def _known_places(self) -> list[Path]:
        return [*self.settings.cases, *(self._argument_path(argument) for argument in self.config.args)]

    def _argument_path(self, argument: str) -> Path:
        return (self.config.invocation_params.dir / argument.partition("::")[0]).absolute()

    def open_known(self, path: Path) -> None:
        """Open the suite at a place early, so that its domains are markers before ``-m`` is read."""
        root = find_suite(path)
        if root is not None:
            try:
                self.suite(root)
            except SuiteError:
                return  # told where its files are collected

    def _refuse_empty(self, path: Path) -> None:
        root = find_suite(path)
        if root is None and not (path.is_dir() and any(path.rglob("suite.yaml"))):
            raise pytest.UsageError(f"{path}: no suite here: expected a suite.yaml in this folder or one above")
        if root is not None and root in self.suites and not self.suites[root].inventory.cases:
            raise pytest.UsageError(f"{path}: the suite has no cases: expected YAML or JSONL files below {root.name}")

    def _case_files(self) -> list[tuple[Suite, Path]]:
        places = [path for path in self.settings.cases if find_suite(path)]
        suites = [(self.suite(root), path) for path in places if (root := find_suite(path))]
        suites = suites or [(suite, root) for root, suite in sorted(self.suites.items())]
        return [
            (suite, file) for suite, place in suites for file in suite.files() if file == place or place in file.parents
        ]


class CaseRun:
    """The run of one case, as the fixture ``mapsat_run`` hands it out."""

    def __init__(self, session: MapsatSession, request: pytest.FixtureRequest) -> None:
        self._session = session
        self._request = request

    def __call__(self) -> Scorecard:
        """Run the case, once, and return its scorecard. Never asserts."""
        return self._session.scorecard(self._request, self._case)

    def settle(self) -> None:
        """Run the case and end the test as its outcome says: pass, fail with the reasons, or skip what nobody could judge."""
        __tracebackhide__ = True
        card = self()
        self._request.node.stash[CARD] = card
        self._request.node.user_properties += [("mapsat.ar", card.ar), ("mapsat.ses", card.ses)]
        if card.outcome == "failed":
            session, again = self._session, self._session.again(param_of(self._request))
            pytest.fail(failure_text(card, self._case, session.settings.asserted, again=again), pytrace=False)
        if card.outcome != "passed":
            raise pytest.skip.Exception(f"{card.outcome}: {card.reason}", _use_item_location=True)

    @property
    def _case(self) -> Case:
        case: Case = self._request.getfixturevalue("mapsat_case")
        return case


class _BrokenFile(pytest.File):
    """A file of a suite that cannot be opened: its collection fails with the reason."""

    def __init__(self, *, message: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._message = message

    def collect(self) -> list[pytest.Item]:
        raise self.CollectError(self._message)


def param_of(request: pytest.FixtureRequest) -> CaseParam:
    """Return the parameter of ``mapsat_case`` of the test that asks."""
    param: CaseParam = request.node.callspec.params["mapsat_case"]
    return param
