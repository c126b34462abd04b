"""One thing that the gate found, and how grave it is."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_mapsat.model import GateOutcome

#: A mean this little below what it must reach reaches it: limits are written in decimals, means are sums of floats.
TOLERANCE = 1e-9

#: From the mildest to the gravest.
SEVERITY: tuple[GateOutcome, ...] = ("passed", "inconclusive", "failed", "invalid")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, and whether labels that are not known are the cause."""

    outcome: GateOutcome
    reason: str
    open: bool = False


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: ``1 case``, ``2 cases``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
