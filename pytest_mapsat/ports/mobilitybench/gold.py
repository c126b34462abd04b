"""What a row's gold is worth, and the answer that an agent who knows it would give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pytest_mapsat.model import Json, JsonObject, shown
from pytest_mapsat.sandbox import distance_m

from .rows import (
    MODE_WORDS,
    MODES,
    OWN_PLACE,
    WEATHER,
    Row,
    arrive_by,
    asked_lines,
    at,
    bare_city,
    is_refused,
    kept_names,
    meant_lines,
    obeys,
    objects,
    point_of,
    properties_asked,
    says_nothing,
    states_in,
    text_at,
    transits,
    way_given,
    ways_asked,
)

_CUT_FIRST = re.compile(
    r"'distance': '(?P<metres>\d{1,9})'.{0,400}?'duration': '(?P<seconds>\d{1,9})'"
    r"|'duration': '(?P<first>\d{1,9})'.{0,400}?'distance': '(?P<then>\d{1,9})'",
    re.DOTALL,
)
_CUT_FROM = re.compile(r"'(?:paths|transits)': \[")
_IN_WORDS = re.compile(r"全程([\d.]{1,9})公里，预计耗时(?:(\d{1,3})小时)?(?:(\d{1,3})分钟)?")
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
    named = objects(at(row.calls[-1].result, "pois"))[:3]
    lines = [f"{number}. {place.get('name')}，地址：{place.get('address')}" for number, place in enumerate(named, 1)]
    return "\n".join(["为您找到附近的地点：", *lines]) if lines else "附近没有找到。"


def _weather_told(row: Row) -> str:
    told = row.text("weather_description").partition("。")[0]
    return f"{told}。" if re.search(r"\d", told) else "很抱歉，暂无该地的天气数据。"


def _traffic(row: Row) -> str:
    return text_at(row.mapping("ans"), "trafficinfo", "description") or "没有查到这条路的路况。"


def _route(row: Row) -> str:
    figures = _figures(row)
    if row.route is None or figures is None:
        return "很抱歉，没有取得路线。"
    metres, seconds = figures
    mode = MODE_WORDS[MODES[row.route.tool]]
    stops = "".join(f"途经{place.get('name')}（{name}），" for name, place in row.places("query_transit_poi"))
    cost = _first_way(row).get("cost")
    lights, tolls = _plain(at(cost, "traffic_lights")), _plain(at(cost, "tolls"))
    more = (f"，红绿灯{lights}个" if lights else "") + (f"，过路费{tolls}元" if tolls else "")
    if "taxi" in properties_asked(row.text("query")) and (fare := _plain(row.way.get("taxi_cost"))):
        more += f"，打车约{fare}元"
    return f"为您规划了{mode}路线：{stops}全程{metres / 1000:.1f}公里，预计用时{_duration(seconds)}{more}。"


def _by_line(row: Row) -> str:
    wanted = meant_lines(row)
    for way, rides in transits(row):
        if obeys(rides, wanted):
            names = "，再换乘".join(kept_names(ride, wanted)[0] for ride in rides)
            metres, seconds = _number(way.get("distance")), _number(way.get("duration"))
            fare = str(way.get("cost")).removesuffix(".0")
            return f"建议乘坐{names}，全程{metres / 1000:.1f}公里，预计用时{_duration(seconds)}，票价{fare}元。"
    return _route(row)


def _departure(row: Row) -> str:
    there, figures = arrive_by(row), _figures(row)
    if there is None or figures is None:
        return _route(row)
    leave = (there - figures[1] // 60 - 5) % _DAY
    return f"{_route(row)}建议{leave // 60:02d}:{leave % 60:02d}出发。"


def _figures(row: Row) -> tuple[int, int] | None:
    """Return metres and seconds of the first route, from the part that is left where its result is cut."""
    result = (row.route.cut or row.route.result) if row.route else None
    if isinstance(result, str):
        begins = _CUT_FROM.search(result)
        left = _CUT_FIRST.search(result, begins.end() if begins else 0)
        if left is not None:
            return int(left["metres"] or left["then"]), int(left["seconds"] or left["first"])
        words = _IN_WORDS.search(result)
        if words is None:
            return None
        return round(float(words[1]) * 1000), int(words[2] or 0) * 3600 + int(words[3] or 0) * 60
    way = _first_way(row)
    cost, metres = way.get("cost"), _number(way.get("distance"))
    seconds = _number(cost.get("duration") if isinstance(cost, dict) else way.get("duration"))
    return (metres, seconds) if metres else None


def _first_way(row: Row) -> JsonObject:
    return next(iter(row.ways), {})


def _number(value: Json) -> int:
    try:
        return round(float(str(value)))
    except ValueError:
        return 0


def _plain(value: Json) -> str:
    """Return a figure as it is told; empty where there is none, or nothing to tell."""
    return "" if value in (None, "", "0", "0.0") else str(value).removesuffix(".0")


def _duration(seconds: int) -> str:
    hours, minutes = divmod(max(round(seconds / 60), 1), 60)
    return f"{hours}小时{minutes}分钟" if hours and minutes else f"{hours}小时" if hours else f"{minutes}分钟"


_ANSWERS: dict[str, Callable[[Row], str]] = {
    "POI Query": _poi,
    "Geolocation Query": _geolocation,
    "Nearby Query": _nearby,
    "Weather Query": _weather_told,
    "Traffic Info Query": _traffic,
    "Route-Constrained Planning": _by_line,
    "Arrival/Departure Time Query": _departure,
}

# -- doubts: what cannot be what the user wanted; each rule is general

#: A district or county as words name it; what ends like one and is a part of a town has other characters before the ending.
_REGION = re.compile(
    r"(?:^|[省市州盟])([\u4e00-\u9fff]{1,3}[^东南西北中一二三四五六七八九十新老小社园景校街片市城厂务地发业活住库郊山矿辖属能特税高商假胜]区|[\u4e00-\u9fff]{2,4}?县)"
)
_ROAD_ENDINGS = re.compile(r"(?:快速路|高架路|高架|高速公路|高速|大道|大街|公路|路段|路|街)$")
_REFUSED_HIGHWAY = re.compile(r"(?:不|别|少|免|避|绕|勿|没有?)[^，,。]{0,4}高速")
_TEMPERATURE = re.compile(r"-?\d+(?:\.\d+)?\s*[℃度]")
_LATER = ("明天", "明日", "后天", "大后天", "明早", "明晚", "下周", "周末")
_FAR_M = 300_000


def doubts_of(row: Row) -> list[str]:
    """Return what is doubtful in the gold of a row, one sentence each."""
    return [doubt for rule in _RULES for doubt in rule(row)]


def _empty(row: Row) -> Iterator[str]:
    if says_nothing(row):
        yield f"{row.calls[-1].tool} returned nothing to tell"


def _road(row: Row) -> Iterator[str]:
    told = re.split(r"[:：]", text_at(row.mapping("ans"), "trafficinfo", "description"))[0].strip()
    asked = row.text("road")
    if asked and told and _ROAD_ENDINGS.sub("", told) not in asked and _ROAD_ENDINGS.sub("", asked) not in told:
        yield f"the traffic of {shown(asked)} is asked for, that of {shown(told)} is told"


def _way(row: Row) -> Iterator[str]:
    gold = MODES.get(row.route.tool) if row.route else None
    asked = ways_asked(row)
    if gold and asked and gold not in asked:
        yield f"{' or '.join(sorted(asked))} is asked for, {gold} is expected"
    elif gold and not asked and (given := way_given(row)) and given != gold:
        yield f"the context says {given}, {gold} is expected"


def _lines(row: Row) -> Iterator[str]:
    stated, meant, query = asked_lines(row), meant_lines(row), row.text("query")
    for line in (*stated.avoid, *stated.take):
        refused = is_refused(query, line)
        if refused is not None and refused != (line in stated.avoid):
            yield f"the user {'refuses' if refused else 'wants'} {shown(line)}, gold {'takes' if refused else 'avoids'} it"
    marked = row.text("matched_transit_index")
    ways = transits(row)
    if marked and ways and re.fullmatch(r"\d{1,3}(?:\.0)?", marked):
        index = int(float(marked))
        if index >= len(ways) or not obeys(ways[index][1], meant):
            yield f"the way that is marked, number {index}, breaks the constraint"


def _strategy(row: Row) -> Iterator[str]:
    query = row.text("query")
    for wish in map(str, row.items("strategy_list")):
        away = _REFUSED_HIGHWAY.search(query) is not None
        if (wish == "高速优先" and away) or (wish == "不走高速" and "高速" in query and not away):
            yield f"the strategy {shown(wish)} is not what the query asks for"


def _own_place(row: Row) -> Iterator[str]:
    for name, _ in row.places("query_start_poi"):
        if OWN_PLACE.fullmatch(name):
            yield f"the user's own place, {shown(name)}, is looked up as a place"


def _region(row: Row) -> Iterator[str]:
    """A place in another district than the words name."""
    for name, place in _searched(row):
        where = f"{place.get('name', '')}{place.get('address', '')}"
        for region in _REGION.findall(name):
            if region not in where and region[:-1] not in where:
                yield f"{shown(name)} was found as {shown(str(place.get('name')))}, which is not in {region}"


def _distant(row: Row) -> Iterator[str]:
    """A place of a common name far off, where nothing in the query leads there."""
    here = point_of(row.mapping("context").get("user_current_location"))
    for name, place in _searched(row):
        there, parts = point_of(place), str(place.get("address") or "").split()
        regions = [part[:2] for part in parts[:2]] + [
            start for start in [str(place.get("name"))[:2]] if start != name[:2]
        ]
        is_region = len(set(parts[1:])) == 1 < len(parts[1:])  # the service repeats the region where there is no street
        led = is_region or any(region in row.text("query") for region in regions)
        if here and there and not led and distance_m(*here, *there) > _FAR_M and not OWN_PLACE.fullmatch(name):
            apart = round(distance_m(*here, *there) / 1000)
            yield f"{shown(name)} was found as {shown(str(place.get('name')))}, {apart} km away, and nothing in the query leads there"


def _weather(row: Row) -> Iterator[str]:
    text = row.text("weather_description")
    if row.scenario != "Weather Query":
        return
    if not states_in(text, WEATHER) or not _TEMPERATURE.search(text):
        yield "the weather has no condition or no temperature"
    day = row.text("time") or next((word for word in _LATER if word in row.text("query")), "")
    if day.startswith(_LATER) and "当前天气" in text:
        yield f"the weather of {shown(day)} is asked for, that of now is told"
    cities = {str(call.arguments.get("city") or "") for call in row.calls}
    for city in sorted(filter(None, cities)):
        if text and bare_city(city) not in text:
            yield f"the weather of {shown(city)} is asked for, that of another place is told"


def _searched(row: Row) -> Iterator[tuple[str, dict[str, object]]]:
    for call in row.calls:
        if call.tool == "query_poi" and isinstance(call.result, dict):
            yield str(call.arguments.get("keywords") or ""), dict(call.result)


_RULES: tuple[Callable[[Row], Iterator[str]], ...]
_RULES = (_empty, _road, _way, _lines, _strategy, _own_place, _region, _distant, _weather)
