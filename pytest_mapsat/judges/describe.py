"""Checks and matches in words, for failure texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_mapsat.model import (
    Absent,
    Between,
    Bound,
    ClockTime,
    Contains,
    Equal,
    Has,
    Match,
    Number,
    OneOf,
    OpenAt,
    Present,
    SameItems,
    Similar,
    WithinM,
    shown,
)

from .finding import SHOWN_AT_MOST


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
        case Has():
            return f"with one that has {matches_in_words(match.where)}"
        case SameItems():
            return f"of {', '.join(map(shown, match.values)) or 'nothing'}, in any order"


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


def number_in_words(check: Number, known: Iterable[float], unit: str) -> str:
    """Return what a number must be. ``known``: what tools returned for it, in ``unit``."""
    parts = []
    if check.min is not None or check.max is not None:
        parts.append(range_in_words(check.min, check.max, unit))
    if check.bounds:
        values = [f"{value:g}" for value in dict.fromkeys(known)][:SHOWN_AT_MOST]
        source = f"{' or '.join(values)} {unit}" if values else _sources(check.bounds)
        parts.append(f"within {check.allowed * 100:g} % of {source}" if check.allowed else f"equal to {source}")
    return " and ".join(parts) + thing_in_words(check)


def time_in_words(check: ClockTime, known: Iterable[float]) -> str:
    """Return what a time of day must be. ``known``: what tools returned for it, minutes after midnight."""
    parts = [window_in_words(check)] if check.after or check.before else []
    if check.bounds:
        values = [clock_of(int(value)) for value in dict.fromkeys(known)][:SHOWN_AT_MOST]
        parts.append(f"within {check.tolerance_min} min of {' or '.join(values) or _sources(check.bounds)}")
    return " and ".join(parts) + thing_in_words(check)


def _sources(bounds: Sequence[Bound]) -> str:
    return " or ".join(f"{bound.path} of a {bound.tool} result" for bound in bounds)


def thing_in_words(check: Number | ClockTime) -> str:
    """Return what a figure is looked for of: its role, its thing, the words beside it."""
    role = f" ({' or '.join(role.replace('_', ' ') for role in check.role)})" if check.role else ""
    of = " of what is proposed" if check.of == "proposed" else f" of {one_of(check.things)}" if check.of else ""
    near = f" in a sentence with {one_of(check.near)}" if check.near else ""
    return f"{role}{of}{near}"


def window_in_words(check: ClockTime) -> str:
    """Return the hours between which a time of day must lie."""
    if check.after and check.before:
        return f"from {check.after} to {check.before}"
    return f"at or after {check.after}" if check.after else f"at or before {check.before}"
