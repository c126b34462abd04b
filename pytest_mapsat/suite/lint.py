"""What can be said of a suite without running it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pytest_mapsat.formats import Lines, shown_path
from pytest_mapsat.model import (
    DEFAULT_ASSERTED,
    Asserted,
    Calls,
    Case,
    ClockTime,
    JsonObject,
    Problem,
    SuiteError,
    canonical_json,
    did_you_mean,
    leaves,
    listed,
    shown,
    unknown_types,
)
from pytest_mapsat.reading import acts_of, words_of
from pytest_mapsat.registry import installed_function
from pytest_mapsat.sandbox import SandboxHook, installed_sandboxes
from pytest_mapsat.user_code import UserCodeError, call_user_code, installed

from .common import CaseEntry
from .crosscheck import (
    Remark,
    Severity,
    deciding_nothing,
    never_failing,
    nouns_in,
    tools_named,
    unfulfillable,
    unknown_columns,
)
from .opened import Suite, placed
from .people_labels import read_answers, stale_labels
from .tables import PlacedRecording, RequestKey, read_recordings, request_key

#: The entry point group in which installed packages name functions of a case and its suite that return a list of remarks.
GROUP = "pytest_mapsat.lints"
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)

#: So many undeclared paths of a tool are named.
_SHOWN_PATHS = 5


@dataclass(frozen=True)
class LintFinding:
    """One thing that lint found.

    Attributes:
        severity: ``error``: a run would stop at it or learn nothing from it; ``warning``: probably a mistake; ``note``: good to know.
        rule: a short fixed word for the sort of thing.
        problem: where and what.
    """

    severity: Severity
    rule: str
    problem: Problem

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """What findings are sorted by: file, line, then the most severe first."""
        problem = self.problem
        return problem.path, problem.line, _SEVERITIES.index(self.severity), self.rule, problem.message

    def __str__(self) -> str:
        return f"{self.problem} [{self.severity}: {self.rule}]"

    def to_json(self) -> JsonObject:
        """Return the finding as JSON data."""
        problem = self.problem
        place = {"path": problem.path, "line": problem.line, "message": problem.message, "hint": problem.hint}
        return {"severity": self.severity, "rule": self.rule, **place}


def lint(suite: Suite) -> list[LintFinding]:
    """Load everything in a suite and return all findings, sorted by file and line."""
    return sorted(_Linter(suite).findings(), key=lambda finding: finding.order)


def errors_of(error: SuiteError, rule: str) -> list[LintFinding]:
    """Return an error's problems as findings."""
    return [LintFinding("error", rule, problem) for problem in error.problems]


class _Linter:
    """Loads a suite once, and collects what is wrong with it."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._findings: list[LintFinding] = []
        self._cases: dict[str, Case] = {}
        self._recordings: list[PlacedRecording] = []

    def findings(self) -> list[LintFinding]:
        self._load_cases()
        self._load_recordings()
        self._about_recordings()
        for problem in self._suite.common.unused():
            self._findings.append(LintFinding("note", "unused-requirement", problem))
        self._about_tools()
        self._about_undeclared_fields()
        self._about_files()
        self._about_labels()
        return self._findings

    def _tell(self, severity: Severity, rule: str, place: tuple[Path, int], message: str, hint: str = "") -> None:
        self._findings.append(LintFinding(severity, rule, Problem(shown_path(place[0]), place[1], message, hint)))

    @contextmanager
    def _errors_as(self, rule: str) -> Iterator[None]:
        """Make findings of the problems of what cannot be read."""
        try:
            yield
        except SuiteError as error:
            self._findings += errors_of(error, rule)

    def _load_cases(self) -> None:
        self._findings += [LintFinding("error", "file", problem) for problem in self._suite.inventory.problems]
        if not self._suite.inventory.cases:
            self._tell("error", "empty", (self._suite.root, 0), "the suite has no case files")
        for path in self._suite.inventory.cases:
            entries: Sequence[CaseEntry] = ()
            with self._errors_as("case"):
                entries = self._suite.entries(path)
            for entry in entries:
                with self._errors_as("case"):
                    self._cases[entry.id] = case = self._suite.load(entry)
                    self._about_case(case, entry)
        with self._errors_as("sequence"):
            self._suite.refuse_broken_sequences()

    def _about_case(self, case: Case, entry: CaseEntry) -> None:
        manifest = self._suite.manifest
        remarks = [
            *unfulfillable(case, self._suite.tools),
            *unknown_columns(case, self._suite.tools, self._suite.tables),
        ]
        remarks += [*deciding_nothing(case), *never_failing(case, self._suite.tables)]
        for point in installed(GROUP):
            remarks += installed_function(GROUP, point.name, "rule of lint")(case, self._suite)
        silent = manifest.episode.user == "silent"
        gaps = [*_drafts(case), *_gaps(case, silent=silent), *_unasserted(case, manifest.asserted)]
        if case.visible.context.location is not None and manifest.coordinates is None:
            message = "it stands at a place, and suite.yaml does not say in which coordinates"
            place = ("visible", "context", "location")
            gaps.append(Remark("warning", "no-coordinates", place, message, "add coordinates: wgs84, or gcj02"))
        lines = self._suite.lines_of(entry) if remarks or gaps else Lines(entry.line)
        problems = [placed(remark, entry.path, lines) for remark in remarks]
        for gap in gaps:
            message = f"case {case.id}: {gap.message}"
            problems.append(lines.problem(shown_path(entry.path), gap.place, message, gap.hint))
        for remark, problem in zip([*remarks, *gaps], problems, strict=True):
            self._findings.append(LintFinding(remark.severity, remark.rule, problem))

    def _load_recordings(self) -> None:
        with self._errors_as("recording"):
            for _, spans in sorted(self._suite.recording_spans().items()):
                for span in spans:
                    with self._errors_as("recording"):
                        self._recordings += read_recordings([span], self._suite.reader)

    def _about_recordings(self) -> None:
        of_request: dict[RequestKey, list[PlacedRecording]] = {}
        for placed_recording in self._recordings:
            recording, place = placed_recording.recording, (placed_recording.path, placed_recording.line)
            if recording.case not in self._cases:
                message = f"the suite has no case {shown(recording.case)}: it is never served"
                self._tell("warning", "orphan", place, message)
            tool = self._suite.tools.get(recording.tool)
            if tool is None:
                message = f"the suite has no tool {shown(recording.tool)}: it is never served"
                hint = did_you_mean(recording.tool, self._suite.tools)
                self._tell("warning", "unknown-tool", place, message, hint)
            parameters = recording.arguments if tool is None else tool.parameters.get("properties", {})
            for name in sorted(recording.arguments.keys() - parameters.keys()):
                message = f"the tool {recording.tool} has no parameter {shown(name)}"
                self._tell("warning", "unknown-parameter", place, message, did_you_mean(name, parameters))
            of_request.setdefault(request_key(recording, tool), []).append(placed_recording)
        for several in of_request.values():
            results = [canonical_json(placed_recording.recording.result) for placed_recording in several]
            where = f"{shown_path(several[0].path)}:{several[0].line}"
            for number, placed_recording in enumerate(several[1:], 1):
                place = placed_recording.path, placed_recording.line
                if len(set(results[number - 1 :])) == 1:
                    self._tell("warning", "duplicate-recording", place, f"the same recording stands in {where}")
                else:
                    message = f"{where} records another result of the same request: they answer in order, then the last"
                    self._tell("note", "conflict", place, message)

    def _any_made(self, hooks: Iterable[SandboxHook]) -> bool:
        """Return whether a hook gives a sandbox for a case, or breaks, which is told where its oracle is played."""
        try:
            return any(call_user_code(hook, case, self._suite) for case in self._cases.values() for hook in hooks)
        except UserCodeError:
            return True

    def _about_tools(self) -> None:
        """Tell tools that nothing answers, and parameters of types that no model knows: services refuse such a tool, or the agent has to guess."""
        expected = {name for case in self._cases.values() for name in tools_named(case)}
        checks = [check for case in self._cases.values() for check in case.truth.checks for check in leaves(check)]
        agreed = {check.tool for check in checks if isinstance(check, Calls) and check.agreed}
        recorded = {placed_recording.recording.tool for placed_recording in self._recordings}
        added = set(self._suite.sandboxes or ()) - set(installed_sandboxes())
        # A sandbox's answers are its own affair.
        elsewhere = bool(self._suite.manifest.sandbox or (added and (not self._cases or self._any_made(added))))
        hint = "pytest_mapsat_sandbox returned None for all cases" if added else ""
        for name, tool in sorted(self._suite.tools.items()):
            place = self._suite.tool_places[name]
            if not elsewhere and name not in recorded and tool.answer is None:
                if name in expected:
                    message = f"the tool {name} has no recording: every call misses"
                    self._tell("warning", "no-recordings", place, message, hint)
                else:
                    message = f"the tool {name} is not used: no recording, and no case expects it"
                    self._tell("note", "unused-tool", place, message)
            if name in agreed and tool.effect == "write" and not tool.asks:
                words = [word for act in sorted(acts_of(name, tool.description)) for word in words_of(act)]
                message = f"a check wants agreement to calls of {name}, and the tool does not say with which words it is asked for"
                self._tell("note", "no-asks", place, message, f"add asks: [{', '.join(words) or 'cancel, 取消'}]")
            for part, wrong in unknown_types(tool.parameters):
                at = ".".join(map(str, ("parameters", *part)))
                self._tell("warning", "unknown-type", place, f"the tool {name}: {at}: {wrong}")

    def _about_undeclared_fields(self) -> None:
        """Tell tools whose results, recorded or computed, have values of which nothing says what they mean: no claim can be held against them."""
        recordings = [placed_recording.recording for placed_recording in self._recordings]
        results = [(recording.tool, recording.result) for recording in recordings if not recording.cut]
        results += [
            (name, self._suite.shape(name)) for name, tool in self._suite.tools.items() if tool.answer is not None
        ]
        undeclared: dict[str, set[str]] = {}
        for name, result in results:
            if (tool := self._suite.tools.get(name)) is not None:
                undeclared.setdefault(name, set()).update(tool.undeclared(result))
        for name, paths in sorted(undeclared.items()):
            named = [shown(path) if path else "the result itself" for path in sorted(paths)]
            if named:
                message = f"the tool {name} does not declare {listed(named, _SHOWN_PATHS)}: no claim is held against it"
                hint = "say in fields what it means, or that it is ignored"
                self._tell("warning", "undeclared-field", self._suite.tool_places[name], message, hint)

    def _about_files(self) -> None:
        suite = self._suite
        if (miscounted := suite.miscounted()) is not None:
            self._findings.append(LintFinding("error", "case-count", miscounted))
        if suite.manifest.license is None:
            hint = "others may use it only where license: says under which"
            self._tell("note", "no-license", (suite.root / "suite.yaml", 0), "the suite has no license", hint)
        self._findings += [LintFinding("warning", "not-read", problem) for problem in suite.inventory.unread]

    def _about_labels(self) -> None:
        """Tell what is wrong with labels of people; nothing where the cases that they are held against cannot be read."""
        if any(finding.severity == "error" for finding in self._findings):
            return
        with self._errors_as("label"):
            read_answers(self._suite)
        with self._errors_as("label"):
            self._findings += [LintFinding("warning", "label", problem) for problem in stale_labels(self._suite)]


def _gaps(case: Case, *, silent: bool) -> Iterator[Remark]:
    """Give what the truth of a case lacks."""
    truth = case.truth
    unchecked = [requirement.id for requirement in truth.by_kind if not requirement.leaves]
    if unchecked:
        message = f"{len(unchecked)} of {len(truth.requirements)} requirements have no check and need a judge: {' '.join(unchecked)}"
        yield Remark("note", "no-check", ("truth",), message)
    if not truth.asked and not truth.implicit:
        message = "has no requirement of kind asked, hard or soft: nothing says what would satisfy the user, so no run can evaluate it"
        yield Remark("error", "no-requirements", ("truth",), message)
    timeless = truth.requirements if case.visible.context.now is None else ()
    for index, requirement in enumerate(timeless):
        if any(isinstance(noun, ClockTime) for _, noun in nouns_in(requirement, ())):
            message = f"{requirement.id} checks a time of day, and the case has no context.now: times on the 12-hour clock stay undecided"
            yield Remark("warning", "no-time", ("truth", "requirements", index), message)
    visible = case.visible.model_copy(update={"interactions": ()}).model_dump_json().casefold()
    for index, preference in enumerate(truth.preferences):
        if json.dumps(preference, ensure_ascii=False)[1:-1].casefold() in visible:
            message = f"{shown(preference)} stands word for word in what the agent sees"
            hint = "what a memory is for, no context tells"
            yield Remark("warning", "preference-told", ("truth", "preferences", index), message, hint)
    if not truth.reference_turns:
        message = "has neither a clarification policy nor an oracle dialogue: Eff and SES do not apply"
        yield Remark("note", "no-clarification", ("truth",), message)
    if not truth.oracle:
        yield Remark("note", "no-oracle", ("truth",), "has no oracle dialogue: baseline:oracle cannot run it")
    if not truth.user.answers and truth.user.confirms is None and not silent:
        yield Remark("note", "no-script", ("truth",), "has no scripted answers: the scripted user has no preferences")


def _drafts(case: Case) -> Iterator[Remark]:
    """Give what of a case is proposed and accepted by no person yet."""
    hint = "mapsat review SUITE shows it beside its evidence; until then no run counts the case"
    for index, requirement in enumerate(case.truth.requirements):
        if requirement.draft:
            message = f"proposes {requirement.id} ({requirement.kind}): {shown(requirement.text)}"
            yield Remark("note", "draft", ("truth", "requirements", index), message, hint)
    for index, answer in enumerate(case.truth.user.answers):
        if answer.draft:
            message = f"proposes that the user answers {shown(answer.say)} when asked for {shown(answer.asked[0])}"
            yield Remark("note", "draft", ("truth", "user", "answers", index), message, hint)


def _unasserted(case: Case, asserted: Sequence[Asserted] | None) -> Iterator[Remark]:
    """Give that a case has requirements and none that fails its item by what the suite asserts."""
    kinds = DEFAULT_ASSERTED if asserted is None else asserted
    if not case.truth.requirements or "none" in kinds or "success" in kinds:
        return
    if not any(getattr(case.truth, kind) for kind in kinds):
        message = f"no item can fail: it has no requirement of {', '.join(kinds)}, which are asserted"
        yield Remark("warning", "not-asserted", ("truth",), message)
