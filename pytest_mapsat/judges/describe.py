"""Checks and matches in words, for failure texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_mapsat.model import (
    Absent,
    Between,
    Bound,
    Contains,
    Equal,
    Match,
    OneOf,
    OpenAt,
    Present,
    Similar,
    WithinM,
    shown,
)


def one_of(phrases: Iterable[str]) -> str:
    """Return ``'a', 'b' or 'c'``."""
    listed = [shown(phrase) for phrase in phrases]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def match_in_words(match: Match) -> str:  # noqa: C901, PLR0911  one line per kind of match
    """Return what a match asks for, as it reads behind a name: ``at least 4.5``."""
    match match:
        case Equal():
            return f"equal to {shown(match.value)}"
        case OneOf():
            return f"one of {', '.join(shown(value) for value in match.values)}"
        case Contains():
            return f"containing {shown(match.text)}"
        case Similar():
            return f"similar to {shown(match.text)}"
        case Between():
            return range_in_words(match.min, match.max)
        case WithinM():
            return f"within {match.metres:g} m of {match.lon:g},{match.lat:g}"
        case OpenAt():
            return f"open at {match.time}"
        case Bound():
            return f"equal to {match.path} of an earlier {match.tool} result"
        case Present():
            return "given"
        case Absent():
            return "not given"


def matches_in_words(matches: Mapping[str, Match]) -> str:
    """Return all matches of a mapping in words, by name."""
    return " and ".join(f"{name} {match_in_words(match)}" for name, match in matches.items())


def range_in_words(low: float | None, high: float | None, unit: str = "") -> str:
    """Return ``from 1 to 2 km``, ``at least 1 km`` or ``at most 2 km``."""
    behind = f" {unit}" if unit else ""
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}{behind}"
    return (
        f"at least {low:g}{behind}" if low is not None else f"at most {high:g}{behind}" if high is not None else "any"
    )


def times_in_words(low: int, high: int | None) -> str:
    """Return ``1 to 3 times``, ``at least once`` and the like."""
    if high is None:
        return f"at least {low} times" if low != 1 else "at least once"
    return f"{low} to {high} times" if low != high else f"{low} times"


def clock_of(minutes: int) -> str:
    """Return minutes after midnight as ``HH:MM``."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
