"""Quantiles of the normal and of Student's distribution, without scipy, which takes a second to import."""

from __future__ import annotations

import math
from functools import lru_cache

# From here on a series in 1/df is exact to more digits than any interval is shown with.
_MANY = 100
_HALVINGS = 60
_FARTHEST = 1e5


def normal_share(z: float) -> float:
    """Return the share of the standard normal distribution below ``z``."""
    return math.erfc(-z / math.sqrt(2)) / 2


@lru_cache(maxsize=256)
def normal_quantile(share: float) -> float:
    """Return what ``share`` of the standard normal distribution lies below; ``share`` is between 0 and 1, both excluded."""
    from statistics import NormalDist  # noqa: PLC0415 - 10 ms

    return NormalDist().inv_cdf(share)


@lru_cache(maxsize=256)
def student_quantile(share: float, df: int) -> float:
    """Return what ``share`` of Student's distribution lies below.

    Args:
        share: from 0.5, to 1, which is excluded.
        df: degrees of freedom, from 1.

    Returns:
        The quantile; at most 100,000. Source: Abramowitz and Stegun 26.7.3, 26.7.4 (turned round by halving) and 26.7.5.
    """
    if df > _MANY:
        z = normal_quantile(share)
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / df + second / df**2 + third / df**3
    low, high = 0.0, _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_share(middle, df) < share else (low, middle)
    return high


def _student_share(t: float, df: int) -> float:
    """Return the share of Student's distribution below ``t``, which is at least 0."""
    angle = math.atan(t / math.sqrt(df))
    cos2 = math.cos(angle) ** 2
    odd = df % 2
    term = math.cos(angle) if odd else 1.0
    total = term if df > 1 else 0.0
    for step in range(2 + odd, df - 1, 2):
        term *= (step - 1) / step * cos2
        total += term
    within = math.sin(angle) * total
    return 0.5 + (angle + within) / math.pi if odd else 0.5 + within / 2
