"""A drawing of an episode: the places that tools returned, the ways that were asked for, and how far was searched.

The calls alone are read, not the suite: whatever looks like a longitude and a latitude is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_mapsat.model import Step, Trajectory

WIDTH, HEIGHT, _MARGIN = 640.0, 400.0, 30.0
#: The strip at the foot that the scale has for itself.
_FOOT = 24.0
_PLACES, _WAYS, _CIRCLES, _POINTS, _DEPTH = 24, 12, 6, 200, 12
_PAIR = re.compile(r"\s*(-?\d{1,3}\.\d{1,12})\s*,\s*(-?\d{1,2}\.\d{1,12})\s*", re.ASCII)
_LONGITUDES, _LATITUDES = ("lon", "lng", "longitude"), ("lat", "latitude")
_FROM, _OVER, _TO = ("origin", "start", "from"), ("waypoints", "via"), ("destination", "end", "to")
_LINES = ("polyline", "path", "geometry", "line")
#: What is named so is a name; the first that is there counts.
_NAMES = ("name", "title", "label", "id")
_NAME_CHARS = 80
_METRE_PER_DEGREE = 111_320.0
#: A drawing shows at least so many metres; a search that reaches much further than the places does not stretch it.
_LEAST_SPAN_M = 300.0
_FAR = 2.5
#: Points this near are one place: about a metre.
_DIGITS = 5

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Marker:
    """A place on the drawing; ``said``: a reply names it."""

    number: int
    name: str
    x: float
    y: float
    said: bool


@dataclass(frozen=True, slots=True)
class Circle:
    """How far was searched from where; ``metres`` is the radius."""

    x: float
    y: float
    r: float
    metres: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn, in the coordinates of a canvas of ``WIDTH`` by ``HEIGHT``.

    ``ways``: the points of each way as SVG has them. ``scale_x``, ``scale_text``: the length of the scale's bar, and what it stands for. ``more``: places that are left out.
    """

    markers: tuple[Marker, ...]
    ways: tuple[str, ...]
    circles: tuple[Circle, ...]
    scale_x: float
    scale_text: str
    more: int = 0


@dataclass
class _Found:
    """What the calls of an episode hold, in degrees."""

    places: dict[Point, str] = field(default_factory=dict)
    ways: list[list[Point]] = field(default_factory=list)
    circles: list[tuple[Point, float]] = field(default_factory=list)

    def add(self, point: Point, name: str) -> None:
        """Keep a place; the name that a result gives beats that of an argument."""
        key = (round(point[0], _DIGITS), round(point[1], _DIGITS))
        self.places[key] = self.places.get(key) or name


def drawing_of(trajectory: Trajectory) -> Drawing | None:
    """Return the drawing of an episode; None where its calls hold no two points, or a point and a radius."""
    found = _Found()
    for call in trajectory.calls:
        _read_result(call.result, found, _DEPTH)
    for call in trajectory.calls:
        _read_arguments(call, found)
    if len(found.places) + bool(found.circles) < 2:  # noqa: PLR2004
        return None
    text = "\n".join(turn.text for turn in trajectory.replies).casefold()
    said = {point for point, name in found.places.items() if name and name.casefold() in text}
    # What a reply names comes first, so that it is never what is left out.
    points = sorted(found.places, key=lambda point: point not in said)
    return _drawn(found, points[:_PLACES], said, more=max(0, len(points) - _PLACES))


def _read_result(value: Any, found: _Found, depth: int) -> None:
    if depth == 0 or len(found.places) > 10 * _PLACES:
        return
    if isinstance(value, list):
        for part in value:
            _read_result(part, found, depth - 1)
    elif isinstance(value, dict):
        name = next((value[key][:_NAME_CHARS] for key in _NAMES if isinstance(value.get(key), str)), "")
        if (point := _point_in(value)) is not None:
            found.add(point, name)
        for key, part in value.items():
            line = _line(part) if key in _LINES else []
            if len(line) > 1 and len(found.ways) < _WAYS:
                found.ways.append(line[:_POINTS])
            elif (point := _point(part)) is not None:
                found.add(point, name or str(key)[:_NAME_CHARS])
            else:
                _read_result(part, found, depth - 1)


def _read_arguments(call: Step, found: _Found) -> None:
    points = {key: point for key, value in call.arguments.items() if (point := _point(value)) is not None}
    for key, point in points.items():
        found.add(point, str(key)[:_NAME_CHARS])
    radius = next((_metres(key, value) for key, value in call.arguments.items() if key.startswith("radius")), None)
    if radius and points and len(found.circles) < _CIRCLES:
        circle = (next(iter(points.values())), radius)
        found.circles += [circle] if circle not in found.circles else []
    start, end = (_first(points, names) for names in (_FROM, _TO))
    if start and end and len(found.ways) < _WAYS:
        between = [point for key in _OVER for point in _line(call.arguments.get(key))]
        way = [start, *between[:_POINTS], end]
        found.ways += [way] if way not in found.ways else []


def _first(points: dict[str, Point], names: Sequence[str]) -> Point | None:
    return next((point for key, point in points.items() if key.startswith(tuple(names))), None)


def _metres(key: str, value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e7:  # noqa: PLR2004
        return None
    return value * (1000.0 if "km" in key else 1.0)


def _point(value: Any) -> Point | None:
    """Return the point that a value is: ``"lon,lat"``, or an object with both."""
    if isinstance(value, dict):
        return _point_in(value)
    match = _PAIR.fullmatch(value) if isinstance(value, str) and len(value) < 60 else None  # noqa: PLR2004
    return _valid(float(match[1]), float(match[2])) if match else None


def _point_in(value: dict[str, Any]) -> Point | None:
    ends = [next((value[key] for key in keys if key in value), None) for keys in (_LONGITUDES, _LATITUDES)]
    if any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):
        return None
    return _valid(float(ends[0]), float(ends[1]))  # type: ignore[arg-type]  # both are numbers


def _valid(lon: float, lat: float) -> Point | None:
    return (lon, lat) if abs(lon) <= 180 and abs(lat) <= 85 else None  # noqa: PLR2004


def _line(value: Any) -> list[Point]:
    """Return the points of a line: ``"lon,lat;lon,lat"``, or a list of pairs or of points; empty where it is none."""
    parts: list[Any] = value[:20_000].split(";") if isinstance(value, str) else value if isinstance(value, list) else []
    return [point for part in parts[:_POINTS] if (point := _pair(part)) is not None]


def _pair(part: Any) -> Point | None:
    if isinstance(part, list) and len(part) == 2 and all(isinstance(one, float) for one in part):  # noqa: PLR2004
        return _valid(*part)
    return _point(part)


# -- on the canvas -----------------------------------------------------------------------------


def _drawn(found: _Found, points: Sequence[Point], said: set[Point], *, more: int) -> Drawing:
    shown = [*points, *(point for way in found.ways for point in way)]
    lon0 = math.fsum(lon for lon, _ in shown) / len(shown)
    lat0 = math.fsum(lat for _, lat in shown) / len(shown)
    shrink = math.cos(math.radians(lat0))

    def metres(point: Point) -> Point:
        return (point[0] - lon0) * shrink * _METRE_PER_DEGREE, (lat0 - point[1]) * _METRE_PER_DEGREE

    ends = list(map(metres, shown))
    span = max(_span([x for x, _ in ends]), _span([y for _, y in ends]), _LEAST_SPAN_M)
    for centre, radius in found.circles:
        if radius <= _FAR * span:
            x, y = metres(centre)
            ends += [(x - radius, y - radius), (x + radius, y + radius)]
    (left, right), (top, bottom) = _ends([x for x, _ in ends]), _ends([y for _, y in ends])
    scale = min((WIDTH - 2 * _MARGIN) / (right - left), (HEIGHT - _FOOT - 2 * _MARGIN) / (bottom - top))

    def place(point: Point) -> Point:
        x, y = metres(point)
        x, y = (x - (left + right) / 2) * scale + WIDTH / 2, (y - (top + bottom) / 2) * scale + (HEIGHT - _FOOT) / 2
        return round(x, 1), round(y, 1)

    length = _round_length(WIDTH / 4 / scale)
    return Drawing(
        markers=tuple(
            Marker(number, found.places[point], *place(point), said=point in said)
            for number, point in enumerate(points, 1)
        ),
        ways=tuple(" ".join(f"{x},{y}" for x, y in map(place, way)) for way in found.ways),
        circles=tuple(
            Circle(*place(centre), r=round(radius * scale, 1), metres=radius)
            for centre, radius in found.circles
            if radius <= _FAR * span
        ),
        scale_x=round(length * scale, 1),
        scale_text=length_text(length),
        more=more,
    )


def _span(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _ends(values: Sequence[float]) -> Point:
    """Return the least and the most, at least the smallest span apart."""
    middle, half = (max(values) + min(values)) / 2, max(_span(values), _LEAST_SPAN_M) / 2
    return middle - half, middle + half


def _round_length(metres: float) -> float:
    """Return the longest of 1, 2, 5, 10, ... metres that is not longer."""
    power = 10.0 ** math.floor(math.log10(metres))
    return float(max(step * power for step in (1, 2, 5) if step * power <= metres * (1 + 1e-9)))


def length_text(metres: float) -> str:
    """Return a length as people say it."""
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"  # noqa: PLR2004


def places_named(drawing: Drawing) -> Iterator[str]:
    """Yield the names that a reply says, for those who do not see the drawing."""
    yield from (marker.name for marker in drawing.markers if marker.said)
