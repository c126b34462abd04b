"""What the two agents say of what their tools returned, in the user's language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Data = Mapping[str, Any]
_BY = {
    "driving": ("Drive", "开车"),
    "cycling": ("Cycle", "骑车"),
    "walking": ("Walk", "步行"),
}
NOTHING = ("I could not find that out.", "没有查到。")


def length(metres: float, *, chinese: bool) -> str:
    """Return a length in kilometres, to ten metres."""
    return f"{metres / 1000:g}{'公里' if chinese else ' km'}"


def of_place(poi: Data, *, chinese: bool) -> str:
    """Tell where a place is."""
    return f"{poi['name']}在{poi['address']}。" if chinese else f"{poi['name']} is at {poi['address']}."


def of_area(area: Data, *, chinese: bool) -> str:
    """Tell where a point is."""
    if chinese:
        return f"您现在在{area['city']}{area['district']}的{area['name']}上。"
    return f"You are on {area['name']} in the {area['district']} of {area['city']}."


def of_neighbour(poi: Data, *, chinese: bool) -> str:
    """Tell which place is near."""
    if chinese:
        return f"最近的是{poi['name']}，在{poi['address']}，直线距离{poi['distance_m']}米。"
    return f"The nearest is {poi['name']}, {poi['address']}, {poi['distance_m']} m away as the crow flies."


def of_weather(found: Data, *, chinese: bool) -> str:
    """Tell the weather of a day."""
    if chinese:
        return f"{found['city']}的天气是{found['condition']}，最高{found['high_c']}度，最低{found['low_c']}度。"
    return (
        f"The weather in {found['city']} is {found['condition']}, high {found['high_c']} °C, low {found['low_c']} °C."
    )


def of_traffic(found: Data, *, chinese: bool) -> str:
    """Tell how the traffic flows."""
    if chinese:
        return f"{found['road']}的路况是{found['status']}。{found['note']}。"
    return f"{found['road']} is {found['status']} now. {found['note'][0].upper()}{found['note'][1:]}."


def of_route(route: Data, mode: str, *, chinese: bool) -> str:
    """Tell one route."""
    way, minutes = length(route["distance_m"], chinese=chinese), route["duration_min"]
    if chinese:
        by = f"请走{route['via']}，" if "via" in route else ""
        return f"{by}{_BY[mode][1]}{minutes}分钟，{way}。"
    by = f" by {route['via']}" if "via" in route else ""
    return f"{_BY[mode][0]}{by}: {minutes} min, {way}."


def of_line(line: Data, place: str, *, chinese: bool) -> str:
    """Tell one line."""
    if chinese:
        return f"坐{line['line']}，{line['ride_min']}分钟到{place}，票价{line['fare_yuan']}元。"
    return f"Take {line['line']}: {line['ride_min']} min to {place}, {line['fare_yuan']} yuan."


def of_trip(legs: Sequence[tuple[str, Data]], mode: str, *, chinese: bool) -> str:
    """Tell a trip, leg by leg."""
    minutes = [leg["duration_min"] for _, leg in legs]
    if chinese:
        first, *others = (f"到{place}，{leg['duration_min']}分钟" for place, leg in legs)
        return f"先{_BY[mode][1]}{first}；再{'；再'.join(others)}。"
    told = [f"to {place}, {minute} min" for (place, _), minute in zip(legs, minutes, strict=True)]
    return f"First {_BY[mode][0].lower()} {', then '.join(told)}."


def of_departure(clock: str, route: Data, mode: str, *, chinese: bool) -> str:
    """Tell when to leave at the latest."""
    return (
        f"最晚{clock}出发，{_takes(route, mode, chinese=True)}。"
        if chinese
        else f"Leave by {clock}; {_takes(route, mode)}."
    )


def of_arrival(clock: str, route: Data, mode: str, *, chinese: bool) -> str:
    """Tell when one arrives who leaves now."""
    return (
        f"现在出发{clock}到，{_takes(route, mode, chinese=True)}。"
        if chinese
        else f"You arrive at {clock}; {_takes(route, mode)}."
    )


def _takes(route: Data, mode: str, *, chinese: bool = False) -> str:
    minutes = route["duration_min"]
    if chinese:
        by = f"走{route['via']}" if "via" in route else ""
        return f"{by}{_BY[mode][1]}要{minutes}分钟"
    by = f" by {route['via']}" if "via" in route else ""
    return f"the {_BY[mode][0].lower()}{by} takes {minutes} min"
