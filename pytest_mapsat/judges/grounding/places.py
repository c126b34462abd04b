"""Whether a thing lies at an address that is claimed."""

from __future__ import annotations

import re

from .claims import Claim
from .pool import Thing

#: How much of an address must be found where the evidence says the thing is.
_COVERED = 0.7
_NUMBER = re.compile(r"[0-9]+")


def covers(claim: Claim, thing: Thing) -> bool:
    """Return whether a thing lies at the address: its numbers are all there, and most of its words."""
    if not thing.address:
        return False
    pieces = [piece for piece in claim.parts if any(char.isdigit() for char in piece)] or list(claim.parts[:1])
    where = thing.full + thing.address
    if not pieces or not _digits(pieces[0], where):
        return False
    return sum(_shared(piece, where) for piece in pieces) >= _COVERED * sum(map(len, pieces))


def _shared(piece: str, where: str) -> int:
    """Return how many characters of a piece stand in runs of two or more in ``where``."""
    count = index = 0
    while index < len(piece):
        size = 0
        while index + size < len(piece) and piece[index : index + size + 1] in where:
            size += 1
        count += size if size > 1 else 0
        index += max(size, 1)
    return count


def _digits(piece: str, where: str) -> bool:
    """Return whether every number in a piece stands in ``where`` as a whole number."""
    return set(_NUMBER.findall(piece)) <= set(_NUMBER.findall(where))
