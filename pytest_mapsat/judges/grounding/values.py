"""What a piece of evidence is, and which values a text or a number of a result holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pytest_mapsat.judges.clock import find_times
from pytest_mapsat.judges.numbers import find_quantities
from pytest_mapsat.judges.units import Dimension

from .claims import ClaimType
from .forms import Mode, mode_of
from .lines import lines_in

ALL_DAY = -1.0
#: Longer texts are no records of a map; what lies behind is not read.
_LONGEST = 20_000
_DIMENSIONS: dict[Dimension, ClaimType] = {
    "length": "distance",
    "time": "duration",
    "money": "price",
    "rating": "rating",
    "count": "count",
}
_KEYS: tuple[tuple[ClaimType, re.Pattern[str]], ...] = (
    ("phone", re.compile(r"tel|phone|mobile|hotline|contact|电话")),
    ("rating", re.compile(r"rating|score|stars?$|评分")),
    ("price", re.compile(r"price|cost|fee$|fare|toll|amount|yuan|cny|rmb|spend|max_yuan|费|价")),
    (
        "duration",
        re.compile(
            r"duration|^(?:min|mins|h|s|sec)$|_min$|minutes|_s$|seconds|time_cost|travel_time|wait|eta$|耗时|时长"
        ),
    ),
    ("distance", re.compile(r"^(?:m|km)$|distance|^dist|_dist|length|_m$|_km$|metres|meters|距离|里程")),
    ("time", re.compile(r"open|clos|hours|time|depart|arriv|first|last|now|date|营业")),
)
_IDENTITY = re.compile(
    r"(?:^|_)(?:id|uid|code|status|sequence|page|version|infocode|loop|bounds|x|y|lon|lat|lng|longitude|latitude)$"
    r"|id$|code$|adcode|infocode|bounds|polyline|location"
)
_CLOCK = re.compile(r"(?:[01]?[0-9]|2[0-4]):[0-5][0-9]")
_COMPACT = re.compile(r"[0-2][0-9][0-5][0-9]")
_ROUND_THE_CLOCK = re.compile(r"24 ?小时|24 ?h|24/7|round the clock|全天|0?0:00-(?:24:00|23:59)")
_HAS_NUMBER = re.compile(r"[0-9一二两三四五六七八九十]")
_NUMERIC = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_DIGITS = re.compile(r"[0-9]")
_PHONE = re.compile(r"\+?[0-9][0-9() -]{5,20}[0-9]")
_FEWEST_PHONE_DIGITS = 7
_AROUND = 12
#: Values that belong to a way of travelling.
_TRAVELLED = frozenset(("distance", "duration", "price", "count"))
#: How long ago something was is no duration of anything.
_AGO = ("前", "之前", "以前", " ago", " earlier", " before")


@dataclass(frozen=True)
class Value:
    """One value of the evidence.

    Attributes:
        type: what it is a value of.
        value: in the unit of a claim of that type.
        turn: index of the turn it came with; 0 for context.
        thing: number of the thing it belongs to, or None.
        mode: the way of travelling it is about.
        text: digits of a phone number, a line, the words around a count.
        said: the value as the evidence has it, for people.
    """

    type: ClaimType
    value: float
    turn: int
    thing: int | None = None
    mode: Mode | None = None
    text: str = ""
    said: str = ""


def quick_fold(text: str) -> str:
    """Return text in the form in which numbers are found; white space vanishes, as in the published records."""
    return unicodedata.normalize("NFKC", text[:_LONGEST]).casefold().replace("～", "~").replace("–", "-")


@lru_cache(maxsize=1024)
def type_of(key: str) -> ClaimType | None:
    """Return what a key of a result names; None for a number that identifies or orders."""
    key = key.casefold()
    if _IDENTITY.search(key):
        return None
    return next((kind for kind, pattern in _KEYS if pattern.search(key)), "count")


def values_of_number(key: str, number: float, turn: int, thing: int | None, mode: Mode | None) -> Iterator[Value]:
    """Yield what a number under a key may mean. Where the key does not say its unit, each usual unit is one value."""
    kind = type_of(key)
    if kind is None or kind == "time":
        return
    for scale in _scales(kind, key.casefold()):
        yield Value(kind, number * scale, turn, thing, mode, key.casefold(), f"{key} {number:.12g}")


def _scales(kind: ClaimType, key: str) -> tuple[float, ...]:
    if kind == "distance":
        return (
            (1000.0,)
            if "km" in key
            else (1.0,)
            if key == "m" or key.endswith(("_m", "metres", "meters"))
            else (1.0, 1000.0)
        )
    if kind == "duration":
        if key in ("min", "mins") or key.endswith(("_min", "minutes")):
            return (60.0,)
        return (1.0,) if key.endswith(("_s", "seconds")) else (1.0, 60.0)
    return (1.0,)


def values_of_text(key: str, text: str, turn: int, thing: int | None, mode: Mode | None) -> Iterator[Value]:
    """Yield the values in one string of the evidence."""
    kind = type_of(key) if key else "count"
    if kind is None or (not _HAS_NUMBER.search(text) and "全天" not in text):
        return
    if _NUMERIC.fullmatch(text) and kind != "phone":
        if kind == "time" and _COMPACT.fullmatch(text):
            yield Value("time", int(text[:2]) * 60 + int(text[2:]), turn, thing, said=text)
        else:
            yield from values_of_number(key, float(text), turn, thing, mode)
        return
    said, found = _read(text, numbers=kind != "phone")
    for one in found:
        travelled = (said or mode) if one.type in _TRAVELLED else None
        yield replace(one, turn=turn, thing=thing, mode=travelled)


@lru_cache(maxsize=2048)
def _read(text: str, *, numbers: bool) -> tuple[Mode | None, tuple[Value, ...]]:
    """Return the way of travelling and the values that a text names; the same names and addresses come back in many answers."""
    folded = quick_fold(text)
    return mode_of(folded), (*_phones(folded), *(_said(folded) if numbers else ()))


def _phones(folded: str) -> Iterator[Value]:
    for match in _PHONE.finditer(folded):
        digits = "".join(_DIGITS.findall(match.group()))
        if len(digits) >= _FEWEST_PHONE_DIGITS:
            yield Value("phone", 0.0, 0, text=digits, said=digits)


def _said(folded: str) -> Iterator[Value]:
    """Yield clock times, measures and lines that a text names."""
    times = find_times(folded)
    clocks = (match.group().split(":") for match in _CLOCK.finditer(folded))
    minutes = {int(hour) % 24 * 60 + int(minute) for hour, minute in clocks} | {time.minutes for time in times}
    for minute in sorted(minutes):
        yield Value("time", float(minute), 0, said=f"{minute // 60:02}:{minute % 60:02}")
    if _ROUND_THE_CLOCK.search(folded):
        yield Value("time", ALL_DAY, 0, said="24 h")
    for quantity in find_quantities(folded, times):
        kind = _DIMENSIONS.get(quantity.dimension)
        if kind is not None and not (kind == "duration" and folded.startswith(_AGO, quantity.end)):
            around = folded[max(quantity.start - _AROUND, 0) : quantity.end + _AROUND] if kind == "count" else ""
            yield Value(kind, quantity.value, 0, text=around, said=folded[quantity.start : quantity.end])
    yield from (Value("line", 0.0, 0, text=line.text, said=line.text) for line in lines_in(folded))
