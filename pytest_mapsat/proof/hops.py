"""What a played oracle shows of a search in several steps: hops that it does not fulfil, that find nothing or that need no other, and questions that give them away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mapsat.judges import match_in_words
from pytest_mapsat.model import Bound, Case, Contains, ExpectedTool, Step, Tool, shown, values_of
from pytest_mapsat.reports import call_text, cut
from pytest_mapsat.sandbox import FoundValues, fits, holds_evidence, hop_calls, normalise, returned_rows
from pytest_mapsat.suite import Remark

#: How many rows of a result count: an agent reads no further.
FIRST_ROWS = 20
_CALL = 120
#: The shortest text that counts as given away: shorter ones are in most questions by chance.
_SHORTEST = 2


def hop_remarks(case: Case, tools: Mapping[str, Tool], calls: Sequence[Step]) -> Iterator[Remark]:
    """Give the problems of the expected tools of a case.

    Args:
        case: the case.
        tools: the tools of its suite.
        calls: those of its oracle, all answered.
    """
    dialogue = _Dialogue(case, calls)
    for index, (expected, positions) in enumerate(zip(case.truth.tools, dialogue.fulfilled, strict=True)):
        hop = [calls[at] for at in positions]
        if hop:
            problems = [
                *dialogue.guessable(expected, positions),
                *dialogue.evidence(expected, tools[expected.name], hop),
            ]
        else:
            problems = [*dialogue.unfulfilled(index, expected)]
        for rule, field, message, hint in problems:
            yield Remark("warning", rule, ("truth", "tools", index, *field), message, hint)


#: Rule, place in the expected tool, message, hint.
_Problem = tuple[str, tuple[str, ...], str, str]


class _Dialogue:
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
        """Return whether the question has a text, given in normal form."""
        return len(form) >= _SHORTEST and form in self._question

    def guessable(self, expected: ExpectedTool, positions: Mapping[int, int]) -> Iterator[_Problem]:
        """Give the values that a hop should take from an earlier one and that the question has, too."""
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
        """Return what a match is bound to, before a call."""
        if bound.call is None:
            return FoundValues(call for call in self._calls[:at] if call.tool == bound.tool)
        index = [tool.key for tool in self._tools].index(bound.call)
        return FoundValues(self._calls[other] for other in self.fulfilled[index] if other < at)

    def evidence(self, expected: ExpectedTool, tool: Tool, hop: Sequence[Step]) -> Iterator[_Problem]:
        """Give the problems of the rows that a hop must find."""
        field, results = ("evidence",), [call.result for call in hop]
        if not expected.evidence_rows:
            return
        if not tool.entities:
            message = f"{expected.key} must find rows, and the tool {tool.name} does not declare where they stand"
            yield "hop-evidence", field, message, "say it in the tool: entities, with items and id"
            return
        if not any(holds_evidence(expected, tool, result, first=FIRST_ROWS) for result in results):
            below = any(holds_evidence(expected, tool, result) for result in results)
            where = f"only below the first {FIRST_ROWS} rows" if below else "no row of its evidence"
            message = f"the oracle's {cut(call_text(expected.name, hop[0].arguments), _CALL)} finds {where}"
            yield "hop-evidence", field, message, "an agent that asks the same cannot do better"
        names = {entities.name for entities in tool.entities}
        rows = [row for result in results for row in returned_rows(tool, result)]
        wanted = [row for row in rows if any(fits(evidence.where, row.record) for evidence in expected.evidence_rows)]
        texts = [text for row in wanted for text in (row.id, *map(row.record.get, names)) if isinstance(text, str)]
        given_away = next((text for text in texts if self._asks(normalise(text))), None)
        if given_away is not None:
            message = f"the question names evidence of {expected.key}: {shown(given_away)}"
            yield "question-tells", field, message, "an agent can answer without a search"

    def unfulfilled(self, index: int, expected: ExpectedTool) -> Iterator[_Problem]:
        """Give why no call of the oracle fulfils an expected tool; nothing where the reason is another one that it waits for."""
        keys = [tool.key for tool in self._tools]
        if any(not self.fulfilled[keys.index(key)] for key in expected.waits_for):
            return
        own = [call for call in self._calls if call.tool == expected.name]
        missing = next((name for name in expected.required if not self._keeps(index, required=(name,))), None)
        name, match = next(
            ((name, match) for name, match in expected.match.items() if not self._keeps(index, match={name: match})),
            (None, None),
        )
        subject, rule = f"the oracle does not fulfil {expected.key}", "oracle-tools"
        if not own:
            yield rule, (), f"{subject}: it never calls {expected.name}", ""
        elif missing is not None:
            yield rule, ("required",), f"{subject}: no call of {expected.name} gives {missing}", ""
        elif name is not None and match is not None:
            asked = dict.fromkeys(shown(value) for call in own for value in values_of(call.arguments, name))
            message = f"{subject}: {name} is {' or '.join(asked)}, expected {match_in_words(match)}"
            hint = "bound means equal: {op: contains, of: {op: bound, ...}} takes a text that contains it"
            part = isinstance(match, Bound) and self._keeps(index, match={name: Contains(op="contains", of=match)})
            yield rule, ("match", name), message, hint if part else ""
        else:
            after = f" after {' and '.join(expected.after)}" if expected.after else ""
            yield rule, (), f"{subject}: no call of {expected.name} keeps all of its rules{after}", ""

    def _keeps(self, index: int, **rules: Any) -> bool:
        """Return whether a call of the oracle would fulfil an expected tool that had these rules only."""
        alone = self._tools[index].model_copy(update={"required": (), "match": {}, "after": (), **rules})
        return bool(hop_calls([*self._tools[:index], alone, *self._tools[index + 1 :]], self._calls)[index])
