"""Recorded calls as the resolver holds them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice, product
from typing import NamedTuple

from pytest_mapsat.model import JsonObject, Provenance, Record, digest

from .compare import Finding
from .spec import Call

#: A record with many synonyms stands for at most so many calls.
_MAX_VARIANTS = 64
_KEY_DIGITS = 12


class Entry:
    """A record under one way of asking for it."""

    def __init__(self, record: Record, call: Call) -> None:
        self.record = record
        self.call = call

    @cached_property
    def key(self) -> str:
        """A short digest of the canonical call, and of the writes before it."""
        named = {"tool": self.record.tool, "values": self.call.values}
        return digest(named | ({"writes": self.record.writes} if self.record.writes else {}), _KEY_DIGITS)

    @cached_property
    def provenance(self) -> Provenance:
        """What is said of an answer that is this record as it stands."""
        return Provenance(kind="simulated" if self.record.simulated else "exact", record=self.key)

    @cached_property
    def result_digest(self) -> str:
        """A digest of the result, by which conflicting records are told apart."""
        return digest(self.record.result)


class Candidate(NamedTuple):
    """A record that may answer, with all in which it differs from the call."""

    entry: Entry
    found: tuple[Finding, ...]

    @property
    def rank(self) -> tuple[int, float, float, float]:
        """Fewest differences, then the shortest distance, then the most similar text, then the least to cut off."""
        distance = sum(finding.distance or 0 for finding in self.found)
        unlike = sum(1 - finding.score for finding in self.found if finding.score is not None)
        return len(self.found), round(distance, 1), round(unlike, 6), sum(finding.excess for finding in self.found)


def variants(record: Record) -> Iterator[JsonObject]:
    """Yield the record's arguments, and those with declared synonyms in the place of its values."""
    names = sorted(record.synonyms)
    values = [(record.arguments.get(name), *record.synonyms[name]) for name in names]
    for choice in islice(product(*values), _MAX_VARIANTS):
        yield record.arguments | dict(zip(names, choice, strict=True))
