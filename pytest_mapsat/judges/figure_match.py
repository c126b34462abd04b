"""Which figures of a reply a check is about, and whether they fit the values of the thing that they describe."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pytest_mapsat.model import ClockTime, Number, all_true
from pytest_mapsat.reading import ABOUT_SHARE, Document, Quantity, Span, pack_of
from pytest_mapsat.reading import ClockTime as Clock

from .context import Context
from .findings import Finding, unclear
from .known_values import DAY, ROUNDING, Value
from .things import key_of
from .words import place_of

#: Roles of figures that a way has, and that are easily said of its end.
_OF_WAYS = ("arrival", "departure", "travel_time", "travel_distance")

#: How far, relatively, a figure that is said to be just under or just over something may lie from it.
_NEARLY = 0.25
#: A figure of so many steps is given finely; "about" adds nothing to it.
_FINE = 100

#: Roles that are always said in words: a time without any is none of these.
_HOURS = {"opening", "closing"}

_Figure = TypeVar("_Figure", Quantity, Clock)
_Check = TypeVar("_Check", Number, ClockTime)
Outcome = Literal["fits", "misfit", "open", "given", "explained", "beside"]
#: The figures that surely describe a check's phrases, those that may, and the sentences that contain one of these phrases.
Nearby = tuple[set[Span], set[Span], set[int]]


@dataclass(frozen=True)
class Beside:
    """What a figure is held against: the values that tools returned, which of them it fits, and whether its thing is named by then."""

    values: Sequence[Value]
    fits: Callable[[Value], bool]
    named: bool


def belongs(
    check: Number | ClockTime, document: Document, figure: Quantity | Clock, *, nearby: Nearby, context: Context
) -> bool | None:
    """Return whether a figure is one that the check speaks of; None where that is not sure.

    A phrase that it is near tells its role where nothing else does.
    """
    held: list[bool | None] = [figure.stance not in ("denied", "asked")]
    near: bool | None = True if figure.span in nearby[0] else None
    if near is None and figure.span not in nearby[1] and (figure.sentence in nearby[2] or figure.subject):
        near = False
    if check.quantifier == "any" and not check.bounds:
        held.append({"affirmed": True, "unclear": None}.get(figure.stance, False))
    if check.role:
        unsaid = False if set(check.role) <= _HOURS else None
        held.append((check.near and near) or unsaid if figure.role is None else figure.role in check.role)
    if check.near:
        held.append(near)
    if check.of:
        held.append(_is_of(check, document, figure, context))
    return all_true(held)


def of_proposed(check: _Check, context: Context, judged: Callable[[_Check, Context], Finding]) -> Finding:
    """Judge a check of figures of what is proposed.

    One figure of what is surely proposed decides as ``quantifier`` says: one that fits, or one that does not. The other way it is decided only where it
    comes to the same whatever else is proposed.

    Args:
        check: a check with ``of: proposed``.
        context: the dialogue.
        judged: judges such a check of named things, or of none.
    """
    turn: Any = "last" if check.turn == "any" else check.turn
    standings = context.standings(turn)
    tools = {bound.tool for bound in check.bounds}
    listed = dict.fromkeys(entity.key for entity in context.entities if entity.tool in tools) if tools else standings
    there = {key: standing for key, standing in standings.items() if key in listed}
    sure = tuple(key for key, standing in there.items() if standing.proposed)
    firmly = any(there[key].firmly for key in sure)
    open_ = [
        key for key, standing in there.items() if standing.proposed is None and not (standing.described and firmly)
    ]
    decides = check.quantifier == "any"

    def of(*keys: str) -> Finding:
        return judged(check.model_copy(update={"of": keys}), context)

    finding = of(*sure, *(() if decides and sure else open_))
    if finding.passed is decides and sure and (decides or not open_ or of(*sure).passed is decides):
        return finding
    if finding.passed is (not decides) and all(
        of(key).passed is finding.passed for key in listed if decides and key not in sure
    ):
        return finding
    quotes = [
        document.quote(mention.span) for standing in there.values() for document, mention in standing.mentions[:1]
    ]
    return unclear(quotes, "and it is unclear which figures belong to what is proposed", finding.wanted)


def near_phrases(near: Sequence[str], document: Document, figures: Sequence[Quantity | Clock]) -> Nearby:
    """Return the figures that describe one of the phrases, those that may describe one, and the sentences with a phrase.

    A figure is said of a phrase that stands in its clause; of several there the nearest is, and the others may be. Where the clause of the
    phrase has no figure, the nearest in its sentence is meant.
    """
    meant: set[Span] = set()
    maybe: set[Span] = set()
    sentences: set[int] = set()
    starts = [figure.span.start for figure in figures]
    for clause in document.clauses if near else ():
        place = place_of(document.words(clause), near)
        if place is None:
            continue
        sentence = document.sentence_at(clause.start)
        sentences.add(sentence)
        first, last = bisect_left(starts, clause.start), bisect_left(starts, clause.end)
        around = figures[first:last] or [
            figure for figure in figures[max(first - 1, 0) : first + 1] if figure.sentence == sentence
        ]
        begins, ends = (
            (clause.start + place[0], clause.start + place[1]) if first < last else (clause.start, clause.end)
        )
        if around:
            nearest = min(around, key=lambda figure, b=begins, e=ends: max(figure.span.start - e, b - figure.span.end))  # type: ignore[misc]
            meant.add(nearest.span)
            maybe.update(figure.span for figure in around[: last - first] if figure is not nearest)
    return meant, maybe - meant, sentences


def _is_of(check: Number | ClockTime, document: Document, figure: Quantity | Clock, context: Context) -> bool | None:
    """Return whether a figure is said of one of the check's things. What is said of the end of a way may be said of the way."""
    keys = {key for name in check.things if (key := key_of(name, context.keys))}
    to_an_end = figure.role in (*_OF_WAYS, None) and not sorts_of(keys, context) & sorts_of(
        set(figure.subject), context
    )
    if not figure.subject and _leads_back(document, figure, context):
        return None
    if not figure.subject or (to_an_end and not keys & set(figure.subject)):
        way = _way_before(document, figure, keys, context) if to_an_end else ""
        return way in keys if way else None
    if len(figure.subject) == 1:
        return figure.subject[0] in keys or _is_of_both(keys, figure, context)
    return None if keys & set(figure.subject) else False


def _is_of_both(keys: set[str], figure: Quantity | Clock, context: Context) -> bool:
    """Return whether a figure that seems to be said of a thing is known of it together with one of these: the price of a ride there."""
    if not isinstance(figure, Quantity):
        return False
    pieces = context.evidence.figures_of(figure.subject[0], unit=figure.unit, role=figure.role)
    return any(abs(piece.value - figure.value) <= ROUNDING and not keys.isdisjoint(piece.subject) for piece in pieces)


def readings_of(time: Clock, context: Context) -> Sequence[int]:
    """Return what a time of day can mean: of two readings the one that tools know of its thing, else of any."""
    if len(time.readings) == 1:
        return time.minutes
    own = {moment.minutes % DAY for key in time.subject for moment in context.evidence.times_of(key, role=time.role)}
    for told in (own, {moment.minutes % DAY for moment in context.evidence.times}):
        readings = [minutes for minutes in time.readings if minutes in told]
        if readings:
            return readings
    return time.minutes


def _leads_back(document: Document, figure: Quantity | Clock, context: Context) -> bool:
    """Return whether the clause of a figure speaks of the way back, whose end has no name: "back where you started at 16:31"."""
    words = pack_of(context.language, context.vocabulary).groups.get("homeward", ())
    return any(
        place_of(document.words(clause), words)
        for clause in document.clauses
        if clause.start <= figure.span.start < clause.end
    )


def named_by_then(figure: Quantity | Clock, document: Document) -> bool:
    """Return whether the thing of a figure is named in its sentence or before: one that is named later only may not be meant."""
    if len(figure.subject) != 1:
        return True
    named = [mention.sentence for mention in document.mentions if figure.subject[0] in mention.keys]
    return not named or named[0] <= figure.sentence


def _way_before(document: Document, figure: Quantity | Clock, keys: set[str], context: Context) -> str:
    """Return the thing like the wanted ones that was named last in the figure's sentence, or is the only one named before it."""
    sorts = sorts_of(keys, context)
    alike = keys | {entity.key for entity in context.entities if entity.sort in sorts}
    named = [
        mention
        for mention in document.mentions
        if mention.span < figure.span and len(mention.keys) == 1 and mention.keys[0] in alike
    ]
    here = [mention.keys[0] for mention in named if mention.sentence == figure.sentence]
    only = {mention.keys[0] for mention in named}
    return here[-1] if here else only.pop() if len(only) == 1 else ""


def sorts_of(keys: set[str], context: Context) -> set[str]:
    """Return what sorts of things some keys are, as the tools list them; legs of a way are none."""
    return {entity.sort for entity in context.entities if entity.key in keys and entity.sort != "leg"}


def compared(figure: Quantity | Clock, beside: Beside, context: Context) -> Outcome:
    """Return whether a figure fits the values of its own thing; without a sure thing it fits or fails only where all things agree.

    A way lies between two things, and is easily said of the wrong one: one that fits another way only is open.
    """
    key = figure.subject[0] if len(figure.subject) == 1 and beside.named else ""
    if not any(map(beside.fits, beside.values)):
        nothing_of_it = key and beside.values and not any(key in value.own | value.about for value in beside.values)
        return "open" if figure.stance == "unclear" or nothing_of_it else "misfit"
    of_way = _is_of_a_way(figure)
    if not key:
        return _among(beside, beside.values, context, of_way=of_way)
    ways = [value for value in beside.values if key in value.about and not value.own]
    own = [value for value in beside.values if key in value.own]
    if not of_way:
        own, ways = [*own, *ways], []
    if any(map(beside.fits, (*own, *ways))):
        return "fits"
    of_a_place = isinstance(figure, Quantity) and figure.unit in ("min", "m") and all(value.several for value in own)
    if own and not ways and not of_a_place and figure.stance != "unclear":
        return "misfit"
    if own or ways:
        return "open"
    return _among(
        beside, [value for value in beside.values if key in value.about] or beside.values, context, of_way=of_way
    )


def settled(figure: _Figure, values: Sequence[Value], context: Context) -> _Figure:
    """Return a figure with its thing and role, where words leave them open and what is known does not.

    One that is said of nothing is one of the only thing with such a value that the replies name, if they propose it; one of a way stays as it
    is. One whose role no word tells has the role in which alone its thing has this value.
    """
    if not figure.subject and not _is_of_a_way(figure):
        standings = context.standings("any")
        named = {key for value in values for key in value.own or value.about if key in standings}
        if len(named) == 1 and standings[min(named)].proposed:
            figure = figure._replace(subject=tuple(named))
    told = isinstance(figure, Quantity) and (figure.cued or figure.role in _OF_WAYS)
    if len(figure.subject) != 1 or told:
        return figure
    roles = set(_known_roles(figure, context))
    return figure._replace(role=roles.pop()) if len(roles) == 1 and figure.role not in roles else figure


def _known_roles(figure: Quantity | Clock, context: Context) -> Iterator[Any]:
    """Yield the roles in which the thing of a figure has its value."""
    (key,) = figure.subject
    if isinstance(figure, Quantity):
        for piece in context.evidence.figures_of(key, unit=figure.unit):
            if piece.role and abs(piece.value - figure.value) <= ROUNDING:
                yield piece.role
    else:
        for moment in context.evidence.times_of(key):
            if moment.role and moment.minutes % DAY in figure.minutes:
                yield moment.role


def _is_of_a_way(figure: Quantity | Clock) -> bool:
    """Return whether a figure may be one of a way, which lies between two things: a length, a time, when it begins or ends."""
    return figure.role in _OF_WAYS or (isinstance(figure, Quantity) and figure.unit in ("min", "m"))


def _among(beside: Beside, values: Sequence[Value], context: Context, *, of_way: bool) -> Outcome:
    """Return whether a figure fits, whichever of several things it is said of: all of them, or all that are proposed."""
    proposed = {key for key, standing in context.standings("any").items() if standing.proposed}
    groups: dict[frozenset[str], bool] = {}
    for value in values:
        things = value.own if of_way else value.own or value.about
        groups[things] = groups.get(things, False) or beside.fits(value)
    if any(beside.fits(value) for value in values if not (value.own or value.several or (value.about and not of_way))):
        return "fits"
    meant = [held for things, held in groups.items() if things & proposed]
    return "fits" if all(groups.values()) or (meant and all(meant)) else "open"


def lies_between(figure: Quantity, low: float, high: float) -> bool | None:
    """Return whether all that a figure can mean lies between two bounds, ends included; None where a part of it does.

    One that is said to be about something may lie just outside.
    """
    slack = ROUNDING + (ABOUT_SHARE * abs(figure.value) if figure.approx == "about" else 0)
    if figure.approx == "about":
        return low - slack <= figure.value <= high + slack
    least = -math.inf if figure.approx == "at_most" else figure.low
    most = math.inf if figure.approx == "at_least" else figure.high
    if low - slack <= least and most <= high + slack:
        return True
    return None if least <= high + slack and most >= low - slack else False


def meets(figure: Quantity, value: float, tolerance: float) -> bool:
    """Return whether a figure says a value: exactly, rounded as it is written, or about, under or over it as it says."""
    within = tolerance * abs(value) + ROUNDING
    whole = figure.value % 1 == 0 and value % 1 == 0
    rounded = max(within, figure.step / 2 + ROUNDING if not whole or figure.step > 1 else 0)
    match figure.approx:
        case "exact":
            return abs(figure.value - value) <= rounded
        case "range":
            return figure.low - within <= value <= figure.high + within
        case "at_most":
            return figure.value * (1 - _NEARLY) - rounded <= value <= figure.value + rounded
        case "at_least":
            return figure.value - rounded <= value <= figure.value * (1 + _NEARLY) + rounded
        case _:
            loose = ABOUT_SHARE if figure.value < _FINE * figure.step else 0
            return abs(figure.value - value) <= max(rounded, loose * abs(value))


def in_window(check: ClockTime, minutes: int) -> bool:
    """Return whether a time of day, in minutes after midnight, lies in the window of a check, which may run past midnight."""
    after, before = _minutes(check.after or "00:00"), _minutes(check.before or "23:59")
    at = minutes % DAY
    return after <= at <= before if after <= before else at >= after or at <= before


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])
