"""The controller's side: a run's starting point, its journal and reports; gather scorecards from all processes, account for every item, decide, write and print."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mapsat.agents import scrubbed
from pytest_mapsat.formats import Journal, begin_with, printable, scorecard_line, shown_path, write_run
from pytest_mapsat.gate import Side
from pytest_mapsat.metrics import PassRule
from pytest_mapsat.model import (
    JsonObject,
    MapsatError,
    ProvenanceKind,
    Run,
    RunTiming,
    Scorecard,
    Step,
    UsageError,
    listed,
    tool_name,
)
from pytest_mapsat.options import agent_spec, typed
from pytest_mapsat.printed import printed
from pytest_mapsat.reports import LABEL, Line, headline, labelled, summary_lines
from pytest_mapsat.runs.assemble import RunOutcome, assemble, portable, refuse_unlike, suite_infos, too_few_trials
from pytest_mapsat.runs.episodes import Ended, Episodes, Ledger, read_finished
from pytest_mapsat.runs.request import all_metrics, drops_of, metrics_of, prompts_of, refuse_undeclared, thresholds_of
from pytest_mapsat.runs.runner import keep_answers, kept_lines
from pytest_mapsat.runs.saved import check_save_path, journal_of, put_aside, put_journal_aside, read_baselines

from .exit_status import ExitStatus
from .item_reports import Passes, lines_of, shorten, unpacked, was_expected, why_none, with_late_calls, with_unknown_end
from .items import call_each
from .private import keeping_scheduling, user_scheduling
from .progress import LogProgress, Progress, is_log, is_wanted
from .settings import Settings
from .upcoming import concurrency_hint

if TYPE_CHECKING:
    from pytest_mapsat.reports import ReportTarget

    from .session import MapsatSession


class Beginning:
    """The controller's work on files before the first episode: baselines, earlier results, the journal.

    Attributes:
        begun: whether it has begun.
        baselines: the earlier runs that this one is held against.
        moved: files that were moved away, and where to.
        journal_path: where the journal is to stand; None where there is no place for it.
    """

    def __init__(self, config: pytest.Config, settings: Settings, episodes: Episodes, *, decides: bool) -> None:
        self._config = config
        self._settings = settings
        self._episodes = episodes
        self._decides = decides
        self.begun = False
        self.baselines: tuple[Side, ...] = ()
        self.moved: dict[str, str] = {}
        self.journal_path = self._place_of_journal()

    def begin(self) -> None:
        """Read baselines and the run to resume, move existing files out of the way, and begin the journal."""
        if self.begun or not self._decides:
            return
        self.begun = True
        request = portable(self._settings.request)
        try:
            self.baselines = read_baselines(self._settings.compare)
            for path, baseline in zip(self._settings.compare, self.baselines, strict=True):
                refuse_unlike(path, baseline, request)
            finished = None if self._settings.resume is None else read_finished(self._settings.resume)
            if finished is not None:
                finished.refuse_other_request(request)
            if self._settings.save is not None:
                moved = put_aside(self._settings.save)
            else:
                moved = {} if self.journal_path is None else put_journal_aside(self.journal_path)
        except MapsatError as error:
            raise pytest.UsageError(str(error)) from None
        self.moved = {os.path.realpath(old): str(new) for old, new in moved.items()}
        if finished is not None:
            finished.path = Path(self.moved.get(os.path.realpath(finished.path), finished.path))
        self._episodes.finished = finished
        self._episodes.journal = self._journal(request.model_dump(mode="json", by_alias=True))
        if prompts := prompts_of(request):
            self._episodes.note({"prompts": prompts})
        self._episodes.keeps_lines = self.needs_lines
        if finished is not None and (journal := self._episodes.journal) is not None:
            for card in finished.cards():
                journal.keep({} if card.trajectory.environment is None else card.trajectory.environment.starts)
                journal.add(scorecard_line(card))  # first of all, so that none is lost whenever this run ends

    def _journal(self, request: dict[str, Any]) -> Journal | None:
        """Begin the journal; None if there is no place for a journal."""
        path = self.journal_path
        if path is None:
            return None
        try:
            return Journal.begin(path, request)
        except OSError as error:
            if self._settings.save is None:
                return None  # the cache folder cannot be written, which is no reason not to run
            raise pytest.UsageError(f"--mapsat-save: {error.strerror or error} ({path})") from None

    @property
    def needs_lines(self) -> bool:
        """Whether dialogues must be kept until the end even if no journal can be written."""
        settings = self._settings
        return settings.save is not None or bool(settings.reports or settings.tools)

    def _place_of_journal(self) -> Path | None:
        """Return the path of the journal; None if there is no place for a journal."""
        if self._settings.save is not None:
            return journal_of(self._settings.save)
        cache = getattr(self._config, "cache", None)
        if cache is None or not self._decides:
            return None
        try:
            folder: Path = cache.mkdir("mapsat")
        except OSError:
            return None
        return folder / "journal"


def write_line(terminal: pytest.TerminalReporter, text: str, **markup: bool) -> None:
    """Print a line on pytest's terminal."""
    terminal.write_line(printed(text), **markup)


class RunReports:
    """The reports that ``--mapsat-report`` requests: checked before the run, written after it.

    Attributes:
        written: the reports that are there.
        commands: what GitHub is to read from the output of the step, and notes on reports that are not written.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self.written: list[ReportTarget] = []
        self.commands: list[str] = []

    def check(self) -> None:
        """Check that the reports can be written.

        Raises:
            UsageError: one of them cannot, or the run file goes to the same place.
        """
        save = self._settings.save
        for target in self._settings.reports:
            option = f"--mapsat-report={target.type}:"
            if target.path is None:
                continue
            check_save_path(target.path, option=option)
            if save is not None and os.path.realpath(target.path) == os.path.realpath(save):
                raise UsageError(f"{option}{target.path}: the run file of --mapsat-save goes there")

    def write(self, run: Run, lines: Callable[[], Iterable[bytes]]) -> list[str]:
        """Write all reports; an error in one does not stop the others.

        Args:
            run: the run, without dialogues.
            lines: gives its scorecards with dialogues, as the run file has them.

        Returns:
            What went wrong.
        """
        if not self._settings.reports or not (run.cases or run.accounting.collected):
            return []
        from pytest_mapsat.reports import opening, write_reports  # noqa: PLC0415 (only where reports are asked for)

        def dialogues(numbers: Sequence[int]) -> Iterator[Scorecard]:
            """Yield the scorecards at some places of the run, with their dialogues."""
            wanted = frozenset(numbers)
            return (Scorecard.model_validate_json(line) for number, line in enumerate(lines()) if number in wanted)

        cards = tuple(opening(Scorecard.model_validate_json(line)) for line in lines())
        whole = run.model_copy(update={"cases": cards})
        faults = []
        for target in self._settings.reports:
            try:
                self.commands += write_reports(whole, [target], self._config.rootpath, dialogues)
            except MapsatError as error:
                faults.append(f"--mapsat-report: {scrubbed(str(error))}")
            else:
                self.written += [target] if target.place else []
        return faults


class Reporter:
    """Collects the scorecards of the built-in items and turns them into the run.

    Attributes:
        fresh: episodes of this process on their way here, by the node id of the item that brought them.
        beginning: what the run has done before its first episode.
    """

    def __init__(self, session: MapsatSession, exit_status: ExitStatus) -> None:
        self.config = config = session.config
        self.settings = settings = session.described()
        self._session = session
        self.suites = session.suites
        self.episodes = episodes = session.episodes
        self.metric_sets = session.metric_sets
        self.exit_status = exit_status
        exit_status.under_way = lambda: [flight.case for flight in episodes.flights.under_way()]
        self.fresh: dict[str, list[Ended]] = {}
        self._decides = not any(
            getattr(config.option, name, False)
            for name in ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
        )
        self._reports = RunReports(config, settings)
        self._refuse()
        self.beginning = Beginning(config, settings, episodes, decides=self._decides)
        self._ledger = session.suites.ledger
        self._broken: list[str] = []
        #: Built-in items whose scorecards say that they failed, and those of which pytest has heard it.
        self._failed: dict[str, None] = {}
        self._heard: set[str] = set()
        #: Cases that fail an item of ours if they fail, and those that other tests play or a mark expects to fail.
        self._our_cases: set[str] = set()
        self._excused: set[str] = set()
        #: Those that failed, and that pytest counts as something else.
        self._hidden: list[str] = []
        self._why = ""
        self._workers: set[str] = set()
        #: What processes say of their episodes, and of how many.
        self._told_of_episodes: Counter[tuple[str, str]] = Counter()
        #: Tasks that were played for later ones alone.
        self._unasked = 0
        #: Episodes of which more became known once they had been judged: case, trial, calls, and why the end is not known.
        self._late: list[tuple[str, int, list[JsonObject], str]] = []
        self._nodes = 0
        #: Where workers tell of their cases in Python, which node ids do not.
        self._told_by_workers: Path | None = None
        self._run: Run | None = None
        #: What went wrong on our own side, told at the end.
        self._faults: list[str] = []
        self._told = self._saved = self._trials_told = False
        #: Why there are bounds, and no gate.
        self._undecided = ""
        #: What became of the answers of the user's own tools.
        self._own_answers: list[str] = []
        rule = PassRule.parse(settings.request.options.pass_rule, settings.request.options.trials)
        self._passes = Passes(rule) if rule.forgives else None
        if self._passes is not None:
            config.pluginmanager.register(self._passes, "mapsat-passes")
        self._started = perf_counter()
        self._started_at = datetime.now(UTC)

    def _refuse(self) -> None:
        """Refuse invalid thresholds and output files before the run starts."""
        options = self.settings.request.options
        if options.fail_under or options.max_drop:
            known = all_metrics(self.metric_sets)
            _ = thresholds_of(options, known), drops_of(options, known)
        if self._decides:
            if self.settings.save is not None:
                check_save_path(self.settings.save)
            self._reports.check()

    # -- the start -------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, object, object]:
        """Begin a run requested by name at once, so that no later CI step reads an earlier result."""
        if self._decides:
            self.exit_status.begin(session)
        if self.settings.agent_named or typed(self.config, "save") or self.settings.resume is not None:
            self.beginning.begin()
        if self._decides and is_wanted(self.config, os.environ):
            progress = Progress(self.config, self._ledger, self.episodes.flights, self.suites.case_of)
            self.config.pluginmanager.register(progress, "mapsat-progress")
        elif self._decides and is_log(self.config, os.environ):
            log = LogProgress(self.config, self._ledger, self.suites.case_of)
            self.config.pluginmanager.register(log, "mapsat-progress")
        return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker the path of the journal and the other facts of the start."""
        self._nodes += 1
        if self._told_by_workers is None:
            folder = TemporaryDirectory(prefix="mapsat-")
            self.config.add_cleanup(folder.cleanup)
            self._told_by_workers = Path(folder.name)
        finished = self.episodes.finished
        node.workerinput["mapsat"] = {
            "journal": None if self.beginning.journal_path is None else str(self.beginning.journal_path),
            "resume": None if finished is None else str(finished.path),
            "moved": self.beginning.moved,
            "run": self._session.run_name,
            "keeps_lines": self.beginning.needs_lines,
            "in_python": str(self._told_by_workers),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Choose a scheduler that plays no episode twice: it keeps a user's tasks on one worker, or never takes items back."""
        suites = [suite for suite in self.suites.opened.values() if suite.manifest.carry]
        dist = config.getoption("dist")
        if suites and dist in ("load", "worksteal"):
            return user_scheduling(config, log, self.suites.names(), suites)
        is_ahead = self.config.pluginmanager.has_plugin("mapsat-ahead")
        return keeping_scheduling(config, log) if is_ahead and dist == "worksteal" else None

    # -- collection ------------------------------------------------------------------------

    def collected(self) -> None:
        """Record that this process has collected its items; called only without workers."""
        self._collection_known(bool(self._ledger.collected))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Store the list of items that a worker has collected."""
        if self._told_by_workers is not None:
            listing = self._told_by_workers / f"{node.gateway.id}.json"
            self.suites.add_listed(listing.read_bytes() if listing.exists() else b"[]")
        cases = [nodeid for nodeid in ids if self.suites.case_of(nodeid)]
        every = getattr(self.config.option, "dist", "") == "each"
        self._ledger.expect(cases, self._nodes if every else 1)
        self.suites.touch_items(cases)
        self._collection_known(bool(cases))

    def _collection_known(self, any_case: bool) -> None:
        """Record the suites of the run, and refuse to resume a run of other suites."""
        if not any_case or not self._decides:
            return
        self.beginning.begin()
        infos = suite_infos(self.suites.used())
        try:
            refuse_undeclared(self.settings.request.options, self.suites.used(), self.metric_sets)
            if self.episodes.finished is not None:
                self.episodes.finished.refuse_other_suites(infos)
            for path, baseline in zip(self.settings.compare, self.beginning.baselines, strict=True):
                refuse_unlike(path, baseline, portable(self.settings.request), infos)
        except UsageError as error:
            self._told = True  # nothing ran: the error says all that there is to say
            raise pytest.UsageError(str(error)) from None
        self._tell_too_few_trials()
        described = [info.model_dump(mode="json") for info in infos]
        self.episodes.note({"suites": described, "collected": self._ledger.collected})

    def _tell_too_few_trials(self) -> None:
        """Warn once before the run if the planned comparison is too small to detect a difference."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or self._trials_told:
            return
        self._trials_told = True
        trials = self.settings.request.options.trials
        for path, baseline in zip(self.settings.compare, self.beginning.baselines, strict=True):
            if fault := too_few_trials(path, baseline, trials):
                terminal.ensure_newline()
                write_line(terminal, f"mapsat: {fault}", yellow=True)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that could not be collected."""
        if report.failed:
            self._broken.append(printable(report.nodeid))

    # -- gathering -------------------------------------------------------------------------

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Record that an item has begun."""
        self._ledger.begin(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the episodes that arrive with a report; their turns are in the journal."""
        worker = getattr(report, "worker_id", "") or getattr(getattr(report, "node", None), "gateway", None) or ""
        worker = worker if isinstance(worker, str) else str(worker.id)
        ended = self.fresh.pop(report.nodeid, [])
        ended += map(unpacked, getattr(report, "mapsat", ()))
        if ended:
            self._ledger.add(ended, worker)
        elif report.passed and report.when in ("setup", "teardown") and not worker:
            return  # there is nothing to learn from it
        # A mark is the user's own word; what a hook makes of a report is not.
        expected, marked = was_expected(report), "xfail" in report.keywords
        is_ours = bool(self.suites.case_of(report.nodeid))
        ours = is_ours and not (expected and marked)
        (self._our_cases if ours else self._excused).update(episode.card.id for episode in ended)
        if not is_ours:
            return
        if report.outcome not in ("passed", "skipped") or (expected and marked):
            self._heard.add(report.nodeid)
        if ended:
            self._ledger.card(report.nodeid)
            # Where a case may pass though a trial failed, the reports are changed on our own side.
            failed = any(episode.card.outcome == "failed" for episode in ended)
            if failed and (self._passes is None or (expected and not marked)):
                self._failed[report.nodeid] = None
        elif self._is_left_out(report):
            self.suites.leave_out(report.nodeid)
        elif (reason := why_none(report)) is not None:
            self._ledger.lose(report.nodeid, reason)
        if worker:
            self._workers.add(worker)

    def _is_left_out(self, report: pytest.TestReport) -> bool:
        """Return whether the author of a Python case skipped it: by a mark or, if no agent was named, in any way."""
        by_mark = not getattr(report, "mapsat_by", "") or self.settings.only_python
        skipped = report.skipped and report.when == "setup" and not was_expected(report)
        return skipped and by_mark and report.nodeid in self.suites.in_python

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Store a worker's results when it ends. A worker that died reports nothing; a worker's usage error ends the run."""
        output = getattr(node, "workeroutput", {})
        if output.get("exitstatus") == pytest.ExitCode.USAGE_ERROR:
            raise pytest.UsageError(f"the worker {node.gateway.id} could not be used, as it says itself")
        output = output.get("mapsat")
        if error or output is None:
            return
        self._ledger.leave_out(output)
        for root in output["roots"]:
            self.suites.touch(Path(root))
        self._take_over(output)

    def _take_over(self, outcome: dict[str, Any]) -> None:
        """Add the results that a process (possibly this one) reports about its episodes."""
        self.episodes.fault = self.episodes.fault or outcome["fault"]
        self._unasked += outcome["unasked"]
        self._late += outcome["late"]
        for about, note, count in outcome["notes"]:
            self._told_of_episodes[about, note] += count

    def pytest_internalerror(self) -> None:
        """Record why the run ends."""
        self._why = self._why or "an internal error"

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Record why the run ends."""
        reason = scrubbed(str(excinfo.value))
        self._why = self._why or f"interrupted{f', {reason}' if reason else ''}"

    # -- deciding --------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Decide the gate, write the run file, and set the exit status if the gate fails."""
        if not self._decides:
            self._tell_undecided(session)
            return
        self._why = self._why or str(session.shouldfail or session.shouldstop or "")
        self._guarded("the run could not be assembled", self._conclude)
        holds = self._run is None or self._run.gate.outcome == "passed"
        if self._run is not None:
            run = self._run
            if (path := self.settings.save) is not None and (run.cases or run.accounting.collected):
                self._guarded("--mapsat-save", lambda: self._save(run, path))
            if self.settings.request.options.on_miss != "strict":
                self._guarded("--mapsat-unrecorded", self._keep_answers)
            self._guarded(
                "--mapsat-report",
                lambda: self._faults.extend(self._reports.write(run, lambda: self._lines(self._cards))),
            )
            self._faults += call_each(self.config, self.config.hook.pytest_mapsat_report, config=self.config, run=run)
        if self._cards and all(episode.card.outcome == "not_applicable" for episode in self._cards):
            asserted = ", ".join(self.settings.request.options.asserted)
            self._faults.append(
                f"no case could fail: none that ran has a requirement of {asserted}; fail_on: in suite.yaml, or --mapsat-fail-on, names kinds that they have"
            )
        if self.episodes.fault:
            self._faults.append(f"the journal could not be written: {self.episodes.fault}")
        if self._passes is not None and (open_cases := self._passes.undecided()):
            self._faults.append(f"too few trials ran to decide by the pass rule: {listed(map(printable, open_cases))}")
        self._hidden = [nodeid for nodeid in self._failed if nodeid not in self._heard]
        self.exit_status.decide(
            ours=self._run is not None or bool(self._faults),
            red=bool(self._faults or self._hidden) or not holds,
            ignored=self._is_ignored(),
            only_drafts=self._has_only_drafts(),
            may_be_empty=bool(self.settings.request.options.shard),  # one part of few cases may well be empty
        )
        shorten(self.config)

    def _tell_undecided(self, session: pytest.Session) -> None:
        """Report that nothing was decided if thresholds are given but pytest only lists the tests; this is not green."""
        if not (self.settings.request.options.fail_under or self.settings.compare):
            return
        self._undecided = "not decided: pytest was told to run no case"
        planned = self.config.option.setupplan or self.config.option.setuponly
        by_hand = typed(self.config, "fail-under") or typed(self.config, "compare")
        if planned and by_hand and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _guarded(self, what: str, step: Callable[[], object]) -> None:
        """Run one final step; report an exception, and still run all other steps."""
        try:
            step()
        except Exception as error:  # noqa: BLE001  (the end of a session raises nothing)
            reason = getattr(error, "strerror", None) or str(error) or "no message"
            self._faults.append(f"{what}: {type(error).__name__}: {scrubbed(reason)}")

    def _conclude(self) -> None:
        """Turn the scorecards into the run, decide it, save it and write its reports."""
        self._take_over(self._session.outcome())
        options = self.settings.request.options
        excused = tuple(sorted(self._excused - self._our_cases))
        accounting = self._ledger.close(self.suites.names(), self._why).model_copy(update={"excused": excused})
        self._cards = self._ledger.in_order()
        suites = self.suites.of_cases() if self._late else {}
        for case, trial, calls, why in self._late:
            for place, episode in enumerate(self._cards):
                if (episode.card.id, episode.card.trial) != (case, trial):
                    continue
                if why:
                    ended = with_unknown_end(episode, why, self._session.judged_again, self.episodes.journal)
                else:
                    steps, tools = tuple(map(Step.model_validate, calls)), suites[case].tools if case in suites else {}
                    ended = with_late_calls(episode, steps, tools, self.episodes.journal)
                self._cards[place] = ended
        if not (accounting.collected or self._cards or self._broken or self.settings.agent_named or accounting.drafts):
            return  # nothing of ours was to run
        if self.settings.only_python and not self._cards and not accounting.lost:
            return  # nor here: no agent was named
        timing = RunTiming(
            started=self._started_at.isoformat(timespec="seconds"),
            seconds=round(perf_counter() - self._started, 3),
            workers=len(self._workers),
            python=platform.python_version(),
            pytest=pytest.__version__,
        )
        outcome = RunOutcome(accounting, _partial_reasons(self.config, options.shard), tuple(self._broken))
        used = self.suites.used()
        metrics = metrics_of(used, self.metric_sets, options.metrics)
        cards = [card.card for card in self._cards]
        if self.episodes.journal is not None and any(card.trajectory.environment for card in cards):
            begin_with(cards, self.episodes.journal.starts())  # workers have told what they kept there
        self._run = assemble(
            cards, used, self.settings.request, outcome, timing, metrics=metrics, baselines=self.beginning.baselines
        )

    def _is_ignored(self) -> bool:
        """Return whether an agent was named but neither a case nor a user's test has used it."""
        if not self.settings.agent_named or self._ledger.any_deselected or getattr(self.config.option, "lf", False):
            return False
        return not (self._ledger.collected or self._ledger.has_episodes or self._broken)

    def _has_only_drafts(self) -> bool:
        """Return whether nothing has run because all cases are drafts."""
        return bool(self._ledger.drafts) and not (
            self._ledger.collected or self._ledger.has_episodes or self._broken or self._ledger.any_deselected
        )

    def _why_nothing_ran(self) -> str:
        """Return why nothing has run with the agent; empty if a case has run."""
        if self._has_only_drafts():
            return f"usage error: every case that was collected is a draft: {self.suites.drafts_note()}"
        if self._is_ignored():
            return f"no case was collected, and no test used mapsat_run; {self.suites.why_none()}"
        return ""

    def _save(self, run: Run, path: Path) -> None:
        """Write the run file."""
        if not self.beginning.begun:
            put_aside(path)
        former = self.beginning.moved.get(os.path.realpath(path))
        write_run(path, run, self._lines(self._cards), like=None if former is None else Path(former))
        self._saved = True
        self.episodes.note({"ended": "complete" if not run.accounting.lost else "stopped"})

    def _keep_answers(self) -> None:
        """Write the answers of the user's own tools into the suites as recordings."""
        kinds: tuple[ProvenanceKind, ...] = ("recorded", "miss")
        with_gaps = [card for card in self._cards if any(card.card.sandbox.get(kind) for kind in kinds)]
        self._own_answers = kept_lines(*keep_answers(self._lines(with_gaps), self.suites.of_cases()))

    def _lines(self, cards: Iterable[Ended]) -> Iterable[bytes]:
        """Yield the scorecards of the run with their dialogues, one JSON line each."""
        return lines_of(cards, self.episodes.journal)

    # -- telling ---------------------------------------------------------------------------

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary."""
        self._tell(terminalreporter, brief=self.config.get_verbosity() < -1)

    def pytest_unconfigure(self) -> None:
        """Print at least the gate if pytest printed no summary: with ``--no-summary``, or after an internal error."""
        if self.settings.agent_named and self.exit_status.is_open:
            self._faults.append("the run ended before anything was collected")
            self.exit_status.decide(red=True, ours=True)
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            self._tell(terminal, brief=True)
            harmless = not {"failed", "error"} & terminal.stats.keys() and self.config.get_verbosity() >= -1
            if harmless and self._run is not None and self._run.gate.outcome != "passed":
                write_line(terminal, f"mapsat: {headline(self._run)[0]}; this is no green run", red=True)
        if self.episodes.journal is not None:
            self.episodes.journal.close()
        # Thousands of values that Python would go over again and again while the process ends.
        self._ledger, self._cards, self._run = Ledger(), [], None

    def _tell(self, terminal: pytest.TerminalReporter, *, brief: bool) -> None:
        """Print the summary; ``brief``: only the gate."""
        if self._told or not (self._run or self._faults or self._undecided):
            return
        self._told = True
        if not brief:
            terminal.section("mapsat")
        width = max(self.config.get_terminal_writer().fullwidth, 60)
        for line in self._summary(width, colour=terminal.hasmarkup, brief=brief):
            write_line(terminal, line.text, **({line.style: True} if line.style else {}))
        for label, text in self._notes():
            for line in labelled(f"{label:{LABEL}}", text, width):
                write_line(terminal, line.text, yellow=True)
        self._tell_how_to_go_on(terminal)
        for fault in self._faults:
            write_line(terminal, f"{'error':{LABEL}}{fault}", red=True)
        paths = [self.settings.save] if self._saved and not self._faults else []
        paths += [target.path for target in self._reports.written if target.path is not None]
        places = [
            *(shown_path(path) for path in paths if path),
            *filter(None, (target.address for target in self._reports.written)),
        ]
        if places and self.config.get_verbosity() >= 0 and not brief:
            write_line(terminal, f"{'saved':{LABEL}}{' · '.join(places)}")
        for command in self._reports.commands:
            write_line(terminal, command)

    def _summary(self, width: int, *, colour: bool, brief: bool) -> list[Line]:
        """Return the lines of the summary in the requested length; without a run, lines that explain why nothing ran."""
        if nothing := self._why_nothing_ran():
            return [Line(nothing, "red")]
        if self._run is None:
            return []
        verbosity = self.config.get_verbosity()
        saved = shown_path(self.settings.save) if self.settings.save is not None and self._saved else ""
        hints = [] if saved else ["--mapsat-save=run.json keeps the dialogues"]
        return summary_lines(
            self._run,
            width=width,
            colour=colour,
            brief=brief,
            quiet=verbosity < 0,
            full=verbosity > 0,
            saved=saved,
            hints=[] if not self._run.cases else hints if verbosity > 0 else [*hints, "-v: all metrics"],
            unknown=self._unknown_calls(),
        )

    def _unknown_calls(self) -> Counter[str]:
        """Return how often the agent called each tool that no suite has; calls that something else answered do not count."""
        suites = self.suites.used()
        calls: Counter[str] = Counter()
        for counts in (episode.card.calls for episode in self._cards):
            names = (name for name in counts.by_tool if not any(tool_name(s.tools, name) in s.tools for s in suites))
            unknown = {name: counts.by_tool[name] for name in names}
            if sum(unknown.values()) <= counts.failed + counts.over_limit:
                calls.update(unknown)
        return calls

    def _tell_how_to_go_on(self, terminal: pytest.TerminalReporter) -> None:
        """Print the command that plays the missing episodes of an interrupted run."""
        journal, run = self.episodes.journal, self._run
        if self._why and run is not None and run.cases and run.accounting.lost and journal is not None:
            path = os.path.relpath(journal.path, self.config.invocation_params.dir)
            write_line(terminal, f"{'go on':{LABEL}}--mapsat-resume={path} plays what is missing", yellow=True)

    def _notes(self) -> Iterator[tuple[str, str]]:
        """Yield the additional notes of the summary, each with its label."""
        if self._undecided:
            yield "gate", self._undecided
        ahead = self.config.pluginmanager.get_plugin("mapsat-ahead")
        for (about, note), count in self._told_of_episodes.items():
            yield about, f"{count} {printable(note)}"
        if self._unasked:
            tasks = "1 task was" if self._unasked == 1 else f"{self._unasked} tasks were"
            yield "carried", f"{tasks} played first, only for later ones of the same user: the suite carries dialogues"
        alone = ahead is None and not self.settings.concurrency and not self._workers
        if alone and self._run is not None and agent_spec(self.config) != "fixture":
            yield from concurrency_hint(self._run)
        if self._ledger.drafts and not self._has_only_drafts():
            yield "drafts", self.suites.drafts_note()
        if self._hidden:
            names = listed(map(printable, self._hidden))
            yield "warning", f"a plugin or a conftest.py hides these failures, and the run fails all the same: {names}"
        for told_of in self._own_answers:
            yield "own", printable(told_of)
        for problem in (problem for suite in self.suites.used() for problem in suite.inventory.unread):
            yield "not read", str(problem)


def _partial_reasons(config: pytest.Config, shard: str) -> tuple[str, ...]:
    """Return the options that restrict a run to part of its suites."""
    option = config.option
    reasons = [f"-k {option.keyword!r}"] if option.keyword else []
    reasons += [f"-m {option.markexpr!r}"] if option.markexpr else []
    reasons += ["--lf"] if getattr(option, "lf", False) else []
    reasons += [f"shard {shard}"] if shard else []
    return tuple(reasons)
