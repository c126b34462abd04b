"""What an answer to a row must hold, as factors with checks, from the row's columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pytest_mapsat.model import Json, JsonObject

from .mob_calls import spellings_of_points, spellings_of_set
from .mob_rows import Row, point_of, slots
from .mob_words import (
    MODES,
    TRAFFIC,
    WEATHER,
    arrive_by,
    kept_names,
    meant_lines,
    obeys,
    other_words,
    properties_asked,
    rides,
    states_in,
    transits,
)
from .shipped import mobility_tools

Checks = list[JsonObject]
#: What sort of a name each part of an address is, by its ending.
_DISTRICTS = ("区", "县", "旗", "市")
_ROADS = ("路", "街", "道", "高速", "巷", "胡同", "弄")
_PARTS = ("省", "市", "区", "县", "镇", "乡", "村", "路", "街", "道")
#: Words that end like names and are none.
_NO_NAMES = (
    "一路", "路线", "道路", "公路", "马路", "沿路", "走路", "知道", "街道", "路段", "城市", "市区", "城区", "小区", "社区", "景区", "园区", "校区",
    "超市", "地区", "区域", "附近", "本市", "全市", "该市", "该区", "乡村", "农村", "路口", "路边", "路况", "隧道", "频道", "通道", "渠道", "街区",
)  # fmt: skip
_WEATHER_NOT_KNOWN = (
    "暂无",
    "没有",
    "无法",
    "未能",
    "查不到",
    "没查到",
    "缺失",
    "不可用",
    "获取失败",
    "未获取",
    "未返回",
    "不完整",
)
_CODE = re.compile(r"^[A-Z]\d{1,5}")
_HOURS_BEFORE = 150
_ROUNDING_MIN = 3
_DAY = 24 * 60


def factors(row: Row, now: str) -> JsonObject:
    """Return the explicit factors and the facts of a row's case.

    Args:
        row: the row, read.
        now: the case's time, ISO 8601; empty where it has none.
    """
    explicit, facts = _SCENARIOS[row.scenario](row, now)
    return {"explicit": explicit, "facts": facts}


def _factor(name: str, text: str, check: JsonObject) -> JsonObject:
    return {"id": name, "text": text, "check": check}


def _any(*checks: JsonObject) -> JsonObject:
    return checks[0] if len(checks) == 1 else {"kind": "any", "checks": list(checks)}


def _all(*checks: JsonObject) -> JsonObject:
    return checks[0] if len(checks) == 1 else {"kind": "all", "checks": list(checks)}


def _grounded(*claims: str) -> JsonObject:
    return {"kind": "grounded", "claims": list(claims)}


Made = tuple[Checks, Checks]


def _poi(row: Row, _now: str) -> Made:
    call = next((one for one in row.calls if one.tool == "query_poi"), None)
    point = point_of(row.text("ans_loc")) or point_of(call.result if call else None)
    explicit = [_factor("deliver", "给出所问地点的地址或坐标", _any({"kind": "located"}, _told(_PARTS)))]
    if point is not None:
        where: JsonObject = {"kind": "located", "lon": point[0], "lat": point[1], "metres": 1000}
        explicit.append(
            _factor("place", "所给地点（名称或坐标）距 query_poi 返回的位置不超过1公里，没有给出别处的坐标", where)
        )
    return explicit, [
        _factor("address", "说到的地址、坐标和电话与 query_poi 返回的一致", _grounded("point", "address", "phone"))
    ]


def _told(endings: Iterable[str], names: Iterable[str] = (), besides: Iterable[str] = ()) -> JsonObject:
    unique = [name for name in dict.fromkeys(names) if name]
    return {"kind": "addressed", "names": unique, "endings": list(endings), "besides": [*besides, *_NO_NAMES]}


def _geolocation(row: Row, _now: str) -> Made:
    code = row.mapping("location_ans").get("regeocode")
    data: JsonObject = code if isinstance(code, dict) else {}
    parts = data.get("addressComponent")
    component: JsonObject = parts if isinstance(parts, dict) else {}
    known = [value for value in component.values() if isinstance(value, str)]
    explicit = [_factor("deliver", "说出一个地址（行政区、道路或地点）", _told(_PARTS))]
    district = component.get("district")
    if isinstance(district, str) and district:
        besides = [value for value in (*known, *_names(data, "businessAreas", component)) if value != district]
        check = _told(_DISTRICTS, _shorter(district, _DISTRICTS), besides)
        explicit.append(_factor("district", f"说出所在的区县：{district}", check))
    roads = [road for name in _names(data, "roads") for road in _spoken_road(name)]
    places = [*_names(data, "pois"), *_names(data, "aois")]
    street = row.text("formatted_address")
    for value in sorted(filter(None, known), key=len, reverse=True):
        street = street.replace(value, "")
    near = [name for name in (street, *roads, *places) if len(name) > 1]
    if near:
        text = f"说出所在的道路或附近的地点：{street or near[0]}，或 reverse_geocoding 返回的道路、地点之一"
        explicit.append(_factor("road", text, _told(_ROADS, near, [*known, *_names(data, "businessAreas", component)])))
    return explicit, [_factor("distances", "说到的距离和坐标与返回的一致", _grounded("distance", "point"))]


def _names(data: JsonObject, key: str, inside: JsonObject | None = None) -> list[str]:
    found = (data if inside is None else inside).get(key)
    items = found if isinstance(found, list) else []
    return [str(item["name"]) for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]


def _shorter(name: str, endings: Iterable[str]) -> list[str]:
    """Return a name with and without its ending, where two characters are left."""
    bare = next((name.removesuffix(end) for end in endings if name.endswith(end)), name)
    return [name, bare] if len(bare) > 1 else [name]


def _spoken_road(name: str) -> list[str]:
    """Return a road's name as it may be said: with its code, without, and the code alone."""
    code = _CODE.match(name)
    return [name, name[code.end() :], code.group()] if code and len(name) > code.end() + 1 else [name]


def _nearby(row: Row, _now: str) -> Made:
    call = next((one for one in row.calls if one.tool == "search_around_poi"), None)
    listed = call.result.get("pois") if call and isinstance(call.result, dict) else None
    items = listed if isinstance(listed, list) else []
    names = [str(item["name"]) for item in items if isinstance(item, dict) and item.get("name")]
    tool = "search_around_poi"
    some: JsonObject = {
        "kind": "recommends",
        "tool": tool,
        "where": {"name": {"op": "present"}},
        "quantifier": "any",
        "turn": "any",
    }
    explicit = [_factor("deliver", "说出附近至少一个所找的地点", some)]
    if names:
        check = {"kind": "recommends", "tool": tool, "names": list(dict.fromkeys(names)), "quantifier": "any"}
        explicit.append(_factor("listed", "说出的地点在 search_around_poi 返回的列表里", check))
    claims = _grounded("name", "address", "point", "distance", "phone")
    return explicit, [_factor("details", "说到的名称、地址、距离和坐标与返回的一致", claims)]


def _weather(row: Row, _now: str) -> Made:
    text = row.text("weather_description")
    told = states_in(text, WEATHER)
    every = [word for words in WEATHER.values() for word in words]
    degrees: JsonObject = {"kind": "number", "unit": "celsius", "quantifier": "any"}
    given = re.search(r"-?\d+(?:\.\d+)?\s*[℃度]", text)
    if not told and not given:
        missing = {"kind": "said", "any": list(_WEATHER_NOT_KNOWN)}
        explicit = [_factor("deliver", "说明查不到该地的天气数据", missing)]
    else:
        some = _any({**degrees, "min": -90, "max": 70}, {"kind": "said", "any": every, "about": every})
        explicit = [_factor("deliver", "说出天气状况或气温", some)]
    if told:
        explicit.append(_factor("condition", f"天气状况：{'、'.join(told)}", _state(WEATHER, told)))
    if given:
        bound = {"op": "bound", "tool": "weather_query", "path": "weather_description"}
        same = {**degrees, "equals": bound, "tolerance": 0}
        explicit.append(_factor("temperature", "气温与 weather_query 返回的一致", same))
    facts = _factor("figures", "说到的温度、湿度等数字与返回的一致", _grounded("quantity"))
    return explicit, [facts]


def _state(states: dict[str, tuple[str, ...]], told: list[str]) -> JsonObject:
    """Return the check that one of the told states is said, and no other."""
    own = [word for state in told for word in states[state]]
    every = list(dict.fromkeys(word for words in states.values() for word in words))
    said: JsonObject = {"kind": "said", "any": own, "about": every}
    others = list(dict.fromkeys(other_words(states, told)))
    return _all(said, {"kind": "not_said", "phrases": others}) if others else said


def _traffic(row: Row, _now: str) -> Made:
    info = row.mapping("ans").get("trafficinfo")
    data: JsonObject = info if isinstance(info, dict) else {}
    evaluation = data.get("evaluation")
    overall = str(evaluation.get("description") or "") if isinstance(evaluation, dict) else ""
    told = [state for state in TRAFFIC if state in overall or state in str(data.get("description") or "")]
    every = [word for words in TRAFFIC.values() for word in words]
    explicit = [_factor("deliver", "说出道路是否畅通", {"kind": "said", "any": every, "about": every})]
    if told:
        explicit.append(_factor("status", f"路况：{'、'.join(told)}", _state(TRAFFIC, told)))
    facts = _factor("figures", "说到的百分比等数字与 traffic_status 返回的一致", _grounded("quantity"))
    return explicit, [facts]


def _figure(row: Row, what: str, if_absent: str) -> JsonObject | None:
    """Return the check that a figure of the route agrees with what its tool returned."""
    if row.route is None:
        return None
    check, paths, unit = _FIGURES[what]
    if isinstance(row.route.result, str):
        path: str | None = ""
        unit = ""
    else:
        path = paths["transits" if row.route.tool == "bus_route" else "paths"]
    if path is None:
        return None
    bound = {"op": "bound", "tool": row.route.tool, "path": path}
    found: JsonObject = {"kind": "number", **check, "quantifier": "any", "if_absent": if_absent}
    return {**found, "equals": bound, **({"equals_unit": unit} if unit else {})}


_Paths = dict[str, str | None]
#: what is told of a route -> its check, where its values stand, and their unit.
_FIGURES: dict[str, tuple[JsonObject, _Paths, str]] = {
    "distance": (
        {"unit": "km", "role": "travel_distance"},
        {"paths": "route.paths.*.distance", "transits": "route.transits.*.distance"},
        "m",
    ),
    "time": (
        {"unit": "min", "role": "travel_time"},
        {"paths": "route.paths.*.cost.duration", "transits": "route.transits.*.duration"},
        "s",
    ),
    "tolls": ({"unit": "yuan"}, {"paths": "route.paths.*.cost.tolls", "transits": "route.transits.*.cost"}, ""),
    "lights": ({"unit": "count"}, {"paths": "route.paths.*.cost.traffic_lights", "transits": None}, ""),
}


def _route_told(row: Row) -> Checks:
    """Return what every answer with a route must hold: something of a route, that the tool was asked, and figures that agree with it."""
    figure: JsonObject = {"kind": "number", "quantifier": "any", "min": 0}
    told = _any({**figure, "unit": "km", "role": "travel_distance"}, {**figure, "unit": "min", "role": "travel_time"})
    explicit = [_factor("deliver", "给出一条路线的里程或用时", told)]
    if row.route is not None:
        called = {"kind": "called", "tool": row.route.tool, "answered": True}
        if row.route.cut:
            text = f"路线来自 {row.route.tool} 的结果（数据源中该结果不完整，不提供）"
            return [*explicit, _factor("route", text, called)]
        same = [one for what in ("distance", "time") if (one := _figure(row, what, "fail")) is not None]
        text = f"里程或用时与 {row.route.tool} 返回的某条路线一致"
        explicit.append(_factor("route", text, _all(called, _any(*same))))
    return explicit


def _route_facts(row: Row) -> Checks:
    if row.route is None or row.route.cut:
        return []
    texts = {"distance": "说到的全程里程与返回的路线一致", "time": "说到的全程用时与返回的路线一致"}
    return [
        _factor(what, text, check)
        for what, text in texts.items()
        if (check := _figure(row, what, "vacuous")) is not None
    ]


def _by(row: Row) -> Checks:
    """Return that the user is sent on the way of travelling that is expected."""
    if row.route is None:
        return []
    mode = MODES[row.route.tool]
    ways = [mode, "walking", "taxi"] if mode == "transit" else [mode, "taxi"] if mode == "driving" else [mode]
    words = {"driving": "驾车", "walking": "步行", "cycling": "骑行", "transit": "公共交通"}[mode]
    return [_factor("mode", f"出行方式是{words}，没有让用户改用别的方式", {"kind": "travels", "by": ways})]


def _planned(row: Row, _now: str) -> Made:
    return [*_route_told(row), *_by(row)], _route_facts(row)


def _multi_stop(row: Row, now: str) -> Made:
    explicit, facts = _planned(row, now)
    stops = [[name, str(place.get("name") or "")] for name, place in row.places("query_transit_poi")]
    stops = stops or [[name] for name in slots(row, "query_transit_poi")]
    said = [{"kind": "said", "any": [one for one in dict.fromkeys(names) if one]} for names in stops]
    called = _called_with(row, "waypoints")
    if said or called:
        text = f"经过途经点（{'、'.join(names[0] for names in stops)}）：写在调用里，也告诉用户"
        explicit.append(_factor("stops", text, _all(*called, *said)))
    return explicit, facts


def _called_with(row: Row, name: str) -> Checks:
    """Return the check that the route was asked for with an argument as gold has it."""
    if row.route is None or not isinstance(values := row.route.arguments.get(name), list) or not values:
        return []
    spelled = (
        spellings_of_points(values)
        if name == "waypoints"
        else spellings_of_set(values, mobility_tools()[row.route.tool].match[name].synonyms)
    )
    return [{"kind": "called", "tool": row.route.tool, "with": {name: {"op": "one_of", "values": spelled}}}]


def _options(row: Row, now: str) -> Made:
    explicit, facts = _planned(row, now)
    wishes = "、".join(map(str, row.items("strategy_list")))
    if called := _called_with(row, "strategy"):
        explicit.append(_factor("strategy", f"路线策略“{wishes}”写在路线工具的调用里", _all(*called)))
    return explicit, facts


def _lines(row: Row, now: str) -> Made:
    explicit, _ = _planned(row, now)
    lines = meant_lines(row)
    ways = [(way, rides(way)) for way in transits(row)]
    good = [(way, found) for way, found in ways if obeys(found, lines)]
    if not good:
        return explicit, []
    words = [*(f"不坐{line}" for line in lines.avoid), *(f"要坐{line}" for line in lines.take)]
    keeps = _any(*(_takes([kept_names(names, lines) for names in found]) for _, found in good))
    refused = [name for _, found in ways for names in found for name in names if name not in kept_names(names, lines)]
    avoid = list(dict.fromkeys(refused)) or list(lines.avoid)
    checks = [keeps, *([{"kind": "avoids", "names": avoid}] if avoid else [])]
    explicit.append(
        _factor(
            "lines", f"推荐的线路符合要求（{'，'.join(words)}），并且是 bus_route 返回的某个方案的线路", _all(*checks)
        )
    )
    facts = []
    for what, key, unit, scale in (("time", "duration", "min", 60.0), ("fare", "cost", "yuan", 1.0)):
        values = {float(str(way[key])) / scale for way, _ in good if _is_number(way.get(key))}
        if values:
            check = _any(*(_within(unit, value, what) for value in sorted(values)))
            text = {"time": "说到的用时", "fare": "说到的票价"}[what]
            facts.append(_factor(what, f"{text}是符合要求的方案的", check))
    return explicit, facts


def _takes(ride_names: list[list[str]]) -> JsonObject:
    return {"kind": "covers", "names": ride_names}


def _within(unit: str, value: float, what: str) -> JsonObject:
    slack = max(value * 0.05, 1.0) if what == "time" else 0.01
    role = {"role": "travel_time"} if what == "time" else {}
    bounds = {"min": round(max(value - slack, 0), 3), "max": round(value + slack, 3)}
    return {"kind": "number", "unit": unit, **role, **bounds, "quantifier": "any", "if_absent": "vacuous"}


def _is_number(value: Json) -> bool:
    return bool(re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", str(value)))


def _property(row: Row, now: str) -> Made:
    explicit, facts = _planned(row, now)
    asked = [what for what in properties_asked(row.text("query")) if row.route is not None and not row.route.cut]
    texts = {"distance": "里程", "time": "用时", "tolls": "费用", "lights": "红绿灯数"}
    for what in asked:
        check = _figure(row, what, "fail")
        if check is not None:
            explicit.append(_factor(f"asked_{what}", f"说出所问的{texts[what]}，并与返回的某条路线一致", check))
            facts = [fact for fact in facts if fact["id"] != what]
    return explicit, facts


def _departure(row: Row, now: str) -> Made:
    explicit, facts = _planned(row, now)
    some: JsonObject = {"kind": "clock_time", "after": "00:00", "before": "23:59", "quantifier": "any"}
    explicit[0] = _factor("deliver", "给出出发时间，或路上要用的时间", _any(explicit[0]["check"], some))
    there = arrive_by(row, now)
    durations = _durations(row)
    if there is not None and durations and row.route is not None and not row.route.cut:
        latest = there - min(durations) // 60 + _ROUNDING_MIN
        earliest = there - max(durations) // 60 - _HOURS_BEFORE
        window = {"after": _clock(earliest), "before": _clock(latest)}
        check = {"kind": "clock_time", "role": "departure", **window, "quantifier": "any"}
        text = f"建议的出发时间能在{_clock(there)}之前到达，也不早得离谱（{window['after']}到{window['before']}）"
        explicit.append(_factor("departure", text, check))
    return explicit, facts


def _durations(row: Row) -> list[int]:
    result = row.route.result if row.route else None
    route = result.get("route") if isinstance(result, dict) else None
    paths = route.get("paths") if isinstance(route, dict) else None
    costs = [path.get("cost") for path in paths if isinstance(path, dict)] if isinstance(paths, list) else []
    found = [cost.get("duration") for cost in costs if isinstance(cost, dict)]
    return [round(float(str(value))) for value in found if _is_number(value)]


def _clock(minutes: int) -> str:
    return f"{minutes % _DAY // 60:02d}:{minutes % 60:02d}"


_SCENARIOS: dict[str, Callable[[Row, str], Made]] = {
    "POI Query": _poi,
    "Geolocation Query": _geolocation,
    "Nearby Query": _nearby,
    "Weather Query": _weather,
    "Traffic Info Query": _traffic,
    "Route Property Query": _property,
    "Arrival/Departure Time Query": _departure,
    "Point-to-Point Planning": _planned,
    "Multi-stop Planning": _multi_stop,
    "Option-Constrained Route Planning": _options,
    "Route-Constrained Planning": _lines,
}
