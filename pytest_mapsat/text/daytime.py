"""Which time of day is meant where the hour alone does not say it: from am and pm, ranges, the case's time, the times before."""

from __future__ import annotations

from collections.abc import Sequence

from .clock import Spoken

DAY = 24 * 60
_HALF_DAY = 12 * 60
_SIXTY = 60
_NOON = 12
_SOON = 600
_MORNING = 7 * 60
_LATER_TODAY = 6 * 60


def resolve(
    times: Sequence[Spoken], now: int | None, *, tomorrow: bool, morning: bool, roles: Sequence[str | None]
) -> list[Spoken]:
    """Return the times with their readings.

    Args:
        times: the times of one reply, ascending.
        now: the case's time in minutes after midnight, None where it is not known.
        tomorrow: whether the reply is about another day, so that ``now`` tells nothing.
        morning: whether it speaks of the morning of that day.
        roles: of each time; when something opens may lie in the past, and who has closed may have done so in the evening.
    """
    opening = [role == "opening" for role in roles]
    resolved: list[Spoken] = []
    last: int | None = None
    sure = False
    for place, spoken in enumerate(times):
        readings = _readings(spoken)
        if len(readings) > 1 and not opening[place]:
            nearest = _by_neighbours(readings, last, None if tomorrow else now, sure=sure)
            readings = readings if roles[place] == "closing" and nearest[0] < _HALF_DAY else nearest
        if (
            len(readings) > 1
            and tomorrow
            and morning
            and roles[place] != "closing"
            and _MORNING <= readings[0] < _HALF_DAY
        ):
            readings = readings[:1]
        left = [] if len(readings) > 1 else [one for one in _readings(spoken) if one not in readings]
        resolved.append(spoken._replace(minutes=tuple(readings), other=left[0] if left else -1))
        if len(readings) == 1 and not opening[place]:
            last, sure = readings[0], (sure or len(_readings(spoken)) == 1) and roles[place] != "closing"
    return resolved


def _readings(spoken: Spoken) -> list[int]:
    minutes = spoken.hour * _SIXTY + spoken.minute
    if spoken.sure:
        return [minutes % DAY]
    if spoken.half == "am":
        return [minutes % _HALF_DAY if spoken.hour == 12 else minutes % DAY]  # noqa: PLR2004  midnight
    if spoken.half == "pm":
        return [minutes % DAY if spoken.hour >= 12 else minutes + _HALF_DAY]  # noqa: PLR2004  the 12-hour clock
    if spoken.half == "noon":
        return [minutes + _HALF_DAY if spoken.hour <= 3 else minutes]  # noqa: PLR2004  中午一点
    if spoken.hour > 12 or spoken.hour == 0:  # noqa: PLR2004
        return [minutes % DAY]
    return [minutes % _HALF_DAY, minutes % _HALF_DAY + _HALF_DAY]


def _by_neighbours(readings: list[int], last: int | None, now: int | None, *, sure: bool) -> list[int]:
    """Choose the reading that comes next: soon behind the case's time, or behind the time before it, first of all where that is surely said."""
    after = _next(readings, last, _LATER_TODAY)
    soon = _next(readings, now, _SOON)
    if sure and after is not None and last is not None and after < last and soon is not None:
        return [soon]
    first, second = (after, soon) if sure else (soon, after)
    best = second if first is None else first
    return readings if best is None else [best]


def _next(readings: list[int], start: int | None, within: int) -> int | None:
    """Return the reading that comes first after a time, if it comes within so many minutes."""
    if start is None:
        return None
    gap, best = min(((reading - start) % DAY, reading) for reading in readings)
    return best if gap <= within else None
