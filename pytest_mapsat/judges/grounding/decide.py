"""The verdict on each claim of one reply."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mapsat.judges.text import Mention, Reading
from pytest_mapsat.sandbox import distance_m

from .claims import Claim, ClaimType, Decision
from .compare import bears_out, same_point, speaks_of
from .forms import is_part
from .mentions import Named, Subjects
from .page import Page
from .places import covers
from .pool import Pool
from .totals import is_total
from .values import Value

#: How much of the longer one of two related names the shorter one must make up.
_RELATED = 0.6
#: How many supported claims of a type are remembered for sums.
_REMEMBERED = 12


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes:
        claim: the claim.
        reading: the reply that it stands in.
        decision: supported, contradicted or unsupported.
        subject: the squeezed name of what it is about, or empty.
        why: the reason, in words.
    """

    claim: Claim
    reading: Reading
    decision: Decision
    subject: str
    why: str

    @property
    def mention(self) -> Mention:
        """Where the claim stands in the folded text."""
        return Mention(self.claim.start, self.claim.end)


class ReplyJudge:
    """Judges the claims of one reply."""

    def __init__(self, page: Page, pool: Pool, subjects: Subjects) -> None:
        self._page, self._pool, self._subjects = page, pool, subjects
        self._turn = page.reading.turn
        self._exact: dict[str, set[int]] = {}
        for number, thing in enumerate(pool.things):
            for name in thing.names if thing.turn <= self._turn else ():
                self._exact.setdefault(name, set()).add(number)
        self._related: dict[str, frozenset[int]] = {}
        self._held: dict[ClaimType, deque[Claim]] = {}
        self._owned = {
            (value.thing, kind) for kind, values in pool.values.items() for value in values if value.turn <= self._turn
        }

    def judge(self, claim: Claim) -> Judged:
        """Return the verdict on one claim."""
        subject = self._subject(claim)
        decision, why = self._decide(claim, subject)
        if decision == "supported":
            self._held.setdefault(claim.type, deque(maxlen=_REMEMBERED)).append(claim)
        return Judged(claim, self._page.reading, decision, subject.name if subject else "", why)

    def _subject(self, claim: Claim) -> Named | None:
        """Return the likeliest thing a claim is about of which the evidence has such a value, else the likeliest."""
        if claim.type in ("name", "line"):
            return None
        likely = self._subjects.of(claim)
        having = (one for one in likely if self._has(claim, self._things(one.name)))
        return next(having, likely[0] if likely else None)

    def _has(self, claim: Claim, things: frozenset[int]) -> bool:
        if claim.type == "address":
            return any(self._pool.things[number].address for number in things)
        if claim.type == "coordinate":
            return any(self._pool.things[number].point for number in things)
        return any((number, claim.type) in self._owned for number in things)

    def _decide(self, claim: Claim, subject: Named | None) -> tuple[Decision, str]:
        if claim.type == "name":
            return self._name(claim)
        things = self._things(subject.name) if subject else frozenset()
        if claim.type == "address":
            return self._address(claim, things)
        if claim.type == "coordinate":
            return self._coordinate(claim, things)
        return self._value(claim, things, subject)

    def _things(self, name: str) -> frozenset[int]:
        """Return the things that a name stands for: those of that name, else those of which it is a short form."""
        exact = self._exact.get(name, set())
        if any(not self._pool.things[number].asked for number in exact):
            return frozenset(exact)
        if name not in self._related:
            self._related[name] = frozenset(
                number
                for number, thing in enumerate(self._pool.things)
                if thing.turn <= self._turn and any(_related(name, other) for other in thing.names)
            )
        return frozenset(exact) | self._related[name]

    def _name(self, claim: Claim) -> tuple[Decision, str]:
        if self._pool.knows(claim.text, self._turn):
            return "supported", "it is named in the evidence"
        return "unsupported", "it is named nowhere in the evidence"

    def _address(self, claim: Claim, things: frozenset[int]) -> tuple[Decision, str]:
        known = [self._pool.things[number] for number in sorted(things) if self._pool.things[number].address]
        for thing in known:
            if covers(claim, thing):
                return "supported", "it is the address in the evidence"
        if any(covers(claim, thing) for thing in self._pool.things if thing.turn <= self._turn and not known):
            return "supported", "it is an address in the evidence"
        if self._pool.says(claim.text, self._turn) and not known:
            return "supported", "it is named in the evidence"
        if known:
            return "contradicted", f"the evidence has another address for it: {known[0].address}"
        return "unsupported", "no such address is in the evidence"

    def _coordinate(self, claim: Claim, things: frozenset[int]) -> tuple[Decision, str]:
        known = [point for point in self._pool.points if point[2] <= self._turn]
        own = [point for point in known if point[3] in things]
        if any(same_point(claim, lon, lat) for lon, lat, _, _ in own or known):
            return "supported", "it is a point in the evidence"
        return (
            ("contradicted", "the evidence has another point for it")
            if own
            else ("unsupported", "no such point is in the evidence")
        )

    def _value(self, claim: Claim, things: frozenset[int], subject: Named | None) -> tuple[Decision, str]:
        """Judge a claim with a value: by the values of its subject, else by those that are nobody's."""
        known = [value for value in self._values(claim) if _comparable(claim, value)]
        own = [value for value in known if value.thing in things]
        match = next((value for value in own if bears_out(claim, value)), None)
        if match is not None:
            return "supported", "the evidence has it for this"
        anyones = not things and (subject is None or self._pool.knows(subject.name, self._turn))
        # A telephone number is no figure that could be right by chance: said of a thing that has none, it is another's.
        anyones = anyones or (claim.type == "phone" and not own)
        free = [value for value in known if anyones or value.thing is None]
        if any(bears_out(claim, value) for value in free):
            return "supported", "the evidence has it"
        if is_total(claim, self._page, self._held, known):
            return "supported", "it follows from what is supported"
        if own and _settles(claim):
            return "contradicted", f"the evidence has {_shown(own)} for it"
        return "unsupported", "the evidence has no such value" + (" for it" if subject else "")

    def _values(self, claim: Claim) -> Iterator[Value]:
        if claim.straight:
            yield from self._straight()
        for value in self._pool.values.get(claim.type, ()):
            if value.turn <= self._turn and not (claim.straight and value.mode):
                yield value

    def _straight(self) -> Iterator[Value]:
        """Yield distances as the crow flies from where the user is to every known point."""
        home = self._pool.home
        for lon, lat, turn, thing in self._pool.points if home else ():
            if turn <= self._turn and home is not None and abs(lon) <= 180 and abs(lat) <= 90:  # noqa: PLR2004  degrees
                straight = distance_m(*home, lon, lat)
                yield Value("distance", straight, turn, thing, said=f"{straight:.0f} m as the crow flies")


def _settles(claim: Claim) -> bool:
    """Return whether another value of the subject contradicts the claim: a time only where it is said of opening."""
    return claim.type != "time" or bool(claim.parts) or claim.low < 0


def _comparable(claim: Claim, value: Value) -> bool:
    if claim.mode and value.mode and claim.mode != value.mode:
        return False
    return claim.type != "count" or speaks_of(claim, value)


def _related(name: str, other: str) -> bool:
    shorter, longer = (name, other) if len(name) <= len(other) else (other, name)
    return len(shorter) >= _RELATED * len(longer) and is_part(shorter, longer)


def _shown(values: Sequence[Value]) -> str:
    """Return the values as the evidence has them, the first three."""
    return ", ".join(sorted({value.said for value in values})[:3])
