"""Draws from a seed that are the same on every machine and in every version of Python."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

_T = TypeVar("_T")


class Draws:
    """A row of draws that its key alone decides.

    Only ``Random.random`` is used, whose numbers Python keeps the same for a whole number as its seed; the seed is a SHA-256 of the key, so neither hash
    seed nor locale has a part in it. Every merchant has draws of its own: more of them, or fewer draws for one, change no other.

    Args:
        key: texts and whole numbers, such as the seed of the world, the kind of thing and its number.
    """

    def __init__(self, *key: str | int) -> None:
        digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
        self._random = Random(int.from_bytes(digest, "big")).random  # noqa: S311  a world, no secret

    def below(self, end: int) -> int:
        """Return a whole number from 0 to ``end`` - 1."""
        return int(self._random() * end)

    def between(self, first: int, last: int) -> int:
        """Return a whole number from ``first`` to ``last``, both included."""
        return first + self.below(last - first + 1)

    def chance(self, percent: int) -> bool:
        """Return True as often as this, in percent."""
        return self.below(100) < percent

    def choice(self, values: Sequence[_T]) -> _T:
        """Return one of the values."""
        return values[self.below(len(values))]

    def sample(self, values: Sequence[_T], count: int) -> list[_T]:
        """Return several of the values, none twice, in the order drawn; all of them where there are fewer."""
        rest = list(values)
        return [rest.pop(self.below(len(rest))) for _ in range(min(count, len(rest)))]
