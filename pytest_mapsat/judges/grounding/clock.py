"""Clock times in a text: ``18:30``, ``6:30 pm``, ``6 pm``, ``下午6点半``, ``18点30分``, ``晚上8点``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .numerals import CHINESE, chinese_number
from .units import unit_at

DAY = 24 * 60
_NOON = 12

_PERIOD = "(?P<period>凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上|今晚|明晚|当晚|夜里|夜间|晚)?"
_SUFFIX = "(?: ?(?P<suffix>a[.]?m(?![a-z])|p[.]?m(?![a-z])|in the morning|in the afternoon|in the evening|at night))?"
_COLON = re.compile(
    _PERIOD + r"(?<![0-9:.])(?P<hour>[0-2]?[0-9]):(?P<minute>[0-5][0-9])(?::[0-5][0-9])?(?![0-9])" + _SUFFIX
)
_HOUR_ONLY = re.compile(r"(?<![0-9:.])(?P<hour>[01]?[0-9]) ?(?P<suffix>a[.]?m(?![a-z])|p[.]?m(?![a-z])|o'clock)")
_CHINESE = re.compile(
    _PERIOD
    + r"(?<![0-9.])(?P<hour>[0-9]{1,2}|[一二两三四五六七八九十]{1,3})[点點时時]"
    + rf"(?P<rest>半|整|钟|一刻|三刻|(?:[0-9]{{1,2}}|[{CHINESE}]{{1,3}})分?)?"
)
_NAMED = re.compile(r"(?<![a-z])(?:(?P<noon>noon)|midnight)(?![a-z])")
_QUARTERS = {"半": 30, "一刻": 15, "三刻": 45, "整": 0, "钟": 0}
_AFTERNOON = frozenset(
    {
        "下午",
        "傍晚",
        "晚上",
        "今晚",
        "明晚",
        "当晚",
        "夜里",
        "夜间",
        "晚",
        "pm",
        "in the afternoon",
        "in the evening",
        "at night",
    }
)
_MORNING = frozenset({"凌晨", "am", "in the morning"})


@dataclass(frozen=True, order=True)
class TimeOfDay:
    """A clock time: where it stands in the folded text, and minutes after midnight (0 to 1439)."""

    start: int
    end: int
    minutes: int


def find_times(text: str) -> tuple[TimeOfDay, ...]:
    """Return the clock times of a folded text, ascending, none overlapping another."""
    found = sorted((*_with_colon(text), *_hours(text), *_chinese(text), *_named(text)), key=lambda t: (t.start, -t.end))
    kept: list[TimeOfDay] = []
    for time in found:
        if not kept or time.start >= kept[-1].end:
            kept.append(time)
    return tuple(kept)


def minutes_of(clock: str) -> int:
    """Return minutes after midnight of ``HH:MM``."""
    hours, _, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes)


def clock_of(minutes: int) -> str:
    """Return ``HH:MM`` of minutes after midnight."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _with_colon(text: str) -> list[TimeOfDay]:
    times = []
    for match in _COLON.finditer(text):
        word = match["period"] or (match["suffix"] or "").replace(".", "")
        times += _time(match, int(match["hour"]), int(match["minute"]), word)
    return times


def _hours(text: str) -> list[TimeOfDay]:
    return [t for m in _HOUR_ONLY.finditer(text) for t in _time(m, int(m["hour"]), 0, m["suffix"].replace(".", ""))]


def _named(text: str) -> list[TimeOfDay]:
    return [TimeOfDay(m.start(), m.end(), 720 if m["noon"] else 0) for m in _NAMED.finditer(text)]


def _chinese(text: str) -> list[TimeOfDay]:
    """Return times with 点 or 时, but not "一点" in the sense of "a little", nor the point of a decimal ("三点五公里")."""
    times = []
    for match in _CHINESE.finditer(text):
        digits, rest = match["hour"].isascii(), match["rest"] or ""
        bare = not digits and not rest and not match["period"]
        decimal = (
            bool(rest) and rest not in _QUARTERS and not rest.endswith("分") and unit_at(text, match.end()) is not None
        )
        minutes = _minutes(rest)
        hour = int(match["hour"]) if digits else chinese_number(match["hour"])
        if not bare and not decimal and minutes is not None and hour is not None:
            times += _time(match, int(hour), minutes, match["period"] or "")
    return times


def _minutes(rest: str) -> int | None:
    if rest in _QUARTERS or not rest:
        return _QUARTERS.get(rest, 0)
    number = rest.removesuffix("分")
    value = float(number) if number.isascii() else chinese_number(number)
    return int(value) if value is not None and value < 60 else None  # noqa: PLR2004  minutes of an hour


def _time(match: re.Match[str], hour: int, minute: int, word: str) -> list[TimeOfDay]:
    """Return the time if there is such an hour, with the part of the day taken into account."""
    if hour > 24:  # noqa: PLR2004  hours of a day
        return []
    if word in _AFTERNOON:
        night = hour == _NOON and word not in ("pm", "下午", "in the afternoon")
        hour = 0 if night else hour + _NOON if hour < _NOON else hour
    elif word == "中午" and hour <= 3:  # noqa: PLR2004  "中午1点" is 13:00
        hour += _NOON
    elif word in _MORNING and hour == _NOON:
        hour = 0
    return [TimeOfDay(match.start(), match.end(), (hour * 60 + minute) % DAY)]
