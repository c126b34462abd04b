"""Times of day: as they are said, which half of the day is meant, and what they are times of."""

import pytest
from reading_help import reading

SAID = [
    ("15:15: everyone is free", ["15:15"]),
    ("How about 15:15?", ["15:15"]),
    ("It goes at three forty.", ["15:40"]),
    ("ten to midnight", ["23:50"]),
    ("half past midnight", ["0:30"]),
    ("It gives you about three hours.", []),
    ("at half past three", ["15:30"]),
    ("at quarter to five", ["16:45"]),
    ("at ten past four", ["16:10"]),
    ("at twenty-five to six", ["17:35"]),
    ("by five", ["17:00"]),
    ("at half a mile", []),
    ("6.30 pm", ["18:30"]),
    ("6pm", ["18:00"]),
    ("7 a.m.", ["7:00"]),
    ("eight in the evening", ["20:00"]),
    ("from 7 am to 9 pm", ["7:00", "21:00"]),
    ("13:30–16:00", ["13:30", "16:00"]),
    ("4:15–5:20", ["16:15", "17:20"]),
    ("noon", ["12:00"]),
    ("下午三点半", ["15:30"]),
    ("五点一刻", ["17:15"]),
    ("三点出头", ["15:00"]),
    ("十点四十六分", ["22:46"]),
    ("晚上9点", ["21:00"]),
    ("早上8点半", ["8:30"]),
    ("22点", ["22:00"]),
    ("四点零七分", ["16:07"]),
]


def clock(time):
    return "{}:{:02d}".format(*divmod(time.minutes[0], 60)) if len(time.minutes) == 1 else None


@pytest.mark.parametrize(("text", "wanted"), SAID, ids=[text for text, _ in SAID])
def test_a_time_is_read_as_it_is_said_and_lies_ahead_of_the_case(text, wanted):
    assert [clock(time) for time in reading(text).times] == wanted


#: Text, readings of its times, where the case has it ten in the morning or eight in the evening.
OTHER_HALF = [
    ("She's free on Thursday at 11:20.", "20:00", [(680, 1400)]),
    ("早上七点五十去云溪茶社，九点四十到听松书局，十点不到就走。", "20:00", [(470,), (580,), (600,)]),
    ("Birch Cafe doesn't open until 10:00 am.", "20:00", [(600,)]),
    ("It rains until eight this evening. Set out at half past twelve.", "12:10", [(1200,), (750,)]),
    ("The last one went at 22:10, so you're home at half past twelve.", "21:30", [(1330,), (30,)]),
]


@pytest.mark.parametrize(("text", "now", "readings"), OTHER_HALF, ids=[text for text, _, _ in OTHER_HALF])
def test_another_day_or_a_sure_time_before_tells_more_than_the_time_of_the_case(text, now, readings):
    assert [time.minutes for time in reading(text, now=f"2026-05-05T{now}:00+08:00").times] == readings


def test_the_less_likely_half_of_the_day_is_kept():
    (time,) = reading("Birch Cafe has 8:30 left.", now="2026-05-05T11:00:00+08:00").times
    assert (time.minutes, time.readings) == ((1230,), (1230, 510))


def test_without_a_time_of_the_case_both_halves_of_the_day_are_possible():
    assert reading("at half past three", now="").times[0].minutes == (210, 930)


def test_an_opening_time_may_lie_in_the_past_so_that_both_readings_stay():
    assert reading("Amber Hall opens at nine.").times[0].minutes == (540, 1260)


@pytest.mark.parametrize(
    "text",
    ["三点五公里", "一点也不远", "快一点", "between 10 and 15 minutes", "a midday break", "for six people", "4:3"],
)
def test_what_only_looks_like_a_time_is_none(text):
    assert reading(text).times == ()


ROLES = [
    ("Amber Hall is open from 10 am to 6 pm.", [("10:00", "opening"), ("18:00", "closing")]),
    (
        "Birch Cafe shuts at half past eight, and it is quarter past three now.",
        [("20:30", "closing"), ("15:15", "now")],
    ),
    ("You'd get there at 16:05, well before your 17:00 appointment.", [("16:05", "arrival"), ("17:00", "deadline")]),
    ("doors open 4:30pm, kitchen closes 9.15 pm", [("16:30", "opening"), ("21:15", "closing")]),
    ("骑车11分钟，现在出发17:11能到听松书局。", [("17:11", "arrival")]),
    ("Set off at twenty to five to arrive at five past.", [("16:40", "departure")]),
    ("Birch Cafe doesn't close until 20:00.", [("20:00", "closing")]),
    ("Amber Hall (open 09:00-21:30) is closest.", [("9:00", "opening"), ("21:30", "closing")]),
    (
        "下午四点出发，四点二十到云溪茶社，六点前回家。",
        [("16:00", "departure"), ("16:20", "arrival"), ("18:00", "deadline|arrival")],
    ),
    ("红枫面馆营业到晚上九点半，末班车22:40。", [("21:30", "closing"), ("22:40", "last_service")]),
    ("营业时间：10:00-22:00", [("10:00", "opening"), ("22:00", "closing")]),
    ("三点五十动身，四点零五分能到，五点一刻开会来得及。", [("15:50", "departure"), ("16:05", "arrival")]),
    ("现在三点，四点半关门。", [("15:00", "now"), ("16:30", "closing")]),
    ("15:10-16:30 逛听松书局，16:45到云溪茶社。", [("15:10", "arrival"), ("16:30", "stop"), ("16:45", "arrival")]),
]


@pytest.mark.parametrize(("text", "wanted"), ROLES, ids=[text[:40] for text, _ in ROLES])
def test_a_time_has_the_role_that_the_words_around_it_give(text, wanted):
    roles = {clock(time): time.role for time in reversed(reading(text).times)}
    for said, role in wanted:
        assert roles[said] in role.split("|")


def test_a_plan_in_a_table_tells_departure_and_arrival_by_what_its_row_says():
    text = (
        "| Time | What |\n|---|---|\n| 15:10 | Leave the hotel |\n| 15:25 | Amber Hall |\n| 17:00 | Back at the hotel |"
    )
    assert [(time.role, time.subject) for time in reading(text).times] == [
        ("departure", ()),
        ("arrival", ("amber",)),
        ("arrival", ()),
    ]
