"""Opening hours as map services write them."""

from __future__ import annotations

import re
import unicodedata

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
