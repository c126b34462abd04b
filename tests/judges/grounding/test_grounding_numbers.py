"""Numbers with units, and clock times, in both languages."""

import pytest

from pytest_mapsat.judges.grounding.clock import clock_of
from pytest_mapsat.judges.grounding.text import Reading

QUANTITIES = [
    ("12.5 km", [("length", 12500)]),
    ("1,234 m", [("length", 1234)]),
    ("１２．５ｋｍ", [("length", 12500)]),
    ("12 公里", [("length", 12000)]),
    ("五千米", [("length", 5000)]),
    ("三点五公里", [("length", 3500)]),
    ("1公里200米", [("length", 1200)]),
    ("G4 高速 12 公里", [("length", 12000)]),
    ("60 km/h", [("other", 60)]),
    ("20㎡", [("other", 20)]),
    ("1 h 20 min", [("time", 4800)]),
    ("1小时20分钟", [("time", 4800)]),
    ("1小时20分", [("time", 4800)]),
    ("1h20", [("time", 4800)]),
    ("半小时", [("time", 1800)]),
    ("一个半小时", [("time", 5400)]),
    ("2个半小时", [("time", 9000)]),
    ("half an hour", [("time", 1800)]),
    ("an hour", [("time", 3600)]),
    ("一刻钟", [("time", 900)]),
    ("十五分钟", [("time", 900)]),
    ("a 5-minute walk", [("time", 300)]),
    ("10-15 min", [("time", 600), ("time", 900)]),
    ("10到15分钟", [("time", 600), ("time", 900)]),
    ("二十三元", [("money", 23)]),
    ("¥100", [("money", 100)]),
    ("RMB 88", [("money", 88)]),
    ("3万元", [("money", 30000)]),
    ("35%", [("share", 35)]),
    ("百分之六十", [("share", 60)]),
    ("25℃", [("temperature", 25)]),
    ("零下5度", [("temperature", -5)]),
    ("-5°C", [("temperature", -5)]),
    ("4.8 stars", [("rating", 4.8)]),
    ("4.8分", [("rating", 4.8)]),
    ("评分4.5", [("rating", 4.5)]),
    ("rating 4.6", [("rating", 4.6)]),
    ("3 transfers", [("count", 3)]),
    ("two transfers", [("count", 2)]),
    ("换乘两次", [("count", 2)]),
    ("十分方便", []),
    ("百度地图", []),
    ("快一点", []),
    ("9:00-22:00", []),
    ("9" * 40, []),
]
TIMES = [
    ("18:30", ["18:30"]),
    ("6:30 pm", ["18:30"]),
    ("6 p.m.", ["18:00"]),
    ("12:15 a.m.", ["00:15"]),
    ("at 6:30 in the evening", ["18:30"]),
    ("noon", ["12:00"]),
    ("下午6点半", ["18:30"]),
    ("18点30分", ["18:30"]),
    ("晚上8点", ["20:00"]),
    ("晚上 8:00", ["20:00"]),
    ("下午两点", ["14:00"]),
    ("十点一刻", ["10:15"]),
    ("中午1点", ["13:00"]),
    ("凌晨12点", ["00:00"]),
    ("2026-05-23 18:30:00", ["18:30"]),
    ("上午9点到下午5点", ["09:00", "17:00"]),
    ("快一点", []),
    ("三点五公里", []),
    ("25:00", []),
    ("ratio 16:9", []),
]


@pytest.mark.parametrize(("text", "expected"), QUANTITIES)
def test_a_number_is_read_in_its_base_unit(text, expected):
    found = [(quantity.dimension, quantity.value) for quantity in Reading.of(f"A {text} b").quantities]
    assert found == [(dimension, pytest.approx(value)) for dimension, value in expected]


@pytest.mark.parametrize(("text", "expected"), TIMES)
def test_a_clock_time_is_read(text, expected):
    found = Reading.of(f"({text})").times
    assert [clock_of(time.minutes) for time in found] == expected


@pytest.mark.parametrize("text", ["about 5 km", "约5公里", "大概5公里", "5公里左右", "~5 km"])
def test_an_approximate_number_is_marked(text):
    assert [quantity.about for quantity in Reading.of(text).quantities] == [True]
