"""What one check says of one dialogue: passed, failed or undecided, with the reason and the words that decided it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_mapsat.model import Family, Quote

_QUOTED = 60
#: The most places that a reason shows.
SHOWN_AT_MOST = 5


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        passed: True, False, or None where it is undecided.
        why: the reason, with the place in the dialogue where there is one; of what is undecided, the words that are unclear.
        wanted: what would have satisfied the check, in words.
        quotes: the decisive, or the unclear, words of the dialogue, with their place in the original text.
        nothing_claimed: it passed because the claim it is about is not made.
        missed: tools whose calls, on which it rests, no recording answered.
        broken: it is undecided because the check itself could not be judged, which is no matter of words.
        compared: what was expected and what was found, or rows before and after, side by side.
        idle: it passed at an end that nothing had to be changed for.
        reading: the family of what was read of prose to come to it; empty where nothing was.
        absent: it failed because something is not said, and not because something is.
    """

    passed: bool | None
    why: str
    wanted: str = ""
    quotes: tuple[Quote, ...] = ()
    nothing_claimed: bool = False
    missed: tuple[str, ...] = ()
    broken: bool = False
    compared: tuple[tuple[str, str], ...] = ()
    idle: bool = False
    reading: Family = ""
    absent: bool = False


def absent(if_absent: str, why: str, wanted: str) -> Finding:
    """Return what it means that nothing of the kind is said: a failure, or a pass by which nothing is claimed."""
    nothing_claimed = if_absent == "nothing_claimed"
    told = f"{why}, so nothing is claimed" if nothing_claimed else why
    return Finding(nothing_claimed, told, wanted, nothing_claimed=nothing_claimed, absent=not nothing_claimed)


def cite(quote: Quote) -> str:
    """Return ``turn 1 says 'X' (chars 3-4)``."""
    text = quote.text if len(quote.text) <= _QUOTED else quote.text[: _QUOTED - 3] + "..."
    return f"turn {quote.turn} says {text!r} (chars {quote.start}-{quote.end})"


def cited(quotes: Iterable[Quote]) -> str:
    """Return the first few places, and how many more there are."""
    listed = tuple(quotes)
    more = f" and {len(listed) - SHOWN_AT_MOST} more" if len(listed) > SHOWN_AT_MOST else ""
    return "; ".join(cite(quote) for quote in listed[:SHOWN_AT_MOST]) + more


def unclear(quotes: Iterable[Quote], what: str, wanted: str) -> Finding:
    """Return an undecided finding that names the words that are unclear.

    Args:
        quotes: these words, with their place.
        what: what of them is unclear, or, where there are none, why nothing is decided.
        wanted: what would have satisfied the check.
    """
    listed = tuple(dict.fromkeys(quotes))
    why = f"{cited(listed)}, {what}" if listed else what
    return Finding(None, why, wanted, listed[:SHOWN_AT_MOST])
