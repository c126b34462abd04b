"""Holds the figures of a reply against the evidence of their own things and roles."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal

from pytest_mapsat.judges.evidence import USER, Evidence, Figure, Identity, Moment
from pytest_mapsat.sandbox import distance_m
from pytest_mapsat.text import FOREIGN, Document, Quantity, fold_phrase

from .arithmetic import agrees, could_take, follows

Verdict = Literal["supported", "contradicted", "unsupported", "undecided"]
#: What an agent cannot know but from evidence.
_TOLD_ROLES = ("travel_time", "travel_distance", "wait", "price", "per_head", "total", "fee", "rating")
_MONEY = ("price", "per_head", "total", "fee")
#: What an answer may say of the user in the user's own words.
_USERS_ROLES = ("budget", "deadline", "age", "count", "capacity", "total", "per_head", None)
#: By this share of its value a figure may be off without being another one; money and the like are exact.
_NEAR = 0.05
_EXACT_UNITS = ("yuan", "star", "people", "year")
_DAY = 24 * 60
_DAY = 24 * 60
_FEW_TIMES = 36

Piece = Figure | Moment | Identity
#: A verdict, the reason, and what was held against the claim.
Answer = tuple[Verdict, str, Sequence[Piece]]


class Figures:
    """Weighs the figures of one reply.

    Args:
        document: the reply.
        evidence: what the dialogue knew.
    """

    def __init__(self, document: Document, evidence: Evidence) -> None:
        self.document = document
        self.evidence = evidence.by(document.turn)
        named = {key for mention in document.mentions if len(mention.keys) == 1 for key in mention.keys}
        here = {key for point in evidence.points if USER in point.subject for key in point.subject}
        #: The things that the reply speaks of, and where the user is.
        self.play = frozenset(named | here | {USER})
        self._sure = [one for one in document.mentions if len(one.keys) == 1]
        self._ends = [one.span.end for one in self._sure]
        self._starts = {minutes for time in document.times for minutes in time.minutes}
        self._starts |= {one.minutes for one in evidence.times_of(USER, role="now")}
        self._by_sentence: dict[int, set[str]] = {}
        for mention in document.mentions:
            self._by_sentence.setdefault(mention.sentence, set()).update(mention.keys)

    def _each(self, subject: Sequence[str], of: Callable[[str], Answer], of_any: Callable[[], Answer]) -> Answer:
        """Return what holds for whichever thing is meant; what holds for some of them only is undecided."""
        answers = [of(key) for key in subject] or [of_any()]
        if len({answer[0] for answer in answers}) == 1:
            return answers[0]
        return "undecided", "it holds for some of the things that may be meant", answers[0][2]

    def figures(self, said: Quantity) -> Answer:
        """Weigh a figure: against what belongs to all of its things at once, else against that of each."""
        if said.unit == FOREIGN:
            return "undecided", "it is in another currency than the suite's", ()
        if len(said.subject) > 1:
            joint = [one for one in self.evidence.figures_of(said.subject[0]) if {*said.subject} <= {*one.subject}]
            if any(_comparable(said, one) for one in joint):
                return self._figure(said, said.subject[0], joint)
        return self._each(
            said.subject,
            lambda key: self._figure(said, key, self.evidence.figures_of(key)),
            lambda: self._figure_of_any(said),
        )

    def _figure(self, said: Quantity, key: str, figures: Sequence[Figure]) -> Answer:
        known = [one for one in figures if _comparable(said, one)]
        own = [one for one in known if _same_role(said, one) and _same_mode(said, one) and self._in_play(one, key)]
        own = own if said.role is not None else []
        meeting = [one for one in known if agrees(said, one.value, one.high)]
        if said.unit == "min" and said.value == _DAY and self._all_day(key):
            return "supported", "it is open all day", ()
        if own and meeting and not any(_same_role(said, one) for one in meeting):
            return "undecided", "the evidence has it of this thing, but not said for what", meeting
        if any(self._in_play(one, key) for one in meeting):
            return "supported", "the evidence has it of this thing", meeting
        if meeting:
            return (
                "undecided",
                "the evidence has it of this thing and another one, which the reply does not name",
                meeting,
            )
        return (
            self._in_words(said, key)
            or self._derived(said, key, own)
            or (self._against(said, own, known) if own else None)
            or (("undecided", "the evidence has others of this thing", known) if known else self._missing(said))
        )

    def _all_day(self, key: str) -> bool:
        opens = {one.text for one in self.evidence.times_of(key, role="opening") if one.minutes == 0}
        return any(one.minutes == _DAY and one.text in opens for one in self.evidence.times_of(key, role="closing"))

    def _in_words(self, said: Quantity, key: str) -> Answer | None:
        """Return the answer where an address or a text says the figure as it is written."""
        words = fold_phrase(self.document.words(said.span)).replace(" ", "")
        addresses = [one for one in self.evidence.identities if one.kind == "address" and key in one.subject]
        written = [one for one in addresses if words in one.value.replace(" ", "")]
        if written:
            return "supported", "its address says it", written
        return ("undecided", "the evidence says it in words", ()) if self.evidence.says(words) else None

    def _against(self, said: Quantity, own: list[Figure], known: list[Figure]) -> Answer | None:
        """Return the answer where the evidence has another figure of the thing, and surely this one is meant."""
        keys = self._by_sentence.get(said.sentence, set())
        beside = [one for key in sorted(keys | {*said.subject}) for one in self.evidence.figures_of(key)]
        beside = [one for one in beside if _comparable(said, one) and agrees(said, one.value, one.high)]
        if beside:
            return "undecided", "the evidence has it of another thing in this sentence", beside
        otherwise = [one for key in said.subject for one in self.evidence.figures_of(key, unit=said.unit)]
        otherwise = [one for one in otherwise if _same_mode(said, one) and agrees(said, one.value, one.high)]
        if otherwise:
            return "undecided", "the evidence has it of this thing for something else", otherwise
        spelled = said.unit == "star" and not any(map(str.isdigit, self.document.words(said.span)))
        if spelled or said.approx == "at_least" or any(agrees(said, one.value, one.high, _near(said)) for one in known):
            return None
        return "contradicted", "the evidence has another one of this thing", own

    def _figure_of_any(self, said: Quantity) -> Answer:
        known = [one for one in self.evidence.figures if _comparable(said, one) and self.play & {*one.subject}]
        known = [one for one in known if one.role is not None or said.role is None]
        meeting = _closest(said, [one for one in known if agrees(said, one.value, one.high)])
        nearest = self._before(said)
        of_nearest = [one for one in meeting if nearest in one.subject]
        if of_nearest:
            return "supported", "the evidence has it of what is named before", of_nearest
        if len({frozenset(one.subject) for one in meeting}) == 1:
            return "supported", "of what the reply names, the evidence has it of one thing", meeting
        if meeting:
            return (
                "undecided",
                "it is not said of what it is, and several values of the evidence could be meant",
                meeting,
            )
        return self._derived(said, "") or self._missing(said)

    def _before(self, said: Quantity) -> str:
        """Return the key of the last thing that is named before a figure."""
        before = bisect_right(self._ends, said.span.start)
        return self._sure[before - 1].keys[0] if before else ""

    def _in_play(self, one: Figure, key: str) -> bool:
        """Return whether the reply names, or the user is at, one of the other things that a figure belongs to."""
        others = {*one.subject} - {key}
        return not others or bool(others & self.play)

    def _derived(self, said: Quantity, key: str, own: Sequence[Figure] = ()) -> Answer | None:
        """Return the answer where the figure is in the user's words, or follows from what is known.

        Args:
            said: the figure.
            key: its thing; empty where none was found.
            own: what the evidence has of the thing in this role: then it follows from nothing else.
        """
        users = [
            one for one in self.evidence.figures_of(USER) if one.source.origin != "tool" and _comparable(said, one)
        ]
        meeting = [one for one in users if agrees(said, one.value, one.high)]
        if meeting:
            settled = said.role in _USERS_ROLES or not key
            return ("supported" if settled else "undecided"), "the user or the context says it", meeting
        if said.unit == "m" and any(agrees(said, far, slack=_NEAR) for far in self._straight(key)):
            return ("undecided" if own else "supported"), "it is that far as the crow flies", ()
        if said.role in ("slack", "stay") or (said.unit == "min" and said.role is None):
            between = any(agrees(said, minutes) for minutes in self._between)
            return (
                ("supported", "it lies between two known times", ())
                if between
                else ("undecided", "it may be a plan", ())
            )
        return self._calculated(said, key, own)

    def _calculated(self, said: Quantity, key: str, own: Sequence[Figure]) -> Answer | None:
        if own and said.unit != "yuan":
            twice = any(agrees(said, 2 * one.value) for one in own)  # there and back
            return ("undecided", "it may be there and back", own) if twice else None
        told = [
            one for one in self._figures_in_play if one.source.origin == "tool" and one.role not in (None, "budget")
        ]
        pool = [one for one in (*told, *own) if _comparable(said, one, mode=False)]
        derived = follows(said, [one.value for one in pool], self._people)
        if derived:
            return ("supported" if derived == "plain" else "undecided"), "it follows from the evidence", pool
        ends = key or self._before(said)
        if could_take(said, [one.value for one in self._distances(ends)]):
            return "undecided", "it may be estimated from a distance", self._distances(ends)
        return None

    def _missing(self, said: Quantity) -> Answer:
        """Return what it means that the evidence has no such figure of the thing: invented, where it has none like it at all."""
        alike = [one for one in self.evidence.figures if _comparable(said, one, mode=False)]
        if any(agrees(said, one.value, one.high, _near(said)) for one in alike):
            return "undecided", "the evidence has it of something else", alike
        otherwise = [
            one for one in self.evidence.figures if one.unit == said.unit and agrees(said, one.value, one.high)
        ]
        if any(not said.subject or {*said.subject} & {*one.subject} for one in otherwise):
            return "undecided", "the evidence has it for something else", otherwise
        told = any(one.role is not None for one in alike) and len(said.subject) != 1
        counted = said.unit.startswith("count")
        if said.role in _TOLD_ROLES and not counted and self.evidence.complete and not told:
            return "unsupported", "no tool, no context and no word of the user has such a figure", ()
        return "undecided", "the evidence has no such figure of this thing", ()

    @cached_property
    def _figures_in_play(self) -> list[Figure]:
        return [one for one in self.evidence.figures if self.play & {*one.subject} and self._all_in_play(one)]

    def _all_in_play(self, one: Figure) -> bool:
        return {*one.subject} <= self.play

    @cached_property
    def _people(self) -> list[int]:
        known = [one for one in self.evidence.figures_of(USER) if one.unit == "people" and one.source.origin != "tool"]
        said = [one.value for one in self.document.quantities if one.unit == "people"]
        return [int(value) for value in (*(one.value for one in known), *said)]

    @cached_property
    def _between(self) -> list[float]:
        """Minutes between any two times that the reply or the evidence of its things has."""
        known = {one.minutes % _DAY for one in self.evidence.times if self.play & {*one.subject}}
        said = {minutes % _DAY for time in self.document.times for minutes in time.minutes}
        few = sorted(known | said)[:_FEW_TIMES]
        return [float(later - earlier) for earlier in few for later in few if later > earlier]

    def _distances(self, key: str) -> list[Figure]:
        found = self.evidence.figures_of(key) if key else self._figures_in_play
        return [one for one in found if one.unit == "m" and one.role == "travel_distance"]

    def _straight(self, key: str) -> list[float]:
        """Return the distances as the crow flies between where the user is, or what the reply names, and the thing."""
        points = [one for one in self.evidence.points if self.play & {*one.subject}]
        ends = [one for one in points if key in one.subject] if key else points
        return [distance_m(one.lon, one.lat, end.lon, end.lat) for end in ends for one in points if one is not end]


def _closest(said: Quantity, meeting: list[Figure]) -> list[Figure]:
    """Return the values that need no more than rounding, where there are any."""
    rounded = [one for one in meeting if one.value - said.step / 2 <= said.value <= one.high + said.step / 2]
    return rounded or meeting


def _comparable(said: Quantity, one: Figure, *, mode: bool = True) -> bool:
    """Return whether a figure of the evidence may be what is said: of the unit, the role and the way of travelling."""
    counted = said.unit.startswith("count") and (one.unit.startswith("count") or said.role == one.role is not None)
    if said.unit != one.unit and not counted:
        return False
    alike = said.role is None or one.role is None or said.role == one.role or {said.role, one.role} <= {*_MONEY}
    return alike and (not mode or _same_mode(said, one) or one.mode == "straight")


def _same_role(said: Quantity, one: Figure) -> bool:
    return said.role == one.role or {said.role, one.role} == {"price", "per_head"}


def _same_mode(said: Quantity, one: Figure) -> bool:
    return not said.mode or not one.mode or said.mode == one.mode or {said.mode, one.mode} == {"driving", "taxi"}


def _near(said: Quantity) -> float:
    return 0 if said.unit in _EXACT_UNITS else _NEAR
