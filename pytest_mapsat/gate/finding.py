"""One thing that the gate found, and how grave it is."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_mapsat.model import Bounds, GateOutcome

#: A mean this little below what it must reach reaches it: limits are written in decimals, means are sums of floats.
TOLERANCE = 1e-9

#: A false alarm in so many comparisons of one agent with itself, at most.
ALARMS = 0.05

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
