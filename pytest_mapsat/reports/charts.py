"""Bar charts as SVG, drawn by hand: groups with a bar for each series, what is undecided in a lighter tone, intervals as lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from .text import cell_width, cut, printable

_WIDTH, _BAR, _GAP, _TOP, _BOTTOM = 760, 13, 12, 62, 34
_LABEL_CELLS, _CELL = 34, 6.6
#: Tones that differ in lightness too, for those who see no colours, and the same lighter.
_TONES = (
    ("#1b4f8a", "#a9c1dc"),
    ("#d98324", "#f2d3ae"),
    ("#3f8f67", "#b5d8c5"),
    ("#7b5aa6", "#d2c5e2"),
    ("#6b7077", "#cfd1d4"),
)
_Scale = Callable[[float], float]
_INK, _QUIET, _RULE = "#1d1f23", "#5c6068", "#dcdad5"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it stands for, the least and the most that its value comes to, and the interval of the value."""

    group: str
    series: str
    least: float
    most: float
    low: float | None = None
    high: float | None = None


def bar_chart(title: str, note: str, bars: Sequence[Bar]) -> str:
    """Return a chart as SVG with a white ground, for papers and pages.

    Args:
        title: what is shown.
        note: how it is to be read, a line.
        bars: the bars; groups and series stand in the order in which they first come.
    """
    groups, series = (
        list(dict.fromkeys(names)) for names in ([one.group for one in bars], [one.series for one in bars])
    )
    ends = [end for one in bars for end in (one.least, one.most, one.low, one.high) if end is not None]
    low, high = _axis(min(ends, default=0), max(ends, default=1))
    left = 18 + _CELL * min(max(map(cell_width, groups), default=0), _LABEL_CELLS)
    height = _TOP + len(groups) * (len(series) * _BAR + _GAP) + _BOTTOM

    def x(value: float) -> float:
        return round(left + (value - low) / (high - low) * (_WIDTH - left - 84), 1)

    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" aria-label="{_attribute(title)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="12" y="20" font-size="14" font-weight="600">{_text(title, 100)}</text>',
        *_legend(series),
        *_rules(low, high, x, height),
    ]
    for place, group in enumerate(groups):
        top = _TOP + place * (len(series) * _BAR + _GAP)
        middle = top + len(series) * _BAR / 2 + 4
        lines.append(f'<text x="{left - 8:.1f}" y="{middle:.1f}" text-anchor="end">{_text(group, _LABEL_CELLS)}</text>')
        for one in (one for one in bars if one.group == group):
            lines += _bar(one, x, top + series.index(one.series) * _BAR, _TONES[series.index(one.series) % len(_TONES)])
    lines += [f'<text x="12" y="{height - 8}" font-size="11" fill="{_QUIET}">{_text(note, 130)}</text>', "</svg>"]
    return "\n".join(lines) + "\n"


def _axis(low: float, high: float) -> tuple[float, float]:
    """Return where the axis begins and ends: 0 is on it, and a share ends at 1."""
    low, high = min(low, 0.0), max(high, 0.0)
    if high <= 1 and low >= 0:
        return 0.0, 1.0
    step = _step(high - low)
    return math.floor(low / step) * step, math.ceil(high / step) * step or step


def _step(span: float) -> float:
    power: float = 10 ** math.floor(math.log10(span or 1))
    return next((power * part for part in (0.1, 0.2, 0.5, 1, 2) if span / (power * part) <= 6), power)  # noqa: PLR2004


def _rules(low: float, high: float, x: _Scale, height: float) -> Iterator[str]:
    step = 0.2 if (low, high) == (0, 1) else _step(high - low)
    for number in range(round(low / step), round(high / step) + 1):
        value = number * step
        tone = _QUIET if number == 0 else _RULE
        yield f'<path d="M{x(value)} {_TOP - 6}V{height - _BOTTOM}" stroke="{tone}"/>'
        yield f'<text x="{x(value)}" y="{_TOP - 10}" text-anchor="middle" font-size="11" fill="{_QUIET}">{value:.6g}</text>'


def _legend(series: Sequence[str]) -> Iterator[str]:
    x = 12.0
    for place, name in enumerate(series):
        shown = cut(printable(name), 40)
        yield f'<rect x="{x:.1f}" y="29" width="10" height="10" fill="{_TONES[place % len(_TONES)][0]}"/>'
        yield f'<text x="{x + 15:.1f}" y="38">{escape(shown, quote=False)}</text>'
        x += 32 + _CELL * cell_width(shown)


def _bar(one: Bar, x: _Scale, top: float, tones: tuple[str, str]) -> Iterator[str]:
    dark, pale = tones
    near, far = sorted((one.least, one.most), key=abs)  # the part up to the near end is certain, unless 0 lies between
    parts = [(pale, one.least, one.most)] if one.least < 0 < one.most else [(dark, 0.0, near), (pale, near, far)]
    for tone, start, end in parts:
        left, right = sorted((x(start), x(end)))
        if right > left:
            yield f'<rect x="{left}" y="{top}" width="{right - left:.1f}" height="{_BAR - 3}" fill="{tone}"/>'
    if one.low is not None and one.high is not None:
        middle = top + (_BAR - 3) / 2
        yield f'<path d="M{x(one.low)} {middle}H{x(one.high)}" stroke="{_INK}" stroke-width="1.2"/>'
    text = f"{one.least:.2f}" if f"{one.least:.2f}" == f"{one.most:.2f}" else f"{one.least:.2f} to {one.most:.2f}"
    right = max(x(end) for end in (one.least, one.most, one.high or 0.0, 0.0))
    yield f'<text x="{right + 5:.1f}" y="{top + 9}" font-size="10" fill="{_QUIET}">{text}</text>'


def _text(text: str, width: int) -> str:
    return escape(cut(printable(text), width), quote=False)


def _attribute(text: str) -> str:
    return escape(printable(text))
