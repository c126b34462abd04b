"""How a recorded call differs from the one that was asked, parameter by parameter, and what a report says of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, product
from typing import Literal, NamedTuple

from pytest_mapsat.model import Difference, JsonObject, Provenance, Recording, digest

from .canonical import Canonical, Point
from .cutting import fresh
from .geo import LEAST_M_PER_DEGREE, SAME_POINT_M, distance_m
from .spec import Call, Parameter, Spec
from .text import Request, text_similarity

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
