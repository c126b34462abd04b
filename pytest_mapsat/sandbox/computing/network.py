"""A network of ways, and the quickest routes through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.model import Json, JsonObject, Local, RoutesAnswer
from pytest_mapsat.sandbox.canonical import Point, number, point
from pytest_mapsat.sandbox.tables import View

from .points import PointIndex
from .search import texts

if TYPE_CHECKING:
    from rustworkx import PyDiGraph

#: An end is joined to so many points of the network.
_JOINTS = 3
#: What makes routes of equal time differ: the shorter one is the quicker, minutes a metre.
_SHORTER = 1e-7
_BARRED = 1e9
#: No alternative takes more than so many times as long as the quickest route.
_SLOWEST = 3


class Way(NamedTuple):
    """One way in one direction: its ends by their place among the network's points, and its row."""

    origin: int
    destination: int
    minutes: float
    metres: float
    row: JsonObject


class Route(NamedTuple):
    """The ways of a route in their order, and what lies before, between and behind them on local ways."""

    ways: tuple[Way, ...]
    metres: float
    minutes: float


class Network:
    """The ways of one mode.

    Args:
        rows: the rows of the ways that may be used.
        answer: which columns hold what.
    """

    def __init__(self, rows: Iterable[JsonObject], answer: RoutesAnswer) -> None:
        self._name = answer.name
        self._points: list[Point] = []
        self._places: dict[Point, int] = {}
        self.ways = tuple(way for row in rows for way in self._directed(row, answer))
        self._index = PointIndex(self._points)

    def _directed(self, row: JsonObject, answer: RoutesAnswer) -> Iterator[Way]:
        ends = point(row.get("from")), point(row.get("to"))
        metres, minutes = number(row.get(answer.metres)), number(row.get(answer.minutes))
        if ends[0] is None or ends[1] is None or metres is None or minutes is None:
            return
        origin, destination = (self._place(end) for end in ends if end is not None)
        yield Way(origin, destination, minutes, metres, row)
        if row.get("both", True):
            yield Way(destination, origin, minutes, metres, row)

    def _place(self, spot: Point) -> int:
        if spot not in self._places:
            self._places[spot] = len(self._points)
            self._points.append(spot)
        return self._places[spot]

    def joints(self, spot: Point, snap_m: float, reach_m: float) -> list[tuple[float, int]]:
        """Return where a trip from a spot may enter the network: metres away, and the point; 0 metres for one that is as good as there."""
        here = self._index.nearest(spot, snap_m)
        return [(0.0, here[0][1])] if here else self._index.nearest(spot, reach_m, _JOINTS)

    def direct(self, origins: Sequence[tuple[float, int]], destinations: Sequence[tuple[float, int]]) -> bool:
        """Return whether both ends lie on the network and one way joins them; arguments as of ``routes``."""
        ends = [
            (origin, destination) for off, origin in origins for far, destination in destinations if off == far == 0
        ]
        return any(pair in self._between for pair in ends)

    def routes(
        self, origins: Sequence[tuple[float, int]], destinations: Sequence[tuple[float, int]], local: Local, most: int
    ) -> list[Route]:
        """Return the quickest route, then the quickest without the slowest named way of those before, and so on.

        Args:
            origins: where it may begin, with the metres of a local way there.
            destinations: likewise where it may end.
            local: what a local way takes.
            most: the most routes.
        """
        found: list[Route] = []
        barred: set[str] = set()
        while len(found) < most:
            route = self._quickest(origins, destinations, local, frozenset(barred))
            if route is None:
                break
            if found and route.minutes > _SLOWEST * found[0].minutes:
                break
            found.append(route)
            named = [way for way in route.ways if way.row.get(self._name)]
            if not named:
                break
            barred.add(str(max(named, key=lambda way: way.minutes).row[self._name]))
        return found

    def _quickest(
        self,
        origins: Sequence[tuple[float, int]],
        destinations: Sequence[tuple[float, int]],
        local: Local,
        barred: frozenset[str],
    ) -> Route | None:
        costs = [_BARRED if str(way.row.get(self._name)) in barred else _cost(way) for way in self.ways]
        found: list[tuple[float, Route]] = []
        for before, origin in origins:
            for behind, destination in destinations:
                ways = self._path(origin, destination, costs)
                if ways is not None:
                    off = local.detour * (before + behind)
                    metres = sum(way.metres for way in ways) + off
                    minutes = sum(way.minutes for way in ways) + off / local.m_per_min
                    found.append((minutes + metres * _SHORTER, Route(tuple(ways), metres, minutes)))
        return min(found, key=lambda one: one[0])[1] if found else None

    def _path(self, origin: int, destination: int, costs: Sequence[float]) -> list[Way] | None:
        """Return the quickest ways from point to point, None where none may be used."""
        if origin == destination:
            return []
        from rustworkx import dijkstra_shortest_paths  # noqa: PLC0415 - heavy; only loaded where a route is asked for

        paths = dijkstra_shortest_paths(self._graph, origin, target=destination, weight_fn=costs.__getitem__)
        if destination not in paths:
            return None
        points = list(paths[destination])
        used = [min(self._between[ends], key=costs.__getitem__) for ends in pairwise(points)]
        return None if any(costs[at] >= _BARRED for at in used) else [self.ways[at] for at in used]

    @cached_property
    def _between(self) -> Mapping[tuple[int, int], list[int]]:
        """The ways from point to point, by their place."""
        found: dict[tuple[int, int], list[int]] = {}
        for at, way in enumerate(self.ways):
            found.setdefault((way.origin, way.destination), []).append(at)
        return found

    @cached_property
    def _graph(self) -> PyDiGraph[Point, int]:
        from rustworkx import PyDiGraph  # noqa: PLC0415 - heavy; only loaded where a route is asked for

        graph: PyDiGraph[Point, int] = PyDiGraph()
        graph.add_nodes_from(self._points)
        graph.add_edges_from([(way.origin, way.destination, at) for at, way in enumerate(self.ways)])
        return graph


def _cost(way: Way) -> float:
    return way.minutes + way.metres * _SHORTER


def networks_of(view: View, answer: RoutesAnswer, minute: int | None) -> Callable[[str, frozenset[str]], Network]:
    """Return what gives the network of a mode without the ways that have anything in some columns; each is made once.

    Args:
        view: the table of ways as the case sees it.
        answer: which columns hold what.
        minute: the case's own time of day, minutes after midnight.
    """
    rows = [row for row in view.rows() if not (answer.heed and closed(row.get("closed"), minute))]

    @cache
    def network(mode: str, avoided: frozenset[str]) -> Network:
        usable = (row for row in rows if mode in texts(row.get("mode")))
        return Network((row for row in usable if not any(row.get(column) for column in avoided)), answer)

    return network


def closed(span: Json, minute: int | None) -> bool:
    """Return whether a way is closed at a time of day.

    Args:
        span: the times from which and until which it is closed, "HH:MM"; None: it never is.
        minute: minutes after midnight; None: at no time.
    """
    if minute is None or not isinstance(span, (list, tuple)) or len(span) != 2:  # noqa: PLR2004 - a pair
        return False
    start, end = (60 * int(clock[:2]) + int(clock[3:5]) for clock in span)
    return start <= minute < end if start <= end else minute >= start or minute < end


def local_route(local: Local, apart: float) -> tuple[int, int]:
    """Return metres and minutes of a local way between two points.

    Args:
        local: what a local way takes.
        apart: metres as the crow flies.
    """
    metres = max(round(local.detour * apart / local.round_m) * local.round_m, ceil(apart))
    return metres, ceil(local.plus_min + metres / local.m_per_min) if metres else 0
