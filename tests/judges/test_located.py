"""Where something is: points and places within a distance, and the parts of an address."""

import pytest
from judging import call, judge_reply

from pytest_mapsat.model import Tool

FIND = Tool.model_validate(
    {
        "name": "find",
        "description": "Finds a place.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        "entities": [{"items": "", "name": "name", "fields": {"at": "point", "address": "address"}}],
    }
)
NEAR = {"name": "青石茶馆", "at": "120.001000,30.001000", "address": "环山路5号"}
FAR = {"name": "月下茶社", "at": "120.100000,30.100000", "address": "湖滨路8号"}


def located(reply, *results):
    steps = [call("find", result) for result in results or (NEAR, FAR)]
    fields = {"lon": 120.0, "lat": 30.0, "metres": 1000, "words": ["环山路5号"]}
    return judge_reply(reply, "located", steps=steps, tools={"find": FIND}, **fields).passed


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("坐标是120.0021,30.0005。", True),
        ("纬度30.0005，经度120.0021。", True),
        ("The place is at 30.0005, 120.0021.", True),
        ("坐标是120.0221,30.0005。", False),
        ("青石茶馆在120.0221,30.0005。", False),  # the point counts before the name
        ("您要去的是青石茶馆。", True),
        ("就在环山路5号。", True),
        ("您要去的是月下茶社。", False),
        ("坐标120.0021,30.0005，或者120.5001,30.5001。", None),
        ("好的。", False),
        ("它不在环山路5号。", None),
    ],
)
def test_a_place_is_told_by_its_point_its_name_or_its_street(reply, passed):
    assert located(reply) is passed


def test_without_a_point_any_place_will_do():
    told = [
        judge_reply(reply, "located", steps=[call("find", FAR)], tools={"find": FIND}).passed
        for reply in ("月下茶社不错，推荐去。", "坐标1.2345,2.3456。", "好的。")
    ]
    assert told == [True, True, False]


def addressed(reply, *names, endings=("区", "县"), besides=()):
    return judge_reply(reply, "addressed", names=list(names), endings=list(endings), besides=list(besides))


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("您在云水市南湖区。", True),
        ("您在南湖。", True),
        ("您在云水市东湖区。", False),
        ("您不在东湖区，在南湖区。", True),
        ("您不在南湖区。", None),
        ("您在南湖区吗？", None),
        ("这里是小区门口。", False),
        ("您在云水市。", False),
    ],
)
def test_the_part_of_an_address_is_the_right_one(reply, passed):
    assert addressed(reply, "南湖区", "南湖", besides=["小区"]).passed is passed


def test_another_part_is_quoted():
    finding = addressed("您现在位于云水市东湖区的环山路。", "南湖区")
    assert [quote.text for quote in finding.quotes] == ["云水市东湖区"]


def test_a_number_is_no_part_of_a_longer_one():
    told = [addressed(reply, "1路", endings=["路"]).passed for reply in ("坐1路。", "坐21路。")]
    assert told == [True, False]


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("It is at 2.3522,48.8566.", True),
        ("It is at 48.8566, 2.3522.", True),
        ("It is at 2.3522,49.8566.", False),
        ("It is at 49.8566, 2.3522.", False),
    ],
)
def test_a_point_whose_order_is_not_clear_from_its_figures_lies_where_either_order_does(reply, passed):
    fields = {"lon": 2.3522, "lat": 48.8566, "metres": 1000}
    assert judge_reply(reply, "located", steps=[call("find", NEAR)], tools={"find": FIND}, **fields).passed is passed
