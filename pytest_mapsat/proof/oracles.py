"""What shows only in the sandbox of a case: oracles that are not answered, or do not pass, and paths that no result has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from pytest_mapsat.formats import Lines, shown_path
from pytest_mapsat.judges import ChecksJudge, Context
from pytest_mapsat.model import (
    Absent,
    Bound,
    CallPattern,
    Calls,
    Case,
    EndState,
    Json,
    MapsatError,
    Output,
    PlannedCall,
    PythonCheck,
    Recommends,
    Recording,
    RowsFound,
    SameEnd,
    Step,
    SuiteError,
    Trajectory,
    Turn,
    Unchanged,
    Verdict,
    did_you_mean,
    shown,
    values_at,
)
from pytest_mapsat.registry import added_checks
from pytest_mapsat.reports import call_text, cut, printable
from pytest_mapsat.sandbox import fits, in_time, make_sandbox, play_reference, returned_rows
from pytest_mapsat.suite import CaseEntry, LintFinding, Severity, Suite, nouns_in

from .candidates import candidate_remarks
from .hops import hop_remarks
from .plain import play_oracle

_CALL = 120
_KEYS = 8
#: Rules about what an oracle does by its own checks.
_FAILS, _OPEN = "oracle-fails", "oracle-open"
_OF_THE_END = (EndState, SameEnd, Unchanged)
_Place = tuple[str | int, ...]
_Found = tuple[Severity, str, _Place, str, str]


def lint_recordings(suite: Suite) -> list[LintFinding]:
    """Play and judge each oracle of a suite, look up each path of its checks, and return what is amiss, sorted.

    Files and cases that cannot be read are left to ``suite.lint``, which tells them.

    Args:
        suite: the suite.
    """
    findings: list[LintFinding] = []
    for path in suite.inventory.cases:
        with suppress(SuiteError):
            for entry in suite.entries(path):
                findings += _of_entry(suite, entry)
    return sorted(findings, key=lambda finding: finding.order)


def _of_entry(suite: Suite, entry: CaseEntry) -> Iterator[LintFinding]:
    with suppress(SuiteError):
        case, recordings = suite.load(entry), suite.recordings(entry.id)
        played = play_oracle(case, suite) if case.truth.oracle else None
        paths = [*_paths(case, recordings, suite, played), *_unknown_checks(case)]
        paths += _at_the_start(case, suite)
        paths += _quotes(case, suite, played)
        oracle = () if played is None else _oracle(case, suite, played)
        # What is wrong with a check is why its oracle fails.
        amiss = [*(finding for finding in oracle if not paths or finding[1] not in (_FAILS, _OPEN)), *paths]
        lines = suite.lines_of(entry) if amiss else Lines(entry.line)
        for severity, rule, place, message, hint in amiss:
            problem = lines.problem(shown_path(entry.path), place, f"case {case.id}: {message}", hint)
            yield LintFinding(severity, rule, problem)


def _oracle(case: Case, suite: Suite, trajectory: Trajectory) -> Iterator[_Found]:
    oracle = case.truth.oracle
    for index, (turn, reply) in enumerate(zip(oracle, trajectory.replies, strict=False)):
        steps = [step for step in reply.steps if step.kind == "call"]
        for number, (_, step) in enumerate(zip(turn.calls, steps, strict=False)):
            if step.status != "ok" and not _is_expected(step, case):
                yield "warning", "oracle-miss", ("truth", "oracle", index, "calls", number), *_unanswered(step)
    place = ("truth", "oracle")
    replies = len(trajectory.replies)
    if trajectory.fault is not None:
        why = trajectory.fault.message.removeprefix(f"case {case.id}: ")
        yield "error", "oracle", place, f"the oracle cannot be played: {why}", ""
    elif replies < len(oracle):
        message = f"the user ends the dialogue after {replies} of {len(oracle)} replies of the oracle"
        yield "warning", "oracle-rest", (*place, replies), message, "the rest is never said"
    elif all(step.status == "ok" or _is_expected(step, case) for step in trajectory.calls):
        yield from _unfit(case, ChecksJudge(suite.tools, suite.vocabulary, suite=suite).judge(case, trajectory))
        remarks = (*hop_remarks(case, suite.tools, trajectory.calls), *candidate_remarks(case, suite, trajectory))
        for remark in remarks:
            yield remark.severity, remark.rule, (*remark.place,), remark.message, remark.hint


def _is_expected(step: Step, case: Case) -> bool:
    """Return whether a case expects that a call is not answered, or asks for this very call, whatever becomes of it."""
    expected = (noun for _, noun in nouns_in(case.truth, ("truth",), frozenset({Calls, CallPattern})))
    return any(
        isinstance(noun, Calls | CallPattern)
        and not (isinstance(noun, Calls) and noun.never)
        and noun.tool == step.tool
        and (bool(noun.arguments) if isinstance(noun, CallPattern) or noun.answered == "any" else not noun.answered)
        and fits(noun.arguments, step.arguments) is not False
        for noun in expected
    )


def _at_the_start(case: Case, suite: Suite) -> Iterator[_Found]:
    """Give the requirements on the end that hold before an agent has done anything, a reference that cannot be played, and that silence passes a case."""
    places = _places(case)
    reading = [
        requirement
        for requirement in case.truth.requirements
        if any(isinstance(check, _OF_THE_END) for check in requirement.leaves)
    ]
    turns = Turn(role="user", text=case.visible.query), Turn(role="agent", text="")
    try:
        setup = make_sandbox(case, suite).setup if reading else ()
        trajectory = Trajectory(case=case.id, turns=turns, setup=setup)
        reference = play_reference(case, suite) if reading else None
    except MapsatError as error:
        yield (
            "error",
            "no-sandbox",
            ("truth",),
            f"its end cannot be told: {error}",
            "name the module that makes its sandbox with -p",
        )
        return
    if reference is not None and reference.problem:
        place = ("truth", "oracle" if case.truth.end == "oracle" else "end")
        yield "error", "reference", place, reference.problem, "a reference is made of calls that the sandbox answers"
    verdict = ChecksJudge(suite.tools, suite.vocabulary, suite=suite).judge(case, trajectory)
    labels = {label.requirement: label for label in verdict.labels}
    silent_fails = any(labels[requirement.id].outcome == "failed" for requirement in case.truth.required)
    if case.truth.required and all(labels[requirement.id].outcome == "passed" for requirement in case.truth.required):
        message = "its checks only say what must not be: an agent that says and does nothing passes"
        yield "note", "silence-passes", ("truth",), message, "add a requirement on what it must say or do"
    for requirement in reading:
        label = labels[requirement.id]
        if label.outcome != "passed" or requirement.id not in places:
            continue
        if any(isinstance(check, EndState) for check in requirement.leaves):
            message = f"{requirement.id} holds at the start: an agent that does nothing keeps it"
            yield (
                "error",
                "holds-at-start",
                places[requirement.id],
                message,
                "say what must have changed; unchanged says what must not",
            )
        elif label.idle and not silent_fails:
            message = f"{requirement.id} holds where nothing changes, and no requirement fails an agent that does and says nothing"
            yield "warning", "nothing-to-change", places[requirement.id], message, "add a requirement on the reply"


def _places(case: Case) -> dict[str, _Place]:
    """Return where the requirements with checks stand, by id."""
    return {
        requirement.id: ("truth", "requirements", number)
        for number, requirement in enumerate(case.truth.requirements)
        if requirement.check is not None
    }


def _unfit(case: Case, verdict: Verdict) -> Iterator[_Found]:
    """Give what the oracle itself does not keep, and what stays unknown."""
    places = _places(case)
    for label in verdict.labels:
        if label.requirement not in places or label.kind == "soft":
            continue  # a preference may be traded
        place, why = (
            places[label.requirement],
            printable(label.why.removeprefix("undecided: ").removeprefix("suspect: ")),
        )
        if label.outcome == "failed" or label.suspect:  # it is known to be right
            hint = "an oracle is a dialogue that passes: mend its words or the check"
            yield "warning", _FAILS, place, f"the oracle fails {label.requirement}: {why}", hint
        elif label.outcome == "unevaluated" and label.blame == "judge":
            hint = "it cannot be judged so, whatever an agent does"
            yield "error", _OPEN, place, f"the check of {label.requirement} cannot be judged: {why}", hint
        elif label.outcome == "unevaluated":
            yield "note", _OPEN, place, f"the oracle leaves open {label.requirement}: {why}", ""


def _unknown_checks(case: Case) -> Iterator[_Found]:
    for place, noun in nouns_in(case.truth, ("truth",), frozenset({PythonCheck})):
        if isinstance(noun, PythonCheck) and noun.name not in added_checks():
            message = f"no installed package adds the check {shown(noun.name)}: its requirement is never judged"
            yield "warning", "unknown-check", (*place, "kind"), message, "name the module that adds it with -p"


def _unanswered(step: Step) -> tuple[str, str]:
    """Return what a call of the oracle got in place of an answer, and what to do."""
    call = f"the oracle calls {cut(call_text(step.tool, step.arguments), _CALL)}"
    if step.status in ("error", "over_limit"):
        return f"{call}, which is an error: {step.result['message']}", ""
    provenance = step.provenance
    note = f": {provenance.note}" if provenance else ""
    differs = ", ".join(difference.parameter for difference in provenance.differences) if provenance else ""
    add = "add the recording, or a method to the sandbox in Python"
    return f"{call}, which has no recording{note}", f"they differ in {differs}" if differs else add


def _paths(case: Case, recordings: Sequence[Recording], suite: Suite, played: Trajectory | None) -> Iterator[_Found]:
    """Give the paths in ``where``, and those of bound values, at which no result of the case's sandbox has anything."""
    computed = ((name, suite.shape(name)) for name, tool in suite.tools.items() if tool.answer is not None)
    results = [*((recording.tool, recording.result) for recording in recordings), *computed]
    results += [(call.tool, call.result) for call in (played.calls if played else ()) if call.status == "ok"]
    steps = tuple(Step(kind="call", tool=tool, result=result) for tool, result in results)
    sandbox = Context(Trajectory(case=case.id, turns=(Turn(role="agent", text="", steps=steps),)), suite.tools)
    names = {tool.key: tool.name for tool in case.truth.tools}
    for place, noun in nouns_in(case.truth, ("truth",)):
        if isinstance(noun, Bound):
            name = noun.tool or names[noun.call or ""]
            results = [step.result for step in steps if step.tool == name]
            yield from _absent(noun.path, results, (*place, "path"), f"result of {name}")
        elif isinstance(noun, RowsFound) or (isinstance(noun, Output) and noun.tool):
            name = noun.tool or "" if isinstance(noun, Output) else case.truth.tools[int(place[2])].name
            rows = [
                row.record
                for step in steps
                if step.tool == name
                for row in returned_rows(suite.tools[name], step.result)
            ]
            for path, match in noun.where.items():
                if not isinstance(match, Absent):
                    yield from _absent(path, rows, (*place, "where", path), f"row that {name} returns")
        elif isinstance(noun, Recommends):
            things = [entity.record for entity in sandbox.entities if noun.of_tool in (None, entity.tool)]
            owner = f"thing that {noun.of_tool or 'a tool'} returns"
            for field in ("where", "none_where"):
                for path, match in getattr(noun, field).items():
                    if not isinstance(match, Absent):
                        yield from _absent(path, things, (*place, field, path), owner)


def _quotes(case: Case, suite: Suite, played: Trajectory | None) -> Iterator[_Found]:
    """Give what scripted answers quote of results of their calls, and no result has. Calls that the oracle led to no answer for are made where the case begins."""
    quoting = [(number, answer) for number, answer in enumerate(case.truth.user.answers) if answer.quoted]
    if not quoting:
        return
    results: dict[str, list[Json]] = {}
    for step in played.user_calls if played else ():
        if step.status == "ok":
            results.setdefault(step.tool, []).append(step.result)
    calls = {call.tool: call for _, answer in quoting for call in answer.calls if call.tool not in results}
    with suppress(MapsatError):  # told of the oracle or of the end
        for tool, result in in_time("calls of the user's script", partial(_answers, case, suite, [*calls.values()])):
            results.setdefault(tool, []).append(result)
    for number, answer in quoting:
        tool_of = {call.name: call.tool for call in answer.calls}
        for name, keys in answer.quoted:
            path, there = ".".join(keys), results.get(tool_of[name], [])
            if there and not any(values_at(result, path) for result in there):
                field = "say" if f"{{{name}.{path}}}" in answer.say else "else"
                place = ("truth", "user", "answers", number, field)
                message = f"{{{name}.{path}}}: no result of {tool_of[name]} has {shown(path)}"
                yield "warning", "no-such-path", place, message, _near(path, there)


def _answers(case: Case, suite: Suite, calls: Sequence[PlannedCall]) -> list[tuple[str, Json]]:
    """Return the results of calls that are answered in a fresh sandbox, with their tools."""
    sandbox = make_sandbox(case, suite, misses=True)
    answers = [(call.tool, sandbox.call(call.tool, dict(call.arguments))) for call in calls]
    return [(tool, answer.result) for tool, answer in answers if answer.status == "ok"]


def _absent(path: str, results: Sequence[Json], place: _Place, owner: str) -> Iterator[_Found]:
    if not any(values_at(result, path) for result in results):
        hint = _near(path, results)
        # A slip of the pen lets every agent pass, or none.
        severity: Severity = "error" if hint.startswith("did you mean") else "warning"
        yield severity, "no-such-path", place, f"no {owner} in the case's sandbox has {shown(path)}", hint


def _near(path: str, results: Sequence[Json]) -> str:
    """Return what stands where the path leaves the results."""
    here = list(results)
    for key in path.split("."):
        below = [value for one in here for value in values_at(one, key)]
        if not below:
            keys = _keys(here)
            more = ", ..." if len(keys) > _KEYS else ""
            there = f"there is: {printable(', '.join(keys[:_KEYS]))}{more}" if keys else ""
            return did_you_mean(key, keys) or there
        here = below
    return ""


def _keys(values: Iterable[Json]) -> list[str]:
    return sorted({str(key) for value in values if isinstance(value, dict) for key in value})
