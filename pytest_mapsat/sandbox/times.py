"""Opening hours as map services write them, and dates and times as tools take them, without a clock or a time zone of our own."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone

_ALWAYS = re.compile(
    r"(?:全天|24h|24hours?|24/7|7[x*]24(?:h|小时)?|24小时)(?:营业|开放|服务|open)?|open24hours", re.IGNORECASE
)
_DAY = r"(?:周|星期|礼拜)[一二三四五六日天]|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|每天|每日|工作日|周末|daily|节假日|法定节假日"
_DAYS = re.compile(
    rf"(?:{_DAY})(?:(?:至|到|-|~|—|、|,|及|和|&)?(?:{_DAY}|[一二三四五六日天](?!\d*:)))*:?", re.IGNORECASE
)
_RANGE = re.compile(r"(\d{1,2}):(\d{2})[-~—至到](?:次日|翌日)?(\d{1,2}):(\d{2})")
_BETWEEN = re.compile(r"[,;、/|和及]*")
_CLOSED = re.compile(r"休息|不营业|closed", re.IGNORECASE)
_DAY_MINUTES = 24 * 60
_MAX_LENGTH = 500


def open_at(hours: str, time: str) -> bool | None:
    """Return whether a place with these opening hours is open at a time of day.

    Args:
        hours: ``"09:00-22:00"``, several joined by a comma or semicolon, past midnight (``"18:00-02:00"``), ``"24h"``,
            ``"24小时"``, with days before them (``"周一至周日00:00-24:00"``).
        time: ``HH:MM``.

    Returns:
        None where the text cannot be read, or where it depends on the day.
    """
    text = "".join(unicodedata.normalize("NFKC", hours[:_MAX_LENGTH]).split())
    hour, minute = map(int, time.split(":"))
    groups = [group for group in _DAYS.split(text) if group.strip(",;、")]
    answers = {_open(group.strip(",;、"), hour * 60 + minute) for group in groups}
    return answers.pop() if len(answers) == 1 else None


def opening_hours(hours: str) -> tuple[tuple[int, int], ...]:
    """Return from when to when a place is open on any day, in minutes after midnight; past midnight the end is more than 1440.

    Args:
        hours: as for ``open_at``; what cannot be read gives nothing.
    """
    text = "".join(unicodedata.normalize("NFKC", hours[:_MAX_LENGTH]).split())
    if _ALWAYS.search(text):
        return ((0, _DAY_MINUTES),)
    ranges = (tuple(map(int, found.groups())) for found in _RANGE.finditer(text))
    spans = ((60 * h1 + m1, 60 * h2 + m2) for h1, m1, h2, m2 in filter(_possible, ranges))
    return tuple((opens, closes if closes > opens else closes + _DAY_MINUTES) for opens, closes in spans)


def _open(hours: str, minute: int) -> bool | None:
    if _ALWAYS.fullmatch(hours):
        return True
    if _CLOSED.fullmatch(hours):
        return False
    hours = re.sub(r"(?:营业|开放)$|^(?:营业时间|开放时间|营业):?", "", hours)
    ranges = [tuple(map(int, found.groups())) for found in _RANGE.finditer(hours)]
    if not ranges or not _BETWEEN.fullmatch(_RANGE.sub("", hours)) or not all(map(_possible, ranges)):
        return None
    return any(_covers(60 * h1 + m1, 60 * h2 + m2, minute) for h1, m1, h2, m2 in ranges)


def _possible(times: tuple[int, ...]) -> bool:
    opens, opens_minute, closes, closes_minute = times
    return opens <= 24 and closes <= 30 and max(opens_minute, closes_minute) < 60  # noqa: PLR2004 - a clock, past midnight


def _covers(opens: int, closes: int, minute: int) -> bool:
    if closes <= opens:
        closes += _DAY_MINUTES
    return opens <= minute < closes or opens <= minute + _DAY_MINUTES < closes


#: Some recordings have lost the space between date and time, so it is optional.
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
    text = f"{value:.0f}" if isinstance(value, (int, float)) else value.strip()
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
