"""How cost grows: the exponent k of t = a + b n^k, a being what a run costs before its first case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Growth(NamedTuple):
    """Measured points, and the law that fits them best.

    Attributes:
        name: what grew.
        unit: what it is counted in.
        points: size and seconds.
        exponent: k; None where there are too few points to tell.
    """

    name: str
    unit: str
    points: tuple[tuple[float, float], ...]
    exponent: float | None


def grown(name: str, unit: str, points: Sequence[tuple[float, float]]) -> Growth:
    """Return the law of some points: by least squares of the relative errors, k from -2 to 3 in hundredths."""
    listed = tuple(points)
    if len(listed) < 4:
        return Growth(name, unit, listed, None)
    exponents = [step / 100 for step in range(-200, 301) if step]
    return Growth(name, unit, listed, min(exponents, key=lambda exponent: _error(listed, exponent)))


def _error(points: Sequence[tuple[float, float]], exponent: float) -> float:
    """Return the squared relative errors of the best a and b, neither below 0."""
    greatest = max(size for size, _ in points)
    rows = [(1 / seconds, (size / greatest) ** exponent / seconds) for size, seconds in points]
    one, both, power = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    right, left = sum(row[0] for row in rows), sum(row[1] for row in rows)
    whole = one * power - both * both
    a, b = ((right * power - left * both) / whole, (left * one - right * both) / whole) if whole > 1e-12 else (0, 0)
    if a < 0 or b < 0:
        a, b = (0, left / power) if a < 0 else (right / one, 0)
    return sum((a * row[0] + b * row[1] - 1) ** 2 for row in rows)
