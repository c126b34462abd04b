"""How much of the suite a run has seen; a gate is never decided on part of it in silence."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_mapsat.model import Lost


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was run of what there is.

    Attributes:
        selected: cases that were to run: those with a scorecard, and those that are lost.
        total: cases of the suite; None where nobody counted them.
        partial: why not all of the suite was to run, a reason each, such as ``-m navigation``.
        errors: what could not be read, a file or a case each.
        whole_domains: domains all of whose cases were to run, though the suite was not.
        lost: episodes that were to run and have no scorecard.
        unfinished: why this is no whole run; empty for one that came to its end.
        shard: which part of the cases this is, as ``2/8``; empty for no part.
    """

    selected: int
    total: int | None = None
    partial: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    whole_domains: frozenset[str] = frozenset()
    lost: tuple[Lost, ...] = ()
    unfinished: str = ""
    shard: str = ""

    @property
    def complete(self) -> bool:
        """Whether the run has seen the whole suite."""
        return not self.partial and (self.total is None or self.selected >= self.total)

    def covers(self, domain: str) -> bool:
        """Say whether all cases of ``domain`` ran; an empty domain means the whole suite."""
        return self.complete or (bool(domain) and domain in self.whole_domains)

    def __str__(self) -> str:
        counted = f"{self.selected} cases" if self.total is None else f"{self.selected} of {self.total} cases"
        return "; ".join((counted, *self.partial))
