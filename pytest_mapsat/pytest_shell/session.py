"""What one pytest process holds while an agent is active: suites, the runner, and the run of each case."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_mapsat.agents import Source, resolve_source, source_of
from pytest_mapsat.episode import Limits, shutdown
from pytest_mapsat.formats import scorecard_json
from pytest_mapsat.judges import gather_checks
from pytest_mapsat.model import Case, MapsatError, Problem, Scorecard, SuiteError
from pytest_mapsat.reports import failure_text
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
        #: Scorecards of this process on their way to the reporter, by node id.
        self.fresh: dict[str, Scorecard] = {}
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
        param = param_of(request.node)
        return self.runner(self._agent_of(request)).sandbox(param.suite, param.entry.id)

    def run_of(self, request: pytest.FixtureRequest, case: Case) -> Callable[[], Scorecard]:
        """Return the run of the case that the test is parametrised with; an agent from a fixture is made now."""
        return partial(self.scorecard, param_of(request.node), case, self.runner(self._agent_of(request)))

    def runner(self, agent: object = None) -> Runner:
        """Return the runner; with ``--mapsat-agent=fixture`` it is made for the agent that the test's fixture gives."""
        if self._source is None:
            return self._make_runner(source_of(agent, "fixture"))
        if self._runner is None:
            self._runner = self._make_runner(self._source)
        return self._runner

    def scorecard(self, param: CaseParam, case: Case, runner: Runner) -> Scorecard:
        """Run a case and trial once and return its scorecard; a second test that asks gets the same one."""
        key = (param.suite.root, param.entry.id, param.trial)
        card = self._cards.get(key) if self._source is not None else None
        if card is None:
            try:
                card = runner.run(param.suite, param.entry, case, trial=param.trial, nodeid=self.nodeid(param))
            except MapsatError as error:  # a record that cannot be read, a judge without its file
                pytest.fail(str(error), pytrace=False)
            if self._keep_cards:
                self._cards[key] = card
        return card

    def _agent_of(self, request: pytest.FixtureRequest) -> object:
        return request.getfixturevalue("mapsat_agent") if self._source is None else None

    def nodeid(self, param: CaseParam) -> str:
        """Return the built-in item's node id; for a suite outside the root, from the suite's own folder on."""
        return f"{_place(param.entry.path, self.config.rootpath, param.suite.root)}::case[{self._name(param)}]"

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
        if chosen or not given:
            for path in self.settings.cases:
                self._refuse_empty(path)
            self.config.args += map(str, self.settings.cases)
        self.config.args[:] = self._without_overlaps(self.config.args)

    def _without_overlaps(self, arguments: list[str]) -> list[str]:
        """Leave out what another argument reaches anyway: pytest 8 would collect the narrower one only."""
        kept: list[str] = []
        for argument in dict.fromkeys(arguments):
            path = self._argument_path(argument)
            wider = [path, *path.parents] if "::" in argument else path.parents
            others = {self._argument_path(other) for other in arguments if other != argument and "::" not in other}
            if find_suite(path) is None or others.isdisjoint(wider):
                kept.append(argument)
        return kept

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
        collector.agent_fixture = self._source is None
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

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a built-in item: pass, fail with the reasons, or skip what nobody could judge."""
        if not isinstance(pyfuncitem.parent, CaseFile):
            return None
        case = cast("Case", pyfuncitem.funcargs["mapsat_case"])
        param = param_of(pyfuncitem)
        card = self.scorecard(param, case, self.runner(pyfuncitem.funcargs.get("mapsat_agent")))
        pyfuncitem.stash[CARD] = card
        pyfuncitem.user_properties += [("mapsat.ar", card.ar), ("mapsat.ses", card.ses)]
        if card.outcome == "failed":
            pytest.fail(failure_text(card, case, self.settings.asserted, again=self.again(param)), pytrace=False)
        if card.outcome != "passed":
            raise pytest.skip.Exception(f"{card.outcome}: {card.reason}", _use_item_location=True)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the scorecard to the item's report, on a worker as text: that crosses to another process by itself."""
        report = yield
        if not isinstance(item.parent, CaseFile):
            return report
        if call.when == "call" and (card := item.stash.get(CARD, None)) is not None:
            del item.stash[CARD]
            if hasattr(self.config, "workerinput"):
                report.__dict__["mapsat"] = scorecard_json(card)
            else:
                self.fresh[report.nodeid] = card
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


class _BrokenFile(pytest.File):
    """A file of a suite that cannot be opened: its collection fails with the reason."""

    def __init__(self, *, message: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._message = message

    def collect(self) -> list[pytest.Item]:
        raise self.CollectError(self._message)


@lru_cache(maxsize=1024)
def _place(path: Path, rootpath: Path, suite: Path) -> str:
    """Return a case file's place below pytest's root, or below the folder that its suite lies in."""
    base = rootpath if path.is_relative_to(rootpath) else suite.parent
    return path.relative_to(base).as_posix()


def param_of(item: pytest.Item) -> CaseParam:
    """Return the parameter of ``mapsat_case`` of a test."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or "mapsat_case" not in callspec.params:
        pytest.fail(
            "mapsat_sandbox and mapsat_run belong to a test that is parametrised with mapsat_case", pytrace=False
        )
    param: CaseParam = callspec.params["mapsat_case"]
    return param
