"""Parts of a suite: samples, each the beginning of one order of its cases, and shards, each run by a job of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import zip_longest

from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import RunOptions, UsageError, did_you_mean
from pytest_mapsat.suite import CaseEntry, Suite

#: What cases can be spread over besides their attributes: fields of a case's header.
_FIELDS = ("domain", "difficulty", "language", "group")


def entries_of(suite: Suite, options: RunOptions) -> tuple[CaseEntry, ...]:
    """Return the cases of a suite that a run is of: its sample, or all of those that can be read. Drafts are none of them.

    Raises:
        UsageError: the sample is larger than the suite, or is spread over what its cases do not have.
    """
    entries = tuple(suite.accepted())
    if not options.sample:
        return entries
    _refuse_unknown(suite.manifest.sample.by, entries, suite)
    # Of a suite with a broken file, which is told where it is collected, the size is unknown.
    if options.sample > len(entries) and suite.all_listed:
        drafts = sum(entry.draft for entry in suite.readable())
        besides = f" besides {drafts} drafts (mapsat review {shown_path(suite.root)})" if drafts else ""
        told = (
            f"the suite {suite.manifest.name} has {len(entries)} cases{besides}, and a sample is drawn from each suite"
        )
        raise UsageError(f"--mapsat-sample={options.sample}: {told}")
    return tuple(ordered(entries, suite.manifest.sample.by, suite.manifest.sample.seed)[: options.sample])


def ordered(entries: Iterable[CaseEntry], by: Sequence[str] = (), seed: int = 0) -> list[CaseEntry]:
    """Return cases in the order of which every sample is the beginning.

    However long the beginning, it holds equally many cases of each value of the first attribute, give or take one, or all that there are; and
    among the cases of one such value, of each combination of the other attributes its share, rounded up or down. Within
    a combination the cases stand in the order of a digest. The order in which they are given does not matter.

    Args:
        entries: the cases.
        by: attributes, or ``domain``, ``difficulty``, ``language`` and ``group``; a case without one has an empty value.
        seed: draws another order.
    """
    strata: dict[str, dict[tuple[str, ...], list[CaseEntry]]] = {}
    for entry in entries:
        first, *others = [_value(entry, name) for name in by] or [""]
        strata.setdefault(first, {}).setdefault(tuple(others), []).append(entry)
    lanes = [_spread(strata[name].values(), seed) for name in sorted(strata, key=lambda name: _digest(seed, name))]
    # One of each in turn, until each has given all it has: that is the equal part for samples of every size.
    return [entry for turn in zip_longest(*lanes) for entry in turn if entry is not None]


def _spread(cells: Iterable[Sequence[CaseEntry]], seed: int) -> Iterator[CaseEntry]:
    """Yield the cases of some cells so that each cell always has its share of those that came so far, rounded up or down.

    Largest remainders would do that for one size, but what they choose for a smaller one need not lie in a larger one. So each case gets
    the places at which it keeps its cell within one of its share, and of those that may come the one that has to come first does. It always
    works out (Steiner and Yeomans, Level schedules for mixed-model, just-in-time processes, Management Science 39, 1993).
    """
    drawn = [sorted((_digest(seed, entry.id), entry.id, entry) for entry in cell) for cell in cells]
    total = sum(map(len, drawn))
    coming: dict[int, list[tuple[int, bytes, str, CaseEntry]]] = {}
    for cell in drawn:
        for number, case in enumerate(cell):
            first, last = number * total // len(cell), -((number + 1) * total // -len(cell))
            coming.setdefault(first, []).append((last, *case))
    waiting: list[tuple[int, bytes, str, CaseEntry]] = []
    for place in range(total):
        for due in coming.pop(place, ()):
            heappush(waiting, due)
        yield heappop(waiting)[-1]


def _value(entry: CaseEntry, name: str) -> str:
    """Return what a case has as an attribute, or in a field of its header that is called so."""
    if name in entry.attributes or name not in _FIELDS:
        return entry.attributes.get(name, "")
    if name == "domain":
        return ", ".join(sorted(entry.domains))
    if name == "group":
        return "" if entry.group is None else entry.group.name
    return str(getattr(entry, name))


def _refuse_unknown(by: Sequence[str], entries: Iterable[CaseEntry], suite: Suite) -> None:
    """Refuse attributes that no case has. Raises UsageError."""
    names = {*_FIELDS, *(name for entry in entries for name in entry.attributes)}
    for name in by:
        if name not in names:
            hint = did_you_mean(name, sorted(names)) or f"there is {', '.join(sorted(names))}"
            raise UsageError(
                f"sample: by: in suite.yaml: no case of the suite {suite.manifest.name} has the attribute {name!r} ({hint})"
            )


def _digest(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()[:16]


def parse_shard(text: str) -> tuple[int, int]:
    """Return the number of a part and of all parts, as ``2/8`` gives them."""
    number, _, parts = text.partition("/")
    return int(number), int(parts)


def cases_of_shard(cases: Iterable[str], shard: str) -> frozenset[str]:
    """Return the cases of one part: by a digest of the id, so that a case stays in its part when others come and go.

    Args:
        cases: the ids of all cases.
        shard: the part, as ``2/8``.
    """
    number, parts = parse_shard(shard)
    digests = {case: hashlib.sha256(case.encode("utf-8", "surrogatepass")).digest() for case in cases}
    return frozenset(case for case, digest in digests.items() if int.from_bytes(digest[:8]) % parts == number - 1)
