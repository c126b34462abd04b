"""What a reply claims: each name, figure, time and identifier that it states as a fact, held against what the dialogue knew; and what checks and facts make of that.

Only telephone numbers, hours and addresses are ever called wrong. Whatever else the evidence does not surely have of the thing is left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_mapsat import model
from pytest_mapsat.model import Check, Grounded, Number, Quote, Recommends, Requirement, leaves
from pytest_mapsat.sandbox import distance_m, point_of, text_similarity
from pytest_mapsat.text import FOREIGN, ClockTime, Document, Identifier, Mention, Quantity, Span, fold_phrase

from .evidence import UNITS, USER, Identity, KnownFigure, Moment, is_unit
from .findings import SHOWN_AT_MOST, Finding, cite, unclear
from .handed_over import Contradiction
from .known_values import Explained, agrees, apart
from .things import Recommendation, key_of, names_in, unknown_heads

if TYPE_CHECKING:
    from .context import Context

ClaimType = Literal["name", "quantity", "time", "point", "identifier"]
Verdict = Literal["supported", "contradicted", "unsupported", "undecided"]
Said = Mention | Span | Quantity | ClockTime | Identifier
#: A verdict, the reason, and what was held against the claim.
Answer = tuple[Verdict, str, Sequence[KnownFigure | Moment | Identity]]
#: What is said so is stated: asked, denied and supposed things are not.
_STATED = ("affirmed", "compared", "rejected", "landmark")
#: Times that an agent proposes are a plan and no fact, unless the evidence has such times of their thing.
_PLANNED = ("departure", "arrival", "stop", None)
_SORTS = {"m": "distance", "min": "duration", "yuan": "price", "foreign": "price", "star": "rating"}
#: Roles of times that are told of things, and never of the user.
_HOURS = ("opening", "closing", "last_service")
_MONEY = ("price", "per_head", "total", "fee")
#: What an agent can know of ways and prices from evidence only.
_TOLD_ROLES = ("travel_time", "wait", *_MONEY)
#: Minutes by which a time of day may be off where it is said to be about.
_ABOUT_MINUTES = 12
_SAME_POINT_M = 150
_SHOWN = 3
#: Fewer digits are the number of a service that everybody knows.
_FEWEST_DIGITS = 7
_DIGITS = re.compile(r"\d+")
_SAME_STREET = 0.6
#: What a line is, by its words.
_RAILS = re.compile(r"号线|地铁|(?i:\bline\b|metro|tram|train)")
_ROAD = re.compile(r"路|公交|巴士|(?i:\bbus\b)")


@dataclass(frozen=True)
class Claim:
    """One claim of a reply.

    Attributes:
        said: what was read: a name, a figure, a time, an identifier; the place of a name that nothing has.
        document: the reply.
    """

    said: Said
    document: Document

    @property
    def span(self) -> Span:
        """Its place in the reply."""
        return self.said if isinstance(self.said, Span) else self.said.span

    @property
    def text(self) -> str:
        """Its words."""
        return self.document.words(self.span)

    @property
    def type(self) -> ClaimType:
        """Which member of the union it is."""
        match self.said:
            case Quantity():
                return "quantity"
            case ClockTime():
                return "time"
            case Identifier():
                return "point" if self.said.kind == "point" else "identifier"
        return "name"

    @property
    def sort(self) -> str:
        """What a check may ask for: name, address, coordinate, distance, duration, time, price, rating, phone, line or count."""
        match self.said:
            case Quantity():
                return sort_of(self.said.unit)
            case Identifier():
                return "coordinate" if self.said.kind == "point" else self.said.kind
        return self.type

    @property
    def subject(self) -> tuple[str, ...]:
        """Keys of the things that it describes; several where each could be meant."""
        match self.said:
            case Mention():
                return self.said.keys
            case Quantity() | ClockTime() | Identifier():
                return self.said.subject
        return ()


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes:
        claim: the claim.
        verdict: supported, contradicted, unsupported (nothing bears it out) or undecided.
        why: the reason, in words.
        evidence: what was held against it, each with its unit and where it is from.
    """

    claim: Claim
    verdict: Verdict
    why: str
    evidence: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether it fails a check: a figure that nothing bears out is only shown to a person."""
        return self.verdict == "contradicted" or (self.verdict == "unsupported" and self.claim.sort == "phone")

    @property
    def matters(self) -> bool:
        """Whether it weighs: a plan of the agent's own (a time for the user, a stay, time to spare) that nothing bears out does not."""
        said = self.claim.said
        planned = isinstance(said, ClockTime) and said.role in _PLANNED
        planned = planned or (isinstance(said, Quantity) and said.role in ("stay", "slack"))
        return not (planned and self.verdict == "undecided")

    @property
    def reason(self) -> str:
        """Why it has its verdict, with the evidence that was held against it."""
        return f"{self.why}: {', '.join(self.evidence)}" if self.evidence else self.why


def sort_of(unit: str) -> str:
    """Return what a figure of a canonical unit is: distance, duration, price, rating, or else a count."""
    return _SORTS.get(unit, "count")


def weigh(document: Document, explained: Explained, standings: Mapping[str, Recommendation]) -> tuple[Judged, ...]:
    """Return the claims of one reply with their verdicts, in the order of the text. Offers of more help claim nothing.

    Args:
        document: the reply.
        explained: what was known by then.
        standings: what the dialogue does with each thing.
    """
    scale = _Scale(document, explained, standings)
    offered = _offered(document)
    claims = [Claim(said, document) for said in _said(document)]
    claims = [one for one in claims if document.sentence_at(one.span.start) not in offered]
    return tuple(scale.judge(claim) for claim in sorted(claims, key=lambda claim: (claim.span, claim.type)))


def _said(document: Document) -> Iterator[Said]:
    named: set[tuple[str, ...]] = set()
    for mention in document.mentions:
        if (
            mention.form != "kind"
            and len(mention.keys) == 1
            and mention.stance != "asked"
            and mention.keys not in named
        ):
            named.add(mention.keys)
            yield mention
    yield from unknown_heads(document)
    # Bare numbers count lists, and bounds of nothing are wishes.
    yield from (
        one
        for one in document.quantities
        if one.stance in _STATED
        and (one.unit != "count" or one.role is not None)
        and (one.approx in ("exact", "about", "range") or one.subject)
    )
    yield from (time for time in document.times if time.stance in _STATED and time.role != "now")
    yield from (one for one in document.identifiers if one.kind != "link")


def _offered(document: Document) -> Collection[int]:
    """Return the sentences that only offer more help, with the lists below them."""
    found = {question.sentence for question in document.questions}
    for question in document.questions:
        for span in document.list_below(question.span.start) if question.offer else ():
            last = document.sentence_at(max(span.end - 1, span.start))
            found.update(range(document.sentence_at(span.start), last + 1))
    return found


class _Scale:
    """Weighs the claims of one reply."""

    def __init__(self, document: Document, explained: Explained, standings: Mapping[str, Recommendation]) -> None:
        self._document = document
        self._explained = explained
        self._evidence = explained.evidence
        self._standings = standings

    def judge(self, claim: Claim) -> Judged:
        """Return the verdict on one claim."""
        verdict, why, against = self._answer(claim.said)
        shown = dict.fromkeys(f"{one.text} ({one.source.tool or one.source.origin})" for one in against if one.text)
        return Judged(claim, verdict, why, tuple(shown)[:_SHOWN])

    def _answer(self, said: Said) -> Answer:  # noqa: PLR0911  one line per type
        match said:
            case Mention() if said.keys[0] in self._evidence.names:
                return "supported", "the evidence has this name", ()
            case Quantity():
                return self._figure(said)
            case ClockTime():
                return self._time(said)
            case Identifier() if said.kind == "phone":
                return self._phone(said)
            case Identifier() if said.kind == "point":
                return self._point(said)
            case Identifier():
                return self._words(said)
        return "undecided", "the evidence has no thing of this name", ()

    def _figure(self, said: Quantity) -> Answer:  # noqa: PLR0911  the cases, one after the other
        if said.unit == FOREIGN:
            return "undecided", "it is not in the suite's currency", ()
        meeting = [one for one in self._evidence.figures if _may_be(said, one) and agrees(said, one.value, one.high)]
        if any(one.source.origin != "tool" and USER in one.subject for one in meeting):
            return "supported", "the user or the context says it", meeting
        own = [one for one in meeting if said.subject and {*said.subject} <= {*one.subject}]
        if own:
            return "supported", "the evidence has it for this thing", own
        if not said.subject and len({frozenset(one.subject) for one in meeting if self._names(one)}) == 1:
            return "supported", "the evidence has it for one thing only that the reply names", meeting
        if meeting:
            return "undecided", "the evidence has it, perhaps for something else", meeting
        others = [one for key in said.subject for one in self._evidence.figures_of(key) if _may_be(said, one)]
        why = self._explained.of(said, ())
        if not why and sort_of(said.unit) in ("duration", "price") and said.role in _TOLD_ROLES:
            return "unsupported", "no tool, no context and no word of the user has such a figure", others
        return "undecided", "it may follow from known figures" if why else "the evidence has no such figure", others

    def _names(self, one: KnownFigure | Moment) -> bool:
        """Return whether the reply names a thing that a piece of evidence belongs to."""
        return any(key in self._standings for key in one.subject)

    def _time(self, said: ClockTime) -> Answer:
        meeting = [one for one in self._evidence.times if _at(said, one)]
        if any(one.source.origin != "tool" for one in meeting):
            return "supported", "the user or the context says it", ()
        alike = [one for one in meeting if said.role is None or one.role in (None, said.role)]
        own = [one for one in alike if said.subject and {*said.subject} <= {*one.subject}]
        if own:
            return "supported", "the evidence has it for this thing", own
        if said.role and not said.subject and len({one.subject for one in alike if self._names(one)}) == 1:
            return "supported", "the evidence has it for one thing only that the reply names", alike
        if said.role in _HOURS and len(said.subject) == 1:
            beside = {key for one in self._document.mentions if one.sentence == said.sentence for key in one.keys}
            others = self._evidence.times_of(said.subject[0], role=said.role)
            if others and not any(beside & {*one.subject} for one in meeting):
                return "contradicted", "the evidence has another one for this thing", others
        if said.role == "arrival" and self._explained.of(said, ()) == "derived":
            return "supported", "a known way ends at this time", ()
        return (
            "undecided",
            "the evidence has it for something else" if meeting else "no evidence says this time",
            meeting,
        )

    # -- identifiers -------------------------------------------------------------------------------------------------

    def _words(self, said: Identifier) -> Answer:
        """Weigh an address, a line, a platform."""
        known = [one for one in self._evidence.identities if one.kind == said.kind]
        own = [one for one in known if len(said.subject) == 1 and said.subject[0] in one.subject]
        meeting = [one for one in own or known if _same_words(said.value, one.value)]
        if said.kind == "line":
            meeting = [one for one in meeting if _same_line(self._document.words(said.span), one.text)]
        if meeting:
            return "supported", "the evidence has it", meeting
        if said.kind == "address" and own and all(_other_number(said.value, one.value) for one in own):
            return "contradicted", "the evidence has another one for this thing", own
        return "undecided", "the evidence does not have it, or only for something else", own

    def _phone(self, said: Identifier) -> Answer:
        known = [one for one in self._evidence.identities if one.kind == "phone"]
        meeting = [one for one in known if _same_number(said.value, one.value)]
        own = [one for one in known if len(said.subject) == 1 and said.subject[0] in one.subject]
        owners = {key for one in meeting for key in one.subject}
        if any(one in own for one in meeting) or any(one.source.origin != "tool" for one in meeting):
            return "supported", "the evidence has it", meeting
        if own:
            return "contradicted", "the evidence has another one for this thing", own
        if meeting:
            reachable = {key for one in known for key in one.subject if key in self._standings}
            proposed = {key for key, standing in self._standings.items() if standing.proposed}
            # That of the only thing named which has a number is said of it.
            settled = owners & proposed or (reachable and reachable <= owners)
            return ("supported" if settled else "undecided"), "the evidence has it", meeting
        if len(said.value) < _FEWEST_DIGITS or not self._evidence.complete:
            return "undecided", "the evidence has no such number for this thing", ()
        return "unsupported", "no tool, no context and no word of the user has such a number", ()

    def _point(self, said: Identifier) -> Answer:
        place = point_of(said.value)
        points = self._evidence.points if place else ()
        near = [one for one in points if place and distance_m(*place, one.lon, one.lat) <= _SAME_POINT_M]
        if near and (not said.subject or any({*said.subject} & {*one.subject} for one in near)):
            return "supported", "the evidence has it", ()
        return "undecided", "the evidence has no such point for this thing", ()


def _may_be(said: Quantity, one: KnownFigure) -> bool:
    """Return whether a figure of the evidence may be what is said: of the unit, the role and the way of travelling."""
    if said.unit != one.unit and not (said.unit.startswith("count") and one.unit.startswith("count")):
        return False
    ways = {said.mode, one.mode}
    alike = said.role is None or one.role in (None, said.role) or {said.role, one.role} <= {*_MONEY}
    return alike and (not said.mode or len(ways) == 1 or bool(ways & {"", "straight"}) or ways == {"driving", "taxi"})


def _at(said: ClockTime, one: Moment) -> bool:
    """Return whether a time of day is another one, as exactly as it is said."""
    slack = _ABOUT_MINUTES if said.approx == "about" else 1
    return any(apart(minutes, one.minutes) <= slack for minutes in said.readings)


def _same_number(said: str, known: str) -> bool:
    """Return whether two telephone numbers are the same, with the code of a country or a town or without."""
    ours, theirs = ("".join(_DIGITS.findall(value)) for value in (said, known))
    return len(ours) >= _FEWEST_DIGITS - 1 and (theirs.endswith(ours) or ours.endswith(theirs))


def _same_words(said: str, known: str) -> bool:
    ours, theirs = (fold_phrase(value).replace(" ", "") for value in (said, known))
    return ours in theirs or (bool(theirs) and theirs in ours)


def _same_line(said: str, known: str) -> bool:
    """Return whether two lines have one number, and do not run on rails the one and on the road the other."""
    rails, roads = ([bool(sort.search(text)) for text in (said, known)] for sort in (_RAILS, _ROAD))
    other_sort = rails[0] != rails[1] and roads[0] != roads[1]
    return _DIGITS.findall(said) == _DIGITS.findall(known) and not other_sort


def _other_number(address: str, known: str) -> bool:
    """Return whether two addresses are of one street and have no number in common."""
    ours, theirs = set(_DIGITS.findall(address)), set(_DIGITS.findall(known))
    words = [fold_phrase(_DIGITS.sub(" ", text)) for text in (address, known)]
    return bool(ours and theirs) and not ours & theirs and text_similarity(*words) >= _SAME_STREET


#: What stands in many results: that the evidence has it says little.
_COMMON = ("line", "platform", "price")
#: The words by which a requirement says which claims it is about.
_SUBJECTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("distance", re.compile(r"距离|路程|里程|多远|公里|distance|length|how far")),
    ("duration", re.compile(r"耗时|时长|用时|所需时间|行程时间|车程|分钟|duration|travel time|how long|minutes")),
    ("price", re.compile(r"费用|价格|票价|人均|消费|花费|价|price|cost|fare|fee|toll")),
    ("address", re.compile(r"地址|address")),
    (
        "time",
        re.compile(r"营业|开放|时间段|时刻|首班|末班|到达时间|出发时间|opening|hours|timetable|arrival|departure"),
    ),
    ("rating", re.compile(r"评分|评级|rating|score")),
    ("phone", re.compile(r"电话|联系方式|phone|telephone")),
    ("coordinate", re.compile(r"坐标|经纬度|coordinate|longitude")),
    ("line", re.compile(r"线路|公交|地铁|换乘|乘车|line|bus|metro")),
    ("name", re.compile(r"名称|名字|地点|站点|站名|店铺|门店|poi|存在|真实|name|place|station|stop")),
    ("count", re.compile(r"数量|几站|站数|红绿灯|个数|number of|count")),
)


def grounded(check: Grounded, context: Context) -> Finding:
    """Every claim of the check's types is supported by results, context or the user's words."""
    return _judged(check.claims, check.about, context)


def stated_claims(text: str, context: Context) -> Finding:
    """Return the verdict on a factual requirement without a check: are the claims it speaks of grounded?

    Args:
        text: the requirement.
        context: the dialogue.
    """
    return _judged(_sorts_spoken_of(text), (), context)


def _sorts_spoken_of(text: str) -> tuple[str, ...]:
    """Return the sorts of claims that a requirement names; none where it speaks of all."""
    folded = fold_phrase(text)
    return tuple(kind for kind, words in _SUBJECTS if words.search(folded))


def _judged(sorts: Collection[str], about: Sequence[str], context: Context) -> Finding:  # noqa: PLR0911  the cases, one after the other
    """Fail on a claim that is wrong, leave open what is not supported, and pass where all that matters is, and not by common figures alone."""
    asked_for = [one for one in context.claims if _asked_for(one, sorts) and _concerns(one, about)]
    claims = [one for one in asked_for if one.matters]
    named = f" about {' or '.join(sorts)}" if sorts else ""
    wanted = f"every claim{named} rests on tool results, the context or the user's words"
    wrong = [one for one in claims if one.wrong]
    if wrong:
        shown = "; ".join(f"{cite(_quote(one))}: {one.verdict}, {one.reason}" for one in wrong[:SHOWN_AT_MOST])
        return Finding(False, shown, wanted, _quotes(wrong))
    open_ = [one for one in claims if one.verdict != "supported"]
    if open_:
        return unclear(map(_quote, open_), f"which no evidence clearly supports: {open_[0].reason}", wanted)
    unknown = context.unknown("any") if not about and (not sorts or "name" in sorts) else ()
    if unknown and claims:
        return unclear(unknown, "which looks like a name that the evidence does not have", wanted)
    rivals = [one for one in asked_for if _has_rival(one, context)]
    if rivals and not claims:
        return unclear(map(_quote, rivals), "which may be a plan, and is not what a tool returned", wanted)
    if not claims:
        return Finding(True, f"no reply makes a claim{named}, so nothing is claimed", wanted, nothing_claimed=True)
    if all(one.claim.sort in _COMMON for one in claims):
        return unclear(map(_quote, claims), "which the evidence has, perhaps for something else", wanted)
    return Finding(
        True,
        f"the evidence supports {len(claims)} {'claim' if len(claims) == 1 else 'claims'}{named}",
        wanted,
        _quotes(claims),
    )


def _asked_for(one: Judged, sorts: Collection[str]) -> bool:
    return not sorts or one.claim.sort in sorts or one.claim.type in sorts


def _has_rival(one: Judged, context: Context) -> bool:
    """Return whether a tool returned a time or a figure of the role of one that the agent may have planned: then it may be said wrongly."""
    said = one.claim.said
    if not isinstance(said, ClockTime | Quantity) or said.role is None:
        return False
    known = context.evidence.times if isinstance(said, ClockTime) else context.evidence.figures
    return any(other.role == said.role and other.source.origin == "tool" for other in known)


def _concerns(one: Judged, about: Sequence[str]) -> bool:
    """Return whether a claim is about one of the phrases: its sentence says it."""
    document = one.claim.document
    sentence = fold_phrase(document.words(document.sentences[document.sentence_at(one.claim.span.start)]))
    return not about or any(fold_phrase(phrase) in sentence for phrase in about)


def _quote(one: Judged) -> Quote:
    return one.claim.document.quote(one.claim.span)


def _quotes(claims: Sequence[Judged]) -> tuple[Quote, ...]:
    return tuple(map(_quote, claims[:SHOWN_AT_MOST]))


# -- text against data -------------------------------------------------------------------------------------------------


def contradicted(facts: Sequence[Requirement], context: Context) -> dict[str, Finding]:
    """Return the findings on the facts that fail because a reply says one thing in words and another one as data, by id.

    A contradiction fails the facts that speak of its thing and figure; where none does, the first fact of the case, since one of
    the two that are said is wrong.
    """
    failed: dict[str, list[Contradiction]] = {}
    for found in context.contradictions:
        for fact in [one for one in facts if _speaks_of(one, found, context)] or facts[:1]:
            failed.setdefault(fact.id, []).append(found)
    wanted = "a reply that does not contradict its structured output"
    return {
        fact: Finding(
            False,
            "; ".join(f"{cite(one.quote)}, {one.why}" for one in listed[:SHOWN_AT_MOST]),
            wanted,
            tuple(one.quote for one in listed[:SHOWN_AT_MOST]),
        )
        for fact, listed in failed.items()
    }


def _speaks_of(fact: Requirement, found: Contradiction, context: Context) -> bool:
    """Return whether a fact speaks of what is contradicted: by its check, or by the claims that its text names."""
    if fact.check is None:
        return _names_sort(_sorts_spoken_of(fact.text), found)
    return any(_looks_at(check, found, context) for check in leaves(fact.check))


def _looks_at(check: Check, found: Contradiction, context: Context) -> bool:
    named = {key for group in names_in(check) for name in group if (key := key_of(name, context.keys))}
    if named and found.key not in named:
        return False
    match check:
        case Number():
            return is_unit(found.unit, UNITS[check.unit][0]) and (not check.role or found.role in check.role)
        case model.ClockTime():
            return found.unit == "clock" and (not check.role or found.role in check.role)
        case Grounded():
            return _names_sort(check.claims, found)
    return isinstance(check, Recommends) and not found.unit


def _names_sort(sorts: Sequence[str], found: Contradiction) -> bool:
    """Return whether claims of some sorts (of all, where none is named) are of the sort that is contradicted."""
    own = {"name"} if not found.unit else {"time"} if found.unit == "clock" else {"quantity", sort_of(found.unit)}
    return not sorts or not own.isdisjoint(sorts)
