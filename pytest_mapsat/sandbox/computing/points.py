"""Points on the map, found by where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, cos, floor, radians

from pytest_mapsat.sandbox.canonical import Point
from pytest_mapsat.sandbox.geo import LEAST_M_PER_DEGREE, distance_m

#: Width of a cell, degrees of latitude: about two kilometres.
_CELL = 0.02


class PointIndex:
    """Some points by the cell of a grid that they lie in.

    Attributes:
        points: the points, degrees; None for what has none.
    """

    def __init__(self, points: Sequence[Point | None]) -> None:
        self.points = points
        self._cells: dict[tuple[int, int], list[int]] = {}
        for at, point in enumerate(points):
            if point is not None:
                self._cells.setdefault(_cell(point), []).append(at)

    def holds(self, at: int, centre: Point, metres: float) -> bool:
        """Return whether one of the points lies in a circle."""
        point = self.points[at]
        if point is None or abs(point[1] - centre[1]) * LEAST_M_PER_DEGREE > metres:
            return False
        return distance_m(*centre, *point) <= metres

    def within(self, centre: Point, metres: float) -> Iterator[tuple[float, int]]:
        """Give the points in a circle: metres from its centre, and place among the points."""
        for at in self._around(centre, metres):
            point = self.points[at]
            if point is not None:
                apart = distance_m(*centre, *point)
                if apart <= metres:
                    yield apart, at

    def nearest(self, centre: Point, metres: float, most: int = 1) -> list[tuple[float, int]]:
        """Return the nearest points within some metres, the nearest first; among equals the first of the points."""
        reach = min(metres, _CELL * LEAST_M_PER_DEGREE)
        while True:
            found = sorted(self.within(centre, reach))[:most]
            if len(found) == most or reach >= metres:
                return found
            reach = min(metres, 4 * reach)

    def _around(self, centre: Point, metres: float) -> Iterator[int]:
        high = metres / LEAST_M_PER_DEGREE
        wide = high / max(cos(radians(min(89.0, abs(centre[1]) + high))), 0.02)
        spans = ceil(2 * high / _CELL + 1) * ceil(2 * wide / _CELL + 1)
        if spans > len(self._cells):  # a wide circle: asking each cell is quicker
            for members in self._cells.values():
                yield from members
            return
        left, bottom = _cell((centre[0] - wide, centre[1] - high))
        right, top = _cell((centre[0] + wide, centre[1] + high))
        for column in range(left, right + 1):
            for line in range(bottom, top + 1):
                yield from self._cells.get((column, line), ())


def _cell(point: Point) -> tuple[int, int]:
    return floor(point[0] / _CELL), floor(point[1] / _CELL)
