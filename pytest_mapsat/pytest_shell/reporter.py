"""The controller's side: gather scorecards from wherever they ran, summarise, decide, write, and tell."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from pytest_mapsat.formats import Spool, scorecard_json, write_run
from pytest_mapsat.model import Run, RunTiming, Scorecard, Trajectory
from pytest_mapsat.reports import summary_lines
from pytest_mapsat.runs.assemble import Collected, assemble
from pytest_mapsat.runs.request import thresholds_of

from .options import Settings
from .suites import Suites


class Reporter:
    """Gathers the scorecards of the built-in items and turns them into the run."""

    def __init__(self, config: pytest.Config, settings: Settings, suites: Suites) -> None:
        self.config = config
        self.settings = settings
        self.suites = suites
        #: Scorecards of this process on their way here, by node id.
        self.fresh: dict[str, Scorecard] = {}
        _ = thresholds_of(settings.request.options)  # a bad threshold is told before anything runs
        self._cards: dict[tuple[str, int], Scorecard] = {}
        self._spool = Spool() if settings.save else None
        self._broken: list[str] = []
        self._crashed: list[str] = []
        self._workers: set[str] = set()
        self._run: Run | None = None
        self._save_error = ""
        self._started = perf_counter()
        self._started_at = datetime.now(UTC)

    # -- gathering -------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the scorecard that comes with a report; its trajectory goes to disk."""
        card = self.fresh.pop(report.nodeid, None)
        text: str | None = getattr(report, "mapsat", None)
        if card is None and text is not None:
            card = Scorecard.model_validate_json(text)
        if card is None:
            if broken := getattr(report, "mapsat_broken", None):
                self._broken.append(broken)
            return
        if self._spool is not None:
            self._spool.add(card.id, card.trial, text or scorecard_json(card))
        self._cards[card.id, card.trial] = card.model_copy(update={"trajectory": _without_turns(card.trajectory)})
        if worker := getattr(report, "worker_id", ""):
            self._workers.add(worker)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that could not be collected."""
        if report.failed:
            self._broken.append(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Note a worker that died, and the suites that a worker met on its way."""
        if error:
            self._crashed.append(str(node.gateway.id))
        for root in getattr(node, "workeroutput", {}).get("mapsat_suites", ()):
            self.suites.touch(Path(root))

    # -- deciding --------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Decide the gate, write the run file, and set the exit status where the gate does not hold."""
        if self.config.option.collectonly:
            return
        self._run = self._make_run()
        self._save()
        self.config.hook.pytest_mapsat_report(config=self.config, run=self._run)
        if (self._run.gate.outcome != "passed" or self._save_error) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _make_run(self) -> Run:
        timing = RunTiming(
            started=self._started_at.isoformat(timespec="seconds"),
            seconds=round(perf_counter() - self._started, 3),
            workers=len(self._workers),
            python=platform.python_version(),
            pytest=pytest.__version__,
        )
        collected = Collected(partial=self._partial_reasons(), broken=tuple(self._broken))
        return assemble(tuple(self._cards.values()), self.suites.used(), self.settings.request, collected, timing)

    def _partial_reasons(self) -> tuple[str, ...]:
        option = self.config.option
        reasons = [f"-k {option.keyword!r}"] if option.keyword else []
        reasons += [f"-m {option.markexpr!r}"] if option.markexpr else []
        reasons += ["--lf"] if getattr(option, "lf", False) else []
        reasons += [f"--maxfail={option.maxfail}"] if option.maxfail else []
        reasons += [f"{len(self._crashed)} crashed workers"] if self._crashed else []
        return tuple(reasons)

    def _save(self) -> None:
        path = self.settings.save
        if path is None or self._run is None or self._spool is None:
            return
        try:
            write_run(path, self._run, self._spool)
        except OSError as error:
            self._save_error = f"--mapsat-save: {error.strerror or error} ({path})"
        finally:
            self._spool.close()

    # -- telling ---------------------------------------------------------------------------

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary."""
        if self._run is None or not (self._run.cases or self._run.gate.outcome != "passed" or self._save_error):
            return  # nothing of ours has run, and nothing keeps the gate from holding
        terminalreporter.section("mapsat")
        width = max(terminalreporter._tw.fullwidth, 60)  # noqa: SLF001 (the only way to the width, used by pytest-cov too)
        for line in summary_lines(self._run, width=width, colour=terminalreporter.hasmarkup):
            terminalreporter.write_line(line.text, **({line.style: True} if line.style else {}))
        if self._save_error:
            terminalreporter.write_line(self._save_error, red=True)
        elif self.settings.save is not None:
            terminalreporter.write_line(f"saved    {self.settings.save}")


def _without_turns(trajectory: Trajectory) -> Trajectory:
    return trajectory.model_copy(update={"turns": ()})
