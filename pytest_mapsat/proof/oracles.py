"""Findings that need the sandbox of a case: oracles that are not answered, or do not pass, and paths that no result has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.judges import ChecksJudge, JudgedDialogue
from pytest_mapsat.metrics import LEVEL, bootstrap_intervals, clustered
from pytest_mapsat.model import (
    Absent,
    Bound,
    CallPattern,
    Calls,
    Case,
    Contains,
    EndState,
    ExpectedTool,
    FoundValues,
    Json,
    MapsatError,
    Output,
    PlannedCall,
    PythonCheck,
    RankedAnswer,
    Recommends,
    Recording,
    RowsFound,
    SameEnd,
    Step,
    SuiteError,
    Tool,
    Trajectory,
    Turn,
    Unchanged,
    UsageError,
    Verdict,
    did_you_mean,
    fits_row,
    normalise,
    shown,
    values_at,
    values_of,
)
from pytest_mapsat.registry import added_checks
from pytest_mapsat.reports import call_text, cut, printable
from pytest_mapsat.sandbox import (
    Ranker,
    SandboxSuite,
    holds_evidence,
    hop_calls,
    id_text,
    in_time,
    make_sandbox,
    play_reference,
    returned_rows,
    tables_of,
)
from pytest_mapsat.suite import Remark, Severity, Suite, nouns_in, remark
from pytest_mapsat.users import make_user

_CALL = 120
_KEYS = 8
#: Rules about what an oracle does by its own checks.
_FAILS, _OPEN = "oracle-fails", "oracle-open"
_OF_THE_END = (EndState, SameEnd, Unchanged)
_Place = tuple[str | int, ...]


def play_oracle(case: Case, suite: SandboxSuite) -> Trajectory:
    """Play the oracle dialogue of a case with its scripted user in a fresh sandbox and return it. Raises SuiteError."""
    source = resolve_source("baseline:oracle", root=Path())
    return run_episode(case, source, make_user("scripted", case), make_sandbox(case, suite), Limits())


def dialogue_remarks(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield remarks on a case's oracle and the paths of its checks, after playing it; none if recordings cannot be read."""
    with suppress(SuiteError):
        recordings = suite.recordings(case.id)
        played = play_oracle(case, suite) if case.truth.oracle else None
        paths = [*_paths(case, recordings, suite, played), *_unknown_checks(case)]
        paths += _at_the_start(case, suite)
        paths += _quotes(case, suite, played)
        paths += _fitting_rows(case, suite)
        oracle = [] if played is None else [*_oracle(case, suite, played)]
        # What is wrong with a check is why its oracle fails.
        yield from (each for each in oracle if not paths or each.rule not in (_FAILS, _OPEN))
        yield from paths


def _oracle(case: Case, suite: Suite, trajectory: Trajectory) -> Iterator[Remark]:
    """Yield remarks on an oracle that does not play to its end, gets no answer or does not pass."""
    oracle = case.truth.oracle
    for index, (turn, reply) in enumerate(zip(oracle, trajectory.replies, strict=False)):
        steps = [step for step in reply.steps if step.fault in ("", "slow", "lost_reply") and step.kind == "call"]
        for number, (_, step) in enumerate(zip(turn.calls, steps, strict=False)):
            if step.status != "ok" and not _is_expected(step, case):
                yield remark("oracle-miss", ("truth", "oracle", index, "calls", number), *_unanswered(step))
    made = Counter(step.tool for step in trajectory.all_calls)
    for index, fault in enumerate(case.world.faults):
        last = 1 if fault.call == "every" else max(fault.call)
        if made[fault.tool] < last:
            message = f"the oracle calls {fault.tool} {made[fault.tool]} times, and the fault is of call {last}"
            yield remark("fault-unreached", ("world", "faults", index, "call"), message)
    place = ("truth", "oracle")
    replies = len(trajectory.replies)
    if trajectory.fault is not None:
        why = trajectory.fault.message.removeprefix(f"case {case.id}: ")
        yield remark("oracle", place, f"the oracle cannot be played: {why}")
    else:
        yield from _events(case, trajectory) if case.world.events else ()
    if trajectory.fault is not None:
        return
    if replies < len(oracle):
        message = f"the user ends the dialogue after {replies} of {len(oracle)} replies of the oracle"
        yield remark("oracle-rest", (*place, replies), message, "the rest is never said")
    elif all(step.status == "ok" or step.unheard or _is_expected(step, case) for step in trajectory.calls):
        yield from _unfit(case, ChecksJudge(suite.tools, suite.vocabulary, suite=suite).judge(case, trajectory))
        yield from hop_remarks(case, suite.tools, trajectory.calls)
        yield from _visible_label(trajectory)


def _events(case: Case, trajectory: Trajectory) -> Iterator[Remark]:
    """Yield remarks on events that never come in an oracle's dialogue, that change nothing, or whose calls fail."""
    hint = "the oracle is a dialogue in which each event comes"
    for number, why in trajectory.lacking(case.world.events):
        yield remark("event", ("world", "events", number - 1), f"in the oracle's dialogue {why}", hint)
    for step in trajectory.events:
        if "; " in step.text:
            yield remark("event", ("world", "events", int(step.id) - 1), f"event {step.id}, {step.text}")


def _is_expected(step: Step, case: Case) -> bool:
    """Return whether a case expects a call to go unanswered, or requires this call whether or not it is answered.

    Where the world changes, what was possible when the agent looked may be refused.
    """
    if case.world.events and step.status == "refused":
        return True
    expected = (noun for _, noun in nouns_in(case.truth, ("truth",), frozenset({Calls, CallPattern})))
    return any(
        isinstance(noun, Calls | CallPattern)
        and not (isinstance(noun, Calls) and noun.never)
        and noun.tool == step.tool
        and (bool(noun.arguments) if isinstance(noun, CallPattern) or noun.answered == "any" else not noun.answered)
        and fits_row(noun.arguments, step.arguments) is not False
        for noun in expected
    )


def _at_the_start(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield remarks on end requirements that are already met at the start, on a bad reference, and on cases that silence passes."""
    places = _places(case)
    every = case.truth.requirements
    reading = [wanted for wanted in every if any(isinstance(check, _OF_THE_END) for check in wanted.leaves)]
    turns = Turn(role="user", text=case.visible.query), Turn(role="agent", text="")
    try:
        setup = make_sandbox(case, suite).setup if reading else ()
        trajectory = Trajectory(case=case.id, turns=turns, setup=setup)
        reference = play_reference(case, suite) if reading else None
    except MapsatError as error:
        hint = "name the module that makes its sandbox with -p"
        yield remark("no-sandbox", ("truth",), f"its end is unknown: {error}", hint)
        return
    if reference is not None and reference.problem:
        place = ("truth", "oracle" if case.truth.end == "oracle" else "end")
        hint = "a reference is made of calls that the sandbox answers"
        yield remark("reference", place, reference.problem, hint)
    verdict = ChecksJudge(suite.tools, suite.vocabulary, suite=suite).judge(case, trajectory)
    labels = {label.requirement: label for label in verdict.labels}
    outcomes = {labels[requirement.id].outcome for requirement in case.truth.required}
    if outcomes == {"passed"}:
        message = "its checks only say what must not be: an agent that says and does nothing passes"
        yield remark("silence-passes", ("truth",), message, "add a requirement on its words or calls")
    for requirement in reading:
        label = labels[requirement.id]
        if label.outcome != "passed" or requirement.id not in places:
            continue
        if any(isinstance(check, EndState) for check in requirement.leaves):
            message = f"{requirement.id} holds at the start: an agent that does nothing keeps it"
            hint = "say what must have changed; unchanged says what must not"
            yield remark("holds-at-start", places[requirement.id], message, hint)
        elif label.idle and "failed" not in outcomes:
            message = f"{requirement.id} holds where nothing changes, and no requirement fails an agent that does and says nothing"
            hint = "add a requirement on the reply"
            yield remark("nothing-to-change", places[requirement.id], message, hint)


def _fitting_rows(case: Case, suite: Suite) -> Iterator[Remark]:
    """Yield an error if a row meets all needs that nothing is said to meet, and a note if no table shows it."""
    none, place = case.truth.none, ("truth", "none", "relax")
    if none is None:
        return
    conditions = {
        each.id: each.check.where
        for each in (*case.truth.asked, *case.truth.hard, *case.truth.soft)
        if isinstance(each.check, Recommends | Output) and each.check.where and not getattr(each.check, "any_of", ())
    }
    paths = {path.partition(".")[0] for where in conditions.values() for path in where}
    every = tables_of(case, suite).values() if conditions.keys() >= {*none.relax} else ()
    tables = [table for table in every if paths <= {column for row in table.rows for column in row}]
    for table in tables:
        if row := next((row for row in table.rows if all(fits_row(w, row) for w in conditions.values())), None):
            message = f"a row of {table.name} meets all of {', '.join(none.relax)}: {cut(shown(row), _CALL)}"
            yield remark("something-fits", place, message, "change the row in world, or a need")
    if not tables:
        message = "no table shows whether something meets all needs"
        hint = "each needs a recommends or output check with where, on columns of one table"
        yield remark("something-fits", place, message, hint, "note")


def _places(case: Case) -> dict[str, _Place]:
    """Return the places of requirements with checks in the case file, by id."""
    every = enumerate(case.truth.requirements)
    return {wanted.id: ("truth", "requirements", number) for number, wanted in every if wanted.check is not None}


def _unfit(case: Case, verdict: Verdict) -> Iterator[Remark]:
    """Yield remarks on requirements that the oracle fails or leaves open."""
    places = _places(case)
    for label in verdict.labels:
        if label.requirement not in places or label.kind == "soft":
            continue  # a preference may be traded
        place = places[label.requirement]
        why = printable(label.why.removeprefix("undecided: "))
        if label.outcome == "failed" or label.suspect:  # it is known to be right
            hint = "an oracle is a dialogue that passes: correct its words or the check"
            yield remark(_FAILS, place, f"the oracle fails {label.requirement}: {why}", hint)
        elif label.outcome == "unevaluated" and label.blame == "judge":
            hint = "it cannot be judged so, whatever an agent does"
            yield remark(_OPEN, place, f"the check of {label.requirement} cannot be judged: {why}", hint, "error")
        elif label.outcome == "unevaluated":
            yield remark(_OPEN, place, f"the oracle leaves open {label.requirement}: {why}")


def _unknown_checks(case: Case) -> Iterator[Remark]:
    """Yield a remark for each Python check that no installed package adds."""
    for place, noun in nouns_in(case.truth, ("truth",), frozenset({PythonCheck})):
        if isinstance(noun, PythonCheck) and noun.name not in added_checks():
            message = f"no installed package adds the check {shown(noun.name)}: its requirement is never judged"
            hint = "name the module that adds it with -p"
            yield remark("unknown-check", (*place, "kind"), message, hint)


def _unanswered(step: Step) -> tuple[str, str]:
    """Return the message for a call of the oracle that got no answer, and a hint, which may be empty."""
    call = f"the oracle calls {cut(call_text(step.tool, step.arguments), _CALL)}"
    if step.status in ("error", "over_limit", "refused"):
        return f"{call}, which is {'refused' if step.status == 'refused' else 'an error'}: {step.result['message']}", ""
    provenance = step.provenance
    note = f": {provenance.note}" if provenance else ""
    differs = ", ".join(difference.parameter for difference in provenance.differences) if provenance else ""
    add = "add the recording, or a method to the sandbox in Python"
    return f"{call}, which has no recording{note}", f"they differ in {differs}" if differs else add


def _paths(case: Case, recordings: Sequence[Recording], suite: Suite, played: Trajectory | None) -> Iterator[Remark]:
    """Yield remarks on paths in ``where`` and bounds that occur in no result of the case's sandbox."""
    computed = ((name, suite.shapes[name]) for name, tool in suite.tools.items() if tool.answer is not None)
    results = [*((recording.tool, recording.result) for recording in recordings), *computed]
    results += [(call.tool, call.result) for call in (played.calls if played else ()) if call.status == "ok"]
    steps = tuple(Step(kind="call", tool=tool, result=result) for tool, result in results)
    sandbox = JudgedDialogue(Trajectory(case=case.id, turns=(Turn(role="agent", text="", steps=steps),)), suite.tools)
    names = {tool.key: tool.name for tool in case.truth.tools}
    for place, noun in nouns_in(case.truth, ("truth",)):
        if isinstance(noun, Bound):
            name = noun.tool or names[noun.call or ""]
            results = [step.result for step in steps if step.tool == name]
            yield from _absent(noun.path, results, (*place, "path"), f"result of {name}")
        elif isinstance(noun, RowsFound) or (isinstance(noun, Output) and noun.tool):
            name = noun.tool or "" if isinstance(noun, Output) else case.truth.tools[int(place[2])].name
            results_of_tool = (returned_rows(suite.tools[name], step.result) for step in steps if step.tool == name)
            rows = [row.record for some in results_of_tool for row in some]
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


def _quotes(case: Case, suite: Suite, played: Trajectory | None) -> Iterator[Remark]:
    """Yield remarks on paths in scripted answers that occur in no result of the quoted calls."""
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
                yield remark("no-such-path", place, message, _near(path, there))


def _answers(case: Case, suite: Suite, calls: Sequence[PlannedCall]) -> list[tuple[str, Json]]:
    """Return the answered calls of a list, made in a fresh sandbox: tool and result."""
    sandbox = make_sandbox(case.without("faults", "events"), suite, misses=True)
    answers = [(call.tool, sandbox.call(call.tool, dict(call.arguments))) for call in calls]
    return [(tool, answer.result) for tool, answer in answers if answer.status == "ok"]


def _absent(path: str, results: Sequence[Json], place: _Place, owner: str) -> Iterator[Remark]:
    """Yield a remark if no result has a path."""
    if not any(values_at(result, path) for result in results):
        hint = _near(path, results)
        # A slip of the pen lets every agent pass, or none.
        severity: Severity = "error" if hint.startswith("did you mean") else "warning"
        message = f"no {owner} in the case's sandbox has {shown(path)}"
        yield remark("no-such-path", place, message, hint, severity)


def _near(path: str, results: Sequence[Json]) -> str:
    """Return a hint with the available keys where a path fails; empty if there are none."""
    here = list(results)
    for key in path.split("."):
        below = [member for value in here for member in values_at(value, key)]
        if not below:
            keys = sorted({str(key) for value in here if isinstance(value, dict) for key in value})
            more = ", ..." if len(keys) > _KEYS else ""
            there = f"there is: {printable(', '.join(keys[:_KEYS]))}{more}" if keys else ""
            return did_you_mean(key, keys) or there
        here = below
    return ""


# -- a search in several steps: hops that are not fulfilled, find nothing or need no other, and questions that give them away --

#: How many rows of a result count: an agent reads no further.
FIRST_ROWS = 20
#: The shortest text that counts as given away: shorter ones are in most questions by chance.
_SHORTEST = 2


def hop_remarks(case: Case, tools: Mapping[str, Tool], calls: Sequence[Step]) -> Iterator[Remark]:
    """Yield remarks on the problems of a case's expected tools.

    Args:
        case: the case.
        tools: the tools of its suite.
        calls: those of its oracle, all answered.
    """
    dialogue = _OracleDialogue(case, calls)
    for index, (expected, positions) in enumerate(zip(case.truth.tools, dialogue.fulfilled, strict=True)):
        hop = [calls[at] for at in positions]
        problems = [*dialogue.guessable(expected, positions)] if hop else [*dialogue.unfulfilled(index, expected)]
        problems += dialogue.evidence(expected, tools[expected.name], hop) if hop else ()
        for rule, field, message, hint in problems:
            yield remark(rule, ("truth", "tools", index, *field), message, hint)


#: Rule, place in the expected tool, message, hint.
_Problem = tuple[str, tuple[str, ...], str, str]


class _OracleDialogue:
    """An oracle's calls, compared with the expected tools.

    Attributes:
        fulfilled: for each expected tool the positions of the calls that fulfil it.
    """

    def __init__(self, case: Case, calls: Sequence[Step]) -> None:
        self._tools, self._calls = case.truth.tools, calls
        self.fulfilled = hop_calls(self._tools, calls)
        earlier = [message.text for message in case.visible.messages]
        self._question = "\n".join(map(normalise, (*earlier, case.visible.query)))

    def _asks(self, form: str) -> bool:
        """Return whether the question contains a text in normal form that is not too short."""
        return len(form) >= _SHORTEST and form in self._question

    def guessable(self, expected: ExpectedTool, positions: Mapping[int, int]) -> Iterator[_Problem]:
        """Yield problems of values that the question gives although a hop should take them from an earlier hop."""
        for name, match in expected.match.items():
            bound = getattr(match, "bound", None)
            if not isinstance(bound, Bound):
                continue
            for at in positions:
                asked = "\n".join(normalise(str(value)) for value in values_of(self._calls[at].arguments, name))
                texts = self._earlier(bound, at).texts(bound.path)
                given_away = next((text for form, text in texts.items() if form in asked and self._asks(form)), None)
                if given_away is not None:
                    message = f"{expected.key} needs no earlier result: {shown(given_away)}, which {name} must hold, is in the question"
                    yield "hop-guessable", ("match", name), message, "leave it out of the question"
                    break

    def _earlier(self, bound: Bound, at: int) -> FoundValues:
        """Return the values available to a bound match from calls before a position."""
        if bound.call is None:
            return FoundValues(call for call in self._calls[:at] if call.tool == bound.tool)
        index = [tool.key for tool in self._tools].index(bound.call)
        return FoundValues(self._calls[other] for other in self.fulfilled[index] if other < at)

    def evidence(self, expected: ExpectedTool, tool: Tool, hop: Sequence[Step]) -> Iterator[_Problem]:
        """Yield problems of the rows that a hop must find: undeclared, missing, or named in the question."""
        field, results = ("evidence",), [call.result for call in hop]
        if not expected.evidence_rows:
            return
        if not tool.entities:
            message = f"{expected.key} must find rows, and the tool {tool.name} does not declare where they are"
            yield "hop-evidence", field, message, "say it in the tool: entities, with items and id"
            return
        if not any(holds_evidence(expected, tool, result, first=FIRST_ROWS) for result in results):
            below = any(holds_evidence(expected, tool, result) for result in results)
            where = f"only below the first {FIRST_ROWS} rows" if below else "no row of its evidence"
            message = f"the oracle's {cut(call_text(expected.name, hop[0].arguments), _CALL)} finds {where}"
            yield "hop-evidence", field, message, "an agent that asks the same cannot do better"
        names = {entities.name for entities in tool.entities}
        rows = [row for result in results for row in returned_rows(tool, result)]
        rules = [evidence.where for evidence in expected.evidence_rows]
        wanted = [row for row in rows if any(fits_row(where, row.record) for where in rules)]
        texts = [text for row in wanted for text in (row.id, *map(row.record.get, names)) if isinstance(text, str)]
        given_away = next((text for text in texts if self._asks(normalise(text))), None)
        if given_away is not None:
            message = f"the question names evidence of {expected.key}: {shown(given_away)}"
            yield "question-tells", field, message, "an agent can answer without a search"

    def unfulfilled(self, index: int, expected: ExpectedTool) -> Iterator[_Problem]:
        """Yield the reason why no oracle call fulfils an expected tool; nothing if a prerequisite tool is also unfulfilled."""
        keys = [tool.key for tool in self._tools]
        if any(not self.fulfilled[keys.index(key)] for key in expected.waits_for):
            return
        own = [call for call in self._calls if call.tool == expected.name]
        missing = next((name for name in expected.required if not self._keeps(index, required=(name,))), None)
        rules = expected.match.items()
        broken = ((name, match) for name, match in rules if not self._keeps(index, match={name: match}))
        name, match = next(broken, (None, None))
        subject, rule = f"the oracle does not fulfil {expected.key}", "oracle-tools"
        if not own:
            yield rule, (), f"{subject}: it never calls {expected.name}", ""
        elif missing is not None:
            yield rule, ("required",), f"{subject}: no call of {expected.name} gives {missing}", ""
        elif name is not None and match is not None:
            asked = dict.fromkeys(shown(value) for call in own for value in values_of(call.arguments, name))
            message = f"{subject}: {name} is {' or '.join(asked)}, expected {match.words()}"
            hint = "bound means equal: {op: contains, of: {op: bound, ...}} takes a text that contains it"
            part = isinstance(match, Bound) and self._keeps(index, match={name: Contains(op="contains", of=match)})
            yield rule, ("match", name), message, hint if part else ""
        else:
            after = f" after {' and '.join(expected.after)}" if expected.after else ""
            yield rule, (), f"{subject}: no call of {expected.name} keeps all of its rules{after}", ""

    def _keeps(self, index: int, **rules: Any) -> bool:
        """Return whether a call of the oracle would fulfil an expected tool with only these rules."""
        alone = self._tools[index].model_copy(update={"required": (), "match": {}, "after": (), **rules})
        return bool(hop_calls([*self._tools[:index], alone, *self._tools[index + 1 :]], self._calls)[index])


# -- labels of the source that say what is right (VitaBench 2.0, A.2.2) --

#: Marks in a result of the row that is right: parts of keys, and values of keys such as ``type``.
_TELLING_KEYS = ("distract", "target_reason")
_TELLING_VALUES = frozenset({"target", "distractor", "distraction", "query_distractor", "preference_distractor"})


def _visible_label(oracle: Trajectory) -> Iterator[Remark]:
    """Yield a remark on the first result of an oracle that gives away which row is right."""
    for step in oracle.calls:
        if (label := _label_in(step.result)) is not None:
            message = f"{step.tool} returns {label}, which says what is right"
            hint = "leave it out of tables and recordings"
            yield remark("label-visible", ("truth", "oracle"), message, hint)
            return


def _label_in(value: Json) -> str | None:
    """Return the first field of a result that marks a row as right or wrong, as ``key: value``; otherwise None."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            for key, text in part.items():
                marks = isinstance(text, str) and text.casefold() in _TELLING_VALUES and key.endswith(("type", "label"))
                if marks or any(telling in key for telling in _TELLING_KEYS):
                    return f"{key}: {shown(text)}"
            stack += part.values()
        elif isinstance(part, list):
            stack += part
    return None


# -- how well the search of a suite finds what hops need -----------------------------------------------------------------

#: The depths of the metrics: the first rows of a result that count.
DEPTHS = (10, 20)
RANKING_METRICS = tuple(f"{name}@{depth}" for name in ("ndcg", "mrr") for depth in DEPTHS)
#: So many queries are named that find nothing.
_NAMED = 5


@dataclass(frozen=True)
class HopQuery:
    """The oracle's search query for one hop, and the ranks of the relevant rows in its results.

    Attributes:
        case: the id of its case.
        text: the free text.
        part: the part that is searched.
        filters: further arguments that leave rows out.
        hop: the expected tool, whose evidence says which rows are relevant.
        relevant: how many rows of the part are.
        places: their places in the ranking, from 1.
    """

    case: str
    text: str
    part: str
    filters: Mapping[str, Json]
    hop: ExpectedTool
    relevant: int = 0
    places: tuple[int, ...] = ()

    def metric(self, name: str) -> float:
        """Return a ranking metric with binary relevance, NDCG or reciprocal rank, named like ``ndcg@10`` or ``mrr@20``."""
        kind, _, depth = name.partition("@")
        places = [place for place in self.places if place <= int(depth)]
        if kind == "mrr":
            return 1 / places[0] if places else 0.0
        best = range(1, min(int(depth), self.relevant) + 1)
        gained, possible = (math.fsum(1 / math.log2(place + 1) for place in some) for some in (places, best))
        return gained / possible

    def to_json(self) -> dict[str, Any]:
        """Return the query with its places and metrics as JSON data."""
        asked = {"case": self.case, "hop": self.hop.key, "part": self.part, "query": self.text}
        ranked = {"filters": dict(self.filters), "relevant": self.relevant, "places": list(self.places)}
        return {**asked, **ranked, **{name: self.metric(name) for name in RANKING_METRICS}}


@dataclass(frozen=True)
class RetrievalMeasure:
    """How well a suite's ranked search finds the rows for hops; ``left_out``: numbers of unmeasured hops by reason."""

    suite: str
    found: tuple[HopQuery, ...]
    left_out: Mapping[str, int]

    def means(self) -> dict[str, tuple[float, tuple[float, float] | None]]:
        """Return each metric's mean over hops and its 95 % interval, with hops of one case resampled together."""
        clusters = [ranked.case for ranked in self.found]
        columns = {name: [ranked.metric(name) for ranked in self.found] for name in RANKING_METRICS}
        intervals = bootstrap_intervals([clustered(values, clusters) for values in columns.values()])
        return {
            name: (
                math.fsum(values) / len(values),
                None if interval is None else (max(0.0, interval[0]), min(1.0, interval[1])),
            )
            for (name, values), interval in zip(columns.items(), intervals, strict=True)
        }

    def to_json(self) -> dict[str, Any]:
        """Return the means and all queries as JSON data."""
        return {
            "suite": self.suite,
            "hops": len(self.found),
            "left_out": dict(self.left_out),
            "level": LEVEL,
            "metrics": {
                name: {"mean": mean, "low": interval and interval[0], "high": interval and interval[1]}
                for name, (mean, interval) in self.means().items()
            },
            "queries": [ranked.to_json() for ranked in self.found],
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report: the means, and the first queries that find nothing."""
        yield f"retrieval: {len(self.found)} hop queries"
        for name, (mean, interval) in self.means().items():
            between = f"  [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
            yield f"  {name:8} {mean:.3f}{between}"
        for reason, count in self.left_out.items():
            yield f"not measured: {count} ({reason})"
        nothing = [ranked for ranked in self.found if not ranked.places]
        for query in nothing[:_NAMED]:
            yield f"finds nothing: {query.case}, {query.hop.key}: {' '.join(query.text.split())}"
        if len(nothing) > _NAMED:
            yield f"and {len(nothing) - _NAMED} more, with --json"


def measure_retrieval(suite: SandboxSuite, cases: Sequence[Case]) -> RetrievalMeasure:
    """Measure how well the ranked search of a suite finds the rows that hops need.

    Args:
        suite: the suite.
        cases: its cases; those with an oracle count.

    Raises:
        UsageError: the suite has no ranked search or no hop that asks it.
        SuiteError: a table cannot be read.
    """
    name = suite.manifest.name
    ranked = [tool for tool, declared in suite.tools.items() if isinstance(declared.answer, RankedAnswer)]
    if not ranked:
        raise UsageError(f"{name} has no ranked search: a tool with answer: {{kind: ranked}} in its tools")
    asked = {hop.name for case in cases for hop in case.truth.tools if hop.evidence_rows}
    rankers = {tool: Ranker(suite, tool) for tool in ranked if tool in asked}
    left_out: Counter[str] = Counter()
    queries = [query for case in cases for query in _queries(case, suite, rankers, left_out)]
    relevant = _relevant(queries, rankers)
    left_out["no row of the part is evidence"] = sum(not ids for ids in relevant)
    rankings = tuple(
        replace(query, relevant=len(ids), places=_places_found(query, ids, rankers[query.hop.name]))
        for query, ids in zip(queries, relevant, strict=True)
        if ids
    )
    if not rankings:
        hint = f"they need truth.oracle, and truth.tools with evidence: {{where: ...}} for {' or '.join(ranked)}"
        raise UsageError(f"{name} has no case with a hop that can be measured: {hint}")
    return RetrievalMeasure(name, rankings, {reason: n for reason, n in sorted(left_out.items()) if n})


def _queries(
    case: Case, suite: SandboxSuite, rankers: Mapping[str, Ranker], left_out: Counter[str]
) -> Iterator[HopQuery]:
    """Yield the oracle's search queries for the hops of a case, and count unusable hops in ``left_out``."""
    hops = [hop for hop in case.truth.tools if hop.name in rankers and hop.evidence_rows]
    if not hops:
        return
    if not case.truth.oracle:
        left_out["the case has no oracle"] += len(hops)
        return
    calls = play_oracle(case, suite).calls
    for hop, call in zip(hops, _calls_of(case, hops, calls, suite), strict=True):
        ranker = rankers[hop.name]
        if call is None:
            left_out["the oracle makes no call for it"] += 1
            continue
        try:
            part = ranker.part_of(call.arguments, case.visible.context)
        except ValueError:
            left_out["its tool refuses the oracle's call"] += 1
            continue
        filters = {name: call.arguments[name] for name in ranker.answer.where if name in call.arguments}
        text = str(call.arguments[ranker.answer.text])
        yield HopQuery(case.id, text, part, filters, hop)


def _calls_of(
    case: Case, hops: Sequence[ExpectedTool], calls: Sequence[Step], suite: SandboxSuite
) -> list[Step | None]:
    """Return a call for each hop, preferably a call that returns its evidence and serves no other hop; None if there is none."""
    every = dict(zip((id(hop) for hop in case.truth.tools), hop_calls(case.truth.tools, calls), strict=True))
    fulfilled = [list(every[id(hop)]) for hop in hops]
    chosen: dict[int, int] = {}
    for index, hop in enumerate(hops):
        tool = suite.tools[hop.name]
        holding = [at for at in fulfilled[index] if holds_evidence(hop, tool, calls[at].result)]
        if (at := next((at for at in holding if at not in chosen.values()), next(iter(holding), None))) is not None:
            chosen[index] = at
    for index in range(len(hops)):
        at = next((at for at in fulfilled[index] if at not in chosen.values()), None)
        if index not in chosen and at is not None:
            chosen[index] = at
    return [calls[chosen[index]] if index in chosen else None for index in range(len(hops))]


def _relevant(queries: Sequence[HopQuery], rankers: Mapping[str, Ranker]) -> list[frozenset[str]]:
    """Return for each query the ids of the matching rows in its part; each part is read once."""
    ids: list[set[str]] = [set() for _ in queries]
    for tool, part in dict.fromkeys((query.hop.name, query.part) for query in queries):
        own = [(at, query.hop) for at, query in enumerate(queries) if (query.hop.name, query.part) == (tool, part)]
        for row in rankers[tool].rows(part):
            for at, hop in own:
                if any(all(fits_row({k: match}, row) for k, match in rule.where.items()) for rule in hop.evidence_rows):
                    ids[at].add(id_text(row[rankers[tool].answer.id]) or "")
    return [frozenset(relevant) for relevant in ids]


def _places_found(query: HopQuery, relevant: Collection[str], ranker: Ranker) -> tuple[int, ...]:
    """Return the places, from 1, of relevant rows in the ranking for a query."""
    order = ranker.rank(query.text, query.part, limit=DEPTHS[-1], filters=query.filters)
    return tuple(place for place, row in enumerate(order, 1) if row in relevant)
