"""The controller's side: gather scorecards from wherever they ran, summarise, decide, write, and tell."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from pytest_mapsat import __version__
from pytest_mapsat.gate import Coverage, decide, parse_thresholds
from pytest_mapsat.metrics import group, summarise
from pytest_mapsat.model import (
    JudgeInfo,
    Run,
    RunManifest,
    RunTiming,
    Scorecard,
    SuiteError,
    SuiteInfo,
    Trajectory,
)
from pytest_mapsat.reports import Spool, scorecard_json, summary_lines, write_run
from pytest_mapsat.suite import Suite

from .session import MapsatSession


class Reporter:
    """Gathers the scorecards of the built-in items and turns them into the run."""

    def __init__(self, config: pytest.Config, session: MapsatSession) -> None:
        self.config = config
        self.session = session
        self.thresholds = parse_thresholds(session.settings.fail_under)
        self._cards: dict[tuple[str, int], Scorecard] = {}
        self._spool = Spool() if session.settings.save else None
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
        card = self.session.fresh.pop(report.nodeid, None)
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
            self.session.touched.add(Path(root))
            self.session.open_known(Path(root))

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
        cards = [self._cards[key] for key in sorted(self._cards)]
        coverage, problems = self._coverage(cards)
        warnings = sorted({warning for card in cards for warning in card.warnings} | set(problems))
        return Run(
            manifest=self._manifest(cards, warnings),
            cases=tuple(cards),
            summary=summarise(cards),
            groups=group(cards),
            gate=decide(
                cards,
                self.thresholds,
                allowed_unevaluated=self.session.settings.allow_unevaluated,
                coverage=coverage,
            ),
            timing=RunTiming(
                started=self._started_at.isoformat(timespec="seconds"),
                seconds=round(perf_counter() - self._started, 3),
                workers=len(self._workers),
                python=platform.python_version(),
                pytest=pytest.__version__,
            ),
        )

    def _coverage(self, cards: list[Scorecard]) -> tuple[Coverage, list[str]]:
        """Return how much of the suites ran, and what kept us from knowing."""
        domains: dict[str, tuple[str, ...]] = {}
        problems: list[str] = []
        for suite in self._suites():
            domains |= _domains(suite, problems)
        ran = {card.id for card in cards}
        left = {domain for case, names in domains.items() if case not in ran for domain in names}
        whole = {domain for names in domains.values() for domain in names} - left
        errors = sorted(set(self._broken) | set(problems))
        return Coverage(
            selected=len(ran),
            total=len(domains),
            partial=self._partial_reasons() if ran < set(domains) else (),
            errors=tuple(errors),
            whole_domains=frozenset(whole),
        ), problems

    def _partial_reasons(self) -> tuple[str, ...]:
        option = self.config.option
        reasons = [f"-k {option.keyword!r}"] if option.keyword else []
        reasons += [f"-m {option.markexpr!r}"] if option.markexpr else []
        reasons += ["--lf"] if getattr(option, "lf", False) else []
        reasons += [f"--maxfail={option.maxfail}"] if option.maxfail else []
        reasons += [f"{len(self._crashed)} crashed workers"] if self._crashed else []
        return tuple(reasons)

    def _suites(self) -> list[Suite]:
        return [self.session.suites[root] for root in sorted(self.session.touched)]

    def _manifest(self, cards: list[Scorecard], warnings: list[str]) -> RunManifest:
        settings = self.session.settings
        linked = None
        if settings.judge.startswith("recorded:"):
            linked = bool(cards) and all(card.linked for card in cards)
        suites = [
            SuiteInfo(name=suite.manifest.name, version=suite.manifest.version, fingerprint=suite.fingerprint())
            for suite in self._suites()
        ]
        return RunManifest(
            versions={"pytest-mapsat": __version__},
            suites=tuple(sorted(suites, key=lambda suite: (suite.name, suite.fingerprint))),
            agent=_portable(settings.agent),
            user=settings.user,
            judge=JudgeInfo(spec=_portable(settings.judge), linked=linked),
            options={
                "assert": sorted(settings.asserted),
                "fail_under": [text for text, _ in settings.fail_under],
                "allow_unevaluated": settings.allow_unevaluated,
                "max_turns": settings.max_turns,
                "timeout_seconds": settings.timeout,
                "trials": settings.trials,
            },
            warnings=tuple(warnings),
        )

    def _save(self) -> None:
        path = self.session.settings.save
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
        if self._run is None:
            return
        terminalreporter.section("mapsat")
        width = max(terminalreporter._tw.fullwidth, 60)  # noqa: SLF001 (the only way to the width, used by pytest-cov too)
        for line in summary_lines(self._run, width=width, colour=terminalreporter.hasmarkup):
            terminalreporter.write_line(line.text, **({line.style: True} if line.style else {}))
        if self._save_error:
            terminalreporter.write_line(self._save_error, red=True)
        elif self.session.settings.save is not None:
            terminalreporter.write_line(f"saved    {self.session.settings.save}")


def _domains(suite: Suite, problems: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the domains of each case of a suite; files that cannot be read go to the problems."""
    found: dict[str, tuple[str, ...]] = {}
    try:
        for path in suite.files():
            found.update({entry.id: entry.domains for entry in suite.entries(path)})
    except SuiteError as error:
        problems.append(str(error.problems[0]))
    return found


def _without_turns(trajectory: Trajectory) -> Trajectory:
    return trajectory.model_copy(update={"turns": ()})


def _portable(spec: str) -> str:
    """Return a spec without the folder of a path in it: two equal runs may keep their files in different places."""
    kind, colon, rest = spec.partition(":")
    return f"{kind}:{Path(rest).name}" if kind == "recorded" and colon else spec
