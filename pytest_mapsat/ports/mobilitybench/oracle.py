"""An answer to a row from its columns, as an agent that knows them would give it."""

from __future__ import annotations

import re
from collections.abc import Callable

from pytest_mapsat.model import Json, JsonObject

from .rows import Row
from .words import MODES, arrive_by, kept_names, meant_lines, obeys, properties_asked, rides, transits

_MODE_WORDS = {"driving": "驾车", "walking": "步行", "cycling": "骑行", "transit": "公共交通"}
_CUT_FIRST = re.compile(
    r"'distance': '(?P<metres>\d{1,9})'.{0,400}?'duration': '(?P<seconds>\d{1,9})'"
    r"|'duration': '(?P<first>\d{1,9})'.{0,400}?'distance': '(?P<then>\d{1,9})'",
    re.DOTALL,
)
_CUT_FROM = re.compile(r"'(?:paths|transits)': \[")
_DAY = 24 * 60


def answer(row: Row) -> str:
    """Return what is told the user."""
    return _ANSWERS.get(row.scenario, _route)(row)


def _poi(row: Row) -> str:
    place = row.calls[0].result
    if not isinstance(place, dict):
        return "没有查到这个地点。"
    return f"{place.get('name')}的地址是{place.get('address')}，坐标：{place.get('location')}。"


def _geolocation(row: Row) -> str:
    return f"您现在位于{row.text('formatted_address')}。"


def _nearby(row: Row) -> str:
    found = row.calls[-1].result
    items = found.get("pois") if isinstance(found, dict) else None
    named = [item for item in items[:3] if isinstance(item, dict)] if isinstance(items, list) else []
    lines = [f"{number}. {item.get('name')}，地址：{item.get('address')}" for number, item in enumerate(named, 1)]
    return "\n".join(["为您找到附近的地点：", *lines]) if lines else "附近没有找到。"


def _weather(row: Row) -> str:
    text = row.text("weather_description")
    told = re.split(r"[。]", text)[0]
    return f"{told}。" if re.search(r"\d", told) else "很抱歉，暂无该地的天气数据。"


def _traffic(row: Row) -> str:
    info = row.mapping("ans").get("trafficinfo")
    told = str(info.get("description") or "") if isinstance(info, dict) else ""
    return told or "没有查到这条路的路况。"


def _route(row: Row) -> str:
    figures = _figures(row)
    if row.route is None or figures is None:
        return "很抱歉，没有取得路线。"
    metres, seconds = figures
    mode = _MODE_WORDS[MODES[row.route.tool]]
    stops = "".join(f"途经{place.get('name')}（{name}），" for name, place in row.places("query_transit_poi"))
    more = "".join(f"，红绿灯{lights}个" for lights in _first(row, "cost", "traffic_lights"))
    more += "".join(f"，过路费{tolls}元" for tolls in _first(row, "cost", "tolls"))
    if "taxi" in properties_asked(row.text("query")) and (fare := _route_of(row).get("taxi_cost")):
        more += f"，打车约{_plain(fare)}元"
    return f"为您规划了{mode}路线：{stops}全程{metres / 1000:.1f}公里，预计用时{_duration(seconds)}{more}。"


def _lines(row: Row) -> str:
    lines = meant_lines(row)
    for way in transits(row):
        found = rides(way)
        if obeys(found, lines):
            names = "，再换乘".join(kept_names(one, lines)[0] for one in found)
            metres, seconds = _number(way.get("distance")), _number(way.get("duration"))
            return f"建议乘坐{names}，全程{metres / 1000:.1f}公里，预计用时{_duration(seconds)}，票价{_plain(way.get('cost'))}元。"
    return _route(row)


def _departure(row: Row) -> str:
    there, figures = arrive_by(row), _figures(row)
    if there is None or figures is None:
        return _route(row)
    leave = (there - figures[1] // 60 - 5) % _DAY
    return f"{_route(row)}建议{leave // 60:02d}:{leave % 60:02d}出发。"


def _figures(row: Row) -> tuple[int, int] | None:
    """Return metres and seconds of the first route, from the part that is left where its result is cut."""
    if row.route is None:
        return None
    result = row.route.cut or row.route.result
    if isinstance(result, str):
        begins = _CUT_FROM.search(result)
        found = _CUT_FIRST.search(result, begins.end() if begins else 0)
        if found is not None:
            return int(found["metres"] or found["then"]), int(found["seconds"] or found["first"])
        return _in_words(result)
    one = _first_way(row)
    cost = one.get("cost")
    seconds = _number(cost.get("duration") if isinstance(cost, dict) else one.get("duration"))
    metres = _number(one.get("distance"))
    return (metres, seconds) if metres else None


def _in_words(text: str) -> tuple[int, int] | None:
    found = re.search(r"全程([\d.]{1,9})公里，预计耗时(?:(\d{1,3})小时)?(?:(\d{1,3})分钟)?", text)
    if found is None:
        return None
    return round(float(found[1]) * 1000), int(found[2] or 0) * 3600 + int(found[3] or 0) * 60


def _route_of(row: Row) -> JsonObject:
    result = row.route.result if row.route else None
    route = result.get("route") if isinstance(result, dict) else None
    return route if isinstance(route, dict) else {}


def _first_way(row: Row) -> JsonObject:
    ways = _route_of(row).get("paths") or _route_of(row).get("transits")
    return ways[0] if isinstance(ways, list) and ways and isinstance(ways[0], dict) else {}


def _first(row: Row, *keys: str) -> list[str]:
    """Return the value at keys of the first route, where it says something."""
    value: Json = _first_way(row)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return [_plain(value)] if value not in (None, "", "0", "0.0") else []


def _number(value: Json) -> int:
    try:
        return round(float(str(value)))
    except ValueError:
        return 0


def _plain(value: Json) -> str:
    return str(value).removesuffix(".0")


def _duration(seconds: int) -> str:
    hours, minutes = divmod(max(round(seconds / 60), 1), 60)
    return f"{hours}小时{minutes}分钟" if hours and minutes else f"{hours}小时" if hours else f"{minutes}分钟"


_ANSWERS: dict[str, Callable[[Row], str]] = {
    "POI Query": _poi,
    "Geolocation Query": _geolocation,
    "Nearby Query": _nearby,
    "Weather Query": _weather,
    "Traffic Info Query": _traffic,
    "Route-Constrained Planning": _lines,
    "Arrival/Departure Time Query": _departure,
}
