"""One form for text in which case, width, line wrapping and invisible characters do not count, with the way back.

Every character of the folded text knows the span of the original that it came from, so that whatever
is found in it can be quoted as the agent wrote it.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from dataclasses import dataclass, field
from functools import lru_cache

#: Characters that only mark emphasis; dropped so that ``**9 km**`` reads as ``9 km``.
_EMPHASIS = "*`"
_NOT_SIMPLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f*`]|^[ \n]|[ \n]{2}")
_LINE_BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
_SAME = {"’": "'", "‘": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "～": "~", "〜": "~"}
_CJK = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff"))


@lru_cache(maxsize=8192)
def is_cjk(char: str) -> bool:
    """Return whether the character belongs to a script that is written without spaces between words."""
    return any(low <= char <= high for low, high in _CJK)


@lru_cache(maxsize=8192)
def _folded(char: str) -> str:
    """Return what stands for one character: nothing, a space, a line break, or its folded form."""
    if char in _LINE_BREAKS:
        return "\n"
    if char in _SAME:
        return _SAME[char]
    category = unicodedata.category(char)
    if category == "Cf" or char in _EMPHASIS or "\ufe00" <= char <= "\ufe0f":
        return ""
    if category == "Cc" or char.isspace():
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(char))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())


def _is_mark(char: str) -> bool:
    return char > "\u02ff" and unicodedata.combining(char) != 0


@dataclass(frozen=True)
class Folded:
    """Folded text with the way back.

    Attributes:
        original: the text as it was written.
        text: the folded text; a line break stays one, any other run of white space is one space, or none beside a Chinese character.
        flat: the same with line breaks as spaces; character for character as long as ``text``.
    """

    original: str
    text: str
    flat: str
    _starts: array[int] = field(repr=False)
    _ends: array[int] = field(repr=False)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that folded characters ``start`` to ``end`` (not empty) came from."""
        return self._starts[start], self._ends[end - 1]


class _Folder:
    """Gathers folded characters with their places."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.starts = array("L")
        self.ends = array("L")

    def put(self, char: str, start: int) -> None:
        self.out.append(char)
        self.starts.append(start)
        self.ends.append(start + 1)

    def blank(self, char: str, start: int) -> None:
        """Add white space: runs become one, and a plain space beside a Chinese character vanishes."""
        last = self.out[-1] if self.out else "\n"
        if last in " \n":
            if self.out and char == "\n":
                self.out[-1] = "\n"
        elif char == "\n" or not is_cjk(last):
            self.put(char, start)

    def letter(self, char: str, start: int) -> None:
        if self.out and self.out[-1] == " " and is_cjk(char):
            del self.out[-1], self.starts[-1], self.ends[-1]
        self.put(char, start)

    def mark(self, char: str, start: int) -> None:
        """Put a combining mark on the letter before it where Unicode has one character for both; else drop it."""
        if not self.out:
            return
        both = unicodedata.normalize("NFC", self.out[-1] + char)
        if len(both) == 1:
            self.out[-1] = both
        if self.out[-1] not in " \n":
            self.ends[-1] = start + 1


def fold(text: str) -> Folded:
    """Return ``text`` folded: NFKC width, the digits of other scripts, case, white space, invisible and emphasis characters do not count. Linear in time."""
    if _is_simple(text):
        places = array("L", range(len(text) + 1))
        lower = text.lower()
        return Folded(text, lower, lower.replace("\n", " "), places[:-1], places[1:])
    folder = _Folder()
    for index, char in enumerate(text):
        # A combining mark has no folded form of its own; some characters ("¨") fold to one behind a space.
        for piece in char if _is_mark(char) else _folded(char):
            if _is_mark(piece):
                folder.mark(piece, index)
            elif piece in " \n":
                folder.blank(piece, index)
            else:
                folder.letter(piece, index)
    folded = "".join(folder.out)
    return Folded(text, folded, folded.replace("\n", " "), folder.starts, folder.ends)


def _is_simple(text: str) -> bool:
    """Return whether folding changes nothing but case: plain ASCII, no emphasis, no white space in runs or at the start."""
    return text.isascii() and _NOT_SIMPLE.search(text) is None


@lru_cache(maxsize=4096)
def fold_phrase(phrase: str) -> str:
    """Return a phrase in the form in which it can be found in ``Folded.flat``."""
    return fold(" ".join(phrase.split())).flat.strip()
