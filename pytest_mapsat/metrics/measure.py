"""One number of one episode, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_mapsat.model import Outcome


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
