"""What may fail an item, read from an option of pytest or of the command."""

from __future__ import annotations

from pytest_mapsat.metrics import ASSERTABLE
from pytest_mapsat.model import did_you_mean


def parse_asserted(text: str) -> frozenset[str]:
    """Return the kinds of factors that a list like ``hard,facts``, ``all`` or ``none`` names.

    Raises:
        ValueError: it names something else; with what was expected.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    if words == {"all"}:
        return frozenset(ASSERTABLE)
    if words == {"none"}:
        return frozenset()
    unknown = sorted(words - set(ASSERTABLE))
    if unknown or not words:
        found = unknown[0] if unknown else text
        hint = did_you_mean(found, (*ASSERTABLE, "all", "none"))
        raise ValueError(
            f"found {found!r}, expected hard, facts, explicit, soft (comma between), all, or none"
            + (f"; {hint}" if hint else "")
        )
    return frozenset(words)
