"""``--mapsat-trials=K/N``: a failed trial is missed, and the case decides, on the item of the trial that ends last.

Trials of a case may run on several workers, so it is decided where all reports arrive: on the controller, before anybody else has seen them.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_mapsat.metrics import PassRule
from pytest_mapsat.model import Outcome

from .items import agent_of, param_of

#: What a report of a built-in item carries: its case, and the trial.
MARK = "mapsat_trial"
_MISSED = "mapsat_missed"


def mark_trial(item: pytest.Item, report: pytest.TestReport) -> None:
    """Note on the report of a built-in item's call which case and trial it is of, so that the controller knows."""
    if report.when == "call" and item.parent is not None:
        param = param_of(item)
        report.__dict__[MARK] = [f"{item.parent.nodeid}::{param.id}::{agent_of(item)}", param.id, param.trial]


@dataclass
class _Case:
    """The trials of one case, as far as they have ended."""

    name: str
    trials: dict[int, Outcome] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)

    def count(self, outcome: Outcome) -> int:
        return list(self.trials.values()).count(outcome)

    def told(self, rule: PassRule) -> str:
        failed = ", ".join(str(trial) for trial, outcome in sorted(self.trials.items()) if outcome == "failed")
        return f"{self.name} passed {self.count('passed')} of {rule.trials} trials, {rule.needed} are needed; failed: trial {failed}"


class Passes:
    """Turns the reports of failed trials into missed ones, and the last of a case into its verdict.

    Args:
        rule: the pass rule, one that forgives.
    """

    def __init__(self, rule: PassRule) -> None:
        self._rule = rule
        self._cases: dict[str, _Case] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Decide before any other plugin counts the report."""
        mark = getattr(report, MARK, None)
        if mark is not None and _ends_trial(report):
            self._take(report, *mark)
        return (yield)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Give missed trials a letter of their own."""
        return ("missed", "m", ("MISSED", {"yellow": True})) if hasattr(report, _MISSED) else None

    def undecided(self) -> list[str]:
        """Return the cases in which a trial failed, and of which too few trials have ended to decide."""
        return [
            case.name
            for case in self._cases.values()
            if len(case.trials) < self._rule.trials and case.count("failed") and self._outcome(case) != "passed"
        ]

    def _take(self, report: pytest.TestReport, key: str, name: str, trial: int) -> None:
        case = self._cases.setdefault(key, _Case(name))
        failed = report.outcome == "failed"
        case.trials[trial] = "failed" if failed else "passed" if report.outcome == "passed" else "unevaluated"
        if failed:
            case.texts[trial] = report.longreprtext
        if len(case.trials) == self._rule.trials and self._outcome(case) == "failed":
            first = case.texts[min(case.texts)]
            report.outcome = "failed"
            if not failed:
                report.longrepr = f"{case.told(self._rule)}\n\nof trial {min(case.texts)}:\n{first}"
            else:
                report.sections.insert(0, ("pass rule", case.told(self._rule)))
        elif failed:
            self._miss(report, case)

    def _outcome(self, case: _Case) -> Outcome:
        return self._rule.outcome(case.count("passed"), case.count("failed"))

    def _miss(self, report: pytest.TestReport, case: _Case) -> None:
        place = Path(report.nodeid.partition("::")[0])
        line = next((line for line in report.longreprtext.splitlines() if line.strip()), "")
        report.__dict__[_MISSED] = True
        report.outcome = "skipped"
        report.longrepr = (str(place), 1, f"Missed: {line}; {self._rule} trials of {case.name} decide")


def _ends_trial(report: pytest.TestReport) -> bool:
    """Say whether a report is the one that tells how its trial ended; a rerun and a broken fixture are told by others."""
    return (
        report.when == "call" and report.outcome in ("passed", "failed", "skipped") and not hasattr(report, "wasxfail")
    )
