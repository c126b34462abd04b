"""One thing that the gate found, how grave it is, and how much of the suite it was found on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_mapsat.model import Bounds, GateOutcome, Lost

#: A mean this little below what it must reach reaches it: limits are written in decimals, means are sums of floats.
TOLERANCE = 1e-9

#: A false alarm in so many comparisons of one agent with itself, at most.
ALARMS = 0.05

_LEAST_TOLD = 0.001

#: From the mildest to the gravest.
SEVERITY: tuple[GateOutcome, ...] = ("passed", "inconclusive", "failed", "invalid")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, whether labels that are not known are the cause, and whether it is worth a warning though it passes."""

    outcome: GateOutcome
    reason: str
    open: bool = False
    warns: bool = False


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: ``1 case``, ``2 cases``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def span_text(bounds: Bounds | None, form: str = ".3f") -> str:
    """Return the least and the most of something in words; one number where they are equal."""
    return "none" if bounds is None else " to ".join(dict.fromkeys(f"{end:{form}}" for end in bounds))


def listed(names: Iterable[str], most: int = 3) -> str:
    """Return the first of some names, and how many more there are."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def odds(chance: float) -> str:
    """Return a probability in words."""
    return f"{chance:.3f}" if chance >= _LEAST_TOLD else f"below {_LEAST_TOLD}"


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
