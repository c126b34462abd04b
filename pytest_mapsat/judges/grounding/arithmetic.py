"""Figures that follow from evidence by plain arithmetic, and figures that could."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

from pytest_mapsat.text import Quantity

Derived = Literal["plain", "possible", ""]
#: Sums are made of so many figures at most, and no more different figures are tried.
_SUMMANDS = 3
_MOST_VALUES = 24
_MOST_PEOPLE = 12
#: What is said to be about a value lies within this share of it.
_ABOUT = 0.08
#: Metres that are gone in a minute, slow to fast, by way of travelling: what an agent may estimate a time with.
_PACE: dict[str, tuple[float, float]] = {
    "": (45, 1000), "walking": (45, 105), "cycling": (130, 400), "driving": (150, 1700), "taxi": (150, 1700), "transit": (100, 1500),
}  # fmt: skip


def agrees(said: Quantity, low: float, high: float | None = None, slack: float = 0) -> bool:
    """Return whether a figure as it is said, with honest rounding, can mean a value or a range.

    Args:
        said: the figure.
        low: the value, or the least of a range.
        high: the greatest of the range.
        slack: share of the value by which it may be off besides.
    """
    high = low if high is None else high
    give = said.step / 2 + slack * abs(high) + 1e-6
    if said.approx == "about":
        give += _ABOUT * abs(said.value)
        return low <= said.value + give and high >= said.value - give
    if said.approx == "at_most":
        return low <= said.high + give
    if said.approx == "at_least":
        return high >= said.low - give
    return low <= said.high + give and high >= said.low - give


def follows(said: Quantity, values: Sequence[float], people: Iterable[int]) -> Derived:
    """Return whether a figure is a sum, a multiple, a share or a difference of known values.

    Args:
        said: the figure.
        values: what is known of the things in play, in the unit of the figure, without what was said of the user's limits.
        people: for how many people it is known to be.
    """
    few = sorted(set(values))[:_MOST_VALUES]
    known = sorted({number for number in people if 1 < number <= _MOST_PEOPLE})
    sums = [sum(chosen) for size in range(1, _SUMMANDS + 1) for chosen in combinations(few, size)]
    if said.unit == "yuan":
        if any(agrees(said, number * value) or agrees(said, value / number) for number in known for value in sums):
            return "plain"
        if said.role == "total" and any(agrees(said, value) for value in sums[len(few) :]):
            return "plain"
    if said.role == "saving" and any(agrees(said, abs(one - other)) for one, other in combinations(few, 2)):
        return "plain"
    guesses = range(2, _MOST_PEOPLE + 1) if said.unit == "yuan" else range(2, 4)
    possible = [*sums[len(few) :], *(abs(one - other) for one, other in combinations(few, 2))]
    possible += [result for value in few for number in guesses for result in (value * number, value / number)]
    return "possible" if any(agrees(said, value) for value in possible) else ""


def could_take(said: Quantity, metres: Iterable[float]) -> bool:
    """Return whether a time may be estimated from one of the distances."""
    slow, fast = _PACE.get(said.mode, _PACE[""])
    return said.unit == "min" and any(said.low * slow <= far <= said.high * fast for far in metres)
