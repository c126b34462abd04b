"""Getting somewhere: routes by the user's own mode, trains and buses that still go, rides that all and everything fit into."""

from __future__ import annotations

from collections.abc import Sequence

from .needs import Needs
from .request import Request, has_any
from .wording import distance, join, pick, way, way_via
from .world import Json, World, clock, is_open, minute_of, point


def which_one(request: Request, needs: Needs, world: World) -> tuple[Json | None, str]:
    """Return the destination, or None and what to say: two places of one name are asked about, never guessed."""
    places = world.ask("search_poi", query=request.subject, city=world.city).get("places", [])
    if not places:
        return None, pick(
            request.language, f"I cannot find {request.subject}.", f"没有找到{request.subject}，请问是在哪条街？"
        )
    named = [place for place in places if _street(place["address"]) in needs.words]
    if len(places) == 1 or len(named) == 1:
        return (named or places)[0], ""
    listed = pick(request.language, " or ", "还是").join(place["address"] for place in places)
    return None, pick(
        request.language,
        f"There are {len(places)} places of that name. Which one do you mean: {listed}?",
        f"有{len(places)}家同名的，请问您要去哪一家：{listed}？",
    )


def lead(request: Request, needs: Needs, world: World, destination: Json) -> str:
    """Return the way to a destination, with a warning where it is closed, and a car park where one is wanted."""
    place = world.details([destination])[0]
    routes = world.routes(point(place), needs.mode, avoid_tolls=needs.avoid_tolls)
    closures, passable = _passable(routes, needs, world)
    if not passable:
        return pick(request.language, "I found no way that is open.", "没有找到可以通行的路线。")
    chosen = min(passable, key=lambda route: float(route["duration_min"]))
    return join(
        request.language,
        _closed(request.language, place, world),
        _closures(request.language, closures),
        _target(request.language, place),
        way_via(request.language, chosen),
        way(request.language, chosen, needs.mode),
        _arrival(request.language, chosen, needs, world),
        _parking(request.language, place, needs, world),
    )


def by_transit(request: Request, needs: Needs, world: World) -> str:
    """Return the next train, tram or bus that the user can take, and whether the one they asked for still goes."""
    lines = world.ask("get_transit_lines", city=world.city, origin=world.here_name, destination=request.subject).get(
        "lines", []
    )
    usable = [line for line in lines if line["next"] and (line["step_free"] or not needs.step_free)]
    gone = [line for line in lines if not line["next"] and has_any(needs.words, (line["kind"],))]
    return join(
        request.language,
        *(_gone(request.language, line) for line in gone),
        _boarding(request.language, usable, world, needs),
    )


def by_ride(request: Request, needs: Needs, world: World, destination: Json) -> str:
    """Return the cheapest ride with a seat for everybody, room for the bags, and a child seat where one is needed."""
    options = world.ask("get_ride_estimate", origin=world.here, destination=point(destination)).get("options", [])
    fitting = [
        option
        for option in options
        if option["seats"] >= (needs.people or 1)
        and option["bags"] >= (needs.bags or 0)
        and (option["child_seat"] or not needs.child_seat)
    ]
    if not fitting:
        return pick(request.language, "No single ride takes all of you; take two.", "没有一辆车坐得下，建议分乘两辆。")
    best = min(fitting, key=lambda option: float(option["price_yuan"]))
    seat = pick(request.language, ", a child seat", "，配儿童座椅") if needs.child_seat else ""
    return pick(
        request.language,
        f"Take the {best['kind']}: {best['seats']} seats and room for {best['bags']} bags{seat}. The fare is {best['price_yuan']} yuan. "
        f"It comes in {best['wait_min']} min and the drive takes {best['ride_min']} min.",
        f"建议叫{best['kind']}{seat}，预估{best['price_yuan']}元。大约等{best['wait_min']}分钟，路上{best['ride_min']}分钟。",
    )


def luggage_question(request: Request, needs: Needs) -> str:
    """Return the question after the luggage of a group, or an empty string."""
    if needs.bags is not None or (needs.people or 1) == 1:
        return ""
    return pick(request.language, "How many bags do you have with you?", "请问有几件行李？")


def _street(address: str) -> str:
    """Return an address without its house number, lower case."""
    return address.strip("0123456789号 ").lower()


def _passable(routes: Sequence[Json], needs: Needs, world: World) -> tuple[list[Json], list[Json]]:
    """Return the closures on the routes of a driver, and the routes without one."""
    closures, passable = [], []
    for route in routes:
        on_road = route.get("via") and needs.mode == "driving"
        traffic = world.ask("get_traffic", road=route["via"], city=world.city) if on_road else {}
        if traffic.get("status") == "closed":
            closures.append(traffic)
        else:
            passable.append(route)
    return closures, passable


def _closed(language: str, place: Json, world: World) -> str:
    if is_open(place["hours"], world.minute):
        return ""
    notice = place.get("notice", "")
    return pick(
        language,
        f"Please note: {place['name']} is closed now. {notice}",
        f"请注意，{place['name']}现在不开放{'：' if notice else ''}{notice}。",
    )


def _closures(language: str, closures: Sequence[Json]) -> str:
    return join(
        language,
        *(
            pick(
                language,
                f"{closed['road']} is closed until {closed['until']}: {closed['event']}.",
                f"{closed['road']}{closed['event']}，到{closed['until']}为止。",
            )
            for closed in closures
        ),
    )


def _target(language: str, place: Json) -> str:
    return pick(language, f"{place['name']} is at {place['address']}.", f"{place['name']}在{place['address']}。")


def _arrival(language: str, route: Json, needs: Needs, world: World) -> str:
    """Return when the user arrives, for those who have to be there at a certain time."""
    if needs.deadline is None:
        return ""
    arrival = world.minute + int(route["duration_min"])
    if arrival > needs.deadline:
        return pick(
            language,
            f"That is too late for {clock(needs.deadline)}: you arrive at {clock(arrival)}.",
            f"{clock(arrival)}才能到，赶不上{clock(needs.deadline)}。",
        )
    return pick(language, f"You arrive at {clock(arrival)}.", f"{clock(arrival)}左右到。")


def _parking(language: str, place: Json, needs: Needs, world: World) -> str:
    """Return the nearest car park that the vehicle fits into, for drivers who want to know."""
    if needs.mode != "driving" or not needs.asks_for_parking:
        return ""
    found = world.details(world.near(pick(language, "car park", "停车场"), point(place), radius_m=1000))
    fitting = [
        park
        for park in found
        if is_open(park["hours"], world.minute)
        and (needs.height_m is None or (park.get("headroom_m") or needs.height_m) >= needs.height_m)
    ]
    if not fitting:
        return pick(language, "I found no car park there for your vehicle.", "附近没有适合您车辆的停车场。")
    park = fitting[0]
    return pick(
        language,
        f"Park at {park['name']}, {park['address']}.",
        f"车可以停在{park['name']}（{park['address']}）。",
    )


def _gone(language: str, line: Json) -> str:
    return pick(
        language,
        f"There is no {line['kind']} any more; the last one left at {line['last']}.",
        f"{line['line']}末班{line['last']}已经开走。",
    )


def _boarding(language: str, usable: Sequence[Json], world: World, needs: Needs) -> str:
    """Return how to take the line that leaves first; of two, the one with the shorter ride."""
    if not usable:
        return pick(language, "Nothing goes there any more tonight.", "今晚没有车过去了。")
    best = min(usable, key=lambda line: (_wait(line["next"][0], world), line["ride_min"]))
    walk = best.get("walk_m")
    stepless = pick(language, " The stop is step-free.", "站内无障碍。") if needs.step_free else ""
    rest = (
        pick(language, f" From there it is {distance(language, walk)}.", f"下车后还有{distance(language, walk)}。")
        if walk
        else ""
    )
    return pick(
        language,
        f"Take the {best['line']} at {best['next'][0]} and get off at {best['alight']}; the ride takes {best['ride_min']} min.{stepless}{rest}",
        f"请乘{best['next'][0]}的{best['line']}，在{best['alight']}下车，车程{best['ride_min']}分钟。{stepless}{rest}",
    )


def _wait(departure: str, world: World) -> int:
    """Return minutes until a departure, which may be past midnight."""
    return (minute_of(departure) - world.minute) % (24 * 60)
