"""One number of one episode, or why there is none; and a verdict's labels, of which only the sound ones become numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_mapsat.model import SOFT_LEVELS, Blame, Factor, ImplicitFactor, Label, Outcome, Verdict


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric of one episode.

    Attributes:
        value: the metric, unrounded; None where it has no value.
        outcome_class: why there is no value: ``not_applicable``, ``unevaluated`` or ``error``; None beside a value.
        why: the reason in words; may be empty beside a value.
    """

    value: float | None
    outcome_class: Outcome | None = None
    why: str = ""


def not_applicable(why: str) -> Measure:
    """Return a measure that this case does not ask for."""
    return Measure(None, "not_applicable", why)


def product(one: Measure, other: Measure) -> Measure:
    """Return the product of two measures, unrounded.

    A factor without a value leaves the product without one. What does not apply outweighs what is not known:
    no judge could give such a product a value.
    """
    if one.value is not None and other.value is not None:
        return Measure(one.value * other.value)
    for outcome in ("not_applicable", "error", "unevaluated"):
        for factor in (one, other):
            if factor.outcome_class == outcome:
                return Measure(None, factor.outcome_class, factor.why)
    raise AssertionError("a measure without a value has a class")  # pragma: no cover


_BINARY_LEVELS = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Reading:
    """The label of one factor as the metrics use it.

    Attributes:
        factor: the factor's id.
        value: 0 or 1, for a soft factor one of the five levels; None where it is not known or does not apply.
        outcome: the label's class; ``passed`` and ``failed`` stand beside a value.
        blame: who is to blame for a missing value or a failure; None where nobody is named.
        why: the reason in words.
        vacuous: whether it holds because the answer makes no such claim.
    """

    factor: str
    value: float | None
    outcome: Outcome
    blame: Blame | None = None
    why: str = ""
    vacuous: bool = False


def index_labels(verdict: Verdict) -> dict[str, Label]:
    """Return the verdict's labels by factor id; labels that contradict each other become one that is not evaluated."""
    labels: dict[str, Label] = {}
    for label in verdict.labels:
        known = labels.setdefault(label.factor, label)
        if (known.outcome, known.value) != (label.outcome, label.value):
            labels[label.factor] = Label(
                factor=label.factor,
                kind=label.kind,
                outcome="unevaluated",
                why="the verdict gives it contradicting labels",
                blame="judge",
            )
    return labels


def read_labels(factors: Sequence[Factor], labels: Mapping[str, Label]) -> tuple[Reading, ...]:
    """Return one reading per factor, in the order of the factors."""
    return tuple(read_label(factor, labels.get(factor.id)) for factor in factors)


def read_label(factor: Factor, label: Label | None) -> Reading:
    """Return what ``label`` says of ``factor``.

    Levels are enforced (MapSatisfyBench 3.3): 0 or 1, and for a soft factor also 0.25, 0.5, 0.75. A label that is missing,
    has another value or contradicts itself is not rounded or guessed: it is unevaluated, and the judge is to blame.
    """
    if label is None:
        return _unread(factor, "the judge gave no label")
    if label.outcome not in ("passed", "failed"):
        blame = label.blame or (None if label.outcome == "not_applicable" else "judge")
        return Reading(factor.id, None, label.outcome, blame, label.why)
    soft = isinstance(factor, ImplicitFactor) and factor.severity == "soft"
    value = label.value
    if value is None and not soft:
        value = 1.0 if label.outcome == "passed" else 0.0
    if value is None:
        return _unread(factor, "the label of a soft factor gives no level")
    if value not in (SOFT_LEVELS if soft else _BINARY_LEVELS):
        return _unread(factor, f"the label's value is {value:g}, which is no level of such a factor")
    if value == (0.0 if label.outcome == "passed" else 1.0):
        return _unread(factor, f"the label says {label.outcome} and {value:g}")
    return Reading(factor.id, value, label.outcome, label.blame, label.why, label.vacuous)


def _unread(factor: Factor, why: str) -> Reading:
    return Reading(factor.id, None, "unevaluated", "judge", why)


def weighted_share(weighted: Iterable[tuple[float, Reading]]) -> Measure:
    """Return sum(w c) / sum(w) over readings, or the class that says why there is none.

    Args:
        weighted: a weight (at least 0) and a reading each. A weight of 0 asks for no label; a reading that does not apply leaves
            numerator and denominator.
    """
    counted = [(weight, reading) for weight, reading in weighted if reading.outcome != "not_applicable"]
    if not counted:
        return not_applicable("no factor applies")
    needed = [(weight, reading) for weight, reading in counted if weight > 0]
    if not needed:
        return not_applicable("all weights are 0")
    unknown = _unknown([reading for _, reading in needed])
    if unknown is not None:
        return unknown
    # Divided by the greatest first, so that no sum of large weights overflows.
    greatest = max(weight for weight, _ in needed)
    total = math.fsum(weight / greatest for weight, _ in needed)
    return Measure(math.fsum(weight / greatest * (reading.value or 0.0) for weight, reading in needed) / total)


def _unknown(readings: Sequence[Reading]) -> Measure | None:
    unknown = [reading for reading in readings if reading.value is None]
    if not unknown:
        return None
    worst = next((reading for reading in unknown if reading.outcome == "error"), unknown[0])
    counted = f"{len(unknown)} of {len(readings)} labels are not known"
    return Measure(None, worst.outcome, f"{counted}; {worst.factor}: {worst.why or worst.outcome}")
