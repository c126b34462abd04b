"""Answers that are routes between two points, or a round through several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import pairwise, permutations
from math import ceil, inf

from pytest_mapsat.model import Json, JsonObject, RoundAnswer, RoutesAnswer, did_you_mean, shown
from pytest_mapsat.sandbox.canonical import Point, boolean, members, number, point
from pytest_mapsat.sandbox.cutting import fresh
from pytest_mapsat.sandbox.geo import SAME_POINT_M, distance_m
from pytest_mapsat.sandbox.spec import Call, Spec, UnanswerableError

from .ground import Ground, Place, place_of
from .network import Network, Route, local_route, networks_of


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
