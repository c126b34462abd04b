"""Telephone numbers, points, links, lines and platforms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from .fold import Folded, is_han
from .pack import Pack

Kind = Literal["phone", "line", "address", "point", "platform", "link"]
_PHONE = re.compile(
    r"(?<![0-9./-])(?<![0-9][,:])(?:\+[0-9]{1,3}[ -]?)?(?:\([0-9]{2,5}\)[ -]?)?[0-9]{3,12}(?:[ -][0-9]{3,8}){0,4}(?![0-9]|[-.:/][0-9]|,[0-9]{3}(?![0-9]))"
)
_POINT = re.compile(r"(?<![0-9.])(-?[0-9]{1,3}\.[0-9]{3,16})[ ,]{1,3}(-?[0-9]{1,3}\.[0-9]{3,16})(?![0-9])")
_LON = r"(?:东经|西经|经度|longitude|lon|lng)[^0-9a-z\u4e00-\u9fff]{0,4}[为是约]?[^0-9a-z\u4e00-\u9fff]{0,2}(-?[0-9]{1,3}\.[0-9]{2,15})"
_LAT = r"(?:北纬|南纬|纬度|latitude|lat)[^0-9a-z\u4e00-\u9fff]{0,4}[为是约]?[^0-9a-z\u4e00-\u9fff]{0,2}(-?[0-9]{1,2}\.[0-9]{2,15})"
_LINK = re.compile(r"(?:https?://|www\.)[^\s()<>\[\]\"'。、]{3,500}")
_LATIN_ADDRESS = re.compile(r"(?<![0-9a-z.:-])[0-9]{1,4}[a-z]?(?= [a-z])((?: [a-z][a-z']{1,20}){1,4})")
_FEWEST, _MOST = 7, 15
_SAMPLE = 2000


class Found(NamedTuple):
    """An identifier in a folded text, with its normal form."""

    start: int
    end: int
    kind: Kind
    value: str


def find_identifiers(folded: Folded, pack: Pack) -> list[Found]:
    """Return the identifiers of a folded text, ascending, none overlapping another."""
    text = folded.text
    found = sorted(
        (*_simple(text, pack), *_phones(text), *_addresses(folded, pack)), key=lambda one: (one.start, -one.end)
    )
    kept: list[Found] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What the words of a language make of numbers: a line or platform before or behind them, a street before a house number."""

    numbered: tuple[tuple[Kind, re.Pattern[str]], ...]
    address: re.Pattern[str] | None


@lru_cache(maxsize=16)
def _patterns(pack: Pack) -> _Patterns:
    def words(group: str) -> str:
        return "|".join(map(re.escape, sorted(pack.groups.get(group, ()), key=lambda word: (-len(word), word))))

    numerals = "".join(
        word
        for group in ("numeral", "multiplier")
        for word in sorted(pack.groups.get(group, ()))
        if len(word) == 1 and is_han(word)
    )
    numbered: list[tuple[Kind, re.Pattern[str]]] = []
    for kind in ("line", "platform"):
        if before := words(f"{kind}_before"):
            pattern = rf"(?<![a-z0-9])(?:{before}) ?([0-9]{{1,4}}[a-z]?|[a-z][0-9]{{1,3}})(?![0-9a-z:])"
            numbered.append((kind, re.compile(pattern)))
        if after := words(f"{kind}_after"):
            spelled = "|".join(word for word in after.split("|") if len(word) > 1)
            in_words = rf"|([{numerals}]{{1,3}})(?:{spelled})" if numerals and spelled else ""
            numbered.append((kind, re.compile(rf"([0-9]{{1,4}})(?:{after}){in_words}")))
    street, house = words("numbered_street"), words("house_number")
    address = rf"[\u4e00-\u9fff]{{1,12}}?(?:{street})[0-9]{{1,5}}(?:{house})" if street and house else ""
    return _Patterns(tuple(numbered), re.compile(address) if address else None)


@cache
def _worded_points() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Points whose numbers have words: longitude first, latitude first. Compiled for the few texts that may have one."""
    return re.compile(rf"{_LON}[^0-9]{{1,6}}?{_LAT}"), re.compile(rf"{_LAT}[^0-9]{{1,6}}?{_LON}")


def may_link(text: str) -> bool:
    """Return whether a folded text can have a link: most have none, and need not be searched for one."""
    return "://" in text or "www." in text


def _simple(text: str, pack: Pack) -> Iterator[Found]:
    for match in _LINK.finditer(text) if may_link(text) else ():
        value = match.group().rstrip(".,;:!?")
        yield Found(match.start(), match.start() + len(value), "link", value)
    for match in _POINT.finditer(text):
        yield Found(match.start(), match.end(), "point", f"{match[1]},{match[2]}")
    if "lat" in text or "纬" in text:
        apart, turned = _worded_points()
        for match in apart.finditer(text):
            yield Found(match.start(), match.end(), "point", f"{match[1]},{match[2]}")
        for match in turned.finditer(text):
            yield Found(match.start(), match.end(), "point", f"{match[2]},{match[1]}")
    for kind, pattern in _patterns(pack).numbered:
        for match in pattern.finditer(text):
            yield Found(match.start(), match.end(), kind, next(filter(None, match.groups())))


def _phones(text: str) -> Iterator[Found]:
    for match in _PHONE.finditer(text):
        digits = "".join(char for char in match.group() if char.isdigit())
        if _FEWEST <= len(digits) <= _MOST:
            yield Found(match.start(), match.end(), "phone", digits)


def _addresses(folded: Folded, pack: Pack) -> Iterator[Found]:
    text = folded.text
    pattern = _patterns(pack).address
    for match in pattern.finditer(text) if pattern else ():
        start = match.start() + max(_after_words(match.group(), pack), 0)
        yield Found(start, match.end(), "address", text[start : match.end()])
    capitals = any(char.isupper() for char in folded.original[:_SAMPLE])
    for match in _LATIN_ADDRESS.finditer(text):
        words = match[1].split()
        last = max((place for place, word in enumerate(words) if word in pack.names["street"]), default=0)
        measured = any("unit" in pack.words.get(word, ()) for word in words[:last])  # "18 minutes from Fennel Court"
        if last and not measured:
            name = " ".join(words[: last + 1])
            start = match.start()
            end = text.index(name, match.start(1)) + len(name)
            if capitals and not folded.original[folded.origin(end - len(words[last]))].isupper():
                continue
            yield Found(start, end, "address", text[start:end])


def _after_words(address: str, pack: Pack) -> int:
    """Return where in the characters before a house number the street's name begins: behind ordinary words."""
    number = next(place for place, char in enumerate(address) if char.isdigit())
    street = address[:number]
    cut = max((place + 1 for place, char in enumerate(street) if char in pack.names["boundary"]), default=0)
    for cue in pack.find(street):
        if cue.end < number - 1 and cue.has("choose", "toward", "person", "chosen", "from", "role", "if"):
            cut = max(cut, cue.end)
    return cut if cut < number - 1 else 0
