"""Which text of one list belongs to which of another: by the exact text, then by its folded form, then by place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_mapsat.text import fold_phrase


@dataclass(frozen=True)
class Alignment:
    """For every wanted text the index of the found one that belongs to it, or None.

    Attributes:
        found: indices, one per wanted text.
        by_place: how many of them were joined by their place alone.
        left: how many found texts belong to nothing.
    """

    found: tuple[int | None, ...]
    by_place: int
    left: int


def align(wanted: Sequence[str], found: Sequence[str]) -> Alignment:
    """Join texts one to one; the place counts only where both lists are equally long."""
    result: list[int | None] = [None] * len(wanted)
    for form in (str, _letters):
        _join(result, wanted, found, form)
    by_place = 0
    if len(wanted) == len(found):
        free = set(range(len(found))) - {index for index in result if index is not None}
        for index, joined in enumerate(result):
            if joined is None and index in free:
                result[index] = index
                by_place += 1
    return Alignment(tuple(result), by_place, len(found) - sum(index is not None for index in result))


def _join(result: list[int | None], wanted: Sequence[str], found: Sequence[str], form: Callable[[str], str]) -> None:
    """Join what is still free and equal in ``form``; equal texts are joined in their order."""
    used = {index for index in result if index is not None}
    waiting: dict[str, list[int]] = {}
    for index in reversed(range(len(found))):
        if index not in used:
            waiting.setdefault(form(found[index]), []).append(index)
    for place, text in enumerate(wanted):
        indices = waiting.get(form(text))
        if result[place] is None and indices:
            result[place] = indices.pop()


def _letters(text: str) -> str:
    return "".join(char for char in fold_phrase(text) if char.isalnum())
