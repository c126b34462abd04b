"""Which of the places that a reply names are turned down, alone and in lists, in both languages."""

import pytest
from judging import call, judge_reply

NAMES = ("Cafe Luna", "Old Mill", "Red Door", "青石茶馆", "听雨轩")
FOUND = call(result={"pois": [{"name": name, "poiid": name} for name in NAMES]}, query="x")


def kept(reply):
    """The names that the reply recommends."""
    return {
        name for name in NAMES if judge_reply(reply, "recommends", any_of=[name], tool="any", steps=(FOUND,)).passed
    }


@pytest.mark.parametrize(
    "reply",
    [
        "Cafe Luna is closed, so go to Old Mill.",
        "Cafe Luna is too low for your van; take Old Mill.",
        "Cafe Luna won't fit you. Old Mill will.",
        "Cafe Luna is nearer, but it is already full. Try Old Mill.",
        "Cafe Luna and Red Door are closed. Old Mill is open.",
        "Skip Cafe Luna and Red Door: Old Mill it is.",
        "I ruled out Cafe Luna. Go to Old Mill.",
        "Cafe Luna doesn't meet your needs, Old Mill does.",
        "Cafe Luna has no step-free way in and is not accessible. Old Mill is.",
        "Old Mill, since the others are closed.",
        "Go to Old Mill, because other places are too expensive.",
        "Old Mill is open. Cafe Luna is no longer available.",
        "Old Mill is not too far and never too busy.",
        "Old Mill is far from closed: it serves until 22:00.",
        "Old Mill beats Red Door? I would take Old Mill rather than Red Door.",
    ],
)  # fmt: skip
def test_in_english(reply):
    assert kept(reply) <= {"Old Mill"}


@pytest.mark.parametrize(
    "reply",
    [
        "青石茶馆已经打烊，去听雨轩吧。",
        "青石茶馆满了，去不了，建议听雨轩。",
        "青石茶馆和Cafe Luna都关门了，推荐听雨轩。",
        "青石茶馆、Cafe Luna太远，听雨轩正好。",
        "不推荐青石茶馆和Cafe Luna，推荐听雨轩。",
        "青石茶馆虽然近，但是停不下您的车。听雨轩可以。",
        "听雨轩不太远，没有坏消息。",
        "推荐听雨轩，其他店都太贵。",
        "没选青石茶馆，选听雨轩。",
        "青石茶馆插不上您的车，听雨轩可以。",
    ],
)
def test_in_chinese(reply):
    assert kept(reply) <= {"听雨轩"}


@pytest.mark.parametrize(
    "reply",
    [
        "Cafe Luna is not far and is open. Old Mill is good too.",
        "Go to Cafe Luna, then Old Mill.",
    ],
)
def test_what_is_praised_is_never_turned_down(reply):
    for name in ("Cafe Luna", "Old Mill"):
        finding = judge_reply(reply, "recommends", none_of=[name], steps=(FOUND,))
        assert finding.passed is not True


def test_a_comma_alone_makes_no_list():
    assert kept("Skip Cafe Luna, Old Mill is better.") <= {"Old Mill"}


def recommended(reply, name):
    return judge_reply(reply, "recommends", any_of=[name], tool="any", steps=(FOUND,))


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("Cafe Luna is full at noon, go at two.", "Cafe Luna"),
        ("Cafe Luna is too far for a walk but ten minutes by car.", "Cafe Luna"),
        ("Cafe Luna, though it is not cheap.", "Cafe Luna"),
        ("青石茶馆中午满了，两点去。", "青石茶馆"),
        ("青石茶馆两点前满了。您的座位是两点半。", "青石茶馆"),
        ("青石茶馆离您太远了，走路去不了，打车十分钟。", "青石茶馆"),
        ("青石茶馆有点远，不过环境很好。", "青石茶馆"),
    ],
)
def test_what_is_turned_down_in_passing_is_left_open_where_nothing_else_is_proposed(reply, name):
    finding = recommended(reply, name)
    assert finding.passed is None
    assert [quote.text for quote in finding.quotes] == [name]


@pytest.mark.parametrize(
    ("reply", "name", "other"),
    [
        ("Cafe Luna is full at noon, so go to Old Mill.", "Cafe Luna", "Old Mill"),
        ("Cafe Luna is fully booked until two. I recommend Old Mill.", "Cafe Luna", "Old Mill"),
        ("青石茶馆中午满了，推荐听雨轩。", "青石茶馆", "听雨轩"),
        ("青石茶馆离您太远了，走路去不了，建议去听雨轩。", "青石茶馆", "听雨轩"),
    ],
)
def test_where_something_else_is_proposed_it_is_turned_down(reply, name, other):
    assert recommended(reply, name).passed is False
    assert recommended(reply, other).passed is True


@pytest.mark.parametrize(
    ("reply", "name"),
    [("Skip Cafe Luna.", "Cafe Luna"), ("I ruled out Cafe Luna.", "Cafe Luna"), ("不推荐青石茶馆。", "青石茶馆")],
)
def test_what_is_turned_down_and_nothing_more_is_not_recommended(reply, name):
    assert recommended(reply, name).passed is False
