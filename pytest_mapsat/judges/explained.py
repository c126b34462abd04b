"""What else could explain a figure that does not fit: evidence of another role or thing, the user's words, plain arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import combinations
from typing import Literal

from pytest_mapsat.text import MONEY, ClockTime, Document, Quantity

from .bound_values import Value
from .evidence import Evidence, Figure, Moment

#: Where a value is from: from the user or the context; from its own thing in another role, or in the same; from another thing in another role, or in the same; in the same from one that no reply names; from arithmetic; from nowhere.
Explanation = Literal["user", "own", "same", "other", "swapped", "unnamed", "derived", ""]
#: Roles of times are less sure than those of figures: what may be one that was looked for explains as well as another.
_LOOSELY: dict[Explanation, Explanation] = {"same": "own", "swapped": "other"}
_DAY = 24 * 60
_MOST_PEOPLE = 12
#: So many values of a unit are combined with each other at most.
_MOST_VALUES = 40
#: Minutes that a time of day may be off: as it is said exactly, and about.
_EXACTLY, _ABOUT = 1, 5
_OF_WAYS = ("travel_time", "wait")
#: A figure of no sure role that lies further off than so many times from all that it could be compared with is another one.
_FAR = 5
#: What is said to be about a value lies within this share of it.
_ROUGHLY = 0.08


class Explained:
    """Tells for the figures of one reply whether anything that was known by then has their value.

    Args:
        document: the reply.
        evidence: what the dialogue knew.
    """

    def __init__(self, document: Document, evidence: Evidence, left_out: frozenset[str]) -> None:
        self.document = document
        self.evidence = evidence.by(document.turn)
        self._left_out = left_out

    def of(self, said: Quantity | ClockTime, roles: Collection[str]) -> Explanation:
        """Return what explains a figure or a time of day, whatever it is said of.

        Args:
            said: the figure.
            roles: the roles that were looked for: another thing's figure of such a role explains nothing, it may be said wrongly.
        """
        return self._figure(said, roles) if isinstance(said, Quantity) else self._time(said, roles)

    def _figure(self, said: Quantity, roles: Collection[str]) -> Explanation:
        alike = [one for one in self.evidence.figures if _alike(said.unit, one.unit)]
        # A limit that the user sets ("at most 40") tells of no figure below it.
        meeting = [
            one
            for one in alike
            if (
                agrees(said, one.value, one.high)
                if one.source.origin == "tool"
                else agrees(said, one.value) or agrees(said, one.high)
            )
        ]
        if meeting and (why := self._owned(said, meeting, roles)) != "unnamed":
            return why
        return "derived" if any(agrees(said, value) for value in self._derived(said.unit)) else ""

    def _time(self, said: ClockTime, roles: Collection[str]) -> Explanation:
        slack = _EXACTLY if said.approx == "exact" else _ABOUT
        meeting = [one for one in self.evidence.times if any(apart(at, one.minutes) < slack for at in said.minutes)]
        if meeting:
            why = self._owned(said, meeting, roles)
            return _LOOSELY.get(why, why)
        return "derived" if any(apart(at, one) <= slack for at in said.minutes for one in self._ends) else ""

    def _owned(
        self, said: Quantity | ClockTime, meeting: Sequence[Figure] | Sequence[Moment], roles: Collection[str]
    ) -> Explanation:
        if any(one.source.origin != "tool" for one in meeting):
            return "user"
        of_other_roles = [one for one in meeting if one.role not in roles]
        if any({*said.subject} & {*one.subject} for one in of_other_roles):
            return "own"
        if of_other_roles:
            return "other"
        if any({*said.subject} & {*one.subject} for one in meeting):
            return "same"
        return "swapped" if any(self._left_out.isdisjoint(one.subject) for one in meeting) else "unnamed"

    def _derived(self, unit: str) -> tuple[float, ...]:
        if unit not in self._arithmetic:
            self._arithmetic[unit] = tuple(self._combined(unit))
        return self._arithmetic[unit]

    @cached_property
    def _arithmetic(self) -> dict[str, tuple[float, ...]]:
        return {}

    def _combined(self, unit: str) -> set[float]:
        """Return sums and differences of two values, multiples and shares for several people."""
        known = {(one.value, one.role, one.subject) for one in self.evidence.figures if _alike(unit, one.unit)}
        pairs = list(combinations(sorted(known, key=str)[:_MOST_VALUES], 2))
        # Only figures of one role or thing are added: not a price and the user's budget.
        found = {one[0] + other[0] for one, other in pairs if one[1] == other[1] or {*one[2]} & {*other[2]}}
        if unit != "m":
            found |= {abs(one[0] - other[0]) for one, other in pairs if one[1] == other[1]}
        if unit == "yuan":
            sums = {one[0] for one in known} | found
            found |= {one * count for one in sums for count in self._counts}
            found |= {one / count for one in sums for count in self._counts}
        return found

    @cached_property
    def _counts(self) -> set[int]:
        """How many people or things the reply, the user or a tool speaks of."""
        figures: list[Quantity | Figure] = [*self.document.quantities, *self.evidence.figures]
        counted = {one.value for one in figures if one.unit == "people" or one.unit.startswith("count")}
        return {2} | {int(value) for value in counted if 1 < value <= _MOST_PEOPLE and value == int(value)}

    @cached_property
    def _ends(self) -> set[float]:
        """Times at which a way that is known ends, if one sets out at a time that is known."""
        ways = [one for one in self.evidence.figures if one.unit == "min" and one.role in _OF_WAYS][:_MOST_VALUES]
        taken = {one.value for one in ways}
        taken |= {one.value + other.value for one, other in combinations(ways, 2) if one.subject == other.subject}
        starts = {one.minutes for one in self.evidence.times if one.role in ("now", "departure")}
        return {start + way for start in starts for way in taken}


def agrees(said: Quantity, low: float, high: float | None = None) -> bool:
    """Return whether a figure as it is said, with honest rounding, can mean a value or a range.

    Args:
        said: the figure.
        low: the value, or the least of a range.
        high: the greatest of the range.
    """
    high = low if high is None else high
    give = said.step / 2 + 1e-6
    if said.approx == "about":
        give += _ROUGHLY * abs(said.value)
        return low <= said.value + give and high >= said.value - give
    if said.approx == "at_most":
        return low <= said.high + give
    if said.approx == "at_least":
        return high >= said.low - give
    return low <= said.high + give and high >= said.low - give


def _alike(unit: str, other: str) -> bool:
    return unit == other or (unit.startswith("count") and other.startswith("count"))


def apart(one: float, other: float) -> float:
    """Return how many minutes two times of day are apart, past midnight, too."""
    return min((one - other) % _DAY, (other - one) % _DAY)


def is_far(figure: Quantity, known: Sequence[Value]) -> bool:
    """Return whether a figure is of another order of size than all values."""
    sizes = [value.number for value in known if value.number > 0]
    return bool(sizes) and not min(sizes) / _FAR <= figure.value <= max(sizes) * _FAR


def is_reckoned(figure: Quantity | ClockTime, why: str, *, sure: bool) -> bool:
    """Return whether a sum of money is reckoned from others, or is what so many hours come to."""
    if not isinstance(figure, Quantity) or figure.unit != MONEY:
        return False
    return (figure.approx == "about" and figure.role == "fee") or (why == "derived" and not sure)


def relevant(figure: Quantity | ClockTime, known: Sequence[Value]) -> list[Value]:
    """Return the values that a figure is compared with: those of its own thing, where it has any."""
    return [value for value in known if set(figure.subject) & (value.own | value.about)] or list(known)
