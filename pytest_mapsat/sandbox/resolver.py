"""Which recorded call answers a call: exactly, nearly, cut to what was asked, or not at all.

The stages, and the choice among recordings that conflict, are described in docs/sandbox.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Any, Literal, NamedTuple

from pytest_mapsat.model import (
    CutByDistance,
    CutByLabel,
    Difference,
    Json,
    JsonObject,
    Provenance,
    ProvenanceKind,
    Recording,
    Tool,
    digest,
)

from .canonical import (
    LEAST_M_PER_DEGREE,
    SAME_POINT_M,
    Canonical,
    Point,
    band,
    bands,
    distance_m,
    number,
    point,
    text_similarity,
)
from .spec import BadArgumentsError, Call, Parameter, Request, Spec, spec_of


class CannotCutError(Exception):
    """The recorded result does not say enough to be cut; the message says what is lacking."""


class Circle(NamedTuple):
    """What was asked for.

    Attributes:
        centre: its centre, where the call names one.
        radius: metres.
        moved: how far the recorded centre lies from it, metres.
        narrower: whether the recording was made for a greater radius.
    """

    centre: Point | None
    radius: float
    moved: float
    narrower: bool


_CONTAINERS = frozenset((dict, list))


def fresh(value: Json) -> Json:
    """Return a copy of JSON data that shares no list and no object with it."""
    if type(value) is dict:
        copy = value.copy()
        for key, member in value.items():
            if type(member) in _CONTAINERS:
                copy[key] = fresh(member)
        return copy
    if type(value) is list:
        return [fresh(element) if type(element) in _CONTAINERS else element for element in value]
    return value


def cut_to_circle(result: Json, rule: CutByDistance, circle: Circle) -> tuple[Json, int]:
    """Leave all items outside the circle out of the result.

    A list for a greater radius that gives distances may be cut only where it is sorted by them: then it holds the nearest first, and
    nothing nearer is missing. Where the result holds no such list there is nothing that could lie outside.

    Returns:
        the result, which shares what is left with the recorded one, and how many items were left out.

    Raises:
        CannotCutError: the items do not say how far they are, or are not sorted by it.
    """
    items = _at(result, rule.items)
    if not isinstance(items, list):
        return result, 0
    if circle.narrower and rule.distance is not None:
        _check_sorted(items, rule.distance)
    kept = [item for item in items if _inside(item, rule, circle)]
    removed = len(items) - len(kept)
    if removed and not kept and rule.distance is None:
        raise CannotCutError("none of its items lies within what was asked, and the list need not hold all that do")
    if removed:
        result = _followed(_with(result, rule.items, kept), rule.count, len(kept))
    return result, removed


def _check_sorted(items: list[Json], key: str) -> None:
    distances = [number(_at(item, key)) for item in items]
    known = [distance for distance in distances if distance is not None]
    if len(known) < len(distances):
        raise CannotCutError(f"its items do not all have a {key}")
    if known != sorted(known):
        raise CannotCutError(f"its items are not sorted by {key}")


def _inside(item: Json, rule: CutByDistance, circle: Circle) -> bool:
    """Return whether an item is known to lie in the circle: by its own point, else by its distance at the worst."""
    said = number(_at(item, rule.distance)) if rule.distance else None
    own = point(_at(item, rule.point)) if rule.point else None
    own = point([_at(item, rule.lon), _at(item, rule.lat)]) if rule.lon and rule.lat else own
    if own is None or circle.centre is None:
        return said is not None and said + circle.moved <= circle.radius
    by_own_point = distance_m(*own, *circle.centre) <= circle.radius
    return by_own_point and (circle.moved > 0 or said is None or said <= circle.radius)


def _followed(result: Json, path: str | None, count: int) -> Json:
    """Return the result with the new length where it gives one, as text where it was text."""
    before = _at(result, path) if path else None
    if path is None or before is None:
        return result
    return _with(result, path, str(count) if isinstance(before, str) else count)


def _with(data: Json, path: str, value: Json) -> Json:
    """Return the data with another value at a path that exists; all else is shared."""
    if not path:
        return value
    key, _, rest = path.partition(".")
    return {**data, key: _with(data[key], rest, value)}


def cut_to_labels(result: Json, rule: CutByLabel, asked: Iterable[str], recorded: Iterable[str]) -> tuple[Json, int]:
    """Leave all elements whose label was not asked for out of the result.

    Args:
        result: the recorded result.
        rule: where the list stands, and the label of every member.
        asked: the canonical members that were asked for.
        recorded: those that the recording was made for.

    Returns:
        the result, which shares what is left with the recorded one, and how many elements were left out.

    Raises:
        CannotCutError: the recording was made for more, and a member has no label or the result has nothing for one that
            was asked for.
    """
    elements = _at(result, rule.items)
    wanted, made_for = set(asked), set(recorded)
    unlabelled = sorted((wanted | made_for) - set(rule.labels))
    if unlabelled or not isinstance(elements, list):
        if wanted == made_for:
            return result, 0
        raise CannotCutError(f"its elements have no label for {', '.join(unlabelled) or 'anything'}")
    labels = {rule.labels[member] for member in wanted}
    found = [_label(element, rule.labels.values()) for element in elements]
    if wanted == made_for:
        if all(label is None or label in labels for label in found):
            return result, 0
    elif lacking := sorted(labels - set(found)):
        raise CannotCutError(f"it holds nothing for {', '.join(lacking)}")
    kept = [element for element, label in zip(elements, found, strict=True) if label in labels]
    return _with(result, rule.items, kept), len(elements) - len(kept)


def _label(element: Json, labels: Iterable[str]) -> str | None:
    """Return the label that a text, or the first text of a list, begins with."""
    text = element[0] if isinstance(element, list) and element else element
    if not isinstance(text, str):
        return None
    return next((label for label in labels if text.startswith(label)), None)


def _at(data: Json, path: str | None) -> Any:
    """Return what stands at a dotted path of object keys, or None."""
    for key in path.split(".") if path else ():
        if not isinstance(data, dict):
            return None
        data = data.get(key)
    return data


#: blocked: no answer. differs: a preference is another. moved: within metres. worded: the same request in other
#: words. wider, more: made for a greater value or for more members, and must be cut.
Kind = Literal["blocked", "differs", "moved", "worded", "wider", "more"]


class Deviation(NamedTuple):
    """One parameter that is not the same in both calls."""

    parameter: Parameter
    kind: Kind
    distance: float | None = None
    score: float | None = None
    excess: float = 0.0


def deviations(spec: Spec, asked: Call, recorded: Call) -> Iterator[Deviation]:
    """Yield what is not the same, in the order of the tool's parameters."""
    for parameter, wanted, found in zip(spec.parameters, asked.values, recorded.values, strict=True):
        if wanted == found:
            continue
        if parameter.lexicon and wanted is not None and found is not None:
            yield _text(parameter, asked.request(parameter), recorded.request(parameter))
            continue
        deviation = _compared(parameter, wanted, found)
        if deviation is not None:
            yield deviation


def same_places(spec: Spec, asked: Call, recorded: Call) -> bool:
    """Return whether all places are the same, to about a metre."""
    return all(_near(asked.values[index], recorded.values[index], SAME_POINT_M) for index in spec.located)


def within_reach(spec: Spec, asked: Call, recorded: Call) -> bool:
    """Return whether all essential places are within their tolerances; the quickest of all comparisons."""
    return all(_near(asked.values[index], recorded.values[index], metres) for index, metres in spec.reach)


def _near(one: Canonical, other: Canonical, metres: float) -> bool:
    if one == other:
        return True
    if one is None or other is None:
        return False
    if type(one[0]) is float and abs(one[1] - other[1]) * LEAST_M_PER_DEGREE > metres:
        return False
    apart = apart_m(one, other)
    return apart is not None and apart <= metres


def _compared(parameter: Parameter, asked: Canonical, recorded: Canonical) -> Deviation | None:
    if parameter.located:
        return _place(parameter, asked, recorded)
    if parameter.rule.open and (asked is None or recorded is None):
        return Deviation(parameter, "differs")
    if asked is not None and recorded is not None:
        rule = parameter.rule
        if rule.covers and asked < recorded:
            return Deviation(parameter, "wider", excess=recorded - asked)
        if rule.subset and set(asked) < set(recorded):
            return Deviation(parameter, "more", excess=len(recorded) - len(asked))
    return _other(parameter)


def _place(parameter: Parameter, asked: Canonical, recorded: Canonical) -> Deviation | None:
    apart = apart_m(asked, recorded)
    if apart is None:
        return _other(parameter)
    if apart <= SAME_POINT_M:
        return None
    if apart <= parameter.rule.within_m:
        return Deviation(parameter, "moved", distance=apart)
    return _other(parameter, distance=apart)


def _text(parameter: Parameter, asked: Request, recorded: Request) -> Deviation:
    if recorded.same_as(asked):
        score = text_similarity(asked.text, recorded.text)
        if score >= (parameter.rule.near or 0):
            return Deviation(parameter, "worded", score=score)
    return _other(parameter)


def _other(parameter: Parameter, distance: float | None = None) -> Deviation:
    return Deviation(parameter, "blocked" if parameter.essential else "differs", distance)


def apart_m(one: Canonical, other: Canonical) -> float | None:
    """Return how far two points, or the farthest of two rows of points, lie apart, metres; None: not comparable."""
    if one is None or other is None:
        return None
    if type(one[0]) is float and type(other[0]) is float:
        return distance_m(*one, *other)
    here, there = _row(one), _row(other)
    if len(here) != len(there):
        return None
    return max(distance_m(*a, *b) for a, b in zip(here, there, strict=True))


def _row(value: Canonical) -> tuple[Point, ...]:
    return value if isinstance(value[0], tuple) else (value,)


#: The most calls that one recording stands for: synonyms of several parameters multiply.
_MAX_VARIANTS = 64
_KEY_DIGITS = 12


class Entry:
    """A recording under one way of asking for it."""

    def __init__(self, recording: Recording, call: Call) -> None:
        self.recording = recording
        self.call = call

    @cached_property
    def key(self) -> str:
        """A short digest of the canonical call, and of the writes before it."""
        named = {"tool": self.recording.tool, "values": self.call.values}
        return digest(named | ({"writes": self.recording.writes} if self.recording.writes else {}), _KEY_DIGITS)

    @cached_property
    def provenance(self) -> Provenance:
        """The provenance of an answer that is this recording unchanged."""
        return Provenance(kind="simulated" if self.recording.simulated else "exact", recording=self.key)

    @cached_property
    def result_digest(self) -> str:
        """A digest of the result, by which conflicting recordings are told apart."""
        return digest(self.recording.result)


class Candidate(NamedTuple):
    """A recording that may answer, with all in which it differs from the call."""

    entry: Entry
    found: tuple[Deviation, ...]

    @property
    def rank(self) -> tuple[int, float, float, float]:
        """Fewest differences, then the shortest distance, then the most similar text, then the least to cut off."""
        distance = sum(deviation.distance or 0 for deviation in self.found)
        unlike = sum(1 - deviation.score for deviation in self.found if deviation.score is not None)
        return len(self.found), round(distance, 1), round(unlike, 6), sum(deviation.excess for deviation in self.found)


def variants(recording: Recording) -> Iterator[JsonObject]:
    """Yield the recording's arguments, and those with declared synonyms in the place of its values."""
    if not recording.synonyms:
        yield recording.arguments
        return
    names = sorted(recording.synonyms)
    values = [(recording.arguments.get(name), *recording.synonyms[name]) for name in names]
    for choice in islice(product(*values), _MAX_VARIANTS):
        yield recording.arguments | dict(zip(names, choice, strict=True))


_NOTES = {
    "wider": "recorded for more than was asked, and cut to it",
    "more": "recorded for more than was asked, and cut to it",
    "worded": "the same request in other words",
}


def difference(deviation: Deviation, asked: Call, recorded: Call, *, answered: bool = True) -> Difference:
    """Return a deviation in the form of the trajectory, with both values as they were written."""
    parameter = deviation.parameter
    score = _score(deviation, asked, recorded)
    return Difference(
        parameter=parameter.name,
        asked=fresh(parameter.written(asked.arguments)),
        recorded=fresh(parameter.written(recorded.arguments)),
        score=None if score is None else round(score, 4),
        distance_m=None if deviation.distance is None else round(deviation.distance, 1),
        note=_NOTES.get(deviation.kind, "") if answered else "",
    )


def nearest_of(spec: Spec, call: Call, entries: Sequence[Entry]) -> Candidate:
    """Return the recording with the fewest obstacles; among equals the most alike in words, then on the ground."""
    candidates = [Candidate(entry, tuple(deviations(spec, call, entry.call))) for entry in entries]
    fewest = min(map(_obstacles, candidates))
    tied = [candidate for candidate in candidates if _obstacles(candidate) == fewest]
    return min(tied, key=lambda candidate: (*_remoteness(candidate, call), candidate.entry.key))


def _obstacles(candidate: Candidate) -> tuple[int, int]:
    return sum(deviation.kind == "blocked" for deviation in candidate.found), len(candidate.found)


def _remoteness(candidate: Candidate, call: Call) -> tuple[float, float]:
    recorded = candidate.entry.call
    unlike = sum(1 - (_score(deviation, call, recorded) or 0) for deviation in candidate.found)
    return round(unlike, 6), round(sum(deviation.distance or 0 for deviation in candidate.found), 1)


def _score(deviation: Deviation, asked: Call, recorded: Call) -> float | None:
    """Return how alike the texts of a parameter are, or None where it has no text on one side."""
    parameter = deviation.parameter
    if deviation.score is not None or parameter.lexicon is None:
        return deviation.score
    wanted, found = parameter.written(asked.arguments), parameter.written(recorded.arguments)
    return text_similarity(str(wanted), str(found)) if wanted and found else None


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
