"""Which recorded call answers a call: exactly, nearly, cut to what was asked, or not at all.

The stages, and the choice among recordings that conflict, are described in docs/sandbox.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

from pytest_mapsat.model import (
    CutByDistance,
    Json,
    JsonObject,
    Provenance,
    ProvenanceKind,
    Recording,
    Tool,
)

from .canonical import Canonical
from .compare import (
    Candidate,
    Deviation,
    Entry,
    apart_m,
    deviations,
    difference,
    nearest_of,
    same_places,
    variants,
    within_reach,
)
from .cutting import CannotCutError, Circle, cut_to_circle, cut_to_labels, fresh
from .geo import band, bands
from .spec import BadArgumentsError, Call, Spec, spec_of

#: What an agent gets when no recording answers; it says nothing of other recordings.
MISS_RESULT: JsonObject = {
    "status": "no_recording",
    "message": "No answer is recorded for this call, so none can be given. It is not a statement about the world.",
}


@dataclass(frozen=True)
class Resolution:
    """An answer, or the fixed result of a miss, with where it came from."""

    result: Json
    provenance: Provenance


class _Served(NamedTuple):
    candidate: Candidate
    result: Json
    removed: int


class Resolver:
    """Answers calls of one tool from the recordings of one case."""

    def __init__(self, tool: Tool, recordings: Sequence[Recording]) -> None:
        self.spec = spec_of(tool)
        self._exact: dict[tuple[Canonical, ...], list[Entry]] = {}
        self._entries: list[Entry] = []
        self._unreadable: set[str] = set()
        self._cut_short: list[Entry] = []
        for recording in recordings:
            self._add(recording)

    def _add(self, recording: Recording) -> None:
        try:
            for arguments in variants(recording):
                entry = Entry(recording, self.spec.read(arguments, complete=False))
                if recording.cut:
                    self._cut_short.append(entry)
                else:
                    self._index(entry)
        except BadArgumentsError as bad:
            self._unreadable.update(bad.problems)

    def _index(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._exact.setdefault(self._exact_key(entry.call), []).append(entry)

    @cached_property
    def _alike(self) -> dict[tuple[Canonical, ...], list[Entry]]:
        """The recordings that may answer nearly; most calls are answered without them."""
        alike: dict[tuple[Canonical, ...], list[Entry]] = {}
        for entry in self._entries:
            if not entry.recording.simulated:
                alike.setdefault(self._alike_key(entry.call), []).append(entry)
        return alike

    def _exact_key(self, call: Call) -> tuple[Canonical, ...]:
        """All values, each place as its band of latitude."""
        values = list(call.values)
        for index in self.spec.located:
            if values[index] is not None:
                values[index] = band(_latitude(values[index]))
        return tuple(values)

    def _exact_keys(self, call: Call) -> Iterator[tuple[Canonical, ...]]:
        """The keys under which recordings of the same places may stand."""
        choices: list[tuple[Canonical, ...]] = [(value,) for value in call.values]
        for index in self.spec.located:
            if call.values[index] is not None:
                choices[index] = bands(_latitude(call.values[index]))
        return product(*choices)

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
            writes: digest of the writes made before it; only recordings made after the same writes answer.
        """
        return self.exactly(call, writes) or self._nearly(call, writes) or self._miss(call, writes)

    def exactly(self, call: Call, writes: str = "") -> Resolution | None:
        """Return the answer of the recording of this very call, None where there is none; arguments as for ``resolve``."""
        entries = [
            entry
            for key in self._exact_keys(call)
            for entry in self._exact.get(key, ())
            if entry.recording.writes == writes and same_places(self.spec, call, entry.call)
        ]
        seen = [entry for entry in entries if not entry.recording.simulated]
        served = self._served(call, [Candidate(entry, ()) for entry in seen or entries])
        whole = [answer for answer in served if not answer.removed]
        return self._answer(call, whole) if whole else None

    def _nearly(self, call: Call, writes: str) -> Resolution | None:
        candidates = [
            Candidate(entry, found)
            for entry in self._alike.get(self._alike_key(call), ())
            if entry.recording.writes == writes
            and within_reach(self.spec, call, entry.call)
            and (found := _bridged(self.spec, call, entry)) is not None
        ]
        candidates.sort(key=lambda candidate: candidate.rank)
        while candidates:
            best = [candidate for candidate in candidates if candidate.rank == candidates[0].rank]
            served = self._served(call, best)
            if served:
                return self._answer(call, served)
            candidates = candidates[len(best) :]
        return None

    def _served(self, call: Call, candidates: Sequence[Candidate]) -> list[_Served]:
        """Return the candidates' results, cut to what was asked; those that cannot be cut are left out."""
        served = []
        for candidate in candidates:
            try:
                served.append(_Served(candidate, *self._cut(call, candidate)))
            except CannotCutError:
                continue
        return served

    def _cut(self, call: Call, candidate: Candidate) -> tuple[Json, int]:
        recorded = candidate.entry.call
        result, removed = candidate.entry.recording.result, 0
        for index, parameter in self.spec.cutters:
            asked, made_for, outside = call.values[index], recorded.values[index], 0
            if asked is None or made_for is None:
                continue
            if parameter.rule.covers and candidate.found:
                circle = self._circle(parameter.rule.covers, asked, made_for, call, recorded)
                if circle.narrower or circle.moved:
                    result, outside = cut_to_circle(result, parameter.rule.covers, circle)
            elif parameter.rule.subset:
                result, outside = cut_to_labels(result, parameter.rule.subset, asked, made_for)
            removed += outside
        return result, removed

    def _circle(self, rule: CutByDistance, asked: float, made_for: float, call: Call, recorded: Call) -> Circle:
        centres = [
            (call.values[index], recorded.values[index])
            for index in self.spec.located
            if self.spec.parameters[index].name == rule.centre
        ]
        here, there = centres[0] if centres else (None, None)
        return Circle(here, asked, apart_m(here, there) or 0.0, narrower=asked < made_for)

    def _answer(self, call: Call, served: Sequence[_Served]) -> Resolution:
        chosen = _choose(served)
        entry = chosen.candidate.entry
        candidates = len({answer.candidate.entry.result_digest for answer in served}) if len(served) > 1 else 1
        if not chosen.candidate.found and not chosen.removed and candidates == 1:
            return Resolution(fresh(chosen.result), entry.provenance)
        provenance = Provenance(
            kind=_kind(chosen),
            recording=entry.key,
            differences=tuple(difference(deviation, call, entry.call) for deviation in chosen.candidate.found),
            candidates=candidates,
            note=f"{chosen.removed} of the recorded items lie outside what was asked" if chosen.removed else "",
        )
        return Resolution(fresh(chosen.result), provenance)

    def _miss(self, call: Call, writes: str) -> Resolution:
        return Resolution(fresh(MISS_RESULT), self._explained(call, writes))

    def _explained(self, call: Call, writes: str) -> Provenance:
        name = self.spec.tool.name
        unread = f"; recordings that cannot be read: {'; '.join(sorted(self._unreadable))}" if self._unreadable else ""
        short = next((one for one in self._cut_short if _bridged(self.spec, call, one) is not None), None)
        if short is not None:
            note = f"the recording of {name} that would answer holds a part of its result only, and is never served"
            return Provenance(kind="miss", recording=short.key, candidates=0, note=note)
        entries = [entry for entry in self._entries if entry.recording.writes == writes]
        if not entries:
            return Provenance(kind="miss", candidates=0, note=f"the case has no recording of {name}{unread}")
        nearest = nearest_of(self.spec, call, entries)
        blocked = [deviation for deviation in nearest.found if deviation.kind == "blocked"]
        note = "" if blocked else self._why_uncut(call, nearest)
        return Provenance(
            kind="miss",
            recording=nearest.entry.key,
            differences=tuple(
                difference(deviation, call, nearest.entry.call, answered=False)
                for deviation in blocked or nearest.found
            ),
            candidates=0,
            note=f"the nearest of {len(entries)} recordings of {name} does not answer this{note}{unread}",
        )

    def _why_uncut(self, call: Call, candidate: Candidate) -> str:
        try:
            self._cut(call, candidate)
        except CannotCutError as reason:
            return f": {reason}"
        return ": a simulated answer stands for its own call only"


def _latitude(place: Canonical) -> float:
    """Return the latitude of a point, or of the first of several."""
    first = place[0] if isinstance(place[0], tuple) else place
    return float(first[1])


def _kind(served: _Served) -> ProvenanceKind:
    if served.candidate.entry.recording.simulated:
        return "simulated"
    kinds = {deviation.kind for deviation in served.candidate.found}
    if served.removed or kinds & {"wider", "more"}:
        return "composed"
    return "near" if kinds else "exact"


def _bridged(spec: Spec, asked: Call, entry: Entry) -> tuple[Deviation, ...] | None:
    """Return what is not the same where all of it is within tolerance, else None."""
    found = []
    for deviation in deviations(spec, asked, entry.call):
        if deviation.kind == "blocked":
            return None
        found.append(deviation)
    return tuple(found)


def _choose(served: Sequence[_Served]) -> _Served:
    """Return the answer that most recordings agree on; among equals the one with the smallest digest."""
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
