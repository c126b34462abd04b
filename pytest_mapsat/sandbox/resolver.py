"""Which recorded call answers a call: exactly, nearly, cut to what was asked, or not at all.

The stages, and the choice among records that conflict, are described in docs/sandbox.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import NamedTuple

from pytest_mapsat.model import Difference, Json, JsonObject, Provenance, Record, Tool, digest

from .canonical import Canonical
from .compare import Finding, apart_m, findings, same_places
from .cutting import CannotCutError, Circle, cut_to_circle, cut_to_labels, fresh
from .spec import BadArgumentsError, Call, Parameter, Spec

#: What an agent gets when no record answers; it says nothing of other records.
MISS_RESULT: JsonObject = {
    "status": "no_record",
    "message": "No answer is recorded for this call, so none can be given. It is not a statement about the world.",
}
#: A record with many synonyms stands for at most so many calls.
_MAX_VARIANTS = 64
_KEY_DIGITS = 12


class Entry:
    """A record under one way of asking for it."""

    def __init__(self, record: Record, call: Call) -> None:
        self.record = record
        self.call = call

    @cached_property
    def key(self) -> str:
        """A short digest of the canonical call, and of the writes before it."""
        named = {"tool": self.record.tool, "values": self.call.values}
        return digest(named | ({"writes": self.record.writes} if self.record.writes else {}), _KEY_DIGITS)

    @cached_property
    def result_digest(self) -> str:
        """A digest of the result, by which conflicting records are told apart."""
        return digest(self.record.result)


@dataclass(frozen=True)
class Resolution:
    """An answer, or the fixed result of a miss, with where it came from."""

    result: Json
    provenance: Provenance


class _Candidate(NamedTuple):
    entry: Entry
    found: tuple[Finding, ...]

    @property
    def rank(self) -> tuple[int, float, float, float]:
        """Fewest differences, then the shortest distance, then the most similar text, then the least to cut off."""
        distance = sum(finding.distance or 0 for finding in self.found)
        unlike = sum(1 - finding.score for finding in self.found if finding.score is not None)
        return len(self.found), round(distance, 1), round(unlike, 6), sum(finding.excess for finding in self.found)


class _Served(NamedTuple):
    candidate: _Candidate
    result: Json
    removed: int


class Resolver:
    """Answers calls of one tool from the records of one case."""

    def __init__(self, tool: Tool, records: Sequence[Record]) -> None:
        self.spec = Spec(tool)
        self._exact: dict[tuple[Canonical, ...], list[Entry]] = {}
        self._alike: dict[tuple[Canonical, ...], list[Entry]] = {}
        self._entries: list[Entry] = []
        self._unreadable: set[str] = set()
        self._cuts = any(parameter.rule.subset for parameter in self.spec.parameters)
        for record in records:
            self._add(record)

    def _add(self, record: Record) -> None:
        try:
            for arguments in _variants(record):
                self._index(Entry(record, self.spec.read(arguments, complete=False)))
        except BadArgumentsError as bad:
            self._unreadable.update(bad.problems)

    def _index(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._exact.setdefault(self._exact_key(entry.call), []).append(entry)
        if not entry.record.simulated:
            self._alike.setdefault(self._alike_key(entry.call), []).append(entry)

    def _exact_key(self, call: Call) -> tuple[Canonical, ...]:
        """All values but places, which are compared by distance."""
        pairs = zip(self.spec.parameters, call.values, strict=True)
        return tuple([value is None if parameter.located else value for parameter, value in pairs])

    def _alike_key(self, call: Call) -> tuple[Canonical, ...]:
        """What even a near answer must share: essential values without tolerance, and the words of texts."""
        key: list[Canonical] = []
        for parameter, value in zip(self.spec.parameters, call.values, strict=True):
            if parameter.essential and parameter.plain:
                key.append(value)
            elif parameter.essential and parameter.lexicon:
                key.append(None if value is None else call.request(parameter).key)
        return tuple(key)

    def resolve(self, call: Call, writes: str = "") -> Resolution:
        """Return the answer to a call that was read with this tool's spec.

        Args:
            call: what was asked.
            writes: digest of the writes made before it; only records made after the same writes answer.
        """
        return self._exactly(call, writes) or self._nearly(call, writes) or self._miss(call, writes)

    def _exactly(self, call: Call, writes: str) -> Resolution | None:
        entries = [
            entry
            for entry in self._exact.get(self._exact_key(call), ())
            if entry.record.writes == writes and same_places(self.spec, call, entry.call)
        ]
        seen = [entry for entry in entries if not entry.record.simulated]
        served = self._served(call, [_Candidate(entry, ()) for entry in seen or entries])
        whole = [answer for answer in served if not answer.removed]
        return self._answer(call, whole) if whole else None

    def _nearly(self, call: Call, writes: str) -> Resolution | None:
        candidates = [
            _Candidate(entry, found)
            for entry in self._alike.get(self._alike_key(call), ())
            if entry.record.writes == writes and (found := _bridged(self.spec, call, entry)) is not None
        ]
        candidates.sort(key=lambda candidate: candidate.rank)
        while candidates:
            best = [candidate for candidate in candidates if candidate.rank == candidates[0].rank]
            served = self._served(call, best)
            if served:
                return self._answer(call, served)
            candidates = candidates[len(best) :]
        return None

    def _served(self, call: Call, candidates: Sequence[_Candidate]) -> list[_Served]:
        """Return the candidates' results, cut to what was asked; those that cannot be cut are left out."""
        served = []
        for candidate in candidates:
            if not candidate.found and not self._cuts:
                served.append(_Served(candidate, candidate.entry.record.result, 0))
                continue
            result = fresh(candidate.entry.record.result)
            try:
                served.append(_Served(candidate, result, self._cut(call, candidate, result)))
            except CannotCutError:
                continue
        return served

    def _cut(self, call: Call, candidate: _Candidate, result: Json) -> int:
        recorded = candidate.entry.call
        removed = 0
        for parameter, asked, made_for in zip(self.spec.parameters, call.values, recorded.values, strict=True):
            if parameter.rule.covers and candidate.found and asked is not None:
                circle = self._circle(parameter, call, recorded, narrower=asked != made_for)
                if circle.narrower or circle.moved:
                    removed += cut_to_circle(result, parameter.rule.covers, circle)
            if parameter.rule.subset and asked is not None and made_for is not None:
                removed += cut_to_labels(result, parameter.rule.subset, asked, made_for)
        return removed

    def _circle(self, radius: Parameter, call: Call, recorded: Call, *, narrower: bool) -> Circle:
        cut = radius.rule.covers
        names = [parameter.name for parameter in self.spec.parameters]
        centres = [
            one.values[names.index(cut.centre)] if cut and cut.centre in names else None for one in (call, recorded)
        ]
        asked = call.values[names.index(radius.name)]
        return Circle(centres[0], asked, apart_m(*centres) or 0.0, narrower)

    def _answer(self, call: Call, served: Sequence[_Served]) -> Resolution:
        chosen = _choose(served)
        entry, found = chosen.candidate.entry, chosen.candidate.found
        kinds = {finding.kind for finding in found}
        composed = chosen.removed or kinds & {"wider", "more"}
        provenance = Provenance(
            kind="simulated" if entry.record.simulated else "composed" if composed else "near" if found else "exact",
            record=entry.key,
            differences=tuple(_difference(finding, call, entry.call) for finding in found),
            candidates=len({answer.candidate.entry.result_digest for answer in served}) if len(served) > 1 else 1,
            note=f"{chosen.removed} of the recorded items lie outside what was asked and were left out"
            if chosen.removed
            else "",
        )
        result = chosen.result
        return Resolution(fresh(result) if result is entry.record.result else result, provenance)

    def _miss(self, call: Call, writes: str) -> Resolution:
        return Resolution(fresh(MISS_RESULT), self._explained(call, writes))

    def _explained(self, call: Call, writes: str) -> Provenance:
        name = self.spec.tool.name
        unread = f"; records that cannot be read: {'; '.join(sorted(self._unreadable))}" if self._unreadable else ""
        entries = [entry for entry in self._entries if entry.record.writes == writes]
        if not entries:
            return Provenance(kind="miss", candidates=0, note=f"the case has no record of {name}{unread}")
        candidates = (_Candidate(entry, tuple(findings(self.spec, call, entry.call))) for entry in entries)
        nearest = min(candidates, key=_remoteness)
        blocked = [finding for finding in nearest.found if finding.kind == "blocked"]
        note = "" if blocked else self._why_uncut(call, nearest)
        return Provenance(
            kind="miss",
            record=nearest.entry.key,
            differences=tuple(_difference(finding, call, nearest.entry.call) for finding in blocked or nearest.found),
            candidates=0,
            note=f"the nearest of {len(entries)} records of {name} does not answer this{note}{unread}",
        )

    def _why_uncut(self, call: Call, candidate: _Candidate) -> str:
        try:
            self._cut(call, candidate, fresh(candidate.entry.record.result))
        except CannotCutError as reason:
            return f": {reason}"
        return ": a simulated answer stands for its own call only"


def _bridged(spec: Spec, asked: Call, entry: Entry) -> tuple[Finding, ...] | None:
    """Return what is not the same where all of it is within tolerance, else None."""
    found = []
    for finding in findings(spec, asked, entry.call):
        if finding.kind == "blocked":
            return None
        found.append(finding)
    return tuple(found)


def _variants(record: Record) -> Iterator[JsonObject]:
    """Yield the record's arguments, and those with declared synonyms in the place of its values."""
    names = sorted(record.synonyms)
    values = [(record.arguments.get(name), *record.synonyms[name]) for name in names]
    for choice in islice(product(*values), _MAX_VARIANTS):
        yield record.arguments | dict(zip(names, choice, strict=True))


def _choose(served: Sequence[_Served]) -> _Served:
    """Return the answer that most records agree on; among equals the one with the smallest digest."""
    if len(served) == 1:
        return served[0]
    agree: dict[str, int] = {}
    for answer in served:
        name = answer.candidate.entry.result_digest
        agree[name] = agree.get(name, 0) + 1

    def standing(answer: _Served) -> tuple[int, int, str, str]:
        entry = answer.candidate.entry
        return answer.removed, -agree[entry.result_digest], entry.result_digest, entry.key

    return min(served, key=standing)


def _remoteness(candidate: _Candidate) -> tuple[int, int, float, float, str]:
    blocked = [finding for finding in candidate.found if finding.kind == "blocked"]
    unlike = sum(1 - (finding.score or 0) for finding in blocked)
    distance = sum(finding.distance or 0 for finding in blocked)
    return len(blocked), len(candidate.found), round(unlike, 6), round(distance, 1), candidate.entry.key


_NOTES = {
    "wider": "recorded for more than was asked and cut to it",
    "more": "recorded for more than was asked and cut to it",
    "worded": "the same request in other words",
}


def _difference(finding: Finding, asked: Call, recorded: Call) -> Difference:
    parameter = finding.parameter
    return Difference(
        parameter=parameter.name,
        asked=fresh(parameter.written(asked.arguments)),
        recorded=fresh(parameter.written(recorded.arguments)),
        score=None if finding.score is None else round(finding.score, 4),
        distance_m=None if finding.distance is None else round(finding.distance, 1),
        note=_NOTES.get(finding.kind, ""),
    )
