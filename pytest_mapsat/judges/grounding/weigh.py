"""Holds each claim of a reply against the evidence of its own thing and role: supported, contradicted, unsupported, undecided."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_mapsat.judges.evidence import USER, Evidence, Figure, Identity, Moment
from pytest_mapsat.sandbox import distance_m, point_of, text_similarity
from pytest_mapsat.text import FOREIGN, ClockTime, Document, Identifier, Mention, Quantity, fold_phrase

from .arithmetic import agrees, could_take, follows
from .claims import Claim, claims_of
from .proposed import Proposed

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
#: Minutes by which a time of day may be off.
_CLOCK_SLACK = {"exact": 1, "about": 12, "range": 1, "at_most": 1, "at_least": 1}
_SAME_POINT_M = 150
_SHOWN = 3
#: Fewer digits are the number of a service that everybody knows.
_FEWEST_DIGITS = 7
_DIGITS = re.compile(r"\d+")
_SAME_STREET = 0.6
_SPAN = re.compile(r"\d{4}\W\d{4}")

_Piece = Figure | Moment | Identity
_Answer = tuple[Verdict, str, Sequence[_Piece]]


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes:
        claim: the claim.
        verdict: supported, contradicted, unsupported or undecided.
        why: the reason, in words.
        evidence: what was held against it, each with its unit and where it is from.
    """

    claim: Claim
    verdict: Verdict
    why: str
    evidence: tuple[str, ...] = ()

    @property
    def matters(self) -> bool:
        """Whether it weighs: a plan of the agent's own that nothing bears out or contradicts does not."""
        return not (self.claim.planned and self.verdict == "undecided")


def weigh(document: Document, evidence: Evidence) -> tuple[Judged, ...]:
    """Return the claims of one reply with their verdicts, in the order of the text.

    Args:
        document: the reply; its turn says which evidence was known by then.
        evidence: what the dialogue knew.
    """
    scale = _Scale(document, evidence)
    return tuple(scale.judge(claim) for claim in claims_of(document, scale.evidence.endings))


class _Scale:
    """Weighs the claims of one reply."""

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

    def judge(self, claim: Claim) -> Judged:
        """Return the verdict on one claim."""
        verdict, why, against = self._answer(claim)
        shown = dict.fromkeys(f"{one.text} ({one.source.tool or one.source.origin})" for one in against if one.text)
        return Judged(claim, verdict, why, tuple(shown)[:_SHOWN])

    def _answer(self, claim: Claim) -> _Answer:
        said = claim.said
        match said:
            case Mention():
                return "supported", "the evidence has this name", ()
            case Proposed():
                return self._proposed(said)
            case Quantity():
                return self._figures(said)
            case ClockTime():
                return self._each(said.subject, lambda key: self._time(said, key), lambda: self._time_of_any(said))
            case Identifier():
                return self._identifier(said)

    def _each(self, subject: Sequence[str], of: Callable[[str], _Answer], of_any: Callable[[], _Answer]) -> _Answer:
        """Return what holds for whichever thing is meant; what holds for some of them only is undecided."""
        answers = [of(key) for key in subject] or [of_any()]
        if len({answer[0] for answer in answers}) == 1:
            return answers[0]
        return "undecided", "it holds for some of the things that may be meant", answers[0][2]

    def _proposed(self, said: Proposed) -> _Answer:
        if self.evidence.knows(said.name):
            return "supported", "the evidence has this name", ()
        return ("unsupported" if said.sure else "undecided"), "the evidence has no thing of this name", ()

    # -- figures -----------------------------------------------------------------------------------------------------

    def _figures(self, said: Quantity) -> _Answer:
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

    def _figure(self, said: Quantity, key: str, figures: Sequence[Figure]) -> _Answer:
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

    def _in_words(self, said: Quantity, key: str) -> _Answer | None:
        """Return the answer where an address or a text says the figure as it is written."""
        words = fold_phrase(self.document.words(said.span)).replace(" ", "")
        addresses = [one for one in self.evidence.identities if one.kind == "address" and key in one.subject]
        written = [one for one in addresses if words in one.value.replace(" ", "")]
        if written:
            return "supported", "its address says it", written
        return ("undecided", "the evidence says it in words", ()) if self.evidence.says(words) else None

    def _against(self, said: Quantity, own: list[Figure], known: list[Figure]) -> _Answer | None:
        """Return the answer where the evidence has another figure of the thing, and surely this one is meant."""
        keys = self._by_sentence.get(said.sentence, set())
        beside = [one for key in sorted(keys | {*said.subject}) for one in self.evidence.figures_of(key)]
        beside = [one for one in beside if _comparable(said, one) and agrees(said, one.value, one.high)]
        if beside:
            return "undecided", "the evidence has it of another thing in this sentence", beside
        spelled = said.unit == "star" and not any(map(str.isdigit, self.document.words(said.span)))
        if spelled or said.approx == "at_least" or any(agrees(said, one.value, one.high, _near(said)) for one in known):
            return None
        return "contradicted", "the evidence has another one of this thing", own

    def _figure_of_any(self, said: Quantity) -> _Answer:
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

    def _derived(self, said: Quantity, key: str, own: Sequence[Figure] = ()) -> _Answer | None:
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

    def _calculated(self, said: Quantity, key: str, own: Sequence[Figure]) -> _Answer | None:
        if own and said.unit != "yuan":
            twice = any(agrees(said, 2 * one.value) for one in own)  # there and back
            return ("undecided", "it may be there and back", own) if twice else None
        told = [
            one for one in self._figures_in_play if one.source.origin == "tool" and one.role not in (None, "budget")
        ]
        pool = [one for one in told if _comparable(said, one, mode=False)]
        derived = follows(said, [one.value for one in pool], self._people)
        if derived:
            return ("supported" if derived == "plain" else "undecided"), "it follows from the evidence", pool
        ends = key or self._before(said)
        if could_take(said, [one.value for one in self._distances(ends)]):
            return "undecided", "it may be estimated from a distance", self._distances(ends)
        return None

    def _missing(self, said: Quantity) -> _Answer:
        """Return what it means that the evidence has no such figure of the thing: invented, where it has none like it at all."""
        alike = [one for one in self.evidence.figures if _comparable(said, one, mode=False)]
        if any(agrees(said, one.value, one.high, _near(said)) for one in alike):
            return "undecided", "the evidence has it of something else", alike
        told = any(one.role is not None for one in alike) and len(said.subject) != 1
        if said.role in _TOLD_ROLES and self.evidence.complete and not told:
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
        few = sorted(known | said)[: 4 * _SHOWN * _SHOWN]
        return [float(later - earlier) for earlier in few for later in few if later > earlier]

    def _distances(self, key: str) -> list[Figure]:
        found = self.evidence.figures_of(key) if key else self._figures_in_play
        return [one for one in found if one.unit == "m" and one.role == "travel_distance"]

    def _straight(self, key: str) -> list[float]:
        """Return the distances as the crow flies between where the user is, or what the reply names, and the thing."""
        points = [one for one in self.evidence.points if self.play & {*one.subject}]
        ends = [one for one in points if key in one.subject] if key else points
        return [distance_m(one.lon, one.lat, end.lon, end.lat) for end in ends for one in points if one is not end]

    # -- times of day ------------------------------------------------------------------------------------------------

    def _time(self, said: ClockTime, key: str) -> _Answer:
        known = [one for one in self.evidence.times_of(key) if said.role in (None, one.role) or one.role is None]
        meeting = [one for one in known if _at(said, one)]
        if meeting:
            return "supported", "the evidence has it of this thing", meeting
        if self._told(said):
            return "supported", "the user or the context says it", ()
        if any(_at(said, one) for one in self.evidence.times_of(key)):
            return "undecided", "the evidence has this time of this thing for something else", known
        own = [one for one in known if one.role == said.role]
        if own and said.role in ("opening", "closing", "last_service"):
            return "contradicted", "the evidence has another one of this thing", own
        return self._planned(said)

    def _time_of_any(self, said: ClockTime) -> _Answer:
        known = [one for one in self.evidence.times if self.play & {*one.subject} and said.role in (None, one.role)]
        meeting = [one for one in known if _at(said, one)]
        if self._told(said):
            return "supported", "the user or the context says it", ()
        if said.role is not None and len({one.subject for one in meeting}) == 1:
            return "supported", "of what the reply names, the evidence has it of one thing", meeting
        if meeting:
            return "undecided", "it is not said of what it is", meeting
        return self._planned(said)

    def _told(self, said: ClockTime) -> bool:
        return any(_at(said, one) for one in self.evidence.times_of(USER) if one.source.origin != "tool")

    def _planned(self, said: ClockTime) -> _Answer:
        """Return whether an arrival is a known or a proposed time and a way that the evidence has."""
        ways = [one for one in self._figures_in_play if one.role in ("travel_time", "wait")]
        if said.role == "arrival":
            for way in ways:
                if any(
                    abs(start + way.value - minutes) % _DAY <= 1 for start in self._starts for minutes in said.minutes
                ):
                    return "supported", "it is a time of the plan and a way that the evidence has", [way]
        return "undecided", "no evidence says this time", ()

    # -- identifiers -------------------------------------------------------------------------------------------------

    def _identifier(self, said: Identifier) -> _Answer:
        known = [one for one in self.evidence.identities if one.kind == said.kind]
        own = [one for one in known if len(said.subject) == 1 and said.subject[0] in one.subject]
        meeting = [one for one in known if _same(said, one)]
        if said.kind == "point":
            return self._point(said)
        if any(one in own for one in meeting):
            return "supported", "the evidence has it of this thing", own
        if said.kind == "phone":
            return self._phone(said, own, meeting)
        return self._words(said, own, meeting)

    def _words(self, said: Identifier, own: list[Identity], meeting: list[Identity]) -> _Answer:
        """Weigh an address, a line, a platform: texts and names say them, too."""
        if not own and meeting:
            return "supported", "the evidence has it", meeting
        if said.kind == "address" and own and all(_other_number(said.value, one.value) for one in own):
            return "contradicted", "the evidence has another one of this thing", own
        if (said.kind != "address" or not own) and self.evidence.says(said.value):
            return "supported", "the evidence says it", ()
        return "undecided", "the evidence has no such thing, or of something else", own or meeting

    def _phone(self, said: Identifier, own: list[Identity], meeting: list[Identity]) -> _Answer:
        if own:
            return "contradicted", "the evidence has another one of this thing", own
        if meeting:
            settled = not said.subject and len({one.subject for one in meeting}) == 1
            return ("supported" if settled else "undecided"), "the evidence has it", meeting
        digits = "".join(_DIGITS.findall(said.value))
        if _SPAN.fullmatch(self.document.words(said.span).strip()):
            return "undecided", "it may be a range of figures", ()
        if len(digits) < _FEWEST_DIGITS or not self.evidence.complete or self.evidence.says(digits):
            return "undecided", "the evidence has no such number of this thing", ()
        return "unsupported", "no tool, no context and no word of the user has such a number", ()

    def _point(self, said: Identifier) -> _Answer:
        place = point_of(said.value)
        if place is None:
            return "undecided", "it is no point", ()
        near = [one for one in self.evidence.points if distance_m(*place, one.lon, one.lat) <= _SAME_POINT_M]
        own = [one for one in self.evidence.points if len(said.subject) == 1 and said.subject[0] in one.subject]
        if any(one in own for one in near) or (near and not own):
            return "supported", "the evidence has it", ()
        if own:
            return "contradicted", f"the evidence has {own[0].lon:g},{own[0].lat:g} for this thing", ()
        return "undecided", "the evidence has no such point", ()


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


def _at(said: ClockTime, one: Moment) -> bool:
    """Return whether a time of day is another one, as exactly as it is said."""
    give = _CLOCK_SLACK[said.approx]
    return any(min((minutes - one.minutes) % _DAY, (one.minutes - minutes) % _DAY) <= give for minutes in said.minutes)


def _same(said: Identifier, one: Identity) -> bool:
    if said.kind == "phone":
        ours, theirs = ("".join(_DIGITS.findall(value)) for value in (said.value, one.value))
        return len(ours) >= _FEWEST_DIGITS - 1 and (theirs.endswith(ours) or ours.endswith(theirs))
    ours, theirs = (fold_phrase(value).replace(" ", "") for value in (said.value, one.value))
    return ours in theirs or (bool(theirs) and theirs in ours)


def _other_number(address: str, known: str) -> bool:
    """Return whether two addresses are of one street and have no number in common."""
    ours, theirs = set(_DIGITS.findall(address)), set(_DIGITS.findall(known))
    words = [fold_phrase(_DIGITS.sub(" ", text)) for text in (address, known)]
    return bool(ours and theirs) and not ours & theirs and text_similarity(*words) >= _SAME_STREET
