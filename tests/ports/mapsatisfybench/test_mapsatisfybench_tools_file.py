"""The shipped specs of the 22 MapSatisfyBench tools, and what they must never let through."""

import json

import pytest
from mapsatisfybench_samples import tools

from pytest_mapsat.model import Recording
from pytest_mapsat.sandbox import RecordedSandbox, argument_problems, canonical

NAMES = [
    "search_poi",
    "search_around_poi",
    "search_poi_along_route",
    "search_poi_around_multipoints",
    "get_navigation",
    "get_sequential_navigation",
    "get_taxi_route_plan",
    "get_rgeo",
    "get_weather",
    "get_route_traffic_info",
    "route_station_info",
    "optimize_visit_order",
    "search_products_by_poiid",
    "search_train_or_flights_tickets",
    "fuel_payment",
    "restaurant_group_buy",
    "restaurant_reservation",
    "scenic_ticket_transaction",
    "transaction_service",
    "ainative_kuake_search",
    "search_user_action_summary",
    "search_user_profile",
]


def test_there_are_all_22_tools():
    assert list(tools()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_matching_rule_and_a_description(name):
    tool = tools()[name]
    properties = tool.parameters["properties"]
    assert set(tool.match) == set(properties)
    assert set(tool.parameters.get("required", ())) <= set(properties)
    assert all(schema["description"] for schema in properties.values())
    assert json.loads(json.dumps(tool.to_json())) == tool.to_json()


@pytest.mark.parametrize("name", NAMES)
def test_declared_defaults_can_be_read(name):
    assert all(problem.startswith("missing required parameter") for problem in argument_problems(tools()[name], {}))


def same(tool, parameter, one, other):
    rule = tools()[tool].match[parameter]
    return canonical(one, rule) == canonical(other, rule)


@pytest.mark.parametrize(
    ("tool", "parameter", "one", "other"),
    [
        ("get_navigation", "mode", ["驾车", "公交"], '["transit","drive"]'),
        ("get_navigation", "mode", "驾车,公交,骑行,步行", ["步行", "骑行", "公交", "驾车"]),
        ("search_around_poi", "sort_rule", "distance", 1),
        ("search_around_poi", "sort_rule", "weight", "0"),
        ("search_around_poi", "rating_range", "[4, 5]", "[4,5]"),
        ("route_station_info", "city", "广东省/广州市", "广州"),
        ("route_station_info", "city", "440100", "Guangzhou"),
        ("route_station_info", "city", "北京市/北京市", "北京"),
        ("route_station_info", "line_nums", "地铁11号线,地铁12号线", "12号线，十一号线"),
        ("route_station_info", "station_names", "人民公园(地铁站)", "人民公园"),
        ("search_poi", "cur_adcode", "宁波市", "330200"),
        ("search_poi_along_route", "route_type", "0", "驾车"),
        ("get_weather", "date", "2026-05-26", "2026/5/26"),
        ("search_train_or_flights_tickets", "startTime", 1779757200000, "1779757200000"),
        ("optimize_visit_order", "via_points", "1,2;3,4", [[1, 2], [3, 4]]),
    ],
)
def test_what_means_the_same_is_the_same(tool, parameter, one, other):
    assert same(tool, parameter, one, other)


@pytest.mark.parametrize(
    ("tool", "parameter", "one", "other"),
    [
        ("route_station_info", "city", "吉林省", "长春市"),
        ("route_station_info", "line_nums", "11号线", "1号线"),
        ("route_station_info", "line_nums", "11路", "11号线"),
        ("route_station_info", "line_type", "公交", "地铁"),
        ("get_weather", "location", "北京市朝阳区", "长春市朝阳区"),
        ("get_weather", "location", "重庆市江北区", "江北区"),
        ("search_user_profile", "uid", "abc", "ABC"),
        ("get_navigation", "mode", "货车", "驾车"),
    ],
)
def test_what_means_another_thing_is_not(tool, parameter, one, other):
    assert not same(tool, parameter, one, other)


def answered(tool, recorded, asked, result="x"):
    box = RecordedSandbox(tools(), [Recording(case="c", tool=tool, arguments=recorded, result=result)])
    return box.call(tool, asked)


CENTRE = {"x": 10, "y": 50}
TRIP = {"start_lon": 10, "start_lat": 50, "end_lon": 10.1, "end_lat": 50, "mode": ["驾车"]}


@pytest.mark.parametrize(
    ("tool", "recorded", "changed"),
    [
        ("search_poi", {"query": "天安门", "cur_adcode": "北京"}, {"query": "天安门店"}),
        ("search_poi", {"query": "大佛寺", "cur_adcode": "广州"}, {"cur_adcode": "北京"}),
        ("search_poi", {"query": "大佛寺"}, {"cur_adcode": "北京"}),
        ("search_poi", {"query": "咖啡"}, {"city_limit": True, "cur_adcode": None}),
        ("search_poi", {"query": "咖啡"}, {"page_num": 2}),
        ("search_poi", {"query": "咖啡"}, {"types": "050500"}),
        ("search_around_poi", CENTRE | {"query": "充电站"}, {"query": "特来电充电站"}),
        ("search_around_poi", CENTRE | {"query": "LNG加气站"}, {"query": "加气站"}),
        ("search_around_poi", CENTRE | {"query": "酒"}, {"query": "酒店"}),
        ("search_around_poi", CENTRE | {"query": "咖啡"}, {"y": 50.002}),
        ("search_around_poi", CENTRE | {"query": "咖啡"}, {"rating_range": "[4,5]"}),
        ("search_around_poi", CENTRE | {"query": "咖啡", "range": 500}, {"range": 800}),
        ("get_navigation", TRIP, {"end_lat": 50.001}),
        ("get_navigation", TRIP, {"start_lon": 10.1, "end_lon": 10}),
        ("get_navigation", TRIP, {"mode": ["货车"]}),
        ("get_navigation", TRIP, {"via_points": "10.05,50"}),
        ("get_navigation", TRIP, {"avoid_road_names": "环城北路"}),
        ("get_rgeo", CENTRE, {"y": 50.0002}),
        ("get_weather", {"location": "唐山", "date": "2026-05-26"}, {"date": "2026-05-27"}),
        ("route_station_info", {"city": "滁州", "line_type": "公交", "line_nums": "27路"}, {"line_nums": "28路"}),
        ("route_station_info", {"city": "滁州", "line_type": "公交", "line_nums": "27路"}, {"city": "南京"}),
        ("search_products_by_poiid", {"poiid": "B1"}, {"poiid": "B2"}),
        ("search_user_profile", {"uid": "a"}, {"uid": "b"}),
        ("search_user_action_summary", {"uid": "a"}, {"uid": "b"}),
        ("search_poi_around_multipoints", {"pois": [CENTRE], "query": "小区"}, {"pois": [CENTRE, CENTRE]}),
        ("get_sequential_navigation", {"points": "10,50;11,50"}, {"points": "11,50;10,50"}),
        (
            "search_train_or_flights_tickets",
            {"startPoiId": "a", "endPoiId": "b", "travelType": "train", "startTime": 1779757200000},
            {"startTime": 1779843600000},
        ),
    ],
)
def test_an_answer_for_something_else_is_never_served(tool, recorded, changed):
    assert answered(tool, recorded, recorded).provenance.kind == "exact"
    assert answered(tool, recorded, recorded | changed).status == "miss"


@pytest.mark.parametrize(
    ("tool", "recorded", "changed", "named"),
    [
        (
            "search_around_poi",
            CENTRE | {"query": "咖啡"},
            {"query": "咖啡店", "sort_rule": "weight"},
            {"query", "sort_rule"},
        ),
        ("search_around_poi", CENTRE | {"query": "渔具店"}, {"query": "渔具"}, {"query"}),
        ("search_around_poi", CENTRE | {"query": "住宅小区"}, {"query": "小区"}, {"query"}),
        ("search_around_poi", CENTRE | {"query": "便利店24小时"}, {"query": "24小时便利店"}, {"query"}),
        ("search_around_poi", CENTRE | {"query": "特来电汽车充电站"}, {"query": "特来电充电站"}, {"query"}),
        ("get_navigation", TRIP, {"route_type": "38", "end_name": "y", "end_lat": 50.0003}, {"route_type", "end_lon"}),
        ("search_poi", {"query": "咖啡"}, {"page_size": 5}, {"page_size"}),
        ("get_weather", {"location": "唐山", "date": "2026-05-26"}, {"location": "唐山市", "whole": False}, {"whole"}),
        ("fuel_payment", {"poi_id": "B1"}, {"oil_num": "92"}, {"oil_num"}),
    ],
)
def test_what_may_differ_is_named(tool, recorded, changed, named):
    answer = answered(tool, recorded, recorded | changed)
    assert answer.provenance.kind == "near"
    assert {difference.parameter for difference in answer.provenance.differences} == named


def test_labels_of_points_and_switches_of_the_service_do_not_count():
    changed = {"start_name": "a", "end_name": "b", "end_poiid": "c", "via_name": "d", "sandbox": True}
    assert answered("get_navigation", TRIP, TRIP | changed).provenance.kind == "exact"
    assert answered("search_around_poi", CENTRE, CENTRE | {"request": {"a": 1}}).provenance.kind == "exact"


def test_nothing_found_in_a_wide_corridor_holds_for_a_narrow_one_but_a_list_is_not_cut():
    ends = {"start_x": 10, "start_y": 50, "end_x": 11, "end_y": 50, "keywords": "渔具店"}
    nothing, found = {"status": "no_poi"}, {"data": {"lineAroundRecommend": {"data": {"items": [{"poiName": "a"}]}}}}
    tool = "search_poi_along_route"
    assert answered(tool, ends, ends | {"range": "5000"}, nothing).provenance.kind == "composed"
    assert answered(tool, ends, ends | {"range": "5000"}, found).status == "miss"
    assert answered(tool, ends, ends | {"range": "20000"}, nothing).status == "miss"
