"""What a run was asked for, read from the options of pytest or of the command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from pytest_mapsat.gate import Threshold, parse_thresholds
from pytest_mapsat.model import Asserted, RunOptions, did_you_mean

_KINDS: tuple[Asserted, ...] = tuple(kind for kind in get_args(Asserted) if kind != "none")


def parse_asserted(text: str) -> tuple[Asserted, ...]:
    """Return the kinds of factors that a list like ``hard,facts``, ``all`` or ``none`` names, sorted.

    Raises:
        ValueError: it names something else; with what was expected.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    if words == {"all"}:
        return asserted_kinds(_KINDS)
    if words == {"none"}:
        return ("none",)
    unknown = sorted(words - set(_KINDS))
    if unknown or not words:
        found = unknown[0] if unknown else text
        hint = did_you_mean(found, (*_KINDS, "all", "none"))
        raise ValueError(
            f"found {found!r}, expected hard, facts, explicit, soft (comma between), all, or none"
            + (f"; {hint}" if hint else "")
        )
    return asserted_kinds(words)


def asserted_kinds(names: Iterable[str]) -> tuple[Asserted, ...]:
    """Return the kinds among some names as a run file lists them: sorted, ``none`` where there are none."""
    return tuple(sorted(kind for kind in _KINDS if kind in set(names))) or ("none",)


def thresholds_of(options: RunOptions) -> tuple[Threshold, ...]:
    """Return the thresholds that a run is held against.

    Raises:
        UsageError: one cannot be read.
    """
    return thresholds(options.fail_under, options.fail_under_from)


def thresholds(texts: Sequence[str], origin: str) -> tuple[Threshold, ...]:
    """Return thresholds as they were written, with where they were given.

    Raises:
        UsageError: one cannot be read.
    """
    return parse_thresholds([(text, origin) for text in texts])
