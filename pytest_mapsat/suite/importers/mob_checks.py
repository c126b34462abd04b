"""What an answer to a row must hold, as factors with checks, from the row's columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pytest_mapsat.model import Json, JsonObject

from .mob_calls import spellings_of_points, spellings_of_set
from .mob_rows import Row, point_of, slots
from .mob_words import (
    MODES,
    NEGATORS,
    TRAFFIC,
    WEATHER,
    arrive_by,
    kept_names,
    meant_lines,
    names_of_line,
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
_SHOPS = ("店", "馆", "行", "院", "场", "厅", "楼", "城", "中心", "公司", "公园", "超市", "站", "部", "所")
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
_HAN_DIGITS = "零一二三四五六七八九十"
_TEN = 10
_PART = 3
_HOURS_BEFORE = 150
_ROUNDING_MIN = 3
_ROUNDING = 0.05
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


def _from(tool: str, *checks: JsonObject) -> JsonObject:
    """Return the checks with the one that a tool said so: what is told without having asked is a guess."""
    return _all({"kind": "called", "tool": tool, "answered": True}, *checks)


def _grounded(*claims: str) -> JsonObject:
    return {"kind": "grounded", "claims": list(claims)}


Made = tuple[Checks, Checks]


def _poi(row: Row, _now: str) -> Made:
    call = next((one for one in row.calls if one.tool == "query_poi"), None)
    point = point_of(row.text("ans_loc")) or point_of(call.result if call else None)
    explicit = [_factor("deliver", "给出所问地点的地址或坐标", _any({"kind": "located"}, _told(_PARTS)))]
    if point is not None:
        where: JsonObject = {"kind": "located", "lon": point[0], "lat": point[1], "metres": 1000}
        where["words"] = _street(call.result if call else None)
        explicit.append(
            _factor(
                "place",
                "所给地点（名称或坐标）距 query_poi 返回的位置不超过1公里，没有给出别处的坐标",
                _from("query_poi", where),
            )
        )
    return explicit, [
        _factor("address", "说到的地址、坐标和电话与 query_poi 返回的一致", _grounded("point", "address", "phone"))
    ]


def _street(place: Json) -> list[str]:
    """Return the last part of a place's address, where it says more than the region."""
    parts = str(place.get("address") or "").split() if isinstance(place, dict) else []
    street = re.sub(r"[(（][^()（）]*[)）]", "", parts[-1]) if parts else ""
    return [street] if len(parts) > 2 and street not in parts[:-1] and len(street) > 2 else []  # noqa: PLR2004  province, district, street


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
        explicit.append(_factor("district", f"说出所在的区县：{district}", _from("reverse_geocoding", check)))
    roads = [road for name in _names(data, "roads") for road in _spoken_road(name)]
    places = [*_names(data, "pois"), *_names(data, "aois")]
    street = row.text("formatted_address")
    for value in sorted(filter(None, known), key=len, reverse=True):
        street = street.replace(value, "")
    near = [name for name in (street, *roads, *places) if len(name) > 1 and name not in known]
    if near:
        text = f"说出所在的道路或附近的地点：{street or near[0]}，或 reverse_geocoding 返回的道路、地点之一"
        check = _told(_ROADS, near, [*known, *_names(data, "businessAreas", component)])
        explicit.append(_factor("road", text, _from("reverse_geocoding", check)))
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
    words = [one for name in names for one in dict.fromkeys((name, re.sub(r"[(（][^()（）]*[)）]", "", name))) if one]
    said: JsonObject = {"kind": "said", "any": words, "about": words}
    explicit = [_factor("deliver", "说出附近至少一个所找的地点", _any(some, *([said] if words else []), _told(_SHOPS)))]
    if names:
        listed_one = {"kind": "recommends", "tool": tool, "names": list(dict.fromkeys(names)), "quantifier": "any"}
        parts = list(dict.fromkeys(part for one in words for part in _parts_of(one)))
        told = _told(_SHOPS, words)
        check = _from(tool, _any(listed_one, told), {"kind": "said", "any": parts, "about": parts})
        explicit.append(_factor("listed", "说出的地点在 search_around_poi 返回的列表里", check))
    claims = _grounded("name", "address", "point", "phone")
    return explicit, [_factor("details", "说到的名称、地址和坐标与返回的一致", claims)]


def _parts_of(name: str) -> list[str]:
    """Return the parts of a name of which one stands in whatever it may be shortened to."""
    bare = re.sub(r"[(（)）\s]", "", name)
    return [bare[at : at + _PART] for at in range(max(len(bare) - _PART + 1, 1))]


def _weather(row: Row, _now: str) -> Made:
    text = row.text("weather_description")
    told = states_in(text, WEATHER)
    every = [word for words in WEATHER.values() for word in words]
    degrees: JsonObject = {"kind": "number", "unit": "celsius", "quantifier": "any"}
    given = [float(found[1]) for found in re.finditer(r"(-?\d+(?:\.\d+)?)\s*[℃度]", text)]
    if not told and not given:
        words = list(_WEATHER_NOT_KNOWN)
        missing = _all({"kind": "said", "any": words, "about": words}, {"kind": "not_said", "phrases": every})
        explicit = [_factor("deliver", "说明查不到该地的天气数据", missing)]
    else:
        some = _any({**degrees, "min": -90, "max": 70}, {"kind": "said", "any": every, "about": every})
        explicit = [_factor("deliver", "说出天气状况或气温", some)]
    if told:
        explicit.append(
            _factor("condition", f"天气状况：{'、'.join(told)}", _from("weather_query", _state(WEATHER, told)))
        )
    if given:
        each = [
            _all({**degrees, "min": abs(one), "max": abs(one)}, _signed(one, below=one < 0))
            for one in dict.fromkeys(given)
        ]
        listed = "、".join(f"{one:g}℃" for one in dict.fromkeys(given))
        explicit.append(_factor("temperature", f"气温：{listed}", _from("weather_query", _any(*each))))
    bound = {"op": "bound", "tool": "weather_query", "path": "weather_description"}
    humidity = {"kind": "number", "unit": "percent", "equals": bound, "tolerance": 0, "quantifier": "any"}
    facts = _factor("figures", "说到的湿度与 weather_query 返回的一致", {**humidity, "if_absent": "vacuous"})
    return explicit, [facts]


def _signed(degree: float, *, below: bool) -> JsonObject:
    """Return the check that a temperature is told above or below zero: figures are read without their sign."""
    size = f"{abs(degree):g}"
    words = [f"{minus}{size}" for minus in ("-", "−", "零下", "负", "零下约", "-约")]
    words += [f"{minus}{_HAN_DIGITS[int(size)]}" for minus in ("零下", "负") if size.isdigit() and int(size) <= _TEN]
    if not below:
        return {"kind": "not_said", "phrases": words}
    return {"kind": "said", "any": words, "about": words}


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
    heard = [*every, "拥堵", "堵", "缓慢", "拥挤"]
    explicit = [_factor("deliver", "说出道路是否畅通", {"kind": "said", "any": heard, "about": heard})]
    if told:
        own = [word for state in told for word in (state, *TRAFFIC[state])]
        said = {"kind": "said", "any": own, "about": [*own, *(NEGATORS if "畅通" in told else ("堵", "慢", "挤"))]}
        others = {"kind": "not_said", "phrases": list(dict.fromkeys(other_words(TRAFFIC, told)))}
        check = _all(said, others) if len(told) < len(TRAFFIC) else said
        explicit.append(_factor("status", f"路况：{'、'.join(told)}", _from("traffic_status", check)))
    bound = {"op": "bound", "tool": "traffic_status", "path": "trafficinfo.evaluation.*"}
    share = {"kind": "number", "unit": "percent", "equals": bound, "quantifier": "any", "if_absent": "vacuous"}
    return explicit, [_factor("figures", "说到的百分比与 traffic_status 返回的一致", share)]


def _figure(row: Row, what: str, if_absent: str) -> JsonObject | None:
    """Return the check that a figure of the route is one of those that its tool returned; None where it returned none.

    Where nothing need be told, only what is surely said of the way may be wrong: ten minutes to spare are no travel time.
    """
    values = _values(row, what)
    unit, role, slack = _FIGURES[what]
    if not values:
        return None
    windows = _windows(values, slack)
    figure: JsonObject = {"kind": "number", "unit": unit, "quantifier": "any"}
    told = [{**figure, **window} for window in windows]
    if if_absent == "vacuous" and role:
        told += [{**figure, "role": role, **window, "if_absent": "vacuous"} for window in windows]
    return _any(*told)


#: what is told of a route -> its unit, its role, and how far a figure may lie off, relatively.
_FIGURES: dict[str, tuple[str, str, float]] = {
    "distance": ("km", "travel_distance", 0.05),
    "time": ("min", "travel_time", 0.05),
    "tolls": ("yuan", "", 0.0),
    "lights": ("count", "", 0.0),
}
_HOURS_AND_MINUTES = re.compile(r"(?:(\d{1,3})小时)?(?:(\d{1,3})分钟?)?")
_KILOMETRES = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(?:公里|千米)")


def _values(row: Row, what: str) -> list[float]:
    """Return the values of all routes that the row's tool returned, in the unit of the check."""
    result = row.route.result if row.route else None
    if isinstance(result, str):
        return _values_in_words(result, what)
    found: list[float] = []
    for way in _ways(result):
        cost = way.get("cost")
        costs = cost if isinstance(cost, dict) else {}
        value = {
            "distance": way.get("distance"),
            "time": costs.get("duration", way.get("duration")),
            "tolls": costs.get("tolls", None if isinstance(cost, dict) else cost),
            "lights": costs.get("traffic_lights"),
        }[what]
        if _is_number(value):
            found.append(float(str(value)) / {"distance": 1000, "time": 60}.get(what, 1))
    return found


def _values_in_words(text: str, what: str) -> list[float]:
    if what == "distance":
        return [float(found[1]) for found in _KILOMETRES.finditer(text)]
    if what == "time":
        found = [(found[1], found[2]) for found in _HOURS_AND_MINUTES.finditer(text) if found[0]]
        return [int(hours or 0) * 60.0 + int(minutes or 0) for hours, minutes in found]
    return []


def _ways(result: Json) -> list[JsonObject]:
    route = result.get("route") if isinstance(result, dict) else None
    ways = (route.get("paths") or route.get("transits")) if isinstance(route, dict) else None
    return [way for way in ways if isinstance(way, dict)] if isinstance(ways, list) else []


def _windows(values: list[float], slack: float) -> list[JsonObject]:
    """Return the ranges around values, those that meet joined."""
    ranges: list[list[float]] = []
    for value in sorted(values):
        low, high = value * (1 - slack) - _ROUNDING, value * (1 + slack) + _ROUNDING
        if ranges and low <= ranges[-1][1]:
            ranges[-1][1] = high
        else:
            ranges.append([low, high])
    return [{"min": round(max(low, 0.0), 3), "max": round(high, 3)} for low, high in ranges]


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
    said = [_named(names) for names in stops]
    called = _called_with(row, "waypoints")
    if said or called:
        text = f"经过途经点（{'、'.join(names[0] for names in stops)}）：写在调用里，也告诉用户"
        explicit.append(_factor("stops", text, _all(*called, *said)))
    return explicit, facts


def _named(names: Iterable[str]) -> JsonObject:
    """Return the check that a place is named; where no two characters of its names stand together it surely is not."""
    words = [one for one in dict.fromkeys(names) if one]
    bare = [re.sub(r"[(（][^()（）]*[)）]", "", one) for one in words]
    pairs = {one[at : at + 2] for one in words for at in range(len(one) - 1)}
    return {"kind": "said", "any": list(dict.fromkeys([*words, *filter(None, bare)])), "about": sorted(pairs) or words}


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
    checks = [keeps]
    if avoid:
        names = list(dict.fromkeys(one for name in avoid for one in names_of_line(name)))
        checks.append(_any({"kind": "avoids", "names": avoid}, {"kind": "not_said", "phrases": names}))
    kept = f"符合要求（{'，'.join(words)}），并且" if words else ""
    explicit.append(_factor("lines", f"推荐的线路{kept}是 bus_route 返回的某个方案的线路", _all(*checks)))
    facts = []
    for what, key, unit, scale in (("time", "duration", "min", 60.0), ("fare", "cost", "yuan", 1.0)):
        values = [float(str(way[key])) / scale for way, _ in good if _is_number(way.get(key))]
        if values:
            windows = _windows(values, 0.05 if what == "time" else 0.0)
            role = {"role": "travel_time"} if what == "time" else {}
            figure: JsonObject = {"kind": "number", "unit": unit, "quantifier": "any"}
            check = _any(
                *({**figure, **window} for window in windows),
                *({**figure, **role, **window, "if_absent": "vacuous"} for window in windows),
            )
            text = {"time": "说到的用时", "fare": "说到的票价"}[what]
            facts.append(_factor(what, f"{text}是符合要求的方案的", check))
    return explicit, facts


def _takes(ride_names: list[list[str]]) -> JsonObject:
    """Return the check that one line of each ride is told."""
    each = [list(dict.fromkeys(one for name in names for one in names_of_line(name))) for names in ride_names]
    return _all(*({"kind": "addressed", "names": words, "endings": ["路", "线"]} for words in each))


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
    there = arrive_by(row)
    minutes = _values(row, "time")
    if there is not None and minutes and row.route is not None and not row.route.cut:
        latest = there - int(min(minutes)) + _ROUNDING_MIN
        earliest = there - int(max(minutes)) - _HOURS_BEFORE
        window = {"after": _clock(earliest), "before": _clock(latest)}
        windows = [window]
        if there < _DAY // 2:  # "8点35分" may be read as the evening, where it is later than that now
            windows.append({"after": _clock(earliest + _DAY // 2), "before": _clock(latest + _DAY // 2)})
        time: JsonObject = {"kind": "clock_time", "quantifier": "any"}
        told = [{**time, **role, **one} for role in ({}, {"role": "departure"}) for one in windows]
        check = _any(*told)
        if len(windows) > 1:
            check = _all(check, {"kind": "not_said", "phrases": ["晚上", "下午", "傍晚", "今晚"]})
        text = f"建议的出发时间能在{_clock(there)}之前到达，也不早得离谱（{window['after']}到{window['before']}）"
        explicit.append(_factor("departure", text, check))
    return explicit, facts


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
