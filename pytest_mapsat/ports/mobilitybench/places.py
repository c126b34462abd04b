"""What an answer about a place, the weather or the traffic must hold, from the row's columns."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_mapsat.model import Json, JsonObject

from .factors import Made, all_of, any_of, factor, grounded, said_by
from .rows import Row, point_of
from .words import NEGATORS, TRAFFIC, WEATHER, other_words, states_in

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
_NOT_KNOWN = (
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
_DEGREES = re.compile(r"(?<!\d)(-?\d{1,2}(?:\.\d)?)(?:[℃度]?\s*[~～到至-]\s*(-?\d{1,2}(?:\.\d)?))?\s*[℃度]")
_CODE = re.compile(r"^[A-Z]\d{1,5}")
_HAN_DIGITS = "零一二三四五六七八九十"
_TEN = 10
_PART = 3


def poi(row: Row) -> Made:
    """Return what an answer about a place must hold."""
    call = next((one for one in row.calls if one.tool == "query_poi"), None)
    point = point_of(row.text("ans_loc")) or point_of(call.result if call else None)
    place = call.result if call else None
    named = str(place.get("name") or "") if isinstance(place, dict) else ""
    given: JsonObject = {"kind": "located", "by_name": False, "words": _street(place)}
    told = _told(_PARTS, besides=[one for one in (named, row.text("query")) if one])
    explicit = [factor("deliver", "给出所问地点的地址或坐标", any_of(given, told))]
    if point is not None:
        where: JsonObject = {"kind": "located", "lon": point[0], "lat": point[1], "metres": 1000}
        where["words"] = _street(place)
        explicit.append(
            factor(
                "place",
                "所给地点（名称或坐标）距 query_poi 返回的位置不超过1公里，没有给出别处的坐标",
                said_by("query_poi", where),
            )
        )
    return explicit, [
        factor("address", "说到的地址、坐标和电话与 query_poi 返回的一致", grounded("point", "address", "phone"))
    ]


def _street(place: Json) -> list[str]:
    """Return the last part of a place's address, where it says more than the region."""
    parts = str(place.get("address") or "").split() if isinstance(place, dict) else []
    street = re.sub(r"[(（][^()（）]*[)）]", "", parts[-1]) if parts else ""
    return [street] if len(parts) > 2 and street not in parts[:-1] and len(street) > 2 else []  # noqa: PLR2004  province, district, street


def geolocation(row: Row) -> Made:
    """Return what an answer about where the user is must hold."""
    code = row.mapping("location_ans").get("regeocode")
    data: JsonObject = code if isinstance(code, dict) else {}
    parts = data.get("addressComponent")
    component: JsonObject = parts if isinstance(parts, dict) else {}
    known = [value for value in component.values() if isinstance(value, str)]
    near = _told(_PARTS, [*known, *_names(data, "roads"), *_names(data, "pois")])
    explicit = [factor("deliver", "说出一个地址（行政区、道路或地点）", any_of(_told(_PARTS), near))]
    district = component.get("district")
    if isinstance(district, str) and district:
        besides = [value for value in (*known, *_names(data, "businessAreas", component)) if value != district]
        check = _told(_DISTRICTS, _shorter(district, _DISTRICTS), besides)
        explicit.append(factor("district", f"说出所在的区县：{district}", said_by("reverse_geocoding", check)))
    roads = [road for name in _names(data, "roads") for road in _spoken_road(name)]
    places = [*_names(data, "pois"), *_names(data, "aois")]
    street = row.text("formatted_address")
    for value in sorted(filter(None, known), key=len, reverse=True):
        street = street.replace(value, "")
    around = [name for name in (street, *roads, *places) if len(name) > 1 and name not in known]
    if around:
        text = f"说出所在的道路或附近的地点：{street or around[0]}，或 reverse_geocoding 返回的道路、地点之一"
        check = _told(_ROADS, around, [*known, *_names(data, "businessAreas", component)])
        explicit.append(factor("road", text, said_by("reverse_geocoding", check)))
    return explicit, [factor("distances", "说到的距离和坐标与返回的一致", grounded("distance", "point"))]


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


def nearby(row: Row) -> Made:
    """Return what an answer about places nearby must hold."""
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
    bare = [re.sub(r"[(（][^()（）]*[)）]", "", name) for name in names]
    words = list(
        dict.fromkeys([*names, *(one for one in bare if one and bare.count(one) == 1)])
    )  # a chain's name is none
    said: JsonObject = {"kind": "said", "any": words, "about": words}
    explicit = [
        factor("deliver", "说出附近至少一个所找的地点", any_of(some, *([said] if words else []), _told(_SHOPS)))
    ]
    if names:
        listed_one = {"kind": "recommends", "tool": tool, "names": list(dict.fromkeys(names)), "quantifier": "any"}
        parts = list(dict.fromkeys(part for one in words for part in _parts_of(one)))
        told = _told(_SHOPS, words)
        check = said_by(
            tool, any_of(listed_one, told), {"kind": "said", "any": parts, "about": parts}, grounded("name")
        )
        explicit.append(factor("listed", "说出的地点中至少有一个在 search_around_poi 返回的列表里", check))
    claims = grounded("name", "address", "point", "phone")
    return explicit, [factor("details", "说到的名称、地址和坐标与返回的一致", claims)]


def _parts_of(name: str) -> list[str]:
    """Return the parts of a name of which one stands in whatever it may be shortened to."""
    bare = re.sub(r"[(（)）\s]", "", name)
    return [bare[at : at + _PART] for at in range(max(len(bare) - _PART + 1, 1))]


def weather(row: Row) -> Made:
    """Return what an answer about the weather must hold."""
    text = row.text("weather_description")
    told = states_in(text, WEATHER)
    every = [word for words in WEATHER.values() for word in words]
    degrees: JsonObject = {"kind": "number", "unit": "celsius", "quantifier": "any"}
    ranges = [(float(found[1]), float(found[2] or found[1])) for found in _DEGREES.finditer(text)]
    given = [degree for pair in ranges for degree in pair]
    if not told and not given:
        words = list(_NOT_KNOWN)
        missing = all_of({"kind": "said", "any": words, "about": words}, {"kind": "not_said", "phrases": every})
        explicit = [factor("deliver", "说明查不到该地的天气数据", missing)]
    else:
        some = any_of({**degrees, "min": -90, "max": 70}, {"kind": "said", "any": every, "about": every})
        explicit = [factor("deliver", "说出天气状况或气温", some)]
    if told:
        explicit.append(
            factor("condition", f"天气状况：{'、'.join(told)}", said_by("weather_query", _state(WEATHER, told)))
        )
    if given:
        each = [
            all_of({**degrees, "min": abs(one), "max": abs(one)}, _signed(one, below=one < 0))
            for one in dict.fromkeys(given)
        ]
        between = [(min(abs(low), abs(high)), max(abs(low), abs(high))) for low, high in ranges if low != high]
        each += [{**degrees, "min": low, "max": high} for low, high in between]
        listed = "、".join(f"{one:g}℃" for one in dict.fromkeys(given))
        explicit.append(factor("temperature", f"气温：{listed}", said_by("weather_query", any_of(*each))))
    bound = {"op": "bound", "tool": "weather_query", "path": "weather_description"}
    humidity = {"kind": "number", "unit": "percent", "equals": bound, "tolerance": 0, "quantifier": "any"}
    facts = factor("figures", "说到的湿度与 weather_query 返回的一致", {**humidity, "if_absent": "vacuous"})
    return explicit, [facts]


def _signed(degree: float, *, below: bool) -> JsonObject:
    """Return the check that a temperature is told above or below zero: figures are read without their sign."""
    size = f"{abs(degree):g}"
    words = [f"{minus}{size}" for minus in ("-", "−", "零下", "负", "零下约", "-约")]
    words += [f"{minus}{_HAN_DIGITS[int(size)]}" for minus in ("零下", "负") if size.isdigit() and int(size) <= _TEN]
    words += ["零下两", "负两"] if size == "2" else []
    if not below:
        return {"kind": "not_said", "phrases": words}
    return {"kind": "said", "any": words, "about": words}


def _state(states: dict[str, tuple[str, ...]], told: list[str]) -> JsonObject:
    """Return the check that one of the told states is said, and no other."""
    own = [word for state in told for word in states[state]]
    every = list(dict.fromkeys(word for words in states.values() for word in words))
    said: JsonObject = {"kind": "said", "any": own, "about": every}
    others = list(dict.fromkeys(other_words(states, told)))
    return all_of(said, {"kind": "not_said", "phrases": others}) if others else said


def traffic(row: Row) -> Made:
    """Return what an answer about the traffic must hold."""
    info = row.mapping("ans").get("trafficinfo")
    data: JsonObject = info if isinstance(info, dict) else {}
    evaluation = data.get("evaluation")
    overall = str(evaluation.get("description") or "") if isinstance(evaluation, dict) else ""
    told = [state for state in TRAFFIC if state in overall or state in str(data.get("description") or "")]
    meant = [state for state in told if state in overall] or told
    heard = [*(word for words in TRAFFIC.values() for word in words), "拥堵", "堵", "缓慢", "拥挤"]
    heard += [] if told else _NOT_KNOWN
    explicit = [factor("deliver", "说出道路是否畅通", {"kind": "said", "any": heard, "about": heard})]
    if meant:
        own = [word for state in meant for word in (state, *TRAFFIC[state])]
        said = {"kind": "said", "any": own, "about": [*own, *(NEGATORS if "畅通" in meant else ("堵", "慢", "挤"))]}
        others = {"kind": "not_said", "phrases": list(dict.fromkeys(other_words(TRAFFIC, told)))}
        check = all_of(said, others) if len(told) < len(TRAFFIC) else said
        explicit.append(factor("status", f"路况：{'、'.join(meant)}", said_by("traffic_status", check)))
    bound = {"op": "bound", "tool": "traffic_status", "path": "trafficinfo.evaluation.*"}
    share = {"kind": "number", "unit": "percent", "equals": bound, "quantifier": "any", "if_absent": "vacuous"}
    return explicit, [factor("figures", "说到的百分比与 traffic_status 返回的一致", share)]


def _told(endings: Iterable[str], names: Iterable[str] = (), besides: Iterable[str] = ()) -> JsonObject:
    unique = [name for name in dict.fromkeys(names) if name]
    return {"kind": "addressed", "names": unique, "endings": list(endings), "besides": [*besides, *_NO_NAMES]}
