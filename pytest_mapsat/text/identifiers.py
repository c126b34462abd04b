"""Telephone numbers, points, links, lines and platforms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .fold import Folded
from .pack import Pack

Kind = Literal["phone", "line", "address", "point", "platform", "link"]
_PHONE = re.compile(
    r"(?<![0-9.,/-])(?<![0-9]:)(?:\+[0-9]{1,3}[ -]?)?(?:\([0-9]{2,5}\)[ -]?)?[0-9]{3,12}(?:[ -][0-9]{3,8}){0,4}(?![0-9]|[-.:,/][0-9])"
)
_POINT = re.compile(r"(?<![0-9.])(-?[0-9]{1,3}\.[0-9]{3,10})[ ,]{1,3}(-?[0-9]{1,3}\.[0-9]{3,10})(?![0-9])")
_LINK = re.compile(r"(?:https?://|www\.)[^\s()<>\[\]\"']{3,500}")
_HAN_ADDRESS = re.compile(
    r"[\u4e00-\u9fff]{1,12}?(?:路|街|巷|大道|胡同|弄|道)[0-9]{1,5}(?:号|弄)(?:[0-9a-z-]{0,6}(?:号楼|栋|室|层))?"
)
_LATIN_ADDRESS = re.compile(r"(?<![0-9a-z.:-])[0-9]{1,4}[a-z]?(?= [a-z])((?: [a-z][a-z']{1,20}){1,4})")
_HAN_LINE = re.compile(r"(?:地铁)?[0-9一二三四五六七八九十]{1,3}号线|[0-9]{1,4}路(?:公交|车|内环|外环)?")
_LATIN_LINE = re.compile(
    r"(?<![a-z0-9])(?:line|route|bus|tram|metro line|no\.) ?([0-9]{1,4}[a-z]?|[a-z][0-9]{1,3})(?![0-9a-z:])"
)
_PLATFORM = re.compile(
    r"(?<![a-z0-9])(?:platform|track|gate|bay) ([0-9]{1,3}[a-z]?)(?![0-9a-z])|([0-9]{1,3})号?(?:站台|月台|检票口|登机口)"
)
_FEWEST, _MOST = 7, 15
_SAMPLE = 2000
_LEADING = frozenset("的在于去往是址从至离走到就")


@dataclass(frozen=True, slots=True)
class Found:
    """An identifier in a folded text, with its normal form."""

    start: int
    end: int
    kind: Kind
    value: str


def find_identifiers(folded: Folded, pack: Pack) -> list[Found]:
    """Return the identifiers of a folded text, ascending, none overlapping another."""
    text = folded.text
    found = sorted((*_simple(text), *_phones(text), *_addresses(folded, pack)), key=lambda one: (one.start, -one.end))
    kept: list[Found] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _simple(text: str) -> Iterator[Found]:
    for match in _LINK.finditer(text):
        yield Found(match.start(), match.end(), "link", match.group().rstrip(".,;:!?"))
    for match in _POINT.finditer(text):
        yield Found(match.start(), match.end(), "point", f"{match[1]},{match[2]}")
    for match in _HAN_LINE.finditer(text):
        yield Found(match.start(), match.end(), "line", match.group())
    for match in _LATIN_LINE.finditer(text):
        yield Found(match.start(), match.end(), "line", match[1])
    for match in _PLATFORM.finditer(text):
        yield Found(match.start(), match.end(), "platform", match[1] or match[2])


def _phones(text: str) -> Iterator[Found]:
    for match in _PHONE.finditer(text):
        digits = "".join(char for char in match.group() if char.isdigit())
        if _FEWEST <= len(digits) <= _MOST:
            yield Found(match.start(), match.end(), "phone", digits)


def _addresses(folded: Folded, pack: Pack) -> Iterator[Found]:
    text = folded.text
    for match in _HAN_ADDRESS.finditer(text):
        start = match.start() + max(_after_words(match.group(), pack), 0)
        yield Found(start, match.end(), "address", text[start : match.end()])
    capitals = any(char.isupper() for char in folded.original[:_SAMPLE])
    for match in _LATIN_ADDRESS.finditer(text):
        words = match[1].split()
        last = max((place for place, word in enumerate(words) if word in pack.names["street"]), default=0)
        if last:
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
    cut = max((place + 1 for place, char in enumerate(street) if char in _LEADING), default=0)
    for cue in pack.find(street):
        if cue.end < number - 1 and cue.has("choose", "toward", "person", "chosen", "from", "role", "if"):
            cut = max(cut, cue.end)
    return cut if cut < number - 1 else 0
