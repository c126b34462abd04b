"""What a query asks for, by rules: one of MobilityBench's eleven scenarios, and the constraints that it sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

#: The scenarios, each with the words by which a query is one; the first that fits counts.
_SCENARIOS = {
    "Weather Query": r"weather|storm|rain|天气|下雨",
    "Traffic Info Query": r"traffic|堵",
    "Geolocation Query": r"where am i|我现在|位置",
    "Nearby Query": r"\bnear\b|\baround\b|附近",
    "Arrival/Departure Time Query": r"\bwhen\b|几点",
    "Route Property Query": r"how far|how long|多久|多远",
    "Multi-stop Planning": r"by way of|\bvia\b|先.*再",
    "Option-Constrained Route Planning": r"tolls?\b|motorways|不走高速|收费",
    "Route-Constrained Planning": r"not with|不坐|别走",
    "Point-to-Point Planning": r"\bdrive\b|\bwalk\b|get to|take me|怎么走|开车|走路",
    "POI Query": r"",
}
_MODES = {
    "cycling": r"bicycle|骑车",
    "walking": r"\bwalk\b|on foot|走路",
    "transit": r"\btram\b|\bbus\b|公交|坐地铁",
    "driving": r"\bdrive\b|by car|开车",
}
_STRATEGIES = {"no_tolls": r"no tolls|不收费", "no_motorways": r"without using motorways|不走高速"}
_NAME = r"(?:the )?((?:[A-Z]\w+)(?: (?:[A-Z]\w+|\d+))*)"
#: What names the parts of a query, in either language.
_PARTS = {
    "Weather Query": [rf"in (?P<city>{_NAME})", r"(?:明天|今天)(?P<city>.+?)天气"],
    "Traffic Info Query": [rf"on (?P<road>{_NAME})", r"^(?P<road>\w+?路)"],
    "Nearby Query": [
        rf"an? (?P<kind>[a-z ]+?) (?:near|around) (?P<near>{_NAME})",
        r"^(?P<near>.+?)附近有(?P<kind>.+?)吗",
    ],
    "Arrival/Departure Time Query": [
        rf"\b(?:to|from) (?P<destination>{_NAME})",
        r"\bat (?P<arrive_by>\d\d:\d\d)",
        r"在(?P<arrive_by>\d\d:\d\d)之前",
        r"到(?P<destination>[^，]+)，",
    ],
    "Route Property Query": [
        rf"from (?P<origin>{_NAME})",
        rf"\bto (?P<destination>{_NAME})",
        r"从(?P<origin>.+?)骑车到(?P<destination>.+?)要",
    ],
    "Multi-stop Planning": [
        rf"from (?P<origin>{_NAME})",
        rf"\bto (?P<destination>{_NAME})",
        rf"(?:by way of|via) (?P<waypoints>{_NAME})",
        r"先去(?P<waypoints>.+?)，再去(?P<destination>.+?)。",
    ],
    "Route-Constrained Planning": [rf"not with (?P<avoid>{_NAME})", r"(?:不坐|别走)(?P<avoid>.+?)(?:怎么走|。)"],
    "POI Query": [rf"(?:of|is) (?P<place>{_NAME})", r"^(?P<place>.+?)在"],
}
_DESTINATION = [rf"\bto (?P<destination>{_NAME})", r"去(?P<destination>[^，。]+?)(?:怎么走|，|。)"]
_LISTS = ("waypoints", "avoid")


@dataclass(frozen=True)
class Wish:
    """What a query asks for.

    Attributes:
        intent: the scenario.
        constraints: what the query sets, by the names that the cases ask for.
        chinese: whether it is in Chinese.
    """

    intent: str
    constraints: Mapping[str, Any]
    chinese: bool


def understand(query: str, now: str) -> Wish:
    """Return what a query asks for.

    Args:
        query: the user's words.
        now: the case's time, ISO 8601.
    """
    intent = next(name for name, words in _SCENARIOS.items() if re.search(words, query, re.IGNORECASE))
    constraints: dict[str, Any] = {}
    if intent.endswith("Planning") or intent in ("Route Property Query", "Arrival/Departure Time Query"):
        modes = [mode for mode, words in _MODES.items() if re.search(words, query, re.IGNORECASE)]
        constraints |= {"mode": modes[0]} | _parts(_DESTINATION, query)
    if intent == "Option-Constrained Route Planning":
        constraints["strategy"] = [name for name, words in _STRATEGIES.items() if re.search(words, query)]
    constraints |= _parts(_PARTS.get(intent, []), query)
    if intent == "Weather Query":
        constraints["day"] = _day(query, date.fromisoformat(now[:10])).isoformat()
    return Wish(intent, constraints, chinese=re.search(r"[\u4e00-\u9fff]", query) is not None)


def _parts(patterns: list[str], query: str) -> dict[str, Any]:
    """Return what named parts of some patterns say, without an article."""
    found: dict[str, Any] = {}
    for pattern in patterns:
        for match in re.finditer(pattern, query):
            for name, value in match.groupdict().items():
                bare = value.removeprefix("the ").strip()
                found.setdefault(name, [bare] if name in _LISTS else bare)
    return found


def _day(query: str, today: date) -> date:
    if re.search(r"tomorrow|明天", query):
        return today + timedelta(days=1)
    if "Saturday" in query:
        return today + timedelta(days=(5 - today.weekday()) % 7)
    return today
