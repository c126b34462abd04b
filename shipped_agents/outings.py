"""Several places in a row: outings that suit the user, and errands in an order in which each place is open."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, permutations

from .language import Request, count_before, join, pick
from .needs import Needs
from .town import Json, Town, clock, closing, is_open, minute_of, point

_MORNING = 9 * 60
#: Minutes: to get ready, the longest stay at one stop, the reserve before a deadline, and an outing without one.
_READY, _LONGEST_STAY, _RESERVE, _USUAL_LENGTH = 15, 120, 10, 4 * 60
_STOPS = 2


def question(request: Request, needs: Needs) -> str:
    """Return what has to be asked before an outing can be planned, or an empty string."""
    if _stops(needs) is not None and needs.deadline is not None:
        return ""
    en, zh = ["What do you like to see, and how many stops would you like?"], ["想看几个地方，喜欢看什么？"]
    if needs.deadline is None:
        en.insert(0, "When do you have to be back?")
        zh.insert(0, "请问几点前要回来？")
    return pick(request.language, " ".join(en), "".join(zh))


def plan(request: Request, needs: Needs, town: Town) -> str:
    """Return an outing with its times."""
    start = _MORNING if request.tomorrow else town.minute + _READY
    end = needs.deadline or start + _USUAL_LENGTH
    rain = _rains(town.ask("get_weather", city=town.city, date=str(town.day(tomorrow=request.tomorrow))), start, end)
    found = town.details(town.near(pick(request.language, "sights", "景点"), town.here))
    fitting = [place for place in found if _suits(place, needs, rain=rain, start=start, end=end)]
    chosen = _chosen(fitting, needs)
    if len(chosen) < _STOPS:
        return pick(request.language, "I found too few places that suit you.", "没有找到足够多适合您的地方。")
    ids = sorted(place["id"] for place in chosen)
    round_trip = town.ask("plan_visit_order", start=town.here, place_ids=ids)
    sentences, back = _timetable(request.language, round_trip, len(chosen), start, end)
    return join(
        request.language,
        pick(request.language, "It will rain, so everything is indoors.", "当天有雨，都安排在室内。") if rain else "",
        *sentences,
        pick(request.language, "There are no steps anywhere.", "全程没有台阶。") if needs.step_free else "",
        pick(
            request.language,
            f"You are back at {town.here_name} at {clock(back)}.",
            f"{clock(back)}回到{town.here_name}。",
        ),
    )


def _chosen(fitting: Sequence[Json], needs: Needs) -> list[Json]:
    """Return the stops that are liked best and near, of those whose tickets the purse pays for; nothing where none does."""
    by_liking = sorted(fitting, key=lambda place: (-_liked(place, needs), place["distance_m"]))
    for stops in combinations(by_liking, _stops(needs) or _STOPS):
        tickets = sum(float(place.get("price_yuan", 0)) for place in stops) * (needs.people or 1)
        if needs.total_max is None or tickets <= needs.total_max:
            return list(stops)
    return []


def _stops(needs: Needs) -> int | None:
    return count_before(needs.words, "stops", "stop", "places", "地方", "景点")


def _rains(forecast: Json, start: int, end: int) -> bool:
    return any(
        hours["rain"] and minute_of(hours["from"]) < end and minute_of(hours["to"]) > start
        for hours in forecast.get("hours", [])
    )


def _suits(place: Json, needs: Needs, *, rain: bool, start: int, end: int) -> bool:
    """Return whether a stop is usable: dry, without steps, and open from near the start until near the end."""
    middle = (start + end) // 2
    return (
        (place.get("indoor", False) or not rain)
        and (place.get("step_free", False) or not needs.step_free)
        and (place.get("dogs", True) or not needs.dog)
        and is_open(place["hours"], middle)
        and (place["hours"] == "24h" or minute_of(closing(place["hours"])) >= end - 2 * _RESERVE - 60)
    )


def _liked(place: Json, needs: Needs) -> int:
    """Return how many of a stop's themes the user likes."""
    return sum(theme in needs.likes for theme in place.get("themes", []))


def _stay(round_trip: Json, stops: int, start: int, end: int) -> int:
    """Return how long the user may stay at each stop, in steps of five minutes."""
    free = end - _RESERVE - start - int(round_trip["walks"][-1]["min"])
    return min(_LONGEST_STAY, free // stops) // 5 * 5


def _timetable(language: str, round_trip: Json, stops: int, start: int, end: int) -> tuple[list[str], int]:
    """Return a sentence for each stop, in the order of the round trip, and the minute of the day at which the user is back.

    The walks of a round trip are those to each stop, the one back, and the whole.
    """
    stay, minute, sentences = _stay(round_trip, stops, start, end), start, []
    for leg in round_trip["walks"][:stops]:
        minute += leg["min"]
        sentences.append(
            pick(
                language,
                f"{leg['min']} min on foot to {leg['to']}, there from {clock(minute)} to {clock(minute + stay)}.",
                f"步行{leg['min']}分钟到{leg['to']}，{clock(minute)}到{clock(minute + stay)}在那里。",
            )
        )
        minute += stay
    return sentences, minute + int(round_trip["walks"][stops]["min"])


#: An errand takes as long as this, minutes.
_ERRAND = 15


def plan_errands(request: Request, needs: Needs, town: Town) -> str:
    """Return the order that is done first, with the time at each place."""
    hits = [town.ask("search_poi", query=name, city=town.city).get("places", [])[:1] for name in request.names]
    places = town.details([place for found in hits for place in found])
    plans = [(order, times) for order in permutations(places) if (times := _times(order, town))]
    plans = [(order, times) for order, times in plans if times[-1] <= (needs.deadline or times[-1])]
    if not places or not plans:
        return pick(request.language, "I found no order in which all of it can be done.", "没有办法都办完。")
    order, times = min(plans, key=lambda found: found[1][-1])
    return join(
        request.language,
        *(_stop(request.language, place, at) for place, at in zip(order, times, strict=False)),
        pick(request.language, f"You are back at {clock(times[-1])}.", f"{clock(times[-1])}回到出发的地方。"),
    )


def _times(order: Sequence[Json], town: Town) -> list[int]:
    """Return when the user is at each place and back, in minutes of the day; nothing where a place is closed then."""
    minute, times = town.minute, []
    for (_, origin), (place, destination) in pairwise(_stations(order, town)):
        minute += _walk(origin, destination, town)
        times.append(minute)
        if place is None:
            return times
        if not (is_open(place["hours"], minute) and is_open(place["hours"], minute + _ERRAND)):
            return []
        minute += _ERRAND
    return times


def _stations(order: Sequence[Json], town: Town) -> list[tuple[Json | None, str]]:
    return [(None, town.here), *((place, point(place)) for place in order), (None, town.here)]


def _walk(origin: str, destination: str, town: Town) -> int:
    """Return the minutes of a walk; one that nobody knows takes too long for any errand."""
    routes = town.routes(destination, "walking", origin=origin)
    return int(routes[0]["duration_min"]) if routes else 24 * 60


def _stop(language: str, place: Json, at: int) -> str:
    return pick(language, f"{place['name']} at {clock(at)}.", f"{clock(at)}到{place['name']}。")
