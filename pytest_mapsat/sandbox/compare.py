"""How a recorded call differs from the one that was asked, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from .canonical import Canonical, Point
from .geo import LEAST_M_PER_DEGREE, SAME_POINT_M, distance_m
from .spec import Call, Parameter, Spec
from .text import text_similarity
from .words import Request

#: blocked: no answer. differs: a preference is another. moved: within metres. worded: the same request in other
#: words. wider, more: made for a greater value or for more members, and must be cut.
Kind = Literal["blocked", "differs", "moved", "worded", "wider", "more"]


class Finding(NamedTuple):
    """One parameter that is not the same in both calls."""

    parameter: Parameter
    kind: Kind
    distance: float | None = None
    score: float | None = None
    excess: float = 0.0


def findings(spec: Spec, asked: Call, recorded: Call) -> Iterator[Finding]:
    """Yield what is not the same, in the order of the tool's parameters."""
    for parameter, wanted, found in zip(spec.parameters, asked.values, recorded.values, strict=True):
        if wanted == found:
            continue
        if parameter.lexicon and wanted is not None and found is not None:
            yield _text(parameter, asked.request(parameter), recorded.request(parameter))
            continue
        finding = _compared(parameter, wanted, found)
        if finding is not None:
            yield finding


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


def _compared(parameter: Parameter, asked: Canonical, recorded: Canonical) -> Finding | None:
    if parameter.located:
        return _place(parameter, asked, recorded)
    if asked is not None and recorded is not None:
        rule = parameter.rule
        if rule.covers and asked < recorded:
            return Finding(parameter, "wider", excess=recorded - asked)
        if rule.subset and set(asked) < set(recorded):
            return Finding(parameter, "more", excess=len(recorded) - len(asked))
    return _other(parameter)


def _place(parameter: Parameter, asked: Canonical, recorded: Canonical) -> Finding | None:
    apart = apart_m(asked, recorded)
    if apart is None:
        return _other(parameter)
    if apart <= SAME_POINT_M:
        return None
    if apart <= parameter.rule.within_m:
        return Finding(parameter, "moved", distance=apart)
    return _other(parameter, distance=apart)


def _text(parameter: Parameter, asked: Request, recorded: Request) -> Finding:
    if recorded.same_as(asked):
        score = text_similarity(asked.text, recorded.text)
        if score >= (parameter.rule.near or 0):
            return Finding(parameter, "worded", score=score)
    return _other(parameter)


def _other(parameter: Parameter, distance: float | None = None) -> Finding:
    return Finding(parameter, "blocked" if parameter.essential else "differs", distance)


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
