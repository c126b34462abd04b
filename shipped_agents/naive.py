"""A naive agent: the first hit, the first option, a bus, and ways out of thin air. It shows what failing items look like.

``pytest --mapsat-agent=shipped_agents.naive:agent`` ends red. Everything that it does is something that real agents do: it never
looks at the history or the profile, never asks, never checks the hours, and states what no tool has returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .language import Request, pick, understand
from .town import Json, Tools, Town, point, town_of


def agent(message: str, tools: Tools, context: Mapping[str, Any]) -> str:
    """Return the reply to the user's message.

    Args:
        message: what the user says.
        tools: the tools of the suite.
        context: of which only the town and the position are used.
    """
    request = understand(message)
    town = town_of(tools, context)
    if request.task == "ride":
        return _ride(request, town)
    if request.task == "transit":
        return _line(request, town)
    if request.task in ("outing", "errands"):
        return _outing(request, town)
    return _place(request, town)


def _hits(request: Request, town: Town, otherwise: str = "") -> list[Json]:
    query = request.subject or otherwise
    return list(town.ask("search_poi", query=query, city=town.city).get("places", ()))


def _place(request: Request, town: Town) -> str:
    """Return the first hit and a bus there, with a guessed distance and time."""
    hits = _hits(request, town, pick(request.language, "shop", "理发店"))
    if not hits:
        return pick(request.language, "I found nothing.", "没有找到。")
    first = hits[0]
    town.routes(point(first), "transit")
    return pick(
        request.language,
        f"Go to {first['name']}, {first['address']}. Take the bus, it is about 800 m and takes 4 min.",
        f"推荐{first['name']}，{first['address']}。坐公交过去，大约800米，4分钟。",
    )


def _ride(request: Request, town: Town) -> str:
    hits = _hits(request, town)
    if not hits:
        return pick(request.language, "I found nothing.", "没有找到。")
    options = town.ask("get_ride_estimate", origin=town.here, destination=point(hits[0])).get("options", [])
    if not options:
        return pick(request.language, "Take the Compact, it costs 20 yuan.", "建议叫快车，只要20元。")
    kind, price = options[0]["kind"], options[0]["price_yuan"]
    return pick(request.language, f"Take the {kind}, it costs {price} yuan.", f"建议叫{kind}，只要{price}元。")


def _line(request: Request, town: Town) -> str:
    lines = town.ask("get_transit_lines", city=town.city, origin=town.here_name, destination=request.subject).get(
        "lines", []
    )
    if not lines:
        return pick(request.language, "I found nothing.", "没有找到。")
    first = lines[0]
    leaves, minutes = (first["next"] or [first["last"]])[0], first["ride_min"]
    return pick(
        request.language,
        f"Take the {first['line']} at {leaves} and get off at {first['alight']}, the ride takes {minutes} min.",
        f"请乘{leaves}的{first['line']}，在{first['alight']}下车，车程{minutes}分钟。",
    )


def _outing(request: Request, town: Town) -> str:
    hits = _hits(request, town, pick(request.language, "sights", "景点"))[:2]
    names = pick(request.language, " and then ", "，然后去").join(hit["name"] for hit in hits)
    return pick(request.language, f"Visit {names}, 3 min on foot each.", f"可以去{names}，步行各3分钟。")
