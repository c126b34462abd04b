"""Several errands on foot: the order in which each place is open when the user gets there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations

from .needs import Needs
from .request import Request
from .wording import join, pick
from .world import Json, World, clock, is_open, point

#: How long an errand takes, minutes.
_STAY = 15


def plan(request: Request, needs: Needs, world: World) -> str:
    """Return the order that is done first, with the time at each place."""
    hits = [world.ask("search_poi", query=name, city=world.city).get("places", [])[:1] for name in request.names]
    places = world.details([place for found in hits for place in found])
    plans = [(order, times) for order in permutations(places) if (times := _times(order, world))]
    plans = [(order, times) for order, times in plans if times[-1] <= (needs.deadline or times[-1])]
    if not places or not plans:
        return pick(request.language, "I found no order in which all of it can be done.", "没有办法都办完。")
    order, times = min(plans, key=lambda found: found[1][-1])
    return join(
        request.language,
        *(_stop(request.language, place, at) for place, at in zip(order, times, strict=False)),
        pick(request.language, f"You are back at {clock(times[-1])}.", f"{clock(times[-1])}回到出发的地方。"),
    )


def _times(order: Sequence[Json], world: World) -> list[int]:
    """Return when the user is at each place and back, in minutes of the day; nothing where a place is closed then."""
    minute, times = world.minute, []
    for (_, origin), (place, destination) in pairwise(_stations(order, world)):
        minute += _walk(origin, destination, world)
        times.append(minute)
        if place is None:
            return times
        if not (is_open(place["hours"], minute) and is_open(place["hours"], minute + _STAY)):
            return []
        minute += _STAY
    return times


def _stations(order: Sequence[Json], world: World) -> list[tuple[Json | None, str]]:
    return [(None, world.here), *((place, point(place)) for place in order), (None, world.here)]


def _walk(origin: str, destination: str, world: World) -> int:
    """Return the minutes of a walk; one that nobody knows takes too long for any errand."""
    routes = world.routes(destination, "walking", origin=origin)
    return int(routes[0]["duration_min"]) if routes else 24 * 60


def _stop(language: str, place: Json, at: int) -> str:
    return pick(language, f"{place['name']} at {clock(at)}.", f"{clock(at)}到{place['name']}。")
