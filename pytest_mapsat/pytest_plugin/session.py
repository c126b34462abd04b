"""The state of one pytest process while an agent is active: its suites, its runner, the episodes that its items ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pytest

from pytest_mapsat import registry
from pytest_mapsat.agents import Source, context_of, names_own_code, resolve_source, source_of
from pytest_mapsat.environments import Environments, place_name
from pytest_mapsat.episode import calls_after_end, leave_behind, shutdown
from pytest_mapsat.formats import Journal
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.judges import Decided, Episode, Finding, make_judge
from pytest_mapsat.metrics import gather_metric_sets
from pytest_mapsat.model import Case, MapsatError, OptimisedError, Scorecard, SuiteError, Trajectory
from pytest_mapsat.options import OPTIONS
from pytest_mapsat.printed import printed
from pytest_mapsat.registry import GROUP, added_checks
from pytest_mapsat.runs.ahead import Planned
from pytest_mapsat.runs.episodes import Episodes, Wanted, read_finished
from pytest_mapsat.runs.request import asked_for, asks_models, project_files, source_digest
from pytest_mapsat.runs.runner import Played, Runner, UserTrial, in_profile_setting
from pytest_mapsat.sandbox import Sandbox, SandboxHook, installed_sandboxes, make_sandbox
from pytest_mapsat.suite import Suite
from pytest_mapsat.user_code import forget_installed, installed, listening
from pytest_mapsat.users import check_user_spec

from .exit_status import ExitStatus
from .functions import Functions, listed_items
from .items import (
    PYTHON_CASE,
    CaseFile,
    CaseParam,
    HookError,
    call_hook,
    case_name,
    param_of,
    param_or_none,
    place_of,
    sandbox_of,
    wanted_of,
)
from .opening import connect, load_own_tools, open_agent_memory, open_door, replay_models, source_for
from .playing import Items, as_outcomes, keep
from .reporter import Reporter
from .settings import Settings, read_settings
from .suites import Suites
from .upcoming import AT_ONCE, Printed, Upcoming

if TYPE_CHECKING:
    from pytest_mapsat.model import RunRequest
    from pytest_mapsat.runs.elsewhere import Elsewhere


class CaseRun(NamedTuple):
    """A case that has run, with its scorecard and its episode."""

    scorecard: Scorecard
    episode: Episode


def start_session(config: pytest.Config) -> MapsatSession:
    """Return the session of this process; on the controller, also register the reporter.

    Raises:
        pytest.UsageError: an option, the agent's spec, the judge's or the user's cannot be used.
    """
    forget_installed()
    noticed = ExitStack()
    noticed.enter_context(listening())
    config.add_cleanup(noticed.close)
    exit_status = None if hasattr(config, "workerinput") else ExitStatus(config)
    # Of a module that was loaded before, pytest could only warn.
    pytest.register_assert_rewrite(*{point.module for point in installed(GROUP)} - sys.modules.keys())
    try:
        settings = read_settings(config)
        added_checks()  # one that cannot be loaded is told before anything is collected
        session = MapsatSession(config, settings)
        if exit_status is not None:
            session.reporter = Reporter(session, exit_status)
            config.pluginmanager.register(session.reporter, "mapsat-reporter")
        config.pluginmanager.register(session.suites, "mapsat-collecting")
        config.pluginmanager.register(session.functions, "mapsat-functions")
        config.pluginmanager.register(Items(session), "mapsat-items")
        session.suites.add_defaults()  # on workers too: they read the command line for themselves
    except MapsatError as error:
        raise pytest.UsageError(str(error)) from None
    return session


class MapsatSession:
    """One process of a run: its suites, agent, runner and episodes, with the hooks of start and end."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.root = config.invocation_params.dir
        self.is_controller = not hasattr(config, "workerinput")
        worker = getattr(config, "workerinput", {})
        #: What the controller tells a worker: where the journal stands, what is gone on from, which files were moved.
        self._told: dict[str, Any] = worker.get("mapsat", {})
        self._files_moved: dict[str, str] = self._told.get("moved", {})
        self.settings = settings
        self.reporter: Reporter | None = None
        self._worker = str(worker.get("workerid", ""))
        self.episodes = Episodes(self._worker)
        request = settings.request
        #: Names the run in the store that its processes share.
        self.run_name: str = self._told.get("run", "") or uuid4().hex
        self._client = open_door(settings, self.run_name)
        self._replay = replay_models(config, settings)
        self._source: Source | None = None
        if request.agent != "fixture":
            self._source = source_for(config, settings, self._moved(request.agent), client=self._client)
        self._memory = open_agent_memory(settings, self._source, self.root, self._client)
        self.environments = Environments(self._tell_environment)
        self._declared: dict[object, object | None] = {}
        #: By the agent that a fixture names; by nothing, that of the agent which the run is of.
        self._runners: dict[str, Runner] = {}
        self.metric_sets = gather_metric_sets(call_hook(config, config.hook.pytest_mapsat_metrics, config=config))
        # A metric set, a judge or a user that cannot be had is told before anything is collected.
        asked_for(request.options.metrics, self.metric_sets)
        check_user_spec(request.user)
        make_judge(self._moved(request.judge), {}, root=self.root)
        self._own_tools = load_own_tools(settings, self.root)
        sandboxes: tuple[SandboxHook, ...] = (*installed_sandboxes(), partial(sandbox_of, config))
        self.suites = Suites(self, sandboxes)
        self.settings = self.suites.settings
        self.functions = Functions(
            self.suites.declare, settings.request.options.trials, agent_fixture=self.agent_fixture
        )
        self._cluster = connect(
            config,
            settings,
            asks_models=asks_models(request.model_copy(update={"judge": "checks"})),
            carries=any(suite.manifest.carry for suite in self.suites.opened.values()),
        )
        for suite in self.suites.opened.values():
            self._declared_by(suite)  # one that cannot be used is told before anything is collected
        self._ahead = self._run_ahead()

    def described(self) -> Settings:
        """Return the settings with a digest of the agent's source, which identifies the run when it is resumed."""
        files = (getattr(plugin, "__file__", None) for plugin in self.config.pluginmanager.get_plugins())
        conftests = {Path(file) for file in files if file and Path(file).name == "conftest.py"}
        spec, agent = self.settings.request.agent, None if self._source is None else self._source.agent
        # A check or a sandbox of a conftest, and a helper of the agent, change what a run comes to as well.
        digest = source_digest(spec, agent, conftests.union(project_files(self.config.rootpath)))
        # The code of any other agent is elsewhere: that its files here are the same says nothing of it.
        build = self.settings.request.agent_build
        if digest and spec != "fixture" and names_own_code(spec):
            build = f"{build} of source {digest}" if build else digest  # one version may be told of two sources
        return self.settings.with_request(agent_source=digest, agent_build=build)

    # -- what fixtures ask for -------------------------------------------------------------

    @property
    def agent_fixture(self) -> bool:
        """Whether a fixture provides the agent."""
        return self._source is None

    @property
    def agent(self) -> object:
        """The agent object that the spec names."""
        if self._source is None:
            pytest.fail("--mapsat-agent=fixture: no conftest.py overrides the fixture mapsat_agent", pytrace=False)
        isolated = self.settings.isolation is not None and self._source.kind == "agent"
        if isolated and self._source.agent is None:
            pytest.fail("mapsat_agent: with --mapsat-isolate the agent is in processes of its own only", pytrace=False)
        return self._source.agent

    def case(self, param: CaseParam) -> Case:
        """Load and validate a case."""
        played_case = None if self._ahead is None else self._ahead.case(param)
        try:
            return self.load(param) if played_case is None else played_case
        except (SuiteError, HookError) as error:
            raise pytest.fail.Exception(printed(error), pytrace=False) from None

    def load(self, param: CaseParam) -> Case:
        """Load and validate a case, and call the hooks that may refuse it. Raises SuiteError, HookError."""
        case = param.suite.load(param.entry)
        call_hook(self.config, self.config.hook.pytest_mapsat_case_loaded, case=case)
        return case

    def sandbox(self, request: pytest.FixtureRequest, case: Case) -> Sandbox:
        """Return the sandbox of a parametrised test's case."""
        return make_sandbox(case, param_of(request.node).suite)

    def run_of(self, request: pytest.FixtureRequest, case: Case) -> Callable[[], CaseRun]:
        """Return a callable that runs the case of a parametrised test; an agent from a fixture is created now."""
        item = request.node
        agent = request.getfixturevalue("mapsat_agent") if self._source is None else None
        # Where the item's teardown looks for it.
        environment = item.funcargs["mapsat_environment"] = request.getfixturevalue("mapsat_environment")

        @cache
        def run() -> CaseRun:
            """Run the case once; later calls return the same result."""
            scorecard = self.episode(item, case, agent, environment)
            played = Played(case, scorecard.trajectory, None)
            return CaseRun(scorecard, self.runner(agent).context(param_of(item).suite, played).episode)

        return run

    def pytest_report_header(self) -> str:
        """Say what the agent lacks here."""
        lacks = getattr(self._source, "lacks", "")
        return f"mapsat: {lacks}" if lacks else ""

    def runner(self, agent: object = None) -> Runner:
        """Return the cached runner; with ``--mapsat-agent=fixture``, a runner for the agent from the test's fixture.

        Raises:
            UsageError: the agent that a fixture names cannot be resolved.
            SuiteError: likewise.
        """
        if self._source is None and not isinstance(agent, str):
            return self._make_runner(source_of(agent, "fixture"))
        spec = str(agent) if self._source is None else ""
        if spec not in self._runners:
            form = self.settings.request.options.http
            source = self._source or resolve_source(spec, root=self.root, client=self._client, http_form=form)
            self._runners[spec] = self._make_runner(source)
        return self._runners[spec]

    def outcome(self) -> dict[str, Any]:
        """Return this process's final data about its episodes as plain data.

        ``fault``: why the journal could not be written. ``unasked``: how many episodes were played for a later task of their user alone.
        ``notes``: what each line of the summary is about, what it says, and of how many. ``late``: the episodes of which more became known
        once they had been judged, by case and trial: the calls that came, or why the end is not known.
        """
        strays = 0 if self._replay is None else self._replay.strays
        ahead = [] if self._ahead is None else self._ahead.notes()
        shared = "calls of models in threads without the agent's context: no episode is known for them, equal requests share an answer"
        own_calls = sys.modules.get("pytest_mapsat.agents.own_calls")
        spans = own_calls.span_warnings() if own_calls is not None else ()
        acted = [("episodes", f"acted on {name}", count) for name, count in self.environments.acted.items()]
        calls = [(case, trial, [step.to_json() for step in steps], "") for case, trial, steps in calls_after_end()]
        return {
            "fault": self.episodes.fault,
            "unasked": sum(runner.carried.unasked for runner in self._runners.values()),
            "notes": [
                *(("at once", *note) for note in ahead),
                *(note for note in (("cache", shared, strays), *spans, *acted) if note[2]),
            ],
            "late": [*calls, *((late.case, late.trial, [], late.why) for late in self.environments.late)],
        }

    def judged_again(self, card: Scorecard, trajectory: Trajectory) -> Scorecard | None:
        """Return an episode judged again with another trajectory; None if no suite of the run has its case."""
        suite = self.suites.of_cases().get(card.id)
        entry = None if suite is None else suite.listed(card.id)
        if suite is None or entry is None:
            return None
        options = self.settings.request.options
        case = in_profile_setting(suite.load(entry), suite) if options.profile else suite.load(entry)
        source = self._source or resolve_source("baseline:silent", root=self.root)  # nothing is asked of it
        decided = None
        if entry.path.suffix == ".py" and trajectory.environment is not None:
            # The body saw another end, and is not called again here.
            undecided = Finding(None, trajectory.environment.unknown)
            own = (each.id for each in case.truth.requirements if each.check is None and not each.levels)
            decided = Decided(dict.fromkeys(own, undecided))
        played, place = Played(case, trajectory, 0), {"nodeid": card.nodeid, "line": card.line}
        graded = self._make_runner(source).grade(suite, played, decided=decided, **place)
        return graded.model_copy(update={"agent": card.agent, "attempt": card.attempt, "timing": card.timing})

    def _tell_environment(self, name: str) -> None:
        """Print the environment of the episodes."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and self.is_controller:
            terminal.ensure_newline()
            terminal.write_line(printed(f"mapsat: episodes act on {name}"))

    def _environment_of(self, suite: Suite, case: Case) -> object | None:
        """Return the environment of a case's episodes: from a hook, otherwise from the suite or the service file. Raises MapsatError."""
        caller = self.config.hook.pytest_mapsat_environment
        with waiting():
            environment = call_hook(self.config, caller, config=self.config, case=case, suite=suite)
        return self._declared_by(suite) if environment is None else environment

    def _declared_by(self, suite: Suite) -> object | None:
        """Return the environment that a suite declares, otherwise the environment in the service file. Raises UsageError."""
        service = getattr(self._source, "file", None)
        terms = suite.manifest.environment or getattr(service, "environment", None)
        if terms is None:
            return None
        from pytest_mapsat.environments import HttpEnvironment  # noqa: PLC0415 (only where one is declared)

        key = suite.root if suite.manifest.environment else None
        if key not in self._declared:
            self._declared[key] = HttpEnvironment(**vars(terms))
        return self._declared[key]

    # -- episodes --------------------------------------------------------------------------

    def episode(self, item: pytest.Item, case: Case, agent: object, environment: object | None = None) -> Scorecard:
        """Run the case of an item or fetch its episode, and keep the episode for the item's next report."""
        param, runner = param_of(item), self.runner(agent)
        nodeid = self._nodeid(param)
        wanted = wanted_of(item, agent)

        def run() -> Scorecard:
            """Play and grade the episode, or fetch an episode that ran ahead."""
            ended = self.played(runner, param, case, wanted, environment)
            if isinstance(ended, Scorecard):
                return ended
            return runner.grade(param.suite, ended, nodeid=nodeid, line=param.entry.line)

        with as_outcomes():
            self.join_run()
            return keep(item, self.episodes.ended(item.nodeid, wanted, nodeid, run))

    def played(
        self, runner: Runner, param: CaseParam, case: Case, wanted: Wanted, environment: object | None
    ) -> Scorecard | Played:
        """Return the episode for an item: one that ran ahead (graded unless its case is in Python), or one played now."""
        ended = None if self._ahead is None else self._ahead.ask(wanted)
        if ended is not None:
            return ended
        with nullcontext() if self._ahead is None else self._ahead.in_turn():
            return runner.play(param.suite, case, trial=param.trial, environment=environment)

    def _run_ahead(self) -> Upcoming | None:
        """Return the plugin that plays episodes ahead of their items; None if only one episode runs at a time."""
        option = self.config.option
        usual = AT_ONCE if self._source is not None and self._source.waits else 1
        if self._cluster is not None:
            usual = min(max(sum(self._cluster.nthreads().values()), 1), OPTIONS["concurrency"].most)
        width = self.settings.concurrency or usual
        talks = self._source is None or self._source.kind == "agent"
        by_hand = any(getattr(option, name, False) for name in ("usepdb", "trace", "setuponly", "setupplan"))
        if width == 1 or not talks or by_hand:
            return None
        upcoming = Upcoming(self, width)
        self.config.pluginmanager.register(upcoming, "mapsat-ahead")
        return upcoming

    def give_up(self) -> int:
        """Stop waiting for episodes that are no longer needed; return the number of busy agents."""
        for runner in self._runners.values():
            if runner.elsewhere is not None:
                runner.elsewhere.stop()
        return leave_behind()

    def planned(self, item: pytest.Item, case: Case, printed: Printed) -> Planned | None:
        """Return the plan for running an item's episode ahead; None if the episode has already run."""
        param, runner = param_of(item), self.runner()
        wanted = wanted_of(item)
        self.join_run()
        if self.episodes.has(wanted):
            return None
        environment = self._environment_of(param.suite, case)
        if environment is not None:
            self.environments.tell(environment)  # here: what an episode's own thread prints waits for its item
        alone = (environment and place_name(environment)) or UserTrial.of(param.suite, case, param.trial)

        play = partial(runner.play, param.suite, case, trial=param.trial, environment=environment)
        grade = None  # of a case in Python, whose body is played when its item has come
        if PYTHON_CASE not in item.stash:
            grade = partial(runner.grade, param.suite, nodeid=self._nodeid(param), line=param.entry.line)
        return Planned(wanted.key, play, grade, printed.context(), alone)

    def join_run(self) -> None:
        """On a worker, open the controller's journal, and read the run to resume."""
        start, self._told = self._told, {}
        if not start:
            return
        self.episodes.keeps_lines = start["keeps_lines"]
        if start["resume"]:
            self.episodes.finished = read_finished(Path(start["resume"]))
        if start["journal"]:
            with suppress(FileNotFoundError):  # the controller could begin none
                self.episodes.journal = Journal(Path(start["journal"]))

    def _nodeid(self, param: CaseParam) -> str:
        """Return the node id of a built-in item; for a suite outside the root, relative to the suite's folder."""
        if param.nodeid:
            return param.nodeid
        return f"{place_of(param.entry.path, self.config.rootpath, param.suite.root)}::case[{self._name(param)}]"

    def place(self, param: CaseParam) -> str:
        """Return the pytest argument that runs one case, from the folder where pytest was started."""
        name = param.nodeid.partition("::")[2] or f"case[{self._name(param)}]"
        return f"{os.path.relpath(param.entry.path, self.root)}::{name}"

    def _name(self, param: CaseParam) -> str:
        """Return the name of a case and its trial in node ids."""
        return case_name(param.entry.id, param.trial, self.settings.request.options.trials)

    @pytest.hookimpl(tryfirst=True)  # before a worker tells its items
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Refuse collected checks and Python cases if Python omits assertions. On a worker, report the cases."""
        if place := self._told.get("in_python"):
            Path(place, f"{self._worker}.json").write_bytes(listed_items(session.items))
        if registry.without_assertions():
            try:
                added_checks()
                if any(
                    PYTHON_CASE in item.stash or "mapsat_case" in getattr(item, "fixturenames", ())
                    for item in session.items
                    if not isinstance(item.parent, CaseFile)
                ):
                    raise OptimisedError
            except MapsatError as error:
                raise pytest.UsageError(str(error)) from None
        self._refuse_unplayable(session.items)

    def _refuse_unplayable(self, items: list[pytest.Item]) -> None:
        """Refuse a run before the first episode if a case cannot fill the agent's context, or its faults cannot reach the agent. Raises pytest.UsageError."""
        source = self._source
        recorded = source is not None and source.kind != "agent"
        asking = source if source is not None and source.kind == "agent" and source.wants_context else None
        for item in items:
            param = param_or_none(item)
            unreached = param is not None and (recorded or self._acts_elsewhere(item, param.suite))
            if param is None or not (asking or unreached):
                continue
            with suppress(SuiteError):  # the case itself fails
                case = param.suite.load(param.entry)
                if asking and (why := asking.unplayable(context_of(case.visible))):
                    raise pytest.UsageError(f"agent {asking.spec!r}, case {case.id}: {why}")
                if unreached and case.world.faults:
                    why = "recorded dialogues are as they are" if recorded else "the agent acts on an environment"
                    raise pytest.UsageError(
                        f"case {case.id}: {why}, which no fault of world.faults or --mapsat-faults reaches"
                    )

    def _acts_elsewhere(self, item: pytest.Item, suite: Suite) -> bool:
        """Return whether a fixture, a suite or a service file gives an item an environment."""
        service = getattr(self._source, "file", None)
        given = "mapsat_environment" in getattr(item, "fixturenames", ())
        return given or bool(suite.manifest.environment or getattr(service, "environment", None))

    # -- the end ---------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Release environments; on a worker, report the collected cases to the controller."""
        self.environments.close()
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            roots = sorted(map(str, self.suites.touched))
            output["mapsat"] = {**self.suites.ledger.left_out(), "roots": roots, **self.outcome()}

    def pytest_unconfigure(self) -> None:
        """Stop our threads, and close open resources."""
        if self._own_tools is not None:
            self._own_tools.close()
        shutdown()
        for suite in self.suites.opened.values():
            suite.close()
        if self._client is not None:
            if self.is_controller:
                self._client.forget_run()
            self._client.close()

    # -- inside ----------------------------------------------------------------------------

    def _make_runner(self, source: Source) -> Runner:
        """Return a runner for an agent, with all objects that this process shares between runners."""
        request = self.settings.request
        request = request.model_copy(update={"judge": self._moved(request.judge)})
        memories = None
        if self._memory is not None:
            from pytest_mapsat.runs.memories import Memories  # noqa: PLC0415 (only where it is asked for)

            memories = Memories(self._memory)
        return Runner(
            source,
            request,
            self.root,
            self.metric_sets,
            client=self._client,
            own_tools=self._own_tools,
            elsewhere=self._elsewhere(request),
            memories=memories,
            environments=self.environments,
            environment_of=self._environment_of,
            flights=self.episodes.flights,
        )

    def _elsewhere(self, request: RunRequest) -> Elsewhere | None:
        """Return the object that plays episodes on the dask cluster; None if there is none."""
        if self._cluster is None:
            return None
        from pytest_mapsat.runs.elsewhere import Elsewhere  # noqa: PLC0415 (an extra)

        rounds = 1 + (self.settings.concurrency or 1) // max(sum(self._cluster.nthreads().values()), 1)
        submit = partial(self._cluster.submit, pure=False)  # each call is an episode of its own
        hooks = reversed(self.config.hook.pytest_mapsat_sandbox.get_hookimpls())  # as they are called
        conftests = [str(getattr(hook.plugin, "__file__", "")) for hook in hooks]
        return Elsewhere(submit, request, self.root, self.settings.cache, rounds=rounds, conftests=conftests)

    def _moved(self, spec: str) -> str:
        """Return the spec of a recorded file, with its new path if the start of the run moved the file."""
        kind, _, place = spec.partition(":")
        moved: dict[str, str] = self._files_moved if self.reporter is None else self.reporter.beginning.moved
        new = moved.get(os.path.realpath(self.root / place)) if kind == "recorded" else None
        return spec if new is None else f"{kind}:{new}"
