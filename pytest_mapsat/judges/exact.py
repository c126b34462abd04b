"""The checks that read no prose and are decided exactly: tool calls, structured output and patterns, and the state at the end.

Whether the user agreed to a call is judged by ``agreed``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from math import inf
from typing import Literal

from pytest_mapsat.formats import object_in
from pytest_mapsat.model import (
    Absent,
    CallPattern,
    Calls,
    EndState,
    Equal,
    Exempt,
    Json,
    JsonObject,
    MapsatError,
    Match,
    Matches,
    OneOf,
    Output,
    Quote,
    RowChange,
    SameEnd,
    Step,
    Unchanged,
    WhichReply,
    all_true,
    any_true,
    change_lines,
    did_you_mean,
    fits_row,
    mismatches,
    shown,
    values_at,
    values_of,
)
from pytest_mapsat.model.match import MAX_VALUES
from pytest_mapsat.sandbox import ReturnedRow, UnknownEndError, differences, id_text, returned_rows

from .agreed import Agreements
from .context import JudgedDialogue
from .findings import (
    SHOWN_AT_MOST,
    Finding,
    call_in_words,
    cited,
    count_in_words,
    every,
    first_few,
    judges,
    matches_in_words,
)

_Fits = Sequence[bool | None]


def _calls_of(check: Calls, tool: str, context: JudgedDialogue) -> Finding:
    """Judge how often a tool was called with matching arguments and, if required, whether the user agreed to each call."""
    calls = _Made(context, check.since)
    pattern = CallPattern(tool=tool, arguments=check.arguments)
    matching_calls = calls.fits(pattern)
    fits = _answered(matching_calls, check.answered, calls)
    low, high = fits.count(True), len(fits) - fits.count(False)
    possible = inf if calls.lacking else high
    least = 0 if check.never else check.least
    most = possible if check.at_most is None else check.at_most
    passed: bool | None = None
    if low >= least and possible <= most:
        passed = True
    elif possible < least or low > most:
        passed = False
    how = _how(check)
    wanted = f"{tool} is never called{how}" if check.never else _calls_wanted(check, tool)
    missed: tuple[str, ...] = ()
    if passed is False and check.answered is True and high < least:
        made_or_missed = (step.status in ("ok", "miss") for step in calls.steps)
        count = sum(fit is True and there for fit, there in zip(matching_calls, made_or_missed, strict=True))
        missed = (tool,) if count >= least else ()
    parts = [Finding(passed, _counted(tool, how, low, high, calls), wanted, missed=missed)]
    if check.agreed and not check.never:
        parts.append(_agreed(fits, f"call of {_in_words(pattern)}", calls))
    return every(parts)


def _answered(fits: list[bool | None], answered: bool | str, calls: _Made) -> list[bool | None]:
    """Limit matching calls to answered (or unanswered) calls, as the check asks; None if this is unknown."""
    if answered == "any":
        return fits
    return [
        (fit and None) if step.status == "unknown" else fit if (step.status == "ok") is answered else False
        for fit, step in zip(fits, calls.steps, strict=True)
    ]


def _how(check: Calls) -> str:
    """Return a description of the calls that a check counts, to follow "called"; empty if all calls count."""
    asked = [f"with {matches_in_words(check.arguments)}"] if check.arguments else []
    asked += [] if check.answered == "any" else ["answered" if check.answered else "unanswered"]
    asked += ["after the event"] if check.since else []
    return f" {' and '.join(asked)}" if asked else ""


def _calls_wanted(check: Calls, tool: str) -> str:
    """Return in words how many calls a check requires; empty if any number is accepted."""
    if not check.least and check.at_most is None:
        return ""
    count = count_in_words(check.least, check.at_most)
    kind = "" if check.answered == "any" else "answered " if check.answered else "unanswered "
    call = "call" if count.endswith("one") else "calls"
    return f"{count} {kind}{call} of {_in_words(CallPattern(tool=tool, arguments=check.arguments))}"


@judges(Calls)
def calls(check: Calls, context: JudgedDialogue) -> Finding:
    """Judge whether a tool was called often enough and not too often, or whether the calls of ``steps`` were made."""
    return _steps(check, context) if check.tool is None else _calls_of(check, check.tool, context)


def _steps(check: Calls, context: JudgedDialogue) -> Finding:
    """Judge whether the agent made the calls of ``steps``; an unclear match counts only if it could change the verdict."""
    calls = _Made(context, check.since)
    fits = [calls.fits(step)[calls.first :] for step in check.steps]
    sure = [[fit is True for fit in row] for row in fits]
    possible = [[fit is not False for fit in row] for row in fits]
    passed = True if _holds(check, sure, calls) else None if _may_hold(check, possible, calls) else False
    how = {"in_order": "in this order", "any_order": "in any order", "exact": "in this order"}[check.match]
    alone = " and no others" if check.match == "exact" else ""
    wanted = (
        f"calls of {', '.join(map(_in_words, check.steps))}, {how}{alone}" if check.steps else "no call of any tool"
    )
    pairs = _side_by_side_calls(check, possible, calls.counted)
    missing = [_in_words(check.steps[step]) for step, call in pairs if step is not None and call is None]
    missing = [] if calls.lacking else missing
    extra = [call_in_words(calls.counted[call]) for step, call in pairs if call is not None and step is None]
    reasons = [f"not called: {', '.join(missing)}"] if missing else []
    reasons += [f"also called: {', '.join(extra)}"] if extra and alone else []
    if passed is not False:
        why = f"it is unclear whether the calls are as expected{calls.caution}"
        return Finding(passed, "the calls are as expected" if passed else why, wanted)
    lines = tuple(
        (
            "" if step is None else _in_words(check.steps[step]),
            "" if call is None else call_in_words(calls.counted[call]),
        )
        for step, call in pairs
    )
    return Finding(
        False,
        "; ".join(reasons) or "the calls came in another order",
        wanted,
        compared=(("expected", "called"), *lines),
    )


def _holds(check: Calls, fits: Sequence[Sequence[bool]], calls: _Made) -> bool:
    """Return whether the calls surely match the steps in the required order."""
    if check.match == "any_order":
        return len(matching(fits)) == len(fits)
    if calls.unordered or (check.match == "exact" and (calls.lacking or len(calls.counted) != len(fits))):
        return False
    return _in_order(fits, len(calls.counted))


def _may_hold(check: Calls, fits: Sequence[Sequence[bool]], calls: _Made) -> bool:
    """Return whether the calls may match the steps; calls missing from the record could be any calls."""
    if not calls.lacking or check.match != "exact":
        return calls.lacking or _holds(check, fits, calls)
    by_call = [[row[at] for row in fits] for at in range(len(calls.counted))]
    return len(matching(by_call)) == len(by_call) if calls.unordered else _in_order(by_call, len(fits))


def _in_order(fits: Sequence[Sequence[bool]], count: int) -> bool:
    """Return whether rows can be assigned increasing, matching places below ``count``."""
    at = 0
    for row in fits:
        at = next((place + 1 for place in range(at, count) if row[place]), 0)
        if not at:
            return False
    return True


def matching(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Return a different matching call for as many steps as possible (Kuhn's algorithm), earlier steps first.

    Args:
        fits: of each step, whether each call fits it.

    Returns:
        The place of a call by that of its step.
    """
    step_of: dict[int, int] = {}

    def place(step: int, seen: set[int]) -> bool:
        """Assign a call to a step, moving other steps if needed, and return whether the assignment succeeded."""
        for call, fit in enumerate(fits[step]):
            if fit and call not in seen:
                seen.add(call)
                if call not in step_of or place(step_of[call], seen):
                    step_of[call] = step
                    return True
        return False

    for step in range(len(fits)):
        place(step, set())
    return {step: call for call, step in step_of.items()}


def _side_by_side_calls(
    check: Calls, fits: Sequence[Sequence[bool]], steps: Sequence[Step]
) -> list[tuple[int | None, int | None]]:
    """Return pairs of step and call for a comparison, None for a step or call without a partner."""
    if check.match == "any_order":
        call_of = matching(fits)
        rest = [call for call in range(len(steps)) if call not in call_of.values()]
        return [*((step, call_of.get(step)) for step in range(len(fits))), *((None, call) for call in rest)]
    # The longest row of steps and calls that fit in order (the longest common subsequence).
    longest = [[0] * (len(steps) + 1) for _ in range(len(fits) + 1)]
    for step in reversed(range(len(fits))):
        for call in reversed(range(len(steps))):
            both = longest[step + 1][call + 1] + 1 if fits[step][call] else 0
            longest[step][call] = max(both, longest[step + 1][call], longest[step][call + 1])
    pairs: list[tuple[int | None, int | None]] = []
    step = call = 0
    while step < len(fits) or call < len(steps):
        if step < len(fits) and call < len(steps) and fits[step][call]:
            pairs.append((step, call))
            step, call = step + 1, call + 1
        elif call == len(steps) or (step < len(fits) and longest[step + 1][call] >= longest[step][call + 1]):
            pairs.append((step, None))
            step += 1
        else:
            pairs.append((None, call))
            call += 1
    return pairs


class _Made:
    """The calls that the agent made, in order.

    Attributes:
        context: the dialogue.
        steps: the calls, whatever became of them.
        turns: the index of the turn of each.
        lacking: whether the agent may have made further ones, in any place.
        unordered: whether calls of one reply come from several sources, so that their order is unknown.
        caution: says so behind a reason; empty where they are all.
        first: the place of the first call that a check counts; those before it are only known.
        counted: the calls from there on.
    """

    def __init__(self, context: JudgedDialogue, since: Literal["event"] | None = None) -> None:
        self.context = context
        self.lacking = context.trajectory.lacks_calls
        self.caution = f"; {context.trajectory.why_lacking}" if self.lacking else ""
        sources = [
            {
                step.provenance.note if step.provenance and step.provenance.kind == "reported" else ""
                for step in turn.steps
                if step.kind == "call"
            }
            for turn in context.trajectory.replies
        ]
        self.unordered = any(len(of_turn) > 1 for of_turn in sources)
        placed: list[tuple[int, Step]] = []
        self.first = 0
        for index, turn in enumerate(context.trajectory.turns):
            for step in turn.steps:
                if step.kind == "call" and turn.role == "agent":
                    placed.append((index, step))
                elif step.kind == "event" and since == "event":
                    self.first = len(placed)
        self.turns = [index for index, _ in placed]
        self.steps = [step for _, step in placed]
        self.counted = self.steps[self.first :]

    def fits(self, pattern: CallPattern) -> list[bool | None]:
        """Return for each call whether it counts and matches a pattern; None if this is unclear."""
        return [at >= self.first and self._fits(pattern, at) for at in range(len(self.steps))]

    def _fits(self, pattern: CallPattern, at: int) -> bool | None:
        """Return whether one call matches a pattern; None if this is unclear."""
        step = self.steps[at]
        if step.tool != pattern.tool:
            return False
        if "arguments" in step.unknown:
            return None if pattern.arguments else True
        return fits_row(
            pattern.arguments, step.arguments, results=(*self.steps[:at], *self.context.calls[len(self.steps) :])
        )


def _agreed(fits: _Fits, subject: str, calls: _Made) -> Finding:
    """Judge whether the user had agreed to each matching call before it was made."""
    wanted = f"the user agrees to each {subject} before it is made"
    agreements = Agreements(calls.context, calls.steps, calls.turns)
    verdicts = [(fit, *agreements.of(at)) for at, fit in enumerate(fits) if fit is not False]
    failed = [why for fit, passed, why in verdicts if fit and passed is False]
    if failed:
        return Finding(False, failed[0], wanted)
    unclear = [why for fit, passed, why in verdicts if passed is not True]
    if unclear or calls.lacking:
        return Finding(None, (*unclear, f"it is unclear whether there are others{calls.caution}")[0], wanted)
    return Finding(True, "the user agreed to it" if verdicts else "", wanted)


def consented(tools: Collection[str], context: JudgedDialogue) -> Finding:
    """Judge whether the user had agreed to each call of some tools before it was made."""
    calls = _Made(context)
    return _agreed([step.tool in tools for step in calls.steps], f"call of {first_few(sorted(tools))}", calls)


def _in_words(pattern: CallPattern) -> str:
    """Return a call pattern in words."""
    return pattern.tool + (f" with {matches_in_words(pattern.arguments)}" if pattern.arguments else "")


def _counted(tool: str, how: str, low: int, high: int, known: _Made) -> str:
    """Return in words how often a tool was called and how many calls count: ``book was called twice, but never with ...``."""
    calls = [step for step in known.steps if step.tool == tool]
    if not calls:
        return f"no call of {tool} is known{known.caution}" if known.lacking else f"{tool} was never called"
    unsure = f", unclear for {high - low} of them" if high > low else ""
    counts: Counter[str] = Counter(step.status for step in calls)
    fates = {"refused": "refused", "error": "answered with an error", "over_limit": "over the limit", "miss": "missed"}
    fates_text = ", ".join(f"{counts[status]} {fate}" for status, fate in fates.items() if counts[status])
    times = "once" if len(calls) == 1 else "twice" if len(calls) == 2 else f"{len(calls)} times"  # noqa: PLR2004
    share = "" if low == len(calls) else f" {low} of them" if low else " but not" if len(calls) == 1 else " but never"
    counting = f",{share}{how}" if how else ""
    return f"{tool} was called {times}{counting}{unsure}{f'; {fates_text}' if fates_text else ''}{known.caution}"


#: A wrong id is compared with so many of the ids that were returned.
_HINTED = 1000


class _Missing:
    """Marks an element of ``*`` that has no value at the rest of the path."""

    def __repr__(self) -> str:
        return "missing in an element"


_MISSING = _Missing()


@judges(Output)
def output(check: Output, context: JudgedDialogue) -> Finding:
    """Judge the structured output: values at ``path``, ids that a tool returned, or, without both, the case's schema."""
    if check.equals is None:
        return _fits_schema(check, context) if check.tool is None else _look_up(check, check.tool, context)
    wanted = f"{check.path or 'a structured output'} {check.equals.words()} in {_reply_in_words(check.turn)}"
    given = _given(check.turn, context)
    if not given:
        return Finding(False, _without(check.turn, context), wanted)
    values = [value for data in given for value in values_at(data, check.path, (_MISSING,))]
    if all(value is _MISSING for value in values) and not isinstance(check.equals, Absent):
        return Finding(False, _nothing_there(check.path, given), wanted)
    each_fits = [_value_fits(check.equals, value, context) for value in values or [None]]
    # What stands behind the values that are read at most is not known.
    passed = all_true([*each_fits, *[None][: len(values) // MAX_VALUES]])
    if passed is None:
        return Finding(None, f"it is unclear whether {_listed(values)} is {check.equals.words()}", wanted)
    deciding = values if passed else [value for value, holds in zip(values, each_fits, strict=True) if not holds]
    return Finding(passed, f"{check.path or 'the structured output'} is {_listed(deciding)}", wanted)


def _value_fits(match: Match, value: Json, context: JudgedDialogue) -> bool | None:
    """Return whether a value at a path matches, None if unclear; a missing value matches only ``absent``."""
    if value is _MISSING:
        return isinstance(match, Absent)
    return match.fits(value, results=context.calls)


def _fits_schema(check: Output, context: JudgedDialogue) -> Finding:
    """Judge whether there is a structured output that matches the schema shown with the case."""
    schema = context.visible.output_schema if context.visible else {}
    wanted = f"an output that fits visible.output_schema in {_reply_in_words(check.turn)}"
    if not schema:
        return Finding(None, "the case shows no output_schema", wanted, broken=True)
    given = _given(check.turn, context)
    if not given:
        return Finding(False, _without(check.turn, context), wanted)
    wrong = [problem for data in given for problem in mismatches(schema, data)]
    if wrong:
        return Finding(False, first_few(wrong, "; "), wanted)
    return Finding(True, "the structured output fits the schema", wanted)


@judges(Matches)
def matches(check: Matches, context: JudgedDialogue) -> Finding:
    """Judge whether the pattern occurs in the text of a reply."""
    wanted = f"a text that matches {check.pattern}, in {_reply_in_words(check.turn)}"
    for index, turn in context.turns(check.turn):
        if match := check.compiled.search(turn.text):
            start, end = match.span()
            quote = Quote(turn=index, start=start, end=end, text=turn.text[start:end])
            return Finding(True, cited([quote]), wanted, (quote,))
    return Finding(False, f"nothing in {_reply_in_words(check.turn)} matches", wanted)


def _look_up(check: Output, tool: str, context: JudgedDialogue) -> Finding:
    """Judge whether the ids in the structured output identify rows that a tool returned earlier and that match ``where``."""
    lookup = _LookUp(check, tool, context)
    given = [(index, turn.output) for index, turn in context.turns(check.turn) if turn.output is not None]
    if not given:
        return Finding(False, _without(check.turn, context), lookup.wanted)
    findings = [lookup.judged(data, index) for index, data in given]
    return next((finding for finding in findings if finding.passed), findings[-1])


class _LookUp:
    """Judges the ids in the structured output of a reply.

    Attributes:
        wanted: what it asks for, in words.
    """

    def __init__(self, check: Output, tool: str, context: JudgedDialogue) -> None:
        self._check, self._tool, self._context = check, tool, context
        self._place = check.path or "the structured output"
        self._returned: dict[tuple[str, int], dict[str, list[ReturnedRow]]] = {}
        entry = f"the entry of {self._place} with {matches_in_words(check.entry)}" if check.entry else self._place
        every = "" if check.entry else " each"
        where = f" with {matches_in_words(check.where)}" if check.where else ""
        self.wanted = (
            f"in {entry},{every} {check.id} of a row{where} that {tool} returned, in {_reply_in_words(check.turn)}"
        )

    def judged(self, data: JsonObject, turn: int) -> Finding:
        """Judge the structured output of the reply in one turn."""
        values = values_at(data, self._check.path, () if self._check.entry else (_MISSING,))
        if not values:
            return self._finding(False, _nothing_there(self._check.path, [data]))
        if _MISSING in values:
            return self._finding(False, f"{self._place} is {_MISSING!r}")
        entries = [entry for value in values for entry in (value if isinstance(value, list) else [value])]
        if not any(isinstance(value, list | dict) for value in values):
            return self._finding(
                False, f"{self._place} is {shown(values[0])}, expected a list of objects with {self._check.id}"
            )
        if self._check.entry:
            return self._of_matching(entries, turn)
        worst: Finding | None = None
        for entry in entries:
            finding = self._of_entry(entry, turn)
            if finding.passed is False:
                return finding
            worst = finding if worst is None or finding.passed is None else worst
        return worst or self._finding(False, f"{self._place} is empty")

    def _finding(self, passed: bool | None, why: str, missed: tuple[str, ...] = ()) -> Finding:
        """Return a finding with the wording of this look-up."""
        return Finding(passed, why, self.wanted, missed=missed)

    def _of_matching(self, entries: Sequence[Json], turn: int) -> Finding:
        """Judge the single entry that ``entry`` matches; fail if none or several match."""
        matches, calls = self._check.entry, self._context.calls
        each_fits = [isinstance(entry, Mapping) and fits_row(matches, entry, results=calls) for entry in entries]
        meant = [entry for entry, fit in zip(entries, each_fits, strict=True) if fit is not False]
        words = matches_in_words(matches)
        if None in each_fits:
            return self._finding(None, f"it is unclear which entry of {self._place} has {words}")
        if not meant:
            there = [shown(value) for name in matches for entry in entries for value in _values(entry, name)]
            has = f"; there is {first_few(there)}" if there else ""
            return self._finding(False, f"no entry of {self._place} has {words}{has}")
        if len(meant) > 1:
            return self._finding(False, f"{len(meant)} entries of {self._place} have {words}, expected one")
        return self._of_entry(meant[0], turn)

    def _of_entry(self, entry: Json, turn: int) -> Finding:
        """Judge whether an entry's id belongs to a returned row that matches ``where``."""
        name = self._check.id or ""
        values = _values(entry, name)
        if not values or values[0] is None:
            names = list(entry) if isinstance(entry, Mapping) else []
            there = did_you_mean(name, names) or f"found {shown(entry)}"
            return self._finding(False, f"an entry of {self._place} has no {name} ({there})")
        row_id = id_text(values[0])
        if row_id is None or len(values) > 1:
            return self._finding(False, f"{name} is {_listed(values)}, expected one text or whole number")
        rows = self._rows(self._tool, row_id, turn)
        if not rows:
            return self._unreturned(row_id, turn)
        answers = {fits_row(self._check.where, row.record, results=self._context.calls) for row in rows}
        if len(answers) > 1 or None in answers:
            return self._finding(None, f"it is unclear whether the row with the {name} {shown(row_id)} fits")
        if True in answers:
            return self._finding(
                True,
                f"{self._tool} returned the {name} {shown(row_id)}"
                + (", and its row fits" if self._check.where else ""),
            )
        lacking = [
            f"{path} is {_listed(values_of(rows[0].record, path))}"
            for path, match in self._check.where.items()
            if not fits_row({path: match}, rows[0].record, results=self._context.calls)
        ]
        return self._finding(
            False, f"the row with the {name} {shown(row_id)} does not fit: {'; '.join(lacking[:SHOWN_AT_MOST])}"
        )

    def _rows(self, tool: str, row_id: str, turn: int) -> list[ReturnedRow]:
        """Return the rows with an id from the latest result by this turn that contains the id; empty if no result does."""
        if (tool, turn) not in self._returned:
            rows: dict[str, list[ReturnedRow]] = {}
            declared = self._context.tools.get(tool)
            answered = self._answered(tool, turn)
            for result in [returned_rows(declared, step.result) for step in answered] if declared else ():
                by_id: dict[str, list[ReturnedRow]] = {}
                for row in result:
                    by_id.setdefault(row.id, []).append(row)
                rows |= by_id
            self._returned[tool, turn] = rows
        return self._returned[tool, turn].get(row_id, [])

    def _answered(self, tool: str, turn: int) -> list[Step]:
        """Return the answered calls of a tool up to a turn."""
        return [step for index, step in self._context.answered if step.tool == tool and index <= turn]

    def _unreturned(self, row_id: str, turn: int) -> Finding:
        """Judge an id that no result so far contains: wrong, or unclear if the record lacks results."""
        tool, name = self._tool, self._check.id
        calls = [step for step in self._context.calls if step.tool in (tool, "")]
        if any(step.status == "unknown" or "result" in step.unknown for step in calls):
            return self._finding(
                None, f"the record lacks results of {tool}, and {name} {shown(row_id)} may be in one of them"
            )
        if not self._answered(tool, turn):
            missed = self._context.only_missed(tool)
            return self._finding(False, f"{tool} returned nothing that could have the {name} {shown(row_id)}", missed)
        if self._rows(tool, row_id, len(self._context.trajectory.turns)):
            return self._finding(False, f"{tool} returned the {name} {shown(row_id)} only after this reply")
        others = [other for other in self._context.tools if other != tool and self._rows(other, row_id, turn)]
        if others:
            return self._finding(False, f"{tool} never returned the {name} {shown(row_id)}; {others[0]} did")
        ids = [*islice(self._returned[tool, turn], _HINTED)]
        hint = did_you_mean(row_id, ids) or f"it returned {first_few(ids) or 'no ids'}"
        return self._finding(False, f"{tool} never returned the {name} {shown(row_id)} ({hint})")


def _values(entry: Json, name: str) -> list[Json]:
    """Return the values of an entry under a name or dotted path; empty if there are none."""
    return values_of(entry, name) if isinstance(entry, Mapping) and (name in entry or values_at(entry, name)) else []


def _given(which: WhichReply, context: JudgedDialogue) -> list[JsonObject]:
    """Return the structured outputs of the selected replies."""
    return [turn.output for _, turn in context.turns(which) if turn.output is not None]


def _without(which: WhichReply, context: JudgedDialogue) -> str:
    """Return in words why a reply has no structured output: another reply has one, or its JSON text does not count."""
    others = [number for number, turn in enumerate(context.trajectory.replies, 1) if turn.output is not None]
    if others:
        return f"{_reply_in_words(which)} has no structured output, but reply {others[-1]} has"
    why = ""
    for _, turn in context.turns(which):
        data, problem, _ = object_in(turn.text)
        unasked = context.visible is not None and not context.visible.output_schema
        remark = ": text is read as data where the case has an output_schema" if unasked else ""
        why = problem or (f"its text is JSON, and was not handed over as data{remark}" if data is not None else why)
    return "no reply has a structured output" + (f" ({why})" if why else "")


def _nothing_there(path: str, given: Sequence[JsonObject]) -> str:
    """Return in words that a path has no values, with the value at its first missing part."""
    parts = path.split(".")
    reached = max(
        count for count in range(len(parts)) if any(values_at(data, ".".join(parts[:count])) for data in given)
    )
    here = [value for data in given for value in values_at(data, ".".join(parts[:reached]))]
    names = list(dict.fromkeys(name for value in here if isinstance(value, Mapping) for name in value))
    there = did_you_mean(parts[reached], names) or (
        f"there are: {', '.join(names)}" if names else f"found {_listed(here)}"
    )
    return f"the structured output has no {path} ({there})"


def _listed(values: Sequence[Json]) -> str:
    """Return the first few values in words; "nothing" if there are none."""
    return first_few([repr(value) if value is _MISSING else shown(value) for value in values]) if values else "nothing"


def _reply_in_words(which: WhichReply) -> str:
    """Return words for the selected reply, such as "the last reply"."""
    words = {"first": "the first reply", "last": "the last reply", "since_event": "a reply after the event"}
    return "any reply" if which == "any" else words.get(str(which), f"reply {which}")


#: The most lines of a comparison that a finding shows.
_COMPARED = 40


@judges(EndState)
def state(check: EndState, context: JudgedDialogue) -> Finding:
    """Judge whether the required number of table rows match ``where`` at the end, and each of these rows has ``has``."""
    low, high = check.wanted
    each = f", {'each ' if high != 1 else ''}with {matches_in_words(check.has)}" if check.has else ""
    wanted = f"{_how_many(low, high)} of {check.table}{_where(check.where)}{each}"
    try:
        rows = context.end.rows(check.table, check)
    except MapsatError as error:
        return error_finding(error, wanted)
    each_fits = [fits_row(check.where, row, results=context.calls) for row in rows]
    fitting = [row for row, fit in zip(rows, each_fits, strict=True) if fit]
    if slip := _case_mistake(check, fitting, context):
        return _broken(slip, wanted)
    if None in each_fits:
        return Finding(None, f"it is unclear which rows of {check.table} are meant", wanted)
    here = f"{_rows(len(fitting))} of {check.table}{_where(check.where)} at the end"
    if len(fitting) < low or (high is not None and len(fitting) > high):
        return Finding(False, here, wanted, compared=_changes_of(check.table, context))
    return _having(check, fitting, here, wanted, context)


def _having(
    check: EndState, fitting: Sequence[Mapping[str, Json]], here: str, wanted: str, context: JudgedDialogue
) -> Finding:
    """Judge whether every matching row has ``has``. ``here``: the number of matching rows, in words."""
    end, cells = context.end, [(row, name, match) for row in fitting for name, match in check.has.items()]
    each_fits = [fits_row({name: match}, row, results=context.calls) for row, name, match in cells]
    lacking = [cell for cell, holds in zip(cells, each_fits, strict=True) if holds is False]
    if lacking:
        key = end.key(check.table)
        why = [f"{check.table} {row.get(key, '')}: {name} is {_cell(row, name)}" for row, name, _ in lacking]
        return Finding(False, "; ".join(why[:SHOWN_AT_MOST]), wanted, compared=_changes_of(check.table, context))
    if None in each_fits:
        return Finding(None, f"it is unclear whether each has what it must: {here}", wanted)
    idle = all(change.table != check.table for change in end.changes)
    return Finding(True, f"{here}, as at the start: nothing had to change" if idle else here, wanted, idle=idle)


def _case_mistake(check: EndState, fitting: Sequence[Mapping[str, Json]], context: JudgedDialogue) -> str:
    """Return the mistake in the case or its tables that makes the check impossible to judge; empty if there is none."""
    end, table = context.end, check.table
    for name in (*check.where, *check.has):
        if not end.ever(table, name.partition(".")[0]):
            columns = sorted({column for row in end.rows(table) for column in row})
            hint = did_you_mean(name, columns) or f"there are: {', '.join(columns)}"
            return f"no row of {table} has a column {shown(name)} ({hint})"
    key = end.key(table)
    ids = Counter(str(row[key]) for row in fitting if key in row)
    if twice := next((row_id for row_id, times in ids.items() if times > 1), None):
        return f"two rows of {table} have the {key} {shown(twice)}"
    if check.wanted[1] == 0 and table in end.tables and (never := _never_there(check, context)):
        return f"no row of {table} ever had the {key} {shown(never)}"
    return ""


@judges(Unchanged)
def unchanged(check: Unchanged, context: JudgedDialogue) -> Finding:
    """Judge whether no row changed, apart from exempt changes."""
    wanted = "nothing changes" + (f" except {', '.join(map(_exempt_in_words, check.exempt))}" if check.exempt else "")
    try:
        end = context.end
        for exempt in check.exempt:
            end.refuse_unknown(exempt.table)
    except MapsatError as error:
        return error_finding(error, wanted)
    standing = [(change, [_is_exempt(change, exempt, context) for exempt in check.exempt]) for change in end.changes]
    other = [change for change, exempts in standing if not any(exempts) and None not in exempts]
    if other:
        rows = first_few([f"{change.table} {change.id}" for change in other])
        lines = _side_by_side(other)
        return Finding(False, f"{_rows(len(other))} changed that should not have: {rows}", wanted, compared=lines)
    if altered := sorted(end.altered - {exempt.table for exempt in check.exempt}):
        return Finding(False, f"rows changed that should not have: {end.unclear[altered[0]]}", wanted)
    unsure = "it is unclear whether the changed rows are those that may change"
    if end.unclear or any(not any(exempts) for _, exempts in standing):
        return Finding(None, first_few([*end.unclear.values()], "; ") or unsure, wanted)
    unwatched = f" (not watched: {first_few(end.unwatched)})" if end.unwatched else ""
    if not end.changes:
        idle = not check.exempt
        why = "nothing changed" + (", and nothing had to change" if idle else "")
        return Finding(True, why + unwatched, wanted, idle=idle)
    return Finding(True, f"{_rows(len(end.changes))} changed, as allowed{unwatched}", wanted)


@judges(SameEnd)
def same_end(check: SameEnd, context: JudgedDialogue) -> Finding:
    """Judge whether the episode ends in the same state as the reference."""
    del check
    wanted = "the episode ends as it does after the reference calls"
    try:
        reference, changes = context.reference, context.end.changes
        for why in context.end.unclear.values():
            raise UnknownEndError(why)
    except MapsatError as error:
        return error_finding(error, wanted)
    if reference is None:
        return _broken("the case has no reference: give truth.end", wanted)
    if reference.problem:
        return _broken(reference.problem, wanted)
    differing = list(differences(reference.changes, changes))
    if differing:
        places = list(
            dict.fromkeys(
                f"{difference.table} {difference.row}" + (f" {difference.column}" if difference.column else "")
                for difference in differing
            )
        )
        lines = (("reference", "episode"), *(difference.sides for difference in differing[:_COMPARED]))
        why = f"the end differs from the reference in {first_few(places)}"
        # The reference has all events: an end without one of them may differ for that alone.
        events = context.case.world.events if context.case is not None else ()
        late = [lacks for _, lacks in context.trajectory.lacking(events)]
        return Finding(None if late else False, "; ".join((why, *late[:1])), wanted, compared=lines)
    if not reference.changes and not changes:
        return Finding(True, "nothing had to change, and nothing did", wanted, idle=True)
    return Finding(True, f"the end equals the reference: {_rows(len(changes))} changed", wanted)


def _broken(why: str, wanted: str) -> Finding:
    """Return an undecided finding for a mistake in the case."""
    return Finding(None, why, wanted, broken=True)


def error_finding(error: MapsatError, wanted: str) -> Finding:
    """Return an undecided finding for an error; the error counts as a mistake in the case unless the end state is merely unknown."""
    return Finding(None, str(error), wanted, broken=not isinstance(error, UnknownEndError))


def _never_there(check: EndState, context: JudgedDialogue) -> str:
    """Return an id in ``where`` that no row ever had, which is a mistake in the case; empty if there is none."""
    end, match = context.end, check.where.get(context.end.key(check.table))
    wanted = [match.value] if isinstance(match, Equal) else [*match.values] if isinstance(match, OneOf) else []
    key = end.key(check.table)
    ids = {str(row.get(key)) for row in (*end.tables[check.table].rows, *end.rows(check.table))}
    ids |= {change.id for act in context.trajectory.acts for change in act.changed if change.table == check.table}
    return next((str(value) for value in wanted if str(value) not in ids), "")


def _is_exempt(change: RowChange, exempt: Exempt, context: JudgedDialogue) -> bool | None:
    """Return whether an exemption allows a change; None if this is unclear."""
    if change.table != exempt.table:
        return False
    sides = [row for row in (change.before, change.after) if row is not None]
    if exempt.columns and (len(sides) < 2 or not set(change.columns) <= set(exempt.columns)):  # noqa: PLR2004  before and after
        return False
    return any_true(fits_row(exempt.where, row, results=context.calls) for row in sides)


def _side_by_side(changes: Iterable[RowChange]) -> tuple[tuple[str, str], ...]:
    """Return changes as lines of a before/after comparison, with a heading; empty if there are none."""
    lines = tuple(islice((line for change in changes for line in change_lines(change)), _COMPARED))
    return (("at the start", "at the end"), *lines) if lines else ()


def _changes_of(table: str, context: JudgedDialogue) -> tuple[tuple[str, str], ...]:
    """Return the changes of one table as lines of a before/after comparison."""
    return _side_by_side(change for change in context.end.changes if change.table == table)


def _rows(count: int) -> str:
    """Return a number of rows in words."""
    return "1 row" if count == 1 else f"{count or 'no'} rows"


def _how_many(low: int, high: int | None) -> str:
    """Return a range of row counts in words."""
    if high is None:
        return f"at least {_rows(low)}" if low else "all rows"
    return _rows(low) if low == high else f"{low} to {_rows(high)}" if low else f"at most {_rows(high)}"


def _where(matches: Mapping[str, Match]) -> str:
    """Return matches as words that begin with "with"; empty if there are none."""
    return f" with {matches_in_words(matches)}" if matches else ""


def _exempt_in_words(exempt: Exempt) -> str:
    """Return an exemption in words."""
    columns = f"{' and '.join(exempt.columns)} in " if exempt.columns else ""
    return f"{columns}{exempt.table}{_where(exempt.where)}"


def _cell(row: Mapping[str, Json], path: str) -> str:
    """Return the values of a row at a path in words; "not there" if there are none."""
    values = [row[path]] if path in row else values_at(row, path)
    return " and ".join(map(shown, values[:SHOWN_AT_MOST])) if values else "not there"
