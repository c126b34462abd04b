"""The findings on a suite without an agent: one table of rules, and one walk over the parts that they look at."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple, get_args

from pytest_mapsat.formats import DataPath, DocumentLines, package_data, shown_path
from pytest_mapsat.model import (
    DEFAULT_ASSERTED,
    Absent,
    Addressed,
    Asked,
    Between,
    CallPattern,
    Calls,
    Case,
    ClockTime,
    EndState,
    Exempt,
    ExpectedTool,
    JsonObject,
    Located,
    Match,
    Matches,
    Not,
    Noun,
    Number,
    Output,
    PlannedCall,
    Problem,
    PythonCheck,
    Recommends,
    RowPatch,
    SameEnd,
    Says,
    Similar,
    SuiteError,
    Tool,
    Travels,
    Unchanged,
    WithinM,
    canonical_json,
    did_you_mean,
    distance_m,
    impossible,
    leaves,
    listed,
    shown,
    unknown_types,
)
from pytest_mapsat.reading import acts_of, words_of
from pytest_mapsat.registry import added_checks, installed_function
from pytest_mapsat.sandbox import SandboxHook, installed_sandboxes
from pytest_mapsat.user_code import UserCodeError, call_user_code, installed

from .common import CaseEntry
from .crosscheck import OF_OUTPUT, TOOL_NAMERS, Place, Remark, Severity, nouns_in, part_at, path_below, tool_of
from .opened import Suite, placed, read_answers, stale_labels
from .tables import PlacedRecording, RequestKey, columns_of, read_recordings, request_key

#: The entry point group in which installed packages name functions of a case and its suite that return a list of remarks.
GROUP = "pytest_mapsat.lints"
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
#: So many undeclared paths of a tool are named.
_SHOWN_PATHS = 5


class LintRule(NamedTuple):
    """One rule of lint.

    Attributes:
        severity: ``error``: a run would stop at it or learn nothing from it; ``warning``: probably a mistake; ``note``: good to know. A rule may be milder, or stricter,
            where it knows more.
        looks_at: the part of a suite.
        find: what finds it: a method of the walk over files, or a function of a case and its suite.
        about: one line.
    """

    severity: Severity
    looks_at: Literal["suite", "recordings", "tools", "labels", "case", "requirement", "dialogue"]
    find: Callable[..., Any]
    about: str


def remark(rule: str, place: DataPath, message: str, hint: str = "", severity: Severity | None = None) -> Remark:
    """Return a remark by a rule of lint, with the severity of the rule unless another is given."""
    return Remark(severity or RULES[rule].severity, rule, place, message, hint)


@dataclass(frozen=True)
class LintFinding:
    """One finding of lint.

    Attributes:
        severity: how bad it is.
        rule: its id in the table of rules, or one of a package's own.
        problem: where and what.
    """

    severity: Severity
    rule: str
    problem: Problem

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Return the sort key of the finding: file, line, then the most severe first."""
        problem = self.problem
        return problem.path, problem.line, _SEVERITIES.index(self.severity), self.rule, problem.message

    def __str__(self) -> str:
        return f"{self.problem} [{self.severity}: {self.rule}]"

    def to_json(self) -> JsonObject:
        """Return the finding as JSON data."""
        return {"severity": self.severity, "rule": self.rule, **asdict(self.problem)}


def lint(suite: Suite, *, dialogues: bool = False) -> list[LintFinding]:
    """Load all parts of a suite and return all findings, sorted by file and line. ``dialogues``: also play and judge oracles."""
    walk = _Walk(suite, dialogues=dialogues)
    for find in dict.fromkeys(rule.find for rule in RULES.values() if rule.looks_at in _OF_FILES):
        find(walk)
    missed = {
        (finding.problem.path, finding.problem.line) for finding in walk.findings if finding.rule == "oracle-miss"
    }
    # A miss of an oracle says what is wrong with its call.
    kept = (
        finding
        for finding in walk.findings
        if finding.rule != "unknown-parameter" or (finding.problem.path, finding.problem.line) not in missed
    )
    return sorted(kept, key=lambda finding: finding.order)


def findings_of(error: SuiteError, rule: str) -> list[LintFinding]:
    """Return the problems of an error as findings of a rule, all with the severity "error"."""
    return [LintFinding("error", rule, problem) for problem in error.problems]


def added_rules() -> list[str]:
    """Return the names of the lint functions that installed packages add."""
    return [point.name for point in installed(GROUP)]


class _Walk:
    """Loads everything in a suite once and collects the findings."""

    def __init__(self, suite: Suite, *, dialogues: bool) -> None:
        self._suite = suite
        self._cases: dict[str, Case] = {}
        self._recordings: list[PlacedRecording] = []
        self.findings: list[LintFinding] = []
        looked_at = ("case", "requirement", "dialogue") if dialogues else ("case", "requirement")
        finders = dict.fromkeys((rule.find, rule.looks_at) for rule in RULES.values() if rule.looks_at in looked_at)
        self._finders: list[tuple[Callable[[Case, Suite], Iterable[Remark]], str]] = [*finders]
        self._finders += [(installed_function(GROUP, name, "rule of lint"), "package") for name in added_rules()]

    def _add_at(self, rule: str, place: tuple[Path, int], message: str, hint: str = "") -> None:
        """Add a finding of a rule at a file and line."""
        self._add_problems(rule, Problem(shown_path(place[0]), place[1], message, hint))

    def _add_problems(self, rule: str, *problems: Problem) -> None:
        """Add problems as findings of a rule."""
        self.findings += [LintFinding(RULES[rule].severity, rule, problem) for problem in problems]

    @contextmanager
    def _errors_as(self, rule: str) -> Iterator[None]:
        """Turn a SuiteError inside the context into findings of a rule."""
        try:
            yield
        except SuiteError as error:
            self.findings += findings_of(error, rule)

    def cases(self) -> None:
        """Load all cases, apply the rules to each, and check the sequences and unused common requirements."""
        self._add_problems("file", *self._suite.inventory.problems)
        if not self._suite.inventory.cases:
            self._add_at("empty", (self._suite.root, 0), "the suite has no case files")
        for path in self._suite.inventory.cases:
            entries: Sequence[CaseEntry] = ()
            with self._errors_as("case"):
                entries = self._suite.entries(path)
            for entry in entries:
                with self._errors_as("case"):
                    self._cases[entry.id] = case = self._suite.load(entry)
                    self._look_at(case, entry)
        with self._errors_as("sequence"):
            self._suite.refuse_broken_sequences()
        self._add_problems("unused-requirement", *self._suite.common.unused())

    def _look_at(self, case: Case, entry: CaseEntry) -> None:
        """Add the findings of the case rules for a case."""
        remarks = [(remark, part) for find, part in self._finders for remark in find(case, self._suite)]
        lines = self._suite.lines_of(entry) if remarks else DocumentLines(entry.line)
        for remark, part in remarks:
            problem = placed(remark, entry.path, lines)
            if part in ("case", "dialogue"):
                problem = replace(problem, message=f"case {case.id}: {remark.message}")
            self.findings.append(LintFinding(remark.severity, remark.rule, problem))

    def recordings(self) -> None:
        """Load the recordings and find recordings that are never served, duplicated or in conflict."""
        with self._errors_as("recording"):
            for _, spans in sorted(self._suite.recording_spans().items()):
                for span in spans:
                    with self._errors_as("recording"):
                        self._recordings += read_recordings([span], self._suite.reader)
        of_request: dict[RequestKey, list[PlacedRecording]] = {}
        for placed_recording in self._recordings:
            recording, place = placed_recording.recording, (placed_recording.path, placed_recording.line)
            if recording.case not in self._cases:
                message = f"the suite has no case {shown(recording.case)}: it is never served"
                self._add_at("orphan", place, message)
            tool = self._suite.tools.get(recording.tool)
            if tool is None:
                message = f"the suite has no tool {shown(recording.tool)}: it is never served"
                self._add_at("unknown-tool", place, message, did_you_mean(recording.tool, self._suite.tools))
            parameters = recording.arguments if tool is None else tool.parameters.get("properties", {})
            for name in sorted(recording.arguments.keys() - parameters.keys()):
                message = f"the tool {recording.tool} has no parameter {shown(name)}"
                problem = Problem(shown_path(place[0]), place[1], message, did_you_mean(name, parameters))
                self.findings.append(LintFinding("warning", "unknown-parameter", problem))
            of_request.setdefault(request_key(recording, tool), []).append(placed_recording)
        for several in of_request.values():
            results = [canonical_json(placed_recording.recording.result) for placed_recording in several]
            where = f"{shown_path(several[0].path)}:{several[0].line}"
            for at, placed_recording in enumerate(several[1:], 1):
                place = placed_recording.path, placed_recording.line
                if len(set(results[at - 1 :])) == 1:
                    self._add_at("duplicate-recording", place, f"the same recording is in {where}")
                else:
                    message = f"{where} records another result of the same request: they answer in order, then the last"
                    self._add_at("conflict", place, message)

    def _any_made(self, hooks: Iterable[SandboxHook]) -> bool:
        """Return whether a hook creates a sandbox for any case; True if a hook raises an error, which is reported elsewhere."""
        try:
            return any(call_user_code(hook, case, self._suite) for case in self._cases.values() for hook in hooks)
        except UserCodeError:
            return True

    def tools(self) -> None:
        """Find tools without any source of answers, tools without ``asks``, and parameters of types unknown to models."""
        namers = (nouns_in(case.truth, ("truth",), TOOL_NAMERS) for case in self._cases.values())
        expected = {tool_of(noun) for nouns in namers for _, noun in nouns}
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
                    self._add_at("no-recordings", place, message, hint)
                else:
                    message = f"the tool {name} is not used: no recording, and no case expects it"
                    self._add_at("unused-tool", place, message)
            if name in agreed and tool.effect == "write" and not tool.asks:
                words = [word for act in sorted(acts_of(name, tool.description)) for word in words_of(act)]
                message = f"a check wants agreement to calls of {name}, and the tool does not say with which words it is asked for"
                self._add_at("no-asks", place, message, f"add asks: [{', '.join(words) or 'cancel, 取消'}]")
            for part, wrong in unknown_types(tool.parameters):
                at = ".".join(map(str, ("parameters", *part)))
                self._add_at("unknown-type", place, f"the tool {name}: {at}: {wrong}")

    def undeclared_fields(self) -> None:
        """Find tools whose result values have no declared meaning, so that claims cannot be compared with them."""
        recordings = [placed_recording.recording for placed_recording in self._recordings]
        results = [(recording.tool, recording.result) for recording in recordings if not recording.cut]
        results += [
            (name, self._suite.shapes[name]) for name, tool in self._suite.tools.items() if tool.answer is not None
        ]
        undeclared: dict[str, set[str]] = {}
        for name, result in results:
            if (tool := self._suite.tools.get(name)) is not None:
                undeclared.setdefault(name, set()).update(tool.undeclared(result))
        for name, paths in sorted(undeclared.items()):
            shown_paths = [shown(path) if path else "the result itself" for path in sorted(paths)]
            if shown_paths:
                message = f"the tool {name} does not declare {listed(shown_paths, _SHOWN_PATHS)}: no claim is compared with it"
                hint = "say in fields what it means, or that it is ignored"
                self._add_at("undeclared-field", self._suite.tool_places[name], message, hint)

    def files(self) -> None:
        """Find a wrong case count, an unknown cluster, a missing license, and ignored files."""
        suite = self._suite
        if (miscounted := suite.miscounted()) is not None:
            self._add_problems("case-count", miscounted)
        if (unclustered := suite.unclustered()) is not None:
            self._add_problems("cluster", unclustered)
        if suite.manifest.license is None:
            hint = "others may use it only where license: says under which"
            self._add_at("no-license", (suite.root / "suite.yaml", 0), "the suite has no license", hint)
        self._add_problems("not-read", *suite.inventory.unread)

    def labels(self) -> None:
        """Find wrong or outdated human labels; nothing if there are errors, since cases may be missing."""
        if any(finding.severity == "error" for finding in self.findings):
            return
        with self._errors_as("label"):
            read_answers(self._suite)
        with self._errors_as("label"):
            self._add_problems("label", *stale_labels(self._suite))


def gaps(case: Case, suite: Suite) -> Iterator[Remark]:  # noqa: C901  a rule a branch
    """Yield remarks on missing parts in the truth of a case: checks, requirements, an oracle, answers, a date or coordinates."""
    truth = case.truth
    unchecked = [requirement.id for requirement in truth.by_kind if not requirement.leaves]
    if unchecked:
        message = f"{len(unchecked)} of {len(truth.requirements)} requirements have no check and need a judge: {' '.join(unchecked)}"
        yield remark("no-check", ("truth",), message)
    if not truth.asked and not truth.implicit:
        message = "has no requirement of kind asked, hard or soft: nothing says what would satisfy the user, so no run can evaluate it"
        yield remark("no-requirements", ("truth",), message)
    timeless = truth.requirements if case.visible.context.now is None else ()
    for index, requirement in enumerate(timeless):
        if any(isinstance(noun, ClockTime) for _, noun in nouns_in(requirement, ())):
            message = f"{requirement.id} checks a time of day, and the case has no context.now: times on the 12-hour clock stay undecided"
            yield remark("no-time", ("truth", "requirements", index), message)
    visible = case.visible.model_copy(update={"interactions": ()}).model_dump_json().casefold()
    for index, preference in enumerate(truth.preferences):
        if json.dumps(preference, ensure_ascii=False)[1:-1].casefold() in visible:
            message = f"{shown(preference)} occurs word for word in the agent's view"
            hint = "a fact for the memory must not be in the context"
            yield remark("preference-told", ("truth", "preferences", index), message, hint)
    if not truth.reference_turns:
        message = "has neither a clarification policy nor an oracle dialogue: Eff and SES do not apply"
        yield remark("no-clarification", ("truth",), message)
    if not truth.oracle:
        yield remark("no-oracle", ("truth",), "has no oracle dialogue: baseline:oracle cannot run it")
    if not truth.user.answers and truth.user.confirms is None and suite.manifest.episode.user != "silent":
        yield remark("no-script", ("truth",), "has no scripted answers: the scripted user has no preferences")
    if case.visible.context.location is not None and suite.manifest.coordinates is None:
        message = "it has a place, and suite.yaml does not say in which coordinates"
        yield remark("no-coordinates", ("visible", "context", "location"), message, "add coordinates: wgs84, or gcj02")


#: By what a query asks for: the checks that hold a reply to it. Its words are in ``asking.yaml``.
_HOLDS_TO = {"way": (Travels, Located, Addressed), "order": (), "number": (Number,), "time": (Number, ClockTime)}


@cache
def _asking_words() -> Mapping[str, Mapping[str, str]]:
    """Return the patterns of ``asking.yaml``, by language and by requested sort."""
    words: Mapping[str, Mapping[str, str]] = package_data(__package__, "asking.yaml")
    return words


def asking(query: str, language: str) -> list[str]:
    """Return the sorts of information that a query requests, by its words: ``way``, ``order``, ``number``, ``time``.

    Args:
        query: the query.
        language: its language; Chinese words are looked for in Chinese, else English ones.
    """
    words = _asking_words()["zh" if language.startswith("zh") else "en"]
    return [sort for sort, pattern in words.items() if re.search(pattern, query.casefold())]


def asked_unchecked(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield a remark for each sort of information in the query that no check of an asked requirement covers."""
    checks = [check for requirement in case.truth.asked for check in requirement.leaves]
    if any(not requirement.leaves for requirement in case.truth.asked):
        return
    for sort in asking(case.visible.query, case.language):
        if not any(_holds_to(sort, check, suite) for check in checks):
            message = f"the query asks for {'an order' if sort == 'order' else f'a {sort}'}, and no asked requirement has a check that fails without"
            yield remark("asked-unchecked", ("visible", "query"), message, "add a check, or ask for less")


def _holds_to(sort: str, check: Noun, suite: Suite) -> bool:
    """Return whether a check fails if a reply lacks the requested information; checks on words, output or state may concern anything."""
    if isinstance(check, Recommends):
        tool = suite.tools.get(check.tool or "")
        ways = [entity for entity in tool.entities if entity.sort != "place"] if tool else ()
        return bool(check.in_order or (sort == "way" and (check.any_of or check.all_of or ways)))
    if isinstance(check, Number | ClockTime) and check.if_absent != "fail":
        return False
    return isinstance(check, (Says, Matches, Output, PythonCheck, EndState, SameEnd, *_HOLDS_TO[sort]))


def drafts(case: Case, _: Suite) -> Iterator[Remark]:
    """Yield a remark for each proposal in a case that no person has accepted yet."""
    hint = "mapsat review SUITE shows it beside its evidence; until then no run counts the case"
    for index, requirement in enumerate(case.truth.requirements):
        if requirement.draft:
            message = f"proposes {requirement.id} ({requirement.kind}): {shown(requirement.text)}"
            yield remark("draft", ("truth", "requirements", index), message, hint)
    for index, answer in enumerate(case.truth.user.answers):
        if answer.draft:
            message = f"proposes that the user answers {shown(answer.say)} when asked for {shown(answer.asked[0])}"
            yield remark("draft", ("truth", "user", "answers", index), message, hint)


def unasserted(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield a remark if a case has requirements but none of a kind that makes its item fail."""
    kinds = DEFAULT_ASSERTED if suite.manifest.asserted is None else suite.manifest.asserted
    if not case.truth.requirements or "none" in kinds or "success" in kinds:
        return
    if not any(getattr(case.truth, kind) for kind in kinds):
        message = f"no item can fail: it has no requirement of {', '.join(kinds)}, which are asserted"
        yield remark("not-asserted", ("truth",), message)


# -- checks that no call or output fulfils, that never fail, or decide nothing --

#: Texts in which a pattern that means something does not find it everywhere.
_TEXTS = ("", " ", "\n", "a", "7", "!", "是", "No.\nSorry", "-" * 5000)
#: No two places lie further apart, metres.
_FARTHEST_M = distance_m(0, 0, 180, 0)
#: Beyond it lies no number that anybody means.
_HUGE = 1e100


def unfulfillable(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield remarks on parts of a case that no tool call or output can fulfil; these are errors only in lint, not in a run."""
    for place, noun in nouns_in(case.truth, ("truth",), TOOL_NAMERS):
        if (tool := suite.tools.get(tool_of(noun) or "")) is not None:
            yield from _parameters(noun, place, tool)
    schema = case.visible.output_schema
    for place, noun in nouns_in(case.truth, ("truth",), OF_OUTPUT):
        if not isinstance(noun, Output) or not schema:
            continue
        if noun.equals and noun.path:
            for _, wrong, hint in impossible({noun.path: noun.equals}, schema):
                yield remark("never-matches", (*place, "equals"), wrong, hint)
        for name, match in noun.entry.items():
            for _, wrong, hint in impossible({path_below(noun.path, schema, name): match}, schema):
                yield remark("never-matches", (*place, "entry", name), wrong, hint)


def never_failing(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield a remark for each check and match of a case that passes regardless of the agent."""
    whole = {
        noun.table
        for _, noun in nouns_in(case.truth, ("truth",), frozenset({Exempt}))
        if isinstance(noun, Exempt) and not noun.where and not noun.columns
    }
    for place, noun in nouns_in(case.truth, ("truth",)):
        why = _why_always(noun, case.visible.output_schema)
        if isinstance(noun, Unchanged) and noun.exempt and suite.tables and whole >= {*suite.tables}:
            why = "every row of every table may change"
        if why:
            yield remark("never-fails", place, f"it can never fail: {why}")


def _why_always(noun: Noun, schema: Mapping[str, Any]) -> str:  # noqa: PLR0911  a line for each kind
    """Return why a check or match always passes; empty if it can fail."""
    match noun:
        case Calls() if noun.tool and noun.at_least == 0 and noun.at_most is None:
            return "" if noun.agreed else "at_least: 0 asks for no call, and without at_most any number is allowed"
        case Asked() if not noun.at_least and noun.at_most is None:
            return "any number of questions is allowed: give at_least or at_most"
        case Matches() if all(noun.compiled.search(text) for text in _TEXTS):
            return f"{shown(noun.pattern)} is found in every text"
        case Exempt() if "columns" in noun.model_fields_set and not noun.columns:
            return "columns: [] exempts whole rows, with all their columns: name those that may change"
        case ClockTime() if (noun.after or "00:00", noun.before or "23:59") == ("00:00", "23:59") and not noun.bounds:
            return "" if noun.if_absent == "fail" else "every time of day lies between them"
        case Number() | Between() if (-inf if noun.min is None else noun.min) <= -_HUGE and (
            inf if noun.max is None else noun.max
        ) >= _HUGE:
            bounded = isinstance(noun, Number) and (noun.bounds or noun.if_absent == "fail")
            return "" if bounded else "every number lies between them"
        case WithinM() | Located() if noun.metres >= _FARTHEST_M:
            return "every place on Earth is as near as that"
        case Similar() if noun.at_least == 0:
            return "every text is as similar as that"
        case Not(check=Output() as output) if output.path and not isinstance(output.equals, Absent):
            asked, _ = part_at(output.path, schema)
            return "" if asked else f"no output is asked for {shown(output.path)}: name it in visible.output_schema"
    return ""


def deciding_nothing(case: Case, _: Suite) -> Iterator[Remark]:
    """Yield a remark for each Python check that cannot fail; an error only in lint, while a run leaves its label undecided."""
    checks = added_checks()
    for place, noun in nouns_in(case.truth, ("truth",), frozenset({PythonCheck})):
        added = checks.get(noun.name) if isinstance(noun, PythonCheck) else None
        if added is not None and added.shape.forgets:
            message = f"the check {added.name} decides nothing: {added.shape.forgets}"
            yield remark("no-assertion", (*place, "kind"), message)


def unknown_columns(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield a remark for each column in the world of a case that no row of the table has and no tool declares."""
    declared = {field for tool in suite.tools.values() for entities in tool.entities for field in entities.fields}
    placed: list[tuple[Place, RowPatch]] = [(("rows", index), patch) for index, patch in enumerate(case.world.rows)]
    for number, event in enumerate(case.world.events):
        placed += [(("events", number, "rows", index), patch) for index, patch in enumerate(event.rows)]
    for index, (place, patch) in enumerate(placed):
        if not patch.set or patch.table not in suite.tables:
            continue
        added = (row for _, earlier in placed[:index] if earlier.table == patch.table for row in earlier.add)
        columns = {*columns_of(suite.tables[patch.table]), *(column for row in added for column in row)}
        for column in patch.set.keys() - columns - declared:
            hint = did_you_mean(column, sorted(columns), "it has")
            message = f"no row of the table {patch.table} has a column {shown(column)}"
            yield remark("unknown-column", ("world", *place, "set", column), message, hint)


def _parameters(noun: Noun, place: Place, tool: Tool) -> Iterator[Remark]:
    """Yield remarks on parameters in a noun that its tool lacks, and on matches that no argument can fulfil."""
    declared = tool.parameters.get("properties", {})
    # Expected tools and planned calls are read by metrics: a slip there passes no item.
    severity: Severity = "warning" if isinstance(noun, ExpectedTool | PlannedCall) else "error"
    field, matches = "with", dict[str, Match]()
    names: list[tuple[Place, str]] = []
    if isinstance(noun, ExpectedTool):
        field, matches = "match", noun.match
        names += [(("required", index), name) for index, name in enumerate(noun.required)]
        names += [(("prose", index, 0), name) for index, (name, _) in enumerate(noun.prose)]
    elif isinstance(noun, Calls | CallPattern):
        matches = noun.arguments
    elif isinstance(noun, PlannedCall):
        names += [(("arguments", name), name) for name in noun.arguments]
    for name, match in matches.items():
        names.append(((field, name), name))
        if isinstance(match, WithinM) and match.lat_from is not None:
            names.append(((field, name, "lat_from"), match.lat_from))
    for where, name in names:
        if name not in declared and name.partition(".")[0] not in declared:
            message = f"the tool {tool.name} has no parameter {shown(name)}"
            hint = did_you_mean(name, declared) or "no call can ever fulfil this"
            yield remark("unknown-parameter", (*place, *where), message, hint, severity)
    matches = {path: match for path, match in matches.items() if path in declared or path.partition(".")[0] in declared}
    for path, wrong, hint in impossible(matches, tool.parameters):
        message = f"no call of {tool.name} can fulfil {path}: {wrong}"
        yield remark("never-matches", (*place, field, path), message, hint, severity)


def of_dialogue(case: Case, suite: Suite) -> Iterable[Remark]:
    """Return the remarks from playing the oracle; a package above this one supplies the code, imported by name."""
    remarks: Iterable[Remark] = resolve_name("pytest_mapsat.proof.oracles:dialogue_remarks")(case, suite)
    return remarks


# -- the table ---------------------------------------------------------------------------------------------------------

#: What is looked at file by file; the rest, case by case.
_OF_FILES = ("suite", "recordings", "tools", "labels")
RULES: Mapping[str, LintRule] = {
    "file": LintRule("error", "suite", _Walk.cases, "something in the folder must not be read, such as a link that leads out of it"),
    "empty": LintRule("error", "suite", _Walk.cases, "there is no case"),
    "case": LintRule("error", "suite", _Walk.cases, "a case cannot be loaded"),
    "sequence": LintRule("error", "suite", _Walk.cases, "the tasks of a sequence do not follow each other"),
    "unused-requirement": LintRule("note", "suite", _Walk.cases, "no case uses a common requirement"),
    "recording": LintRule("error", "recordings", _Walk.recordings, "a recording cannot be read"),
    "orphan": LintRule("warning", "recordings", _Walk.recordings, "a recording is of no case"),
    "unknown-tool": LintRule("warning", "recordings", _Walk.recordings, "a recording is of no tool"),
    "duplicate-recording": LintRule("warning", "recordings", _Walk.recordings, "a recording occurs twice"),
    "conflict": LintRule("note", "recordings", _Walk.recordings, "two recordings answer one request in different ways"),
    "no-recordings": LintRule("warning", "tools", _Walk.tools, "nothing answers a tool that a case expects"),
    "unused-tool": LintRule("note", "tools", _Walk.tools, "nothing answers a tool, and no case expects it"),
    "no-asks": LintRule("note", "tools", _Walk.tools, "a tool that needs agreement does not say with which words it is asked for"),
    "unknown-type": LintRule("warning", "tools", _Walk.tools, "a parameter has a type that no model knows"),
    "undeclared-field": LintRule("warning", "tools", _Walk.undeclared_fields, "results have fields whose meaning the tool does not declare"),
    "case-count": LintRule("error", "suite", _Walk.files, "the manifest says another number of cases"),
    "cluster": LintRule("error", "suite", _Walk.files, "no case has the attribute by which intervals are drawn"),
    "no-license": LintRule("note", "suite", _Walk.files, "the suite has no license"),
    "not-read": LintRule("warning", "suite", _Walk.files, "a file looks like cases and is not read"),
    "label": LintRule("warning", "labels", _Walk.labels, "a label no longer counts; an error where it cannot be read or fits no case"),
    "no-check": LintRule("note", "case", gaps, "requirements have no check and need a judge"),
    "no-requirements": LintRule("error", "case", gaps, "no requirement says what would satisfy the user"),
    "asked-unchecked": LintRule("warning", "case", asked_unchecked, "the query asks for a way, an order, a number or a time, and no asked requirement has a check on it"),
    "no-time": LintRule("warning", "case", gaps, "a check reads a time of day, and the case has no date"),
    "preference-told": LintRule("warning", "case", gaps, "the agent sees a preference of the user word for word"),
    "no-clarification": LintRule("note", "case", gaps, "there is neither a clarification policy nor an oracle dialogue"),
    "no-oracle": LintRule("note", "case", gaps, "there is no oracle dialogue"),
    "no-script": LintRule("note", "case", gaps, "the scripted user has no answers"),
    "no-coordinates": LintRule("warning", "case", gaps, "a place has coordinates, and the suite does not say which"),
    "draft": LintRule("note", "case", drafts, "a proposal is not accepted yet"),
    "not-asserted": LintRule("warning", "case", unasserted, "the case has no requirement of a kind that fails an item"),
    "unknown-parameter": LintRule("error", "requirement", unfulfillable, "no call gives a parameter that is asked for; a warning of an expected tool, an oracle or a recording"),
    "never-matches": LintRule("error", "requirement", unfulfillable, "no value fits a match"),
    "unknown-column": LintRule("warning", "requirement", unknown_columns, "the world of a case sets a column that its table lacks"),
    "no-assertion": LintRule("error", "requirement", deciding_nothing, "a check in Python asserts nothing"),
    "never-fails": LintRule("warning", "requirement", never_failing, "a check holds whatever an agent does"),
    "oracle": LintRule("error", "dialogue", of_dialogue, "the oracle cannot be played"),
    "oracle-miss": LintRule("warning", "dialogue", of_dialogue, "a call of the oracle has no answer"),
    "fault-unreached": LintRule("warning", "dialogue", of_dialogue, "a fault is of a call that the oracle never makes"),
    "oracle-rest": LintRule("warning", "dialogue", of_dialogue, "the user ends the dialogue before the oracle does"),
    "event": LintRule("warning", "dialogue", of_dialogue, "an event never comes in the dialogue of the oracle, or changes nothing"),
    "oracle-fails": LintRule("warning", "dialogue", of_dialogue, "the oracle fails a requirement"),
    "oracle-open": LintRule("note", "dialogue", of_dialogue, "the oracle leaves a requirement undecided; an error where no dialogue could be judged"),
    "oracle-tools": LintRule("warning", "dialogue", of_dialogue, "the oracle does not fulfil an expected tool"),
    "hop-evidence": LintRule("warning", "dialogue", of_dialogue, "the query of a hop does not find its evidence"),
    "hop-guessable": LintRule("warning", "dialogue", of_dialogue, "a hop needs no earlier result"),
    "question-tells": LintRule("warning", "dialogue", of_dialogue, "the question names the evidence"),
    "label-visible": LintRule("error", "dialogue", of_dialogue, "a result says which row is right"),
    "no-such-path": LintRule("warning", "dialogue", of_dialogue, "no result has a path that a check or an answer reads; an error where another is nearly the same"),
    "unknown-check": LintRule("warning", "dialogue", of_dialogue, "no package adds a check in Python"),
    "something-fits": LintRule("error", "dialogue", of_dialogue, "a row meets all needs that nothing is said to meet; a note where no table shows it"),
    "no-sandbox": LintRule("error", "dialogue", of_dialogue, "the sandbox of a case cannot be made"),
    "reference": LintRule("error", "dialogue", of_dialogue, "the reference calls cannot be played"),
    "silence-passes": LintRule("note", "dialogue", of_dialogue, "an agent that says and does nothing passes"),
    "holds-at-start": LintRule("error", "dialogue", of_dialogue, "a requirement on the end holds before the agent has done anything"),
    "nothing-to-change": LintRule("warning", "dialogue", of_dialogue, "a requirement holds where nothing changes, and no other fails"),
}  # fmt: skip
