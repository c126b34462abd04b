"""Dates and times as tools take them, without a clock and without a time zone of our own."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

#: Some recorded worlds lost the space between date and time, so nothing need stand there.
_MOMENT = re.compile(
    r"(?P<year>\d{4})[-/.年](?P<month>\d{1,2})[-/.月](?P<day>\d{1,2})日?"
    r"(?:[T\s]*(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?"
    r"\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_CLOCK = re.compile(r"T?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?", re.ASCII | re.IGNORECASE)
_EPOCH = re.compile(r"\d{10,15}", re.ASCII)
#: Epoch figures below this are seconds (year 5138), above it milliseconds (year 1973).
_SECONDS_BELOW = 10**11


def moment(value: str | float | None) -> str | None:
    """Return one form of a date or time, or None where the value is neither.

    A moment with an offset, and an epoch figure, become ISO text in UTC; a local one becomes ISO text without offset; a date
    stays a date and a time of day becomes ``Thh:mm:ss``. Local and absolute moments are never equal: no time zone is assumed.
    """
    if value is None:
        return None
    text = f"{value:.0f}" if isinstance(value, int | float) else value.strip()
    return _absolute(text) or _dated(text) or _of_day(text)


def _absolute(text: str) -> str | None:
    if not _EPOCH.fullmatch(text):
        return None
    figure = int(text)
    seconds = figure if figure < _SECONDS_BELOW else figure // 1000
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _dated(text: str) -> str | None:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    parts = [int(found[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")]
    try:
        at = datetime(*parts, tzinfo=_zone(found["zone"]))  # type: ignore[misc,arg-type]  # six whole numbers
        at = at if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at.isoformat() if found["hour"] else at.date().isoformat()


def _zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text.upper() == "Z":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _of_day(text: str) -> str | None:
    found = _CLOCK.fullmatch(text)
    if found is None or int(found["hour"]) > 24 or int(found["minute"]) > 59:  # noqa: PLR2004 - a clock
        return None
    return f"T{int(found['hour']):02}:{found['minute']}:{found['second'] or '00'}"
