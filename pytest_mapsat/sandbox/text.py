"""Text that was typed in two ways: one form for it, its words, and how alike two texts are.

Recorded worlds may have lost all their spaces, so the form has none; words are found where the script changes.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

#: Separators, punctuation and control characters carry no meaning; symbols ("+", "|") do.
_SILENT = frozenset("ZPC")
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W\d_{_CJK}]+|\d+(?:[.,]\d+)*")
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
    return tuple(_WORD.findall(_folded(text)))


def text_similarity(a: str, b: str) -> float:
    """Return how alike two texts are, 0 to 1: the better of their characters in order and their words sorted.

    The measure is the normalised Indel similarity, 2 x common subsequence / (length + length), on normalised text.
    """
    from rapidfuzz.fuzz import ratio  # noqa: PLC0415 - heavy; only loaded where texts differ

    left, right = normalise(a), normalise(b)
    if left == right:
        return 1.0
    in_order = ratio(left, right)
    by_word = ratio(" ".join(sorted(tokens(a))), " ".join(sorted(tokens(b))))
    return float(max(in_order, by_word)) / 100
