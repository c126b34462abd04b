"""A text in pieces, so that the words that decided a label can be marked in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_mapsat.model import Label

#: Of several labels that rest on the same words the gravest gives the mark its state.
_GRAVITY = {"failed": 4, "error": 3, "unevaluated": 2, "passed": 1}
#: More marks in one text than this help nobody.
_MOST = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of a text.

    Attributes:
        text: the words.
        state: the outcome of the gravest label that rests on them; empty where none does.
        requirements: the requirements of those labels.
    """

    text: str
    state: str = ""
    requirements: tuple[str, ...] = ()


def pieces(text: str, turn: int, labels: Iterable[Label], *, most: int) -> list[Piece]:
    """Return a text of the dialogue in pieces, which joined together give its first ``most`` characters.

    Args:
        text: what was said.
        turn: the place of the turn in the trajectory.
        labels: the labels of the dialogue; a quote that does not lie in the text is left out.
        most: characters to keep.
    """
    end = min(len(text), most)
    marks = [
        (quote.start, min(quote.end, end), label)
        for label in labels
        for quote in label.quotes
        if quote.turn == turn and quote.start < min(quote.end, end)
    ][:_MOST]
    cuts = sorted({0, end, *(place for start, stop, _ in marks for place in (start, stop))})
    return [_piece(text[a:b], [label for start, stop, label in marks if start <= a < stop]) for a, b in pairwise(cuts)]


def _piece(text: str, labels: Sequence[Label]) -> Piece:
    if not labels:
        return Piece(text)
    state = max((label.outcome for label in labels), key=lambda outcome: _GRAVITY.get(outcome, 0))
    return Piece(text, state, tuple(dict.fromkeys(label.requirement for label in labels)))
