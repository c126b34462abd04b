"""A small made-up table in MobilityBench's published layout: towns, lines and figures of ours."""

import csv
from pathlib import Path
from typing import Any

from pytest_mapsat.ports.mobilitybench.rows import CELL_CHARS, COLUMNS

HERE = "110.100000123,30.200000456"


class Repr:
    """Stands in a literal as itself: a member of an enum, as ``repr`` writes it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


OK = Repr("<ToolStatus.SUCCESS: 0>")


def place(name: str, address: str, location: str) -> dict[str, Any]:
    lon, lat = map(float, location.split(","))
    return {"name": name, "address": address, "location": location, "lng": lon, "lat": lat, "city": "", "poi_id": ""}


def path(metres: int, seconds: int, tolls: int = 0) -> dict[str, Any]:
    steps = [{"instruction": "沿青石路向东行驶500米", "road_name": "青石路", "step_distance": "500"}]
    cost = {"duration": str(seconds), "tolls": str(tolls), "traffic_lights": "5"}
    return {"distance": str(metres), "restriction": "0", "cost": cost, "steps": steps}


def route(*paths: dict[str, Any]) -> dict[str, Any]:
    return {"status": "1", "info": "OK", "route": {"origin": "", "destination": "", "paths": list(paths)}}


def transit(minutes: int, fare: str, *rides: list[str]) -> dict[str, Any]:
    segments = [{"walking": [], "bus": {"buslines": [{"name": name} for name in names]}} for names in rides]
    return {"cost": fare, "duration": str(minutes * 60), "distance": "9000", "segments": segments}


def row(query: str, scenario: str, calls: list[tuple[str, dict[str, Any]]], **cells: Any) -> dict[str, str]:
    """A row of text cells; values that are no text are written as literals."""
    context = cells.pop("context", {"user_current_location": HERE, "city": "云水市"})
    listed = [{"name": name, "arguments": arguments} for name, arguments in calls]
    filled = {"query": query, "task_scenario": scenario, "context": context, "tool_list": listed, **cells}
    texts = {name: value if isinstance(value, str) else repr(value) for name, value in filled.items()}
    return {name: texts.get(name, "") for name in COLUMNS}


END = place("月湖市", "白河省 月湖市 月湖市", "110.500000,30.600000")
ARGUMENTS = {"origin": HERE, "destination": "110.5,30.6"}
FIND_END = ("query_poi", {"keywords": "月湖", "city": "云水市"})


def driven(query: str, scenario: str, answer: Any = None, arguments: dict[str, Any] | None = None, **cells: Any) -> Any:
    calls = [FIND_END, ("driving_route", {**ARGUMENTS, **(arguments or {})})]
    answer = answer or route(path(60_000, 3600, 20), path(55_000, 4500))
    return row(query, scenario, calls, query_end_poi="月湖", std_end=END, route_ans=answer, **cells)


LINES = {"status": OK, "data": {"route": {"transits": [
    transit(30, "3.0", ["地铁1号线(东门--西门)"]),
    transit(50, "2.0", ["21路(东门--桥头)", "22路(东门--桥头)"], ["轨道交通3号线(桥头--西门)"]),
    transit(55, "2.0", ["1路(东门--西门)"]),
]}}}  # fmt: skip
STATION = place("西门(地铁站)", "白河省 南湖区 1号线", "110.300000,30.300000")


def lined(query: str, constraint: str, **cells: Any) -> dict[str, str]:
    calls = [
        ("query_poi", {"keywords": "西门(地铁站)"}),
        ("bus_route", {"origin": HERE, "destination": "110.3,30.3"}),
    ]
    context = {"user_current_location": HERE, "city": "", "travel_tool": "公交"}
    filled = {
        "route_ans": LINES,
        "llm_ner_ans": constraint,
        "query_end_poi": "西门(地铁站)",
        "std_end": STATION,
        **cells,
    }
    return row(query, "Route-Constrained Planning", calls, context=context, **filled)


def traffic(road: str, told: str, status: str = "畅通") -> dict[str, str]:
    answer = {"trafficinfo": {"description": told, "evaluation": {"expedite": "100.00%", "description": status}}}
    calls = [
        ("query_poi", {"keywords": road, "city": "云水市"}),
        ("traffic_status_road_api", {"name": road, "city": "云水市"}),
    ]
    return row(
        f"{road}堵不堵", "Traffic Info Query", calls, road=road, ans=answer, intent_family="Basic Route Planning"
    )


def weather(text: str, query: str = "今天天气怎么样", **cells: Any) -> dict[str, str]:
    answer = {"status": OK, "data": {"weather_description": text}, "error": None}
    calls = [("weather_query", {"city": "云水市", "need_forecast": False})]
    return row(query, "Weather Query", calls, weather=answer, weather_description=text, **cells)


def searched(query: str, found: dict[str, Any]) -> dict[str, str]:
    answer = {"status": OK, "data": {key: found[key] for key in ("location", "name", "address")}, "error": None}
    calls = [("query_poi", {"keywords": query, "city": "云水市"})]
    return row(query, "POI Query", calls, poi_result=answer, ans_loc=found["location"])


CODE = {
    "formatted_address": "白河省云水市南湖区青石镇环山路",
    "roads": [{"name": "环山路", "distance": "3"}, {"name": "G77云月高速", "distance": "90"}],
    "pois": [{"name": "青石茶馆", "distance": "40.5", "location": HERE}],
    "aois": [],
    "addressComponent": {"province": "白河省", "city": "云水市", "district": "南湖区", "township": "青石镇", "businessAreas": [[]]},
}  # fmt: skip
NEIGHBOURS = [
    {"name": "青石茶馆(南门店)", "address": "环山路5号", "location": "110.301000,30.300500"},
    {"name": "月下茶社", "address": "湖滨路8号", "location": "110.310000,30.320000"},
]


def nearby() -> dict[str, str]:
    calls = [
        ("query_poi", {"keywords": "西门", "city": "云水市"}),
        ("search_around_poi", {"location": "110.3,30.3", "keywords": "茶馆"}),
    ]
    centre = {"status": OK, "data": {"location": "110.3,30.3", "name": "西门", "address": "白河省 南湖区 环山路"}}
    answer = {"status": OK, "data": {"status": "1", "pois": NEIGHBOURS}, "error": None}
    return row("西门附近有茶馆吗", "Nearby Query", calls, query_poi="西门", near_poi_info="茶馆", poi_result=centre, near_poi_ans=answer)  # fmt: skip


def cut(text: dict[str, Any]) -> str:
    """The text of an answer as a spreadsheet keeps it: so many characters and no more."""
    whole = repr(text | {"more": "长" * CELL_CHARS})
    return whole[:CELL_CHARS]


DATED = {"user_current_location": HERE, "city": "云水市", "start_datetime": "2025-11-03 20:50:58.839", "travel_tool": "驾车"}  # fmt: skip
TIMED = {"user_current_location": HERE, "city": "云水市", "start_datetime": "12:10:34.372"}
VIA = place("松桥", "白河省 松桥县 松桥县", "110.400000,30.400000")


def rows() -> dict[str, dict[str, str]]:
    """A row of every scenario, and of every sort of doubt, by a short name."""
    return {
        "poi": searched("南湖区青石茶馆", place("青石茶馆", "白河省 南湖区 环山路5号", "110.301000,30.300500")),
        "where": row("我在哪", "Geolocation Query", [("reverse_geocoding", {"longitude": "110.100000123", "latitude": "30.200000456"})], location_ans={"regeocode": CODE}, formatted_address=CODE["formatted_address"]),
        "nearby": nearby(),
        "weather": weather("云水市当前天气多云，气温-4℃，湿度39%，北风≤3级。"),
        "traffic": traffic("云水市环山路", "环山路：双向畅通。"),
        "far": driven("去月湖多少公里", "Route Property Query"),
        "leave": driven("明天早上9点前到月湖要几点出发", "Arrival/Departure Time Query", context=DATED, duration="1小时"),
        "drive": driven("开车去月湖", "Point-to-Point Planning", context=TIMED),
        "via": driven("去月湖路过松桥", "Multi-stop Planning", arguments={"waypoints": ["110.4,30.4"]}, query_transit_poi="松桥", std_transit=VIA),
        "wish": driven("去月湖不走高速", "Option-Constrained Route Planning", arguments={"strategy": ["不走高速"]}, strategy_list=["不走高速"]),
        "lines": lined("去西门(地铁站)不坐1号线", "不要1号线", matched_transit_index="1.0"),
        "mixed": traffic("湖滨路", "湖滨路：由东向西严重拥堵，其余路段畅通。", "轻度拥堵"),
        "forecast": weather("云水市明天白天多云，夜间小雨，气温12~20℃。", "明天天气如何", time="明天"),
        "fare": driven("打车去月湖多少钱", "Route Property Query", {"route": {"taxi_cost": "88", "paths": [path(60_000, 3600)]}}),
        "cut": driven("去月湖有多远", "Route Property Query", cut(route(path(60_000, 3600)))),
        "other_road": traffic("成功路", "光明路：双向畅通。"),
        "other_way": driven("坐地铁去月湖", "Point-to-Point Planning"),
        "turned": lined("坐地铁1号线去西门(地铁站)", "不要1号线", matched_transit_index="2.0"),
        "unlike": driven("去月湖走高速优先", "Option-Constrained Route Planning", arguments={"strategy": ["不走高速"]}, strategy_list=["不走高速"]),
        "own_place": driven("从我的位置去月湖", "Point-to-Point Planning", query_start_poi="我的位置", std_start=place("我的位置公寓", "远山省 北湖区 长街1号", "115.0,23.0")),
        "region": searched("东湖区团结街", place("团结街", "白河省 南湖区 南湖区", "110.2,30.3")),
        "distant": searched("江山府", place("民安江山府", "远山省 北湖区 长街1号", "115.0,23.0")),
        "no_weather": weather("云水市当前天气，气温℃"),
        "later": weather("云水市当前天气晴，气温8℃。", "明天天气怎么样", time="明天"),
    }  # fmt: skip


DOUBTFUL = ("other_road", "other_way", "turned", "unlike", "own_place", "region", "distant", "no_weather", "later")


def write_table(folder: Path, *listed: dict[str, str], columns: tuple[str, ...] = COLUMNS) -> Path:
    """Write rows as the published table; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "sample.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(listed)
    return table
