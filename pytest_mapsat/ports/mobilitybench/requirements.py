"""The value of a row's gold: the requirements on an answer and their checks as plain data, the answer of an agent that knows it, and its doubtful parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pytest_mapsat.formats import package_data
from pytest_mapsat.model import Json, JsonObject, distance_m, shown
from pytest_mapsat.ports import objects, packaged_tools

from .rows import (
    MODE_WORDS,
    MODES,
    NEGATORS,
    OWN_PLACE,
    TRAFFIC,
    WEATHER,
    MobilityRow,
    arrive_by,
    asked_lines,
    at,
    bare_city,
    is_refused,
    kept_names,
    meant_lines,
    names_of_line,
    obeys,
    other_words,
    point_of,
    properties_asked,
    says_nothing,
    slots,
    spellings_of_points,
    spellings_of_set,
    states_in,
    text_at,
    transits,
    way_given,
    ways_asked,
    without_brackets,
)

Checks = list[JsonObject]
#: The explicit requirements of a row, and its facts.
AskedAndFacts = tuple[Checks, Checks]

#: What sort of a name each part of an address is, by its ending.
_DISTRICTS = tuple("区县旗市")
_ROADS = ("路", "街", "道", "高速", "巷", "胡同", "弄")
_SHOPS = ("店", "馆", "行", "院", "场", "厅", "楼", "城", "中心", "公司", "公园", "超市", "站", "部", "所")
_PARTS = tuple("省市区县镇乡村路街道")
_DATA = package_data(__package__, "words.yaml")
#: Words that end like names and are none.
_NO_NAMES: Sequence[str] = _DATA["no_names"]
_NOT_KNOWN: Sequence[str] = _DATA["not_known"]
_DEGREES = re.compile(r"(?<!\d)(-?\d{1,2}(?:\.\d)?)(?:[℃度]?\s*[~～到至-]\s*(-?\d{1,2}(?:\.\d)?))?\s*[℃度]")
_CODE = re.compile(r"^[A-Z]\d{1,5}")
_PART = 3


def required(row: MobilityRow) -> list[JsonObject]:
    """Return the requirements on the answer to a row: requested information, facts, and a call of the tool if it found something."""
    explicit, facts = _SCENARIOS[row.scenario](row)
    requirements = [{"kind": "asked", **data} for data in explicit] + [{"kind": "fact", **data} for data in facts]
    tool = row.calls[-1].tool
    if says_nothing(row):
        return requirements
    text = f"所说的来自 {tool} 已回答的调用，不是猜测"
    called = _requirement("looked_up", text, {"kind": "calls", "tool": tool, "answered": True})
    return [*requirements, {"kind": "policy", **called}]


def _requirement(name: str, text: str, *checks: JsonObject) -> JsonObject:
    """Return a requirement with its id, its text, and a check that combines all ``checks``."""
    return {"id": name, "text": text, "check": _all(*checks)}


def _any(*checks: JsonObject) -> JsonObject:
    """Return the check that at least one of these checks passes."""
    return checks[0] if len(checks) == 1 else {"kind": "any", "checks": list(checks)}


def _all(*checks: JsonObject) -> JsonObject:
    """Return the check that all of these checks pass."""
    return checks[0] if len(checks) == 1 else {"kind": "all", "checks": list(checks)}


def _borne_out(tool: str, *claims: str) -> JsonObject:
    """Return the check that every claim of these types agrees with the results of a tool, if it returned any."""
    return _if_answered(tool, {"kind": "grounded", "claims": list(claims)})


def _if_answered(tool: str, check: JsonObject) -> JsonObject:
    """Return a check that passes if the given check passes, or if the tool returned nothing for comparison."""
    return _any(check, {"kind": "calls", "tool": tool, "answered": True, "at_most": 0})


def _address(endings: Iterable[str], names: Iterable[str] = (), no_names: Iterable[str] = ()) -> JsonObject:
    """Return the check that a reply says one of these names, or, without names, any name with one of the endings."""
    unique = [name for name in dict.fromkeys(names) if name]
    return {"kind": "addressed", "names": unique, "endings": list(endings), "besides": [*no_names, *_NO_NAMES]}


def _says(words: Iterable[str], about: Iterable[str] | None = None) -> JsonObject:
    """Return the check that a reply says one of these words; if all words in ``about`` are missing, it surely does not."""
    words = list(words)
    return {"kind": "says", "any": words, "about": words if about is None else list(about)}


def _says_none(words: Iterable[str]) -> JsonObject:
    """Return the check that a reply says none of these words."""
    return {"kind": "says", "none": list(words)}


# -- places, weather, traffic


def _poi(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a query about a place: the reply gives its correct address or point."""
    call = next((call for call in row.calls if call.tool == "query_poi"), None)
    place = call.result if call else None
    point = point_of(row.text("ans_loc")) or point_of(place)
    given: JsonObject = {"kind": "located", "by_name": False, "words": _street(place)}
    address = _address(_PARTS, no_names=filter(None, (text_at(place, "name"), row.text("query"))))
    explicit = [_requirement("deliver", "给出所问地点的地址或坐标", _any(given, address))]
    if point is not None:
        where: JsonObject = {"kind": "located", "lon": point[0], "lat": point[1], "metres": 1000}
        where["words"] = _street(place)
        text = "所给地点（名称或坐标）距 query_poi 返回的位置不超过1公里，没有给出别处的坐标"
        explicit.append(_requirement("place", text, where))
    claims = _borne_out("query_poi", "point", "address", "phone")
    return explicit, [_requirement("address", "说到的地址、坐标和电话与 query_poi 返回的一致", claims)]


def _street(place: Json) -> list[str]:
    """Return a list with the street part of a place's address; an empty list if the address names only the region."""
    parts = text_at(place, "address").split()
    street = without_brackets(parts[-1]) if parts else ""
    return [street] if len(parts) > 2 and street not in parts[:-1] and len(street) > 2 else []  # noqa: PLR2004  province, district, street


def _geolocation(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a query about the user's own address: the district, and a road or place nearby."""
    code = row.mapping("location_ans").get("regeocode")
    component = at(code, "addressComponent")
    regions = [value for value in component.values() if isinstance(value, str)] if isinstance(component, dict) else []
    roads, pois = _names(at(code, "roads")), _names(at(code, "pois"))
    areas = _names(at(component, "businessAreas"))
    near = _address(_PARTS, [*regions, *roads, *pois])
    explicit = [_requirement("deliver", "说出一个地址（行政区、道路或地点）", _any(_address(_PARTS), near))]
    district = at(component, "district")
    if isinstance(district, str) and district:
        others = [value for value in (*regions, *areas) if value != district]
        check = _address(_DISTRICTS, _shorter(district, _DISTRICTS), others)
        explicit.append(_requirement("district", f"说出所在的区县：{district}", check))
    street = row.text("formatted_address")
    for value in sorted(filter(None, regions), key=len, reverse=True):
        street = street.replace(value, "")
    spoken = [name for road in roads for name in _spoken_road(road)]
    near_names = (street, *spoken, *pois, *_names(at(code, "aois")))
    around = [name for name in near_names if len(name) > 1 and name not in regions]
    if around:
        text = f"说出所在的道路或附近的地点：{street or around[0]}，或 reverse_geocoding 返回的道路、地点之一"
        explicit.append(_requirement("road", text, _address(_ROADS, around, [*regions, *areas])))
    claims = _borne_out("reverse_geocoding", "distance", "point")
    return explicit, [_requirement("distances", "说到的距离和坐标与返回的一致", claims)]


def _names(items: Json) -> list[str]:
    """Return the names of the objects in a list."""
    return [item["name"] for item in objects(items) if isinstance(item.get("name"), str)]


def _shorter(name: str, endings: Iterable[str]) -> list[str]:
    """Return a name, and the name without its ending if at least two characters remain."""
    bare = next((name.removesuffix(end) for end in endings if name.endswith(end)), name)
    return [name, bare] if len(bare) > 1 else [name]


def _spoken_road(name: str) -> list[str]:
    """Return the possible names of a road: with its code, without it, and the code alone."""
    code = _CODE.match(name)
    return [name, name[code.end() :], code.group()] if code and len(name) > code.end() + 1 else [name]


def _nearby(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a query about places nearby: the reply names one that the search returned."""
    tool = "search_around_poi"
    call = next((call for call in row.calls if call.tool == tool), None)
    names = [str(item["name"]) for item in objects(at(call.result if call else None, "pois")) if item.get("name")]
    bare = [without_brackets(name) for name in names]
    # The name of a chain names none of its places.
    words = list(dict.fromkeys([*names, *(name for name in bare if name and bare.count(name) == 1)]))
    some: JsonObject = {"kind": "recommends", "tool": tool}
    shown: JsonObject = {**some, "where": {"name": {"op": "present"}}, "turn": "any"}
    one_of_them = _any(shown, *([_says(words)] if words else []), _address(_SHOPS))
    explicit = [_requirement("deliver", "说出附近至少一个所找的地点", one_of_them)]
    if names:
        listed = _any({**some, "any_of": list(dict.fromkeys(names))}, _address(_SHOPS, words))
        parts = dict.fromkeys(part for name in words for part in _parts_of(name))
        checks = listed, _says(parts), _borne_out(tool, "name")
        explicit.append(_requirement("listed", "说出的地点中至少有一个在 search_around_poi 返回的列表里", *checks))
    claims = _borne_out(tool, "name", "address", "point", "phone")
    return explicit, [_requirement("details", "说到的名称、地址和坐标与返回的一致", claims)]


def _parts_of(name: str) -> list[str]:
    """Return every stretch of three characters of a name; shortened forms of the name contain at least one."""
    bare = re.sub(r"[(（)）\s]", "", name)
    return [bare[start : start + _PART] for start in range(max(len(bare) - _PART + 1, 1))]


def _weather(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a weather query: condition, temperature and humidity as the tool returned them."""
    text = row.text("weather_description")
    states = states_in(text, WEATHER)
    every = [word for words in WEATHER.values() for word in words]
    degrees: JsonObject = {"kind": "number", "unit": "celsius", "quantifier": "any"}
    ranges = [(float(match[1]), float(match[2] or match[1])) for match in _DEGREES.finditer(text)]
    given = list(dict.fromkeys(degree for pair in ranges for degree in pair))
    if states or given:
        some = _any({**degrees, "min": -90, "max": 70}, _says([*every, *_clauses(text, every)], every))
        explicit = [_requirement("deliver", "说出天气状况或气温", some)]
    else:
        explicit = [_requirement("deliver", "说明查不到该地的天气数据", _says(_NOT_KNOWN), _says_none(every))]
    if states:
        words = [word for state in states for word in WEATHER[state]]
        own = _says([*words, *_clauses(text, words)], dict.fromkeys(every))
        others = other_words(WEATHER, states)
        check = _all(own, *([_says_none(others)] if others else []))
        explicit.append(_requirement("condition", f"天气状况：{'、'.join(states)}", check))
    if given:
        between = [sorted(pair) for pair in [*((degree, degree) for degree in given), *ranges]]
        each = [{**degrees, "min": low, "max": high} for low, high in dict.fromkeys(map(tuple, between))]
        listed = "、".join(f"{degree:g}℃" for degree in given)
        explicit.append(_requirement("temperature", f"气温：{listed}", _any(*each)))
    bound = {"op": "bound", "tool": "weather_query", "path": "weather_description"}
    humidity = {"kind": "number", "unit": "percent", "equals": bound, "tolerance": 0, "quantifier": "any"}
    told_humidity = _if_answered("weather_query", {**humidity, "if_absent": "nothing_claimed"})
    return explicit, [_requirement("figures", "说到的湿度与 weather_query 返回的一致", told_humidity)]


def _clauses(text: str, words: Iterable[str]) -> list[str]:
    """Return the first sentence of a tool's text, and its clauses that contain one of the words."""
    sentence, words = text.partition("。")[0], list(words)
    return [part for part in dict.fromkeys((sentence, *sentence.split("，"))) if any(word in part for word in words)]


def _traffic(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a traffic query: the state of the road and percentages as the tool returned them."""
    info = row.mapping("ans").get("trafficinfo")
    overall = text_at(info, "evaluation", "description")
    described = text_at(info, "description")
    states = states_in(overall + described, TRAFFIC)
    # Where the two tell different states either may be told.
    meant = [state for state in states_in(overall, TRAFFIC) if state in states_in(described, TRAFFIC)] or states
    heard = [*(word for words in TRAFFIC.values() for word in words), "拥堵", "堵", "缓慢", "拥挤"]
    heard += [] if states else _NOT_KNOWN
    explicit = [_requirement("deliver", "说出道路是否畅通", _says([*heard, *_clauses(described, heard)], heard))]
    if meant:
        own = [word for state in meant for word in (state, *TRAFFIC[state])]
        about = [*own, *(NEGATORS if "畅通" in meant else ("堵", "慢", "挤"))]
        checks = [_says([*own, *_clauses(described, own)], about)]
        if len(states) < len(TRAFFIC):
            checks.append(_says_none(word for word in other_words(TRAFFIC, states) if word not in described))
        explicit.append(_requirement("status", f"路况：{'、'.join(meant)}", _all(*checks)))
    bound = {"op": "bound", "tool": "traffic_status", "path": "trafficinfo.evaluation.*"}
    share = {"kind": "number", "unit": "percent", "equals": bound, "quantifier": "any", "if_absent": "nothing_claimed"}
    told_share = _if_answered("traffic_status", share)
    return explicit, [_requirement("figures", "说到的百分比与 traffic_status 返回的一致", told_share)]


# -- routes

_HOURS_BEFORE = 150
_ROUNDING_MIN = 3
_ROUNDING = 0.05
_DAY = 24 * 60
#: what is told of a route -> its unit, its role, and how far a figure may lie off, relatively.
_FIGURES: Mapping[str, tuple[str, str, float]] = _DATA["figures"]
_HOURS_AND_MINUTES = re.compile(r"(?:(\d{1,3})小时)?(?:(\d{1,3})分钟?)?")
_KILOMETRES = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(?:公里|千米)")


def _figure(row: MobilityRow, what: str, *, asked: bool) -> JsonObject | None:
    """Return the check that a figure in a reply equals a figure from the route's tool; None if the tool returned none.

    Where nothing need be told, only what is surely said of the way may be wrong: ten minutes to spare are no travel time.
    """
    unit, role, slack = _FIGURES[what]
    windows = _windows(_values(row, what), slack)
    figure: JsonObject = {"kind": "number", "unit": unit, "quantifier": "any"}
    checks = [{**figure, **window} for window in windows]
    if role and not asked:
        checks += [_unless_surely_other({**figure, "role": role, **window}) for window in windows]
    return _any(*checks) if checks else None


def _unless_surely_other(figure: JsonObject) -> JsonObject:
    """Return the check that passes without such a figure, fails if one surely differs, and is undecided if one may differ."""
    absent = {**figure, "if_absent": "nothing_claimed"}
    return _all(absent, {**absent, "quantifier": "all"})


def _values(row: MobilityRow, what: str) -> list[float]:
    """Return the values of one figure, such as ``time``, in all routes that the row's tool returned, in the check's unit."""
    result = row.route.result if row.route else None
    if isinstance(result, str):
        return _values_in_words(result, what)
    if what == "taxi":
        return _numbers([row.way.get("taxi_cost")])
    scale = {"distance": 1000, "time": 60}.get(what, 1)
    return _numbers([_raw_figure(way, what) for way in row.ways], scale)


def _raw_figure(way: JsonObject, what: str) -> Json:
    """Return one figure of a route as the tool returned it: distance, time, tolls or number of traffic lights."""
    cost = way.get("cost")
    costs = cost if isinstance(cost, dict) else {"tolls": cost}
    return {
        "distance": way.get("distance"),
        "time": costs.get("duration", way.get("duration")),
        "tolls": costs.get("tolls"),
        "lights": costs.get("traffic_lights"),
    }[what]


def _values_in_words(text: str, what: str) -> list[float]:
    """Return the kilometres or minutes of a route described in words; an empty list for any other figure."""
    if what == "distance":
        return [float(match[1]) for match in _KILOMETRES.finditer(text)]
    if what == "time":
        times = [match for match in _HOURS_AND_MINUTES.finditer(text) if match[0]]
        return [int(match[1] or 0) * 60.0 + int(match[2] or 0) for match in times]
    return []


def _numbers(values: Iterable[Json], scale: float = 1) -> list[float]:
    """Return the values that are plain numbers, divided by ``scale``."""
    texts = [str(value) for value in values]
    return [float(text) / scale for text in texts if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", text)]


def _windows(values: list[float], slack: float) -> list[JsonObject]:
    """Return a range (``min``, ``max``) around each value, with a width from ``slack`` and rounding; overlapping ranges are joined."""
    ranges: list[list[float]] = []
    for value in sorted(values):
        low, high = value * (1 - slack) - _ROUNDING, value * (1 + slack) + _ROUNDING
        if ranges and low <= ranges[-1][1]:
            ranges[-1][1] = high
        else:
            ranges.append([low, high])
    return [{"min": round(max(low, 0.0), 3), "max": round(high, 3)} for low, high in ranges]


def _any_route(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for any route: the length or time is stated and agrees with the tool, and the mode is right."""
    figure: JsonObject = {"kind": "number", "quantifier": "any", "min": 0}
    length = _any({**figure, "unit": "km"}, {**figure, "unit": "min"})
    explicit = [_requirement("deliver", "给出一条路线的里程或用时", length)]
    if row.route is None:
        return explicit, []
    tool, facts = row.route.tool, []
    called = {"kind": "calls", "tool": tool, "answered": True}
    if row.route.cut:
        explicit.append(_requirement("route", f"路线来自 {tool} 的结果（数据源中该结果不完整，不提供）", called))
    else:
        same = [check for what in ("distance", "time") if (check := _figure(row, what, asked=True)) is not None]
        text = f"里程或用时与 {tool} 返回的某条路线一致"
        explicit += [_requirement("route", text, _any(*same))] if same else []
        texts = {"distance": "说到的全程里程与返回的路线一致", "time": "说到的全程用时与返回的路线一致"}
        checks = [(what, text, _figure(row, what, asked=False)) for what, text in texts.items()]
        facts = [_requirement(what, text, check) for what, text, check in checks if check is not None]
    mode = MODES[tool]
    ways = {"transit": ["transit", "walking", "taxi"], "driving": ["driving", "taxi"]}.get(mode, [mode])
    text = f"出行方式是{MODE_WORDS[mode]}，没有让用户改用别的方式"
    explicit.append(_requirement("mode", text, {"kind": "travels", "by": ways}))
    return explicit, facts


def _multi_stop(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a route with stops: those of any route, and the stops in the call and the reply."""
    explicit, facts = _any_route(row)
    stops = [[name, text_at(place, "name")] for name, place in row.places("query_transit_poi")]
    stops = stops or [[name] for name in slots(row, "query_transit_poi")]
    checks = [*_called_with(row, "waypoints"), *map(_named, stops)]
    if checks:
        text = f"经过途经点（{'、'.join(names[0] for names in stops)}）：写在调用里，也告诉用户"
        explicit.append(_requirement("stops", text, *checks))
    return explicit, facts


def _named(names: Iterable[str]) -> JsonObject:
    """Return the check that a reply names a place; it fails if no two neighbouring characters of its names occur."""
    words = [name for name in dict.fromkeys(names) if name]
    pairs = {name[start : start + 2] for name in words for start in range(len(name) - 1)}
    words = list(dict.fromkeys([*words, *filter(None, map(without_brackets, words))]))
    return _any({"kind": "addressed", "names": words, "endings": words}, _says(words, sorted(pairs) or words))


def _called_with(row: MobilityRow, name: str) -> Checks:
    """Return a list with the check that the route's call has gold's value of an argument; an empty list if gold has none."""
    if row.route is None or not isinstance(values := row.route.arguments.get(name), list) or not values:
        return []
    tool = row.route.tool
    if name == "waypoints":
        spelled = spellings_of_points(values)
    else:
        spelled = spellings_of_set(values, packaged_tools(__package__)[tool].match[name].synonyms)
    return [{"kind": "calls", "tool": tool, "with": {name: {"op": "one_of", "values": spelled}}}]


def _options(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a route with a strategy: those of any route, and the strategy in the call."""
    explicit, facts = _any_route(row)
    wishes = "、".join(map(str, row.items("strategy_list")))
    if called := _called_with(row, "strategy"):
        explicit.append(_requirement("strategy", f"路线策略“{wishes}”写在路线工具的调用里", *called))
    return explicit, facts


def _lines(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for preferred and refused lines: the reply recommends a route that respects them."""
    explicit, _ = _any_route(row)
    wanted, ways = meant_lines(row), transits(row)
    good = [(way, rides) for way, rides in ways if obeys(rides, wanted)]
    if not good:
        return explicit, []
    every = [name for _, rides in ways for names in rides for name in names]
    kept = kept_names(every, wanted)
    avoid = list(dict.fromkeys(name for name in every if name not in kept)) or list(wanted.avoid)
    checks = [_any(*(_takes([kept_names(names, wanted) for names in rides]) for _, rides in good))]
    if avoid:
        names = dict.fromkeys(spoken for name in avoid for spoken in names_of_line(name))
        checks.append(_any({"kind": "recommends", "none_of": avoid}, *([_says_none(names)] if names else [])))
    words = [*(f"不坐{line}" for line in wanted.avoid), *(f"要坐{line}" for line in wanted.take)]
    obeying = f"符合要求（{'，'.join(words)}），并且" if words else ""
    explicit.append(_requirement("lines", f"推荐的线路{obeying}是 bus_route 返回的某个方案的线路", *checks))
    facts = []
    for what, text, key, unit, scale in (
        ("time", "说到的用时", "duration", "min", 60),
        ("fare", "说到的票价", "cost", "yuan", 1),
    ):
        windows = _windows(_numbers([way.get(key) for way, _ in good], scale), 0.05 if what == "time" else 0.0)
        figure: JsonObject = {"kind": "number", "unit": unit, "quantifier": "any"}
        role = {"role": "travel_time"} if what == "time" else {}
        alternatives = [{**figure, **window} for window in windows]
        alternatives += [_unless_surely_other({**figure, **role, **window}) for window in windows]
        if alternatives:
            facts.append(_requirement(what, f"{text}是符合要求的方案的", _any(*alternatives)))
    return explicit, facts


def _takes(ride_names: list[list[str]]) -> JsonObject:
    """Return the check that a reply names one line of each ride."""
    each = [list(dict.fromkeys(spoken for name in names for spoken in names_of_line(name))) for names in ride_names]
    return _all(*({"kind": "addressed", "names": words, "endings": ["路", "线"]} for words in each))


def _asked_property(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a question about a route: the requested figures agree with a route of the tool."""
    explicit, facts = _any_route(row)
    texts = {"distance": "里程", "time": "用时", "tolls": "费用", "lights": "红绿灯数", "taxi": "打车费用"}
    for what in properties_asked(row.text("query")) if row.route is not None and not row.route.cut else ():
        check = _figure(row, what, asked=True)
        if check is not None:
            text = f"说出所问的{texts[what]}，并与返回的某条路线一致"
            explicit.append(_requirement(f"asked_{what}", text, check))
            facts = [fact for fact in facts if fact["id"] != what]
    return explicit, facts


def _departure(row: MobilityRow) -> AskedAndFacts:
    """Return requirements and facts for a departure time: the user arrives in time, and not far too early."""
    explicit, facts = _any_route(row)
    some: JsonObject = {"kind": "clock_time", "after": "00:00", "before": "23:59", "quantifier": "any"}
    explicit[0] = _requirement("deliver", "给出出发时间，或路上要用的时间", _any(explicit[0]["check"], some))
    there, minutes = arrive_by(row), _values(row, "time")
    if there is None or not minutes or row.route is None or row.route.cut:
        return explicit, facts
    latest = there - int(min(minutes)) + _ROUNDING_MIN
    earliest = there - int(max(minutes)) - _HOURS_BEFORE
    # "8点35分" may be read as the evening, where it is later than that now.
    later = (0, _DAY // 2) if there < _DAY // 2 else (0,)
    windows = [{"after": _clock(earliest + more), "before": _clock(latest + more)} for more in later]
    time: JsonObject = {"kind": "clock_time", "quantifier": "any"}
    moment = _any(*({**time, **role, **window} for role in ({}, {"role": "departure"}) for window in windows))
    morning = [_says_none(["晚上", "下午", "傍晚", "今晚"])] if len(windows) > 1 else []
    window = windows[0]
    text = f"建议的出发时间能在{_clock(there)}之前到达，也不早得离谱（{window['after']}到{window['before']}）"
    explicit.append(_requirement("departure", text, moment, *morning))
    return explicit, facts


def _clock(minutes: int) -> str:
    """Return minutes after midnight as ``HH:MM``."""
    return f"{minutes % _DAY // 60:02d}:{minutes % 60:02d}"


_SCENARIOS: dict[str, Callable[[MobilityRow], AskedAndFacts]] = {
    "POI Query": _poi,
    "Geolocation Query": _geolocation,
    "Nearby Query": _nearby,
    "Weather Query": _weather,
    "Traffic Info Query": _traffic,
    "Route Property Query": _asked_property,
    "Arrival/Departure Time Query": _departure,
    "Point-to-Point Planning": _any_route,
    "Multi-stop Planning": _multi_stop,
    "Option-Constrained Route Planning": _options,
    "Route-Constrained Planning": _lines,
}


# -- the answer of an agent that knows the gold

_CUT_FIRST = re.compile(
    r"'distance': '(?P<metres>\d{1,9})'.{0,400}?'duration': '(?P<seconds>\d{1,9})'"
    r"|'duration': '(?P<first>\d{1,9})'.{0,400}?'distance': '(?P<then>\d{1,9})'",
    re.DOTALL,
)
_CUT_FROM = re.compile(r"'(?:paths|transits)': \[")


def answer(row: MobilityRow) -> str:
    """Return the reply of an agent that knows the gold values of a row."""
    return _ANSWERS.get(row.scenario, _route)(row)


def _say_poi(row: MobilityRow) -> str:
    """Return the reply with name, address and point of a place, or that it was not found."""
    place = row.calls[0].result
    if not isinstance(place, dict):
        return "没有查到这个地点。"
    return f"{place.get('name')}的地址是{place.get('address')}，坐标：{place.get('location')}。"


def _say_geolocation(row: MobilityRow) -> str:
    """Return the reply with the user's own address."""
    return f"您现在位于{row.text('formatted_address')}。"


def _say_nearby(row: MobilityRow) -> str:
    """Return the reply with the first three places nearby, or that there are none."""
    places = objects(at(row.calls[-1].result, "pois"))[:3]
    lines = [f"{number}. {place.get('name')}，地址：{place.get('address')}" for number, place in enumerate(places, 1)]
    return "\n".join(["为您找到附近的地点：", *lines]) if lines else "附近没有找到。"


def _say_weather(row: MobilityRow) -> str:
    """Return the reply with the first sentence about the weather; if that sentence has no digit, the reply that there are no data."""
    sentence = row.text("weather_description").partition("。")[0]
    return f"{sentence}。" if re.search(r"\d", sentence) else "很抱歉，暂无该地的天气数据。"


def _say_traffic(row: MobilityRow) -> str:
    """Return the reply with the tool's description of the traffic, or that nothing was found."""
    return text_at(row.mapping("ans"), "trafficinfo", "description") or "没有查到这条路的路况。"


def _route(row: MobilityRow) -> str:
    """Return the reply with stops, length and time of the route, or that there is no route."""
    figures = _figures(row)
    if row.route is None or figures is None:
        return "很抱歉，没有取得路线。"
    metres, seconds = figures
    mode = MODE_WORDS[MODES[row.route.tool]]
    stops = "".join(f"途经{place.get('name')}（{name}），" for name, place in row.places("query_transit_poi"))
    cost = next(iter(row.ways), {}).get("cost")
    lights, tolls = _plain(at(cost, "traffic_lights")), _plain(at(cost, "tolls"))
    more = (f"，红绿灯{lights}个" if lights else "") + (f"，过路费{tolls}元" if tolls else "")
    if "taxi" in properties_asked(row.text("query")) and (fare := _plain(row.way.get("taxi_cost"))):
        more += f"，打车约{fare}元"
    return f"为您规划了{mode}路线：{stops}全程{metres / 1000:.1f}公里，预计用时{_duration(seconds)}{more}。"


def _by_line(row: MobilityRow) -> str:
    """Return the reply with the first transit route that respects the user's wishes about lines, otherwise the reply of ``_route``."""
    wanted = meant_lines(row)
    for way, rides in transits(row):
        if obeys(rides, wanted):
            names = "，再换乘".join(kept_names(ride, wanted)[0] for ride in rides)
            metres, seconds = _number(way.get("distance")), _number(way.get("duration"))
            fare = str(way.get("cost")).removesuffix(".0")
            return f"建议乘坐{names}，全程{metres / 1000:.1f}公里，预计用时{_duration(seconds)}，票价{fare}元。"
    return _route(row)


def _say_departure(row: MobilityRow) -> str:
    """Return the reply with the route and a departure time that leaves five minutes to spare."""
    there, figures = arrive_by(row), _figures(row)
    if there is None or figures is None:
        return _route(row)
    leave = (there - figures[1] // 60 - 5) % _DAY
    return f"{_route(row)}建议{leave // 60:02d}:{leave % 60:02d}出发。"


def _figures(row: MobilityRow) -> tuple[int, int] | None:
    """Return metres and seconds of the first route, even from a truncated result; None if there are none."""
    cut = row.route.cut if row.route else ""
    begins = _CUT_FROM.search(cut)
    left = _CUT_FIRST.search(cut, begins.end() if begins else 0)
    if left is not None:
        return int(left["metres"] or left["then"]), int(left["seconds"] or left["first"])
    kilometres, minutes = _values(row, "distance"), _values(row, "time")
    return (round(kilometres[0] * 1000), round(minutes[0] * 60)) if kilometres and minutes else None


def _number(value: Json) -> int:
    """Return a value rounded to a whole number; 0 if it is not a number."""
    try:
        return round(float(str(value)))
    except ValueError:
        return 0


def _plain(value: Json) -> str:
    """Return a figure as text without a final ``.0``; empty if it is missing or 0."""
    return "" if value in (None, "", "0", "0.0") else str(value).removesuffix(".0")


def _duration(seconds: int) -> str:
    """Return seconds as hours and minutes in Chinese, one minute at least."""
    hours, minutes = divmod(max(round(seconds / 60), 1), 60)
    return f"{hours}小时{minutes}分钟" if hours and minutes else f"{hours}小时" if hours else f"{minutes}分钟"


_ANSWERS: dict[str, Callable[[MobilityRow], str]] = {
    "POI Query": _say_poi,
    "Geolocation Query": _say_geolocation,
    "Nearby Query": _say_nearby,
    "Weather Query": _say_weather,
    "Traffic Info Query": _say_traffic,
    "Route-Constrained Planning": _by_line,
    "Arrival/Departure Time Query": _say_departure,
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


def doubts_of(row: MobilityRow) -> list[str]:
    """Return the doubts about the gold values of a row, as a list of sentences."""
    return [doubt for rule in _RULES for doubt in rule(row)]


def _doubt_empty(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt if the tool that answers the query returned nothing."""
    if says_nothing(row):
        yield f"{row.calls[-1].tool} returned nothing to tell"


def _doubt_road(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt if the traffic result is for another road than the query."""
    road = re.split(r"[:：]", text_at(row.mapping("ans"), "trafficinfo", "description"))[0].strip()
    asked = row.text("road")
    if asked and road and _ROAD_ENDINGS.sub("", road) not in asked and _ROAD_ENDINGS.sub("", asked) not in road:
        yield f"the traffic of {shown(asked)} is asked for, that of {shown(road)} is told"


def _doubt_way(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt if the expected mode of travel differs from the mode in the query or the context."""
    gold = MODES.get(row.route.tool) if row.route else None
    asked = ways_asked(row)
    if gold and asked and gold not in asked:
        yield f"{' or '.join(sorted(asked))} is asked for, {gold} is expected"
    elif gold and not asked and (given := way_given(row)) and given != gold:
        yield f"the context says {given}, {gold} is expected"


def _doubtful_lines(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt if gold takes a refused line or avoids a preferred line, or if the marked alternative does."""
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


def _doubt_strategy(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt for each strategy about highways that the query contradicts."""
    query = row.text("query")
    for wish in map(str, row.items("strategy_list")):
        away = _REFUSED_HIGHWAY.search(query) is not None
        if (wish == "高速优先" and away) or (wish == "不走高速" and "高速" in query and not away):
            yield f"the strategy {shown(wish)} is not what the query asks for"


def _doubt_own_place(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt if the user's own location is searched for as a place."""
    for name, _ in row.places("query_start_poi"):
        if OWN_PLACE.fullmatch(name):
            yield f"the user's own place, {shown(name)}, is looked up as a place"


def _doubt_region(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt for each place in another district than its search words name."""
    for name, place in _searched(row):
        where = f"{place.get('name', '')}{place.get('address', '')}"
        for region in _REGION.findall(name):
            if region not in where and region[:-1] not in where:
                yield f"{shown(name)} was found as {shown(str(place.get('name')))}, which is not in {region}"


def _doubt_distant(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt for each place over 300 km away, if nothing in the query refers to that region."""
    here = point_of(row.mapping("context").get("user_current_location"))
    for name, place in _searched(row):
        there, parts = point_of(place), str(place.get("address") or "").split()
        start = str(place.get("name"))[:2]
        regions = [*(part[:2] for part in parts[:2]), *([start] if start != name[:2] else [])]
        is_region = len(set(parts[1:])) == 1 < len(parts[1:])  # the service repeats the region where there is no street
        led = is_region or any(region in row.text("query") for region in regions)
        if here and there and not led and distance_m(*here, *there) > _FAR_M and not OWN_PLACE.fullmatch(name):
            apart = round(distance_m(*here, *there) / 1000)
            yield f"{shown(name)} was found as {shown(str(place.get('name')))}, {apart} km away, and nothing in the query leads there"


def _doubtful_weather(row: MobilityRow) -> Iterator[str]:
    """Yield a doubt if the weather lacks condition or temperature, or is for another day or city."""
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


def _searched(row: MobilityRow) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the search words and the result of each search for a place that has a result."""
    for call in row.calls:
        if call.tool == "query_poi" and isinstance(call.result, dict):
            yield str(call.arguments.get("keywords") or ""), dict(call.result)


_RULES: tuple[Callable[[MobilityRow], Iterator[str]], ...]
_RULES = (
    _doubt_empty,
    _doubt_road,
    _doubt_way,
    _doubtful_lines,
    _doubt_strategy,
    _doubt_own_place,
    _doubt_region,
    _doubt_distant,
    _doubtful_weather,
)
