"""Plots as SVG, drawn by hand: lines on logarithmic axes, and stacks of calls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 640, 360, 64, 40, 150, 44
_TONES = ("#1b4f8a", "#d98324", "#3f8f67", "#7b5aa6", "#6b7077", "#b23a48")
_FLAMES = ("#f6b26b", "#f9cb9c", "#f4a261", "#ffd28a", "#e9a178", "#f7c59f")
#: Parts of frames that only pass a call on.
_PASSING = ("<frozen importlib", "pluggy/", "<frozen runpy")
_ROW, _NARROWEST = 16, 0.012


def lines(title: str, across: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return curves of seconds over sizes, both axes logarithmic."""
    every = [point for points in series.values() for point in points]
    low, high = ([math.log10(end(point[axis] for point in every)) for axis in (0, 1)] for end in (min, max))

    def at(point: tuple[float, float]) -> tuple[float, float]:
        x, y = ((math.log10(point[axis]) - low[axis]) / ((high[axis] - low[axis]) or 1) for axis in (0, 1))
        return round(_LEFT + x * (_WIDTH - _LEFT - _RIGHT), 1), round(
            _HEIGHT - _BOTTOM - y * (_HEIGHT - _TOP - _BOTTOM), 1
        )

    parts = [f'<text x="{_LEFT}" y="22" font-weight="600">{escape(title)}</text>']
    for size in sorted({point[0] for point in every}):
        x, _ = at((size, 10 ** low[1]))
        parts.append(f'<line x1="{x}" x2="{x}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" stroke="#e4e2dd"/>')
        parts.append(f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{size:,g}</text>')
    for power in range(math.floor(low[1]), math.ceil(high[1]) + 1):
        for step in (1, 2, 5):
            seconds = step * 10.0**power
            if low[1] <= math.log10(seconds) <= high[1]:
                _, y = at((10 ** low[0], seconds))
                parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" stroke="#e4e2dd"/>')
                parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{seconds:g} s</text>')
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>'
    )
    for number, (name, points) in enumerate(series.items()):
        tone = _TONES[number % len(_TONES)]
        placed = [at(point) for point in sorted(points)]
        path = " ".join(f"{x},{y}" for x, y in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{tone}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{tone}"/>' for x, y in placed]
        parts.append(
            f'<text x="{_WIDTH - _RIGHT + 10}" y="{_TOP + 14 + 18 * number}" fill="{tone}">{escape(name)}</text>'
        )
    return _svg(_WIDTH, _HEIGHT, parts)


def flames(title: str, stacks: Iterable[str]) -> str:
    """Return an icicle of stacks, each ``outer;inner;... COUNT`` as py-spy writes them (``-f raw``); slivers are left out."""
    counted: Counter[tuple[str, ...]] = Counter()
    for line in stacks:
        calls, _, count = line.rstrip().rpartition(" ")
        told = (part for part in calls.split(";") if not any(one in part for one in _PASSING))
        names = tuple(part.partition(" (")[0] for part in told)
        for depth in range(1, len(names) + 1):
            counted[names[:depth]] += int(count)
    total = sum(count for names, count in counted.items() if len(names) == 1)
    boxes = list(_boxes(counted, (), 0.0, total)) if total else []
    deepest = max((depth for _, depth, _, _ in boxes), default=0)
    parts = [f'<text x="4" y="16" font-weight="600">{escape(title)}</text>']
    for name, depth, start, share in boxes:
        x, width, y = round(start * 1000, 1), round(share * 1000, 1), 24 + depth * _ROW
        tone = _FLAMES[sum(map(ord, name)) % len(_FLAMES)]
        told = escape(f"{name} {share:.1%}")
        shown = escape(name[: int(width / 6)]) if width > 30 else ""
        parts.append(
            f'<g><title>{told}</title><rect x="{x}" y="{y}" width="{width}" height="{_ROW - 1}" fill="{tone}"/>'
            f'<text x="{x + 2}" y="{y + 11}" font-size="10">{shown}</text></g>'
        )
    return _svg(1000, 28 + (deepest + 1) * _ROW, parts)


def _boxes(
    counted: Mapping[tuple[str, ...], int], outer: tuple[str, ...], start: float, total: int
) -> Iterator[tuple[str, int, float, float]]:
    inner = sorted(names for names in counted if len(names) == len(outer) + 1 and names[: len(outer)] == outer)
    for names in inner:
        share = counted[names] / total
        if share >= _NARROWEST:
            yield names[-1], len(outer), start, share
            below = {deeper: count for deeper, count in counted.items() if deeper[: len(names)] == names}
            yield from _boxes(below, names, start, total)
        start += share


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([f'{head} font-family="system-ui, sans-serif" font-size="12">', ground, *parts, "</svg>"]) + "\n"
