"""The checks on numbers and clock times: ``number`` and ``clock_time``."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_mapsat.model import Bound, ClockTime, Json, Number, Quote
from pytest_mapsat.sandbox import values_at

from .clock import DAY, TimeOfDay, clock_of, minutes_of
from .context import Context
from .describe import one_of, range_in_words
from .finding import Finding, absent
from .numbers import Quantity
from .text import Mention, Reading
from .units import NOUNS, UNITS

_SHOWN_AT_MOST = 5
_NUMERIC = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?|-?[0-9]{1,3}(?:,[0-9]{3}){1,4}")
Place = TypeVar("Place", Quantity, TimeOfDay)
#: Right before a figure: it is denied, not said.
_DENIED = re.compile(r"(?:(?<![a-z])not|n't|不是|并非|而非|不止是)(?: (?:an?|the|about|exactly|at))*(?:约|大约)? ?$")
_LOOK_BACK = 24
#: Far below any tolerance; lets 9.8 km equal 9800 m after conversion.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Said:
    """One number or time in a reply, with why it does not fit (empty: it fits)."""

    quote: Quote
    cited: str
    misfit: str


def number(check: Number, context: Context) -> Finding:
    """A number with the unit is said near its thing, and lies where it must."""
    unit = UNITS[check.unit]
    if check.equals_unit is not None and UNITS.get(check.equals_unit, UNITS["count"]).dimension != unit.dimension:
        return Finding(None, f"equals_unit {check.equals_unit!r} cannot be converted to {check.unit}")
    known = _Known(context, check.equals, lambda value: _measured(value, check))
    said: list[_Said] = []
    for reading in context.read(check.turn):
        found = (q for q in reading.quantities if q.dimension == unit.dimension)
        for quantity in _near(reading, found, check.near):
            misfit = _number_misfit(check, quantity.value / unit.scale, known.upto(reading.turn))
            said.append(_as_said(reading, quantity, misfit))
    noun = NOUNS[unit.dimension]
    return _judged(check, said, f"a {noun}{_near_words(check.near)}", _number_wanted(check, noun, known.all()), context)


def clock_time(check: ClockTime, context: Context) -> Finding:
    """A clock time is said near its thing, and lies where it must."""
    known = _Known(context, check.equals, _clock_times)
    said: list[_Said] = []
    for reading in context.read(check.turn):
        times = _near(reading, reading.times, check.near)
        said += (_as_said(reading, time, _time_misfit(check, time.minutes, known.upto(reading.turn))) for time in times)
    return _judged(check, said, f"a clock time{_near_words(check.near)}", _time_wanted(check, known.all()), context)


def _judged(check: Number | ClockTime, said: Sequence[_Said], what: str, wanted: str, context: Context) -> Finding:
    """Apply the quantifier to what was said, or the rule for what was not."""
    if not said:
        return absent(check.if_absent, f"no reply says {what}", wanted)
    fits = [one for one in said if not one.misfit]
    wrong = [one for one in said if one.misfit]
    if fits and (check.quantifier == "any" or not wrong):
        return Finding(True, "; ".join(one.cited for one in fits[:_SHOWN_AT_MOST]), wanted, _quotes(fits))
    missed = context.only_missed(check.equals.tool) if check.equals else ()
    more = f", and {len(wrong) - 1} more do not fit" if len(wrong) > 1 else ""
    return Finding(False, f"{wrong[0].cited}, {wrong[0].misfit}{more}", wanted, _quotes(wrong), missed=missed)


def _quotes(said: Sequence[_Said]) -> tuple[Quote, ...]:
    return tuple(one.quote for one in said[:_SHOWN_AT_MOST])


def _as_said(reading: Reading, found: Quantity | TimeOfDay, misfit: str) -> _Said:
    mention = Mention(found.start, found.end)
    return _Said(reading.quote(mention), reading.cite(mention), misfit)


def _near(reading: Reading, found: Iterable[Place], near: Sequence[str]) -> list[Place]:
    """Return what is said of one of the phrases: what stands in one clause with it, else the nearest in the sentence.

    What is denied right before it ("not 18 min") is not said.
    """
    said = [one for one in found if not _DENIED.search(reading.flat, max(one.start - _LOOK_BACK, 0), one.start)]
    if not near:
        return said
    by_sentence = _grouped(said, reading.sentence_of)
    kept: set[int] = set()
    done: set[tuple[int, int]] = set()
    for mention in (mention for phrase in near for mention in reading.find(phrase)):
        here = by_sentence.get(reading.sentence_of(mention.start), [])
        clauses = _clauses_of(reading, here, mention) if here else (0, -1)
        if here and clauses not in done:
            done.add(clauses)
            kept.update(_within(reading, here, clauses))
    return [one for one in said if one.start in kept]


def _grouped(found: Iterable[Place], number: Callable[[int], int]) -> dict[int, list[Place]]:
    grouped: dict[int, list[Place]] = {}
    for one in found:
        grouped.setdefault(number(one.start), []).append(one)
    return grouped


def _clauses_of(reading: Reading, here: Sequence[Place], mention: Mention) -> tuple[int, int]:
    """Return the first and the last clause whose figures, of those of the sentence, belong to a mention in it."""
    first, last = reading.clause_of(mention.start), reading.clause_of(mention.end - 1)
    index = bisect_left(here, mention.start, key=lambda one: one.start)
    around = here[max(index - 1, 0) : index + 1]
    if any(first <= reading.clause_of(one.start) <= last for one in around):
        return first, last
    nearest = min(around, key=lambda one: (max(one.start - mention.end, mention.start - one.end), one.start))
    clause = reading.clause_of(nearest.start)
    return clause, clause


def _within(reading: Reading, here: Sequence[Place], clauses: tuple[int, int]) -> list[int]:
    """Return where the figures in the clauses begin."""
    low = bisect_left(here, clauses[0], key=lambda one: reading.clause_of(one.start))
    high = bisect_left(here, clauses[1] + 1, lo=low, key=lambda one: reading.clause_of(one.start))
    return [one.start for one in here[low:high]]


class _Known:
    """The values that the tools returned, up to a turn of the dialogue.

    Args:
        context: the dialogue.
        bound: where in which tool's results they stand; None: nothing is compared with results.
        read: reads the numbers of one such value.
    """

    def __init__(self, context: Context, bound: Bound | None, read: Callable[[Json], Iterable[float]]) -> None:
        self._context, self._bound, self._read = context, bound, read
        self._cache: dict[int, list[float]] = {}

    def upto(self, turn: int) -> list[float] | None:
        """Return the values known in ``turn``, ascending; None where nothing is compared."""
        if self._bound is None:
            return None
        if turn not in self._cache:
            results = self._context.results(self._bound.tool, turn)
            found = (value for result in results for value in values_at(result, self._bound.path))
            self._cache[turn] = sorted({number for value in found for number in self._read(value)})
        return self._cache[turn]

    def all(self) -> list[float] | None:
        """Return all values of the dialogue."""
        return self.upto(len(self._context.trajectory.turns))


def _measured(value: Json, check: Number) -> list[float]:
    """Return the numbers of a tool's value in the check's unit: a number, numeric text, or text with units in it."""
    unit = UNITS[check.unit]
    factor = UNITS[check.equals_unit or check.unit].scale / unit.scale
    if isinstance(value, list):
        return [number for item in value for number in _measured(item, check)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [value * factor] if math.isfinite(value) else []
    if not isinstance(value, str):
        return []
    if _NUMERIC.fullmatch(value.strip()):
        return [float(value.replace(",", "")) * factor]
    return [q.value / unit.scale for q in Reading.of(value).quantities if q.dimension == unit.dimension]


def _clock_times(value: Json) -> list[float]:
    return [float(time.minutes) for time in Reading.of(value).times] if isinstance(value, str) else []


def _number_misfit(check: Number, value: float, known: list[float] | None) -> str:
    """Return why a number in the check's unit does not fit, or nothing."""
    low = -math.inf if check.min is None else check.min
    high = math.inf if check.max is None else check.max
    if not low - _ROUNDING <= value <= high + _ROUNDING:
        return f"not {range_in_words(check.min, check.max, check.unit)}"
    if known is None or _is_near(value, known, check.tolerance):
        return ""
    return f"but {_returned(check.equals, [f'{one:g} {check.unit}' for one in known])}"


def _is_near(value: float, known: Sequence[float], tolerance: float) -> bool:
    """Return whether one of the ascending values lies within the relative tolerance; only the two neighbours can."""
    index = bisect_left(known, value)
    return any(abs(value - one) <= tolerance * abs(one) + _ROUNDING for one in known[max(index - 1, 0) : index + 1])


def _time_misfit(check: ClockTime, minutes: int, known: list[float] | None) -> str:
    after = minutes_of(check.after) if check.after else 0
    before = minutes_of(check.before) if check.before else DAY - 1
    inside = after <= minutes <= before if after <= before else minutes >= after or minutes <= before
    if not inside:
        return f"not {_window(check)}"
    if known is None or any(_apart(minutes, one) <= check.tolerance_min for one in known):
        return ""
    return f"but {_returned(check.equals, [clock_of(int(one)) for one in known])}"


def _apart(one: float, other: float) -> float:
    """Return the minutes between two clock times, the short way round."""
    return min((one - other) % DAY, (other - one) % DAY)


def _returned(bound: Bound | None, values: Sequence[str]) -> str:
    tool = bound.tool if bound else ""
    if not values:
        return f"{tool} returned no such value"
    more = f" and {len(values) - _SHOWN_AT_MOST} more" if len(values) > _SHOWN_AT_MOST else ""
    return f"{tool} returned {', '.join(values[:_SHOWN_AT_MOST])}{more}"


def _near_words(near: Sequence[str]) -> str:
    return f" in a sentence with {one_of(near)}" if near else ""


def _number_wanted(check: Number, noun: str, known: list[float] | None) -> str:
    parts = []
    if check.min is not None or check.max is not None:
        parts.append(range_in_words(check.min, check.max, check.unit))
    if check.equals is not None:
        values = [f"{one:g}" for one in (known or [])[:_SHOWN_AT_MOST]]
        source = (
            f"{' or '.join(values)} {check.unit}" if values else f"{check.equals.path} of a {check.equals.tool} result"
        )
        parts.append(f"within {check.tolerance * 100:g} % of {source}")
    return f"a {noun} {' and '.join(parts)}{_near_words(check.near)}"


def _time_wanted(check: ClockTime, known: list[float] | None) -> str:
    parts = [_window(check)] if check.after or check.before else []
    if check.equals is not None:
        values = [clock_of(int(one)) for one in (known or [])[:_SHOWN_AT_MOST]]
        source = " or ".join(values) if values else f"{check.equals.path} of a {check.equals.tool} result"
        parts.append(f"within {check.tolerance_min} min of {source}")
    return f"a clock time {' and '.join(parts)}{_near_words(check.near)}"


def _window(check: ClockTime) -> str:
    if check.after and check.before:
        return f"from {check.after} to {check.before}"
    return f"at or after {check.after}" if check.after else f"at or before {check.before}"
