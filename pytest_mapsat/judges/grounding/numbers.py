"""Numbers with their units in a text, in English and Chinese, each in the base unit of its dimension."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .clock import TimeOfDay
from .numerals import CHINESE, ENGLISH, chinese_number, english_number
from .units import UNITS, Dimension, unit_at

_LITERAL = re.compile(
    r"(?P<digits>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?)(?P<scale>[万亿])?(?P<and_half>个半)?"
    rf"|(?P<han>[{CHINESE}]+(?:点[零〇一二三四五六七八九]+)?)(?P<han_half>个半)?"
    r"|(?P<half>半)|(?<![a-z])(?P<half_a>half an?) |(?<![a-z])(?P<an>an)(?= hour)"
    rf"|(?<![a-z])(?P<word>{ENGLISH}|one(?= (?:hour|minute|kilomet|metre|meter|mile|star)))(?![a-z])"
)
#: Longer runs of digits are numbers of telephones and orders, not of anything measured.
_MOST_DIGITS = 15
_CLASSIFIERS = tuple("个家站条次人位处间层座张种趟班天晚辆")
#: What makes of digits a name or a date.
_NAMES = ("号", "路", "月", "日", "年", "栋", "幢", "室", "线")
_ABOUT = (
    "about",
    "approx.",
    "approximately",
    "approx",
    "around",
    "roughly",
    "~",
    "≈",
    "约",
    "大概",
    "差不多",
    "大约为",
)
_LOOK_BACK = 16
_RATED = ("评分", "评分为", "评分:", "rating", "rating of", "rating:", "rated", "rated at", "score", "打分")
_RANGE = frozenset({"-", "~", " - ", " to ", "到", "至", " and ", "--"})
_JOIN = frozenset({"", " ", " and ", "and", "又", "零", ","})
_SMALLER = {("h", "min"), ("min", "s"), ("h", "star"), ("min", "star"), ("km", "m"), ("h", ""), ("star", "s")}
#: Words in which a numeral and a unit stand together by chance.
_CHANCE = ("百度", "百分之", "十分", "三元桥", "三元里", "三元宫", "万元户", "一分为")


@dataclass(frozen=True)
class Quantity:
    """A number that is said.

    Attributes:
        start: first folded character.
        end: behind the last folded character.
        value: in the base unit of the dimension (metre, second, yuan, percent, degree Celsius, star, one).
        unit: the unit as it was said; empty for a bare number.
        about: whether it is said to be approximate.
    """

    start: int
    end: int
    value: float
    unit: str
    about: bool = False

    @property
    def dimension(self) -> Dimension:
        """What is measured; a bare number counts."""
        return UNITS[self.unit or "count"].dimension


def find_quantities(text: str, times: Sequence[TimeOfDay]) -> tuple[Quantity, ...]:
    """Return the numbers of a folded text that are not part of a clock time, from left to right."""
    found: list[Quantity] = []
    spans = iter(times)
    time = next(spans, None)
    for match in _LITERAL.finditer(text):
        while time is not None and time.end <= match.start():
            time = next(spans, None)
        inside = time is not None and match.start() >= time.start
        inside = inside or (bool(found) and match.start() < found[-1].end)
        quantity = None if inside else _read(text, match)
        if quantity is not None:
            found.append(quantity)
    return tuple(q for q in _merged(text, _ranged(text, found)) if _kept(text, q))


def _read(text: str, match: re.Match[str]) -> Quantity | None:
    """Return the quantity that begins with one literal."""
    value = _value(match)
    if value is None or _by_chance(text, match.start()):
        return None
    if match["digits"] and _part_of_word(text, match.start()):
        return None
    found = unit_at(text, match.end())
    unit, end = found or ("", match.end())
    unit = unit or _unit_before(text, match.start())
    if text.startswith("半", end) and found:
        value, end = value + 0.5, end + 1
    if not unit and text.startswith("刻钟", end):
        unit, value, end = "min", value * 15, end + 2
    value *= UNITS[unit].scale if unit else 1
    before = text[max(match.start() - _LOOK_BACK, 0) : match.start()]
    return Quantity(
        match.start(), end, -value if _negative(before, unit) else value, unit, _approximate(text, before, end)
    )


def _by_chance(text: str, start: int) -> bool:
    return text.startswith(_CHANCE, start) and not text.startswith("十分钟", start)


def _value(match: re.Match[str]) -> float | None:
    if match["digits"]:
        if len(match["digits"]) > _MOST_DIGITS:
            return None
        scale = {"万": 1e4, "亿": 1e8}.get(match["scale"] or "", 1.0)
        return float(match["digits"].replace(",", "")) * scale + (0.5 if match["and_half"] else 0)
    if match["han"]:
        value = chinese_number(match["han"])
        return None if value is None else value + (0.5 if match["han_half"] else 0)
    if match["half"] or match["half_a"]:
        return 0.5
    return english_number(match["word"] or "one")


def _part_of_word(text: str, start: int) -> bool:
    """Return whether digits belong to a name or a version ("G4", "3.5.2") and are no number of their own."""
    before = text[max(start - 4, 0) : start]
    if before.endswith(("rmb", "cny")):
        return False
    last = before[-1:]
    glued = (last.isascii() and last.isalpha() and not re.search(r"[0-9](?:h|km|min|m)$", before)) or last == "_"
    return glued or (last == "." and before[-2:-1].isdigit())


def _unit_before(text: str, start: int) -> str:
    """Return a unit that is said before its number: a currency, a percentage, a rating."""
    before = text[max(start - _LOOK_BACK, 0) : start].rstrip(" ")
    if before.endswith(("¥", "rmb", "cny")):
        return "yuan"
    if before.endswith("百分之"):
        return "percent"
    return "star" if before.endswith(_RATED) else ""


def _negative(before: str, unit: str) -> bool:
    if before.endswith(("零下", "minus ")) and unit == "celsius":
        return True
    return unit == "celsius" and before.endswith("-") and not before[-2:-1].isdigit()


def _approximate(text: str, before: str, end: int) -> bool:
    return before.rstrip(" ").endswith(_ABOUT) or text.startswith(("左右", "上下"), end)


def _ranged(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """Give the lower end of a range the unit that only its upper end is said with ("10-15 min")."""
    result = list(found)
    for index in range(len(result) - 2, -1, -1):
        low, high = result[index], result[index + 1]
        if not low.unit and high.unit and text[low.end : high.start] in _RANGE:
            result[index] = replace(low, value=low.value * UNITS[high.unit].scale, unit=high.unit)
    return result


def _merged(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """Join what is one quantity in two units ("1 h 20 min", "1小时20分", "1公里200米")."""
    result: list[Quantity] = []
    for quantity in found:
        last = result[-1] if result else None
        if last and (last.unit, quantity.unit) in _SMALLER and _joined(text, last, quantity):
            result[-1] = _sum(last, quantity)
        else:
            result.append(quantity)
    return result


def _joined(text: str, last: Quantity, quantity: Quantity) -> bool:
    gap = text[last.end : quantity.start]
    return gap in _JOIN if quantity.unit else not gap and quantity.value < 60  # noqa: PLR2004  minutes of an hour


def _sum(last: Quantity, quantity: Quantity) -> Quantity:
    """Return hours and minutes as one; 分 is minutes behind hours, and before seconds."""
    value = quantity.value
    if last.unit == "star":
        return replace(last, end=quantity.end, value=last.value * 60 + value, unit="min")
    if last.unit == "h" and quantity.unit in ("star", ""):
        value *= 60
    about = last.about or quantity.about
    return replace(
        last,
        end=quantity.end,
        value=last.value + value,
        unit=quantity.unit if quantity.unit in ("min", "s", "m") else last.unit,
        about=about,
    )


def _kept(text: str, quantity: Quantity) -> bool:
    """Return whether a bare number is a count: digits that are no name or date, or a numeral before a classifier."""
    if quantity.unit:
        return True
    following = text[quantity.end : quantity.end + 2]
    if text[quantity.start].isascii():
        letter = following[:1].isascii() and following[:1].isalpha()
        return not letter and not following.startswith(_NAMES)
    return text[quantity.start] not in "半一" and following.startswith(_CLASSIFIERS)
