"""Reports of built-in items: their look, the effect of a pass rule on them, and the episodes that they carry, or the reason why they carry none."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from pytest_mapsat.agents import scrubbed
from pytest_mapsat.formats import Journal, scorecard_line, with_attempt, without_secrets
from pytest_mapsat.metrics import PassRule
from pytest_mapsat.model import (
    Case,
    EnvironmentEnd,
    JsonObject,
    MapsatError,
    Metric,
    Outcome,
    RunOptions,
    RunRequest,
    Scorecard,
    Step,
    Tool,
    Trajectory,
    listed,
)
from pytest_mapsat.options import OPTIONS
from pytest_mapsat.printed import harmless, printed
from pytest_mapsat.reports import again_command, cut, failure_text, printable
from pytest_mapsat.runs.episodes import Ended, without_turns
from pytest_mapsat.runs.request import CeilingReachedError
from pytest_mapsat.secrets import known_secrets

from .items import agent_of, param_of, raised_at

#: Columns of the text of a failure.
_NARROWEST, _WIDEST = 58, 78
#: What a report of a built-in item carries: its case, and the trial.
_TRIAL = "mapsat_trial"
_MISSED = "mapsat_missed"
#: What a report of a failed item carries: why its episode failed, in one paragraph.
_WHY = "mapsat_why"
#: Lines of a failure where pytest is quiet.
_QUIET_LINES = 3


class Completion:
    """Completes the reports of built-in items with data that only this plugin knows."""

    def __init__(self, config: pytest.Config, options: RunOptions) -> None:
        self._config = config
        #: Whether a case may pass though one of its trials failed.
        self._forgives = PassRule.parse(options.pass_rule, options.trials).forgives
        #: Those of the last report.
        self._keywords: Mapping[str, Any] = {}

    def complete(self, report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[None], reason: str) -> None:
        """Complete a report of a built-in item; the reason is that of its last episode, or empty."""
        if report.sections or report.longrepr is not None:
            hidden = known_secrets().hidden
            report.sections = _rewritten(report.sections, hidden)
            report.longrepr = _rewritten(report.longrepr, lambda text: printed(hidden(text)))
        if report.sections and "GITHUB_ACTIONS" in os.environ:  # what an agent prints is no command of the service
            report.sections = [(title, "\n".join(map(harmless, text.split("\n")))) for title, text in report.sections]
        if self._forgives and call.when == "call" and item.parent is not None:
            param = param_of(item)
            report.__dict__[_TRIAL] = [f"{item.parent.nodeid}::{param.id}::{agent_of(item)}", param.id, param.trial]
        if report.skipped and call.excinfo is not None:
            ceiling = isinstance(call.excinfo.value.__cause__, CeilingReachedError)
            report.__dict__["mapsat_by"] = "a ceiling" if ceiling else raised_at(call.excinfo, self._config.rootpath)
        if report.failed:
            entry = param_of(item).entry
            place = os.path.relpath(entry.path, self._config.invocation_params.dir), entry.line
            self._place_failure(report, call, place, printable(reason))
            if reason and call.when == "call" and call.excinfo and call.excinfo.errisinstance(pytest.fail.Exception):
                report.__dict__[_WHY] = printable(reason)  # an assertion in a case in Python is shown as it is
        # pytest keeps all reports to the end of a run, and the three of an item have the same keywords.
        if report.keywords == self._keywords:
            report.keywords = self._keywords
        else:
            self._keywords = report.keywords

    def _place_failure(
        self, report: pytest.TestReport, call: pytest.CallInfo[None], where: tuple[str, int], reason: str
    ) -> None:
        """State in a report that the failure lies in the case, at a file and line, and not in our code.

        The report is changed where pytest reads it, for there is no other way across a process border: a representation of
        our own would arrive as text, which ``--tb=line`` cuts at 50 characters. Without a reason, which is one line, it is the first line
        of the failure's own text.
        """
        crash: Any = getattr(report.longrepr, "reprcrash", None)
        raised = call.excinfo.value if call.excinfo else None
        if crash is None or not isinstance(raised, pytest.fail.Exception) or raised.pytrace:
            return  # an error in somebody's fixture or plugin is told where it lies
        crash.path, crash.lineno = where
        if call.when == "call":  # on CI pytest repeats the whole message in its short summary
            crash.message = crash.message.partition("\n")[0]
        # Errors of set-up are shown whole in any style.
        if self._config.option.tbstyle == "line" and report.when == "call":
            crash.message = reason or crash.message.partition("\n")[0].removeprefix("Failed: ")
            traceback: Any = getattr(report.longrepr, "reprtraceback", None)
            traceback.reprentries = []


def _rewritten(part: Any, change: Callable[[str], str]) -> Any:
    """Return a part of a report with a function applied to each of its texts."""
    if isinstance(part, str):
        return change(part)
    if isinstance(part, list | tuple):
        return type(part)(_rewritten(member, change) for member in part)
    if is_dataclass(part) and not isinstance(part, type):
        for name, member in vars(part).items():
            setattr(part, name, _rewritten(member, change))
    return part


def shorten(config: pytest.Config) -> None:
    """Shorten the failures of cases that pytest is about to show to the reasons, where it is quiet and no ``--tb`` asks for more.

    Only the terminal is to show less: what writes files, as ``--junitxml``, has read the reports by then.
    """
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or config.get_verbosity() >= 0 or config.option.tbstyle != "auto":
        return
    for report in terminal.stats.get("failed", ()):
        if why := report.__dict__.get(_WHY):
            report.longrepr = cut(why, _QUIET_LINES * config.get_terminal_writer().fullwidth)
            report.sections = []
            report.__dict__.pop("node", None)  # of xdist: pytest would show the worker


def again_of(config: pytest.Config, request: RunRequest, place: str) -> str:
    """Return the command that runs one case again from the folder where pytest was started.

    What pytest was told of ini files and plugins, the new run is told too.
    """
    option = config.option
    settings = [("-c", option.inifilename), ("--rootdir", option.rootdir)]
    settings += [("-o", text) for text in option.override_ini or ()]
    settings += [("-p", name) for name in option.plugins or () if not name.startswith("no:")]
    # What an ini file adds to the command line, it adds again.
    typed = tuple(map(str, config.invocation_params.args))
    typed_settings = [
        (name, value) for name, value in settings if value and any(word.endswith(value) for word in typed)
    ]
    given = frozenset(
        name for name, option in OPTIONS.items() if option.typed and config.getoption(option.dest) is not None
    )
    command = again_command(request, place, given)
    isolate = next((word for word in typed if word.startswith("--mapsat-isolate")), "")
    if isolate:
        command += f" {shlex.quote(isolate)}"
    return " ".join([command, *(f"{name} {shlex.quote(value)}" for name, value in typed_settings)])


def text_of(
    config: pytest.Config,
    request: RunRequest,
    card: Scorecard,
    case: Case,
    *,
    place: str,
    line: int,
    metrics: Sequence[Metric],
) -> str:
    """Return the text of a failed item: as long as ``--tb`` asks for, as wide as the terminal within what is easy to read.

    Of a case whose own checks cannot be judged, it is the place and the reason: the dialogue explains nothing.
    """
    mistaken = card.blame == "judge" and {label.by for label in card.labels if label.value is None} == {"checks"}
    shows = config.pluginmanager.has_plugin("terminalreporter")  # a worker's shows nothing
    wide = config.get_terminal_writer().fullwidth - 2 if shows else _WIDEST
    return f"{place.partition('::')[0]}:{line}: " * mistaken + failure_text(
        card,
        case,
        request.options.asserted_kinds,
        again=again_of(config, request, place),
        width=min(max(wide, _NARROWEST), _WIDEST),
        short=mistaken or config.option.tbstyle == "short",
        metrics=metrics,
    )


def show_each_exception(
    item: pytest.Item, report: pytest.TestReport, excinfo: pytest.ExceptionInfo[BaseException]
) -> None:
    """Display each exception of a group in a report in the style of a single exception, with its source."""
    if not isinstance(excinfo.value, BaseExceptionGroup):
        return
    shown: list[Any] = [
        item.repr_failure(pytest.ExceptionInfo.from_exception(error)) for error in excinfo.value.exceptions
    ]
    with suppress(AttributeError, IndexError):  # somebody else shows exceptions in a way of their own
        chain = [(*each.chain[-1][:2], None) for each in shown]
        traceback = type(shown[0])(chain)
        traceback.reprcrash = replace(chain[-1][1], message=str(excinfo.value.message))
        report.longrepr = traceback


@dataclass
class _Case:
    """The outcomes of one case's trials so far."""

    name: str
    trials: dict[int, Outcome] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)

    def count(self, outcome: Outcome) -> int:
        """Return the number of trials with an outcome."""
        return list(self.trials.values()).count(outcome)

    def shortfall(self, rule: PassRule) -> str:
        """Describe which trials failed, and how many trials the case needs."""
        failed = ", ".join(str(trial) for trial, outcome in sorted(self.trials.items()) if outcome == "failed")
        return f"{self.name} passed {self.count('passed')} of {rule.trials} trials, {rule.needed} are needed; failed: trial {failed}"


class Passes:
    """``--mapsat-trials=K/N``: turns the reports of failed trials into missed trials, and the last report of a case into its verdict.

    Trials of a case may run on several workers, so it is decided where all reports arrive: on the controller, before anybody else has seen them.
    """

    def __init__(self, rule: PassRule) -> None:
        self._rule = rule
        self._cases: dict[str, _Case] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Apply the pass rule before any other plugin counts the report."""
        mark = getattr(report, _TRIAL, None)
        if mark is not None and report.outcome in ("passed", "failed", "skipped") and not was_expected(report):
            self._take(report, *mark)
        return (yield)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Give missed trials their own status letter."""
        return ("missed", "m", ("MISSED", {"yellow": True})) if hasattr(report, _MISSED) else None

    def undecided(self) -> list[str]:
        """Return the cases with a failed trial that too few finished trials decide."""
        return [
            case.name
            for case in self._cases.values()
            if len(case.trials) < self._rule.trials and case.count("failed") and self._outcome(case) != "passed"
        ]

    def _take(self, report: pytest.TestReport, key: str, name: str, trial: int) -> None:
        """Count the report of one trial, and apply the pass rule to it."""
        case = self._cases.setdefault(key, _Case(name))
        failed = report.outcome == "failed" and report.when == "call"  # one that is lost is an error of set-up
        case.trials[trial] = "failed" if failed else "passed" if report.outcome == "passed" else "unevaluated"
        if failed:
            case.texts[trial] = report.longreprtext
        if len(case.trials) == self._rule.trials and self._outcome(case) == "failed":
            first = case.texts[min(case.texts)]
            report.outcome, report.when = "failed", "call"
            report.__dict__[_WHY] = case.shortfall(self._rule)
            if not failed:
                report.longrepr = f"{case.shortfall(self._rule)}\n\nof trial {min(case.texts)}:\n{first}"
            else:
                report.sections.insert(0, ("pass rule", case.shortfall(self._rule)))
        elif failed:
            self._miss(report, case)

    def _outcome(self, case: _Case) -> Outcome:
        """Return the outcome of a case from its trials so far."""
        return self._rule.outcome(case.count("passed"), case.count("failed"))

    def _miss(self, report: pytest.TestReport, case: _Case) -> None:
        """Turn the report of a failed trial into the report of a missed trial."""
        place = Path(report.nodeid.partition("::")[0])
        line = next((line for line in report.longreprtext.splitlines() if line.strip()), "")
        report.__dict__[_MISSED] = True
        report.outcome = "skipped"
        report.longrepr = (str(place), 1, f"Missed: {line}; {self._rule} trials of {case.name} decide")


@cache
def _ended() -> TypeAdapter[Ended]:
    return TypeAdapter(Ended)


def packed(ended: Ended) -> str:
    """Return a finished episode as text for the controller; its turns stay in the journal, or are included in its line."""
    return _ended().dump_json(ended._replace(card=without_turns(ended.card))).decode()


def unpacked(text: str) -> Ended:
    """Return the episode in a text from ``packed``."""
    return _ended().validate_json(text)


def lines_of(episodes: Iterable[Ended], journal: Journal | None) -> Iterator[bytes]:
    """Yield the scorecards of episodes with their dialogues, one JSON line each, from the journal if possible.

    Raises:
        MapsatError: there is no line of one of them.
        OSError: the journal cannot be read.
    """
    for episode in episodes:
        line = episode.line
        if line is None and episode.place is not None and journal is not None:
            line = journal.read(episode.place)
        if line is None:
            raise MapsatError(f"the dialogue of case {episode.card.id} is lost: there was no journal to keep it")
        yield with_attempt(line, episode.card.attempt)


def with_late_calls(episode: Ended, steps: Sequence[Step], tools: Mapping[str, Tool], journal: Journal | None) -> Ended:
    """Return an episode with calls that arrived after its judgement; if a call writes, the passed labels become undecided."""
    card = episode.card
    with suppress(MapsatError):  # there may be no journal to keep its dialogue
        card = Scorecard.model_validate_json(next(lines_of([episode], journal)))
    late = (*card.trajectory.after_end, *steps)
    trajectory = without_secrets(card.trajectory.model_copy(update={"after_end": late}))
    changes: JsonObject = {"trajectory": trajectory}
    writing = sorted({step.tool for step in steps if step.tool in tools and tools[step.tool].effect == "write"})
    if writing and card.outcome == "passed":
        reason = f"{listed(writing)} was called once the episode had been judged: mapsat regrade counts it"
        changes |= {"outcome": "unevaluated", "blame": "agent", "reason": reason}
    card = card.model_copy(update=changes)
    return Ended(without_turns(card), line=scorecard_line(card))


def with_unknown_end(
    episode: Ended, why: str, judge: Callable[[Scorecard, Trajectory], Scorecard | None], journal: Journal | None
) -> Ended:
    """Return an episode whose end state proved unknown after its judgement, judged again with dependent labels undecided."""
    card, dialogue = episode.card, b""
    with suppress(MapsatError):  # there may be no journal to keep its dialogue: it is not judged again
        dialogue = next(lines_of([episode], journal))
        card = Scorecard.model_validate_json(dialogue)
    end = card.trajectory.environment or EnvironmentEnd()
    environment = end.model_copy(update={"unknown": end.unknown or why})
    trajectory = without_secrets(card.trajectory.model_copy(update={"environment": environment}))
    passed = card.outcome == "passed"
    lost = {"trajectory": trajectory, "reason": why, **({"outcome": "unevaluated", "blame": "agent"} if passed else {})}
    judged = (judge(card, trajectory) if dialogue else None) or card.model_copy(update=lost)
    return Ended(without_turns(judged), line=scorecard_line(judged))


def why_none(report: pytest.TestReport) -> str | None:
    """Return why a report that could have an episode has none."""
    if report.when not in ("setup", "call", "teardown"):
        return "lost with its worker"
    if report.when == "teardown" or (report.when == "setup" and report.passed) or str(report.outcome) == "rerun":
        return None
    if was_expected(report):
        return f"ended as an expected failure ({report.when}): {scrubbed(report.wasxfail)}"
    if report.skipped:
        return _skip(report)
    if report.passed:
        return "passed without being run: something took the item over"
    done = "could not be set up" if report.when == "setup" else "ended without a scorecard"
    return f"{done}: {_first_line(report)}"


def was_expected(report: pytest.TestReport) -> bool:
    """Return whether a failure was expected, by a mark or by ``pytest.xfail``."""
    return hasattr(report, "wasxfail")


def _first_line(report: pytest.TestReport) -> str:
    """Return the first line of a report's text."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", None) or report.longrepr or "no reason given")
    line = next((line for line in text.splitlines() if line.strip()), "no reason given")
    return scrubbed(line.removeprefix("Failed: "))


def _skip(report: pytest.TestReport) -> str:
    """Return the reason for a skip, with the mark or plugin that skipped the item."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else _first_line(report)
    return f"skipped by {getattr(report, 'mapsat_by', '') or 'a mark'}: {scrubbed(text.removeprefix('Skipped: '))}"
