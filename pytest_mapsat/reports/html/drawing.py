"""A drawing of an episode: the places that tools returned, and the ways that were asked for.

The calls alone are read, not the suite: whatever looks like a longitude and a latitude is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_mapsat.model import Step, Trajectory

WIDTH, HEIGHT, _MARGIN = 640.0, 400.0, 30.0
#: The strip at the foot that the scale has for itself.
_FOOT = 24.0
_PLACES, _WAYS, _POINTS, _DEPTH = 24, 12, 200, 12
_PAIR = re.compile(r"\s*(-?\d{1,3}\.\d{1,12})\s*,\s*(-?\d{1,2}\.\d{1,12})\s*", re.ASCII)
_LONGITUDES, _LATITUDES = ("lon", "lng", "longitude"), ("lat", "latitude")
_FROM, _OVER, _TO = ("origin", "start", "from"), ("waypoints", "via"), ("destination", "end", "to")
_LINES = ("polyline", "path", "geometry", "line")
#: What is named so is a name; the first that is there counts.
_NAMES = ("name", "title", "label", "id")
_NAME_CHARS = 80
_METRE_PER_DEGREE = 111_320.0
#: A drawing shows at least so many metres.
_LEAST_SPAN_M = 300.0
#: Points this near are one place: about a metre.
_DIGITS = 5

Point = tuple[float, float]


class Marker(NamedTuple):
    """A place on the drawing; ``said``: a reply names it."""

    number: int
    name: str
    x: float
    y: float
    said: bool


class Drawing(NamedTuple):
    """What is drawn, in the coordinates of a canvas of ``WIDTH`` by ``HEIGHT``.

    ``ways``: the points of each way as SVG has them. ``scale_x``, ``scale_text``: the length of the scale's bar, and what it stands for. ``more``: places that are left out.
    """

    markers: tuple[Marker, ...]
    ways: tuple[str, ...]
    scale_x: float
    scale_text: str
    more: int = 0


@dataclass
class _Found:
    """What the calls of an episode hold, in degrees."""

    places: dict[Point, str] = field(default_factory=dict)
    ways: list[list[Point]] = field(default_factory=list)

    def add(self, point: Point, name: str) -> None:
        """Keep a place; the name that a result gives beats that of an argument."""
        key = (round(point[0], _DIGITS), round(point[1], _DIGITS))
        self.places[key] = self.places.get(key) or name[:_NAME_CHARS]

    def read_result(self, value: Any, depth: int = _DEPTH) -> None:
        """Keep the places and ways of a result."""
        if depth == 0 or len(self.places) > 10 * _PLACES:
            return
        if isinstance(value, list):
            for part in value:
                self.read_result(part, depth - 1)
        elif isinstance(value, dict):
            name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
            if (point := _point(value)) is not None:
                self.add(point, name)
            for key, part in value.items():
                line = _line(part) if key in _LINES else []
                if len(line) > 1 and len(self.ways) < _WAYS:
                    self.ways.append(line)
                elif (point := _point(part)) is not None:
                    self.add(point, name or str(key))
                else:
                    self.read_result(part, depth - 1)

    def read_arguments(self, call: Step) -> None:
        """Keep the places that a call was about, and the way that it asked for."""
        points = {key: point for key, value in call.arguments.items() if (point := _point(value)) is not None}
        for key, point in points.items():
            self.add(point, str(key))
        ends = [next((points[key] for key in points if key.startswith(names)), None) for names in (_FROM, _TO)]
        if None not in ends and len(self.ways) < _WAYS:
            between = [point for key in _OVER for point in _line(call.arguments.get(key))]
            way = [point for point in (ends[0], *between[:_POINTS], ends[1]) if point is not None]
            self.ways += [way] if way not in self.ways else []


def drawing_of(trajectory: Trajectory) -> Drawing | None:
    """Return the drawing of an episode; None where its calls hold no two points."""
    places = _Found()
    for call in trajectory.calls:
        places.read_result(call.result)
    for call in trajectory.calls:
        places.read_arguments(call)
    if len(places.places) < 2:  # noqa: PLR2004
        return None
    text = "\n".join(turn.text for turn in trajectory.replies).casefold()
    named_points = {point for point, name in places.places.items() if name and name.casefold() in text}
    # What a reply names comes first, so that it is never what is left out.
    points = sorted(places.places, key=lambda point: point not in named_points)
    return _drawn(places, points[:_PLACES], named_points, more=max(0, len(points) - _PLACES))


def _point(value: Any) -> Point | None:
    """Return the point that a value is: ``"lon,lat"``, or an object with both."""
    if isinstance(value, dict):
        ends = [next((value[key] for key in keys if key in value), None) for keys in (_LONGITUDES, _LATITUDES)]
    else:
        match = _PAIR.fullmatch(value) if isinstance(value, str) and len(value) < 60 else None  # noqa: PLR2004
        ends = [float(end) for end in match.groups()] if match else []
    return _valid(ends)


def _valid(ends: Sequence[Any]) -> Point | None:
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):  # noqa: PLR2004
        return None
    lon, lat = ends
    return (float(lon), float(lat)) if abs(lon) <= 180 and abs(lat) <= 85 else None  # noqa: PLR2004


def _line(value: Any) -> list[Point]:
    """Return the points of a line: ``"lon,lat;lon,lat"``, or a list of pairs or of points; empty where it is none."""
    parts: list[Any] = value[:20_000].split(";") if isinstance(value, str) else value if isinstance(value, list) else []
    points = (_valid(part) if isinstance(part, list) else _point(part) for part in parts[:_POINTS])
    return [point for point in points if point is not None]


# -- on the canvas -----------------------------------------------------------------------------


def _drawn(places: _Found, points: Sequence[Point], named_points: set[Point], *, more: int) -> Drawing:
    shown = [*points, *(point for way in places.ways for point in way)]
    middle = math.radians(math.fsum(lat for _, lat in shown) / len(shown))

    def metres(point: Point) -> Point:
        return point[0] * math.cos(middle) * _METRE_PER_DEGREE, -point[1] * _METRE_PER_DEGREE

    xs, ys = zip(*map(metres, shown), strict=True)
    spans = [max(max(ends) - min(ends), _LEAST_SPAN_M) for ends in (xs, ys)]
    scale = min((WIDTH - 2 * _MARGIN) / spans[0], (HEIGHT - _FOOT - 2 * _MARGIN) / spans[1])

    def place(point: Point) -> Point:
        x, y = metres(point)
        x, y = x - (max(xs) + min(xs)) / 2, y - (max(ys) + min(ys)) / 2
        return round(x * scale + WIDTH / 2, 1), round(y * scale + (HEIGHT - _FOOT) / 2, 1)

    longest = WIDTH / 4 / scale
    power = 10.0 ** math.floor(math.log10(longest))
    length = max(step * power for step in (1, 2, 5) if step * power <= longest * (1 + 1e-9))
    markers = (
        Marker(number, places.places[point], *place(point), said=point in named_points)
        for number, point in enumerate(points, 1)
    )
    return Drawing(
        markers=tuple(markers),
        ways=tuple(" ".join(f"{x},{y}" for x, y in map(place, way)) for way in places.ways),
        scale_x=round(length * scale, 1),
        scale_text=f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m",  # noqa: PLR2004
        more=more,
    )
