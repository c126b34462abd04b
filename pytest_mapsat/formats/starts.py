"""The rows that tables of an environment had at the start of episodes: kept once in a run file and its journal, packed, by their digest."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from pytest_mapsat.model import JsonObject, Scorecard, StartRows, canonical_json, digest

from .limits import MIB
from .plain_data import parse_json

#: What a run keeps of them, packed, bytes; and what one table may unpack to.
MOST_PACKED = 20 * MIB
_MOST_UNPACKED = 512 * MIB


class KeptRows:
    """The rows of one table, by digest."""

    def __init__(self, rows: Sequence[JsonObject]) -> None:
        self.rows = rows

    @cached_property
    def packed(self) -> str:
        """The rows as a run file keeps them; empty where they are too many for one."""
        packed = b64encode(zlib.compress(canonical_json(list(self.rows)).encode("utf-8", "replace"))).decode()
        return packed if len(packed) <= MOST_PACKED else ""

    @cached_property
    def digest(self) -> str:
        """Their digest."""
        return digest(list(self.rows))


class PackedRows:
    """The rows of one table out of a run file, unpacked when they are asked for; none where they are not those of their digest."""

    def __init__(self, name: str, packed: str) -> None:
        self._name = name
        self.packed = packed

    @cached_property
    def rows(self) -> Sequence[JsonObject]:
        """The rows. Raises ValueError where they are not those of their digest."""
        try:
            data = zlib.decompressobj().decompress(b64decode(self.packed), _MOST_UNPACKED)
            rows: list[JsonObject] = parse_json(data.decode())
        except (ValueError, zlib.error):
            rows = []
        if digest(rows) != self._name:
            raise ValueError(f"the rows {self._name} of the start are damaged")
        return rows


def begin_with(cards: Iterable[Scorecard], packed: Mapping[str, str]) -> None:
    """Have the rows of the start at hand where episodes are judged again.

    Args:
        cards: scorecards of a run.
        packed: what its file or journal keeps, by digest.
    """
    starts = {name: PackedRows(name, text) for name, text in packed.items()}
    for card in cards if starts else ():
        if card.trajectory.environment is not None:
            card.trajectory.environment.begin_with(starts)


def starts_of(cards: Iterable[Scorecard]) -> dict[str, str]:
    """Return what a run file keeps of the rows that its episodes started from, by digest: the smallest tables first, as many as there is room for."""
    starts: dict[str, StartRows] = {}
    for card in cards:
        starts |= {} if card.trajectory.environment is None else card.trajectory.environment.starts
    kept = sorted((len(rows.packed), name) for name, rows in starts.items() if rows.packed)
    sums = accumulate(size for size, _ in kept)
    return {name: starts[name].packed for (_, name), size in zip(kept, sums, strict=True) if size <= MOST_PACKED}
