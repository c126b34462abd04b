"""An agent that remembers: a class is made anew for each case, so one dialogue never leaks into the next.

It finds a place by name, asks which one is meant where there are several, and knows the answer when it comes.

``pytest benchmark_cases/search/twin-tearooms.yaml --mapsat-agent=examples.class_agent:Agent``
"""

from __future__ import annotations

import re
from typing import Any

_NAME = re.compile(r"\bto (?:the )?([A-Z]\w*(?: [A-Z]\w*)*)")


class Agent:
    """One dialogue with one user.

    Args:
        tools: the tools of the suite.
        context: where and when the user is.
    """

    def __init__(self, tools: Any, context: Any) -> None:
        self._tools = tools
        self._context = context
        self._places: list[dict[str, Any]] = []

    def reply(self, message: str) -> str:
        """Return the reply to the user's message."""
        if self._places:  # the answer to our question
            named = [place for place in self._places if _street(place) in message]
            return self._way_to((named or self._places)[0])
        name = _NAME.search(message)
        found = self._tools.search_poi(query=name[1], city=self._context.city) if name else {}
        self._places = found.get("places", [])
        if not self._places:
            return "I cannot find that place. What is it called?"
        if len(self._places) == 1:
            return self._way_to(self._places[0])
        streets = " or the one in ".join(map(_street, self._places))
        return f"There are {len(self._places)} of that name. Which one do you mean, the one in {streets}?"

    def _way_to(self, place: dict[str, Any]) -> str:
        here, by_bike = self._context.location, "bike" in " ".join(self._context.history)
        routes = self._tools.get_route(
            origin=f"{here.lon},{here.lat}",
            destination=f"{place['lon']},{place['lat']}",
            mode="cycling" if by_bike else "walking",
        ).get("routes")
        if not routes:
            return f"I found no way to the {place['name']}."
        how = "by bike" if by_bike else "on foot"
        return f"It is {routes[0]['duration_min']} min {how} to the {place['name']} in {_street(place)}."


def _street(place: dict[str, Any]) -> str:
    """Return the street of an address like "28 Orchard Way"."""
    return str(place["address"]).lstrip("0123456789 ")
