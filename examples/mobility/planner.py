"""Plan and execute: this agent writes the whole plan down before its first call, keeps to it, and says so when it finds nothing.

Run it with ``pytest examples/mobility --mapsat-agent=examples.mobility.planner:agent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from examples.mobility import telling
from examples.mobility.understanding import Wish, understand
from pytest_mapsat import Reply

_OPTIONS = {"no_tolls": "avoid_tolls", "no_motorways": "avoid_motorways"}
_HERE = ""


@dataclass(frozen=True)
class Step:
    """A call that is planned.

    Attributes:
        tool: the tool.
        arguments: what is known of its arguments.
        points: parameters whose point an earlier step finds, by the name of the place; the empty name is where the user is.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    points: Mapping[str, str] = field(default_factory=dict)


def agent(message: str, tools: Any, context: Any) -> Reply:
    """Answer one query."""
    wish = understand(message, context.now)
    steps = list(plan(wish, context))
    output = {
        "intent": wish.intent,
        "constraints": dict(wish.constraints),
        "plan": [{"tool": step.tool, "arguments": dict(step.arguments)} for step in steps],
    }
    results = carry_out(steps, tools, context)
    found = answer(wish, results, context) if results else None
    return Reply(found or telling.NOTHING[wish.chinese], output=output)


def plan(wish: Wish, context: Any) -> Iterator[Step]:
    """Yield the steps that answer a wish."""
    asked = wish.constraints
    if wish.intent == "POI Query":
        yield _look(asked["place"], context)
    elif wish.intent == "Geolocation Query":
        yield Step("reverse_geocoding", {"location": _here(context)})
    elif wish.intent == "Nearby Query":
        yield _look(asked["near"], context)
        yield Step("search_around_poi", {"keywords": asked["kind"]}, {"location": asked["near"]})
    elif wish.intent == "Weather Query":
        yield Step("weather_query", {"city": asked["city"], "date": asked["day"]})
    elif wish.intent == "Traffic Info Query":
        yield Step("traffic_status", {"name": asked["road"], "city": context.city})
    else:
        stops = [asked.get("origin", _HERE), *asked.get("waypoints", ()), asked["destination"]]
        yield from (_look(name, context) for name in stops if name)
        yield from (_leg(asked, one, other) for one, other in pairwise(stops))


def _look(name: str, context: Any) -> Step:
    return Step("query_poi", {"keywords": name, "city": context.city})


def _leg(asked: Mapping[str, Any], origin: str, destination: str) -> Step:
    ends = {"origin": origin, "destination": destination}
    if asked["mode"] == "transit":
        return Step("get_transit", {}, ends)
    options = {_OPTIONS[name]: True for name in asked.get("strategy", ())}
    return Step("get_route", {"mode": asked["mode"], **options}, ends)


def _here(context: Any) -> str:
    return f"{context.location.lon},{context.location.lat}"


def carry_out(steps: Sequence[Step], tools: Any, context: Any) -> list[Any]:
    """Return the results of the steps; none where one of them finds nothing."""
    points, results = {_HERE: _here(context)}, []
    for step in steps:
        known = {parameter: points[name] for parameter, name in step.points.items()}
        result = tools.call(step.tool, {**step.arguments, **known})
        if result.get("status") == "error" or result.get("pois", [True]) == []:
            return []
        if step.tool == "query_poi":
            first = result["pois"][0]
            points[step.arguments["keywords"]] = f"{first['lon']},{first['lat']}"
        results.append(result)
    return results


#: What is told of a single result.
_SINGLE = {
    "POI Query": telling.of_place,
    "Nearby Query": telling.of_neighbour,
    "Geolocation Query": telling.of_area,
    "Weather Query": telling.of_weather,
    "Traffic Info Query": telling.of_traffic,
}


def answer(wish: Wish, results: Sequence[Any], context: Any) -> str | None:
    """Return what to say; None where nothing that was found keeps the constraints."""
    asked, chinese = wish.constraints, wish.chinese
    if wish.intent in _SINGLE:
        last = results[-1]
        return _SINGLE[wish.intent](last["pois"][0] if "pois" in last else last, chinese=chinese)
    legs = [_allowed(result, asked.get("avoid", ())) for result in results if "pois" not in result]
    if not all(legs):
        return None
    first, mode = legs[0][0], asked["mode"]
    if mode == "transit":
        return telling.of_line(first, asked["destination"], chinese=chinese)
    if "waypoints" in asked:
        names = [*asked["waypoints"], asked["destination"]]
        return telling.of_trip([(name, leg[0]) for name, leg in zip(names, legs, strict=True)], mode, chinese=chinese)
    if wish.intent == "Arrival/Departure Time Query":
        return _times(asked, first, datetime.fromisoformat(context.now), chinese=chinese)
    return telling.of_route(first, mode, chinese=chinese)


def _allowed(result: Mapping[str, Any], avoid: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the routes or lines of a result that are not to be avoided, the quickest first."""
    found = result.get("routes", result.get("lines", []))
    return [one for one in found if not any(name in one.get("via", one.get("line", "")) for name in avoid)]


def _times(asked: Mapping[str, Any], route: Mapping[str, Any], now: datetime, *, chinese: bool) -> str:
    takes = timedelta(minutes=route["duration_min"])
    if "arrive_by" not in asked:
        return telling.of_arrival(f"{now + takes:%H:%M}", route, asked["mode"], chinese=chinese)
    hour, minute = map(int, asked["arrive_by"].split(":"))
    leave = now.replace(hour=hour, minute=minute) - takes
    return telling.of_departure(f"{leave:%H:%M}", route, asked["mode"], chinese=chinese)
