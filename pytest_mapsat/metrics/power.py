"""What a comparison of so many cases and trials can see, and how many it would need.

Normal approximations (Cohen 1988, "Statistical power analysis", chapter 2): a difference is seen four times in five where it is 2.8 standard errors
away from what it is held against, 1.96 for the interval and 0.84 for the four times in five.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .quantiles import student_quantile
from .statistics import mean, variance

_POWER = 0.8
_TAIL = 0.975
#: More than this nobody runs.
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Spread:
    """How much the differences of cases spread.

    Attributes:
        n: cases.
        total: variance of a case's difference.
        chance: how much of it comes from the agent's chance at so many trials, where trials tell; None where each case ran once.
        trials: trials of a case, the fewer of both runs.
    """

    n: int
    total: float
    chance: float | None
    trials: int

    @classmethod
    def of(cls, differences: Sequence[float], chances: Sequence[float | None], trials: int) -> Spread:
        """Return the spread of some differences.

        Args:
            differences: one for each case.
            chances: the variance that trials show in each; None where it ran once.
            trials: trials of a case, the fewer of both runs.
        """
        known = [chance for chance in chances if chance is not None]
        return cls(len(differences), variance(differences), mean(known) if known else None, trials)

    @property
    def error(self) -> float:
        """Standard error of the mean difference."""
        return math.sqrt(self.total / self.n) if self.n else 0.0

    @property
    def smallest(self) -> float | None:
        """The smallest drop that is seen four times in five; None where too few cases differ to say."""
        return None if self.n < 2 or not self.total else self._requirement(self.n) * self.error  # noqa: PLR2004

    def cases_for(self, distance: float) -> int | None:
        """Return how many cases show a difference that is so far from its limit; None where it is no distance, or too many are needed."""
        if not distance or self.n < 2:  # noqa: PLR2004
            return None
        needed = (self._requirement(self.n) / distance) ** 2 * self.total
        return math.ceil(needed) if needed <= _MOST else None

    def trials_for(self, distance: float) -> int | None:
        """Return how many trials of each case do, where trials alone can; None where they cannot, or where one trial says nothing of chance."""
        if not distance or not self.chance or self.n < 2:  # noqa: PLR2004
            return None
        room = self.n * (distance / self._requirement(self.n)) ** 2 - max(0.0, self.total - self.chance)
        if room <= 0:
            return None
        needed = self.trials * self.chance / room
        return math.ceil(needed) if needed <= _MOST else None

    @staticmethod
    def _requirement(n: int) -> float:
        return student_quantile(_TAIL, n - 1) + student_quantile(_POWER, n - 1)
