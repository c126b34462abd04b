"""Which of the places that a reply names are turned down, alone and in lists, in both languages."""

import pytest
from judging import call, judge_reply

NAMES = ("Cafe Luna", "Old Mill", "Red Door", "青石茶馆", "听雨轩")
FOUND = call(result={"pois": [{"name": name, "poiid": name} for name in NAMES]}, query="x")


def kept(reply):
    """The names that the reply recommends."""
    return {
        name
        for name in NAMES
        if judge_reply(reply, "recommends", names=[name], quantifier="any", steps=(FOUND,)).passed
    }


@pytest.mark.parametrize(
    "reply",
    [
        "Cafe Luna is closed, so go to Old Mill.",
        "Cafe Luna is too low for your van; take Old Mill.",
        "Cafe Luna won't fit you. Old Mill will.",
        "Cafe Luna is nearer, but it is already full. Try Old Mill.",
        "Cafe Luna and Red Door are closed. Old Mill is open.",
        "Cafe Luna, Red Door, and 青石茶馆 are fully booked, so choose Old Mill.",
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
        "Cafe Luna does not close before ten, and Old Mill is full of charm.",
    ],
)
def test_what_is_praised_is_never_turned_down(reply):
    for name in ("Cafe Luna", "Old Mill"):
        finding = judge_reply(reply, "avoids", names=[name], steps=(FOUND,))
        assert finding.passed is not True


def test_a_comma_alone_makes_no_list():
    assert kept("Skip Cafe Luna, Old Mill is better.") <= {"Old Mill"}
