"""What shows of a search in several steps when its oracle is played: hops that it does not fulfil, find nothing or need no other, and questions that give them away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_mapsat.judges import match_in_words
from pytest_mapsat.model import (
    Bound,
    Case,
    Contains,
    ExpectedTool,
    Json,
    Match,
    Step,
    Tool,
    shown,
    values_of,
)
from pytest_mapsat.reports import call_text, cut
from pytest_mapsat.sandbox import FoundValues, fits, holds_evidence, hop_calls, normalise, returned_rows, satisfies
from pytest_mapsat.suite import Remark

#: So many rows of a result are looked at: an agent reads no further.
FIRST_ROWS = 20
_CALL = 120
#: A shorter text stands in most questions by chance.
_SHORTEST = 2
#: Values that count as not given.
_NOTHING: tuple[Json, ...] = (None, "", [], {})


def hop_remarks(case: Case, tools: Mapping[str, Tool], calls: Sequence[Step]) -> Iterator[Remark]:
    """Give what is amiss with the expected tools of a case.

    Args:
        case: the case.
        tools: the tools of its suite.
        calls: those of its oracle, all answered.
    """
    dialogue = _Dialogue(case, tools, calls)
    for index, (expected, own) in enumerate(zip(case.truth.tools, dialogue.fulfilled, strict=True)):
        found = dialogue.of_hop(expected, list(own)) if own else dialogue.unfulfilled(expected)
        for rule, field, message, hint in found:
            place = ("truth", "tools", index, *((field,) if field else ()))
            yield Remark("warning", rule, place, message, hint)


class _Found(NamedTuple):
    rule: str
    field: str
    message: str
    hint: str = ""


class _Dialogue:
    """An oracle's calls, held against the expected tools.

    Attributes:
        fulfilled: for each expected tool the positions of the calls that fulfil it.
    """

    def __init__(self, case: Case, tools: Mapping[str, Tool], calls: Sequence[Step]) -> None:
        self._case, self._tools, self._calls = case, tools, calls
        self.fulfilled = hop_calls(case.truth.tools, calls)
        said = [message.text for message in case.visible.messages]
        self._question = [normalise(text) for text in (*said, case.visible.query)]

    def of_hop(self, expected: ExpectedTool, positions: Sequence[int]) -> Iterator[_Found]:
        """Give what is amiss with an expected tool that the oracle fulfils."""
        yield from self._evidence(expected, positions)
        for name, match in expected.match.items():
            values = [value for at in positions for value in self._held(match, name, at)]
            if named := next((value for value in values if self._in_question(value)), None):
                message = f"{expected.key} needs no earlier result: {shown(named)}, which {name} must hold, stands in the question"
                yield _Found("hop-guessable", "match", message, "leave it out of the question")

    def _evidence(self, expected: ExpectedTool, positions: Sequence[int]) -> Iterator[_Found]:
        tool = self._tools.get(expected.name)
        if tool is None or not expected.evidence_rows:
            return
        if not tool.entities:
            message = f"{expected.key} must find rows, and the tool {tool.name} does not declare where they stand"
            yield _Found("hop-evidence", "evidence", message, "say it in the tool: entities, with items and id")
            return
        results = [self._calls[at].result for at in positions]
        if not any(holds_evidence(expected, tool, result, first=FIRST_ROWS) for result in results):
            below = any(holds_evidence(expected, tool, result) for result in results)
            where = f"only below the first {FIRST_ROWS} rows" if below else "no row of its evidence"
            call = cut(call_text(expected.name, self._calls[positions[0]].arguments), _CALL)
            message = f"the oracle's {call} finds {where}"
            yield _Found("hop-evidence", "evidence", message, "an agent that asks the same cannot do better")
        rows = [row for result in results for row in returned_rows(tool, result)]
        wanted = [row for row in rows if any(fits(evidence.where, row.record) for evidence in expected.evidence_rows)]
        names = {entities.name for entities in tool.entities}
        for row in wanted:
            told = [value for value in (row.id, *(row.record.get(name) for name in names)) if self._in_question(value)]
            if told:
                message = f"the question names evidence of {expected.key}: {shown(told[0])}"
                yield _Found("question-tells", "evidence", message, "an agent can answer without a search")
                return

    def _in_question(self, value: Json) -> bool:
        text = normalise(value) if isinstance(value, str) else ""
        return len(text) >= _SHORTEST and any(text in said for said in self._question)

    def _held(self, match: Match, name: str, at: int) -> Iterator[Json]:
        """Give the earlier values by which an argument of a call fulfils a match that is bound to one."""
        bound = getattr(match, "bound", None)
        if not isinstance(bound, Bound):
            return
        arguments = self._calls[at].arguments
        whole = bound.model_copy(update={"path": ""})
        alone = whole if match is bound else match.model_copy(update={"of": whole})
        for value in FoundValues(self._sources(bound, at)).at(bound.path):
            given = Step(kind="call", tool=bound.tool or "", result=value)
            hops = {bound.call: FoundValues([given])} if bound.call else {}
            if any(
                satisfies(alone, own, arguments=arguments, results=[given], hops=hops)
                for own in values_of(arguments, name)
            ):
                yield value

    def _sources(self, bound: Bound, at: int) -> list[Step]:
        """Return the calls before one whose results a match is bound to."""
        if bound.call is None:
            return [call for call in self._calls[:at] if call.tool == bound.tool]
        keys = [tool.key for tool in self._case.truth.tools]
        return [self._calls[other] for other in self.fulfilled[keys.index(bound.call)] if other < at]

    def unfulfilled(self, expected: ExpectedTool) -> Iterator[_Found]:
        """Give why no call of the oracle fulfils an expected tool; nothing where that is for another one, which it waits for."""
        keys = [tool.key for tool in self._case.truth.tools]
        if any(not self.fulfilled[keys.index(key)] for key in expected.waits_for):
            return
        own = [at for at, call in enumerate(self._calls) if call.tool == expected.name]
        subject = f"the oracle does not fulfil {expected.key}"
        if not own:
            yield _Found("oracle-tools", "", f"{subject}: it never calls {expected.name}")
            return
        for name in expected.required:
            if all(self._calls[at].arguments.get(name) in _NOTHING for at in own):
                yield _Found("oracle-tools", "required", f"{subject}: no call of {expected.name} gives {name}")
                return
        for name, match in expected.match.items():
            if all(self._holds(match, name, at) is False for at in own):
                asked = [shown(value) for at in own for value in values_of(self._calls[at].arguments, name)]
                message = f"{subject}: {name} is {' or '.join(dict.fromkeys(asked))}, expected {match_in_words(match)}"
                part = isinstance(match, Bound) and any(
                    self._holds(Contains(op="contains", of=match), name, at) for at in own
                )
                hint = "bound means equal: {op: contains, of: {op: bound, ...}} takes a text that has it in it"
                yield _Found("oracle-tools", "match", message, hint if part else "")
                return
        after = f" after {' and '.join(expected.after)}" if expected.after else ""
        yield _Found("oracle-tools", "", f"{subject}: no call of {expected.name} keeps all of its rules{after}")

    def _holds(self, match: Match, name: str, at: int) -> bool | None:
        arguments, keys = self._calls[at].arguments, [tool.key for tool in self._case.truth.tools]
        hops = {
            key: FoundValues(self._calls[other] for other in positions if other < at)
            for key, positions in zip(keys, self.fulfilled, strict=True)
        }
        held = {
            satisfies(match, value, arguments=arguments, results=self._calls[:at], hops=hops)
            for value in values_of(arguments, name)
        }
        return True if True in held else None if None in held else False
