"""The form in which names are compared: letters and digits alone, case and width aside, and how travel modes are worded."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from .fold import is_cjk

Mode = Literal["drive", "transit", "walk", "ride", "taxi"]

_NOISE = re.compile(r"[\W_]+")
_BRACKETED = re.compile(r"\([^()]*\)|（[^（）]*）")
_MODE = re.compile(
    r"(?P<taxi>taxi|cab(?![a-z])|打车|出租车|网约车)|(?P<ride>cycl|bike|bicycl|(?<![a-z])by bike|骑行|骑车|骑)"
    r"|(?P<walk>walk|on foot|步行|走路|走过去|徒步)"
    r"|(?P<transit>transit|metro|subway|tram|(?<![a-z])bus|train|公交|地铁|公共交通|乘车|坐车)"
    r"|(?P<drive>driv|(?<![a-z])car(?![a-z])|by road|驾车|开车|自驾|车程)"
)
_SHORTEST = 2


@lru_cache(maxsize=8192)
def squeeze(text: str) -> str:
    """Return the letters and digits of ``text`` in one form (NFKC, case folded); blanks and marks do not count."""
    return _NOISE.sub("", unicodedata.normalize("NFKC", text).casefold())


def without_brackets(text: str) -> str:
    """Return ``text`` without what stands in brackets."""
    return _BRACKETED.sub(" ", text)


def modes_in(text: str) -> list[tuple[int, Mode]]:
    """Return where in a folded text a way of travelling is named."""
    return [(match.start(), match.lastgroup) for match in _MODE.finditer(text)]  # type: ignore[misc]  # the groups are the modes


def mode_of(text: str) -> Mode | None:
    """Return the first way of travelling that a short text names."""
    match = _MODE.search(text[:80].casefold())
    return match.lastgroup if match else None  # type: ignore[return-value]  # the groups are the modes


def is_name_like(name: str) -> bool:
    """Return whether a squeezed name is long enough to be looked for in a text."""
    if not name or name.isdigit():
        return False
    return len(name) >= _SHORTEST if any(map(is_cjk, name)) else len(name) > _SHORTEST


def is_part(name: str, whole: str) -> bool:
    """Return whether ``name`` is written with pieces of ``whole``, in order, each of two characters or more.

    So 丰顺工业园 is a short form of 丰顺经济开发区工业园. Each piece is the longest one; the work is bounded by the lengths.
    """
    if name in whole:
        return True
    position = index = 0
    while index < len(name):
        size = min(_SHORTEST, len(name))
        place = whole.find(name[index : index + size], position)
        if place < 0 or index + size > len(name):
            return False
        while index + size < len(name) and whole.startswith(name[index + size], place + size):
            size += 1
        index += size
        position = place + size
    return True
