"""Days as people write them: 2026-05-09, 20260509, 9 May 2026, 5月9日, "Saturday", "tomorrow"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta

from pytest_mapsat.model import Json
from pytest_mapsat.sandbox.text import normalise

_WHOLE = re.compile(r"(\d{4})(?:[-/.年](\d{1,2})[-/.月](\d{1,2})|(\d{2})(\d{2})(?!\d))", re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?!\d)", re.ASCII)
_MONTH_DAY = re.compile(r"(\d{1,2})(?:月|[-/])(\d{1,2})(?!\d)", re.ASCII)
_WORDS = re.compile(r"(?P<year>\d{4})|(?P<day>\d{1,2})|(?P<word>[a-z]{3,9})", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CHINESE_WEEKDAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_WEEK = 7
#: Days that words stand for, from the day of the case.
DAY_WORDS: Mapping[str, int] = {
    "today": 0, "tonight": 0, "this evening": 0, "this afternoon": 0, "tomorrow": 1, "day after tomorrow": 2,
    "今天": 0, "今晚": 0, "今日": 0, "明天": 1, "明早": 1, "明晚": 1, "明日": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_DAY_LENGTH = len("2026-05-09")


def day_of(value: Json, now: str | None, words: Mapping[str, int]) -> str | None:
    """Return the day that a value means, YYYY-MM-DD, or None where it means none.

    Args:
        value: a date in any usual form, a moment, a day of the week (the next one, today included), or a text with one of the words.
        now: the moment from which words count, ISO 8601; None: words, and days without a year, mean none.
        words: word -> days from then.
    """
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        return None
    text = str(value).strip().lower()
    whole = _WHOLE.match(text)
    if whole:
        return _iso(*(int(part) for part in whole.groups() if part))
    today = date.fromisoformat(now[:_DAY_LENGTH]) if now else None
    last = _YEAR_LAST.match(text)
    if last:
        return _of_year_last(int(last[1]), int(last[2]), int(last[3]), today)
    if today is None:
        return _of_words(text, None)
    form = normalise(text)
    for word in sorted(words, key=lambda word: (-len(word), word)):
        if normalise(word) in form:
            return (today + timedelta(days=words[word])).isoformat()
    return _of_words(text, today) or _of_weekday(text, today)


def _of_words(text: str, today: date | None) -> str | None:
    year = today.year if today else 0
    numeric = _MONTH_DAY.match(text)
    if numeric:
        return _iso(year, int(numeric[1]), int(numeric[2]))
    month = day = 0
    for found in _WORDS.finditer(text):
        if found["year"]:
            year = int(found["year"])
        elif found["day"]:
            day = day or int(found["day"])
        elif found["word"][:3] in _MONTHS:
            month = _MONTHS.index(found["word"][:3]) + 1
    return _iso(year, month, day)


def _of_year_last(one: int, other: int, year: int, today: date | None) -> str | None:
    """Return the day of 9/5/2026: of the two readings the one that is nearer to today, else the one with the day first."""
    readings = [day for day in (_iso(year, other, one), _iso(year, one, other)) if day]
    if today is None:
        return readings[0] if readings else None
    return min(readings, key=lambda day: abs(date.fromisoformat(day) - today), default=None)


def _of_weekday(text: str, today: date) -> str | None:
    chinese = _CHINESE_WEEKDAY.search(text)
    named = [found["word"][:3] for found in _WORDS.finditer(text) if found["word"]]
    if chinese:
        weekday = min("一二三四五六日天".index(chinese[1]), _WEEK - 1)
    elif any(word in _WEEKDAYS for word in named):
        weekday = next(_WEEKDAYS.index(word) for word in named if word in _WEEKDAYS)
    else:
        return None
    return (today + timedelta(days=(weekday - today.weekday()) % _WEEK)).isoformat()


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
