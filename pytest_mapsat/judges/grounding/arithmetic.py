"""Figures that follow from evidence by plain arithmetic, and figures that could."""

from __future__ import annotations

from collections.abc import Iterable
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


def follows(said: Quantity, values: Iterable[float], people: Iterable[int]) -> Derived:
    """Return whether a figure is a sum, a multiple, a share or a difference of known values.

    Args:
        said: the figure.
        values: what is known of the things in play, in the unit of the figure, without the user's limits.
        people: for how many people it is known to be.
    """
    few = sorted(set(values))[:_MOST_VALUES]
    known = sorted({number for number in people if 1 < number <= _MOST_PEOPLE})
    single = [float(value) for value in few]
    sums = [sum(chosen) for size in range(2, _SUMMANDS + 1) for chosen in combinations(few, size)]
    apart = [abs(one - other) for one, other in combinations(few, 2)]
    shared = [result for value in (*single, *sums) for number in known for result in (value * number, value / number)]
    plain = {"total": sums, "saving": apart}.get(said.role or "", []) + (shared if said.unit == "yuan" else [])
    if any(agrees(said, value) for value in plain):
        return "plain"
    possible = [*sums, *apart, *shared, *(2 * value for value in single)]
    if said.unit == "yuan" and said.role in ("total", None):
        possible += [value * number for value in (*single, *sums) for number in range(2, _MOST_PEOPLE + 1)]
    if said.role == "per_head":
        possible += [value / number for value in single for number in range(2, _MOST_PEOPLE + 1)]
    return "possible" if any(agrees(said, value) for value in possible) else ""


def could_take(said: Quantity, metres: Iterable[float]) -> bool:
    """Return whether a time may be estimated from one of the distances."""
    slow, fast = _PACE.get(said.mode, _PACE[""])
    return said.unit == "min" and any(said.low * slow <= far <= said.high * fast for far in metres)
