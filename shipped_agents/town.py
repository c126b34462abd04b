"""The town behind the tools: calls that never surprise, and the small arithmetic of points, hours and times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Protocol

Json = dict[str, Any]
_DAY = 24 * 60
_HOURS = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)")
_FROM = re.compile(r"from (\d{1,2}):(\d\d)")


class Tools(Protocol):
    """What an agent is handed: tools to be called by name."""

    def call(self, name: str, arguments: Mapping[str, Any], /) -> Any:
        """Return the tool's answer, a JSON value."""


@dataclass(frozen=True)
class Town:
    """The tools, and where and when the user is.

    Attributes:
        tools: the tools.
        here: the user's own point, "lon,lat".
        here_name: what it is called.
        city: the user's town.
        now: the user's time.
    """

    tools: Tools
    here: str
    here_name: str
    city: str
    now: datetime

    @property
    def minute(self) -> int:
        """Minutes since midnight."""
        return self.now.hour * 60 + self.now.minute

    def day(self, *, tomorrow: bool) -> date:
        """Return today or tomorrow."""
        return self.now.date() + timedelta(days=int(tomorrow))

    def ask(self, tool: str, **arguments: Any) -> Json:
        """Return what a tool answers; what is not an object counts as empty."""
        answer = self.tools.call(tool, arguments)
        return answer if isinstance(answer, dict) else {}

    def near(self, query: str, centre: str, radius_m: int = 5000) -> list[Json]:
        """Return the places of one sort around a point, the nearest first."""
        lon, lat = map(float, centre.split(","))
        return list(self.ask("search_nearby", query=query, lon=lon, lat=lat, radius_m=radius_m).get("places", ()))

    def details(self, places: Iterable[Json]) -> list[Json]:
        """Return places with everything that is known of them."""
        return [{**place, **self.ask("place_details", place_id=place["id"])} for place in places]

    def routes(
        self, destination: str, mode: str, *, avoid_tolls: bool = False, origin: str | None = None
    ) -> list[Json]:
        """Return the routes to a point, from the user or from another point."""
        asked: Json = {"origin": origin or self.here, "destination": destination, "mode": mode}
        if avoid_tolls:
            asked["avoid_tolls"] = True
        return list(self.ask("get_route", **asked).get("routes", ()))


def town_of(tools: Tools, context: Mapping[str, Any]) -> Town:
    """Return the town as the context describes it."""
    place = context["location"] or {"lon": 0, "lat": 0, "name": ""}
    return Town(
        tools, f"{place['lon']},{place['lat']}", place["name"], context["city"], datetime.fromisoformat(context["now"])
    )


def point(place: Json) -> str:
    """Return a place's point."""
    return f"{place['lon']},{place['lat']}"


def is_open(hours: str, minute: int) -> bool:
    """Return whether hours like ``09:00-18:00``, several of them, or ``24h`` contain a minute of the day."""
    if hours == "24h":
        return True
    for found in _HOURS.findall(hours):
        opens, closes = int(found[0]) * 60 + int(found[1]), int(found[2]) * 60 + int(found[3])
        if opens <= minute < closes or (closes < opens and (minute >= opens or minute < closes)):
            return True
    return False


def opens_in(hours: str, minute: int) -> int:
    """Return the minutes until a place that is closed opens; a whole day where no hours are told."""
    waits = [(int(found[0]) * 60 + int(found[1]) - minute) % _DAY for found in _HOURS.findall(hours)]
    return min(waits, default=_DAY)


def closing(hours: str) -> str:
    """Return when a place closes for the day, ``HH:MM``, or an empty string."""
    found = _HOURS.findall(hours)
    return f"{found[-1][2]}:{found[-1][3]}" if found else ""


def is_valid(terms: str, day: date, minute: int) -> bool:
    """Return whether a deal holds on a day at a minute; terms that are not understood do not."""
    workday = day.weekday() < 5  # noqa: PLR2004  Monday to Friday
    if ("工作日" in terms or "weekdays" in terms) and not workday:
        return False
    if start := _FROM.search(terms):
        return minute >= int(start[1]) * 60 + int(start[2])
    if _HOURS.search(terms):
        return is_open(terms, minute)
    return any(word in terms for word in ("daily", "每天", "工作日", "weekdays"))


def clock(minute: int) -> str:
    """Return ``HH:MM`` of a minute of the day."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def minute_of(text: str) -> int:
    """Return the minute of the day of ``HH:MM``; midnight at the end of a day is 1440."""
    hours, _, minutes = text.partition(":")
    return min(int(hours) * 60 + int(minutes), _DAY)
