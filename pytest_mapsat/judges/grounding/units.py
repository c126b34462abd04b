"""Units of measure in English and Chinese, and what they are worth in the base unit of their dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dimension = Literal["length", "time", "money", "share", "temperature", "rating", "count", "other"]


@dataclass(frozen=True)
class Unit:
    """A unit: what it measures, and how many base units (metre, second, yuan, ...) it is."""

    dimension: Dimension
    scale: float


#: The units that a check may name.
UNITS: dict[str, Unit] = {
    "m": Unit("length", 1),
    "km": Unit("length", 1000),
    "mile": Unit("length", 1609.344),
    "s": Unit("time", 1),
    "min": Unit("time", 60),
    "h": Unit("time", 3600),
    "yuan": Unit("money", 1),
    "percent": Unit("share", 1),
    "celsius": Unit("temperature", 1),
    "star": Unit("rating", 1),
    "count": Unit("count", 1),
    # Read so that it is not taken for something else: speeds, areas.
    "other": Unit("other", 1),
}

#: What a reader calls a number of that dimension.
NOUNS: dict[Dimension, str] = {
    "length": "distance",
    "time": "duration",
    "money": "price",
    "share": "percentage",
    "temperature": "temperature",
    "rating": "rating",
    "count": "number",
    "other": "number",
}

_WORDS: dict[str, tuple[str, ...]] = {
    "m": ("m", "meter", "meters", "metre", "metres", "米"),
    "km": ("km", "kms", "kilometer", "kilometers", "kilometre", "kilometres", "公里", "千米"),
    "mile": ("mile", "miles", "英里"),
    "s": ("s", "sec", "secs", "second", "seconds", "秒"),
    "min": ("min", "mins", "minute", "minutes", "分钟", "分鐘"),
    "h": ("h", "hr", "hrs", "hour", "hours", "小时", "小時", "个小时", "個小時", "钟头", "个钟头", "个钟"),
    "yuan": ("yuan", "rmb", "cny", "元", "块", "块钱", "人民币", "¥"),
    "percent": ("%", "percent", "per cent", "个百分点"),
    "celsius": ("°c", "° c", "°", "度", "摄氏度", "degree", "degrees", "degrees celsius"),
    "star": ("star", "stars", "星", "颗星", "分", "星级", "/5"),
    "other": ("m2", "m3", "km2", "平方米", "平米", "立方米", "平方公里", "sqm"),
}
_BY_FIRST: dict[str, list[tuple[str, str]]] = {}
for _unit, _words in _WORDS.items():
    for _word in _words:
        _BY_FIRST.setdefault(_word[0], []).append((_word, _unit))
for _listed in _BY_FIRST.values():
    _listed.sort(key=lambda pair: -len(pair[0]))

#: What makes of a length a speed.
_PER = ("/h", "/小时", "/时", "/s", "/秒", " per hour", "每小时", " an hour", "ph")


def unit_at(text: str, position: int) -> tuple[str, int] | None:
    """Return the unit whose word begins at ``position`` of a folded text (one space or hyphen may precede), and where it ends."""
    if text[position : position + 1] in (" ", "-"):
        position += 1
    for word, unit in _BY_FIRST.get(text[position : position + 1], ()):
        end = position + len(word)
        if text.startswith(word, position) and _ends(text, word, end):
            return ("other" if _is_speed(text, unit, end) else unit), end
    return None


def _ends(text: str, word: str, end: int) -> bool:
    """Return whether the unit's word is whole: no letter follows it."""
    following = text[end : end + 1]
    return not word[-1].isascii() or not word[-1].isalpha() or not (following.isascii() and following.isalpha())


def _is_speed(text: str, unit: str, end: int) -> bool:
    return UNITS[unit].dimension == "length" and text.startswith(_PER, end)
