"""Reports of built-in items as pytest prints them: at the place of the case, as long as ``--tb`` asks for, with a way back."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import pytest

from pytest_mapsat.metrics import PassRule
from pytest_mapsat.model import Case, Metric, RunOptions, RunRequest, Scorecard
from pytest_mapsat.options import OPTIONS
from pytest_mapsat.reports import again_command, failure_text, harmless, printable
from pytest_mapsat.runs.request import CeilingReachedError
from pytest_mapsat.secrets import known_secrets

from .items import param_of, raised_at
from .passes import mark_trial

#: Columns of the text of a failure.
_NARROWEST, _WIDEST = 58, 78


class Completion:
    """Says in the reports of built-in items what nobody but us knows.

    Args:
        config: pytest's.
        options: what the run was asked for.
    """

    def __init__(self, config: pytest.Config, options: RunOptions) -> None:
        self._config = config
        #: Whether a case may pass though one of its trials failed.
        self._forgives = PassRule.parse(options.pass_rule, options.trials).forgives
        #: Those of the last report.
        self._keywords: Mapping[str, Any] = {}

    def complete(self, report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[None], reason: str) -> None:
        """Complete a report.

        Args:
            report: of a built-in item.
            item: the item.
            call: what the report was made from.
            reason: of its last episode; empty where there is none.
        """
        if report.sections or report.longrepr is not None:
            rewrite(report, known_secrets().hidden)
        if "GITHUB_ACTIONS" in os.environ:  # what an agent prints is no command of the service
            report.sections = [(title, "\n".join(map(harmless, text.split("\n")))) for title, text in report.sections]
        if self._forgives:
            mark_trial(item, report)
        if report.skipped and call.excinfo is not None:
            ceiling = isinstance(call.excinfo.value.__cause__, CeilingReachedError)
            report.__dict__["mapsat_by"] = "a ceiling" if ceiling else raised_at(call.excinfo, self._config.rootpath)
        if report.failed:
            entry = param_of(item).entry
            place = os.path.relpath(entry.path, self._config.invocation_params.dir), entry.line
            place_failure(self._config, report, call, place, printable(reason))
        # pytest keeps all reports to the end of a run, and the three of an item have the same keywords.
        if report.keywords == self._keywords:
            report.keywords = self._keywords
        else:
            self._keywords = report.keywords


def rewrite(report: pytest.TestReport, change: Callable[[str], str]) -> None:
    """Rewrite all that a report shows: the traceback, and what was captured of the output."""
    report.sections = _rewritten(report.sections, change)
    report.longrepr = _rewritten(report.longrepr, change)


def _rewritten(part: Any, change: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return change(part)
    if isinstance(part, list | tuple):
        return type(part)(_rewritten(member, change) for member in part)
    if is_dataclass(part) and not isinstance(part, type):
        for name, member in vars(part).items():
            setattr(part, name, _rewritten(member, change))
    return part


def again_of(config: pytest.Config, request: RunRequest, place: str) -> str:
    """Return the command that runs one case again, from the folder that pytest was started in.

    Args:
        config: pytest's; what it was told of ini files and plugins, the new run must be told too.
        request: what the run was asked for.
        place: what to give pytest for the case.
    """
    option = config.option
    settings = [("-c", option.inifilename), ("--rootdir", option.rootdir)]
    settings += [("-o", text) for text in option.override_ini or ()]
    settings += [("-p", name) for name in option.plugins or () if not name.startswith("no:")]
    # What an ini file adds to the command line, it adds again.
    typed = tuple(map(str, config.invocation_params.args))
    said = [(name, value) for name, value in settings if value and any(word.endswith(value) for word in typed)]
    given = frozenset(
        name for name, option in OPTIONS.items() if option.typed and config.getoption(option.dest) is not None
    )
    command = again_command(request, place, given)
    isolate = next((word for word in typed if word.startswith("--mapsat-isolate")), "")
    if isolate:
        command += f" {shlex.quote(isolate)}"
    return " ".join([command, *(f"{name} {shlex.quote(value)}" for name, value in said)])


def place_failure(
    config: pytest.Config, report: pytest.TestReport, call: pytest.CallInfo[None], where: tuple[str, int], reason: str
) -> None:
    """Say in a report that the failure lies in the case, not in our code that found it.

    The report is changed where pytest reads it, for there is no other way across a process border: a representation of
    our own would arrive as text, which ``--tb=line`` cuts at 50 characters.

    Args:
        config: pytest's.
        report: of a failed built-in item.
        call: what the report was made from.
        where: the case's file and line.
        reason: one line; empty: the first line of the failure's own text.
    """
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    raised = call.excinfo.value if call.excinfo else None
    if crash is None or not isinstance(raised, pytest.fail.Exception) or raised.pytrace:
        return  # an error in somebody's fixture or plugin is told where it lies
    crash.path, crash.lineno = where
    if report.when == "call":  # on CI pytest repeats the whole message in its short summary
        crash.message = crash.message.partition("\n")[0]
    if config.option.tbstyle == "line" and report.when == "call":  # errors of set-up are shown whole in any style
        crash.message = reason or crash.message.partition("\n")[0].removeprefix("Failed: ")
        traceback: Any = getattr(report.longrepr, "reprtraceback", None)
        traceback.reprentries = []


def text_of(
    config: pytest.Config, request: RunRequest, card: Scorecard, case: Case, *, place: str, metrics: Sequence[Metric]
) -> str:
    """Return the text of a failed item: as long as ``--tb`` asks for, as wide as the terminal within what is easy to read.

    Args:
        config: pytest's.
        request: what the run was asked for.
        card: the failed episode.
        case: its case.
        place: what to give pytest for the case.
        metrics: those of the suite.
    """
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    wide = _WIDEST if terminal is None else terminal._tw.fullwidth - 2  # noqa: SLF001  as pytest-cov asks for it
    return failure_text(
        card,
        case,
        request.options.asserted_kinds,
        again=again_of(config, request, place),
        width=min(max(wide, _NARROWEST), _WIDEST),
        short=config.option.tbstyle == "short",
        metrics=metrics,
    )
