"""What one pytest process holds while an agent is active: its suites, its runner, and the hooks that tie them to pytest."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import uuid4

import pytest

from pytest_mapsat import registry
from pytest_mapsat.agents import MemorySource, Source, names_own_code, open_memory, resolve_source, source_of
from pytest_mapsat.environments import Environments, place_name
from pytest_mapsat.episode import calls_after_end, leave_behind, shutdown
from pytest_mapsat.formats import Journal
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.judges import Blocks, Decided, Episode, Finding, make_judge, unjudgeable
from pytest_mapsat.metrics import gather_metric_sets
from pytest_mapsat.model import (
    ASSERTED_AS,
    Case,
    MapsatError,
    OptimisedError,
    Scorecard,
    SuiteError,
    Trajectory,
    UsageError,
    outcome_word,
)
from pytest_mapsat.options import OPTIONS, typed
from pytest_mapsat.printed import printed
from pytest_mapsat.registry import GROUP, added_checks
from pytest_mapsat.reports import lost_reason, printable, properties
from pytest_mapsat.runs.ahead import Planned
from pytest_mapsat.runs.episodes import Ended, Episodes, Wanted, read_finished
from pytest_mapsat.runs.request import (
    CeilingReachedError,
    asked_for,
    asks_models,
    metrics_of,
    project_files,
    source_digest,
)
from pytest_mapsat.runs.runner import Played, Runner, UserTrial, in_profile_setting
from pytest_mapsat.sandbox import Sandbox, SandboxHook, installed_sandboxes, make_sandbox
from pytest_mapsat.suite import Suite, find_suite
from pytest_mapsat.user_code import forget_installed, installed, listening
from pytest_mapsat.users import check_user_spec

from .exit_status import ExitStatus
from .functions import Functions, blocks_for, call_body, listed_items, stamp_of
from .hooks import HookError, call_hook, sandbox_of
from .item_reports import Completion, packed, text_of, told_each
from .items import PYTHON_CASE, CaseFile, CaseParam, case_name, is_built_in, is_ours, param_of, place_of, wanted_of
from .private import definitions
from .reporter import Reporter
from .settings import Settings, read_settings
from .suites import Suites
from .upcoming import AT_ONCE, Printed, Upcoming

if TYPE_CHECKING:
    from pytest_mapsat.agents.isolation import Isolation
    from pytest_mapsat.llm import LiteLLMClient, Replay
    from pytest_mapsat.model import RunRequest
    from pytest_mapsat.recording import OwnTools
    from pytest_mapsat.runs.elsewhere import Elsewhere

#: How long a process may take to import the agent at least, seconds, however short episodes are.
_LEAST_PATIENCE = 60.0
ENDED = pytest.StashKey[list[Ended]]()
_SKIPS = (pytest.skip.Exception, pytest.xfail.Exception)
LOST = pytest.StashKey[Scorecard | None]()
#: What is known of an episode of which the body in Python has failed.
TEXT = pytest.StashKey[str]()


class CaseRun(NamedTuple):
    """A case that was run: what it is worth, and what happened."""

    scorecard: Scorecard
    episode: Episode


def start_session(config: pytest.Config) -> MapsatSession:
    """Return the session of this process; on the controller, register the reporter too.

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
        session.suites.add_defaults()  # on workers too: they read the command line for themselves
    except MapsatError as error:
        raise pytest.UsageError(str(error)) from None
    return session


class MapsatSession:
    """Suites, source, runner; the hooks of collection and of the items' reports."""

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
        self._completion = Completion(config, settings.request.options)
        request = settings.request
        #: Names the run in the store that its processes share.
        self.run_name: str = self._told.get("run", "") or uuid4().hex
        self._client = self._open_door()
        self._replay = self._replay_models()
        self._source: Source | None = None
        if request.agent != "fixture":
            self._source = _source_for(config, settings, self._moved(request.agent), client=self._client)
        self._memory = self._open_memory()
        self.environments = Environments(self._tell_environment)
        self._declared: dict[object, object | None] = {}
        #: By the agent that a fixture names; by nothing, that of the agent which the run is of.
        self._runners: dict[str, Runner] = {}
        self.metric_sets = gather_metric_sets(call_hook(config, config.hook.pytest_mapsat_metrics, config=config))
        # A metric set, a judge or a user that cannot be had is told before anything is collected.
        asked_for(request.options.metrics, self.metric_sets)
        check_user_spec(request.user)
        make_judge(self._moved(request.judge), {}, root=self.root)
        self._own_tools = self._load_own_tools()
        sandboxes: tuple[SandboxHook, ...] = (*installed_sandboxes(), partial(sandbox_of, config))
        self.suites = Suites(self, sandboxes)
        self.settings = self.suites.settings
        self.functions = Functions(
            self.suites.declare, settings.request.options.trials, agent_fixture=self.agent_fixture
        )
        self._cluster = _connect(
            config,
            settings,
            asks_models=asks_models(request.model_copy(update={"judge": "checks"})),
            carries=any(suite.manifest.carry for suite in self.suites.opened.values()),
        )
        for suite in self.suites.opened.values():
            self._declared_by(suite)  # one that cannot be used is told before anything is collected
        self._ahead = self._run_ahead()
        #: Tests that are to be run again, with the worker of each, where there are workers.
        self._repeated: set[tuple[str, object]] = set()

    def described(self) -> Settings:
        """Return the settings with a digest of the agent's source, which a run that goes on from this one compares."""
        files = (getattr(plugin, "__file__", None) for plugin in self.config.pluginmanager.get_plugins())
        conftests = {Path(file) for file in files if file and Path(file).name == "conftest.py"}
        spec, agent = self.settings.request.agent, None if self._source is None else self._source.agent
        # A check or a sandbox of a conftest, and a helper of the agent, change what a run comes to as well.
        digest = source_digest(spec, agent, conftests.union(project_files(self.config.rootpath)))
        # The code of any other agent is elsewhere: that its files here are the same says nothing of it.
        build = self.settings.request.agent_build
        if digest and spec != "fixture" and names_own_code(spec):
            build = (
                f"{build} of source {digest}" if build else digest
            )  # a version that was told may be told of two sources
        return self.settings.with_request(agent_source=digest, agent_build=build)

    # -- what fixtures ask for -------------------------------------------------------------

    @property
    def agent_fixture(self) -> bool:
        """Whether the agent is that of a fixture."""
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
        """Load and validate a case, and have plugins look at it. Raises SuiteError, HookError."""
        case = param.suite.load(param.entry)
        call_hook(self.config, self.config.hook.pytest_mapsat_case_loaded, case=case)
        return case

    def sandbox(self, request: pytest.FixtureRequest, case: Case) -> Sandbox:
        """Return the sandbox of the case that the test is parametrised with."""
        return make_sandbox(case, param_of(request.node).suite)

    def run_of(self, request: pytest.FixtureRequest, case: Case) -> Callable[[], CaseRun]:
        """Return the run of the case that the test is parametrised with; an agent from a fixture is made now."""
        item = request.node
        agent = request.getfixturevalue("mapsat_agent") if self._source is None else None
        # Where the item's teardown looks for it.
        environment = item.funcargs["mapsat_environment"] = request.getfixturevalue("mapsat_environment")

        @cache
        def run() -> CaseRun:
            scorecard = self._episode(item, case, agent, environment)
            played = Played(case, scorecard.trajectory, None)
            return CaseRun(scorecard, self.runner(agent).context(param_of(item).suite, played).episode)

        return run

    def runner(self, agent: object = None) -> Runner:
        """Return the runner, made once; with ``--mapsat-agent=fixture`` one for the agent that the test's fixture gives or names.

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
        """Return what this process tells at the end of its episodes, as plain data.

        ``fault``: why the journal could not be written. ``unasked``: how many episodes were played for a later task of their user alone.
        ``notes``: what each line of the summary is about, what it says, and of how many. ``late``: the episodes of which more became known
        once they had been judged, by case and trial: the calls that came, or why the end is not known.
        """
        strays = 0 if self._replay is None else self._replay.strays
        ahead = [] if self._ahead is None else self._ahead.told()
        shared = "calls of models in threads without the agent's context: no episode is known for them, equal requests share an answer"
        own_calls = sys.modules.get("pytest_mapsat.agents.own_calls")
        spans = own_calls.spans_told() if own_calls is not None else ()
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
        """Return an episode of this run judged by another trajectory; None where its case is not in a suite of the run."""
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
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and self.is_controller:
            terminal.ensure_newline()
            terminal.write_line(printed(f"mapsat: episodes act on {name}"))

    def _environment_of(self, suite: Suite, case: Case) -> object | None:
        """Return what an episode of a case acts on: what a hook gives, else what the suite or the file of the service declares. Raises MapsatError."""
        caller = self.config.hook.pytest_mapsat_environment
        with waiting():
            made = call_hook(self.config, caller, config=self.config, case=case, suite=suite)
        return self._declared_by(suite) if made is None else made

    def _declared_by(self, suite: Suite) -> object | None:
        """Return the environment of a suite, else that of the service. Raises UsageError."""
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

    def _episode(self, item: pytest.Item, case: Case, agent: object, environment: object | None = None) -> Scorecard:
        """Run the case of an item, or fetch its episode, and keep it for the item's next report."""
        param, runner = param_of(item), self.runner(agent)
        nodeid = self._nodeid(param)
        wanted = wanted_of(item, agent)

        def run() -> Scorecard:
            ended = self._played(runner, param, case, wanted, environment)
            if isinstance(ended, Scorecard):
                return ended
            return runner.grade(param.suite, ended, nodeid=nodeid, line=param.entry.line)

        with _as_outcomes():
            self._join_run()
            return self._keep(item, self.episodes.ended(item.nodeid, wanted, nodeid, run))

    def _keep(self, item: pytest.Item, ended: Ended) -> Scorecard:
        """Keep an episode for the next report of its item."""
        item.stash.setdefault(ENDED, []).append(ended)
        item.stash[LOST] = ended.card if ended.card.lost else None
        return ended.card

    def _call(self, item: pytest.Function) -> Generator[None, object, object]:
        """Play the dialogue of a case in Python, have pytest call its body, and keep the episode; raise what the body comes to."""
        __tracebackhide__ = True
        own, param, agent = item.stash[PYTHON_CASE], param_of(item), item.funcargs.get("mapsat_agent")
        wanted = wanted_of(item, agent)
        with _as_outcomes():
            self._join_run()
            runner, before = self.runner(agent), self.episodes.before(wanted)
            case = self.load(param)
            played = Played(case, before.trajectory, None) if before is not None else None
            if played is None:
                environment = item.funcargs.get("mapsat_environment")
                played = cast("Played", self._played(runner, param, case, wanted, environment))
            context = runner.context(param.suite, played)
        asserted = self.settings.request.options.asserted_kinds
        blocks: Blocks | None = None
        broken: BaseException | None = None
        if unjudgeable(played.case, played.trajectory, "", "") is None:
            blocks = blocks_for(
                own, context, stops=lambda kind: item.config.option.usepdb and ASSERTED_AS.get(kind) in asserted
            )
            broken = yield from call_body(item, context, blocks)
        known: dict[str, Any] = {"nodeid": param.nodeid, "line": param.entry.line, "stamp": stamp_of(own, context)}
        known |= {"timing": before.timing} if before is not None else {}
        with _as_outcomes():
            graded = runner.grade(param.suite, played, decided=blocks.decided if blocks else None, **known)
            ended = self.episodes.ended(item.nodeid, wanted, param.nodeid, lambda: graded, again=True)
        card = self._keep(item, ended)
        text = self._text_of(item, played.case, card)
        if broken is not None and not isinstance(broken, pytest.skip.Exception):
            raise broken
        failures = [error for kind, error in blocks.failures if ASSERTED_AS.get(kind) in asserted] if blocks else []
        if card.outcome == "failed" and failures:
            item.stash[TEXT] = text
            raise failures[0] if len(failures) == 1 else BaseExceptionGroup(card.reason, failures)
        self._conclude(card, text)
        return True

    def _played(
        self, runner: Runner, param: CaseParam, case: Case, wanted: Wanted, environment: object | None
    ) -> Scorecard | Played:
        """Return the episode that an item asks for: one that has run ahead, graded already unless its case is one in Python, or one that is played now."""
        ended = None if self._ahead is None else self._ahead.ask(wanted)
        if ended is not None:
            return ended
        with nullcontext() if self._ahead is None else self._ahead.in_turn():
            return runner.play(param.suite, case, trial=param.trial, environment=environment)

    def _run_ahead(self) -> Upcoming | None:
        """Return what runs episodes ahead of their items, where more than one may be under way."""
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
        """End the waiting for episodes that are no longer wanted; return how many were left behind in a reply."""
        for runner in self._runners.values():
            if runner.elsewhere is not None:
                runner.elsewhere.stop()
        return leave_behind()

    def planned(self, item: pytest.Item, case: Case, printed: Printed) -> Planned | None:
        """Return the plan of an item's episode; None where it has been run already."""
        param, runner = param_of(item), self.runner()
        wanted = wanted_of(item)
        self._join_run()
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

    def _join_run(self) -> None:
        """On a worker, open the journal that the controller has begun, and the run that is gone on from."""
        told, self._told = self._told, {}
        if not told:
            return
        self.episodes.keeps_lines = told["keeps_lines"]
        if told["resume"]:
            self.episodes.finished = read_finished(Path(told["resume"]))
        if told["journal"]:
            with suppress(FileNotFoundError):  # the controller could begin none
                self.episodes.journal = Journal(Path(told["journal"]))

    def _nodeid(self, param: CaseParam) -> str:
        """Return the built-in item's node id; for a suite outside the root, from the suite's own folder on."""
        if param.nodeid:
            return param.nodeid
        return f"{place_of(param.entry.path, self.config.rootpath, param.suite.root)}::case[{self._name(param)}]"

    def _place(self, param: CaseParam) -> str:
        """Return what to give pytest for a case, from where it was started."""
        name = param.nodeid.partition("::")[2] or f"case[{self._name(param)}]"
        return f"{os.path.relpath(param.entry.path, self.root)}::{name}"

    def _name(self, param: CaseParam) -> str:
        return case_name(param.entry.id, param.trial, self.settings.request.options.trials)

    # -- items and their reports -----------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a built-in item: pass, fail with the reasons, or skip what is undecided, and what is lost until its report is made."""
        if not isinstance(pyfuncitem.parent, CaseFile):
            return None
        case = cast("Case", pyfuncitem.funcargs["mapsat_case"])
        given = pyfuncitem.funcargs
        card = self._episode(pyfuncitem, case, given.get("mapsat_agent"), given.get("mapsat_environment"))
        self._conclude(card, self._text_of(pyfuncitem, case, card))
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_pyfunc_call")
    def pytest_call_body(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Play the dialogue of a case in Python before pytest calls its body, in whatever way others have it call functions."""
        __tracebackhide__ = True
        return (yield from self._call(pyfuncitem)) if PYTHON_CASE in pyfuncitem.stash else (yield)

    def _text_of(self, item: pytest.Item, case: Case, card: Scorecard) -> str:
        """Return what a built-in item says of its episode, which it now bears the properties of."""
        others = [pair for pair in item.user_properties if not pair[0].startswith("mapsat.")]
        item.user_properties[:] = [*others, *properties(card)]  # not those of an earlier attempt
        if card.outcome != "failed" and not card.lost:
            return f"{outcome_word(card.outcome, lost=card.lost)}: {card.reason}"
        param, request = param_of(item), self.settings.request
        metrics = metrics_of([param.suite], self.metric_sets, request.options.metrics)
        return text_of(self.config, request, card, case, place=self._place(param), metrics=metrics)

    def _conclude(self, card: Scorecard, text: str) -> None:
        """End a built-in item as its episode has ended."""
        if card.outcome == "failed":
            pytest.fail(text, pytrace=False)
        if card.outcome != "passed":
            pytest.skip(text)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Give back the environment of a fixture before the fixture is torn down."""
        if (getattr(item, "funcargs", None) or {}).get("mapsat_environment") is not None:
            scopes = {getattr(made, "scope", "") for made in definitions(item, "mapsat_environment")[-1:]}
            if nextitem is None or scopes != {"session"}:
                self.environments.close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hand the episodes that an item has brought to the reporter, from a worker with the item's report."""
        report = yield
        if lost := self._why_lost(item, report, call):
            seconds = report.duration
            call = pytest.CallInfo.from_call(lambda: pytest.fail(lost, pytrace=False), "call")
            report = pytest.TestReport.from_item_and_call(item, call)
            report.duration, report.when = seconds, "setup"  # where pytest has what keeps a test from telling anything
        if isinstance(report.longrepr, tuple) and is_ours(report.longrepr[0]):
            # We skip a test of others: its place is not in our code.
            report.longrepr = (str(item.path), (item.reportinfo()[1] or 0) + 1, report.longrepr[2])
        ended = item.stash.get(ENDED, None)
        if call.excinfo is not None and call.when == "call" and (text := item.stash.get(TEXT, "")):
            del item.stash[TEXT]
            told_each(item, report, call.excinfo)
            report.sections.append(("mapsat", text))
        if is_built_in(item):
            card = ended[-1].card if ended else None
            reason = "" if card is None else lost_reason(card) if card.lost else card.reason
            self._completion.complete(report, item, call, reason)
        if not ended:
            return report
        del item.stash[ENDED]
        if self.reporter is None:
            report.__dict__["mapsat"] = [packed(episode) for episode in ended]
        else:
            self.reporter.fresh.setdefault(report.nodeid, []).extend(ended)
            report.__dict__["mapsat"] = ()
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Keep the teardown of an attempt that is run again from ending the test in JUnit, which would count the attempt as a pass."""
        attempt = report.nodeid, getattr(report, "node", None)
        repeated = self.is_controller and report.when == "teardown" and attempt in self._repeated
        if repeated:
            self._repeated.remove(attempt)
            report.when = "setup"
        elif str(report.outcome) == "rerun" and (self.suites.case_of(report.nodeid) or hasattr(report, "mapsat")):
            self._repeated.add(attempt)
        try:
            return (yield)
        finally:
            if repeated:
                report.when = "teardown"

    def _why_lost(self, item: pytest.Item, report: pytest.TestReport, call: pytest.CallInfo[None]) -> str:
        """Return why a test that has run tells nothing of the agent; empty where it does, or where its author skips it."""
        built_in = is_built_in(item)
        raised = None if call.excinfo is None else call.excinfo.value
        if report.when == "teardown":
            item.stash[LOST] = None
        if report.when != "call" or (not built_in and isinstance(raised, _SKIPS)):
            return ""
        if isinstance(raised, pytest.fail.Exception) and isinstance(raised.__cause__, MapsatError):
            return str(raised)
        card = item.stash.get(LOST, None)
        if card is None or (built_in and isinstance(raised, (*_SKIPS, pytest.fail.Exception))):
            return "" if card is None else str(raised)
        return "\n\n".join(filter(None, (printable(lost_reason(card)), report.longreprtext)))

    @pytest.hookimpl(tryfirst=True)  # before a worker tells its items
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Refuse checks and cases in Python that were met while items were collected, where Python leaves out what they assert. On a worker, tell of the latter."""
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

    # -- the end ---------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Give environments back; on a worker, tell the controller what was met."""
        self.environments.close()
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            roots = sorted(map(str, self.suites.touched))
            output["mapsat"] = {**self.suites.ledger.left_out(), "roots": roots, **self.outcome()}

    def pytest_unconfigure(self) -> None:
        """Stop our threads, and close what is open."""
        if self._own_tools is not None:
            self._own_tools.close()
        shutdown()
        if self._client is not None:
            if self.is_controller:
                self._client.forget_run()
            self._client.close()

    # -- inside ----------------------------------------------------------------------------

    def _open_door(self) -> LiteLLMClient | None:
        """Return the way to models, where anybody in this run is one."""
        if not asks_models(self.settings.request):
            return None
        from pytest_mapsat.llm import Limits, open_door  # noqa: PLC0415 (only where a model is asked)

        limits = Limits(*self.settings.rates, self.settings.max_cost)
        return open_door(self.settings.cache, limits, run=self.run_name)

    def _replay_models(self) -> Replay | None:
        """Keep and replay the model calls that the agent makes by itself, where that is asked for; return what does it.

        Raises:
            UsageError: the agent is not in this process, or nothing is to be kept.
        """
        settings, option = self.settings, "--mapsat-model-cache"
        if not settings.model_cache:
            return None
        from pytest_mapsat.llm import Replay  # noqa: PLC0415 (only where it is asked for)
        from pytest_mapsat.store import Store, store_folder  # noqa: PLC0415 (likewise)

        spec = settings.request.agent
        reasons = {
            "--mapsat-cache=off keeps nothing": settings.cache == "off",
            "--mapsat-isolate has agents in processes of their own, whose calls are not seen here": settings.isolation,
            "--mapsat-executor has agents on other machines, whose calls are not seen here": settings.executor,
            f"{spec} is no agent in this process that asks models by itself": not names_own_code(spec),
        }
        _refuse(option, reasons)
        store = Store(store_folder())
        self.config.add_cleanup(store.close)
        replay = Replay(settings.cache, store, settings.allowed_hosts)
        self.config.add_cleanup(replay.install())
        return replay

    def _load_own_tools(self) -> OwnTools | None:
        """Return the user's own tools, where misses are to be answered by them."""
        if not self.settings.tools:
            return None
        from pytest_mapsat.recording import OwnTools  # noqa: PLC0415 (only where they are named)

        return OwnTools.load(self.settings.tools, root=self.root)

    def _open_memory(self) -> MemorySource | None:
        """Return where the agent's memories come from; None where it has none.

        Raises:
            UsageError: there is no such memory, or it is of no use with what else was asked for.
        """
        spec, option = self.settings.request.options.agent_memory, "--mapsat-agent-memory"
        memory = open_memory(spec, root=self.root, client=self._client)
        if memory is None:
            return None
        reasons = {
            "recorded dialogues are as they are, whatever a memory has": self._source and self._source.kind != "agent",
            "--mapsat-isolate keeps the agent's code out of this process, in which a memory of its own would be": (
                self.settings.isolation and memory.own
            ),
        }
        _refuse(f"{option}={spec}", reasons)
        return memory

    def _make_runner(self, source: Source) -> Runner:
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
        """Return the way in which episodes are played on the cluster; None where there is none."""
        if self._cluster is None:
            return None
        from pytest_mapsat.runs.elsewhere import Elsewhere  # noqa: PLC0415 (an extra)

        rounds = 1 + (self.settings.concurrency or 1) // max(sum(self._cluster.nthreads().values()), 1)
        submit = partial(self._cluster.submit, pure=False)  # each call is an episode of its own
        hooks = reversed(self.config.hook.pytest_mapsat_sandbox.get_hookimpls())  # as they are called
        conftests = [str(getattr(hook.plugin, "__file__", "")) for hook in hooks]
        return Elsewhere(submit, request, self.root, self.settings.cache, rounds=rounds, conftests=conftests)

    def _moved(self, spec: str) -> str:
        """Return the spec of a recorded file, which the start of the run may have moved out of the way of the new one."""
        kind, _, place = spec.partition(":")
        moved: dict[str, str] = self._files_moved if self.reporter is None else self.reporter.beginning.moved
        new = moved.get(os.path.realpath(self.root / place)) if kind == "recorded" else None
        return spec if new is None else f"{kind}:{new}"


@contextmanager
def _as_outcomes() -> Iterator[None]:
    """Have what keeps an episode from being played or judged end its item as pytest ends one.

    Raises:
        pytest.skip.Exception: it would have cost too much.
        pytest.fail.Exception: of anything else.
    """
    try:
        yield
    except CeilingReachedError as error:
        raise pytest.skip.Exception(str(error)) from error
    except MapsatError as error:  # a recording that cannot be read, a judge without its file
        raise pytest.fail.Exception(printed(error), pytrace=False) from error


def _refuse(option: str, reasons: Mapping[str, object], way_out: str = "leave one of them out") -> None:
    """Raise UsageError for the first of the reasons that holds."""
    for reason, holds in reasons.items():
        if holds:
            raise UsageError(f"{option}: {reason}: {way_out}")


def _connect(config: pytest.Config, settings: Settings, *, asks_models: bool, carries: bool) -> Any | None:
    """Return the client of the cluster that episodes are handed to; None where they are played here.

    Raises:
        UsageError: something else was asked for that only this process can do, or there is no cluster there that can be used.
    """
    if not settings.executor:
        return None
    bounds = (settings.max_cost, *settings.rates)
    reasons = {
        "--mapsat-isolate starts processes of its own": settings.isolation is not None,
        "--mapsat-unrecorded asks from this process": settings.request.options.on_miss != "strict",
        "limits on what models may cost or how often they are asked hold on one machine": asks_models and any(bounds),
        "the suite carries dialogues from one task to the next, and each would be played somewhere else": carries,
        "sandboxes of a plugin are not known there, those of a conftest.py and of installed packages are": not all(
            Path(getattr(hook.plugin, "__file__", None) or "").name == "conftest.py"
            for hook in config.hook.pytest_mapsat_sandbox.get_hookimpls()
        ),
    }
    _refuse(f"--mapsat-executor=dask:{settings.executor}", reasons, "leave --mapsat-executor out, or the other")
    from pytest_mapsat.runs.elsewhere import open_cluster  # noqa: PLC0415 (an extra)

    cluster = open_cluster(settings.executor)
    config.add_cleanup(cluster.close)
    return cluster


def _source_for(config: pytest.Config, settings: Settings, spec: str, *, client: LiteLLMClient | None) -> Source:
    """Return the agent of a run: what a plugin makes of the spec, else what the spec names, in processes of its own where that is asked for.

    Raises:
        pytest.UsageError: it cannot be used with what else was asked for.
        UsageError: it cannot be resolved.
    """
    made = call_hook(config, config.hook.pytest_mapsat_make_agent, config=config, spec=spec)
    if made is None:
        root, timeout = config.invocation_params.dir, settings.request.options.timeout_seconds
        isolated = settings.isolation and _isolated(config, settings.isolation, spec, root, timeout)
        return isolated or resolve_source(spec, root=root, client=client, http_form=settings.request.options.http)
    for option, given in {"--mapsat-isolate": settings.isolation, "--mapsat-executor": settings.executor}.items():
        reason = "what pytest_mapsat_make_agent makes is an object of this process and cannot be made in another one"
        _refuse(option, {reason: given})
    return source_of(made, spec)


def _isolated(config: pytest.Config, isolation: Isolation, spec: str, root: Path, timeout: float) -> Source | None:
    """Return the agent of a spec in processes of its own; None where it is none of the user's own code."""
    from pytest_mapsat.agents.isolation import isolated_source, unreadable  # noqa: PLC0415 (only where it is asked for)

    if not names_own_code(spec):
        if typed(config, "isolate"):
            reason = (
                "a command runs in a process of its own already, with your environment and files"
                if spec.startswith("cmd:")
                else f"{spec} runs no code of an agent, so there is nothing to keep apart"
            )
            raise pytest.UsageError(f"--mapsat-isolate: {reason}: leave it out")
        return None
    # A conftest.py in a suite brings pytest to put the suite's own folder there, which tells where it is.
    own = (None, root, *root.parents)
    path = [os.path.normpath(root / place) for place in sys.path]
    path = [place for place in path if find_suite(Path(place)) in own]
    hidden = ExitStack()
    hidden.enter_context(unreadable())
    config.add_cleanup(hidden.close)
    isolation = replace(isolation, path=tuple(path), patience=max(timeout, _LEAST_PATIENCE))
    source = isolated_source(spec, root, isolation)
    config.add_cleanup(source.close)
    return source
