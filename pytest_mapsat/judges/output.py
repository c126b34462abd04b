"""The checks on what a reply hands over: its structured output, the ids in it, and its text against a pattern. They are decided exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from pytest_mapsat.formats import object_in
from pytest_mapsat.model import (
    Absent,
    Json,
    JsonObject,
    Match,
    Matches,
    Output,
    Quote,
    Step,
    WhichReply,
    all_true,
    any_true,
    did_you_mean,
    fits_row,
    mismatches,
    shown,
    values_at,
    values_of,
)
from pytest_mapsat.model.match import MAX_VALUES
from pytest_mapsat.sandbox import ReturnedRow, id_text, returned_rows

from .context import Context
from .findings import SHOWN_AT_MOST, Finding, cited, first_few, judges, matches_in_words

#: A wrong id is compared with so many of the ids that were returned.
_HINTED = 1000


class _Missing:
    """Stands in the place of what an element of ``*`` does not have."""

    def __repr__(self) -> str:
        return "missing in an element"


_MISSING = _Missing()


@judges(Output)
def output(check: Output, context: Context) -> Finding:
    """The structured output has, at ``path``, values that match, or ids that a tool returned; without both, it fits the case's schema."""
    if check.equals is None:
        return _fits_schema(check, context) if check.tool is None else _look_up(check, check.tool, context)
    wanted = f"{check.path or 'a structured output'} {check.equals.words()} in {_reply_in_words(check.turn)}"
    given = _given(check.turn, context)
    if not given:
        return Finding(False, _without(check.turn, context), wanted)
    gap = (_MISSING,) if check.missing == "fail" else ()
    values = [value for data in given for value in values_at(data, check.path, gap)]
    if all(value is _MISSING for value in values) and not isinstance(check.equals, Absent):
        return Finding(False, _nothing_there(check.path, given), wanted)
    held = [_holds(check.equals, value, context) for value in values or [None]]
    # What stands behind the values that are read at most is not known.
    passed = (any_true if check.quantifier == "any" else all_true)([*held, *[None][: len(values) // MAX_VALUES]])
    if passed is None:
        return Finding(None, f"it is unclear whether {_listed(values)} is {check.equals.words()}", wanted)
    deciding = values if passed else [value for value, holds in zip(values, held, strict=True) if not holds]
    return Finding(passed, f"{check.path or 'the structured output'} is {_listed(deciding)}", wanted)


def _holds(match: Match, value: Json, context: Context) -> bool | None:
    """Return whether a value at a path fits; where an element does not have the path, ``absent`` does."""
    if value is _MISSING:
        return isinstance(match, Absent)
    return match.fits(value, results=context.calls)


def _fits_schema(check: Output, context: Context) -> Finding:
    """The structured output is there and fits the schema that the case shows."""
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
def matches(check: Matches, context: Context) -> Finding:
    """The pattern is found in the text of a reply."""
    wanted = f"a text that matches {check.pattern}, in {_reply_in_words(check.turn)}"
    for index, turn in context.turns(check.turn):
        if match := check.compiled.search(turn.text):
            start, end = match.span()
            quote = Quote(turn=index, start=start, end=end, text=turn.text[start:end])
            return Finding(True, cited([quote]), wanted, (quote,))
    return Finding(False, f"nothing in {_reply_in_words(check.turn)} matches", wanted)


def _look_up(check: Output, tool: str, context: Context) -> Finding:
    """The entries of the structured output have ids of rows that a tool returned before, and that fit ``where``."""
    lookup = _LookUp(check, tool, context)
    given = [(index, turn.output) for index, turn in context.turns(check.turn) if turn.output is not None]
    if not given:
        return Finding(False, _without(check.turn, context), lookup.wanted)
    findings = [lookup.judged(data, index) for index, data in given]
    return next((finding for finding in findings if finding.passed), findings[-1])


class _LookUp:
    """A look-up of ids, ready to judge the structured output of a reply.

    Attributes:
        wanted: what it asks for, in words.
    """

    def __init__(self, check: Output, tool: str, context: Context) -> None:
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
        """Judge the output of the reply in a turn."""
        must_be_there = self._check.missing == "fail" and not self._check.entry
        values = values_at(data, self._check.path, (_MISSING,) if must_be_there else ())
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
        return Finding(passed, why, self.wanted, missed=missed)

    def _of_matching(self, entries: Sequence[Json], turn: int) -> Finding:
        """Judge the entry that ``entry`` matches."""
        matches, calls = self._check.entry, self._context.calls
        held = [isinstance(entry, Mapping) and fits_row(matches, entry, results=calls) for entry in entries]
        meant = [entry for entry, fit in zip(entries, held, strict=True) if fit is not False]
        words = matches_in_words(matches)
        if None in held:
            return self._finding(None, f"it is unclear which entry of {self._place} has {words}")
        if not meant:
            there = [shown(value) for name in matches for entry in entries for value in _values(entry, name)]
            has = f"; there is {first_few(there)}" if there else ""
            return self._finding(False, f"no entry of {self._place} has {words}{has}")
        if len(meant) > 1:
            return self._finding(False, f"{len(meant)} entries of {self._place} have {words}, expected one")
        return self._of_entry(meant[0], turn)

    def _of_entry(self, entry: Json, turn: int) -> Finding:
        """Judge whether the id of an entry is that of a row that fits."""
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
        held = {fits_row(self._check.where, row.record, results=self._context.calls) for row in rows}
        if len(held) > 1 or None in held:
            return self._finding(None, f"it is unclear whether the row with the {name} {shown(row_id)} fits")
        if True in held:
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
        """Return the rows of an id in the last result up to a turn that has it: earlier rows may have changed since."""
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
        return [step for index, step in self._context.answered if step.tool == tool and index <= turn]

    def _unreturned(self, row_id: str, turn: int) -> Finding:
        """Judge an id that no result of the tool up to a turn has: wrong, unless the record lacks results."""
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
    """Return what an entry has under a name or at a dotted path."""
    return values_of(entry, name) if isinstance(entry, Mapping) and (name in entry or values_at(entry, name)) else []


def _given(which: WhichReply, context: Context) -> list[JsonObject]:
    return [turn.output for _, turn in context.turns(which) if turn.output is not None]


def _without(which: WhichReply, context: Context) -> str:
    """Return words for a reply without structured output: which reply has one, else why the JSON in its text is none."""
    others = [number for number, turn in enumerate(context.trajectory.replies, 1) if turn.output is not None]
    if others:
        return f"{_reply_in_words(which)} has no structured output, but reply {others[-1]} has"
    why = ""
    for _, turn in context.turns(which):
        data, problem, _ = object_in(turn.text)
        unasked = context.visible is not None and not context.visible.output_schema
        told = ": text is read as data where the case has an output_schema" if unasked else ""
        why = problem or (f"its text is JSON, and was not handed over as data{told}" if data is not None else why)
    return "no reply has a structured output" + (f" ({why})" if why else "")


def _nothing_there(path: str, given: Sequence[JsonObject]) -> str:
    """Return words for a path without values: what there is in place of its first missing part."""
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
    return first_few([repr(value) if value is _MISSING else shown(value) for value in values]) if values else "nothing"


def _reply_in_words(which: WhichReply) -> str:
    return {"any": "any reply", "first": "the first reply", "last": "the last reply"}.get(str(which), f"reply {which}")
