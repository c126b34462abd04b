"""Days as people write them: 2026-05-09, 20260509, 9 May 2026, "tomorrow"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta

from pytest_mapsat.model import Json
from pytest_mapsat.sandbox.text import normalise
from pytest_mapsat.sandbox.times import moment

_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)
_MONTH_DAY = re.compile(r"(\d{1,2})月(\d{1,2})[日号]?|0?(\d{1,2})-(\d{1,2})", re.ASCII)
_WORDS = re.compile(r"(?P<year>\d{4})|(?P<day>\d{1,2})|(?P<month>[a-z]{3,9})", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_LENGTH = len("2026-05-09")


def day_of(value: Json, now: str | None, words: Mapping[str, int]) -> str | None:
    """Return the day that a value means, YYYY-MM-DD, or None where it means none.

    Args:
        value: a date in any usual form, a moment, or one of the words.
        now: the moment from which words count, ISO 8601; None: words, and days without a year, mean none.
        words: word -> days from then.
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    text = str(value).strip()
    form = normalise(text)
    offset = next((days for word, days in words.items() if normalise(word) == form), None)
    today = date.fromisoformat(now[:_DAY_LENGTH]) if now else None
    if offset is not None:
        return (today + timedelta(days=offset)).isoformat() if today else None
    compact = _COMPACT.fullmatch(text)
    written = moment("-".join(compact.groups()) if compact else text)
    if written is not None and not written.startswith("T"):
        return written[:_DAY_LENGTH]
    return _of_parts(text.lower(), today)


def _of_parts(text: str, today: date | None) -> str | None:
    year = today.year if today else 0
    numeric = _MONTH_DAY.fullmatch(text)
    if numeric:
        month, day = (int(part) for part in numeric.groups() if part)
        return _iso(year, month, day)
    month = day = 0
    for found in _WORDS.finditer(text):
        if found["month"] and found["month"][:3] in _MONTHS:
            month = _MONTHS.index(found["month"][:3]) + 1
        elif found["day"]:
            day = int(found["day"])
        elif found["year"]:
            year = int(found["year"])
    return _iso(year, month, day)


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
