"""What a suite could add so that the calls that missed in a saved run are answered: synonyms that are proved, recordings to fill in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import Difference, JsonObject, ParameterMatch, Recording, Run, Step, Tool, canonical_json
from pytest_mapsat.reports import call_text, printable
from pytest_mapsat.sandbox import RecordedSandbox, recording_key
from pytest_mapsat.suite import Suite

#: What a recording says in the place of the answer that nobody has recorded: no JSON, so that no suite is read with it.
FILL_IN = "<the answer of your service>"
_BY_WORDS = ("text", "place", "enum", "set")


@dataclass
class Offer:
    """A call that missed, and what would answer it.

    Attributes:
        case: the case.
        tool: the tool.
        arguments: what was asked.
        times: how often it missed.
        note: why no recording answered.
        differences: what keeps the nearest recording from answering.
        synonym: parameter, the recorded words, the words asked for: declared as synonyms they make the recording answer.
        at: where the tool is described.
    """

    case: str
    tool: str
    arguments: JsonObject
    times: int = 1
    note: str = ""
    differences: tuple[Difference, ...] = ()
    synonym: tuple[str, str, str] | None = None
    at: str = ""

    def lines(self) -> Iterator[str]:
        """Yield what a person reads, the lines to paste included."""
        again = f", {self.times} times" if self.times > 1 else ""
        yield f"case {self.case}: {printable(call_text(self.tool, self.arguments))}{again}"
        for one in self.differences:
            apart = f", {one.distance_m:g} m apart" if one.distance_m is not None else ""
            alike = f", {one.score:.0%} alike" if one.score is not None else ""
            yield f"  {one.parameter}: asked {_shown(one.asked)}, the nearest recording has {_shown(one.recorded)}{apart}{alike}"
        if not self.differences and self.note:
            yield f"  {printable(self.note)}"
        if self.synonym is not None:
            parameter, recorded, asked = self.synonym
            yield f"  if they mean the same, in {self.at} below match.{parameter}.synonyms:"
            yield f"    {_shown(recorded)}: [{_shown(asked)}]"
        yield "  else, in recordings/*.jsonl, with the answer filled in:"
        yield f"    {self.recording()}"

    def recording(self) -> str:
        """Return the line of a recording, with a place for the answer."""
        head = json.dumps({"case": self.case, "tool": self.tool, "arguments": self.arguments}, ensure_ascii=False)
        return f'{head[:-1]}, "result": {FILL_IN}}}'

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        synonym = None
        if self.synonym is not None:
            parameter, recorded, asked = self.synonym
            synonym = {"parameter": parameter, "synonyms": {recorded: [asked]}, "file": self.at}
        return {
            "case": self.case,
            "tool": self.tool,
            "arguments": self.arguments,
            "times": self.times,
            "note": self.note,
            "differences": [one.to_json() for one in self.differences],
            "synonym": synonym,
        }


@dataclass
class _Found:
    """The misses of a run by case and canonical call."""

    offers: dict[tuple[str, str, str], Offer] = field(default_factory=dict)

    def add(self, case: str, step: Step, key: str) -> None:
        known = self.offers.get((case, step.tool, key))
        if known is not None:
            known.times += 1
            return
        provenance = step.provenance
        self.offers[case, step.tool, key] = Offer(
            case=case,
            tool=step.tool,
            arguments=step.arguments,
            note=provenance.note if provenance else "",
            differences=provenance.differences if provenance else (),
        )


def offers_of(run: Run, suites: Sequence[Suite]) -> list[Offer]:
    """Return an offer for each call that missed in a run, by case, tool and arguments.

    A synonym is offered only where it was tried: with it, the suite's recordings answer the call.

    Args:
        run: a run with its trajectories.
        suites: the suites that its cases stand in; misses of other cases are left out.
    """
    homes = {entry.id: suite for suite in suites for file in suite.files() for entry in suite.entries(file)}
    found = _Found()
    for card in run.cases:
        if (suite := homes.get(card.id)) is None:
            continue
        for step in card.trajectory.calls:
            if step.status == "miss" and step.tool in suite.tools:
                found.add(card.id, step, _key(suite.tools[step.tool], card.id, step))
    offers = sorted(found.offers.values(), key=lambda one: (one.case, one.tool, canonical_json(one.arguments)))
    for offer in offers:
        suite = homes[offer.case]
        path, line = suite.tool_places[offer.tool]
        offer.at = f"{shown_path(path)}:{line}"
        offer.synonym = _synonym(offer, suite)
    return offers


def _key(tool: Tool, case: str, step: Step) -> str:
    try:
        return recording_key(tool, Recording(case=case, tool=tool.name, arguments=step.arguments, result=None))
    except ValueError:  # the tool has changed since
        return canonical_json(step.arguments)


def _synonym(offer: Offer, suite: Suite) -> tuple[str, str, str] | None:
    """Return the synonym that makes a recording of the case answer, if one does."""
    tool = suite.tools[offer.tool]
    for one in offer.differences:
        rule = tool.match.get(one.parameter)
        if rule is None or rule.type not in _BY_WORDS or not isinstance(one.asked, str):
            continue
        if not isinstance(one.recorded, str) or not one.recorded or not one.asked:
            continue
        if rule.type == "text" and rule.near is None:
            continue  # only near text knows synonyms
        head = next((head for head, words in rule.synonyms.items() if one.recorded in (head, *words)), one.recorded)
        changed = _with_synonym(tool, one.parameter, rule, head, one.asked)
        if (
            RecordedSandbox({tool.name: changed}, suite.recordings(offer.case)).call(tool.name, offer.arguments).status
            == "ok"
        ):
            return one.parameter, head, one.asked
    return None


def _with_synonym(tool: Tool, parameter: str, rule: ParameterMatch, head: str, word: str) -> Tool:
    synonyms = {**rule.synonyms, head: (*rule.synonyms.get(head, ()), word)}
    match = {**tool.match, parameter: rule.model_copy(update={"synonyms": synonyms})}
    return tool.model_copy(update={"match": match})


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
