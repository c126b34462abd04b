"""Plain readings of a text, which share nothing with the judge's: its sentences, figures, clock times and telephone numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

#: unit -> what is measured, and how many base units (metre, second, ...) it is. Names are those of checks.
UNITS: dict[str, tuple[str, float]] = {
    "m": ("length", 1), "km": ("length", 1000), "s": ("time", 1), "min": ("time", 60), "h": ("time", 3600), "d": ("time", 86400),
    "yuan": ("money", 1), "money": ("money", 1), "percent": ("share", 1), "celsius": ("temperature", 1), "star": ("rating", 1), "count": ("count", 1),
}  # fmt: skip
_WORDS = {
    "km": "km", "公里": "km", "千米": "km", "m": "m", "metres": "m", "米": "m", "minutes": "min", "minute": "min", "min": "min",
    "分钟": "min", "hours": "h", "hour": "h", "h": "h", "小时": "h", "seconds": "s", "秒": "s", "days": "d", "day": "d", "天": "d", "yuan": "yuan", "元": "yuan",
    "dollars": "money", "美元": "money", "euros": "money", "欧元": "money", "pounds": "money", "英镑": "money", "yen": "money", "日元": "money",
    "percent": "percent", "%": "percent", "°C": "celsius", "°": "celsius", "度": "celsius", "stars": "star", "星": "star", "分": "star",
}  # fmt: skip
_UNIT = "|".join(
    re.escape(word) + ("(?![A-Za-z0-9])" if word[-1].isascii() and word[-1].isalpha() else "")
    for word in sorted(_WORDS, key=len, reverse=True)
)
_FIGURE = re.compile(
    rf"(?<![0-9A-Za-z.:\-])(?P<number>[0-9]+(?:\.[0-9]+)?)(?:[ -]?(?P<unit>{_UNIT})|(?![0-9A-Za-z.:\-点号]))"
)
_CLOCK = re.compile(r"(?<![0-9:])(?P<hour>[0-9]{1,2}):(?P<minute>[0-5][0-9])(?![0-9:])(?: ?(?P<half>[ap])m(?![a-z]))?")
_SENTENCE = re.compile(r"(?<=[。！？；!?;\n])|(?<=[.])[ ]+")
_HOURS = 24
#: Three or four digits, then one or two such groups behind hyphens.
PHONE = re.compile(r"(?<![0-9-])[0-9]{3,4}(?:-[0-9]{3,4}){1,2}(?![0-9-])")


@dataclass(frozen=True)
class Figure:
    """A number in a text: its span, its value as written, and its unit (``count`` where it has none)."""

    start: int
    end: int
    value: float
    unit: str

    @property
    def dimension(self) -> str:
        """What is measured."""
        return UNITS[self.unit][0]

    @property
    def base(self) -> float:
        """The value in the base unit."""
        return self.value * UNITS[self.unit][1]


@dataclass(frozen=True)
class Clock:
    """A clock time in a text: its span and minutes after midnight."""

    start: int
    end: int
    minutes: int


def folded(text: str) -> str:
    """Return a text in which case and width do not count."""
    return unicodedata.normalize("NFKC", text).casefold()


def has(text: str, phrase: str) -> bool:
    """Return whether a folded text has the phrase, as whole words where it is Latin."""
    return place_of(text, phrase) is not None


def place_of(text: str, phrase: str) -> int | None:
    """Return where a folded text first has the phrase, as whole words where it is Latin (a plain plural counts)."""
    wanted = folded(phrase)
    start = text.find(wanted)
    while start >= 0:
        rest = text[start + len(wanted) :]
        if not _glued(text[:start][-1:], wanted[0]) and not all(
            _glued(wanted[-1], rest.removeprefix(ending)[:1]) for ending in ("", "s", "es")
        ):
            return start
        start = text.find(wanted, start + 1)
    return None


def _glued(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences of a text, in order."""
    spans, start = [], 0
    for match in _SENTENCE.finditer(text):
        spans.append((start, match.start()))
        start = match.end()
    spans.append((start, len(text)))
    return [(start, end) for start, end in spans if text[start:end].strip()]


def figures(text: str) -> Iterator[Figure]:
    """Yield the numbers of a text that are no part of a clock time, a telephone number, or a word."""
    for match in _FIGURE.finditer(text):
        unit = _WORDS[match["unit"]] if match["unit"] else "count"
        yield Figure(match.start(), match.end(), float(match["number"]), unit)


def phones(text: str) -> list[str]:
    """Return the telephone numbers of a text: groups of digits with hyphens between."""
    return PHONE.findall(text)


def clocks(text: str) -> Iterator[Clock]:
    """Yield the clock times that are written with a colon."""
    for match in _CLOCK.finditer(text):
        hour = int(match["hour"])
        if match["half"]:
            hour = hour % 12 + (12 if match["half"] == "p" else 0)
        if hour < _HOURS:
            yield Clock(match.start(), match.end(), hour * 60 + int(match["minute"]))
