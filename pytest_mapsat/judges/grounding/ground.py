"""Hold each claim of a reply against the evidence: supported, contradicted, unsupported."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mapsat.judges.text import Mention, Reading
from pytest_mapsat.sandbox import distance_m

from .addresses import addresses
from .claims import Claim, Decision
from .compare import bears_out, same_point, speaks_of
from .contacts import contacts
from .figures import figures
from .forms import is_name_like, is_part
from .hours import hours
from .mentions import Named, Subjects, known_names, longest
from .names import names
from .page import Page
from .pool import Pool, Thing
from .totals import is_total
from .values import Value
from .vocabulary import SOFT

#: How much of the longer one of two related names the shorter one must make up.
_RELATED = 0.6
_COVERED = 0.7


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


def ground(reading: Reading, pool: Pool) -> tuple[Judged, ...]:
    """Return the claims of one reply with their verdicts, in the order of the text.

    Args:
        reading: the reply; its turn says which evidence was known by then.
        pool: the evidence of the dialogue.
    """
    page = Page(reading)
    mentions = known_names(page, pool, reading.turn)
    claims = find_claims(page, pool, mentions)
    outside = _outside(mentions, [claim for claim in claims if claim.type == "address"])
    unknown = [Named(claim.start, claim.end, claim.text) for claim in claims if claim.type == "name"]
    judge = _Judge(page, pool, Subjects(page, longest((*outside, *unknown))))
    return tuple(judge.judge(claim) for claim in claims)


def find_claims(page: Page, pool: Pool, mentions: Sequence[Named]) -> list[Claim]:
    """Return the claims of a reply, ascending; a name is one claim however often it is said."""
    first = [*addresses(page), *contacts(page)]
    spans = _merged([(claim.start, claim.end) for claim in first] + [(one.start, one.end) for one in mentions])
    other = [*figures(page, spans), *(claim for claim in hours(page))]
    worded = list(names(page, pool, page.reading.turn))
    named = [claim for claim in worded if claim.type == "line"]
    addressed = _merged([(claim.start, claim.end) for claim in (*first, *named)])
    mentions = [one for one in mentions if not _overlaps(Claim(one.start, one.end, "name"), addressed)]
    ends = {one.end for one in mentions}
    both = [
        Named(claim.start, claim.end, claim.text)
        for claim in worded
        if claim.type == "name" and not _overlaps(claim, addressed) and not (claim.start in ends and SOFT.search(claim.text))
    ]
    named += [Claim(one.start, one.end, "name", text=one.name) for one in longest((*mentions, *both))]
    kept: list[Claim] = []
    said: set[str] = set()
    for claim in sorted((*first, *other, *named)):
        if page.claims_nothing(claim.start) or _denied(page, claim):
            continue
        if claim.type == "name":
            if claim.text in said:
                continue
            said.add(claim.text)
        kept.append(claim)
    return kept


def _denied(page: Page, claim: Claim) -> bool:
    return claim.type in ("name", "line", "price") and page.reading.denials.deny(claim.start, claim.end)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _overlaps(claim: Claim, spans: list[tuple[int, int]]) -> bool:
    index = bisect_left(spans, (claim.end, 0)) - 1
    return index >= 0 and spans[index][1] > claim.start


def _outside(mentions: Sequence[Named], inside: Sequence[Claim]) -> list[Named]:
    """Return the mentions that are no part of an address."""
    spans = [(claim.start, claim.end) for claim in inside]
    return [one for one in mentions if not _overlaps(Claim(one.start, one.end, "name"), spans)]


class _Judge:
    """Judges the claims of one reply."""

    def __init__(self, page: Page, pool: Pool, subjects: Subjects) -> None:
        self._page, self._pool, self._subjects = page, pool, subjects
        self._turn = page.reading.turn
        self._exact: dict[str, set[int]] = {}
        for number, thing in enumerate(pool.things):
            for name in thing.names if thing.turn <= self._turn else ():
                self._exact.setdefault(name, set()).add(number)
        self._related: dict[str, frozenset[int]] = {}
        self._held: list[Claim] = []
        self._owned = {(value.thing, kind) for kind, values in pool.values.items() for value in values if value.turn <= self._turn}

    def judge(self, claim: Claim) -> Judged:
        """Return the verdict on one claim."""
        subject = self._subject(claim)
        decision, why = self._decide(claim, subject)
        if decision == "supported":
            self._held.append(claim)
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
        if self._known_name(claim.text):
            return "supported", "it is named in the evidence"
        return "unsupported", "it is named nowhere in the evidence"

    def _known_name(self, name: str) -> bool:
        if self._pool.says(name, self._turn):
            return True
        core = SOFT.sub("", name)
        if core != name and is_name_like(core) and self._pool.says(core, self._turn):
            return True
        return any(turn <= self._turn and text.find(name[:2]) >= 0 and is_part(name, text) for turn, text in self._pool.stretches)

    def _address(self, claim: Claim, things: frozenset[int]) -> tuple[Decision, str]:
        known = [self._pool.things[number] for number in sorted(things) if self._pool.things[number].address]
        for thing in known:
            if _covers(claim, thing):
                return "supported", "it is the address in the evidence"
        if any(_covers(claim, thing) for thing in self._pool.things if thing.turn <= self._turn and not known):
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
        return ("contradicted", "the evidence has another point for it") if own else ("unsupported", "no such point is in the evidence")

    def _value(self, claim: Claim, things: frozenset[int], subject: Named | None) -> tuple[Decision, str]:
        """Judge a claim with a value: by the values of its subject, else by those that are nobody's."""
        known = [value for value in self._values(claim) if _comparable(claim, value)]
        own = [value for value in known if value.thing in things]
        match = next((value for value in own if bears_out(claim, value)), None)
        if match is not None:
            return "supported", "the evidence has it for this"
        anyones = not things and (subject is None or self._known_name(subject.name))
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
            yield from self._straight(claim)
            return
        yield from (value for value in self._pool.values.get(claim.type, ()) if value.turn <= self._turn)

    def _straight(self, claim: Claim) -> Iterator[Value]:
        """Yield distances as the crow flies from where the user is to every known point."""
        home = self._pool.home
        for lon, lat, turn, thing in self._pool.points if home else ():
            if turn <= self._turn and home is not None and abs(lon) <= 180 and abs(lat) <= 90:  # noqa: PLR2004  degrees
                yield Value("distance", distance_m(*home, lon, lat), turn, thing)


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


def _covers(claim: Claim, thing: Thing) -> bool:
    """Return whether a thing lies at the address: its numbers are all there, and most of its words."""
    if not thing.address:
        return False
    pieces = [piece for piece in claim.parts if any(char.isdigit() for char in piece)] or list(claim.parts[:1])
    where = thing.full + thing.address
    shared = sum(_shared(piece, where) for piece in pieces)
    return bool(pieces) and shared >= _COVERED * sum(map(len, pieces)) and _digits(pieces[0], where)


def _shared(piece: str, where: str) -> int:
    """Return how many characters of a piece stand in runs of two or more in ``where``."""
    count = index = 0
    while index < len(piece):
        size = 0
        while index + size < len(piece) and piece[index : index + size + 1] in where:
            size += 1
        count += size if size > 1 else 0
        index += max(size, 1)
    return count


def _digits(piece: str, where: str) -> bool:
    """Return whether every number in a piece stands in ``where`` as a whole number."""
    numbers = "".join(char if char.isdigit() else " " for char in piece).split()
    known = set("".join(char if char.isdigit() else " " for char in where).split())
    return all(number in known for number in numbers)


def _shown(values: Sequence[Value]) -> str:
    shown = sorted({f"{value.value:g}" if not value.text or value.type == "count" else value.text for value in values})
    return ", ".join(shown[:3])
