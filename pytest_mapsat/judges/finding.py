"""What one check says of one dialogue: passed, failed or not known, with the reason and the words that decided it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_mapsat.model import Quote


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        passed: True, False, or None where the judge could not say.
        why: the reason, with the place in the dialogue where there is one.
        wanted: what would have satisfied the check, in words.
        quotes: the decisive words of the dialogue, with their place in the original text.
        vacuous: it passed because the claim it is about is not made.
        missed: tools that it failed for want of: the world had no record for the calls that it rests on.
    """

    passed: bool | None
    why: str
    wanted: str = ""
    quotes: tuple[Quote, ...] = ()
    vacuous: bool = False
    missed: tuple[str, ...] = ()


def absent(if_absent: str, why: str, wanted: str) -> Finding:
    """Return what it means that nothing of the kind is said: a failure, or a pass that is marked as vacuous."""
    vacuous = if_absent == "vacuous"
    return Finding(vacuous, f"{why}, so nothing is claimed" if vacuous else why, wanted, vacuous=vacuous)
