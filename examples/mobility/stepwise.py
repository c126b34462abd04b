"""Step by step: this agent takes the next step that looks right, as a hasty ReAct loop would, with the faults that such agents have.

It hears where to go and no conditions, goes by car unless it hears of walking, searches around the user in place of the centre, asks for
today's weather, looks each place up twice, gives a radius as text, and makes up a figure where it found none.

Run it with ``pytest examples/mobility --mapsat-agent=examples.mobility.stepwise:agent``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from examples.mobility import telling
from examples.mobility.understanding import Wish, understand
from pytest_mapsat import Reply

#: What it takes for the same: it does not hear the conditions.
_PLAIN = ("Multi-stop Planning", "Option-Constrained Route Planning", "Route-Constrained Planning")
_UNHEARD = ("waypoints", "strategy", "avoid")
_GUESS = {"distance_m": 8000, "duration_min": 20}


def agent(message: str, tools: Any, context: Any, session: Any) -> Reply:
    """Answer one query."""
    wish = understand(message, context.now)
    heard = {name: value for name, value in wish.constraints.items() if name not in _UNHEARD}
    intent = "Point-to-Point Planning" if wish.intent in _PLAIN else wish.intent
    session.think(f"this is a {intent}; I begin with what it names")
    text = _answer(Wish(intent, heard, wish.chinese), tools, context)
    return Reply(text or telling.NOTHING[wish.chinese], output={"intent": intent, "constraints": heard})


def _answer(wish: Wish, tools: Any, context: Any) -> str | None:
    asked, chinese, here = wish.constraints, wish.chinese, f"{context.location.lon},{context.location.lat}"
    if wish.intent == "POI Query":
        found = _look(asked["place"], tools)
        return telling.of_place(found, chinese=chinese) if found else None
    if wish.intent == "Geolocation Query":
        return telling.of_area(tools.reverse_geocoding(location=here), chinese=chinese)
    if wish.intent == "Nearby Query":
        around = tools.search_around_poi(location=here, keywords=asked["kind"], radius="3000").get("pois", [])
        return telling.of_neighbour(around[0], chinese=chinese) if around else None
    if wish.intent == "Weather Query":
        return telling.of_weather(tools.weather_query(city=asked["city"]), chinese=chinese)
    if wish.intent == "Traffic Info Query":
        return telling.of_traffic(tools.traffic_status(name=asked["road"]), chinese=chinese)
    return _way(wish, tools, here, context)


def _look(name: str, tools: Any) -> Mapping[str, Any] | None:
    """Look a place up, and once more to be sure."""
    tools.query_poi(keywords=name)
    pois = tools.query_poi(keywords=name).get("pois", [])
    return pois[0] if pois else None


def _way(wish: Wish, tools: Any, here: str, context: Any) -> str:
    asked, chinese = wish.constraints, wish.chinese
    mode = "walking" if asked.get("mode") == "walking" else "driving"
    found = _look(asked["destination"], tools)
    route = dict(_GUESS)
    if found:
        there = f"{found['lon']},{found['lat']}"
        route = tools.get_route(origin=here, destination=there, mode=mode)["routes"][0]
    if wish.intent == "Arrival/Departure Time Query":
        arrival = datetime.fromisoformat(context.now) + timedelta(minutes=route["duration_min"])
        return telling.of_arrival(f"{arrival:%H:%M}", route, mode, chinese=chinese)
    return telling.of_route(route, mode, chinese=chinese)
