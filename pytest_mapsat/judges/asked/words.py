"""Where quoted words stand in a text: case, width, emphasis, blanks and hidden characters do not count, anything else does."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, cached_property

from pytest_mapsat.text import Folded, fold_text

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
#: Selectors of variants; a row of them can carry a text that nobody sees.
_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_PLAIN_SPACE = "\n\t"
#: What a quote may leave out or add beside blanks and pictures: quotation marks, marks of tables, headings and emphasis, brackets and colons of data.
_LEFT_OUT = frozenset("|\"'「」『』《》#*_`{}[],:=、")
_ENDS = " \t\n.。!！?？;；,，"
_LEFT_BETWEEN = re.compile(r"\s*(?:\.{3,}|…+|\[\.\.\.\])\s*")
#: Pieces of a quote that leaves something out stand within so many characters.
_WIDEST = 2_000
#: So many places are tried where a quote may begin that leaves something out.
_MOST_TRIED = 200


class _Visible(dict[int, int]):
    """Fills itself: a character that can be seen, or the one that folding drops."""

    def __missing__(self, code: int) -> int:
        """Return what stands for a character met for the first time."""
        self[code] = kept = 0x200B if _is_hidden(code) else code
        return kept


def _is_hidden(code: int) -> bool:
    char = chr(code)
    if char in _PLAIN_SPACE:
        return False
    return unicodedata.category(char) in _HIDDEN or any(low <= code <= high for low, high in _SELECTORS)


_VISIBLE = _Visible()


def visible(text: str) -> str:
    """Return a text without the characters that nobody sees; a carriage return becomes a line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_VISIBLE).replace("\u200b", "")


class Words:
    """A text in which quotes are looked for.

    Args:
        text: the text as it was written.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _folded(self) -> Folded:
        return fold_text(self.text.translate(_VISIBLE))

    @cached_property
    def _compact(self) -> tuple[str, list[int]]:
        """The folded text without what quotes may leave out, and where each of its characters stands in the folded one."""
        folded = self._folded.text
        kept = [place for place, char in enumerate(folded) if not _is_left_out(char)]
        return "".join(folded[place] for place in kept), kept

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return where a quote stands in the text as it was written; None where it does not.

        Args:
            quote: the words; ``...`` between them leaves something out. One letter or digit alone is no quote.
        """
        pieces = [compact(piece) for piece in _LEFT_BETWEEN.split(quote.strip(_ENDS))]
        pieces = [piece for piece in pieces if piece]
        if not pieces or sum(map(len, pieces)) < 2 or not any(map(str.isalnum, "".join(pieces))):  # noqa: PLR2004  a pair
            return None
        text, places = self._compact
        start = -1
        for _ in range(_MOST_TRIED):
            start = text.find(pieces[0], start + 1)
            if start < 0:
                return None
            end = _end_of(text, pieces, start)
            if end is not None:
                return self._folded.span(places[start], places[end - 1] + 1)
        return None


def _end_of(text: str, pieces: list[str], start: int) -> int | None:
    end = start + len(pieces[0])
    for piece in pieces[1:]:
        place = text.find(piece, end, end + _WIDEST)
        if place < 0:
            return None
        end = place + len(piece)
    return end


def compact(text: str) -> str:
    """Return a text in the form in which quotes are compared."""
    return "".join(char for char in fold_text(text.translate(_VISIBLE)).text if not _is_left_out(char))


@cache
def _is_left_out(char: str) -> bool:
    return char.isspace() or char in _LEFT_OUT or unicodedata.category(char) == "So"
