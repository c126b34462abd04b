"""Whether a thing lies at an address that is claimed."""

from __future__ import annotations

import re

from .claims import Claim
from .forms import squeeze
from .pool import Thing

#: How much of an address must be found where the evidence says the thing is.
_COVERED = 0.7
_NUMBER = re.compile(r"[0-9]+")


def covers(claim: Claim, thing: Thing) -> bool:
    """Return whether a thing lies at the address: its numbers are all there, and most of its words."""
    if not thing.address:
        return False
    pieces = [piece for piece in claim.parts if any(char.isdigit() for char in piece)] or list(claim.parts[:1])
    where = thing.full + squeeze(thing.address)
    if not pieces or not set(_NUMBER.findall(pieces[0])) <= set(_NUMBER.findall(thing.address)):
        return False
    squeezed = [squeeze(piece) for piece in pieces]
    return sum(_shared(piece, where) for piece in squeezed) >= _COVERED * sum(map(len, squeezed))


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
