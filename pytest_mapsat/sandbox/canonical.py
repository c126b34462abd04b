"""One form for every way in which a value can be written, by the declared type of its parameter.

A canonical value is hashable, is its own canonical form, and is None for what says nothing (null, empty text, list, object).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_mapsat.model import Json, ParameterMatch, ParameterType, canonical_json

from .text import normalise
from .times import moment

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
