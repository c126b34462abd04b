"""Getting somewhere: routes by the user's own mode, trains and buses that can still be reached, rides that everybody fits into."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

from .language import Request, distance, has_any, join, pick, way, way_via
from .needs import Needs
from .town import Json, Town, clock, is_open, minute_of, point

#: A departure is today's when it is less than this away, minutes; pace of a walk, metres a minute.
_TODAY, _WALK = 12 * 60, 75


def which_one(request: Request, needs: Needs, town: Town) -> tuple[Json | None, str]:
    """Return the destination, or None and what to say: two places of one name are asked about, never guessed."""
    places = town.ask("search_poi", query=request.subject, city=town.city).get("places", [])
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


def lead(request: Request, needs: Needs, town: Town, destination: Json) -> str:
    """Return the way to a destination, with a warning where it is closed, and a car park where one is wanted."""
    place = town.details([destination])[0]
    closures, passable = _passable(point(place), needs, town)
    if not passable:
        return pick(request.language, "I found no way that is open.", "没有找到可以通行的路线。")
    in_time = [route for route in passable if _arrives(route, town) <= (needs.deadline or _arrives(route, town))]
    chosen = min(in_time or passable, key=lambda route: _cost(route, needs))
    return join(
        request.language,
        _closed(request.language, place, town),
        _closures(request.language, closures),
        _target(request.language, place),
        way_via(request.language, chosen),
        way(request.language, chosen, needs.mode),
        _arrival(request.language, chosen, needs, town),
        _parking(request.language, place, needs, town),
    )


def by_transit(request: Request, needs: Needs, town: Town) -> str:
    """Return the next train, tram or bus that the user can take, and whether the one they asked for still goes."""
    lines = town.ask("get_transit_lines", city=town.city, origin=town.here_name, destination=request.subject).get(
        "lines", []
    )
    usable = [line for line in lines if _reachable(line, town) and (line["step_free"] or not needs.step_free)]
    gone = [line for line in lines if not _reachable(line, town) and has_any(needs.words, (line["kind"],))]
    return join(
        request.language,
        *(_gone(request.language, line) for line in gone),
        _boarding(request.language, usable, town, needs),
    )


def _street(address: str) -> str:
    """Return an address without its house number, lower case."""
    return address.strip("0123456789号 ").lower()


def _passable(destination: str, needs: Needs, town: Town) -> tuple[list[Json], list[Json]]:
    """Return the closures on the way, and the routes that are open; toll roads where without them it gets too late."""
    closures, passable = _open_ways(town.routes(destination, needs.mode, avoid_tolls=needs.avoid_tolls), needs, town)
    late = needs.deadline is not None and all(_arrives(route, town) > needs.deadline for route in passable)
    return (
        _open_ways(town.routes(destination, needs.mode), needs, town)
        if needs.avoid_tolls and late
        else (closures, passable)
    )


def _open_ways(routes: Sequence[Json], needs: Needs, town: Town) -> tuple[list[Json], list[Json]]:
    """Return the closures on routes, and the routes without one that the user and their vehicle can take."""
    closures, passable = [], []
    for route in routes:
        if route.get("max_height_m", needs.height_m or 0) < (needs.height_m or 0):
            continue
        if needs.step_free and route.get("steps"):
            continue
        on_road = route.get("via") and needs.mode == "driving"
        traffic = town.ask("get_traffic", road=route["via"], city=town.city) if on_road else {}
        if traffic.get("status") == "closed":
            closures.append(traffic)
        else:
            passable.append(route)
    return closures, passable


def _arrives(route: Json, town: Town) -> int:
    """Return the minute of the day at which a route ends when it begins now."""
    return town.minute + int(route["duration_min"])


def _cost(route: Json, needs: Needs) -> tuple[float, float]:
    """Return what speaks against a route: for those who avoid tolls the toll first, then the time."""
    return (float(route.get("toll_yuan", 0)) if needs.avoid_tolls else 0.0, float(route["duration_min"]))


def _closed(language: str, place: Json, town: Town) -> str:
    if is_open(place["hours"], town.minute):
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


def _arrival(language: str, route: Json, needs: Needs, town: Town) -> str:
    """Return when the user arrives, for those who have to be there at a certain time."""
    if needs.deadline is None:
        return ""
    arrival = _arrives(route, town)
    if arrival > needs.deadline:
        return pick(
            language,
            f"That is too late for {clock(needs.deadline)}: you arrive at {clock(arrival)}.",
            f"{clock(arrival)}才能到，赶不上{clock(needs.deadline)}。",
        )
    return pick(language, f"You arrive at {clock(arrival)}.", f"{clock(arrival)}左右到。")


def _parking(language: str, place: Json, needs: Needs, town: Town) -> str:
    """Return the nearest car park that the vehicle fits into, for drivers who want to know."""
    if needs.mode != "driving" or not needs.asks_for_parking:
        return ""
    found = town.details(town.near(pick(language, "car park", "停车场"), point(place), radius_m=1000))
    fitting = [
        park
        for park in found
        if is_open(park["hours"], town.minute)
        and is_open(park["hours"], needs.until or town.minute)
        and park.get("free_spaces", 1) > 0
        and (needs.height_m is None or (park.get("headroom_m") or needs.height_m) >= needs.height_m)
    ]
    if not fitting:
        return pick(language, "I found no car park there for your vehicle.", "附近没有适合您车辆的停车场。")
    park = fitting[0]
    spaces = park.get("free_spaces")
    return pick(
        language,
        f"Park at {park['name']}, {park['address']}." + (f" It has {spaces} free spaces." if spaces else ""),
        f"车可以停在{park['name']}（{park['address']}）。" + (f"现在有{spaces}个空位。" if spaces else ""),
    )


def _reachable(line: Json, town: Town) -> list[str]:
    """Return the next departures of a line that the user can still walk to."""
    walk = line.get("walk_to_stop_min", 0)
    return [departure for departure in line["next"] if walk <= _wait(departure, town) < _TODAY]


def _gone(language: str, line: Json) -> str:
    """Return why a line that was asked for is of no use."""
    if line.get("notice"):
        return pick(language, f"The {line['line']} is {line['notice']}.", f"{line['line']}{line['notice']}。")
    if line["next"]:
        walk = line.get("walk_to_stop_min", 0)
        return pick(
            language,
            f"You cannot reach the {line['line']} at {line['last']} any more, the stop is {walk} min away.",
            f"{line['line']}末班{line['last']}，走到站要{walk}分钟，赶不上了。",
        )
    return pick(
        language,
        f"There is no {line['kind']} any more; the last one left at {line['last']}.",
        f"{line['line']}末班{line['last']}已经开走。",
    )


def _boarding(language: str, usable: Sequence[Json], town: Town, needs: Needs) -> str:
    """Return how to take the line that arrives first, the walk behind the last stop included."""
    if not usable:
        return pick(language, "Nothing goes there any more tonight.", "今晚没有车过去了。")
    best = min(usable, key=lambda line: _takes(line, town))
    walk = best.get("walk_m")
    stepless = pick(language, " The stop is step-free.", "站内无障碍。") if needs.step_free else ""
    rest = (
        pick(language, f" From there it is {distance(language, walk)}.", f"下车后还有{distance(language, walk)}。")
        if walk
        else ""
    )
    leaves = _reachable(best, town)[0]
    return pick(
        language,
        f"Take the {best['line']} at {leaves} and get off at {best['alight']}. The ride takes {best['ride_min']} min.{stepless}{rest}",
        f"请乘{leaves}的{best['line']}，在{best['alight']}下车。车程{best['ride_min']}分钟。{stepless}{rest}",
    )


def _takes(line: Json, town: Town) -> float:
    """Return the minutes from now until a line's next passenger is where they want to be."""
    return _wait(_reachable(line, town)[0], town) + float(line["ride_min"]) + float(line.get("walk_m", 0)) / _WALK


def _wait(departure: str, town: Town) -> int:
    """Return minutes until a departure, which may be past midnight."""
    return (minute_of(departure) - town.minute) % (24 * 60)


def by_ride(request: Request, needs: Needs, town: Town, destination: Json) -> str:
    """Return the cheapest ride that suits everybody; where no single one does, the cheapest two."""
    options = town.ask("get_ride_estimate", origin=town.here, destination=point(destination)).get("options", [])
    usable = [option for option in options if _suits(option, needs, town)]
    fitting = [option for option in usable if _fits((option,), needs)]
    if not fitting:
        return _two(request.language, usable, needs)
    best = min(fitting, key=lambda option: _price(option, needs))
    seat = pick(request.language, ", a child seat", "，配儿童座椅") if needs.child_seat else ""
    return pick(
        request.language,
        f"Take the {best['kind']}: {best['seats']} seats and room for {best['bags']} bags{seat}. The fare is {_price(best, needs):g} yuan. "
        f"It comes in {best['wait_min']} min. The drive takes {best['ride_min']} min.",
        f"建议叫{best['kind']}{seat}，预估{_price(best, needs):g}元。大约等{best['wait_min']}分钟。路上{best['ride_min']}分钟。",
    )


def luggage_question(request: Request, needs: Needs) -> str:
    """Return the question after the luggage of a group, or an empty string."""
    if needs.bags is not None or (needs.people or 1) == 1:
        return ""
    return pick(request.language, "How many bags do you have with you?", "请问有几件行李？")


def _suits(option: Json, needs: Needs, town: Town) -> bool:
    """Return whether a kind of ride has what the user needs and is there in time."""
    arrival = town.minute + int(option["wait_min"]) + int(option["ride_min"])
    return (
        (option["child_seat"] or not needs.child_seat)
        and (option.get("wheelchair", True) or not needs.wheelchair)
        and arrival <= (needs.deadline if needs.deadline is not None else arrival)
    )


def _fits(options: Sequence[Json], needs: Needs) -> bool:
    """Return whether all people and bags fit into the rides together."""
    seats, bags = (sum(int(option[what]) for option in options) for what in ("seats", "bags"))
    return seats >= (needs.people or 1) and bags >= (needs.bags or 0)


def _price(option: Json, needs: Needs) -> float:
    """Return what a ride costs for all together, yuan."""
    return float(option["price_yuan"]) * ((needs.people or 1) if option.get("per_person") else 1)


def _two(language: str, usable: Sequence[Json], needs: Needs) -> str:
    """Return the cheapest two rides that take all, and what they cost together."""
    pairs = [pair for pair in combinations_with_replacement(usable, 2) if _fits(pair, needs)]
    if not pairs:
        return pick(language, "I found no ride that takes all of you in time.", "没有找到合适的车。")
    one, other = min(pairs, key=lambda pair: sum(_price(option, needs) for option in pair))
    total = _price(one, needs) + _price(other, needs)
    kinds = pick(language, f"a {one['kind']} and a {other['kind']}", f"{one['kind']}和{other['kind']}各一辆")
    kinds = pick(language, f"two {one['kind']}s", f"两辆{one['kind']}") if one == other else kinds
    return pick(
        language,
        f"No single ride takes all of you; take two: {kinds}, {total:g} yuan in total.",
        f"没有一辆车坐得下，建议分乘两辆：{kinds}，一共{total:g}元。",
    )
