"""Which recorded call answers a call: exactly, nearly, cut to what was asked, or not at all.

The stages, and the choice among recordings that conflict, are described in docs/reference/tools.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Literal, NamedTuple

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import (
    LEAST_M_PER_DEGREE,
    MISS_RESULT,
    SAME_POINT_M,
    CutByDistance,
    CutByLabel,
    Difference,
    Json,
    JsonObject,
    Point,
    Provenance,
    ProvenanceKind,
    Recording,
    RowChange,
    Step,
    StepStatus,
    Tool,
    digest,
    distance_m,
    number,
    point_of,
    text_similarity,
    values_at,
)

from .spec import BadArgumentsError, Canonical, Parameter, SpecCall, ToolSpec, spec_of
from .state import fresh

#: The most calls that one recording stands for: synonyms of several parameters multiply.
_MOST_VARIANTS = 64
_KEY_DIGITS = 12


@dataclass(frozen=True)
class SandboxAnswer:
    """The answer of a sandbox to one call.

    Attributes:
        result: JSON data of the caller's own: changing it changes nothing else.
        status: ``ok`` answered; ``miss`` nothing answers; ``refused`` the sandbox will not do it; ``error`` no such tool, or arguments that it
            cannot take.
        provenance: where the result came from; none for an error, which no recording was asked about.
        changed: the rows that the call changed.
        writes: digest of all writes of the episode so far; empty where this call wrote nothing.
    """

    result: Json
    status: StepStatus
    provenance: Provenance | None = None
    changed: tuple[RowChange, ...] = ()
    writes: str = ""

    def step(self, tool: str, arguments: JsonObject, name: str = "", agent: str = "") -> Step:
        """Return the trajectory step of the call with this answer; ``name``: the id of the call, ``agent``: the calling member of a team."""
        return Step(kind="call", id=name, tool=tool, arguments=arguments, agent=agent, **vars(self))


#: blocked: no answer. differs: a preference is another. moved: within metres. worded: the same request in other
#: words. wider, more: made for a greater value or for more members, and must be cut.
Kind = Literal["blocked", "differs", "moved", "worded", "wider", "more"]
_NOTES = {
    "wider": "recorded for more than was asked, and cut to it",
    "more": "recorded for more than was asked, and cut to it",
    "worded": "the same request in other words",
}


class _Deviation(NamedTuple):
    """A parameter that differs between a call and a recording, and the difference."""

    parameter: Parameter
    kind: Kind
    distance: float | None = None
    score: float | None = None
    excess: float = 0.0


def _deviations(spec: ToolSpec, asked: SpecCall, recorded: SpecCall) -> Iterator[_Deviation]:  # noqa: C901  a branch a kind
    """Yield the differences between two calls, in the order of the tool's parameters."""
    for parameter, wanted, value in zip(spec.parameters, asked.values, recorded.values, strict=True):
        if wanted == value:
            continue
        rule, distance, score, excess = parameter.rule, None, None, 0.0
        kind: Kind = "blocked" if parameter.essential else "differs"
        if parameter.lexicon and wanted is not None and value is not None:
            request, other = asked.request(parameter), recorded.request(parameter)
            alike = text_similarity(request.text, other.text) if other.same_as(request) else -1
            if alike >= (rule.near or 0):
                kind, score = "worded", alike
        elif parameter.located:
            distance = _apart_m(wanted, value)
            if distance is not None and distance <= SAME_POINT_M:
                continue
            if distance is not None and distance <= rule.within_m:
                kind = "moved"
        elif wanted is None or value is None:
            kind = "differs" if rule.open else kind
        elif rule.covers and wanted < value:
            kind, excess = "wider", value - wanted
        elif rule.subset and set(wanted) < set(value):
            kind, excess = "more", len(value) - len(wanted)
        yield _Deviation(parameter, kind, distance, score, excess)


def _are_near(places: Iterable[tuple[int, float]], asked: SpecCall, recorded: SpecCall) -> bool:
    """Return whether two calls have each located value within its distance; a quick test before all other comparisons."""
    for index, metres in places:
        here, there = asked.values[index], recorded.values[index]
        if here == there:
            continue
        if here is None or there is None:
            return False
        if type(here[0]) is float and abs(here[1] - there[1]) * LEAST_M_PER_DEGREE > metres:
            return False
        apart = _apart_m(here, there)
        if apart is None or apart > metres:
            return False
    return True


def _apart_m(left: Canonical, right: Canonical) -> float | None:
    """Return the distance of two points, or the largest between two rows of points, in metres; None if not comparable."""
    if left is None or right is None:
        return None
    if type(left[0]) is float and type(right[0]) is float:
        return distance_m(*left, *right)
    here, there = (value if isinstance(value[0], tuple) else (value,) for value in (left, right))
    return max(distance_m(*a, *b) for a, b in zip(here, there, strict=True)) if len(here) == len(there) else None


class RecordingEntry:
    """A recording with one set of arguments that it answers."""

    def __init__(self, recording: Recording, call: SpecCall) -> None:
        self.recording = recording
        self.call = call

    @cached
    def key(self) -> str:
        """Return a short digest of the canonical call and of the writes before it."""
        request = {"tool": self.recording.tool, "values": self.call.values}
        return digest(request | ({"writes": self.recording.writes} if self.recording.writes else {}), _KEY_DIGITS)

    @cached
    def provenance(self) -> Provenance:
        """Return the provenance of an answer that is this recording unchanged."""
        return Provenance(kind="exact", recording=self.key)

    @cached
    def result_digest(self) -> str:
        """Return a digest of the result, which distinguishes conflicting recordings."""
        return digest(self.recording.result)


def recording_key(tool: Tool, recording: Recording) -> str:
    """Return a short digest of a recording's canonical call, equal for equal requests. Raises ValueError if the call is invalid."""
    return RecordingEntry(recording, spec_of(tool).read(recording.arguments, complete=False)).key


class _Candidate(NamedTuple):
    """A recording that may answer, its deviations from the call, and its result without the ``removed`` unrequested items."""

    entry: RecordingEntry
    deviations: tuple[_Deviation, ...] = ()
    result: Json = None
    removed: int = 0

    @property
    def rank(self) -> tuple[int, float, float, float]:
        """Return a sort key: fewest differences, then the shortest distance, the most similar text, the least to cut off."""
        distance = sum(deviation.distance or 0 for deviation in self.deviations)
        unlike = sum(1 - deviation.score for deviation in self.deviations if deviation.score is not None)
        return (
            len(self.deviations),
            round(distance, 1),
            round(unlike, 6),
            sum(deviation.excess for deviation in self.deviations),
        )

    @property
    def blocked(self) -> list[_Deviation]:
        """Return the deviations that prevent the recording from answering."""
        return [deviation for deviation in self.deviations if deviation.kind == "blocked"]

    @property
    def kind(self) -> ProvenanceKind:
        """Return the provenance kind of an answer from this recording: exact, near or composed."""
        kinds = {deviation.kind for deviation in self.deviations}
        return "composed" if self.removed or kinds & {"wider", "more"} else "near" if kinds else "exact"


class Resolver:
    """Answers calls of one tool from the recordings of one case.

    Args:
        tool: the tool.
        recordings: those of it, in the order in which several of one call answer.
        asked: how often each recorded call has answered in the episode, by its key.
        more: what the note adds where there is no recording of the tool.
    """

    def __init__(
        self, tool: Tool, recordings: Sequence[Recording], asked: Counter[str] | None = None, more: str = ""
    ) -> None:
        self.spec = spec_of(tool)
        self._asked: Counter[str] = Counter() if asked is None else asked
        self._more = more
        self._same_places = tuple((index, SAME_POINT_M) for index in self.spec.located)
        self._exact: dict[tuple[Canonical, ...], list[RecordingEntry]] = {}
        self._entries: list[RecordingEntry] = []
        self._unreadable: set[str] = set()
        self._cut_short: list[RecordingEntry] = []
        for recording in recordings:
            try:
                for arguments in _variants(recording):
                    entry = RecordingEntry(recording, self.spec.read(arguments, complete=False))
                    if recording.cut:
                        self._cut_short.append(entry)
                    else:
                        self._entries.append(entry)
                        self._exact.setdefault(self._exact_key(entry.call), []).append(entry)
            except BadArgumentsError as bad:
                self._unreadable.update(bad.problems)

    @cached
    def _alike(self) -> dict[tuple[Canonical, ...], list[RecordingEntry]]:
        """Return the recordings by the key that a near answer must share; built on first use."""
        alike: dict[tuple[Canonical, ...], list[RecordingEntry]] = {}
        for entry in self._entries:
            alike.setdefault(self._alike_key(entry.call), []).append(entry)
        return alike

    def _exact_key(self, call: SpecCall) -> tuple[Canonical, ...]:
        """Return a key of all values of a call; for places, which are compared by distance, only their presence."""
        values = list(call.values)
        for index in self.spec.located:
            values[index] = values[index] is not None
        return tuple(values)

    def _alike_key(self, call: SpecCall) -> tuple[Canonical, ...]:
        """Return a key of the parts that even a near answer must share: essential exact values, and the words of texts."""
        key: list[Canonical] = []
        for parameter, value in zip(self.spec.parameters, call.values, strict=True):
            if parameter.essential and parameter.plain:
                key.append(value)
            elif parameter.essential and parameter.lexicon:
                key.append(None if value is None else call.request(parameter).key)
        return tuple(key)

    def resolve(self, call: SpecCall, writes: str = "") -> SandboxAnswer:
        """Return the answer to a call: from an exact recording, otherwise from a near recording, otherwise a miss.

        Args:
            call: what was asked.
            writes: digest of the writes made before it; only recordings made after the same writes answer.
        """
        return self.exactly(call, writes) or self._nearly(call, writes) or self._miss(call, writes)

    def exactly(self, call: SpecCall, writes: str = "") -> SandboxAnswer | None:
        """Return the answer from the recording of exactly this call; None if there is none. Arguments as for ``resolve``."""
        entries = [
            entry
            for entry in self._exact.get(self._exact_key(call), ())
            if entry.recording.writes == writes and _are_near(self._same_places, call, entry.call)
        ]
        served = self._served(call, map(_Candidate, entries))
        whole = [candidate for candidate in served if not candidate.removed]
        return self._answer(call, whole) if whole else None

    def _nearly(self, call: SpecCall, writes: str) -> SandboxAnswer | None:
        """Return the answer from the nearest recording that can be cut to the request; None if there is none."""
        reached = (
            self._candidate(call, entry)
            for entry in self._alike.get(self._alike_key(call), ())
            if entry.recording.writes == writes and _are_near(self.spec.reach, call, entry.call)
        )
        candidates = sorted((near for near in reached if not near.blocked), key=lambda candidate: candidate.rank)
        while candidates:
            best = [candidate for candidate in candidates if candidate.rank == candidates[0].rank]
            if served := self._served(call, best):
                return self._answer(call, served)
            candidates = candidates[len(best) :]
        return None

    def _candidate(self, call: SpecCall, entry: RecordingEntry) -> _Candidate:
        """Return a recording as a candidate, with its deviations from a call."""
        return _Candidate(entry, tuple(_deviations(self.spec, call, entry.call)))

    def _served(self, call: SpecCall, candidates: Iterable[_Candidate]) -> list[_Candidate]:
        """Return the candidates with their results cut to the request, except candidates that cannot be cut."""
        cut = (self._cut(call, candidate) for candidate in candidates)
        return [candidate for candidate in cut if not isinstance(candidate, str)]

    def _cut(self, call: SpecCall, candidate: _Candidate) -> _Candidate | str:
        """Return a candidate with its result cut to the request, or a text that explains why this is impossible."""
        recorded = candidate.entry.call
        result, removed = candidate.entry.recording.result, 0
        for index, parameter in self.spec.cutters:
            asked, made_for, outside = call.values[index], recorded.values[index], 0
            if asked is None or made_for is None:
                continue
            try:
                if parameter.rule.covers and candidate.deviations:
                    circle = self._circle(parameter.rule.covers, asked, made_for, call, recorded)
                    if circle.narrower or circle.moved:
                        result, outside = _cut_to_circle(result, parameter.rule.covers, circle)
                elif parameter.rule.subset:
                    result, outside = _cut_to_labels(result, parameter.rule.subset, asked, made_for)
            except _CannotCutError as reason:
                return str(reason)
            removed += outside
        return candidate._replace(result=result, removed=removed)

    def _circle(
        self, rule: CutByDistance, asked: float, made_for: float, call: SpecCall, recorded: SpecCall
    ) -> _Circle:
        """Return the requested circle, and its difference from the recorded circle."""
        centre = next((at for at in self.spec.located if self.spec.parameters[at].name == rule.centre), None)
        here, there = (None, None) if centre is None else (call.values[centre], recorded.values[centre])
        return _Circle(here, asked, _apart_m(here, there) or 0.0, narrower=asked < made_for)

    def _answer(self, call: SpecCall, served: Sequence[_Candidate]) -> SandboxAnswer:
        """Return the answer on which most recordings of the call agree; on a tie, the one with the smallest digest.

        Several recordings of one call answer in their order, one each time, and the last one from then on: what is polled changes.
        """
        chosen, conflicting = served[0], 1
        if len(served) > 1:
            agree = Counter(candidate.entry.result_digest for candidate in served)
            by_digest = [
                (item.removed, -agree[item.entry.result_digest], item.entry.result_digest, item) for item in served
            ]
            chosen = min(by_digest, key=lambda standing: (*standing[:3], standing[3].entry.key))[3]
            of_call = [item for item in served if not item.deviations or item.entry.key == chosen.entry.key]
            others = {item.entry.result_digest for item in served if item not in of_call}
            in_order = list({id(item.entry.recording): item for item in of_call}.values())
            conflicting += len(others - {chosen.entry.result_digest})
            key = in_order[0].entry.key
            chosen = in_order[min(self._asked[key], len(in_order) - 1)]
            self._asked[key] += 1
        if not chosen.deviations and not chosen.removed and conflicting == 1:
            return SandboxAnswer(fresh(chosen.result), "ok", chosen.entry.provenance)
        provenance = Provenance(
            kind=chosen.kind,
            recording=chosen.entry.key,
            differences=tuple(
                _difference(item, call, chosen.entry.call, _NOTES.get(item.kind, "")) for item in chosen.deviations
            ),
            candidates=conflicting,
            note=f"{chosen.removed} of the recorded items lie outside what was asked" if chosen.removed else "",
        )
        return SandboxAnswer(fresh(chosen.result), "ok", provenance)

    def _miss(self, call: SpecCall, writes: str) -> SandboxAnswer:
        """Return the answer "miss" to a call, with a note on why the nearest recording cannot answer."""
        name = self.spec.tool.name
        unread = f"; recordings that cannot be read: {'; '.join(sorted(self._unreadable))}" if self._unreadable else ""
        short = next((entry for entry in self._cut_short if not self._candidate(call, entry).blocked), None)
        entries = [entry for entry in self._entries if entry.recording.writes == writes]
        key, differences = "" if short is None else short.key, tuple[Difference, ...]()
        if short is not None:
            note = f"the recording of {name} that would answer holds a part of its result only, and is never served"
        elif not entries:
            note = f"the case has no recording of {name}{unread}{self._more}"
        else:
            nearest = self._nearest(call, entries)
            cut = "" if nearest.blocked else self._cut(call, nearest)
            why = f": {cut}" if cut and isinstance(cut, str) else ""
            key = nearest.entry.key
            differences = tuple(
                _difference(item, call, nearest.entry.call) for item in nearest.blocked or nearest.deviations
            )
            note = f"the nearest of {len(entries)} recordings of {name} does not answer this{why}{unread}"
        provenance = Provenance(kind="miss", recording=key, differences=differences, candidates=0, note=note)
        return SandboxAnswer(fresh(MISS_RESULT), "miss", provenance)

    def _nearest(self, call: SpecCall, entries: Iterable[RecordingEntry]) -> _Candidate:
        """Return the recording with the fewest obstacles; if equal, the most similar in words, then the closest in distance."""
        candidates = [
            (len(rival.blocked), len(rival.deviations), rival) for rival in (self._candidate(call, e) for e in entries)
        ]
        fewest = min(candidate[:2] for candidate in candidates)

        def remoteness(candidate: _Candidate) -> tuple[float, float, str]:
            """Return a sort key for a candidate: its difference in words, its distance, then its key."""
            unlike = sum(1 - (_score(rival, call, candidate.entry.call) or 0) for rival in candidate.deviations)
            distance = sum(rival.distance or 0 for rival in candidate.deviations)
            return round(unlike, 6), round(distance, 1), candidate.entry.key

        return min((rival for *obstacles, rival in candidates if tuple(obstacles) == fewest), key=remoteness)


def _variants(recording: Recording) -> Iterator[JsonObject]:
    """Yield the arguments of a recording in all combinations with its declared synonyms, up to a limit."""
    names = sorted(recording.synonyms)
    values = [(recording.arguments.get(name), *recording.synonyms[name]) for name in names]
    for choice in islice(product(*values), _MOST_VARIANTS):
        yield recording.arguments | dict(zip(names, choice, strict=True)) if names else recording.arguments


def _difference(deviation: _Deviation, asked: SpecCall, recorded: SpecCall, note: str = "") -> Difference:
    """Return a deviation as a difference in the trajectory, with both original values."""
    parameter, score = deviation.parameter, _score(deviation, asked, recorded)
    return Difference(
        parameter=parameter.name,
        asked=fresh(parameter.written(asked.arguments)),
        recorded=fresh(parameter.written(recorded.arguments)),
        score=None if score is None else round(score, 4),
        distance_m=None if deviation.distance is None else round(deviation.distance, 1),
        note=note,
    )


def _score(deviation: _Deviation, asked: SpecCall, recorded: SpecCall) -> float | None:
    """Return how similar the texts of a parameter are in two calls; None if one side has no text."""
    parameter = deviation.parameter
    if deviation.score is not None or parameter.lexicon is None:
        return deviation.score
    wanted, recorded_text = parameter.written(asked.arguments), parameter.written(recorded.arguments)
    return text_similarity(str(wanted), str(recorded_text)) if wanted and recorded_text else None


class _CannotCutError(Exception):
    """A recorded result cannot be cut to the request; the message gives the reason."""


class _Circle(NamedTuple):
    """The requested circle, how far its centre is ``moved`` from the recorded centre, and whether it is ``narrower``."""

    centre: Point | None
    radius: float
    moved: float
    narrower: bool


def _cut_to_circle(result: Json, rule: CutByDistance, circle: _Circle) -> tuple[Json, int]:
    """Return a result without the items outside the circle, and the number of removed items; the rest is shared with the recording.

    A list for a greater radius that gives distances may be cut only where it is sorted by them: then it holds the nearest first, and
    nothing nearer is missing. Where the result holds no such list there is nothing that could lie outside.
    """
    items = _at(result, rule.items)
    if not isinstance(items, list):
        return result, 0
    if circle.narrower and rule.distance is not None:
        distances = [number(_at(item, rule.distance)) for item in items]
        known = [distance for distance in distances if distance is not None]
        if len(known) < len(distances):
            raise _CannotCutError(f"its items do not all have a {rule.distance}")
        if known != sorted(known):
            raise _CannotCutError(f"its items are not sorted by {rule.distance}")
    kept = [item for item in items if _is_inside(item, rule, circle)]
    removed = len(items) - len(kept)
    if removed and not kept and rule.distance is None:
        raise _CannotCutError("none of its items lies within what was asked, and the list may be incomplete")
    if removed:
        result = _with(result, rule.items, kept)
        count = _at(result, rule.count) if rule.count else None
        if rule.count and count is not None:  # as text where it was text
            result = _with(result, rule.count, str(len(kept)) if isinstance(count, str) else len(kept))
    return result, removed


def _is_inside(item: Json, rule: CutByDistance, circle: _Circle) -> bool:
    """Return whether an item surely lies in the circle: by its own point, otherwise by its distance plus the centre's shift."""
    apart = number(_at(item, rule.distance)) if rule.distance else None
    own = point_of(_at(item, rule.point)) if rule.point else None
    own = point_of([_at(item, rule.lon), _at(item, rule.lat)]) if rule.lon and rule.lat else own
    if own is None or circle.centre is None:
        return apart is not None and apart + circle.moved <= circle.radius
    by_own_point = distance_m(*own, *circle.centre) <= circle.radius
    return by_own_point and (circle.moved > 0 or apart is None or apart <= circle.radius)


def _cut_to_labels(result: Json, rule: CutByLabel, asked: Iterable[str], recorded: Iterable[str]) -> tuple[Json, int]:
    """Return a result without elements whose labels were not requested, and the number of removed elements; the rest is shared.

    A recording for more members is not cut where one has no label, or where the result has nothing for one that was asked for.
    """
    elements = _at(result, rule.items)
    wanted, made_for = set(asked), set(recorded)
    unlabelled = sorted((wanted | made_for) - set(rule.labels))
    if unlabelled or not isinstance(elements, list):
        if wanted == made_for:
            return result, 0
        raise _CannotCutError(f"its elements have no label for {', '.join(unlabelled) or 'anything'}")
    labels = {rule.labels[member] for member in wanted}
    own_labels = [_label(element, rule.labels.values()) for element in elements]
    if wanted == made_for:
        if all(label is None or label in labels for label in own_labels):
            return result, 0
    elif lacking := sorted(labels - set(own_labels)):
        raise _CannotCutError(f"it holds nothing for {', '.join(lacking)}")
    kept = [element for element, label in zip(elements, own_labels, strict=True) if label in labels]
    return _with(result, rule.items, kept), len(elements) - len(kept)


def _label(element: Json, labels: Iterable[str]) -> str | None:
    """Return the label at the beginning of a text, or of the first text in a list; None if there is none."""
    text = element[0] if isinstance(element, list) and element else element
    return next((label for label in labels if text.startswith(label)), None) if isinstance(text, str) else None


def _at(data: Json, path: str | None) -> Any:
    """Return the value at a dotted path; None if there is none."""
    return next(iter(values_at(data, path or "")), None)


def _with(data: Json, path: str, value: Json) -> Json:
    """Return a copy of data with another value at an existing dotted path; everything else is shared."""
    if not path:
        return value
    key, _, rest = path.partition(".")
    return {**data, key: _with(data[key], rest, value)}
