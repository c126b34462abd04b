"""What the tools, the context or the user said may be said again, in other units, digits and words."""

import pytest
from grounding_sandbox import claims, verdicts

SUPPORTED = [
    ("distance", "青石寺离这里1480米"),
    ("distance", "青石寺距离约1.5公里"),
    ("distance", "青石寺：１．５ｋｍ"),
    ("distance", "Harbour Noodles is about 0.5 miles away"),
    ("distance", "Harbour Noodles is 860 m from here"),
    ("distance", "**Harbour Noodles**\n- Distance: 0.9 km\n- Rating: 4.5"),
    ("distance", "青石寺在2公里以内"),
    ("distance", "开车去青石寺3.6公里"),
    ("duration", "开车到青石寺16分钟"),
    ("duration", "开车到青石寺约15-18分钟"),
    ("duration", "开车去青石寺大约一刻钟左右"),
    ("duration", "坐公交去青石寺：35分钟，票价2元"),
    ("duration", "It is a 12 min walk to Harbour Noodles."),
    ("duration", "Walking to Harbour Noodles takes twelve minutes."),
    ("price", "半亩茶馆（东门店）人均68元"),
    ("price", "半亩茶馆人均￥68"),
    ("price", "Harbour Noodles costs 40 yuan a head"),
    ("rating", "青石寺，评分4.6"),
    ("rating", "Harbour Noodles is rated 4.5 stars"),
    ("rating", "青石寺评分４．６分"),
    ("phone", "青石寺电话：0571-88001234"),
    ("phone", "半亩茶馆（东门店）的电话是139 0000 2222"),
    ("phone", "Call Harbour Noodles on +44 20 7946 0123."),
    ("time", "青石寺上午8点半开门，下午5点关门"),
    ("time", "半亩茶馆（东门店）营业时间10:00-14:00、17:00-22:30"),
    ("time", "Harbour Noodles is open from 11 am to 9:30 pm"),
    ("address", "青石寺\n地址：南浦区柳桥路120号"),
    ("address", "Harbour Noodles, 18 Quay Road"),
    ("address", "半亩茶馆（东门店）在东门街7号2楼"),
    ("name", "推荐青石寺"),
    ("line", "坐2号线再转18路"),
    ("line", "Take Line 2, then bus 18."),
    ("coordinate", "青石寺的坐标是120.0100, 30.0100"),
]


@pytest.mark.parametrize(("sort", "reply"), SUPPORTED)
def test_what_the_evidence_says_is_supported(sort, reply):
    found = verdicts(reply)
    assert {verdict for _, _, verdict in found} == {"supported"}, found
    assert sort in {one[0] for one in found}


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("10:16", "现在出发，开车到青石寺16分钟，10:16到青石寺。"),
        ("10:12", "Harbour Noodles is a 12 min walk, so you arrive there at 10:12."),
    ],
)
def test_an_arrival_at_the_end_of_a_known_way_is_supported(words, reply):
    assert (words, "supported") in [(text, verdict) for _, text, verdict in verdicts(reply)]


def test_the_evidence_is_quoted_with_its_unit_and_its_tool():
    (claim,) = [one for one in claims("青石寺评分4.6分") if one.sort == "rating"]
    assert claim.evidence == ("4.6 star (search_poi)",)


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("372元", "青石寺门票25元，半亩茶馆（东门店）人均68元，四个人一共372元。"),
        ("160 yuan", "Harbour Noodles costs 40 yuan a head, 160 yuan in total for 4 people."),
    ],
)
def test_what_may_be_reckoned_from_known_figures_is_left_open(words, reply):
    assert (words, "undecided") in [(text, verdict) for _, text, verdict in verdicts(reply)]
