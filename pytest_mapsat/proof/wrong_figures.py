"""Wrong figures: a value that is off, a clock that is off, a number or a telephone made up."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mapsat.model import Number

from .plain import PHONE, UNITS, clocks, figures, folded, has
from .play import Draft, Play
from .truth import checks_of

_FACTORS = (0.8, 1.2)
_SHIFTS = (-60, 60)
_DAY = 24 * 60
#: No table of numbers is needed: nobody's records end in this.
_NOBODY = "9768"
_MADE_UP = 97
_ENGLISH_UNITS = {"percent": "%", "celsius": "°C", "star": "stars", "count": ""}
_CHINESE_UNITS = {
    "m": "米", "km": "公里", "s": "秒", "min": "分钟", "h": "小时", "yuan": "元", "percent": "%", "celsius": "度", "star": "星", "count": "个",
}  # fmt: skip


def value_off(play: Play) -> Iterator[Draft]:
    """A distance, duration, price or other number a fifth lower or higher."""
    for figure in figures(play.text):
        for factor in _FACTORS:
            written = _off(figure.value, factor)
            old = play.text[figure.start : figure.end]
            new = old.replace(f"{figure.value:g}", written, 1) if f"{figure.value:g}" in old else ""
            if new and new != old:
                yield Draft(f"{old} became {new}", play.saying(play.replaced(figure.start, figure.end, new)))


def _off(value: float, factor: float) -> str:
    """Return the changed value, as a whole number where it was one and that moves it by about as much."""
    changed = value * factor
    whole = round(changed)
    close = value and abs(whole / value - factor) <= 0.1  # noqa: PLR2004  half of the change that is made
    return str(whole) if value == int(value) and close else f"{changed:.3g}"


def clock_shifted(play: Play) -> Iterator[Draft]:
    """A clock time an hour earlier or later."""
    for clock in clocks(play.text):
        for shift in _SHIFTS:
            minutes = (clock.minutes + shift) % _DAY
            new = f"{minutes // 60:02d}:{minutes % 60:02d}"
            old = play.text[clock.start : clock.end]
            yield Draft(f"{old} became {new}", play.saying(play.replaced(clock.start, clock.end, new)))


def invented_phone(play: Play) -> Iterator[Draft]:
    """A telephone number that nobody has."""
    found = list(PHONE.finditer(play.text))
    for match in found:
        new = f"{match.group()[:-4]}{_NOBODY}"
        yield Draft(f"{match.group()} became {new}", play.saying(play.replaced(match.start(), match.end(), new)))
    known = [
        match.group() for thing in play.things for value in thing.values("phone") for match in PHONE.finditer(value)
    ]
    if known and not found:
        new = f"{min(known)[:-4]}{_NOBODY}"
        text = play.and_then(f"Their telephone number is {new}.", f"电话是{new}。")
        yield Draft(f"the telephone number {new} was added", play.saying(text))


def number_made_up(play: Play) -> Iterator[Draft]:
    """A number for something of which the answer gives none."""
    for factor in play.case.truth.factors:
        for check in checks_of(factor):
            if isinstance(check, Number) and check.near and not _speaks_of(play, check):
                number = f"{_MADE_UP} {_ENGLISH_UNITS.get(check.unit, check.unit)}".rstrip()
                added = play.and_then(
                    f"For the {check.near[0]} count on {number}.",
                    f"{check.near[0]}{_MADE_UP}{_CHINESE_UNITS[check.unit]}。",
                )
                yield Draft(f"{number} was made up for {check.near[0]!r}", play.saying(added))


def _speaks_of(play: Play, check: Number) -> bool:
    dimension = UNITS[check.unit][0]
    text = folded(play.text)
    return any(has(text, near) for near in check.near) and any(one.dimension == dimension for one in figures(text))
