"""Answers that are routes through a network of ways, or a round through several places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, permutations
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.model import (
    SAME_POINT_M,
    WAY_NAME,
    Context,
    Json,
    JsonObject,
    Local,
    Point,
    RankedAnswer,
    RoundAnswer,
    RoutesAnswer,
    RowPatch,
    RowsAnswer,
    SuiteManifest,
    Tool,
    boolean,
    did_you_mean,
    distance_m,
    number,
    point_of,
    shown,
)

from .rows import AT_START, BEYOND_M, WHOLE, CaseTables, PointIndex, RowsCall, place_of
from .search import texts
from .spec import SpecCall, ToolSpec, UnanswerableError, members
from .state import Table, fresh

if TYPE_CHECKING:
    from rustworkx import PyDiGraph

    from .ranked import RankedParts

#: How far an end of a trip may lie from a point of the network, metres.
_SNAP_M = 150.0
#: Local ways are rounded to so many metres.
_ROUND_M = 10
#: A round has at most so many stops.
_MOST_STOPS = 6
#: An end is joined to so many points of the network.
_JOINTS = 3
#: What makes routes of equal time differ: the shorter one is the quicker, minutes a metre.
_SHORTER = 1e-7
_BARRED = 1e9
#: No alternative takes more than so many times as long as the quickest route.
_SLOWEST = 3
#: Where a trip may enter or leave the network: metres of a local way, and the point.
_Joints = Sequence[tuple[float, int]]


class Computed:
    """Computes the answers of one case from the suite's tables, with the overlays of the case applied in order."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        tables: Mapping[str, Table],
        overlays: tuple[RowPatch, ...],
        context: Context,
        manifest: SuiteManifest,
    ) -> None:
        self._tools = tools
        self._manifest = manifest
        self._ranked: dict[str, RankedParts] = {}
        self._ground = CaseTables(tables, overlays, context)
        self._routers: dict[str, Router] = {}

    def result(self, spec: ToolSpec, call: SpecCall) -> tuple[Json, str]:
        """Return the result of a call of a tool with computed answers, and a note on arguments that the result ignores.

        Raises UnanswerableError where the call means nothing that is known; the message says what.
        """
        answer = spec.tool.answer
        if isinstance(answer, RowsAnswer):
            rows = RowsCall(self._ground, answer, spec, call, self._quickest)
            return rows.result(), rows.note
        if isinstance(answer, RankedAnswer):
            return self._rank(answer, spec, call), ""
        if isinstance(answer, RoutesAnswer):
            return self._router(spec.tool.name).answer(spec, call), ""
        if isinstance(answer, RoundAnswer):
            return _round_trip(self._ground, self._router(answer.routes), answer, spec, call), ""
        raise ValueError(f"the tool {spec.tool.name} does not say how its answers are computed")

    def _rank(self, answer: RankedAnswer, spec: ToolSpec, call: SpecCall) -> Json:
        """Return the result of a call of a tool that ranks rows; the parts of its table are prepared on first use."""
        from .ranked import RankedCall, ranked_parts, vocabulary_of  # noqa: PLC0415 (few suites have such tools)

        parts = self._ranked.get(spec.tool.name)
        if parts is None:
            parts = self._ranked[spec.tool.name] = ranked_parts(self._ground, answer)
        return RankedCall(self._ground, answer, spec, call, parts, vocabulary=vocabulary_of(self._manifest)).result()

    def _router(self, name: str) -> Router:
        """Return the router of a tool, created on first use. Raises ValueError if the tool does not answer with routes."""
        if name not in self._routers:
            answer = self._tools[name].answer
            if not isinstance(answer, RoutesAnswer):
                raise ValueError(f"the tool {name} does not answer with routes")
            self._routers[name] = Router(self._ground, answer)
        return self._routers[name]

    def _quickest(self, tool: str, origin: Json, destination: Json, mode: str) -> JsonObject:
        """Return the quickest route that a tool gives between two ends. Raises UnanswerableError."""
        router = self._router(tool)
        return router.between(router.end(origin, "origin"), router.end(destination, "destination"), mode)[0]


class Way(NamedTuple):
    """One way in one direction: the numbers of its end points in the network, its figures and its row."""

    origin: int
    destination: int
    minutes: float
    metres: float
    row: JsonObject

    @property
    def cost(self) -> float:
        """Return the cost for finding the quickest way: the minutes, plus a tiny share of the metres to break ties."""
        return self.minutes + self.metres * _SHORTER


class Route(NamedTuple):
    """A route: its ways in order, and its metres and minutes with the local ways to and from the network."""

    ways: tuple[Way, ...]
    metres: float
    minutes: float


class Network:
    """The network of one mode, built from usable rows; ``answer`` assigns the columns."""

    def __init__(self, rows: Iterable[JsonObject], answer: RoutesAnswer) -> None:
        self._places: dict[Point, int] = {}
        self._ways = tuple(way for row in rows for way in self._directed(row, answer))
        self._points = list(self._places)
        self._index = PointIndex(self._points)
        #: The ways from point to point, by their place.
        self._between: dict[tuple[int, int], list[int]] = {}
        for at, way in enumerate(self._ways):
            self._between.setdefault((way.origin, way.destination), []).append(at)

    def _directed(self, row: JsonObject, answer: RoutesAnswer) -> Iterator[Way]:
        """Yield a row as one way for each usable direction; none if its ends or figures are missing."""
        ends = point_of(row.get("from")), point_of(row.get("to"))
        metres, minutes = number(row.get(answer.metres)), number(row.get(answer.minutes))
        if ends[0] is None or ends[1] is None or metres is None or minutes is None:
            return
        origin, destination = (self._places.setdefault(end, len(self._places)) for end in ends if end)
        yield Way(origin, destination, minutes, metres, row)
        if row.get("both", True):
            yield Way(destination, origin, minutes, metres, row)

    def joints(self, spot: Point, reach_m: float) -> _Joints:
        """Return the points where a trip from a spot may enter the network: (0 metres, point) if one is very near, otherwise the nearest few."""
        here = self._index.nearest(spot, _SNAP_M)
        return [(0.0, here[0][1])] if here else self._index.nearest(spot, reach_m, _JOINTS)

    def direct(self, origins: _Joints, destinations: _Joints) -> bool:
        """Return whether both ends lie on the network and a single way joins them."""
        return any(
            off == far == 0 and (origin, destination) in self._between
            for off, origin in origins
            for far, destination in destinations
        )

    def routes(self, origins: _Joints, destinations: _Joints, local: Local, most: int) -> list[Route]:
        """Return up to ``most`` routes, quickest first; each next route avoids the slowest named way of the previous one."""
        routes: list[Route] = []
        barred: set[str] = set()
        while len(routes) < most:
            route = self._quickest(origins, destinations, local, barred)
            if route is None or (routes and route.minutes > _SLOWEST * routes[0].minutes):
                break
            routes.append(route)
            named_ways = [way for way in route.ways if way.row.get(WAY_NAME)]
            if not named_ways:
                break
            barred.add(str(max(named_ways, key=lambda way: way.minutes).row[WAY_NAME]))
        return routes

    def _quickest(self, origins: _Joints, destinations: _Joints, local: Local, barred: set[str]) -> Route | None:
        """Return the quickest route between any of the origins and destinations without the barred ways; None if there is none."""
        costs = [_BARRED if str(way.row.get(WAY_NAME)) in barred else way.cost for way in self._ways]
        routes: list[Route] = []
        for before, origin in origins:
            for behind, destination in destinations:
                ways = self._path(origin, destination, costs)
                if ways is not None:
                    off = local.detour * (before + behind)
                    minutes = sum(way.minutes for way in ways) + off / local.m_per_min
                    routes.append(Route(tuple(ways), sum(way.metres for way in ways) + off, minutes))
        return min(routes, key=lambda route: route.minutes + route.metres * _SHORTER, default=None)

    def _path(self, origin: int, destination: int, costs: Sequence[float]) -> list[Way] | None:
        """Return the ways of the quickest path between two points of the network; None if all paths use barred ways."""
        if origin == destination:
            return []
        from rustworkx import dijkstra_shortest_paths  # noqa: PLC0415 - heavy; only loaded where a route is asked for

        paths = dijkstra_shortest_paths(self._graph, origin, target=destination, weight_fn=costs.__getitem__)
        if destination not in paths:
            return None
        used = [min(self._between[ends], key=costs.__getitem__) for ends in pairwise(list(paths[destination]))]
        return None if any(costs[at] >= _BARRED for at in used) else [self._ways[at] for at in used]

    @cached_property
    def _graph(self) -> PyDiGraph[Point, int]:
        """Return the network as a graph, built on first use; each edge holds the position of its way."""
        from rustworkx import PyDiGraph  # noqa: PLC0415 - heavy; only loaded where a route is asked for

        graph: PyDiGraph[Point, int] = PyDiGraph()
        graph.add_nodes_from(self._points)
        graph.add_edges_from([(way.origin, way.destination, at) for at, way in enumerate(self._ways)])
        return graph


class Router:
    """Finds the routes that one tool gives in one case."""

    def __init__(self, ground: CaseTables, answer: RoutesAnswer) -> None:
        self._ground = ground
        self._answer = answer
        self._networks: dict[tuple[str, frozenset[str]], Network] = {}

    def _network(self, mode: str, avoided: frozenset[str]) -> Network:
        """Return the network of a mode without the ways that have a value in an avoided column; cached."""
        if (mode, avoided) not in self._networks:
            self._networks[mode, avoided] = Network(
                (row for row in self._open if mode in texts(row.get("mode")) and not any(map(row.get, avoided))),
                self._answer,
            )
        return self._networks[mode, avoided]

    @cached_property
    def _open(self) -> list[JsonObject]:
        """Return the rows of the ways that are open at the time of day of the case."""
        heed, minute = self._answer.heed, self._ground.minute
        rows = self._ground.view(self._answer.ways).rows()
        return [row for row in rows if not (heed and _is_closed(row.get("closed"), minute))]

    def answer(self, spec: ToolSpec, call: SpecCall) -> JsonObject:
        """Return the result of a call: the routes, with the echoed parameters. Raises UnanswerableError."""
        answer = self._answer
        mode = spec.value(call, "mode")
        if mode not in answer.local:
            raise UnanswerableError(f"mode is {shown(mode)} ({did_you_mean(str(mode), answer.local, 'it is one of')})")
        ends = [self.end(spec.given(call, name), name) for name in ("origin", "destination")]
        avoided = frozenset(column for name, column in answer.avoid.items() if boolean(spec.given(call, name)) is True)
        routes = self.between(ends[0], ends[1], str(mode), avoided)
        echoed = {key: mode if name == "mode" else spec.given(call, name) for key, name in answer.echo.items()}
        return {**echoed, "routes": routes}

    def end(self, value: Json, name: str) -> Point:
        """Return the point for a value: a point in any form, or that of a place, by id or name. Raises UnanswerableError."""
        spot = point_of(value)
        if spot is not None:
            return spot
        if self._answer.ends is None:
            raise UnanswerableError(f'{name} is {shown(value)}, expected a point: "lon,lat"')
        return place_of(self._ground, value, self._answer.ends, name)[1]

    def between(
        self, origin: Point, destination: Point, mode: str, avoided: frozenset[str] = frozenset()
    ) -> list[JsonObject]:
        """Return the routes between two points, quickest first. Raises UnanswerableError if they are too far apart or no way is known."""
        answer, local = self._answer, self._answer.local[mode]
        apart = distance_m(*origin, *destination)
        if apart > BEYOND_M:
            far = f"{apart / 1000:.0f} km apart as the crow flies"
            raise UnanswerableError(f"the two ends are {far}: no way is known that is so long")
        network = self._network(mode, avoided)
        reach = apart if local.reach_m is None else local.reach_m
        starts, ends = (network.joints(spot, reach) for spot in (origin, destination))
        if apart <= SAME_POINT_M or (apart <= reach and not network.direct(starts, ends)):
            metres = max(round(local.detour * apart / _ROUND_M) * _ROUND_M, ceil(apart))
            minutes = ceil(local.plus_min + metres / local.m_per_min) if metres else 0
            return [{answer.metres: metres, answer.minutes: minutes, **fresh(local.more)}]
        routes = [route for route in network.routes(starts, ends, local, answer.alternatives) if route.ways]
        if not routes:
            raise UnanswerableError(f"no way is known for {mode} between these two ends")
        return [self._shown(route, apart) for route in routes]

    def figures(self, origin: Point, destination: Point, mode: str) -> tuple[int, int]:
        """Return the metres and minutes of the quickest route between two points. Raises UnanswerableError."""
        route = self.between(origin, destination, mode)[0]
        return route[self._answer.metres], route[self._answer.minutes]

    def _shown(self, route: Route, apart: float) -> JsonObject:
        """Return a route for a result: the names of its ways, metres, minutes and the declared sums and minima."""
        answer = self._answer
        names = [str(way.row[WAY_NAME]) for way in route.ways if way.row.get(WAY_NAME)]
        result: JsonObject = {WAY_NAME: ", ".join(dict.fromkeys(names))} if names else {}
        result |= {answer.metres: max(round(route.metres), ceil(apart)), answer.minutes: ceil(round(route.minutes, 6))}
        for columns, joined in ((answer.sums, sum), (answer.least, min)):
            for column in columns:
                values = [way.row[column] for way in route.ways if way.row.get(column) is not None]
                if values:
                    result[column] = joined(values)
        return result


def _is_closed(span: Json, minute: int | None) -> bool:
    """Return whether a way is closed at a minute of the day; ``span``: the times "HH:MM" between which it is closed."""
    if minute is None or not isinstance(span, (list, tuple)) or len(span) != 2:  # noqa: PLR2004 - a pair
        return False
    start, end = (60 * int(clock[:2]) + int(clock[3:5]) for clock in span)
    return start <= minute < end if start <= end else minute >= start or minute < end


def _round_trip(ground: CaseTables, router: Router, answer: RoundAnswer, spec: ToolSpec, call: SpecCall) -> JsonObject:
    """Return the shortest round trip of a call; on a tie, the one with the better-ranked stops first. Raises UnanswerableError."""
    spots: dict[str | None, Point] = {None: router.end(spec.given(call, answer.start), answer.start)}
    rows: dict[str, JsonObject] = {}
    for value in members(spec.given(call, answer.stops)):
        place, spots[place.id] = place_of(ground, value, answer.places, answer.stops)
        rows[place.id] = place.row
    if not 1 <= len(rows) <= _MOST_STOPS:
        raise UnanswerableError(f"{answer.stops} names {len(rows)} places, expected 1 to {_MOST_STOPS}")
    legs = {
        (start, end): router.figures(spots[start], spots[end], answer.mode) for start, end in permutations(spots, 2)
    }

    def length(order: tuple[str, ...]) -> int:
        """Return the metres of a round trip through the stops in an order."""
        return sum(legs[leg][0] for leg in pairwise((None, *order, None)))

    def rank(stop: str) -> tuple[float, str]:
        """Return the sort key of a stop for ties: its value in the declared column (missing: last), then its id."""
        given = number(rows[stop].get(answer.ties)) if answer.ties else None
        return inf if given is None else given, stop

    order = min(permutations(sorted(rows, key=rank)), key=length)
    names = {None: AT_START} | {stop: str(row.get("name", stop)) for stop, row in rows.items()}
    walked = list(pairwise((None, *order, None)))
    whole = sum(legs[leg][0] for leg in walked), sum(legs[leg][1] for leg in walked)
    walks = [(names[start], names[end], legs[start, end]) for start, end in walked]
    return {
        "order": [{key: fresh(rows[stop].get(column)) for key, column in answer.show.items()} for stop in order],
        answer.legs: [
            {"from": origin, "to": destination, "m": metres, "min": minutes}
            for origin, destination, (metres, minutes) in (*walks, (WHOLE, WHOLE, whole))
        ],
    }
