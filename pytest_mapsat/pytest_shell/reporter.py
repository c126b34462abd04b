"""The controller's side: gather scorecards from wherever they ran, account for every item, decide, write, and tell."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from pytest_mapsat.agents import scrubbed
from pytest_mapsat.formats import Journal, printable, scorecard_line, with_attempt, write_run
from pytest_mapsat.gate import Side
from pytest_mapsat.metrics import Family, PassRule
from pytest_mapsat.model import MapsatError, ProvenanceKind, Run, RunTiming, UsageError
from pytest_mapsat.reports import summary_lines
from pytest_mapsat.runs.accounting import Ledger
from pytest_mapsat.runs.assemble import Outcome, assemble, portable, suite_infos
from pytest_mapsat.runs.baseline import read_base, refuse_unlike
from pytest_mapsat.runs.episodes import Ended, Episodes
from pytest_mapsat.runs.families import all_metrics, metrics_of, refuse_undeclared
from pytest_mapsat.runs.files import check_save_path, journal_of, looked_for, put_aside, put_journal_aside
from pytest_mapsat.runs.models import prompts_of
from pytest_mapsat.runs.own_answers import keep_answers, told
from pytest_mapsat.runs.request import drops_of, thresholds_of
from pytest_mapsat.runs.resume import read_finished

from .gathering import Gathered, was_expected, why_none
from .hooks import call_each
from .items import is_case
from .passes import Passes
from .progress import Progress, is_wanted
from .reports import Reports
from .settings import Settings
from .suites import Suites
from .transport import Collected, unpacked

#: Only these are turned into a failure where the gate does not hold; every graver status stays.
_GREEN = (pytest.ExitCode.OK,)
_GREEN_OR_EMPTY = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
_NAMED = 3


class Reporter:
    """Gathers the scorecards of the built-in items and turns them into the run.

    Attributes:
        fresh: episodes of this process on their way here, by the node id of the item that brought them.
        run_name: names the run among all that share a store.
        moved: files that the start of the run moved away, and where to.
    """

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        suites: Suites,
        episodes: Episodes,
        families: Mapping[str, Family],
    ) -> None:
        self.config = config
        self.settings = settings
        self.suites = suites
        self.episodes = episodes
        self.fresh: dict[str, list[Ended]] = {}
        self.moved: dict[str, str] = {}
        self.run_name = ""
        self.families = families
        options, known = settings.request.options, all_metrics(families)
        _ = thresholds_of(options, known), drops_of(options, known)  # a bad one is told before anything runs
        self._decides = not any(
            getattr(config.option, name, False) for name in ("collectonly", "setuponly", "setupplan")
        )
        if settings.save is not None and self._decides:
            check_save_path(settings.save, settings.decisions)
        self._reports = Reports(config, settings)
        if self._decides:
            self._reports.check()
        self._begun = False
        #: The earlier run that this one is held against.
        self._base: Side | None = None
        self._journal_path = self._place_of_journal()
        self._ledger = Ledger()
        self._gathered = Gathered()
        self._any_deselected = False
        self._broken: list[str] = []
        #: Built-in items whose scorecards say that they failed, and those of which pytest has heard it.
        self._failed: dict[str, None] = {}
        self._heard: set[str] = set()
        self._why = ""
        self._workers: set[str] = set()
        #: What there is to say of episodes that could not run ahead, and of how many.
        self._ahead_told: Counter[str] = Counter()
        self._nodes = 0
        self._run: Run | None = None
        #: What went wrong on our own side, told at the end.
        self._faults: list[str] = []
        self._told = False
        #: What became of the answers of the user's own tools.
        self._own_answers: list[str] = []
        rule = PassRule.parse(options.pass_rule, options.trials)
        self._passes = Passes(rule) if rule.forgives else None
        if self._passes is not None:
            config.pluginmanager.register(self._passes, "mapsat-passes")
        self._session: pytest.Session | None = None
        #: The exit status that the end of the session may not turn green; None until the session has come to its end.
        self._status: int | None = None
        config.add_cleanup(self._hold_status)
        self._started = perf_counter()
        self._started_at = datetime.now(UTC)

    # -- the start -------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, object, object]:
        """Begin at once where this run was asked for by name: no later step then reads the result of an earlier one."""
        self._session = session
        if self.settings.agent_named or self.settings.save_named or self.settings.resume is not None:
            self._begin()
        if self._decides and is_wanted(self.config, os.environ):
            progress = Progress(sys.stdout.fileno(), self._gathered.tally, self.episodes.flights, self._to_run)
            self.config.pluginmanager.register(progress, "mapsat-progress")
        return (yield)

    def _to_run(self) -> int:
        return self._ledger.collected - self._ledger.deselected

    def _begin(self) -> None:
        """Read what is gone on from, move away what stands where this run writes, and begin the journal."""
        if self._begun or not self._decides:
            return
        self._begun = True
        request = portable(self.settings.request)
        try:
            if self.settings.compare is not None:
                self._base = read_base(self.settings.compare)
                refuse_unlike(self._base, request)
            finished = None if self.settings.resume is None else read_finished(self.settings.resume)
            if finished is not None:
                finished.refuse_other_request(request)
            if self.settings.save is not None:
                moved = put_aside(self.settings.save)
            else:
                moved = {} if self._journal_path is None else put_journal_aside(self._journal_path)
        except MapsatError as error:
            raise pytest.UsageError(str(error)) from None
        self.moved = {os.path.realpath(old): str(new) for old, new in moved.items()}
        if finished is not None:
            finished.path = Path(self.moved.get(os.path.realpath(finished.path), finished.path))
        self.episodes.finished = finished
        self.episodes.journal = self._journal(request.model_dump(mode="json", by_alias=True))
        if prompts := prompts_of(request):
            self._note({"prompts": prompts})
        self.episodes.keeps_lines = self._needs_lines
        if finished is not None and (journal := self.episodes.journal) is not None:
            for card in finished.cards():
                journal.add(scorecard_line(card))  # first of all, so that none is lost whenever this run ends

    def _journal(self, request: dict[str, Any]) -> Journal | None:
        path = self._journal_path
        if path is None:
            return None
        try:
            return Journal.begin(path, request)
        except OSError as error:
            if self.settings.save is None:
                return None  # the cache folder cannot be written, which is no reason not to run
            raise pytest.UsageError(f"--mapsat-save: {error.strerror or error} ({path})") from None

    @property
    def _needs_lines(self) -> bool:
        """Whether dialogues are needed at the end, although no journal may take them: for files, or for what own tools answered."""
        settings = self.settings
        return settings.save is not None or bool(settings.reports or settings.tools)

    def _place_of_journal(self) -> Path | None:
        if self.settings.save is not None:
            return journal_of(self.settings.save)
        cache = getattr(self.config, "cache", None)
        if cache is None or not self._decides:
            return None
        try:
            folder: Path = cache.mkdir("mapsat")
        except OSError:
            return None
        return folder / "journal"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the journal stands, and what it needs of the start of the run."""
        self._nodes += 1
        finished = self.episodes.finished
        node.workerinput["mapsat"] = {
            "journal": None if self._journal_path is None else str(self._journal_path),
            "resume": None if finished is None else str(finished.path),
            "moved": self.moved,
            "run": self.run_name,
            "keeps_lines": self._needs_lines,
            "dist": getattr(self.config.option, "dist", ""),
        }

    # -- collection ------------------------------------------------------------------------

    def collected(self, collected: Collected) -> None:
        """Take over what this process has collected; called where there are no workers."""
        self._any_deselected = collected.any_deselected
        self._ledger.expect(collected.items)
        self._ledger.deselect(collected.deselected)
        self._ledger.select(collected.selected)
        self._collection_known(bool(collected.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Take over what a worker is to run."""
        del node
        cases = [nodeid for nodeid in ids if is_case(nodeid)]
        every = getattr(self.config.option, "dist", "") == "each"
        self._ledger.expect(cases, self._nodes if every else 1)
        self.suites.touch_items(cases)
        self._collection_known(bool(cases))

    def _collection_known(self, any_case: bool) -> None:
        """Fix what the suites are now, and refuse to go on from a run of others."""
        if not any_case or not self._decides:
            return
        self._begin()
        infos = suite_infos(self.suites.used())
        try:
            refuse_undeclared(self.settings.request.options, self.suites.used(), self.families)
            if self.episodes.finished is not None:
                self.episodes.finished.refuse_other_suites(infos)
            if self._base is not None:
                refuse_unlike(self._base, portable(self.settings.request), infos)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        self._note({"suites": [info.model_dump(mode="json") for info in infos], "collected": self._ledger.collected})

    def _note(self, entry: dict[str, Any]) -> None:
        if self.episodes.journal is not None:
            try:
                self.episodes.journal.note(entry)
            except OSError as error:
                self.episodes.fault = self.episodes.fault or f"{self.episodes.journal.path}: {error.strerror or error}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that could not be collected."""
        if report.failed:
            self._broken.append(printable(report.nodeid))

    # -- gathering -------------------------------------------------------------------------

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that an item has begun."""
        self._ledger.begin(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the episodes that come with a report; their turns are in the journal."""
        worker = getattr(report, "worker_id", "") or getattr(getattr(report, "node", None), "gateway", None) or ""
        worker = worker if isinstance(worker, str) else str(worker.id)
        ended = self.fresh.pop(report.nodeid, [])
        ended += map(unpacked, getattr(report, "mapsat", ()))
        self._gathered.add(ended, worker)
        if not is_case(report.nodeid):
            return
        if report.outcome not in ("passed", "skipped") or was_expected(report):
            self._heard.add(report.nodeid)
        if ended:
            self._ledger.card(report.nodeid)
            # Where a case may pass though a trial failed, the reports are changed on our own side.
            if self._passes is None and any(one.card.outcome == "failed" for one in ended):
                self._failed[report.nodeid] = None
        elif (reason := why_none(report)) is not None:
            self._ledger.lose(report.nodeid, reason)
        if worker:
            self._workers.add(worker)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what a worker tells at its end; one that died tells nothing."""
        output = getattr(node, "workeroutput", {}).get("mapsat")
        if error or output is None:
            return
        self._any_deselected = self._any_deselected or output["any_deselected"]
        self._ledger.expect([*output["deselected"], *output["removed"]])
        self._ledger.deselect(output["deselected"])
        for nodeid in output["removed"]:
            self._ledger.lose(nodeid, "removed from the collection without being deselected")
        for root in output["roots"]:
            self.suites.touch(Path(root))
        self.episodes.fault = self.episodes.fault or output["fault"]
        for said, count in output["told"]:
            self._ahead_told[said] += count

    def pytest_internalerror(self) -> None:
        """Note why the run ends."""
        self._why = self._why or "an internal error"

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note why the run ends."""
        said = scrubbed(str(excinfo.value))
        self._why = self._why or f"interrupted{f', {said}' if said else ''}"

    # -- deciding --------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Decide the gate, write the run file, and set the exit status where the gate does not hold."""
        if not self._decides:
            return
        self._why = self._why or str(session.shouldfail or session.shouldstop or "")
        self._guarded("the run could not be assembled", self._conclude)
        holds = self._run is None or self._run.gate.outcome == "passed"
        if self._run is not None:
            run = self._run
            if self.settings.save is not None and (run.cases or run.accounting.collected):
                self._guarded("--mapsat-save", lambda: self._save(run))
            if self.settings.request.options.on_miss != "strict":
                self._guarded("--mapsat-on-miss", self._keep_answers)
            self._guarded(
                "--mapsat-report", lambda: self._faults.extend(self._reports.write(run, self._lines(self._cards)))
            )
            self._faults += call_each(self.config, self.config.hook.pytest_mapsat_report, config=self.config, run=run)
        if self.episodes.fault:
            self._faults.append(f"the journal could not be written: {self.episodes.fault}")
        if self._passes is not None and (open_cases := self._passes.undecided()):
            self._faults.append(f"too few trials ran to decide by the pass rule: {_some(open_cases)}")
        if hidden := [nodeid for nodeid in self._failed if nodeid not in self._heard]:
            self._faults.append(f"a hook hides that these items failed: {_some(hidden)}")
        if self.settings.request.options.shard and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK  # one part of few cases may well be empty
        red = self._faults or not holds
        if (red and session.exitstatus in _GREEN) or (self._is_ignored() and session.exitstatus in _GREEN_OR_EMPTY):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._status = session.exitstatus if self._run is not None or self._faults else pytest.ExitCode.OK

    def _hold_status(self) -> None:
        """Keep a red run red, whatever a hook that comes after ours makes of the exit status."""
        if self._session is not None and self._status is not None and self._session.exitstatus in _GREEN:
            self._session.exitstatus = self._status

    def _guarded(self, what: str, step: Callable[[], object]) -> None:
        """Take a step of the end; whatever it raises is told, and the other steps are still taken."""
        try:
            step()
        except Exception as error:  # noqa: BLE001  (the end of a session raises nothing)
            said = getattr(error, "strerror", None) or str(error) or "no message"
            self._faults.append(f"{what}: {type(error).__name__}: {scrubbed(said)}")

    def _conclude(self) -> None:
        options = self.settings.request.options
        names = self.suites.names(options.trials)
        accounting = self._ledger.close(names, self._why)
        self._cards = self._gathered.in_order()
        if not (accounting.collected or self._cards or self._broken or self.settings.agent_named):
            return  # nothing of ours was to run
        timing = RunTiming(
            started=self._started_at.isoformat(timespec="seconds"),
            seconds=round(perf_counter() - self._started, 3),
            workers=len(self._workers),
            python=platform.python_version(),
            pytest=pytest.__version__,
        )
        outcome = Outcome(accounting, self._partial_reasons(), tuple(self._broken))
        used = self.suites.used()
        metrics = metrics_of(used, self.families, options.metrics)
        cards = [one.card for one in self._cards]
        self._run = assemble(cards, used, self.settings.request, outcome, timing, metrics=metrics, base=self._base)

    def _partial_reasons(self) -> tuple[str, ...]:
        option = self.config.option
        reasons = [f"-k {option.keyword!r}"] if option.keyword else []
        reasons += [f"-m {option.markexpr!r}"] if option.markexpr else []
        reasons += ["--lf"] if getattr(option, "lf", False) else []
        shard = self.settings.request.options.shard
        reasons += [f"shard {shard}"] if shard else []
        return tuple(reasons)

    def _is_ignored(self) -> bool:
        """Say whether an agent was named, and neither a case nor a test of the user's has run with it."""
        if not self.settings.agent_named or self._any_deselected or getattr(self.config.option, "lf", False):
            return False
        return not (self._ledger.collected or self._gathered or self._broken)

    def _save(self, run: Run) -> None:
        path = self.settings.save
        assert path is not None  # noqa: S101 (asked by the caller)
        if not self._begun:
            put_aside(path)
        former = self.moved.get(os.path.realpath(path))
        write_run(path, run, self._lines(self._cards), like=None if former is None else Path(former))
        self._note({"ended": "complete" if not run.accounting.lost else "stopped"})

    def _keep_answers(self) -> None:
        kinds: tuple[ProvenanceKind, ...] = ("recorded", "simulated", "miss")
        with_gaps = [one for one in self._cards if any(one.card.sandbox.get(kind) for kind in kinds)]
        whose = "of your own tools" if self.settings.tools else "of a model, to be looked over,"
        self._own_answers = told(*keep_answers(self._lines(with_gaps), self.suites.of_cases()), whose)

    def _lines(self, cards: Iterable[Ended]) -> Iterable[bytes]:
        for one in cards:
            line = one.line
            if line is None and one.place is not None and self.episodes.journal is not None:
                line = self.episodes.journal.read(one.place)
            if line is None:
                raise MapsatError(f"the dialogue of case {one.card.id} is lost: there was no journal to keep it")
            yield with_attempt(line, one.card.attempt)

    # -- telling ---------------------------------------------------------------------------

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary."""
        self._tell(terminalreporter, brief=self.config.get_verbosity() < -1)

    def pytest_unconfigure(self) -> None:
        """Tell at least the gate where pytest printed no summary: with ``--no-summary``, or after an internal error."""
        if self._ended_early():
            self._status = pytest.ExitCode.TESTS_FAILED
            self._faults.append("the run ended before anything was collected")
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            self._tell(terminal, brief=True)
        if self.episodes.journal is not None:
            self.episodes.journal.close()
        # Thousands of values that Python would go over again and again while the process ends.
        self._gathered, self._cards, self._run = Gathered(), [], None

    def _ended_early(self) -> bool:
        """Say whether an agent was named, and the session ended green before it could collect anything."""
        named = self._decides and self.settings.agent_named and self._status is None
        return named and self._session is not None and self._session.exitstatus in _GREEN

    def _why_none(self) -> str:
        """Say why no case may have been collected."""
        if self.suites.samples:
            return "no case of the sample is among what was to be collected"
        places = (*self.settings.cases, *self.suites.argument_paths(), self.config.rootpath / "benchmark_cases")
        return (
            f"looked for a suite in: {looked_for(places, self.config.invocation_params.dir)} (mapsat init writes one)"
        )

    def _tell(self, terminal: pytest.TerminalReporter, *, brief: bool) -> None:
        if self._told or not (self._run or self._faults):
            return
        self._told = True
        if not brief:
            terminal.section("mapsat")
        width = max(terminal._tw.fullwidth, 60)  # noqa: SLF001 (the only way to the width, used by pytest-cov too)
        if self._is_ignored():
            terminal.write_line(f"no case was collected, and no test used mapsat_run; {self._why_none()}", red=True)
        elif self._run is not None:
            full = self.config.get_verbosity() > 0
            for line in summary_lines(self._run, width=width, colour=terminal.hasmarkup, brief=brief, full=full):
                terminal.write_line(line.text, **({line.style: True} if line.style else {}))
        for note in self._notes():
            terminal.write_line(note, yellow=True)
        for fault in self._faults:
            terminal.write_line(f"error  {fault}", red=True)
        if self.settings.save is not None and not self._faults and self._run is not None and not brief:
            terminal.write_line(f"saved    {self.settings.save}")
        self._reports.tell(terminal, brief=brief)

    def _notes(self) -> Iterator[str]:
        """Give what else there is to say of the run."""
        ahead = self.config.pluginmanager.get_plugin("mapsat-ahead")
        for said, count in (*self._ahead_told.items(), *(() if ahead is None else ahead.told())):
            yield f"at once  {count} {printable(said)}"
        for told_of in self._own_answers:
            yield f"own      {printable(told_of)}"
        for problem in (problem for suite in self.suites.used() for problem in suite.inventory.unread):
            yield f"not read  {problem}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(printable, names[:_NAMED])) + more
