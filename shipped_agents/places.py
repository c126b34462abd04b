"""Finding a place that suits the person: open when it is wanted, usable, safe, then near and within the budget."""

from __future__ import annotations

from collections.abc import Sequence

from .language import CHARGERS, MEALS, WORKSHOPS, Request, has_any, join, pick, way
from .needs import Needs
from .town import Json, Town, clock, closing, is_open, is_valid, opens_in, point

#: Nobody waits longer than this for a table, minutes.
_LONGEST_QUEUE = 30
#: From here on a charger is a fast one, kW.
_FAST_KW = 100
#: How long a meal takes, minutes: the kitchen must not close before.
_MEAL = 60


def question(request: Request, needs: Needs) -> str:
    """Return what has to be asked before a search, or an empty string."""
    if request.subject in CHARGERS and not needs.hurry:
        return pick(
            request.language,
            "Do you need a fast charge, or how much time do you have?",
            "请问您想快充还是慢充，时间赶吗？",
        )
    if request.subject in WORKSHOPS:
        return pick(
            request.language,
            "What kind of bike is it, and what is wrong with it?",
            "请问是什么车，哪里坏了？",
        )
    if request.subject in MEALS and needs.hour is None and not has_any(needs.words, ("right now", "现在")):
        return pick(
            request.language, "What time would you like to eat, and how many are you?", "请问几点用餐，一共几个人？"
        )
    return ""


def recommend(request: Request, needs: Needs, town: Town) -> str:
    """Return the recommendation of one place of the sort that was asked for."""
    places = town.details(town.near(request.subject, town.here))
    wanted = _wanted(places, needs)
    suitable = [
        place for place in places if wanted <= set(place.get("services", ())) and _suits(place, request, needs, town)
    ]
    if not suitable:
        return _nothing(request, places, needs, town)
    best = min(suitable, key=lambda place: _rank(place, needs))
    first = pick(
        request.language,
        f"I recommend {best['name']}, {best['address']}.",
        f"推荐{best['name']}，地址是{best['address']}。",
    )
    return join(
        request.language,
        first,
        _opening(request.language, best),
        _price(request.language, best),
        _charger(request.language, best),
        _queue(request.language, best),
        _way(request.language, best, needs, town),
        _deal(request, best, needs, town),
    )


def the_usual(request: Request, needs: Needs, town: Town, uid: str) -> str:
    """Return whether the place that the user goes to most is open, and the deal that holds there."""
    visits = town.ask("get_recent_activity", uid=uid).get("visits", [])
    if not visits:
        return pick(
            request.language, "I do not know which place is your usual one.", "我不知道您常去的是哪一家，请问叫什么？"
        )
    # Where someone has been going of late counts more than where they went most.
    usual = town.details([{"id": max(visits, key=lambda visit: int(visit.get("late", visit["times"])))["place_id"]}])[0]
    minute = needs.hour or town.minute
    if not is_open(usual["hours"], minute):
        return pick(
            request.language,
            f"{usual['name']} is closed now; today's hours are {usual['hours']}.",
            f"{usual['name']}现在已经关门，今天的营业时间是{usual['hours']}。",
        )
    state = pick(
        request.language,
        f"Your usual place, {usual['name']}, is open until {closing(usual['hours'])}.",
        f"您常去的{usual['name']}今晚营业到{closing(usual['hours'])}，可以去。",
    )
    return join(
        request.language,
        state,
        _deal(request, usual, needs, town),
        _way(request.language, usual, needs, town),
    )


def _wanted(places: Sequence[Json], needs: Needs) -> set[str]:
    """Return the services that some place offers and that the user needs."""
    offered = {service for place in places for service in place.get("services", ())}
    return {service for service in offered if has_any(needs.wishes, (service.lower(),))}


def _nothing(request: Request, places: Sequence[Json], needs: Needs, town: Town) -> str:
    """Return that nothing suits; where all is closed, what opens first."""
    closed = [place for place in places if not is_open(place["hours"], town.minute) and place["hours"] != "closed"]
    if not places or len(closed) < len(places):
        return pick(
            request.language,
            "I found nothing around you that suits you at that hour.",
            "附近没有找到这个时间适合您的地方。",
        )
    first = min(closed, key=lambda place: opens_in(place["hours"], town.minute))
    opening = clock(town.minute + opens_in(first["hours"], town.minute))
    return join(
        request.language,
        pick(request.language, "Everything around you is closed now.", f"附近的{request.subject}现在都关门了。"),
        pick(
            request.language,
            f"The first to open is {first['name']}, {first['address']}, at {opening}.",
            f"最早开门的是{first['name']}（{first['address']}），{opening}开门。",
        ),
        _way(request.language, first, needs, town),
    )


def _suits(place: Json, request: Request, needs: Needs, town: Town) -> bool:
    """Return whether nothing rules the place out."""
    minute = needs.hour if needs.hour is not None else town.minute
    if request.subject in MEALS:
        minute += _MEAL
    return (
        is_open(place["hours"], minute)
        and (not needs.step_free or place.get("step_free", True))
        and not set(needs.allergies) & set(place.get("allergens", ()))
        and place.get("queue_min", 0) <= _LONGEST_QUEUE
        and place.get("free_stalls", 1) > 0
        and place.get("largest_table", needs.people or 1) >= (needs.people or 1)
        and not (place.get("wait_days") and has_any(needs.words, ("today", "今天")))
        and (not needs.connector or needs.connector in place.get("connectors", [needs.connector]))
    )


def _rank(place: Json, needs: Needs) -> tuple[bool, bool, float]:
    """Return the order of preference: within the budget, fast where it matters, near."""
    too_dear = needs.meal_max is not None and place.get("price_yuan", 0) > needs.meal_max
    slow = needs.hurry and place.get("power_kw", _FAST_KW) < _FAST_KW
    return too_dear, slow, place["distance_m"]


def _opening(language: str, place: Json) -> str:
    if place["hours"] == "24h":
        return pick(language, "It is open day and night.", "全天营业。")
    return pick(language, f"It is open until {closing(place['hours'])}.", f"营业到{closing(place['hours'])}。")


def _price(language: str, place: Json) -> str:
    if "price_yuan" not in place:
        return ""
    return pick(language, f"It costs about {place['price_yuan']} yuan a head.", f"人均{place['price_yuan']}元。")


def _charger(language: str, place: Json) -> str:
    if "free_stalls" not in place:
        return ""
    plugs = "、".join(place["connectors"])
    return pick(
        language,
        f"It has {plugs} with {place['power_kw']} kW, and {place['free_stalls']} free stalls.",
        f"有{plugs}插口，功率{place['power_kw']}千瓦，现在有{place['free_stalls']}个空位。",
    )


def _queue(language: str, place: Json) -> str:
    if "queue_min" not in place:
        return ""
    return pick(language, f"The queue takes {place['queue_min']} min.", f"目前排队约{place['queue_min']}分钟。")


def _way(language: str, place: Json, needs: Needs, town: Town) -> str:
    routes = town.routes(point(place), needs.mode)
    return way(language, routes[0], needs.mode) if routes else ""


def _deal(request: Request, place: Json, needs: Needs, town: Town) -> str:
    """Return the best deal that holds when the place is wanted; only the usual customer is told."""
    if request.task != "usual":
        return ""
    minute = needs.hour if needs.hour is not None else town.minute
    day = town.day(tomorrow=request.tomorrow)
    deals = [
        deal
        for deal in town.ask("search_deals", place_id=place["id"]).get("deals", [])
        if is_valid(deal["valid"], day, minute)
    ]
    if not deals:
        return pick(request.language, "There is no deal at the moment.", "现在没有优惠。")
    best = min(deals, key=lambda deal: float(deal["price_yuan"]))
    return pick(
        request.language,
        f"There is a deal: {best['title']} for {best['price_yuan']} yuan instead of {best['was_yuan']} yuan.",
        f"现在可用的优惠：{best['title']}，{best['price_yuan']}元，原价{best['was_yuan']}元。",
    )
