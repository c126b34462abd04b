"""What is not read leaves figures, times and phrases undecided; what is plain still passes and fails."""

import json
import sys
from pathlib import Path

import pytest
from judging import call, check_of, dialogue, judge_reply

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.reading import Vocabulary

NATURAL = Path(__file__).parents[1] / "natural"
EURO = Vocabulary(currency="EUR")


def judged(reply, kind, *, steps=(), currency="EUR", **fields):
    language = "en" if reply.isascii() else "zh"
    context = JudgedDialogue(
        dialogue(reply, steps=steps), {}, language=language, vocabulary=Vocabulary(currency=currency)
    )
    check = check_of(kind, **fields)
    return evaluate(check, context.knowing([check]))


@pytest.mark.parametrize(
    ("reply", "fields"),
    [
        ("Lunch is 12,50 EUR.", {"unit": "money", "role": "price", "value": 12.5, "other": 50}),
        ("The walk takes 1 h 20.", {"unit": "min", "role": "travel_time", "value": 80, "other": 60}),
        ("The place has 2.3k reviews.", {"unit": "count", "value": 2300, "other": 2.3}),
        ("It is -3,5 °C.", {"unit": "celsius", "value": -3.5, "other": 5}),
        ("限高2米6左右。", {"unit": "m", "role": "headroom", "value": 2.6, "other": 2}),
        ("住两个礼拜。", {"unit": "d", "role": "stay", "value": 14, "other": 2}),
        ("It is a tenner.", {"unit": "money", "role": "price", "value": 10, "other": 5}),
        ("The wait is 10-15 min.", {"unit": "min", "role": "wait", "value": 10, "other": 15}),
        ("The wait is under 15 minutes.", {"unit": "min", "role": "wait", "value": 10, "other": 15}),
    ],
)
def test_a_figure_that_is_not_surely_read_neither_passes_nor_fails(reply, fields):
    value, other = fields.pop("value"), fields.pop("other")
    for held in (value, other):
        assert judged(reply, "number", min=held, max=held, **fields).passed is None
        assert judged(reply, "number", min=held, max=held, **(fields | {"role": ()})).passed is None


@pytest.mark.parametrize(
    "reply", ["Doors open at 17.30.", "It opens at 17:30 UTC.", "It opens at 17:30 Tokyo time.", "差五分七点开门。"]
)
def test_a_time_of_another_zone_or_notation_neither_passes_nor_fails(reply):
    for at in ("17:30", "18:55", "07:00"):
        assert judged(reply, "clock_time", role="opening", after=at, before=at).passed is None


def test_an_offset_is_no_time_of_day():
    reply = "It arrives at 14:05 (UTC+08:00)."
    assert judged(reply, "clock_time", role="arrival", after="08:00", before="08:00").passed is None


def test_plain_notations_pass_and_fail():
    for reply, fields, value, other in (
        ("The walk takes 12 minutes.", {"unit": "min", "role": "travel_time"}, 12, 20),
        ("It comes to EUR 390 in total.", {"unit": "money", "role": "total"}, 390, 260),
        ("门票一百二十元。", {"unit": "money", "role": "price", "currency": "CNY"}, 120, 102),
        ("限高2.6米。", {"unit": "m", "role": "headroom"}, 2.6, 2),
    ):
        assert judged(reply, "number", min=value, max=value, **fields).passed is True
        assert judged(reply, "number", min=other, max=other, **fields).passed is False
    assert judged("It closes at 22:00.", "clock_time", role="closing", after="21:00", before="21:30").passed is False


def test_a_figure_that_is_not_read_fails_nothing_in_the_sentence_beside_it():
    assert judged("The walk takes 12 minutes, or 1 h 20.", "number", unit="min", max=10).passed is None
    assert judged("The walk takes 12 minutes. Lunch is 12,50 EUR.", "number", unit="min", max=10).passed is False


def test_a_figure_of_a_question_that_proposes_is_not_absent():
    fields = {"unit": "min", "role": "travel_time", "max": 15}
    assert judged("Take Gull Walk (11 min)?", "number", **fields).passed is None
    assert judged("走海鸥路（11分钟）怎么样？", "number", **fields).passed is None
    assert judged("Is it 11 min?", "number", **fields).passed is False


def test_a_rating_is_compared_whether_it_says_stars_or_not():
    steps = [call("search_poi", {"pois": [{"name": "Gull Cafe", "rating": 4.6}]})]
    stars = {"unit": "star", "role": "rating", "if_absent": "nothing_claimed"}
    for reply, passed in (("It is rated 1.1.", False), ("It is rated 4.6.", True), ("It is rated 9.2.", None)):
        assert judged(reply, "number", steps=steps, min=4.5, max=4.7, **stars).passed is passed
    assert judged("评分1.1。", "number", unit="count", role="rating", min=4.5, max=4.7).passed is False
    assert judged("评分4.6。", "number", unit="count", role="rating", min=4.5, max=4.7).passed is True


@pytest.mark.parametrize(
    ("fields", "strange", "fitting", "idle"),
    [
        (
            {"unit": "star", "min": 4.5, "max": 4.7},
            [
                "It is rated 5.88.",
                "Rating: 5.88",
                "Its rating is a whopping 5.88.",
                "Rated 98 %.",
                "Rated 9.2 out of 10.",
                "| Place | Rating |\n|---|---|\n| Mill | 5.88 |",
                "评分：5.88",
                "评分五点八八。",
            ],
            ["Rated 4.6.", "Rating: 4.6"],
            ["It has 3 rooms.", "At number 40, two doors on."],
        ),
        (
            {"unit": "money", "role": "price", "min": 10, "max": 20},
            ["It costs 41.", "Price: 41", "Its price is 41 credits.", "价格：41"],
            ["It costs 15.", "Price: 15"],
            ["There are 41 rooms.", "It is rated 4.9."],
        ),
        (
            {"unit": "km", "min": 1, "max": 2},
            ["The distance is 30.", "Distance: 30", "距离30"],
            ["The distance is 1.5."],
            ["It has 30 seats."],
        ),
        ({"unit": "min", "role": "wait", "min": 10, "max": 20}, ["Waiting time: 40", "等40"], ["The wait is 12."], []),
        (
            {"unit": "min", "role": "travel_time", "min": 10, "max": 20},
            ["The walk takes 40.", "步行40"],
            ["The walk takes 12."],
            ["Platform 40 it is."],
        ),
        (
            {"role": "closing", "after": "20:00", "before": "21:00"},
            ["It closes at 2200.", "关门时间：2200"],
            [],
            ["It has 22 seats."],
        ),
    ],
)
def test_a_figure_that_words_call_what_is_looked_for_claims_something(fields, strange, fitting, idle):
    kind = "number" if "unit" in fields else "clock_time"
    for replies, passed in ((strange, None), (fitting, True), (idle, True)):
        for reply in replies:
            finding = judged(reply, kind, if_absent="nothing_claimed", **fields)
            assert (reply, finding.passed) == (reply, passed)
            assert passed is None or finding.nothing_claimed


def test_a_wrong_total_fails_though_something_else_explains_it():
    steps = [call("route", {"fare": 195}), call("route", {"fare": 130})]
    total = {"unit": "money", "role": "total"}
    reply = "For the two of you it is EUR 390 in total."
    assert judged(reply, "number", steps=steps, min=260, max=260, **total).passed is False
    assert judged(reply, "number", steps=steps, min=390, max=390, **total).passed is True


AFFIRMED = [
    "It has a lift.",
    "There is a lift.",
    "Yes, it has a lift.",
    "- Lift: yes",
    "海景楼有电梯。",
    "店里设有电梯。",
]
DENIED = ["It has no lift.", "❌ Lift", "海景楼没有电梯。"]
OPEN = [
    "There used to be a lift.",
    "To look for a lift here would be in vain.",
    "It lacks neither a lift nor a ramp.",
    "It is not without a lift.",
    "If only it had a lift.",
    "They took the lift out.",
    "The lift went out of service for good.",
    "The only thing missing is a lift.",
    "It has a lift on paper.",
    "It has lift troubles.",
    "It has a lift. Well, it used to.",
    "Lift: no",
    "You can roll straight in.",
    "海景楼曾经有电梯。",
    "海景楼哪有什么电梯。",
    "海景楼不是没有电梯。",
    "有电梯的是隔壁。",
    "有电梯等于没有。",
    "电梯还在图纸上。",
    "海景楼连个电梯都找不着。",
]


@pytest.mark.parametrize(
    ("reply", "passed"),
    [*((text, True) for text in AFFIRMED), *((text, False) for text in DENIED), *((text, None) for text in OPEN)],
)
def test_a_phrase_passes_and_fails_only_in_a_plain_sentence(reply, passed):
    assert judged(reply, "says", any=["lift", "电梯"]).passed is passed


@pytest.mark.parametrize(
    "reply",
    [
        "It is anything but quiet.",
        "It is less quiet than the Mill.",
        "It is about as quiet as a motorway.",
        "海景楼谈不上安静。",
        "海景楼安静得像菜市场。",
    ],
)
def test_a_word_that_is_compared_or_mocked_is_neither_said_nor_unsaid(reply):
    assert judged(reply, "says", any=["quiet", "安静"]).passed is None
    assert judged(reply, "says", none=["quiet", "安静"]).passed is None


def test_single_sentences_are_judged_by_class():
    sys.path.insert(0, str(NATURAL))
    try:
        from measure import said
    finally:
        sys.path.remove(str(NATURAL))
    lines = said(json.loads((NATURAL / "said_example.json").read_text("utf-8")), every=False).splitlines()
    assert lines[0] == "figure, right check, with role: passed 3, failed 0, open 6"
    assert lines[-1] == "sure and wrong: 0 of 55 = 0.000"
    assert judge_reply("", "says", any=["lift"]).passed is False
