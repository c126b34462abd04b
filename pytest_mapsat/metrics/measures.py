"""One number of one episode, or why there is none; and a verdict's labels, of which only the sound ones become numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.model import SOFT_LEVELS, Blame, Bounds, Label, Outcome, Verdict

if TYPE_CHECKING:
    from pytest_mapsat.model import Requirement


class Measure(NamedTuple):
    """One metric of one episode.

    Attributes:
        value: the metric, unrounded; None where it has no value.
        outcome_class: why there is no value: ``not_applicable``, ``unevaluated`` or ``error``; None beside a value.
        why: the reason in words; may be empty beside a value.
        bounds: where unknown labels alone leave it without a value, the least and the most that it can come to.
    """

    value: float | None
    outcome_class: Outcome | None = None
    why: str = ""
    bounds: Bounds | None = None

    @property
    def span(self) -> Bounds | None:
        """The least and the most that it can come to, both its value where it has one; None where nothing is known of it."""
        return self.bounds if self.value is None else (self.value, self.value)


def not_applicable(why: str) -> Measure:
    """Return a measure that this case does not ask for."""
    return Measure(None, "not_applicable", why)


def between(least: float, most: float, why: str) -> Measure:
    """Return a measure that unknown labels leave between two values; where these are one, no label could turn it and it is the value."""
    return Measure(least) if least == most else Measure(None, "unevaluated", why, (least, most))


def share_of(answers: Sequence[bool | None], of_nothing: str) -> Measure:
    """Return the share of answers that are yes, with bounds where some are unknown.

    Args:
        answers: one for each thing that is counted; None: unknown.
        of_nothing: why the measure does not apply where there are no answers.
    """
    if not answers:
        return not_applicable(of_nothing)
    sure, unknown, total = answers.count(True), answers.count(None), len(answers)
    return between(sure / total, (sure + unknown) / total, f"{unknown} of {total} cannot be compared")


def product(left: Measure, right: Measure) -> Measure:
    """Return the product of two measures, none below 0, unrounded.

    Bounds multiply; a measure without any leaves the product without a value. What does not apply outweighs what is not known: no judge could
    give such a product a value.
    """
    here, there = left.span, right.span
    if here is not None and there is not None:
        return between(here[0] * there[0], here[1] * there[1], left.why if left.value is None else right.why)
    worst = min((left, right), key=lambda measure: _GRAVEST.index(measure.outcome_class))
    return Measure(None, worst.outcome_class, worst.why)


_BINARY_LEVELS = (0.0, 1.0)
#: Of two measures without a value the one that stands first here says why a product has none.
_GRAVEST = ("not_applicable", "error", "unevaluated", None)


class Reading(NamedTuple):
    """The label of one requirement as the metrics use it.

    Attributes:
        requirement: the requirement's id.
        value: 0 or 1, for a soft requirement one of the five levels; None where it is not known or does not apply.
        outcome: the label's class; ``passed`` and ``failed`` stand beside a value.
        blame: who is to blame for a missing value or a failure; None where no party is named.
        why: the reason in words.
        nothing_claimed: whether it holds because the answer makes no such claim.
        bounded: whether a missing value leaves the metrics between bounds; if not it is somebody's fault, and leaves them without any.
    """

    requirement: str
    value: float | None
    outcome: Outcome
    blame: Blame | None = None
    why: str = ""
    nothing_claimed: bool = False
    bounded: bool = False

    @property
    def undecided(self) -> bool:
        """Whether the judge looked and cannot say; no party is to blame."""
        return self.outcome == "unevaluated" and self.blame is None


def index_labels(verdict: Verdict) -> dict[str, Label]:
    """Return the verdict's labels by requirement id; labels that contradict each other become one that is not evaluated."""
    labels: dict[str, Label] = {}
    for label in verdict.labels:
        earlier = labels.setdefault(label.requirement, label)
        if earlier is not label and (earlier.outcome, earlier.value) != (label.outcome, label.value):
            labels[label.requirement] = Label(
                requirement=label.requirement,
                kind=label.kind,
                outcome="unevaluated",
                why="the verdict gives it contradicting labels",
                blame="judge",
            )
    return labels


def read_labels(requirements: Iterable[Requirement], labels: Mapping[str, Label]) -> dict[str, Reading]:
    """Return one reading per requirement, by its id, in the order of the requirements."""
    return {
        requirement.id: read_label(requirement.id, labels.get(requirement.id), soft=requirement.kind == "soft")
        for requirement in requirements
    }


def read_label(name: str, label: Label | None, *, soft: bool = False) -> Reading:
    """Return what ``label`` says of what is named so: a requirement, a step, a thing.

    Levels are enforced (MapSatisfyBench 3.3): 0 or 1, and for a soft requirement also 0.25, 0.5, 0.75. A label that is missing,
    has another value or contradicts itself is not rounded or guessed: it is unevaluated, and the judge is to blame.
    """
    if label is None:
        return _unread(name, "the judge gave no label")
    outcome, value = label.outcome, label.value
    if outcome not in ("passed", "failed"):
        blameless = label.undecided or outcome == "not_applicable"
        blame = label.blame or (None if blameless else "judge")
        return Reading(name, None, outcome, blame, label.why, bounded=label.bounded)
    if value is None and not soft:
        value = 1.0 if outcome == "passed" else 0.0
    if value is None:
        return _unread(name, "the label of a soft requirement gives no level")
    if value not in (SOFT_LEVELS if soft else _BINARY_LEVELS):
        return _unread(name, f"the label's value is {value:g}, which is no level of such a requirement")
    if value == (0.0 if outcome == "passed" else 1.0):
        return _unread(name, f"the label says {outcome} and {value:g}")
    return Reading(name, value, outcome, label.blame, label.why, label.nothing_claimed)


def _unread(name: str, why: str) -> Reading:
    return Reading(name, None, "unevaluated", "judge", why)


def weighted_share(weighted: Iterable[tuple[float, Reading]], empty: str = "no requirement applies") -> Measure:
    """Return sum(w c) / sum(w) over readings, or the class that says why there is none.

    It grows with every label, so labels that are not known leave it between its value with all of them 0 and with all of them 1. One of them
    that would turn out not to apply leaves it between these too.

    Args:
        weighted: a weight (at least 0) and a reading each. A weight of 0 asks for no label; a reading that does not apply counts nowhere.
        empty: what is said where none applies.
    """
    weights: list[float] = []
    least: list[float] = []
    most: list[float] = []
    unknown: list[Reading] = []
    for weight, reading in weighted:
        if reading.outcome == "not_applicable":
            continue
        empty = "all weights are 0"
        if weight > 0:
            weights.append(weight)
            least.append(0.0 if reading.value is None else reading.value)
            most.append(1.0 if reading.value is None else reading.value)
            if reading.value is None:
                unknown.append(reading)
    if not weights:
        return not_applicable(empty)
    # Divided by the greatest first, so that no sum of large weights overflows.
    greatest = max(weights)
    weights = [weight / greatest for weight in weights]
    whole = math.fsum(weights)
    lower = math.fsum(map(mul, weights, least)) / whole
    if not unknown:
        return Measure(lower)
    worst = next((reading for reading in unknown if not reading.bounded), unknown[0])
    why = f"{len(unknown)} of {len(weights)} labels are not known; {worst.requirement}: {worst.why or worst.outcome}"
    if not worst.bounded:
        return Measure(None, worst.outcome, why)
    return between(lower, math.fsum(map(mul, weights, most)) / whole, why)
