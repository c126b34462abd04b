"""The checks ``number`` and ``clock_time``.

A figure is compared with its own thing and role only, and with what tools returned of that thing. One whose role or thing is not
sure neither passes nor fails: where no clear figure decides and it could be the one that is looked for, the finding is undecided.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args

from pytest_mapsat.model import Bound, ClockTime, FigureRole, Json, Number, Quote, TimeRole, all_true, range_in_words
from pytest_mapsat.reading import (
    ABOUT_SHARE,
    CLOCK,
    FOREIGN,
    MONEY,
    ROLES_OF_UNIT,
    TIMES,
    BareNumber,
    Document,
    Quantity,
    Span,
    UnreadAmount,
    Vocabulary,
    pack_of,
)
from pytest_mapsat.reading import ClockTime as Clock

from .context import JudgedDialogue
from .evidence import (
    DAY,
    ROUNDING,
    UNITS,
    Value,
    clock_times,
    is_far,
    is_reckoned,
    is_unit,
    plain_numbers,
    relevant,
    written,
)
from .findings import (
    SHOWN_AT_MOST,
    Finding,
    absent,
    cited,
    clock_of,
    first_few,
    judges,
    number_in_words,
    thing_in_words,
    time_in_words,
    unclear,
    window_in_words,
)
from .prose import has_any, place_of
from .things import key_of

_NOUNS = {
    "min": "duration",
    "m": "length",
    "yuan": "sum of money",
    "percent": "percentage",
    "celsius": "temperature",
    CLOCK: "clock time",
}
#: Minutes that a clock time may lie from one that it is said to be about.
_ABOUT_MINUTES = 5
#: Roles of figures that are plans, and claim nothing.
_PLANNED = ("budget", "slack")
#: The most stars that a rating has.
_STARS = 5
_TIME_ROLES = frozenset(get_args(TimeRole))  # likewise
#: Roles of times that are told of things, and never of the user.
_HOURS = ("opening", "closing", "last_service")
#: What became of figures that are known otherwise.
_KNOWN = ("given", "explained")
#: What a time of day that is said of a thing of a sort, without a word about it, is likely to be.
_PLAINLY = {"line": "departure", "place": "arrival"}
#: Roles of figures that a way has, and that are easily said of its end.
_OF_WAYS = ("arrival", "departure", "travel_time", "travel_distance")

#: How far, relatively, a figure that is said to be just under or just over something may lie from it.
_NEARLY = 0.25
#: A figure of so many steps is given finely; "about" adds nothing to it.
_FINE = 100

_Figure = TypeVar("_Figure", Quantity, Clock)
_Check = TypeVar("_Check", Number, ClockTime)
Outcome = Literal["fits", "misfit", "open", "given", "explained", "beside"]
#: The figures that surely describe a check's phrases, those that may, and the sentences that contain one of these phrases.
Nearby = tuple[set[Span], set[Span], set[int]]


class _Judgement(NamedTuple):
    """A figure of a reply and its judgement.

    Attributes:
        document: the reply.
        figure: the figure.
        belongs: whether it is one that the check speaks of; None where that is not sure.
        outcome: whether it lies where it must, if it is; ``given``, ``explained``: it does not, and is one that the user gave, or a known figure of something else;
            ``beside``: it does not, and follows from known ones, so that it matters only where no other figure fits.
        misfit: where it does not lie, in words.
        other_role: whether its role alone tells that the check does not speak of it.
        suspect: whether its value is that of another thing, in such a role: then it may be said wrongly, whatever else fits.
        far: whether it is of another order of size than all that it could be compared with.
    """

    document: Document
    figure: Quantity | Clock
    belongs: bool | None
    outcome: Outcome = "open"
    misfit: str = ""
    other_role: bool = False
    suspect: bool = False
    far: bool = False

    @property
    def quote(self) -> Quote:
        """The figure's words with their place; built only when shown."""
        return self.document.quote(self.figure.span)


@judges(Number)
def number(check: Number, context: JudgedDialogue) -> Finding:
    """Judge whether the replies state a number in the unit for the check's thing, within its bounds."""
    if check.of == "proposed":
        return of_proposed(check, context, number)
    unit, scale = UNITS[check.unit]
    values = context.values(check.bounds, lambda value: _scaled(value, check, scale, context.money))
    judgements: list[_Judgement] = []
    for document in context.read(check.turn):
        figures = [figure for figure in document.quantities if _is_ours(figure, unit, check) and not figure.unread]
        nearby = near_phrases(check.near, document, figures)
        for figure in figures:
            clear = settled(figure, values or (), context)
            judged = _number_judged(check, document, clear, values, nearby=nearby, context=context)
            judgements.append(_softened_if_explained(clear, judged, check, context))
    noun = _NOUNS.get(unit, "number")
    numbers = [value.number / scale for value in values or ()]
    wanted = f"a {noun} {number_in_words(check, numbers, _word(check, context))}"
    if unit == MONEY and all(judgement.belongs is False for judgement in judgements):
        foreign = [
            document.quote(figure.span)
            for document in context.read(check.turn)
            for figure in document.quantities
            if figure.unit == FOREIGN  # what it comes to is unknown
        ]
        if foreign:
            why = f"which is not in the suite's currency, {context.vocabulary.currency}"
            return unclear(foreign[:SHOWN_AT_MOST], why, wanted)
    missing = (
        not any(judgement.outcome == "fits" for judgement in judgements)
        if check.quantifier == "any"
        else not judgements
    )
    if values and missing and check.if_absent == "fail":
        bare = _bare(check, values, context)
        if bare:
            return unclear(bare, f"which may be a {noun}", wanted)
    return _judged(check, judgements, wanted, unit, context)


def _bare(check: Number, returned: Sequence[Value], context: JudgedDialogue) -> tuple[Quote, ...]:
    """Return quotes of numbers without a unit that equal one of the values; empty if there are none."""
    scale = UNITS[check.unit][1]
    values = {value.number / scale for value in returned}
    quotes = (
        document.quote(number.span)
        for document in context.read(check.turn)
        for number in _numbers(document)
        if isinstance(number, BareNumber) or number.unit.startswith("count")
        if any(abs(number.value - value) <= check.allowed * abs(value) + ROUNDING for value in values)
    )
    return tuple(islice(quotes, SHOWN_AT_MOST))


def _numbers(document: Document) -> list[BareNumber | Quantity]:
    """Return the bare numbers and the figures of a reply."""
    return [*document.numbers, *document.quantities]


@judges(ClockTime)
def clock_time(check: ClockTime, context: JudgedDialogue) -> Finding:
    """Judge whether the replies state a clock time for the check's thing, within its window."""
    if check.of == "proposed":
        return of_proposed(check, context, clock_time)
    values = context.values(check.bounds, clock_times)
    judgements: list[_Judgement] = []
    for document in context.read(check.turn):
        times = [time for time in document.times if not time.unread]
        nearby = near_phrases(check.near, document, times)
        for time in _alike_in_lists([settled(time, values or (), context) for time in times], document):
            judged = _time_judged(check, document, time, values, nearby=nearby, context=context)
            judgements.append(_softened_if_explained(time, judged, check, context))
    wanted = f"a clock time {time_in_words(check, [value.number for value in values or ()])}"
    return _judged(check, judgements, wanted, CLOCK, context)


def _is_ours(figure: Quantity, unit: str, check: Number) -> bool:
    """Return whether a figure has the unit that a check asks for; a rating up to five counts as stars."""
    rated = check.role == ("rating",) and figure.role == "rating" and figure.value <= _STARS
    return is_unit(figure.unit, unit) or (rated and {figure.unit, unit} == {"count", "star"})


def _unread(check: Number | ClockTime, unit: str, context: JudgedDialogue) -> Iterator[tuple[Document, UnreadAmount]]:
    """Yield amounts that the reader could not parse and that may have the unit; nights and months may be days or an age."""
    long = isinstance(check, Number) and check.unit in ("d", "count")
    for document in context.read(check.turn):
        for amount in document.unread:
            units = amount.units
            fits = any(is_unit(other, unit) or other == TIMES or (long and other in ("d", "year")) for other in units)
            if fits or not units:
                yield document, amount


def _alike_in_lists(times: Sequence[Clock], document: Document) -> Iterator[Clock]:
    """Yield the times of day; in a list, a time without a role takes the role of the time before it: "10:12, 10:22, 10:32"."""
    before: Clock | None = None
    for time in times:
        between = document.text[before.span.end : time.span.start] if before else " "
        listed = before is not None and time.role is None and bool(between.strip()) and not between.strip(" ,、/")
        before = time._replace(role=before.role) if before is not None and listed else time
        yield before


def _softened_if_explained(
    figure: Quantity | Clock, judgement: _Judgement, check: Number | ClockTime, context: JudgedDialogue
) -> _Judgement:
    """Return the judgement of a figure; if a value does not match but has another explanation, the judgement is softened.

    A figure whose thing and role words tell stays open where another thing has its value: then it may be said wrongly.
    """
    if judgement.belongs is False or judgement.outcome in ("fits", "beside") or check.quantifier == "any":
        return judgement
    sure = (
        judgement.belongs is True
        and len(figure.subject) == 1
        and (isinstance(figure, Clock) or figure.cued or bool(check.near))
    )
    if judgement.outcome == "open" and sure:
        return judgement
    why = context.explained(judgement.document).of(figure, check.role)
    if why == "unnamed" and (sure or len(figure.subject) != 1):
        why = "" if sure else "other"
    if why == "user" and sure and figure.role in _HOURS:
        why = ""  # when the user is free says nothing of when a shop is
    outcome = judgement.outcome
    if why == "user":
        outcome = "open" if _is_claimed(figure) else "given"
    elif why in ("own", "other") and not sure:
        outcome = "explained"
    elif why == "own" or is_reckoned(figure, why, sure=sure):
        outcome = "beside"
    elif why == "derived" and sure:
        pass  # nearly every figure is the sum or difference of two others
    elif why or (check.role and isinstance(figure, Quantity) and not figure.cued and figure.unit == "min"):
        outcome = "open"
    others = why == "swapped" or (not why and isinstance(figure, Clock))
    return judgement._replace(outcome=outcome, suspect=others and bool(figure.subject))


def _is_claimed(figure: Quantity | Clock) -> bool:
    """Return whether words call a sum a price or total, so that the sum is a claim even if the user named it."""
    return isinstance(figure, Quantity) and figure.unit == MONEY and figure.cued and figure.role not in _PLANNED


def _judged(  # noqa: PLR0911  the cases, one after the other
    check: Number | ClockTime, judgements: Sequence[_Judgement], wanted: str, unit: str, context: JudgedDialogue
) -> Finding:
    """Return the finding of a check from the judgements of all figures."""
    clear, maybe = ([judgement for judgement in judgements if judgement.belongs is sure] for sure in (True, None))
    fits, wrong = ([judgement for judgement in clear if judgement.outcome == outcome] for outcome in ("fits", "misfit"))
    deciding, turning = (fits if check.quantifier == "any" else wrong), _could_change_verdict(check, clear, maybe)
    if not deciding and not fits and _answer_alone(check, turning):
        deciding = turning
    if deciding:
        return _decided(check, deciding, wanted, unit, context)
    if turning:
        return unclear(_quotes(turning), "unclear which thing this figure belongs to", wanted)
    if fits:
        return _decided(check, fits, wanted, unit, context)
    if check.quantifier == "any" and wrong:
        return _decided(check, wrong, wanted, unit, context)
    if maybe and check.quantifier == "all" and check.if_absent == "fail":
        return unclear(_quotes(maybe), "unclear which thing this figure belongs to", wanted)
    explained = [judgement for judgement in clear if judgement.outcome == "explained" or check.if_absent == "fail"]
    if explained:
        return unclear(_quotes(explained), "which is a known figure of something else", wanted)
    fits = [judgement for judgement in maybe if judgement.outcome == "fits"]
    if fits and check.quantifier == "all":
        return Finding(True, f"{cited(_quotes(fits))}, which fits whatever it is said of", wanted, _quotes(fits))
    return _unsaid(check, judgements, wanted, unit, context)


def _unsaid(
    check: Number | ClockTime, judgements: Sequence[_Judgement], wanted: str, unit: str, context: JudgedDialogue
) -> Finding:
    """Return the finding if no reply surely states such a figure."""
    others = [judgement for judgement in judgements if judgement.other_role]
    if others and check.if_absent == "fail" and not context.silent(check.turn):
        return unclear(_quotes(others), f"which seems to be about {_read_as(others)}", wanted)
    strange = [
        judgement
        for judgement in judgements
        if judgement.figure.stance != "denied" and _is_strange(judgement, check, context)
    ]
    if strange and check.if_absent != "fail":
        return unclear(_quotes(strange), "which matches nothing known, and may be the one that is meant", wanted)
    noun = _NOUNS.get(unit, "number")
    doubtful = _doubtful(check, judgements, unit, context)
    if doubtful:
        return unclear(doubtful, f"which may be a {noun}, and is not surely read", wanted)
    return absent(check.if_absent, f"no reply says a {noun}{thing_in_words(check)}", wanted)


def _answer_alone(check: Number | ClockTime, turning: Sequence[_Judgement]) -> bool:
    """Return whether wrong figures fail the check despite an explanation: the check names no thing, and words give the figures its role."""
    is_specific = check.of or check.near or check.bounds or (isinstance(check, Number) and check.mode)
    return (
        bool(turning)
        and not is_specific
        and all(
            judgement.outcome == "beside"
            and judgement.belongs is True
            and judgement.figure.role in check.role
            and (isinstance(judgement.figure, Clock) or judgement.figure.cued)
            for judgement in turning
        )
    )


def _doubtful(
    check: Number | ClockTime,
    judgements: Sequence[_Judgement],
    unit: str,
    context: JudgedDialogue,
) -> list[Quote]:
    """Return quotes that may be the missing figure: unparsed amounts, figures in recommendations, or figures with its role in another unit.

    A bare number, or a mere multiple, leaves nothing open where nothing must be claimed, or where values are known, none of which it has.
    """
    known = check.if_absent != "fail" or (bool(check.bounds) and isinstance(check, Number))
    quotes = [
        document.quote(amount.span)
        for document, amount in _unread(check, unit, context)
        if not (known and (amount.bare or TIMES in amount.units))
    ]
    quotes += islice(_claimed(check, unit, context), SHOWN_AT_MOST) if check.if_absent != "fail" else ()
    words = pack_of(context.language, context.vocabulary).groups
    proposing = {*words.get("choose", ()), *words.get("suggest", ())}
    quotes += [
        judgement.quote
        for judgement in judgements
        if judgement.figure.stance == "asked"
        and has_any(judgement.document.words(judgement.document.sentences[judgement.figure.sentence]), proposing)
    ]
    for document in context.read(check.turn) if isinstance(check, Number) else ():
        quotes += [document.quote(bare.span) for bare in document.numbers if not known]
        quotes += [
            document.quote(figure.span)
            for figure in document.quantities
            if not is_unit(figure.unit, unit)
            and (figure.role in check.role or (figure.unit, unit) == ("year", "count"))
        ]
    return quotes[:SHOWN_AT_MOST]


def _claimed(check: Number | ClockTime, unit: str, context: JudgedDialogue) -> Iterator[Quote]:
    """Yield wrong figures without a known unit to which words give the required role: "rating: 5.88"."""
    roles = frozenset(check.role) or (_TIME_ROLES if unit == CLOCK else ROLES_OF_UNIT.get(unit, frozenset()))
    for document in context.read(check.turn):
        amounts: list[UnreadAmount | Quantity] = [*document.unread, *document.quantities]
        spans = sorted(amount.span for amount in amounts if not roles.isdisjoint(amount.said))
        numbers = [number for number in _numbers(document) if not is_unit(getattr(number, "unit", ""), unit)]
        numbers.sort(key=lambda number: number.span)
        starts = [number.span.start for number in numbers] if spans else []
        parts = [numbers[bisect_left(starts, span.start) : bisect_left(starts, span.end)] for span in spans]
        figures = [[_as_meant(check, document, number, unit) for number in part] for part in parts]
        nearby = near_phrases(check.near, document, [figure for part in figures for figure in part])
        for span, part in zip(spans, figures, strict=True):
            judged = [_judged_as(check, document, figure, nearby, context) for figure in part]
            if part and all(judgement.belongs is not False and judgement.outcome != "fits" for judgement in judged):
                yield document.quote(span)


def _as_meant(check: Number | ClockTime, document: Document, number: Quantity | BareNumber, unit: str) -> Quantity:
    """Return a number as a figure with the unit and role that the check asks for."""
    value = number.value * (UNITS[check.unit][1] if isinstance(check, Number) else 1)
    role, subject = cast("FigureRole | None", next(iter(check.role), None)), getattr(number, "subject", ())
    sentence = document.sentence_at(number.span.start)
    return Quantity(number.span, value, value, value, "exact", unit, role, subject, "", "affirmed", sentence, 0)


def _judged_as(
    check: Number | ClockTime, document: Document, figure: Quantity, nearby: Nearby, context: JudgedDialogue
) -> _Judgement:
    """Return the judgement of a number after it received the check's unit and role."""
    if isinstance(check, ClockTime):
        return _Judgement(document, figure, belongs(check, document, figure, nearby=nearby, context=context))
    values = context.values(check.bounds, lambda value: _scaled(value, check, UNITS[check.unit][1], context.money))
    return _number_judged(check, document, figure, values, nearby=nearby, context=context)


def _read_as(judgements: Sequence[_Judgement]) -> str:
    """Return in words the roles that other figures were read in; "something else" if a figure has no role."""
    roles = dict.fromkeys(judgement.figure.role for judgement in judgements[:SHOWN_AT_MOST])
    if None in roles:
        return "something else"
    return f"something else ({' or '.join(str(role).replace('_', ' ') for role in roles)})"


def _is_strange(judgement: _Judgement, check: Number | ClockTime, context: JudgedDialogue) -> bool:
    """Return whether a figure with another role may be the requested figure, since no evidence, or only that of another thing, explains it."""
    of_another = (
        bool(check.of)
        and len(judgement.figure.subject) == 1
        and judgement.belongs is False
        and not judgement.other_role
    )
    if judgement.figure.role in _PLANNED or of_another:
        return False
    why = context.explained(judgement.document).of(judgement.figure, check.role)
    only_other = why in ("swapped", "unnamed") and len(judgement.figure.subject) == 1
    if isinstance(judgement.figure, Clock):
        return (
            judgement.other_role
            and judgement.figure.role is None
            and (only_other or (why == "other" and len(judgement.figure.subject) == 1))
        )
    return (
        only_other
        or (not why and not (judgement.far and check.role))
        or (why == "user" and _is_claimed(judgement.figure))
    )


def _could_change_verdict(
    check: Number | ClockTime, clear: Sequence[_Judgement], maybe: Sequence[_Judgement]
) -> list[_Judgement]:
    """Return the unclear figures that could change the verdict; empty if there are none."""
    open_ = [judgement for judgement in clear if judgement.outcome == "open"]
    if check.quantifier == "any":
        return [*open_, *(judgement for judgement in maybe if judgement.outcome != "misfit")]
    asked = check.if_absent == "fail"
    unsure = [
        judgement for judgement in maybe if judgement.outcome != "fits" and (asked or judgement.outcome not in _KNOWN)
    ]
    unsure += [judgement for judgement in clear if judgement.outcome == "beside"]
    # One that fits answers for its own thing only.
    answered = {
        judgement.figure.subject
        for judgement in clear
        if judgement.outcome == "fits" and judgement.figure.stance == "affirmed"
    }
    if answered:
        unsure = [
            judgement
            for judgement in unsure
            if judgement.suspect or (judgement.belongs and judgement.figure.subject not in answered)
        ]
    return [*open_, *unsure]


def _decided(
    check: Number | ClockTime, deciding: Sequence[_Judgement], wanted: str, unit: str, context: JudgedDialogue
) -> Finding:
    """Return the finding of the deciding figures; a failure becomes unclear if an unparsed amount may be the right figure."""
    first = deciding[0]
    if first.outcome == "fits":
        return Finding(True, cited(_quotes(deciding)), wanted, _quotes(deciding))
    places = {(judgement.document.turn, judgement.figure.sentence) for judgement in deciding}
    rivals = [
        document.quote(amount.span)
        for document, amount in _unread(check, unit, context)
        if not amount.bare and (check.quantifier == "any" or (document.turn, amount.sentence) in places)
    ]
    if rivals:
        return unclear(rivals, f"which may be the {_NOUNS.get(unit, 'number')}, and is not read", wanted)
    more = f", and {len(deciding) - 1} more do not fit" if len(deciding) > 1 else ""
    missed = context.only_missed(check.bounds[0].tool) if check.bounds else ()
    return Finding(False, f"{cited([first.quote])}, {first.misfit}{more}", wanted, _quotes(deciding), missed=missed)


def _number_judged(
    check: Number,
    document: Document,
    figure: Quantity,
    values: Sequence[Value] | None,
    *,
    nearby: Nearby,
    context: JudgedDialogue,
) -> _Judgement:
    """Judge one figure for a number check: whether it concerns the check's thing, lies within bounds, and equals values that tools returned."""
    scale = UNITS[check.unit][1]
    ours = belongs(check, document, figure, nearby=nearby, context=context)
    if check.mode and figure.mode not in check.mode:
        ours = False if figure.mode else None if ours else ours
    if check.role and figure.unit == "m" and figure.approx == "at_most" and not figure.subject and not figure.cued:
        ours = False  # how far was looked, not how far something is
    if ours is False:
        return _Judgement(document, figure, belongs=False, other_role=_is_other(check.role, figure.role))
    low = -math.inf if check.min is None else check.min * scale
    high = math.inf if check.max is None else check.max * scale
    inside = lies_between(figure, low, high)
    if not inside:
        return _Judgement(
            document,
            figure,
            ours,
            "open" if figure.stance == "unclear" or inside is None else "misfit",
            f"which is not {range_in_words(check.min, check.max, _word(check, context))}",
        )
    if values is None:
        return _Judgement(document, figure, ours, "fits")
    upto = [value for value in values if value.turn <= document.turn]
    if any(value.mode == figure.mode for value in upto):
        upto = [value for value in upto if not (figure.mode and value.mode) or figure.mode == value.mode]
    far = (figure.role is None or not figure.cued) and is_far(figure, upto)
    if far and figure.unit != MONEY:
        return _Judgement(document, figure, belongs=False, far=True)
    if far:
        return _Judgement(document, figure, ours, "beside")
    things = named_by_then(figure, document)
    ours = ours if things or not ours else None
    shown = [f"{value.number / scale:g} {_word(check, context)}".rstrip() for value in relevant(figure, upto)]
    known = Comparison(upto, lambda value: meets(figure, value.number, check.allowed), things)
    outcome = compared(figure, known, context)
    if outcome == "misfit" and check.quantifier == "any" and any(map(known.fits, upto)):
        outcome = "open"  # it is one of the values that are asked for, if not of the thing that it seems to be said of
    return _Judgement(document, figure, ours, outcome, f"but {_returned(check.bounds, shown, context)}")


def _time_judged(
    check: ClockTime,
    document: Document,
    time: Clock,
    values: Sequence[Value] | None,
    *,
    nearby: Nearby,
    context: JudgedDialogue,
) -> _Judgement:
    """Judge one time for a clock_time check: whether it concerns the check's thing, lies in the window, and equals values that tools returned."""
    ours = belongs(check, document, time, nearby=nearby, context=context)
    if ours is False:
        return _Judgement(document, time, belongs=False, other_role=_is_other(check.role, time.role))
    earlier = 0 if time.approx == "exact" else _ABOUT_MINUTES
    later = _ABOUT_MINUTES if time.approx == "about" else 0  # what is so by 13:34 is not so later
    outcome: Outcome
    readings = readings_of(time, context)
    inside = {any(in_window(check, minutes + more) for more in range(-earlier, later + 1)) for minutes in readings}
    if inside != {True}:
        outcome = "open" if True in inside or time.stance == "unclear" else "misfit"
        return _Judgement(document, time, ours, outcome, f"which is not {window_in_words(check)}")
    plain = time.role is None and any(
        role in check.role and sorts_of(set(time.subject), context) == {sort} for sort, role in _PLAINLY.items()
    )
    if values is None:
        return _Judgement(document, time, ours or plain or None, "fits")
    upto = [value for value in values if value.turn <= document.turn]
    things = named_by_then(time, document)
    ours = ours if things or not ours else None

    def fits(value: Value) -> bool:
        """Return whether a returned value matches, within the tolerance, a possible reading of the time."""
        lowest, highest = max(check.tolerance_min, earlier), max(check.tolerance_min, later)
        return any((value.number - minutes + lowest) % DAY <= lowest + highest for minutes in readings)

    shown = [clock_of(int(value.number)) for value in relevant(time, upto)]
    outcome = compared(time, Comparison(upto, fits, things), context)
    surely = ours or (plain and outcome == "fits") or None
    return _Judgement(document, time, surely, outcome, f"but {_returned(check.bounds, shown, context)}")


def _is_other(wanted: Sequence[str], role: str | None) -> bool:
    """Return whether roles are required and this role is not among them."""
    return bool(wanted) and role not in wanted


def _scaled(value: Json, check: Number, scale: float, money: Vocabulary) -> list[float]:
    """Return the numbers in a value in the canonical unit: plain numbers scaled, otherwise figures written in text."""
    plain = [amount * scale * check.times for amount in plain_numbers(value)]
    return plain or [amount * check.times for amount in written(value, UNITS[check.unit][0], money)]


def _quotes(judgements: Sequence[_Judgement]) -> tuple[Quote, ...]:
    """Return the quotes of the first judgements, as many as a finding shows."""
    return tuple(judgement.quote for judgement in judgements[:SHOWN_AT_MOST])


def _returned(bounds: Sequence[Bound], values: Iterable[str], context: JudgedDialogue) -> str:
    """Return in words the results of the check's tools, or that the tools were never called."""
    asked = list(dict.fromkeys(bound.tool for bound in bounds if bound.tool))
    called = {step.tool for step in context.calls}
    tools = " or ".join(tool for tool in asked if tool in called)
    if not tools:
        return f"{' and '.join(asked)} {'was' if len(asked) == 1 else 'were'} never called"
    listed = list(dict.fromkeys(values))
    if not listed:
        return f"{tools} returned no such value"
    return f"{tools} returned {first_few(listed)}"


def _word(check: Number, context: JudgedDialogue) -> str:
    """Return the unit in words; empty for a plain count."""
    return context.vocabulary.currency if check.unit == "money" else "" if check.unit == "count" else check.unit


# -- which figures a check is about, and whether they fit the values of their thing ------------------------------


@dataclass(frozen=True)
class Comparison:
    """The other side of a figure's comparison: returned values, a test for a match, and whether its thing is named by then."""

    values: Sequence[Value]
    fits: Callable[[Value], bool]
    named: bool


def belongs(
    check: Number | ClockTime, document: Document, figure: Quantity | Clock, *, nearby: Nearby, context: JudgedDialogue
) -> bool | None:
    """Return whether a check concerns a figure; None if this is uncertain.

    A phrase that it is near tells its role where nothing else does.
    """
    answers: list[bool | None] = [figure.stance not in ("denied", "asked")]
    near: bool | None = True if figure.span in nearby[0] else None
    if near is None and figure.span not in nearby[1] and (figure.sentence in nearby[2] or figure.subject):
        near = False
    if check.quantifier == "any" and not check.bounds:
        answers.append({"affirmed": True, "unclear": None}.get(figure.stance, False))
    if check.role:
        # When something opens and closes is always said in words: a time without any is none of these.
        unsaid = False if set(check.role) <= {"opening", "closing"} else None
        answers.append((check.near and near) or unsaid if figure.role is None else figure.role in check.role)
    if check.near:
        answers.append(near)
    if check.of:
        answers.append(_is_of(check, document, figure, context))
    return all_true(answers)


def of_proposed(check: _Check, context: JudgedDialogue, judged: Callable[[_Check, JudgedDialogue], Finding]) -> Finding:
    """Judge a check with ``of: proposed``, which concerns the figures of recommended things.

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
        """Judge the check only for the things with these keys."""
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
    return unclear(quotes, "and it is unclear which figures belong to the proposed thing", finding.wanted)


def near_phrases(near: Sequence[str], document: Document, figures: Sequence[Quantity | Clock]) -> Nearby:
    """Return the figures that describe one of the phrases, the figures that may describe one, and the sentences that contain one.

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


def _is_of(
    check: Number | ClockTime, document: Document, figure: Quantity | Clock, context: JudgedDialogue
) -> bool | None:
    """Return whether a figure belongs to one of the check's things. A figure about the end of a way may belong to the way."""
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


def _is_of_both(keys: set[str], figure: Quantity | Clock, context: JudgedDialogue) -> bool:
    """Return whether evidence links the figure both to its thing and to one of these things, such as the price of a ride to a place."""
    if not isinstance(figure, Quantity):
        return False
    pieces = context.evidence.figures_of(figure.subject[0], unit=figure.unit, role=figure.role)
    return any(abs(piece.value - figure.value) <= ROUNDING and not keys.isdisjoint(piece.subject) for piece in pieces)


def readings_of(time: Clock, context: JudgedDialogue) -> Sequence[int]:
    """Return the minutes that a time may mean; if it is ambiguous, preferably the readings that occur in the evidence."""
    if len(time.readings) == 1:
        return time.minutes
    own = {moment.minutes % DAY for key in time.subject for moment in context.evidence.times_of(key, role=time.role)}
    for known in (own, {moment.minutes % DAY for moment in context.evidence.times}):
        readings = [minutes for minutes in time.readings if minutes in known]
        if readings:
            return readings
    return time.minutes


def _leads_back(document: Document, figure: Quantity | Clock, context: JudgedDialogue) -> bool:
    """Return whether a figure's clause describes the way back, which has no named end: "back where you started at 16:31"."""
    words = pack_of(context.language, context.vocabulary).groups.get("homeward", ())
    return any(
        place_of(document.words(clause), words)
        for clause in document.clauses
        if clause.start <= figure.span.start < clause.end
    )


def named_by_then(figure: Quantity | Clock, document: Document) -> bool:
    """Return whether a figure's thing is named in its sentence or earlier; True if the thing is never named."""
    if len(figure.subject) != 1:
        return True
    sentences = [mention.sentence for mention in document.mentions if figure.subject[0] in mention.keys]
    return not sentences or sentences[0] <= figure.sentence


def _way_before(document: Document, figure: Quantity | Clock, keys: set[str], context: JudgedDialogue) -> str:
    """Return the last way named before the figure in its sentence, otherwise the only way named before it, or an empty text."""
    sorts = sorts_of(keys, context)
    alike = keys | {entity.key for entity in context.entities if entity.sort in sorts}
    sentences = [
        mention
        for mention in document.mentions
        if mention.span < figure.span and len(mention.keys) == 1 and mention.keys[0] in alike
    ]
    here = [mention.keys[0] for mention in sentences if mention.sentence == figure.sentence]
    only = {mention.keys[0] for mention in sentences}
    return here[-1] if here else only.pop() if len(only) == 1 else ""


def sorts_of(keys: set[str], context: JudgedDialogue) -> set[str]:
    """Return the sorts of the entities with these keys, except legs."""
    return {entity.sort for entity in context.entities if entity.key in keys and entity.sort != "leg"}


def compared(figure: Quantity | Clock, known: Comparison, context: JudgedDialogue) -> Outcome:
    """Return whether a figure matches the values of its own thing; if the thing is uncertain, whether all things agree.

    A way lies between two things, and is easily said of the wrong one: one that fits another way only is open.
    """
    key = figure.subject[0] if len(figure.subject) == 1 and known.named else ""
    if not any(map(known.fits, known.values)):
        nothing_of_it = key and known.values and not any(key in value.own | value.about for value in known.values)
        return "open" if figure.stance == "unclear" or nothing_of_it else "misfit"
    of_way = _is_of_a_way(figure)
    if not key:
        return _among(known, known.values, context, of_way=of_way)
    ways = [value for value in known.values if key in value.about and not value.own]
    own = [value for value in known.values if key in value.own]
    if not of_way:
        own, ways = [*own, *ways], []
    if any(map(known.fits, (*own, *ways))):
        return "fits"
    of_a_place = isinstance(figure, Quantity) and figure.unit in ("min", "m") and all(value.several for value in own)
    if own and not ways and not of_a_place and figure.stance != "unclear":
        return "misfit"
    if own or ways:
        return "open"
    return _among(
        known, [value for value in known.values if key in value.about] or known.values, context, of_way=of_way
    )


def settled(figure: _Figure, values: Sequence[Value], context: JudgedDialogue) -> _Figure:
    """Return the figure with its thing and role filled in from evidence if its words leave them open.

    One that is said of nothing is one of the only thing with such a value that the replies name, if they propose it; one of a way stays as it
    is. One whose role no word tells has the role in which alone its thing has this value.
    """
    if not figure.subject and not _is_of_a_way(figure):
        standings = context.standings("any")
        keys = {key for value in values for key in value.own or value.about if key in standings}
        if len(keys) == 1 and standings[min(keys)].proposed:
            figure = figure._replace(subject=tuple(keys))
    is_told = isinstance(figure, Quantity) and (figure.cued or figure.role in _OF_WAYS)
    if len(figure.subject) != 1 or is_told:
        return figure
    roles = set(_known_roles(figure, context))
    return figure._replace(role=roles.pop()) if len(roles) == 1 and figure.role not in roles else figure


def _known_roles(figure: Quantity | Clock, context: JudgedDialogue) -> Iterator[Any]:
    """Yield each role in which evidence gives the figure's thing the same value."""
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
    """Return whether a figure may describe a way between two things: a length, a duration, a departure or an arrival."""
    return figure.role in _OF_WAYS or (isinstance(figure, Quantity) and figure.unit in ("min", "m"))


def _among(known: Comparison, values: Sequence[Value], context: JudgedDialogue, *, of_way: bool) -> Outcome:
    """Return "fits" if the figure matches all possible things or all recommended things, otherwise "open"."""
    proposed = {key for key, standing in context.standings("any").items() if standing.proposed}
    groups: dict[frozenset[str], bool] = {}
    for value in values:
        things = value.own if of_way else value.own or value.about
        groups[things] = groups.get(things, False) or known.fits(value)
    if any(known.fits(value) for value in values if not (value.own or value.several or (value.about and not of_way))):
        return "fits"
    meant = [values_of for things, values_of in groups.items() if things & proposed]
    return "fits" if all(groups.values()) or (meant and all(meant)) else "open"


def lies_between(figure: Quantity, low: float, high: float) -> bool | None:
    """Return whether all possible values of a figure lie between two bounds, inclusive; None if only some of them do.

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
    """Return whether a figure states a value: exactly, rounded, or within its "about", "at most" or "at least"."""
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
    """Return whether a time, in minutes after midnight, lies in a check's window, which may cross midnight."""
    after, before = _minutes(check.after or "00:00"), _minutes(check.before or "23:59")
    at = minutes % DAY
    return after <= at <= before if after <= before else at >= after or at <= before


def _minutes(clock: str) -> int:
    """Return ``HH:MM`` as minutes after midnight."""
    return int(clock[:2]) * 60 + int(clock[3:])
