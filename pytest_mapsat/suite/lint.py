"""What can be said of a suite without running it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_mapsat.formats import Lines, shown_path
from pytest_mapsat.model import (
    DEFAULT_ASSERTED,
    Asserted,
    Case,
    ClockTime,
    JsonObject,
    Problem,
    Recording,
    SuiteError,
    Tool,
    canonical_json,
    did_you_mean,
    shown,
    unknown_types,
)

from .crosscheck import nouns_in, unfulfillable
from .entries import CaseEntry
from .opened import Suite, placed
from .people_labels import read_answers, stale_labels
from .recordings import PlacedRecording, RequestKey, read_recordings, request_key

Severity = Literal["error", "warning", "note"]
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

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
    findings: list[LintFinding] = []
    cases = list(_cases(suite, findings))
    recordings = list(_recordings(suite, findings))
    findings.extend(_about_recordings(suite, {case.id for case, _ in cases}, recordings))
    findings.extend(LintFinding("note", "unused-requirement", problem) for problem in suite.common.unused())
    findings.extend(_about_overlays(suite, {case.id for case, _ in cases}))
    if not (suite.sandboxes or suite.manifest.sandbox):  # what a sandbox in Python answers is its own affair
        findings.extend(_unused_tools(suite, [case for case, _ in cases], [one.recording for one in recordings]))
    findings.extend(_about_schemas(suite))
    findings.extend(_undeclared(suite, [one.recording for one in recordings]))
    findings.extend(_unread(suite))
    findings.extend(_about_answers(suite, findings))
    return sorted(findings, key=lambda finding: finding.order)


def errors_of(error: SuiteError, rule: str) -> list[LintFinding]:
    """Return an error's problems as findings."""
    return [LintFinding("error", rule, problem) for problem in error.problems]


def _cases(suite: Suite, findings: list[LintFinding]) -> Iterator[tuple[Case, CaseEntry]]:
    findings.extend(LintFinding("error", "file", problem) for problem in suite.inventory.problems)
    if not suite.inventory.cases:
        message = "the suite has no case files"
        findings.append(LintFinding("error", "empty", Problem(shown_path(suite.root), 0, message)))
    for path in suite.inventory.cases:
        for entry in _entries(suite, path, findings):
            try:
                case = suite.load(entry)
            except SuiteError as error:
                findings.extend(errors_of(error, "case"))
                continue
            findings.extend(_about_case(suite, case, entry))
            yield case, entry


def _entries(suite: Suite, path: Path, findings: list[LintFinding]) -> tuple[CaseEntry, ...]:
    try:
        return suite.entries(path)
    except SuiteError as error:
        findings.extend(errors_of(error, "case"))
        return ()


def _about_case(suite: Suite, case: Case, entry: CaseEntry) -> Iterator[LintFinding]:
    if case.visible.context.location is not None and suite.manifest.coordinates is None:
        place = suite.lines_of(entry).at(("visible", "context", "location"))
        message = f"case {case.id}: it stands at a place, and suite.yaml does not say in which coordinates"
        yield LintFinding(
            "warning",
            "no-coordinates",
            Problem(shown_path(entry.path), place, message, "add coordinates: wgs84, or gcj02"),
        )
    remarks = list(unfulfillable(case, suite.tools))
    gaps = [*_gaps(case, silent=suite.manifest.episode.user == "silent"), *_unasserted(case, suite.manifest.asserted)]
    lines = suite.lines_of(entry) if remarks or gaps else Lines(entry.line)
    for remark in remarks:
        yield LintFinding(remark.severity, remark.rule, placed(remark, entry.path, lines))
    for severity, rule, part, message in gaps:
        problem = lines.problem(shown_path(entry.path), ("truth", *part), f"case {case.id}: {message}")
        yield LintFinding(severity, rule, problem)


def _gaps(case: Case, *, silent: bool) -> Iterator[tuple[Severity, str, tuple[str | int, ...], str]]:
    """Give what the truth of a case lacks: severity, rule, place in the truth, message."""
    truth = case.truth
    unchecked = [requirement.id for requirement in truth.by_kind if not requirement.leaves]
    if unchecked:
        message = f"{len(unchecked)} of {len(truth.requirements)} requirements have no check and need a judge: {' '.join(unchecked)}"
        yield "note", "no-check", (), message
    if not truth.asked and not truth.implicit:
        message = "has no requirement of kind asked, hard or soft: nothing says what would satisfy the user, so no run can evaluate it"
        yield "error", "no-requirements", (), message
    timeless = truth.requirements if case.visible.context.now is None else ()
    for index, one in enumerate(timeless):
        if any(isinstance(noun, ClockTime) for _, noun in nouns_in(one, ())):
            message = f"{one.id} checks a time of day, and the case has no context.now: times on the 12-hour clock stay undecided"
            yield "warning", "no-time", ("requirements", index), message
    if not truth.reference_turns:
        message = "has neither a clarification policy nor an oracle dialogue: Eff and SES do not apply"
        yield "note", "no-clarification", (), message
    if not truth.oracle:
        yield "note", "no-oracle", (), "has no oracle dialogue: baseline:oracle cannot run it"
    if not truth.user.answers and truth.user.confirms is None and not silent:
        yield "note", "no-script", (), "has no scripted answers: the scripted user has no preferences"


def _unasserted(
    case: Case, asserted: Sequence[Asserted] | None
) -> Iterator[tuple[Severity, str, tuple[str | int, ...], str]]:
    """Give that a case has requirements and none that fails its item by what the suite asserts."""
    kinds = DEFAULT_ASSERTED if asserted is None else asserted
    truth = case.truth
    if (
        truth.requirements
        and "none" not in kinds
        and "success" not in kinds
        and not any(getattr(truth, kind) for kind in kinds)
    ):
        yield (
            "warning",
            "not-asserted",
            (),
            f"no item can fail: it has no requirement of {', '.join(kinds)}, which are asserted",
        )


def _recordings(suite: Suite, findings: list[LintFinding]) -> Iterator[PlacedRecording]:
    try:
        spans = suite.recording_spans()
    except SuiteError as error:
        findings.extend(errors_of(error, "recording"))
        return
    for case in sorted(spans):
        for span in spans[case]:
            try:
                yield from read_recordings([span], suite.reader)
            except SuiteError as error:
                findings.extend(errors_of(error, "recording"))


def _about_recordings(suite: Suite, cases: set[str], recordings: Iterable[PlacedRecording]) -> Iterator[LintFinding]:
    first: dict[RequestKey, PlacedRecording] = {}
    for placed_recording in recordings:
        recording = placed_recording.recording
        if recording.case not in cases:
            yield _finding(
                "orphan", placed_recording, f"the suite has no case {shown(recording.case)}: it is never served"
            )
        yield from _about_arguments(suite, placed_recording)
        key = request_key(recording, suite.tools.get(recording.tool))
        if key in first:
            yield _again(placed_recording, first[key])
        else:
            first[key] = placed_recording


def _about_overlays(suite: Suite, cases: set[str]) -> Iterator[LintFinding]:
    used = {other for lines in suite.state.overlays.values() for line in lines for other in line.like} | cases
    first = {overlay.overlay: spot for overlay, spot in reversed(suite.state.placed)}
    for name, (path, line) in sorted(first.items()):
        if name not in used:
            message = f"the suite has no case {shown(name)}, and no overlay takes it in: nothing is changed"
            problem = Problem(shown_path(path), line, message, did_you_mean(name, sorted(cases)))
            yield LintFinding("warning", "orphan", problem)


def _about_arguments(suite: Suite, placed_recording: PlacedRecording) -> Iterator[LintFinding]:
    recording = placed_recording.recording
    tool = suite.tools.get(recording.tool)
    if tool is None:
        message = f"the suite has no tool {shown(recording.tool)}: it is never served"
        yield _finding("unknown-tool", placed_recording, message, did_you_mean(recording.tool, suite.tools))
        return
    known = tool.parameters.get("properties", {})
    for name in sorted(recording.arguments.keys() - known.keys()):
        message = f"the tool {tool.name} has no parameter {shown(name)}"
        yield _finding("unknown-parameter", placed_recording, message, did_you_mean(name, known))


def _again(later: PlacedRecording, earlier: PlacedRecording) -> LintFinding:
    place = f"{shown_path(earlier.path)}:{earlier.line}"
    if canonical_json(later.recording.result) == canonical_json(earlier.recording.result):
        return _finding("duplicate-recording", later, f"the same recording stands in {place}")
    return _finding("conflict", later, f"{place} records another result of the same request")


def _finding(rule: str, placed_recording: PlacedRecording, message: str, hint: str = "") -> LintFinding:
    return LintFinding(
        "warning", rule, Problem(shown_path(placed_recording.path), placed_recording.line, message, hint)
    )


def _unused_tools(suite: Suite, cases: Iterable[Case], recordings: Iterable[Recording]) -> Iterator[LintFinding]:
    expected = {tool.name for case in cases for tool in case.truth.tools}
    recorded = {recording.tool for recording in recordings}
    computed = {name for name, tool in suite.tools.items() if tool.answer is not None}
    for name in sorted(suite.tools.keys() - recorded - computed):
        yield _tool_finding(suite, suite.tools[name], name in expected)


def _tool_finding(suite: Suite, tool: Tool, expected: bool) -> LintFinding:
    path, line = suite.tool_places[tool.name]
    problem = Problem(shown_path(path), line, f"the tool {tool.name} has no recording: every call misses")
    if expected:
        return LintFinding("warning", "no-recordings", problem)
    message = f"the tool {tool.name} is not used: no recording, and no case expects it"
    return LintFinding("note", "unused-tool", Problem(problem.path, line, message))


def _about_schemas(suite: Suite) -> Iterator[LintFinding]:
    """Warn of types in the parameters of tools that no model knows: services refuse such a tool, or the agent has to guess."""
    for name, tool in sorted(suite.tools.items()):
        path, line = suite.tool_places[name]
        for place, wrong in unknown_types(tool.parameters):
            at = ".".join(map(str, ("parameters", *place)))
            problem = Problem(shown_path(path), line, f"the tool {name}: {at}: {wrong}")
            yield LintFinding("warning", "unknown-type", problem)


def _undeclared(suite: Suite, recordings: Iterable[Recording]) -> Iterator[LintFinding]:
    """Warn of tools whose results, recorded or computed, have values of which nothing says what they mean: no claim can be held against them."""
    found: dict[str, set[str]] = {}
    for recording in recordings:
        tool = suite.tools.get(recording.tool)
        if tool is not None and not recording.cut:
            found.setdefault(tool.name, set()).update(tool.undeclared(recording.result))
    for tool in (tool for tool in suite.tools.values() if tool.answer is not None):
        found.setdefault(tool.name, set()).update(tool.undeclared(suite.shape(tool.name)))
    for name, paths in sorted(found.items()):
        shown_paths = [shown(path) if path else "the result itself" for path in sorted(paths)]
        if shown_paths:
            more = f" and {len(shown_paths) - _SHOWN_PATHS} more" if len(shown_paths) > _SHOWN_PATHS else ""
            message = f"the tool {name} does not declare {', '.join(shown_paths[:_SHOWN_PATHS])}{more}: no claim is held against it"
            path, line = suite.tool_places[name]
            hint = "say in fields what it means, or that it is ignored"
            yield LintFinding("warning", "undeclared-field", Problem(shown_path(path), line, message, hint))


def _unread(suite: Suite) -> Iterator[LintFinding]:
    if (miscounted := suite.miscounted()) is not None:
        yield LintFinding("error", "case-count", miscounted)
    if suite.manifest.license is None:
        hint = "others may use it only where license: says under which"
        manifest = shown_path(suite.root / "suite.yaml")
        yield LintFinding("note", "no-license", Problem(manifest, 0, "the suite has no license", hint))
    for path in suite.inventory.strangers:
        message = (
            "is not read: tools are *.yaml or *.yml, recordings and tables *.jsonl or *.jsonl.gz, answers any of these"
        )
        yield LintFinding("warning", "not-read", Problem(shown_path(path), 0, message))
    for problem in suite.inventory.unread:
        yield LintFinding("warning", "not-read", problem)


def _about_answers(suite: Suite, findings: Sequence[LintFinding]) -> Iterator[LintFinding]:
    """Give what is wrong with labels of people; nothing where the cases that they are held against cannot be read."""
    if any(finding.severity == "error" for finding in findings):
        return
    try:
        read_answers(suite)
    except SuiteError as error:
        yield from errors_of(error, "label")
    try:
        for problem in stale_labels(suite):
            yield LintFinding("warning", "label", problem)
    except SuiteError as error:
        yield from errors_of(error, "label")
