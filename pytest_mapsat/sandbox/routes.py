"""Answers that are routes through a network of ways, or a round through several places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise, permutations
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.model import (
    Context,
    Json,
    JsonObject,
    Local,
    Overlay,
    RoundAnswer,
    RoutesAnswer,
    RowsAnswer,
    Tool,
    did_you_mean,
    shown,
)

from .canonical import SAME_POINT_M, Point, boolean, distance_m, members, number, point
from .resolver import fresh
from .rows import Ground, Place, PointIndex, RowsCall, place_of
from .search import texts
from .spec import Call, Spec, UnanswerableError
from .state import Table, View

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


class Router:
    """The routes that one tool knows in one case.

    Args:
        ground: the tables of the case.
        answer: how the tool is answered.
    """

    def __init__(self, ground: Ground, answer: RoutesAnswer) -> None:
        self._ground = ground
        self._answer = answer

    @cached_property
    def _networks(self) -> Callable[[str, frozenset[str]], Network]:
        return networks_of(self._ground.view(self._answer.ways), self._answer, self._ground.minute)

    def answer(self, spec: Spec, call: Call) -> JsonObject:
        """Return the result of a call. Raises UnanswerableError."""
        answer = self._answer
        mode = self.mode(spec.value(call, answer.mode))
        ends = [self.end(spec.given(call, name), name) for name in (answer.origin, answer.destination)]
        avoided = frozenset(column for name, column in answer.avoid.items() if boolean(spec.given(call, name)) is True)
        routes = self.between(ends[0], ends[1], mode, avoided)
        echoed = {key: mode if name == answer.mode else spec.given(call, name) for key, name in answer.echo.items()}
        return {**echoed, answer.items: routes}

    def mode(self, value: Json) -> str:
        """Return the mode that a canonical value means."""
        modes = self._answer.local
        if value not in modes:
            hint = did_you_mean(str(value), modes) or f"it is one of {', '.join(modes)}"
            raise UnanswerableError(f"{self._answer.mode} is {shown(value)} ({hint})")
        return str(value)

    def end(self, value: Json, name: str) -> Point:
        """Return the point that a value means: one in any form, or that of a place by its id or name."""
        spot = point(value)
        if spot is not None:
            return spot
        if self._answer.ends is None:
            raise UnanswerableError(f'{name} is {shown(value)}, expected a point: "lon,lat"')
        return place_of(self._ground, value, self._answer.ends, name)[1]

    def between(
        self, origin: Point, destination: Point, mode: str, avoided: frozenset[str] = frozenset()
    ) -> list[JsonObject]:
        """Return the routes between two points, the quickest first. Raises UnanswerableError for a trip that is too long."""
        answer = self._answer
        apart = distance_m(*origin, *destination)
        if apart > answer.beyond_m:
            far = f"{apart / 1000:.0f} km apart as the crow flies"
            raise UnanswerableError(f"the two ends are {far}: no way is known that is so long")
        network, local = self._networks(mode, avoided), answer.local[mode]
        reach = apart if local.reach_m is None else local.reach_m
        starts, ends = (network.joints(spot, answer.snap_m, reach) for spot in (origin, destination))
        if apart <= SAME_POINT_M or (apart <= reach and not network.direct(starts, ends)):
            metres, minutes = local_route(local, apart)
            return [{answer.metres: metres, answer.minutes: minutes, **fresh(local.more)}]
        found = [route for route in network.routes(starts, ends, local, answer.alternatives) if route.ways]
        if not found:
            raise UnanswerableError(f"no way is known for {mode} between these two ends")
        return [self._shown(route, apart) for route in found]

    def figures(self, route: JsonObject) -> tuple[int, int]:
        """Return the metres and minutes of a route."""
        return route[self._answer.metres], route[self._answer.minutes]

    def _shown(self, route: Route, apart: float) -> JsonObject:
        answer = self._answer
        names = [str(way.row[answer.name]) for way in route.ways if way.row.get(answer.name)]
        result: JsonObject = {answer.name: ", ".join(dict.fromkeys(names))} if names else {}
        result |= {answer.metres: max(round(route.metres), ceil(apart)), answer.minutes: ceil(round(route.minutes, 6))}
        for columns, joined in ((answer.sums, sum), (answer.least, min)):
            for column in columns:
                values = [way.row[column] for way in route.ways if way.row.get(column) is not None]
                if values:
                    result[column] = joined(values)
        return result


def round_trip(ground: Ground, router: Router, answer: RoundAnswer, spec: Spec, call: Call) -> JsonObject:
    """Return the shortest round of a call; among equals the one whose places come first. Raises UnanswerableError."""
    start = router.end(spec.given(call, answer.start), answer.start)
    stops = _stops(ground, answer, spec, call)
    legs = {
        (one, other): _leg(
            router, start if one is None else stops[one][1], start if other is None else stops[other][1], answer
        )
        for one in (None, *stops)
        for other in (None, *stops)
        if one != other
    }

    def length(order: tuple[str, ...]) -> int:
        return sum(legs[leg][0] for leg in pairwise((None, *order, None)))

    def rank(stop: str) -> tuple[float, str]:
        given = number(stops[stop][0].row.get(answer.ties)) if answer.ties else None
        return inf if given is None else given, stop

    order = min(permutations(sorted(stops, key=rank)), key=length)
    named = {None: answer.at_start} | {id_: str(stops[id_][0].row.get("name", id_)) for id_ in stops}
    walked = list(pairwise((None, *order, None)))
    shown_legs = [_shown_leg(answer, named[one], named[other], legs[one, other]) for one, other in walked]
    whole = sum(legs[leg][0] for leg in walked), sum(legs[leg][1] for leg in walked)
    listed = [{key: fresh(stops[id_][0].row.get(column)) for key, column in answer.show.items()} for id_ in order]
    return {answer.order: listed, answer.legs: [*shown_legs, _shown_leg(answer, answer.whole, answer.whole, whole)]}


def _stops(ground: Ground, answer: RoundAnswer, spec: Spec, call: Call) -> Mapping[str, tuple[Place, Point]]:
    stops = {}
    for value in members(spec.given(call, answer.stops)):
        place, spot = place_of(ground, value, answer.places, answer.stops)
        stops[place.id] = place, spot
    if not 1 <= len(stops) <= answer.most:
        raise UnanswerableError(f"{answer.stops} names {len(stops)} places, expected 1 to {answer.most}")
    return stops


def _leg(router: Router, origin: Point, destination: Point, answer: RoundAnswer) -> tuple[int, int]:
    return router.figures(router.between(origin, destination, answer.mode)[0])


def _shown_leg(answer: RoundAnswer, origin: str, destination: str, figures: tuple[int, int]) -> JsonObject:
    return {"from": origin, "to": destination, answer.metres: figures[0], answer.minutes: figures[1]}


class Computed:
    """The computed answers of one case.

    Args:
        tools: the suite's tools by name.
        tables: the suite's tables.
        overlays: what is laid over them for this case, first to last.
        context: the case's own time, town and user.
    """

    def __init__(
        self, tools: Mapping[str, Tool], tables: Mapping[str, Table], overlays: tuple[Overlay, ...], context: Context
    ) -> None:
        self._tools = tools
        self._ground = Ground(tables, overlays, context)
        self._routers: dict[str, Router] = {}

    def result(self, spec: Spec, call: Call) -> tuple[Json, str]:
        """Return the result of a call of a tool that says how its answers are computed, and what of the call it leaves out.

        Raises:
            UnanswerableError: the call means nothing that is known; the message says what.
        """
        answer = spec.tool.answer
        if isinstance(answer, RowsAnswer):
            rows = RowsCall(self._ground, answer, spec, call, self._quickest)
            return rows.result(), rows.note
        if isinstance(answer, RoutesAnswer):
            return self._router(spec.tool.name).answer(spec, call), ""
        if isinstance(answer, RoundAnswer):
            return round_trip(self._ground, self._router(answer.routes), answer, spec, call), ""
        raise ValueError(f"the tool {spec.tool.name} does not say how its answers are computed")

    def _router(self, name: str) -> Router:
        if name not in self._routers:
            answer = self._tools[name].answer
            if not isinstance(answer, RoutesAnswer):
                raise ValueError(f"the tool {name} does not answer with routes")
            self._routers[name] = Router(self._ground, answer)
        return self._routers[name]

    def _quickest(self, tool: str, origin: Json, destination: Json, mode: str) -> JsonObject | None:
        router = self._router(tool)
        ends = router.end(origin, "origin"), router.end(destination, "destination")
        return router.between(*ends, mode)[0]
