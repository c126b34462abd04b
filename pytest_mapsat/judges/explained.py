"""What else could explain a figure that does not fit: evidence of another role or thing, the user's words, plain arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import combinations
from typing import Literal

from pytest_mapsat.text import MONEY, ClockTime, Document, Quantity

from .bound_values import ROUNDING, Value
from .evidence import Evidence, Figure, Moment
from .grounding.arithmetic import agrees

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
#: So many people may share a price without a word about it.
_MOST_SHARING = 8
#: A figure of no sure role that lies further off than so many times from all that it could be compared with is another one.
_FAR = 5
#: What two values differ by is less than either by so many times, at least where it is told beside them.
_APART = 4


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
        meeting = [one for one in self.evidence.times if any(_apart(at, one.minutes) < slack for at in said.minutes)]
        if meeting:
            why = self._owned(said, meeting, roles)
            return _LOOSELY.get(why, why)
        return "derived" if any(_apart(at, one) <= slack for at in said.minutes for one in self._ends) else ""

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
        """Return sums and differences of two values, multiples and shares for several people, minutes between two times."""
        known = list(
            {
                (one.value, one.role, one.subject): one for one in self.evidence.figures if _alike(unit, one.unit)
            }.values()
        )
        single = {one.value for one in known}
        pairs = list(combinations(known[:_MOST_VALUES], 2))
        found = {one.value + other.value for one, other in pairs if _belong_together(one, other)}
        if unit != "m":
            found |= {abs(one.value - other.value) for one, other in pairs if one.role == other.role}
        if unit == "yuan":
            sums = single | found
            found |= {one * count for one in sums for count in self._counts}
            found |= {one / count for one in sums for count in self._counts}
        if unit == "min":
            times = sorted({*self._clocks, *(at for one in self.document.times for at in one.minutes)})[:_MOST_VALUES]
            found |= {float((later - earlier) % _DAY) for earlier in times for later in times}
        return found

    @cached_property
    def _counts(self) -> set[int]:
        """How many people or things the reply, the user or a tool speaks of."""
        figures: list[Quantity | Figure] = [*self.document.quantities, *self.evidence.figures]
        counted = {one.value for one in figures if one.unit == "people" or one.unit.startswith("count")}
        return {2} | {int(value) for value in counted if 1 < value <= _MOST_PEOPLE and value == int(value)}

    @cached_property
    def _clocks(self) -> list[int]:
        return [one.minutes % _DAY for one in self.evidence.times]

    @cached_property
    def _ends(self) -> set[float]:
        """Times at which a way that is known ends, if one sets out at a time that is known."""
        ways = [one for one in self.evidence.figures if one.unit == "min" and one.role in _OF_WAYS][:_MOST_VALUES]
        taken = {one.value for one in ways}
        taken |= {one.value + other.value for one, other in combinations(ways, 2) if one.subject == other.subject}
        starts = {one.minutes for one in self.evidence.times if one.role in ("now", "departure")}
        return {start + way for start in starts for way in taken}


def _belong_together(one: Figure, other: Figure) -> bool:
    """Return whether two figures may be added: they are of one thing, or of one role."""
    return one.role == other.role or bool({*one.subject} & {*other.subject})


def _alike(unit: str, other: str) -> bool:
    return unit == other or (unit.startswith("count") and other.startswith("count"))


def _apart(one: float, other: float) -> float:
    return min((one - other) % _DAY, (other - one) % _DAY)


def is_far(figure: Quantity, known: Sequence[Value]) -> bool:
    """Return whether a figure is of another order of size than all values."""
    sizes = [value.number for value in known if value.number > 0]
    return bool(sizes) and not min(sizes) / _FAR <= figure.value <= max(sizes) * _FAR


def is_of_several(figure: Quantity, known: Sequence[Value]) -> bool:
    """Return whether a sum of money is that of a few people, or of a few people at two of the places: then it is no single price."""
    own = {value.number for value in known if set(figure.subject) & value.own and value.number > 0}
    if figure.unit != "yuan" or not all(value.several for value in known) or figure.value in own:
        return False
    prices = {value.number for value in known if value.number > 0}
    sums = {*own, *(one + other for one in own or prices for other in prices)}
    return any(abs(figure.value - count * one) < ROUNDING for one in sums for count in range(1, _MOST_SHARING + 1))


def is_reckoned(figure: Quantity | ClockTime, why: str, *, sure: bool) -> bool:
    """Return whether a sum of money is reckoned from others, or is what so many hours come to."""
    if not isinstance(figure, Quantity) or figure.unit != MONEY:
        return False
    return (figure.approx == "about" and figure.role == "fee") or (why == "derived" and not sure)


def is_multiple(figure: Quantity | ClockTime, evidence: Evidence) -> bool:
    """Return whether a sum of money is what a known one of its thing comes to for several: "two rides, 116 yuan"."""
    if not isinstance(figure, Quantity) or figure.unit != MONEY:
        return False
    own = (one for one in evidence.figures if one.unit == MONEY and set(one.subject) & set(figure.subject))
    return any(one.value > 0 and figure.value % one.value == 0 for one in own)


def is_difference(figure: Quantity | ClockTime, known: Sequence[Value]) -> bool:
    """Return whether a figure is much less than all that it could be compared with: what is derived then is how far two of them are apart."""
    sizes = [value.number for value in relevant(figure, known) if value.number > 0]
    return isinstance(figure, Quantity) and bool(sizes) and figure.value * _APART < min(sizes)


def relevant(figure: Quantity | ClockTime, known: Sequence[Value]) -> list[Value]:
    """Return the values that a figure is compared with: those of its own thing, where it has any."""
    return [value for value in known if set(figure.subject) & (value.own | value.about)] or list(known)
