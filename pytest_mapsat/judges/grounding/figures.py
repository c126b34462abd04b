"""Claims that are measures: distances, durations, prices, ratings, and counts of what can be counted on a map."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal

from .claims import Claim, ClaimType
from .forms import Mode
from .numbers import Quantity
from .page import Page, Row
from .units import UNITS, Dimension

_TYPES: dict[Dimension, ClaimType] = {"length": "distance", "time": "duration", "money": "price", "rating": "rating"}
_RANGE = frozenset({"-", "~", " - ", " to ", "到", "至", "--", "—"})
_ABOUT = re.compile(
    r"(?:大约|大概|约莫|约|差不多|将近|接近|大致|about|around|roughly|approximately|approx[.]?|nearly|almost|some|circa|ca[.]|~|≈)[ *:]{0,2}$"
)
_ABOUT_AFTER = ("左右", "上下", "不到", "or so", " or so", "前后")
_MAX_BEFORE = re.compile(
    r"(?:within|less than|under|at most|no more than|up to|below|不到|不超过|最多|小于|少于|低于)[ *]{0,2}$"
)
_MAX_AFTER = ("内", "以内", "之内", "以下", " or less", " at most")
_MORE_AFTER = ("多", "余", "来", "几", "+")
_STRAIGHT = re.compile(r"直线|as the crow flies|straight|crow")
#: Nouns that can be counted, by the words that evidence has for them.
NOUNS: dict[str, tuple[str, ...]] = {
    "light": ("红绿灯", "traffic light", "traffic_light", "lights"),
    "stop": ("站", "stop", "station"),
    "transfer": ("换乘", "transfer", "change", "换"),
    "space": ("车位", "停车位", "parking", "space"),
    "plug": ("充电桩", "桩", "charger", "plug", "stall"),
    "seat": ("座位", "seat"),
    "review": ("评论", "点评", "review"),
    "place": ("地点", "景点", "place"),
}
_NOUN_AFTER = re.compile(
    r"[ 个座条]{0,2}(?P<noun>红绿灯|traffic lights?|站(?![点台])|stops?(?![a-z])|stations?(?![a-z])|次换乘|transfers?(?![a-z])|changes?(?![a-z])"
    r"|停?车位|parking spaces?|充电桩|chargers?|seats?|座位|条?(?:评论|点评)|reviews?|地点|景点)"
)
_NOUN_BEFORE = re.compile(r"(?P<noun>红绿灯|traffic lights|换乘|车位|充电桩|经过|transfers|stops)[ :约大概共*]{0,4}$")
_MONEY_TALK = re.compile(
    r"单间|一房|一室|两房|两室|公寓|标间|大床|room|studio|租|价|费|行情|预算|人均|消费|rent|price|fare|cost|fee|budget|yuan|元"
)
_RENTS = re.compile(r"租房|租金|行情|房租|price|rent|租")
_AROUND = 24
_BEHIND = 10
_REACH = 120
_LEAST_MONEY = 50
_HOURS_24 = re.compile(r"24 ?(?:小时|h(?:ours|rs?)?(?![a-z])|-hour)")


def figures(page: Page, taken: Sequence[tuple[int, int]]) -> Iterator[Claim]:
    """Yield the claims that are numbers with a unit, ranges as one claim.

    Args:
        page: the reply.
        taken: stretches of addresses and the like, ascending, whose numbers belong to them.
    """
    quantities = [q for q in page.reading.quantities if not _inside(q.start, taken)]
    index = 0
    while index < len(quantities):
        first = quantities[index]
        last = first
        following = quantities[index + 1] if index + 1 < len(quantities) else None
        if following and _is_range(page.reading.flat, first, following):
            last, index = following, index + 1
        index += 1
        claim = _claim(page, first, last)
        if claim is not None:
            yield claim


def _inside(position: int, taken: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(taken, (position, 1 << 62)) - 1
    return index >= 0 and position < taken[index][1]


def _is_range(text: str, low: Quantity, high: Quantity) -> bool:
    same = low.dimension == high.dimension or not low.unit
    return same and text[low.end : high.start].replace("*", "") in _RANGE


def _claim(page: Page, first: Quantity, last: Quantity) -> Claim | None:
    text = page.reading.flat
    kind = _TYPES.get(last.dimension)
    noun = "" if kind else _noun(text, first, last)
    if kind is None and not noun and _is_money(page, first, last):
        kind = "price"
    if kind is None and not noun:
        return None
    if kind == "duration" and _HOURS_24.match(text, first.start):
        return Claim(first.start, first.end, "time", -1.0, -1.0)
    row = page.rows[page.row_at(first.start)]
    before, after = text[max(first.start - _AROUND, row.start) : first.start], text[last.end : last.end + _AROUND]
    low, high = min(first.value, last.value), max(first.value, last.value)
    return Claim(
        first.start,
        last.end,
        kind or "count",
        low,
        high,
        about=last.about or first.about or bool(_ABOUT.search(before)) or after.startswith(_ABOUT_AFTER),
        bound=_bound(text, first, last, before, after),
        step=_step(text, last),
        mode=_mode(page, first, last, row) if kind in ("distance", "duration", "price") else None,
        straight=kind == "distance" and bool(_STRAIGHT.search(before)),
        parts=(noun,) if noun else (),
    )


def _bound(text: str, first: Quantity, last: Quantity, before: str, after: str) -> Literal["", "max", "more"]:
    if after.startswith(_MAX_AFTER) or _MAX_BEFORE.search(before):
        return "max"
    inner = text[first.start : last.end]
    return "more" if first is last and any(mark in inner for mark in _MORE_AFTER) else ""


def _step(text: str, quantity: Quantity) -> float:
    """Return half of what the last digit is worth, in the base unit."""
    scale = UNITS[quantity.unit].scale if quantity.unit else 1.0
    digits = text[quantity.start : quantity.end]
    point = digits.find(".")
    decimals = 0
    while point >= 0 and digits[point + 1 + decimals : point + 2 + decimals].isdigit():
        decimals += 1
    return scale / 2 / float(10 ** min(decimals, 6))


def _mode(page: Page, first: Quantity, last: Quantity, row: Row) -> Mode | None:
    """Return the way of travelling that stands before a figure in its clause, right behind it, or before it in its line."""
    clause, end = page.reading.denials.clause(first.start)
    start = max(page.reading.sentence_start(page.reading.sentence_of(first.start)), row.start)
    near = page.mode_before(max(clause, start), first.start) or page.mode_before(
        last.end, min(last.end + _BEHIND, end, row.end)
    )
    return near or page.mode_before(start, first.start)


def _noun(text: str, first: Quantity, last: Quantity) -> str:
    """Return what a bare number counts; empty where it is nothing that evidence counts."""
    if first.start and text[first.start - 1] == "第":
        return ""
    match = _NOUN_AFTER.match(text, last.end) or _NOUN_BEFORE.search(text[max(first.start - 14, 0) : first.start])
    if match is None:
        return ""
    return next((key for key, words in NOUNS.items() if any(word in match["noun"] for word in words)), "")


def _is_money(page: Page, first: Quantity, last: Quantity) -> bool:
    """Return whether a bare number is a price: its line, or the heading over its list, speaks of money."""
    text = page.reading.flat
    if last.unit or first.value < _LEAST_MONEY or not text[first.start].isdigit():
        return False
    index = page.row_at(first.start)
    row = page.rows[index]
    if _MONEY_TALK.search(text, max(row.start, first.start - _REACH), first.start):
        return True
    heading = page.headings[index]
    return heading is not None and bool(_RENTS.search(text, heading.start, min(heading.end, heading.start + _REACH)))
