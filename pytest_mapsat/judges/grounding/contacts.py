"""Claims that are phone numbers or coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .claims import Claim
from .page import Page

_COORDINATE = re.compile(
    r"(?<![0-9.])(-?[0-9]{1,3}\.[0-9]{3,10}) ?°? ?[ew]?[,; ] ?(?:lat|latitude|纬度)?[: ]{0,2}(-?[0-9]{1,3}\.[0-9]{3,10})(?![0-9.])"
)
_NUMBER = re.compile(r"(?<![0-9a-z./])\+?\(?[0-9][0-9() -]{5,20}[0-9](?![0-9:]|\.[0-9])")
_CALLED = re.compile(r"(?:电话|热线|联系|拨打|致电|手机|tel|phone|call|ring|hotline|mobile|dial|contact)")
_SHAPE = re.compile(r"1[3-9][0-9]{9}|0[0-9]{9,11}|[48]00[0-9]{7}|(?:00)?861?[0-9]{10,12}")
_DIGITS = re.compile(r"[0-9]")
_LOOK_BACK = 24
_FEWEST = 5


def contacts(page: Page) -> Iterator[Claim]:
    """Yield coordinates and phone numbers."""
    text = page.reading.flat
    points: list[int] = []
    for match in _COORDINATE.finditer(text):
        points.append(match.start())
        yield Claim(match.start(), match.end(), "coordinate", float(match[1]), float(match[2]))
    for match in _NUMBER.finditer(text):
        digits = "".join(_DIGITS.findall(match.group()))
        called = _CALLED.search(text, max(match.start() - _LOOK_BACK, 0), match.start())
        if len(digits) >= _FEWEST and (_SHAPE.fullmatch(digits) or called or match.group().startswith("+")):
            yield Claim(match.start(), match.end(), "phone", text=digits)
