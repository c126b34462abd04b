"""Parts of a run that several jobs run, each its own: which cases belong to which."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_mapsat.formats import read_run


def parse_shard(text: str) -> tuple[int, int]:
    """Return the number of a part and of all parts, as ``2/8`` gives them."""
    number, _, parts = text.partition("/")
    return int(number), int(parts)


def durations_of(path: Path) -> dict[str, float]:
    """Return how long each case of a saved run took, all its trials together, in seconds.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is no run file, or broken; with the line.
    """
    found: dict[str, float] = {}
    for card in read_run(path).cases:
        found[card.id] = found.get(card.id, 0.0) + card.timing.seconds
    return found


def cases_of_shard(cases: Iterable[str], shard: str, durations: Mapping[str, float] | None = None) -> frozenset[str]:
    """Return the cases of one part. Every case belongs to exactly one, whatever the order in which they are given.

    Args:
        cases: the ids of all cases.
        shard: the part, as ``2/8``.
        durations: how long cases took before: the longest go first, each to the part with the least to do; a case that is not among them is
            taken to last as long as the mean. None: by a digest of the id, so that a case stays in its part when others come and go.
    """
    number, parts = parse_shard(shard)
    if durations is None:
        return frozenset(case for case in cases if _bucket(case, parts) == number - 1)
    mean = sum(durations.values()) / len(durations) if durations else 1.0
    loads = [0.0] * parts
    mine = set()
    for case in sorted(set(cases), key=lambda case: (-durations.get(case, mean), case)):
        least = loads.index(min(loads))
        loads[least] += durations.get(case, mean)
        if least == number - 1:
            mine.add(case)
    return frozenset(mine)


def _bucket(case: str, parts: int) -> int:
    return int.from_bytes(hashlib.sha256(case.encode("utf-8", "surrogatepass")).digest()[:8], "big") % parts
