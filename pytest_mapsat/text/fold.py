"""One form for text in which case, width, emphasis and invisible characters do not count, with the way back to the original."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

#: Folded texts up to this length are kept.
_SHORT = 80
_LINE_BREAKS = "\r\x0b\x0c\x85\u2028\u2029"
_SAME = {
    "’": "'", "‘": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "～": "~", "〜": "~", "“": '"', "”": '"',
    "＂": '"', "⟶": "→", "➡": "→", "➔": "→", "⇒": "→", "➜": "→", "➝": "→",
    "…": "…", "⋯": "…", "℃": "℃", "½": "½", "¼": "¼", "¾": "¾", "：": ":", "⭐": "⭐",
}  # fmt: skip
#: From where to where characters lie that are written without spaces, the most frequent ones first.
_HAN_RANGES = (("\u3400", "\u9fff"), ("\u3040", "\u30ff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff"))
_HAN = "".join(f"{first}-{last}" for first, last in _HAN_RANGES)
#: What is dropped: emphasis, invisible characters, selectors, more than one blank, blanks beside Chinese characters and at line ends.
_DROPPED = re.compile(
    r"[*`\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\x00]+|(?<=[ \n])[ \t*]+| +(?=[*`]*\n)"
    rf"|(?<=[{_HAN}]) +|(?<=[{_HAN}][*`]) +| +(?=[{_HAN}])"
    r"|(?<![a-z0-9])_+|_+(?![a-z0-9_])"
)
#: Phrases that are folded as they are, as most words of the packs: small letters and digits, single blanks, common Chinese characters.
_PLAIN = re.compile(r"[a-z0-9']+(?: [a-z0-9']+)*|[\u4e00-\u9fff]+")
#: Stands for characters that are dropped.
_DROP = "\u200b"


class _Table(dict[int, int | str]):
    """Fills itself: what stands for one character."""

    def __missing__(self, code: int) -> int | str:
        """Return the folded form of a character met for the first time."""
        self[code] = folded = _fold_char(chr(code))
        return folded


def _fold_char(char: str) -> int | str:
    if char in _LINE_BREAKS or char == "\n":
        return "\n"
    if char in _SAME:
        return _SAME[char]
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Cc" or char.isspace():
        return " "
    return _DROP if category == "Mn" else _folded(char, sign=category[0] == "S")


def _folded(char: str, *, sign: bool) -> str:
    """Return a letter or sign without case, width and accents; a sign that would become letters stays."""
    if sign and not unicodedata.normalize("NFKC", char).isascii():
        return char
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    bare = unicodedata.normalize("NFD", folded)[:1]
    if bare.isascii() and bare.isalpha() and len(folded) == 1:
        return bare
    return folded.replace("\n", " ") or _DROP


_TABLE = _Table()


def is_han(char: str) -> bool:
    """Return whether the character belongs to a script that is written without spaces between words."""
    if char < "\u3040":  # most are: nothing at all, too
        return False
    for first, last in _HAN_RANGES:  # noqa: SIM110  called for every character of some texts
        if first <= char[0] <= last:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded text; its pieces lie in the original at an offset of their own.

    Attributes:
        original: the text as it was written.
        text: the folded text.
    """

    original: str
    text: str
    _starts: list[int]
    _origins: list[int]

    def origin(self, position: int) -> int:
        """Return where a folded character stood in the original."""
        piece = bisect_right(self._starts, position) - 1
        return min(self._origins[piece] + position - self._starts[piece], len(self.original))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original span of folded characters ``start`` to ``end``."""
        first = self.origin(start)
        if end <= start:
            return first, first
        if len(self._starts) == 1:  # nothing is dropped inside: most texts are one piece
            return first, max(min(first + end - 1 - start, len(self.original)) + 1, first)
        return first, max(self.origin(end - 1) + 1, first)

    def at(self, origin: int) -> int:
        """Return the folded position of the first kept character at or behind ``origin`` of the original."""
        piece = bisect_right(self._origins, origin) - 1
        if piece < 0:
            return 0
        inside = self._starts[piece] + origin - self._origins[piece]
        following = self._starts[piece + 1] if piece + 1 < len(self._starts) else len(self.text)
        return min(inside, following)


def fold(text: str) -> Folded:
    """Return ``text`` folded, in linear time."""
    same = text.translate(_TABLE)
    if len(same) != len(text):
        return _fold_slowly(text)
    return _dropped(text, same, None)


def _fold_slowly(text: str) -> Folded:
    """Fold a text in which one character stands for several ("㎞")."""
    pieces: list[str] = []
    origins: list[int] = []
    for index, char in enumerate(text):
        folded = char.translate(_TABLE)
        pieces.append(folded)
        origins += [index] * len(folded)
    return _dropped(text, "".join(pieces), origins)


def _dropped(original: str, same: str, places: list[int] | None) -> Folded:
    kept: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = last = 0

    def keep(start: int, end: int) -> None:
        nonlocal length
        if end <= start:
            return
        kept.append(same[start:end])
        if places is None:
            starts.append(length)
            origins.append(start)
        else:
            starts.extend(range(length, length + end - start))
            origins.extend(places[start:end])
        length += end - start

    for match in _DROPPED.finditer(same):
        keep(last, match.start())
        last = match.end()
    keep(last, len(same))
    return Folded(original, "".join(kept), starts or [0], origins or [0])


def fold_phrase(phrase: str) -> str:
    """Return a phrase in the form in which it is found in a folded text."""
    return _fold_short(phrase) if len(phrase) <= _SHORT else _fold_phrase(phrase)


@lru_cache(maxsize=4096)
def _fold_short(phrase: str) -> str:
    return _fold_phrase(phrase)


def _fold_phrase(phrase: str) -> str:
    if _PLAIN.fullmatch(phrase):
        return phrase
    return fold(" ".join(phrase.split())).text.replace("\n", " ").strip()
