"""What an answer with a route must hold, from the row's columns."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_mapsat.model import Json, JsonObject

from .calls import spellings_of_points, spellings_of_set
from .factors import Checks, Made, all_of, any_of, factor
from .rows import Row, mobility_tools, slots
from .words import (
    MODES,
    arrive_by,
    kept_names,
    meant_lines,
    names_of_line,
    obeys,
    properties_asked,
    rides,
    transits,
)

_HOURS_BEFORE = 150
_ROUNDING_MIN = 3
_ROUNDING = 0.05
_DAY = 24 * 60


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
        told += [_unless_surely({**figure, "role": role, **window}) for window in windows]
    return any_of(*told)


def _unless_surely(figure: JsonObject) -> JsonObject:
    """Return the check that passes where no such figure is told, fails where one surely is another, and stays open where one may be."""
    vacuous = {**figure, "if_absent": "vacuous"}
    return all_of(vacuous, {**vacuous, "quantifier": "all"})


#: what is told of a route -> its unit, its role, and how far a figure may lie off, relatively.
_FIGURES: dict[str, tuple[str, str, float]] = {
    "distance": ("km", "travel_distance", 0.05),
    "time": ("min", "travel_time", 0.05),
    "tolls": ("yuan", "", 0.0),
    "lights": ("count", "", 0.0),
    "taxi": ("yuan", "", 0.05),
}
_HOURS_AND_MINUTES = re.compile(r"(?:(\d{1,3})小时)?(?:(\d{1,3})分钟?)?")
_KILOMETRES = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(?:公里|千米)")


def _values(row: Row, what: str) -> list[float]:
    """Return the values of all routes that the row's tool returned, in the unit of the check."""
    result = row.route.result if row.route else None
    if isinstance(result, str):
        return _values_in_words(result, what)
    if what == "taxi":
        fare = _route_of(result).get("taxi_cost")
        return [float(str(fare))] if _is_number(fare) else []
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
    route = _route_of(result)
    ways = route.get("paths") or route.get("transits")
    return [way for way in ways if isinstance(way, dict)] if isinstance(ways, list) else []


def _route_of(result: Json) -> JsonObject:
    route = result.get("route", result) if isinstance(result, dict) else None
    return route if isinstance(route, dict) else {}


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
    told = any_of({**figure, "unit": "km"}, {**figure, "unit": "min"})
    explicit = [factor("deliver", "给出一条路线的里程或用时", told)]
    if row.route is not None:
        called = {"kind": "called", "tool": row.route.tool, "answered": True}
        if row.route.cut:
            text = f"路线来自 {row.route.tool} 的结果（数据源中该结果不完整，不提供）"
            return [*explicit, factor("route", text, called)]
        same = [one for what in ("distance", "time") if (one := _figure(row, what, "fail")) is not None]
        text = f"里程或用时与 {row.route.tool} 返回的某条路线一致"
        explicit.append(factor("route", text, all_of(called, *([any_of(*same)] if same else []))))
    return explicit


def _route_facts(row: Row) -> Checks:
    if row.route is None or row.route.cut:
        return []
    texts = {"distance": "说到的全程里程与返回的路线一致", "time": "说到的全程用时与返回的路线一致"}
    return [
        factor(what, text, check)
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
    return [factor("mode", f"出行方式是{words}，没有让用户改用别的方式", {"kind": "travels", "by": ways})]


def planned(row: Row) -> Made:
    """Return what an answer with a route must hold."""
    return [*_route_told(row), *_by(row)], _route_facts(row)


def multi_stop(row: Row) -> Made:
    """Return what an answer with a route by way of other places must hold."""
    explicit, facts = planned(row)
    stops = [[name, str(place.get("name") or "")] for name, place in row.places("query_transit_poi")]
    stops = stops or [[name] for name in slots(row, "query_transit_poi")]
    said = [_named(names) for names in stops]
    called = _called_with(row, "waypoints")
    if said or called:
        text = f"经过途经点（{'、'.join(names[0] for names in stops)}）：写在调用里，也告诉用户"
        explicit.append(factor("stops", text, all_of(*called, *said)))
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


def options(row: Row) -> Made:
    """Return what an answer with a route under the service's own wishes must hold."""
    explicit, facts = planned(row)
    wishes = "、".join(map(str, row.items("strategy_list")))
    if called := _called_with(row, "strategy"):
        explicit.append(factor("strategy", f"路线策略“{wishes}”写在路线工具的调用里", all_of(*called)))
    return explicit, facts


def lines(row: Row) -> Made:
    """Return what an answer with a route under wishes about lines must hold."""
    explicit, _ = planned(row)
    wanted = meant_lines(row)
    ways = [(way, rides(way)) for way in transits(row)]
    good = [(way, found) for way, found in ways if obeys(found, wanted)]
    if not good:
        return explicit, []
    words = [*(f"不坐{line}" for line in wanted.avoid), *(f"要坐{line}" for line in wanted.take)]
    keeps = any_of(*(_takes([kept_names(names, wanted) for names in found]) for _, found in good))
    refused = [name for _, found in ways for names in found for name in names if name not in kept_names(names, wanted)]
    avoid = list(dict.fromkeys(refused)) or list(wanted.avoid)
    checks = [keeps]
    if avoid:
        names = list(dict.fromkeys(one for name in avoid for one in names_of_line(name)))
        unsaid: Checks = [{"kind": "not_said", "phrases": names}] if names else []
        checks.append(any_of({"kind": "avoids", "names": avoid}, *unsaid))
    kept = f"符合要求（{'，'.join(words)}），并且" if words else ""
    explicit.append(factor("lines", f"推荐的线路{kept}是 bus_route 返回的某个方案的线路", all_of(*checks)))
    facts = []
    for what, key, unit, scale in (("time", "duration", "min", 60.0), ("fare", "cost", "yuan", 1.0)):
        values = [float(str(way[key])) / scale for way, _ in good if _is_number(way.get(key))]
        if values:
            windows = _windows(values, 0.05 if what == "time" else 0.0)
            figure: JsonObject = {"kind": "number", "unit": unit, "quantifier": "any"}
            role = {"role": "travel_time"} if what == "time" else {}
            check = any_of(
                *({**figure, **window} for window in windows),
                *(_unless_surely({**figure, **role, **window}) for window in windows),
            )
            text = {"time": "说到的用时", "fare": "说到的票价"}[what]
            facts.append(factor(what, f"{text}是符合要求的方案的", check))
    return explicit, facts


def _takes(ride_names: list[list[str]]) -> JsonObject:
    """Return the check that one line of each ride is told."""
    each = [list(dict.fromkeys(one for name in names for one in names_of_line(name))) for names in ride_names]
    return all_of(*({"kind": "addressed", "names": words, "endings": ["路", "线"]} for words in each))


def _is_number(value: Json) -> bool:
    return bool(re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", str(value)))


def asked_property(row: Row) -> Made:
    """Return what an answer about a figure of a route must hold."""
    explicit, facts = planned(row)
    asked = [what for what in properties_asked(row.text("query")) if row.route is not None and not row.route.cut]
    texts = {"distance": "里程", "time": "用时", "tolls": "费用", "lights": "红绿灯数", "taxi": "打车费用"}
    for what in asked:
        check = _figure(row, what, "fail")
        if check is not None:
            explicit.append(factor(f"asked_{what}", f"说出所问的{texts[what]}，并与返回的某条路线一致", check))
            facts = [fact for fact in facts if fact["id"] != what]
    return explicit, facts


def departure(row: Row) -> Made:
    """Return what an answer about when to leave must hold."""
    explicit, facts = planned(row)
    some: JsonObject = {"kind": "clock_time", "after": "00:00", "before": "23:59", "quantifier": "any"}
    explicit[0] = factor("deliver", "给出出发时间，或路上要用的时间", any_of(explicit[0]["check"], some))
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
        check = any_of(*told)
        if len(windows) > 1:
            check = all_of(check, {"kind": "not_said", "phrases": ["晚上", "下午", "傍晚", "今晚"]})
        text = f"建议的出发时间能在{_clock(there)}之前到达，也不早得离谱（{window['after']}到{window['before']}）"
        explicit.append(factor("departure", text, check))
    return explicit, facts


def _clock(minutes: int) -> str:
    return f"{minutes % _DAY // 60:02d}:{minutes % 60:02d}"
