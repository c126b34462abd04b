"""One form for every way in which a value can be written, how alike two texts are, and how far apart two points.

A canonical value is hashable, is its own canonical form, and is None for what says nothing (null, empty text, list, object).
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache, lru_cache
from math import asin, cos, floor, radians, sin, sqrt
from typing import Any

from pytest_mapsat.model import Json, ParameterMatch, ParameterType, canonical_json

#: Separators, punctuation and control characters carry no meaning; symbols ("+", "|") do.
_SILENT = frozenset("ZPC")
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
#: Each round of folding may open the way for one more; none was ever seen to need more than three.
_ROUNDS = 8


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _spoken(text: str) -> str:
    return "".join(char for char in text if unicodedata.category(char)[0] not in _SILENT)


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """Return the form in which texts are compared: NFKC, case folded, without spaces and punctuation.

    A text of punctuation only is kept, without its spaces.
    """
    for _ in range(_ROUNDS):
        folded = _folded(text)
        form = _spoken(folded) or "".join(folded.split())
        if form == text:
            break
        text = form
    return text


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text, folded: runs of one script, digits apart. Chinese has no spaces: a run is a word."""
    return tuple(_word_pattern().findall(_folded(text)))


@cache
def _word_pattern() -> re.Pattern[str]:
    return re.compile(rf"[{_CJK}]+|[^\W\d_{_CJK}]+|\d+(?:[.,]\d+)*")


def text_similarity(a: str, b: str) -> float:
    """Return how alike two texts are, 0 to 1: the better of their characters in order and their words sorted.

    The measure is the normalised Indel similarity, 2 x common subsequence / (length + length), on normalised text.
    """
    left, right = normalise(a), normalise(b)
    if left == right:
        return 1.0
    # As everywhere by way of the package: two threads that load it by two ways meet half of it.
    from rapidfuzz import fuzz  # noqa: PLC0415 - heavy; only loaded where texts differ

    in_order = fuzz.ratio(left, right)
    by_word = fuzz.ratio(" ".join(sorted(tokens(a))), " ".join(sorted(tokens(b))))
    return float(max(in_order, by_word)) / 100


#: Mean radius of the Earth, metres (IUGG).
EARTH_RADIUS_M = 6_371_008.8
#: Points no further apart than this are one point, metres: rounding or truncating at five decimals moves a point by at most as much.
SAME_POINT_M = 1.6
#: A degree of latitude is longer than this everywhere on our sphere.
LEAST_M_PER_DEGREE = 111_000.0
#: Height of a band of latitude, degrees (11 m): same points lie in one band, or in two that touch.
_BAND = 1e-4
_MARGIN = SAME_POINT_M / LEAST_M_PER_DEGREE


def distance_m(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Return the great-circle distance of two points in metres (haversine).

    Args:
        lon1: longitude of the first point, degrees.
        lat1: latitude of the first point, degrees.
        lon2: longitude of the second point, degrees.
        lat2: latitude of the second point, degrees.
    """
    phi1, phi2 = radians(lat1), radians(lat2)
    across = sin(radians(lon2 - lon1) / 2)
    along = sin((phi2 - phi1) / 2)
    half_chord = along * along + cos(phi1) * cos(phi2) * across * across
    return 2 * EARTH_RADIUS_M * asin(sqrt(min(1.0, half_chord)))


def band(lat: float) -> int:
    """Return the band of latitude that a point lies in; equal bands make a quick index of places."""
    return floor(lat / _BAND)


def bands(lat: float) -> tuple[int, ...]:
    """Return the bands in which the same point may lie: one or two."""
    low, high = band(lat - _MARGIN), band(lat + _MARGIN)
    return (low,) if low == high else (low, high)


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
    if not ranges or not _BETWEEN_HOURS.fullmatch(_RANGE.sub("", hours)) or not all(map(_possible, ranges)):
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


Canonical = Any
Point = tuple[float, float]

MAX_TEXT = 20_000
MAX_ITEMS = 4_000
MAX_DEPTH = 24
#: A tenth of a millimetre in degrees: finer differences come from arithmetic, not from the map.
_DECIMALS = 9
_CONTAINERS = (dict, list, tuple, Mapping)
#: A number, as people and models write it; float() alone would also take "1_000", "nan" and "infinity".
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")
_BETWEEN = re.compile(r"\s*[,，]\s*|\s+")
_SEPARATORS = re.compile(r"[,，、;；|]")
_TRUE = frozenset({"true", "1", "yes", "是"})
_FALSE = frozenset({"false", "0", "no", "否"})
_LONGITUDES = ("lon", "lng", "x", "longitude")
_LATITUDES = ("lat", "lat", "y", "latitude")  # in the order of _LONGITUDES
_MAX_LON, _MAX_LAT = 180.0, 90.0
#: A prefix may hide a suffix and a synonym both; more rounds than this mean that synonyms go in a circle.
_TRIMS = 8


class UnfitError(ValueError):
    """A value that has no canonical form under its type; the message says what was expected."""


class Trimmer:
    """Cuts declared prefixes and suffixes off a normalised word, and puts its head word in the place of a synonym."""

    def __init__(self, rule: ParameterMatch) -> None:
        self._prefixes = tuple(filter(None, map(normalise, rule.prefixes)))
        self._suffixes = tuple(filter(None, map(normalise, rule.suffixes)))
        self._head = {normalise(word): normalise(head) for head, words in rule.synonyms.items() for word in words}

    def __call__(self, word: str) -> str:
        """Return the word that counts; never an empty one."""
        for _ in range(_TRIMS):
            cut = self._cut(self._head.get(word, word))
            if cut == word:
                break
            word = cut
        return word

    def _cut(self, word: str) -> str:
        for prefix in self._prefixes:
            if word.startswith(prefix) and len(word) > len(prefix):
                word = word.removeprefix(prefix)
        for suffix in self._suffixes:
            if word.endswith(suffix) and len(word) > len(suffix):
                word = word.removesuffix(suffix)
        return word


class Canoniser:
    """Brings the values of one parameter to their canonical form."""

    def __init__(self, rule: ParameterMatch) -> None:
        self._form = _FORMS[rule.type]
        self._trim = Trimmer(rule)

    def __call__(self, value: Json) -> Canonical:
        """Return the canonical form of a value, or None for a value that says nothing.

        Raises:
            UnfitError: the value cannot be of the declared type.
        """
        if value is None or _says_nothing(value):
            return None
        if not isinstance(value, (int, float)):
            _bounded(value)
        return self._form(value, self._trim)


def canonical(value: Json, rule: ParameterMatch) -> Canonical:
    """Return the canonical form of one value; see :class:`Canoniser`, which is quicker for many."""
    return Canoniser(rule)(value)


def number(value: Json) -> float | None:
    """Return the value as a finite number (numeric text counts, rounded to nine decimals), or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.strip()
        if not _NUMBER.fullmatch(value):
            return None
    elif not isinstance(value, (int, float)):
        return None
    try:
        found = round(float(value), _DECIMALS)
    except OverflowError:
        return None
    return found + 0.0 if math.isfinite(found) else None


def boolean(value: Json) -> bool | None:
    """Return the value as a boolean ("true", "否", 0 and 1 count), or None."""
    if isinstance(value, bool):
        return value
    word = normalise(str(value)) if isinstance(value, (str, int)) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def point(value: Json) -> Point | None:
    """Return (lon, lat) in degrees of ``{"lon", "lat"}``, ``{"x", "y"}``, ``[lon, lat]`` or ``"lon,lat"`` (a space will do), or None."""
    if isinstance(value, str):
        value = _parsed(value) if value.lstrip()[:1] in ("[", "{") else _BETWEEN.split(value.strip())
    if isinstance(value, Mapping):
        pairs = zip(_LONGITUDES, _LATITUDES, strict=True)
        value = next(([value[lon], value[lat]] for lon, lat in pairs if lon in value and lat in value), None)
    if not isinstance(value, (list, tuple)) or len(value) != 2:  # noqa: PLR2004 - a pair
        return None
    lon, lat = number(value[0]), number(value[1])
    if lon is None or lat is None or abs(lon) > _MAX_LON or abs(lat) > _MAX_LAT:
        return None
    return lon, lat


def _bounded(value: Json) -> None:
    """Refuse what is too large to be an argument, however it is nested."""
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
            members = element.values() if isinstance(element, Mapping) else element
            waiting.extend((member, depth + 1) for member in members)


def _says_nothing(value: Json) -> bool:
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or (isinstance(value, _CONTAINERS) and not value)


def _parsed(text: str) -> Json:
    """Return the value of JSON text, or None: hostile text is as good as none."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        _bounded(value)
    except (ValueError, RecursionError):
        return None
    return value


def _refuse(constant: str) -> Json:
    raise ValueError(constant)


def as_text(value: Json) -> str:
    """Return a scalar as text: 5.0 is written as 5.

    Raises:
        UnfitError: it is neither text nor a finite number.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnfitError("text")
    as_number = number(value)
    if as_number is None:
        raise UnfitError("text or a finite number")
    return str(int(as_number)) if as_number.is_integer() else repr(as_number)


def _text(value: Json, _trim: Trimmer) -> Canonical:
    return normalise(as_text(value)) or None


def _word(value: Json, trim: Trimmer) -> Canonical:
    return trim(normalise(as_text(value))) or None


def _number(value: Json, _trim: Trimmer) -> Canonical:
    found = number(value)
    if found is None:
        raise UnfitError("a number")
    return found


def _boolean(value: Json, _trim: Trimmer) -> Canonical:
    found = boolean(value)
    if found is None:
        raise UnfitError("true or false")
    return found


def members(value: Json) -> list[Json]:
    """Return the members of a list, of JSON text of one, or of text joined by commas; a single value is its own."""
    if isinstance(value, str):
        parsed = _parsed(value) if value.lstrip()[:1] == "[" else None
        value = parsed if isinstance(parsed, list) else _SEPARATORS.split(value)
    listed = value if isinstance(value, (list, tuple)) else [value]
    return [member.strip() if isinstance(member, str) else member for member in listed if not _says_nothing(member)]


def _set(value: Json, trim: Trimmer) -> Canonical:
    words = {_word(member, trim) for member in members(value)}
    return tuple(sorted(filter(None, words))) or None


def _id(value: Json, _trim: Trimmer) -> Canonical:
    return as_text(value).strip() or None


def _coordinate(value: Json, bound: float) -> Canonical:
    found = number(value)
    if found is None or abs(found) > bound:
        raise UnfitError(f"degrees from {-bound:g} to {bound:g}")
    return found


def _lon(value: Json, _trim: Trimmer) -> Canonical:
    return _coordinate(value, _MAX_LON)


def _lat(value: Json, _trim: Trimmer) -> Canonical:
    return _coordinate(value, _MAX_LAT)


def _point(value: Json, _trim: Trimmer) -> Canonical:
    found = point(value)
    if found is None:
        raise UnfitError('a point: "lon,lat", [lon, lat] or {"lon", "lat"}')
    return found


def _points(value: Json, trim: Trimmer) -> Canonical:
    if isinstance(value, str):
        parsed = _parsed(value) if value.lstrip()[:1] in ("[", "{") else re.split("[;；|]", value.strip(" ;；|"))
        value = [parsed] if isinstance(parsed, dict) else parsed
    elif isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value:
        raise UnfitError('points: a list of {"lon", "lat"}, or "lon,lat;lon,lat"')
    if all(isinstance(element, (int, float)) for element in value):
        value = [value]
    return tuple(_point(element, trim) for element in value)


def _time(value: Json, _trim: Trimmer) -> Canonical:
    found = moment(value if isinstance(value, str) else number(value))
    if found is None:
        raise UnfitError("a date or time: 2026-05-26, 2026-05-26T09:00:00, 09:00 or epoch milliseconds")
    return found


def _json(value: Json, _trim: Trimmer) -> Canonical:
    if isinstance(value, str):
        value = unpacked(value)
    try:
        sorted_out = _sorted_out(value)
        return None if _says_nothing(sorted_out) else canonical_json(sorted_out)
    except (TypeError, ValueError) as broken:
        raise UnfitError("a JSON value") from broken


def unpacked(text: str) -> Json:
    """Return what JSON text holds, however often it was put into text again; other text is returned as it is."""
    value: Json = text
    while isinstance(value, str) and (parsed := _parsed(value)) is not None:
        value = parsed
    return value


def _sorted_out(value: Json) -> Json:
    """Return JSON data without empty members and with numeric text as numbers."""
    if isinstance(value, Mapping):
        members = {str(key): _sorted_out(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if not _says_nothing(member)}
    if isinstance(value, (list, tuple)):
        return [_sorted_out(element) for element in value]
    found = number(value)
    if found is None:
        return value
    return int(found) if found.is_integer() else found


_FORMS: dict[ParameterType, Callable[[Json, Trimmer], Canonical]] = {
    "text": _text,
    "place": _word,
    "number": _number,
    "boolean": _boolean,
    "enum": _word,
    "set": _set,
    "id": _id,
    "lon": _lon,
    "lat": _lat,
    "point": _point,
    "points": _points,
    "time": _time,
    "json": _json,
}
