"""What one pytest process holds while an agent is active: its suites, its runner, and the hooks that tie them to pytest."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from pytest_mapsat.agents import Source, resolve_source, source_of
from pytest_mapsat.episode import shutdown
from pytest_mapsat.formats import scorecard_json
from pytest_mapsat.judges import Decisions, gather_checks, make_judge
from pytest_mapsat.model import Case, MapsatError, Scorecard, SuiteError
from pytest_mapsat.reports import failure_text
from pytest_mapsat.runs.case import Runner
from pytest_mapsat.sandbox import Sandbox
from pytest_mapsat.users import check_user_spec

from .items import CaseFile, CaseParam, case_name, param_of, params, place_of
from .options import Settings, read_settings
from .reporter import Reporter
from .suites import Suites

CARD = pytest.StashKey[Scorecard]()


def start_session(config: pytest.Config) -> MapsatSession:
    """Return the session of this process; on the controller, register the reporter too.

    Raises:
        pytest.UsageError: an option, the agent's spec, the judge's or the user's cannot be used.
    """
    settings = read_settings(config)
    try:
        session = MapsatSession(config, settings)
        if not hasattr(config, "workerinput"):
            session.reporter = Reporter(config, settings, session.suites)
            config.pluginmanager.register(session.reporter, "mapsat-reporter")
            session.suites.add_defaults()  # a worker's arguments already name them
    except MapsatError as error:
        raise pytest.UsageError(str(error)) from None
    return session


class MapsatSession:
    """Suites, source, runner; the hooks of collection and of the items' reports."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.root = config.invocation_params.dir
        self.reporter: Reporter | None = None
        self._cards: dict[tuple[Path, str, int], Scorecard] = {}
        self._keep_cards = False
        request = settings.request
        self._source = None if request.agent == "fixture" else self._resolve(request.agent)
        self._runner: Runner | None = None
        self._checks = gather_checks(config.hook.pytest_mapsat_check(config=config))
        # A judge or a user that cannot be had is told before anything is collected.
        check_user_spec(request.user)
        make_judge(request.judge, {}, root=self.root)
        Decisions.read([settings.decisions] if settings.decisions else [])
        self.suites = Suites(config, settings)

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
                card = runner.run(param.suite, param.entry, case, trial=param.trial, nodeid=self._nodeid(param))
            except MapsatError as error:  # a record that cannot be read, a judge without its file
                pytest.fail(str(error), pytrace=False)
            if self._keep_cards:
                self._cards[key] = card
        return card

    def _agent_of(self, request: pytest.FixtureRequest) -> object:
        return request.getfixturevalue("mapsat_agent") if self._source is None else None

    def _nodeid(self, param: CaseParam) -> str:
        """Return the built-in item's node id; for a suite outside the root, from the suite's own folder on."""
        return f"{place_of(param.entry.path, self.config.rootpath, param.suite.root)}::case[{self._name(param)}]"

    def _again(self, param: CaseParam) -> str:
        """Return what to give pytest, from where it was started, to run one case again."""
        return f"{os.path.relpath(param.entry.path, self.root)}::case[{self._name(param)}]"

    def _name(self, param: CaseParam) -> str:
        return case_name(param.entry.id, param.trial, self.settings.request.options.trials)

    # -- collection ------------------------------------------------------------------------

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take the files that hold cases of a suite."""
        return self.suites.collect_file(file_path, parent, agent_fixture=self._source is None)

    def parametrise(self, metafunc: pytest.Metafunc) -> None:
        """Give a test the cases of its file; a test of the user's own, all cases of the suites."""
        file = metafunc.definition.getparent(CaseFile)
        if file is not None:
            values = list(params(file.suite, file.entries, self.settings.request.options.trials))
        else:
            self._keep_cards = True
            try:
                values = self.suites.values()
            except SuiteError as error:
                raise pytest.Collector.CollectError(str(error)) from None
        metafunc.parametrize("mapsat_case", values, indirect=True)

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
            asserted = self.settings.request.options.asserted_kinds
            pytest.fail(failure_text(card, case, asserted, again=self._again(param)), pytrace=False)
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
            if self.reporter is None:
                report.__dict__["mapsat"] = scorecard_json(card)
            else:
                self.reporter.fresh[report.nodeid] = card
        elif report.failed:
            report.__dict__["mapsat_broken"] = (
                f"{item.name}: could not be set up" if call.when == "setup" else item.name
            )
        return report

    def pytest_sessionfinish(self) -> None:
        """On a worker, tell the controller which suites were met."""
        if (output := getattr(self.config, "workeroutput", None)) is not None:
            output["mapsat_suites"] = [str(root) for root in sorted(self.suites.touched)]

    def pytest_unconfigure(self) -> None:
        """Stop our threads."""
        shutdown()

    # -- inside ----------------------------------------------------------------------------

    def _resolve(self, spec: str) -> Source:
        made = self.config.hook.pytest_mapsat_make_agent(config=self.config, spec=spec)
        return source_of(made, spec) if made is not None else resolve_source(spec, root=self.root)

    def _make_runner(self, source: Source) -> Runner:
        return Runner(source, self.settings.request, self.root, self._checks, self.settings.decisions)
