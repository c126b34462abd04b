"""Holds each claim of a reply against the evidence of its own thing and role: supported, contradicted, unsupported, undecided."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_mapsat.judges.evidence import USER, Evidence, Identity, Moment
from pytest_mapsat.sandbox import distance_m, point_of, text_similarity
from pytest_mapsat.text import ClockTime, Document, Identifier, Mention, Quantity, fold_phrase

from .claims import Claim, claims_of
from .figures import Answer, Figures, Verdict
from .proposed import Proposed

_DAY = 24 * 60
#: Minutes by which a time of day may be off.
_CLOCK_SLACK = {"exact": 1, "about": 12, "range": 1, "at_most": 1, "at_least": 1}
_SAME_POINT_M = 150
_SHOWN = 3
#: Fewer digits are the number of a service that everybody knows.
_FEWEST_DIGITS = 7
_DIGITS = re.compile(r"\d+")
_SAME_STREET = 0.6
#: What a line is, by its words.
_RAILS = re.compile(r"号线|地铁|(?i:\bline\b|metro|tram|train)")
_ROAD = re.compile(r"路|公交|巴士|(?i:\bbus\b)")
_SPAN = re.compile(r"\d{4}\W\d{4}")


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


class _Scale(Figures):
    """Weighs the claims of one reply."""

    def judge(self, claim: Claim) -> Judged:
        """Return the verdict on one claim."""
        verdict, why, against = self._answer(claim)
        shown = dict.fromkeys(f"{one.text} ({one.source.tool or one.source.origin})" for one in against if one.text)
        return Judged(claim, verdict, why, tuple(shown)[:_SHOWN])

    def _answer(self, claim: Claim) -> Answer:
        said = claim.said
        match said:
            case Mention():
                return "supported", "the evidence has this name", ()
            case Proposed():
                return self._proposed(said)
            case Quantity():
                return self.figures(said)
            case ClockTime():
                return self._each(said.subject, lambda key: self._time(said, key), lambda: self._time_of_any(said))
            case Identifier():
                return self._identifier(said)

    def _proposed(self, said: Proposed) -> Answer:
        if self.evidence.knows(said.name):
            return "supported", "the evidence has this name", ()
        return ("unsupported" if said.sure else "undecided"), "the evidence has no thing of this name", ()

    # -- times of day ------------------------------------------------------------------------------------------------

    def _time(self, said: ClockTime, key: str) -> Answer:
        known = [one for one in self.evidence.times_of(key) if said.role in (None, one.role) or one.role is None]
        meeting = [one for one in known if _at(said, one)]
        if meeting:
            return "supported", "the evidence has it of this thing", meeting
        if self._told(said):
            return "supported", "the user or the context says it", ()
        if any(_at(said, one) for one in self.evidence.times_of(key)):
            return "undecided", "the evidence has this time of this thing for something else", known
        own = [one for one in known if one.role == said.role]
        if own and any(
            _at(said, one) for other in self._named_beside(said, key) for one in self.evidence.times_of(other)
        ):
            return "undecided", "the evidence has it of another thing in this sentence", own
        if own and said.role in ("opening", "closing", "last_service"):
            return "contradicted", "the evidence has another one of this thing", own
        return self._planned(said)

    def _named_beside(self, said: ClockTime, key: str) -> list[str]:
        """Return the keys of the other things that are named in the sentence of a time."""
        return sorted(self._by_sentence.get(said.sentence, set()) - {key})

    def _time_of_any(self, said: ClockTime) -> Answer:
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

    def _planned(self, said: ClockTime) -> Answer:
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

    def _identifier(self, said: Identifier) -> Answer:
        known = [one for one in self.evidence.identities if one.kind == said.kind]
        own = [one for one in known if len(said.subject) == 1 and said.subject[0] in one.subject]
        meeting = [one for one in known if _same(said, one) and not self._other_line(said, one)]
        if said.kind == "point":
            return self._point(said)
        if any(one in own for one in meeting):
            return "supported", "the evidence has it of this thing", own
        if said.kind == "phone":
            return self._phone(said, own, meeting)
        return self._words(said, own, meeting)

    def _other_line(self, said: Identifier, one: Identity) -> bool:
        """Return whether two lines have other numbers ("6" and "16"), or one runs on rails and the other on the road."""
        words = self.document.words(said.span), one.text
        rails, road = ({bool(sort.search(text)) for text in words} for sort in (_RAILS, _ROAD))
        numbers = [_DIGITS.findall(text) for text in words]
        return said.kind == "line" and (numbers[0] != numbers[1] or len(rails) > 1 < len(road))

    def _words(self, said: Identifier, own: list[Identity], meeting: list[Identity]) -> Answer:
        """Weigh an address, a line, a platform: texts and names say them, too."""
        if not own and meeting:
            return "supported", "the evidence has it", meeting
        if said.kind == "address" and own and all(_other_number(said.value, one.value) for one in own):
            return "contradicted", "the evidence has another one of this thing", own
        if (said.kind != "address" or not own) and self.evidence.says(
            self.document.words(said.span) if said.kind == "line" else said.value
        ):
            return "supported", "the evidence says it", ()
        return "undecided", "the evidence has no such thing, or of something else", own or meeting

    def _phone(self, said: Identifier, own: list[Identity], meeting: list[Identity]) -> Answer:
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

    def _point(self, said: Identifier) -> Answer:
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


def _at(said: ClockTime, one: Moment) -> bool:
    """Return whether a time of day is another one, as exactly as it is said."""
    give = _CLOCK_SLACK[said.approx]
    return any(min((minutes - one.minutes) % _DAY, (one.minutes - minutes) % _DAY) <= give for minutes in said.readings)


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
