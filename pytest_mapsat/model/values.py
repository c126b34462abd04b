"""How one value can be written, read: numbers, points, times, opening hours, texts; how alike two texts are, and how far apart two points.

Recordings may have lost all their spaces, so the form of a text has none; words are found where the script changes.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache

from .base import Json

Point = tuple[float, float]

#: Separators, punctuation and control characters carry no meaning; symbols ("+", "|") do.
_SILENT = frozenset("ZPC")
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
#: Each round of folding may open the way for one more; none was ever seen to need more than three.
_ROUNDS = 8


def fold(text: str) -> str:
    """Return a text in a uniform width and case."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """Return the form of a text for comparisons: NFKC, case folded, no spaces, and no punctuation unless there is nothing else."""
    for _ in range(_ROUNDS):
        folded = fold(text)
        spoken = "".join(char for char in folded if unicodedata.category(char)[0] not in _SILENT)
        form = spoken or "".join(folded.split())
        if form == text:
            break
        text = form
    return text


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Return the folded words of a text: runs of one script, with digits separate. A run of Chinese counts as one word."""
    return tuple(word_pattern().findall(fold(text)))


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the regular expression that finds the words of a folded text."""
    return re.compile(rf"[{_CJK}]+|[^\W\d_{_CJK}]+|\d+(?:[.,]\d+)*")


def text_similarity(a: str, b: str) -> float:
    """Return the similarity of two texts, 0 to 1: the higher of a comparison by characters and a comparison by sorted words.

    The measure is the normalised Indel similarity, 2 x common subsequence / (length + length), on normalised text.
    """
    left, right = normalise(a), normalise(b)
    if left == right:
        return 1.0
    # As everywhere by way of the package: two threads that load it by two ways meet half of it.
    from rapidfuzz import fuzz  # noqa: PLC0415 - heavy; only loaded where texts differ

    by_word = fuzz.ratio(" ".join(sorted(tokens(a))), " ".join(sorted(tokens(b))))
    return float(max(fuzz.ratio(left, right), by_word)) / 100


#: Mean radius of the Earth, metres (IUGG).
EARTH_RADIUS_M = 6_371_008.8
#: Points no further apart than this are one point, metres: rounding or truncating at five decimals moves a point by at most as much.
SAME_POINT_M = 1.6
#: A degree of latitude is longer than this everywhere on our sphere.
LEAST_M_PER_DEGREE = 111_000.0


def distance_m(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Return the great-circle distance of two points, given in degrees, in metres (haversine)."""
    phi1, phi2 = math.radians(lat1), math.radians(lat2)
    across = math.sin(math.radians(lon2 - lon1) / 2)
    along = math.sin((phi2 - phi1) / 2)
    half_chord = along * along + math.cos(phi1) * math.cos(phi2) * across * across
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, half_chord)))


_ALWAYS = re.compile(
    r"(?:全天|24h|24hours?|24/7|7[x*]24(?:h|小时)?|24小时)(?:营业|开放|服务|open)?|open24hours", re.IGNORECASE
)
_DAY = r"(?:周|星期|礼拜)[一二三四五六日天]|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|每天|每日|工作日|周末|daily|节假日|法定节假日"
_DAYS = re.compile(
    rf"(?:{_DAY})(?:(?:至|到|-|~|—|、|,|及|和|&)?(?:{_DAY}|[一二三四五六日天](?!\d*:)))*:?", re.IGNORECASE
)
_RANGE = re.compile(r"(\d{1,2}):(\d{2})[-~—至到](?:次日|翌日)?(\d{1,2}):(\d{2})")
_BETWEEN_HOURS = re.compile(r"[,;、/|和及]*")
_CLOSED = re.compile(r"休息|不营业|closed", re.IGNORECASE)
_DAY_MINUTES = 24 * 60
_LONGEST_HOURS = 500


def open_at(hours: str, time: str) -> bool | None:
    """Return whether a place is open at a time of day, ``HH:MM``; None if the hours cannot be read or depend on the day.

    Hours are ``"09:00-22:00"``, several joined by a comma or semicolon, past midnight (``"18:00-02:00"``), ``"24h"``, ``"24小时"``, with days
    before them (``"周一至周日00:00-24:00"``).
    """
    hour, minute = map(int, time.split(":"))
    groups = [group.strip(",;、") for group in _DAYS.split(_hours(hours))]
    answers = {_is_open(group, hour * 60 + minute) for group in groups if group}
    return answers.pop() if len(answers) == 1 else None


def opening_hours(hours: str) -> tuple[tuple[int, int], ...]:
    """Return all spans in opening hours, on any day, in minutes after midnight; an end past midnight is more than 1440."""
    text = _hours(hours)
    return ((0, _DAY_MINUTES),) if _ALWAYS.search(text) else tuple(span for span in _spans(text) if span)


def _hours(text: str) -> str:
    """Return opening hours in uniform width, without blanks, cut to a maximum length."""
    return "".join(unicodedata.normalize("NFKC", text[:_LONGEST_HOURS]).split())


def _spans(text: str) -> list[tuple[int, int] | None]:
    """Return the time spans in a text as minutes (opens, closes); None for a span with an impossible time."""
    spans: list[tuple[int, int] | None] = []
    for match in _RANGE.finditer(text):
        h1, m1, h2, m2 = map(int, match.groups())
        opens, closes = 60 * h1 + m1, 60 * h2 + m2
        possible = h1 <= 24 and h2 <= 30 and max(m1, m2) < 60  # noqa: PLR2004 - a clock, past midnight
        spans.append((opens, closes if closes > opens else closes + _DAY_MINUTES) if possible else None)
    return spans


def _is_open(hours: str, minute: int) -> bool | None:
    """Return whether opening hours without days include a minute of the day; None if they cannot be read."""
    if _ALWAYS.fullmatch(hours):
        return True
    if _CLOSED.fullmatch(hours):
        return False
    hours = re.sub(r"(?:营业|开放)$|^(?:营业时间|开放时间|营业):?", "", hours)
    spans = _spans(hours)
    if not spans or None in spans or not _BETWEEN_HOURS.fullmatch(_RANGE.sub("", hours)):
        return None
    return any(span[0] <= at < span[1] for span in spans if span for at in (minute, minute + _DAY_MINUTES))


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
    """Return a canonical form of a date or time, equal for all spellings; None if the value is neither.

    A moment with an offset, and an epoch figure, become ISO text in UTC; a local one becomes ISO text without offset; a date
    stays a date and a time of day becomes ``Thh:mm:ss``. Local and absolute moments are never equal: no time zone is assumed.
    """
    if value is None:
        return None
    text = f"{value:.0f}" if isinstance(value, (int, float)) else value.strip()
    try:
        if _EPOCH.fullmatch(text):
            figure = int(text)
            return datetime.fromtimestamp(figure if figure < _SECONDS_BELOW else figure // 1000, UTC).isoformat()
        if match := _MOMENT.fullmatch(text):
            day = date(int(match["year"]), int(match["month"]), int(match["day"]))
            if not match["hour"]:
                return day.isoformat()
            clock = f"{match['hour']}:{match['minute']}:{match['second'] or '00'}{(match['zone'] or '').upper()}"
            at = datetime.fromisoformat(f"{day}T{clock}")
            return (at if at.tzinfo is None else at.astimezone(UTC)).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    match = _CLOCK.fullmatch(text)
    is_clock = match is not None and int(match["hour"]) <= 24 and int(match["minute"]) < 60  # noqa: PLR2004 - a clock
    return f"T{int(match['hour']):02}:{match['minute']}:{match['second'] or '00'}" if match and is_clock else None


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
_NO_TIME = timedelta()


def day_of(value: Json, now: str | None, words: Mapping[str, int]) -> str | None:
    """Return the day that a value states, as YYYY-MM-DD; None if it states no day.

    Args:
        value: a date in any usual form, a moment, a day of the week (the next one, today included), or a text with one of the words.
        now: the moment from which words count, ISO 8601; None: words, and days without a year, mean none.
        words: word -> days from then.
    """
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        return None
    text = str(value).strip().lower()
    if whole := _WHOLE.match(text):
        return _iso(*(int(part) for part in whole.groups() if part))
    today = date.fromisoformat(now[:_DAY_LENGTH]) if now else None
    if last := _YEAR_LAST.match(text):
        # Of the two readings of 9/5/2026 the one that is nearer to today, else the one with the day first.
        first, second, year = map(int, last.groups())
        readings = [day for day in (_iso(year, second, first), _iso(year, first, second)) if day]
        return min(readings, key=lambda day: abs(date.fromisoformat(day) - today) if today else _NO_TIME, default=None)
    if today is None:
        return _of_words(text, 0)
    form = normalise(text)
    for word in sorted(words, key=lambda word: (-len(word), word)):
        if normalise(word) in form:
            return (today + timedelta(days=words[word])).isoformat()
    return _of_words(text, today.year) or _of_weekday(text, today)


def _of_words(text: str, year: int) -> str | None:
    """Return a date of month and day, in figures or with the name of the month, as ISO text; None if there is none."""
    if numeric := _MONTH_DAY.match(text):
        return _iso(year, int(numeric[1]), int(numeric[2]))
    month = day = 0
    for match in _WORDS.finditer(text):
        if match["year"]:
            year = int(match["year"])
        elif match["day"]:
            day = day or int(match["day"])
        elif match["word"][:3] in _MONTHS:
            month = _MONTHS.index(match["word"][:3]) + 1
    return _iso(year, month, day)


def _of_weekday(text: str, today: date) -> str | None:
    """Return the next date, today included, with the day of the week that a text names; None if the text names no day."""
    day_names = [match["word"][:3] for match in _WORDS.finditer(text) if match["word"]]
    weekday = next((_WEEKDAYS.index(word) for word in day_names if word in _WEEKDAYS), None)
    if chinese := _CHINESE_WEEKDAY.search(text):
        weekday = min("一二三四五六日天".index(chinese[1]), _WEEK - 1)
    return None if weekday is None else (today + timedelta(days=(weekday - today.weekday()) % _WEEK)).isoformat()


def _iso(year: int, month: int, day: int) -> str | None:
    """Return a date as ISO text; None if it does not exist."""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


MAX_TEXT = 20_000
MAX_ITEMS = 4_000
MAX_DEPTH = 24
#: A tenth of a millimetre in degrees: finer differences come from arithmetic, not from the map.
_DECIMALS = 9
_CONTAINERS = (dict, list, tuple, Mapping)
#: A number, as people and models write it; float() alone would also take "1_000", "nan" and "infinity".
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")
_BETWEEN = re.compile(r"\s*[,，]\s*|\s+")
_TRUE = frozenset({"true", "1", "yes", "是"})
_FALSE = frozenset({"false", "0", "no", "否"})
_AXES = (("lon", "lat"), ("lng", "lat"), ("x", "y"), ("longitude", "latitude"))
MAX_LON, MAX_LAT = 180.0, 90.0


class UnfitError(ValueError):
    """A value does not match its declared type; the message states the expected type."""


def number(value: Json) -> float | None:
    """Return a value as a finite number, rounded to nine decimals, also from numeric text; None if it is not a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.strip()
        if not _NUMBER.fullmatch(value):
            return None
    elif not isinstance(value, (int, float)):
        return None
    try:
        amount = round(float(value), _DECIMALS)
    except OverflowError:
        return None
    return amount + 0.0 if math.isfinite(amount) else None


def boolean(value: Json) -> bool | None:
    """Return a value as a boolean, also from 0, 1 and words such as "true" and "否"; None if it is not a boolean."""
    if isinstance(value, bool):
        return value
    word = normalise(str(value)) if isinstance(value, (str, int)) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def point_of(value: Json) -> Point | None:
    """Return a value as (lon, lat) in degrees: an object, a pair, or text such as ``"lon,lat"``; None if it is not a point."""
    if isinstance(value, str):
        value = parsed_json(value) if value.lstrip()[:1] in ("[", "{") else _BETWEEN.split(value.strip())
    if isinstance(value, Mapping):
        value = next(([value[lon], value[lat]] for lon, lat in _AXES if lon in value and lat in value), None)
    if not isinstance(value, (list, tuple)) or len(value) != 2:  # noqa: PLR2004 - a pair
        return None
    lon, lat = number(value[0]), number(value[1])
    if lon is None or lat is None or abs(lon) > MAX_LON or abs(lat) > MAX_LAT:
        return None
    return lon, lat


def refuse_oversized(value: Json) -> None:
    """Raise UnfitError if a value is too large or too deeply nested to be an argument."""
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        return
    waiting, seen = [(value, 0)], 0
    while waiting:
        element, depth = waiting.pop()
        seen += 1
        if isinstance(element, str):
            if len(element) > MAX_TEXT:
                raise UnfitError(f"text of at most {MAX_TEXT} characters")
        elif isinstance(element, _CONTAINERS):
            if depth >= MAX_DEPTH or seen + len(element) > MAX_ITEMS:
                raise UnfitError(f"at most {MAX_ITEMS} elements, nested at most {MAX_DEPTH} deep")
            inside = element.values() if isinstance(element, Mapping) else element
            waiting.extend((member, depth + 1) for member in inside)


def says_nothing(value: Json) -> bool:
    """Return whether a value is null, empty text, or an empty list or object."""
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or (isinstance(value, _CONTAINERS) and not value)


def parsed_json(text: str) -> Json:
    """Return the value of JSON text; None if the text is invalid, too large, too deep, or has NaN or infinity."""

    def refuse(constant: str) -> Json:
        """Raise ValueError for the constants NaN and Infinity."""
        raise ValueError(constant)

    try:
        value = json.loads(text, parse_constant=refuse)
        refuse_oversized(value)
    except (ValueError, RecursionError):
        return None
    return value
