"""The claims of a reply: each name, figure, time and identifier that it states as a fact, compared with the dialogue's evidence; and the findings of checks on them.

Only telephone numbers, hours and addresses are ever called wrong. Whatever else the evidence does not surely have of the thing is left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_mapsat.model import Grounded, Quote, distance_m, point_of, text_similarity
from pytest_mapsat.reading import FOREIGN, ClockTime, Document, Identifier, Mention, Quantity, Span, fold_phrase

from .evidence import USER, FigureExplainer, Identity, KnownFigure, KnownTime, agrees, apart
from .findings import SHOWN_AT_MOST, Finding, cite, judges, unclear
from .things import Recommendation, unknown_heads

if TYPE_CHECKING:
    from .context import JudgedDialogue

ClaimType = Literal["name", "quantity", "time", "point", "identifier"]
Verdict = Literal["supported", "contradicted", "unsupported", "undecided"]
Statement = Mention | Span | Quantity | ClockTime | Identifier
#: A verdict, the reason, and what was held against the claim.
Answer = tuple[Verdict, str, Sequence[KnownFigure | KnownTime | Identity]]
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
class JudgedClaim:
    """One claim of a reply with its verdict.

    Attributes:
        statement: what was read: a name, a figure, a time, an identifier; the place of a name that nothing has.
        document: the reply.
        verdict: supported, contradicted, unsupported (nothing bears it out) or undecided.
        why: the reason, in words.
        evidence: what was held against it, each with its unit and where it is from.
    """

    statement: Statement
    document: Document
    verdict: Verdict
    why: str
    evidence: tuple[str, ...] = ()

    @property
    def span(self) -> Span:
        """The claim's place in the reply."""
        return self.statement if isinstance(self.statement, Span) else self.statement.span

    @property
    def text(self) -> str:
        """The words of the claim."""
        return self.document.words(self.span)

    @property
    def quote(self) -> Quote:
        """The words of the claim with their place."""
        return self.document.quote(self.span)

    @property
    def type(self) -> ClaimType:
        """The kind of statement: name, quantity, time, point or identifier."""
        match self.statement:
            case Quantity():
                return "quantity"
            case ClockTime():
                return "time"
            case Identifier():
                return "point" if self.statement.kind == "point" else "identifier"
        return "name"

    @property
    def sort(self) -> str:
        """The sort of a claim that a check can select: name, address, coordinate, distance, duration, time, price, rating, phone, line or count."""
        match self.statement:
            case Quantity():
                return sort_of(self.statement.unit)
            case Identifier():
                return "coordinate" if self.statement.kind == "point" else self.statement.kind
        return self.type

    @property
    def subject(self) -> tuple[str, ...]:
        """The keys of the things that the claim describes; several if the claim is ambiguous, none if no such thing is known."""
        match self.statement:
            case Mention():
                return self.statement.keys
            case Quantity() | ClockTime() | Identifier():
                return self.statement.subject
        return ()

    @property
    def wrong(self) -> bool:
        """Whether the claim fails a check: it is contradicted, or an unsupported phone number. A person decides on other unsupported claims."""
        return self.verdict == "contradicted" or (self.verdict == "unsupported" and self.sort == "phone")

    @property
    def matters(self) -> bool:
        """Whether the claim counts: False for an undecided time, stay or slack that may be part of the agent's own plan."""
        statement = self.statement
        planned = isinstance(statement, ClockTime) and statement.role in _PLANNED
        planned = planned or (isinstance(statement, Quantity) and statement.role in ("stay", "slack"))
        return not (planned and self.verdict == "undecided")

    @property
    def reason(self) -> str:
        """The reason for the verdict, followed by the evidence used in the comparison."""
        return f"{self.why}: {', '.join(self.evidence)}" if self.evidence else self.why


def sort_of(unit: str) -> str:
    """Return the sort of figure that a canonical unit measures: distance, duration, price, rating, or otherwise count."""
    return _SORTS.get(unit, "count")


def weigh(
    document: Document, explained: FigureExplainer, standings: Mapping[str, Recommendation]
) -> tuple[JudgedClaim, ...]:
    """Return the claims of one reply with their verdicts, in text order, without sentences that only offer more help.

    Args:
        document: the reply.
        explained: what was known by then.
        standings: what the dialogue does with each thing.
    """
    scale = _ClaimJudge(document, explained, standings)
    offered = _offered(document)
    claims = (scale.judge(statement) for statement in _said(document))
    kept = [claim for claim in claims if document.sentence_at(claim.span.start) not in offered]
    return tuple(sorted(kept, key=lambda claim: (claim.span, claim.type)))


def _said(document: Document) -> Iterator[Statement]:
    """Yield the statements of a reply that count as claims: names, unknown names, figures, times and identifiers."""
    seen: set[tuple[str, ...]] = set()
    for mention in document.mentions:
        if mention.form != "kind" and len(mention.keys) == 1 and mention.stance != "asked" and mention.keys not in seen:
            seen.add(mention.keys)
            yield mention
    yield from unknown_heads(document)
    # Bare numbers count lists, and bounds of nothing are wishes.
    yield from (
        figure
        for figure in document.quantities
        if figure.stance in _STATED
        and (figure.unit != "count" or figure.role is not None)
        and (figure.approx in ("exact", "about", "range") or figure.subject)
    )
    yield from (time for time in document.times if time.stance in _STATED and time.role != "now")
    yield from (identifier for identifier in document.identifiers if identifier.kind != "link")


def _offered(document: Document) -> Collection[int]:
    """Return the indexes of questions, and of the lists below questions that offer help."""
    sentences = {question.sentence for question in document.questions}
    for question in document.questions:
        for span in document.list_below(question.span.start) if question.offer else ():
            last = document.sentence_at(max(span.end - 1, span.start))
            sentences.update(range(document.sentence_at(span.start), last + 1))
    return sentences


class _ClaimJudge:
    """Judges the claims of one reply."""

    def __init__(self, document: Document, explained: FigureExplainer, standings: Mapping[str, Recommendation]) -> None:
        self._document = document
        self._explained = explained
        self._evidence = explained.evidence
        self._standings = standings

    def judge(self, statement: Statement) -> JudgedClaim:
        """Return the verdict on one claim."""
        verdict, why, against = self._answer(statement)
        shown = dict.fromkeys(
            f"{piece.text} ({piece.source.tool or piece.source.origin})" for piece in against if piece.text
        )
        return JudgedClaim(statement, self._document, verdict, why, tuple(shown)[:_SHOWN])

    def _answer(self, statement: Statement) -> Answer:  # noqa: PLR0911  one line per type
        """Return verdict, reason and relevant evidence for a statement, by its type."""
        match statement:
            case Mention() if statement.keys[0] in self._evidence.names:
                return "supported", "the evidence has this name", ()
            case Quantity() | ClockTime() if statement.unread:
                return "undecided", "the evidence has it only as part of a longer text", ()
            case Quantity():
                return self._figure(statement)
            case ClockTime():
                return self._time(statement)
            case Identifier() if statement.kind == "phone":
                return self._phone(statement)
            case Identifier() if statement.kind == "point":
                return self._point(statement)
            case Identifier():
                return self._words(statement)
        return "undecided", "the evidence has no thing of this name", ()

    def _figure(self, figure: Quantity) -> Answer:  # noqa: PLR0911  the cases, one after the other
        """Judge a figure: supported by the user, the context or evidence of its thing, unsupported if there is no explanation, otherwise undecided."""
        if figure.unit == FOREIGN:
            return "undecided", "it is not in the suite's currency", ()
        meeting = [
            piece
            for piece in self._evidence.figures
            if _may_be(figure, piece) and agrees(figure, piece.value, piece.high)
        ]
        if any(piece.source.origin != "tool" and USER in piece.subject for piece in meeting):
            return "supported", "the user or the context says it", meeting
        own = [piece for piece in meeting if figure.subject and {*figure.subject} <= {*piece.subject}]
        if own:
            return "supported", "the evidence has it for this thing", own
        if not figure.subject and len({frozenset(piece.subject) for piece in meeting if self._names(piece)}) == 1:
            return "supported", "the evidence has it for one thing only that the reply names", meeting
        if meeting:
            return "undecided", "the evidence has it, perhaps for something else", meeting
        others = [piece for key in figure.subject for piece in self._evidence.figures_of(key) if _may_be(figure, piece)]
        why = self._explained.of(figure, ())
        if not why and sort_of(figure.unit) in ("duration", "price") and figure.role in _TOLD_ROLES:
            return "unsupported", "no tool, no context and no word of the user has such a figure", others
        return "undecided", "it may follow from known figures" if why else "the evidence has no such figure", others

    def _names(self, piece: KnownFigure | KnownTime) -> bool:
        """Return whether the reply names a thing that a piece of evidence belongs to."""
        return any(key in self._standings for key in piece.subject)

    def _time(self, time: ClockTime) -> Answer:
        """Judge a time of day: supported, undecided, or contradicted if it differs from the known hours of its thing."""
        meeting = [piece for piece in self._evidence.times if _at(time, piece)]
        if any(piece.source.origin != "tool" for piece in meeting):
            return "supported", "the user or the context says it", ()
        alike = [piece for piece in meeting if time.role is None or piece.role in (None, time.role)]
        own = [piece for piece in alike if time.subject and {*time.subject} <= {*piece.subject}]
        if own:
            return "supported", "the evidence has it for this thing", own
        if time.role and not time.subject and len({piece.subject for piece in alike if self._names(piece)}) == 1:
            return "supported", "the evidence has it for one thing only that the reply names", alike
        if time.role in _HOURS and len(time.subject) == 1:
            neighbours = {
                key for name in self._document.mentions if name.sentence == time.sentence for key in name.keys
            }
            others = self._evidence.times_of(time.subject[0], role=time.role)
            if others and not any(neighbours & {*piece.subject} for piece in meeting):
                return "contradicted", "the evidence has another one for this thing", others
        if time.role == "arrival" and self._explained.of(time, ()) == "derived":
            return "supported", "a known way ends at this time", ()
        return (
            "undecided",
            "the evidence has it for something else" if meeting else "no evidence says this time",
            meeting,
        )

    # -- identifiers -------------------------------------------------------------------------------------------------

    def _known(self, identifier: Identifier) -> tuple[list[Identity], list[Identity]]:
        """Return the known identities of an identifier's kind, and the identities among them that belong to the identifier's thing."""
        identities = [identity for identity in self._evidence.identities if identity.kind == identifier.kind]
        subject = identifier.subject if len(identifier.subject) == 1 else ()
        return identities, [identity for identity in identities if {*subject} & {*identity.subject}]

    def _words(self, identifier: Identifier) -> Answer:
        """Judge an address, a line or a platform by its words; an address is contradicted only if just the number differs."""
        identities, own = self._known(identifier)
        meeting = [identity for identity in own or identities if _same_words(identifier.value, identity.value)]
        if identifier.kind == "line":
            meeting = [
                identity for identity in meeting if _same_line(self._document.words(identifier.span), identity.text)
            ]
        if meeting:
            return "supported", "the evidence has it", meeting
        if (
            identifier.kind == "address"
            and own
            and all(_other_number(identifier.value, identity.value) for identity in own)
        ):
            return "contradicted", "the evidence has another one for this thing", own
        return "undecided", "the evidence does not have it, or only for something else", own

    def _phone(self, identifier: Identifier) -> Answer:
        """Judge a telephone number: contradicted if its thing has another number, unsupported if no known thing has it."""
        identities, own = self._known(identifier)
        meeting = [identity for identity in identities if _same_number(identifier.value, identity.value)]
        owners = {key for identity in meeting for key in identity.subject}
        if any(identity in own for identity in meeting) or any(
            identity.source.origin != "tool" for identity in meeting
        ):
            return "supported", "the evidence has it", meeting
        if own:
            return "contradicted", "the evidence has another one for this thing", own
        if meeting:
            reachable = {key for identity in identities for key in identity.subject if key in self._standings}
            proposed = {key for key, standing in self._standings.items() if standing.proposed}
            # That of the only thing named which has a number is said of it.
            settled = owners & proposed or (reachable and reachable <= owners)
            return ("supported" if settled else "undecided"), "the evidence has it", meeting
        if len(identifier.value) < _FEWEST_DIGITS or not self._evidence.complete:
            return "undecided", "the evidence has no such number for this thing", ()
        return "unsupported", "no tool, no context and no word of the user has such a number", ()

    def _point(self, identifier: Identifier) -> Answer:
        """Judge a coordinate: supported if a known point of its thing lies close by, otherwise undecided."""
        place = point_of(identifier.value)
        points = self._evidence.points if place else ()
        near = [point for point in points if place and distance_m(*place, point.lon, point.lat) <= _SAME_POINT_M]
        if near and (not identifier.subject or any({*identifier.subject} & {*point.subject} for point in near)):
            return "supported", "the evidence has it", ()
        return "undecided", "the evidence has no such point for this thing", ()


def _may_be(figure: Quantity, piece: KnownFigure) -> bool:
    """Return whether known evidence can be compared with a figure: same unit, and compatible role and way of travelling."""
    if figure.unit != piece.unit and not (figure.unit.startswith("count") and piece.unit.startswith("count")):
        return False
    ways = {figure.mode, piece.mode}
    alike = figure.role is None or piece.role in (None, figure.role) or {figure.role, piece.role} <= {*_MONEY}
    return alike and (not figure.mode or len(ways) == 1 or bool(ways & {"", "straight"}) or ways == {"driving", "taxi"})


def _at(time: ClockTime, moment: KnownTime) -> bool:
    """Return whether a stated time of day matches a known time; an approximate time has more tolerance."""
    slack = _ABOUT_MINUTES if time.approx == "about" else 1
    return any(apart(minutes, moment.minutes) <= slack for minutes in time.readings)


def _same_number(number: str, other: str) -> bool:
    """Return whether two telephone numbers are the same, ignoring a country or area code."""
    ours, theirs = ("".join(_DIGITS.findall(value)) for value in (number, other))
    return len(ours) >= _FEWEST_DIGITS - 1 and (theirs.endswith(ours) or ours.endswith(theirs))


def _same_words(text: str, other: str) -> bool:
    """Return whether one text contains the other, both folded and without spaces."""
    ours, theirs = (fold_phrase(value).replace(" ", "") for value in (text, other))
    return ours in theirs or (bool(theirs) and theirs in ours)


def _same_line(line: str, other: str) -> bool:
    """Return whether two transit lines have the same number and can be the same mode: not one rail and one road."""
    rails, roads = ([bool(sort.search(text)) for text in (line, other)] for sort in (_RAILS, _ROAD))
    other_sort = rails[0] != rails[1] and roads[0] != roads[1]
    return _DIGITS.findall(line) == _DIGITS.findall(other) and not other_sort


def _other_number(address: str, other: str) -> bool:
    """Return whether two addresses are in the same street but share no number."""
    ours, theirs = set(_DIGITS.findall(address)), set(_DIGITS.findall(other))
    words = [fold_phrase(_DIGITS.sub(" ", text)) for text in (address, other)]
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


@judges(Grounded)
def grounded(check: Grounded, context: JudgedDialogue) -> Finding:
    """Judge whether every claim of the check's types is supported by results, the context or the user's words."""
    return _judged(check.claims, context)


def stated_claims(text: str, context: JudgedDialogue) -> Finding:
    """Judge whether the claims that concern a factual requirement without a check are grounded.

    Args:
        text: the requirement.
        context: the dialogue.
    """
    return _judged(_sorts_spoken_of(text), context)


def _sorts_spoken_of(text: str) -> tuple[str, ...]:
    """Return the sorts of claims that a requirement mentions; an empty result means all sorts."""
    folded = fold_phrase(text)
    return tuple(kind for kind, words in _SUBJECTS if words.search(folded))


def _judged(sorts: Collection[str], context: JudgedDialogue) -> Finding:  # noqa: PLR0911  the cases, one after the other
    """Judge the claims of some sorts: fail if a claim is wrong, undecided if a claim is unsupported, otherwise pass."""
    asked_for = [judged for judged in context.claims if _asked_for(judged, sorts)]
    claims = [judged for judged in asked_for if judged.matters]
    of_sorts = f" about {' or '.join(sorts)}" if sorts else ""
    wanted = f"every claim{of_sorts} rests on tool results, the context or the user's words"
    wrong = [judged for judged in claims if judged.wrong]
    if wrong:
        shown = "; ".join(
            f"{cite(judged.quote)}: {judged.verdict}, {judged.reason}" for judged in wrong[:SHOWN_AT_MOST]
        )
        return Finding(False, shown, wanted, _quotes(wrong))
    open_ = [judged for judged in claims if judged.verdict != "supported"]
    if open_:
        return unclear(
            (judged.quote for judged in open_), f"which no evidence clearly supports: {open_[0].reason}", wanted
        )
    unknown = context.unknown("any") if not sorts or "name" in sorts else ()
    if unknown and claims:
        return unclear(unknown, "which looks like a name that the evidence does not have", wanted)
    rivals = [judged for judged in asked_for if _has_rival(judged, context)]
    if rivals and not claims:
        return unclear(
            (judged.quote for judged in rivals), "which may be a plan, and is not what a tool returned", wanted
        )
    if not claims:
        return Finding(True, f"no reply makes a claim{of_sorts}, so nothing is claimed", wanted, nothing_claimed=True)
    if all(judged.sort in _COMMON for judged in claims):
        return unclear(
            (judged.quote for judged in claims), "which the evidence has, perhaps for something else", wanted
        )
    return Finding(
        True,
        f"the evidence supports {len(claims)} {'claim' if len(claims) == 1 else 'claims'}{of_sorts}",
        wanted,
        _quotes(claims),
    )


def _asked_for(judged: JudgedClaim, sorts: Collection[str]) -> bool:
    """Return whether a claim has one of the given sorts or types; True if none are given."""
    return not sorts or judged.sort in sorts or judged.type in sorts


def _has_rival(judged: JudgedClaim, context: JudgedDialogue) -> bool:
    """Return whether a tool returned another time or figure in the same role as a claim, so that the claim may misstate it."""
    statement = judged.statement
    if not isinstance(statement, ClockTime | Quantity) or statement.role is None:
        return False
    pieces = context.evidence.times if isinstance(statement, ClockTime) else context.evidence.figures
    return any(other.role == statement.role and other.source.origin == "tool" for other in pieces)


def _quotes(claims: Sequence[JudgedClaim]) -> tuple[Quote, ...]:
    """Return the quotes of the first claims, as many as a finding shows."""
    return tuple(judged.quote for judged in claims[:SHOWN_AT_MOST])
