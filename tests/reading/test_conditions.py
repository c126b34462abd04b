"""What a search text asks of figures and hours, in English and Chinese."""

import time

import pytest

from pytest_mapsat.model import fold
from pytest_mapsat.reading import Comparisons, Denials, conditions_of, traits_in

BOUNDS = {
    "rated 4.5 or better": (4.5, None, "rating"),
    "at least 4 stars": (4.0, None, ""),
    "4.5+ rating": (4.5, None, "rating"),
    "scoring 4.6 and up": (4.6, None, "rating"),
    "no lower than 4.2 in rating": (4.2, None, "rating"),
    "people rate 4.6 or more": (4.6, None, "rating"),
    "rating >= 4.5": (4.5, None, "rating"),
    "at most 80 yuan a head": (None, 80.0, "per_head"),
    "up to 100 per person": (None, 100.0, "per_head"),
    "no more than ¥80 each": (None, 80.0, "per_head"),
    "¥80 or less": (None, 80.0, ""),
    "does not cost more than 70 yuan": (None, 70.0, "price"),
    "budget of 100 yuan": (None, 100.0, ""),
    "80 yuan tops": (None, 80.0, ""),
    "between 50 and 80 yuan per person": (50.0, 80.0, "per_head"),
    "price range 30-50": (30.0, 50.0, "price"),
    "at least 500 reviews": (500.0, None, "count"),
    "评分4.5以上": (4.5, None, "rating"),
    "评分不低于4.6": (4.6, None, "rating"),
    "评分4.5及以上": (4.5, None, "rating"),
    "4.5分以上": (4.5, None, ""),
    "人均50元以内": (None, 50.0, "per_head"),
    "人均不超过100": (None, 100.0, "per_head"),
    "80元以下": (None, 80.0, ""),
    "不超过60元": (None, 60.0, ""),
    "60元/人以内": (None, 60.0, "per_head"),
    "一百元以内": (None, 100.0, ""),
    "人均50到80元": (50.0, 80.0, "per_head"),
    "价格50-80": (50.0, 80.0, "price"),
    "评论数不少于300": (300.0, None, "count"),
    "配送费不超过5元": (None, 5.0, "fee"),
    "up to 65": (None, 65.0, ""),
    "for 90 or below": (None, 90.0, ""),
    "i can spend 75": (None, 75.0, ""),
    "i have 75 to spend": (None, 75.0, ""),
    "no pricier than 75": (None, 75.0, ""),
    "wait no longer than 20 minutes": (None, 20.0, "wait"),
    "60~95": (60.0, 95.0, ""),
    "¥60-¥95 a head": (60.0, 95.0, "per_head"),
    "from 60 up to 95": (60.0, 95.0, ""),
    "六十到一百一": (60.0, 110.0, ""),
    "两百到三百五十": (200.0, 350.0, ""),
    "人均60～95": (60.0, 95.0, "per_head"),
    "三百条评论以上": (300.0, None, "count"),
    "over 60 on Mill Street": (60.0, None, ""),
    "more than 150 reviews in Oak Court": (150.0, None, "count"),
    "评分四点二以上": (4.2, None, "rating"),
    "三星半以上": (3.5, None, ""),
    "about 200 yuan": (176.0, 224.0, ""),
    "between ¥60 and ¥95": (60.0, 95.0, ""),
    "¥60 to ¥95": (60.0, 95.0, ""),
    "200ish": (176.0, 224.0, ""),
    "两百块左右": (176.0, 224.0, ""),
    "20 min wait max": (None, 20.0, "wait"),
    "no queue": (None, 0.0, "wait"),
    "最多排队二十分钟": (None, 20.0, "wait"),
    "不用排队": (None, 0.0, "wait"),
}


@pytest.mark.parametrize(("text", "bound"), BOUNDS.items())
def test_a_figure_is_a_bound(text, bound):
    (read,) = conditions_of(fold(text)).bounds
    assert (read.low, read.high, read.role) == (*(pytest.approx(limit) for limit in bound[:2]), bound[2])
    assert 0 <= read.start < read.end <= len(fold(text))
    assert read.strict == text.startswith(("over ", "more than "))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("under 80 yuan", None, 80.0),
        ("rated above 4.5", 4.5, None),
        ("评分高于4.2", 4.2, None),
        ("低于80元", None, 80.0),
    ],
)
def test_words_that_leave_the_bound_itself_out(text, low, high):
    (read,) = conditions_of(text).bounds
    assert (read.low, read.high, read.strict) == (low, high, True)


@pytest.mark.parametrize(
    "text", ["top 10 bars", "3 bars", "a table for 6", "等5个人", "起送价20元以下", "minimum spend 200 yuan"]
)
def test_other_figures_are_none(text):
    assert conditions_of(text)[:2] == ((), ())


def test_neighbouring_figures_keep_their_own_words():
    read = conditions_of("人均100以内 评分4.5以上 over 50 but under 80 yuan").bounds
    assert [(bound.low, bound.high, bound.role) for bound in read] == [
        (None, 100.0, "per_head"), (4.5, None, "rating"), (50.0, None, ""), (None, 80.0, "")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("4.2分以上60元以内", [(4.2, None), (None, 60.0)]),
        ("4星及以上 90元以内", [(4.0, None), (None, 90.0)]),
        ("60元以上90元以下", [(60.0, None), (None, 90.0)]),
        ("评价200条以上人均70元以内", [(200.0, None), (None, 70.0)]),
        ("200条以上点评人均70元以内", [(200.0, None), (None, 70.0)]),
        ("70元以内4.2分以上", [(None, 70.0), (4.2, None)]),
        ("4.2+ stars under 60", [(4.2, None), (None, 60.0)]),
        ("4 stars or better under 60", [(4.0, None), (None, 60.0)]),
        ("4+ stars up to 60", [(4.0, None), (None, 60.0)]),
        ("200+ reviews 4.2+ stars", [(200.0, None), (4.2, None)]),
        ("for 4 people under 60", [(None, 60.0)]),
        ("300+ reviews under 60 yuan", [(300.0, None), (None, 60.0)]),
    ],
)
def test_two_bounds_stand_side_by_side(text, bounds):
    assert [(bound.low, bound.high) for bound in conditions_of(text).bounds] == bounds


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("open at 22:00", (1320,)),
        ("open at 8:00", (480,)),
        ("still open at half past ten in the evening", (1350,)),
        ("open until midnight", (1439,)),
        ("open at 10", (600, 1320)),
        ("晚上十点还开门", (1320,)),
        ("8点还营业", (480,)),
        ("营业到23:00", (1379,)),
        ("open now", ()),
        ("现在还营业", ()),
        ("open past midnight florist in oak court", (0,)),
        ("open until midnight near the pier", (1439,)),
        ("open at 7 in the morning close to oak street", (420,)),
        ("open until 2 at night", (119,)),
        ("营业到半夜", (1439,)),
        ("凌晨两点还开着", (120,)),
        ("开到凌晨三点的花店", (179,)),
        ("后半夜三点营业", (180,)),
        ("晚上十二点以后还开", (0,)),
        ("过了零点还营业", (0,)),
        ("夜里2点还开门", (120,)),
        ("24小时营业", tuple(range(0, 1440, 60))),
    ],
)
def test_when_a_thing_is_to_be_open(text, minutes):
    (opening,) = conditions_of(text).openings
    assert opening.minutes == minutes


@pytest.mark.parametrize(
    ("text", "word", "denied"),
    [
        ("a bar that is not too loud", "loud", True),
        ("no loud music", "loud", True),
        ("nothing loud", "loud", True),
        ("not far, loud", "loud", False),
        ("不要辣的", "辣", True),
        ("不太辣", "辣", True),
        ("辣的除外", "辣", True),
        ("要辣的", "辣", False),
        ("florist not in oakfield", "oakfield", True),
        ("one that isn't near the pier", "pier", True),
        ("but not at a food court", "food court", True),
        ("a bar outside oakfield", "oakfield", True),
        ("away from the harbour", "harbour", True),
        ("anywhere but oakfield", "oakfield", True),
        ("doesn't serve meat", "meat", True),
        ("nowhere near the harbour", "harbour", True),
        ("but not one in oakfield", "oakfield", True),
        ("steer clear of oakfield", "oakfield", True),
        ("离码头远一点的花店", "码头", True),
        ("not far from the harbour", "harbour", False),
        ("ten minutes away from the harbour", "harbour", False),
        ("outside seating at oakfield", "oakfield", False),
        ("sit outside in oakfield", "oakfield", False),
        ("not a bar in oakfield", "oakfield", False),
        ("不在橡树区的花店", "橡树区", True),
        ("不做烧烤的", "烧烤", True),
        ("不能外带", "外带", True),
        ("不支持外卖", "外卖", True),
        ("橡树区以外的花店", "橡树区", True),
        ("不想在橡树区吃", "橡树区", True),
        ("不愿去码头", "码头", True),
        ("远离码头", "码头", True),
        ("离码头不远", "码头", False),
        ("在橡树区，不要辣", "橡树区", False),
        ("酒吧 不要辣", "酒吧", False),
    ],
)
def test_what_a_text_turns_down(text, word, denied):
    start = text.index(word)
    assert Denials(text).denies(start, start + len(word)) is denied


@pytest.mark.parametrize(
    "text",
    [
        "4.5 " * 250,
        "不" * 1000,
        "under " * 160,
        "一百" * 500,
        "80~" * 330,
        "4+ stars " * 110,
        "9 reviews " * 100,
        "评分" * 500,
        "1:00-" * 200,
    ],
)
def test_a_hostile_text_is_read_in_no_time(text):
    begin = time.perf_counter()
    conditions_of(text)
    Denials(text).denies(len(text) - 2, len(text))
    assert time.perf_counter() - begin < 5


HOURS = {
    "shuts before 8pm": ("closes", "<", 20 * 60),
    "done for the day by five": ("closes", "<=", 17 * 60),
    "not open past ten at night": ("closes", "<=", 22 * 60),
    "closes before 1 am": ("closes", "<", 25 * 60),
    "doesn't open until noon": ("opens", ">=", 12 * 60),
    "opens before 9": ("opens", "<", 9 * 60),
    "isn't open at 8 in the morning": ("shut", "", 8 * 60),
    "still closed at 7 am": ("shut", "", 7 * 60),
    "晚上九点之前打烊": ("closes", "<", 21 * 60),
    "21点以后不营业": ("closes", "<=", 21 * 60),
    "上午十一点之前不开门": ("opens", ">=", 11 * 60),
    "早上8点还不营业": ("shut", "", 8 * 60),
}


@pytest.mark.parametrize("text", HOURS)
def test_when_places_open_and_shut_is_read(text):
    (wish,) = conditions_of(fold(text)).hours
    assert wish[2:] == HOURS[text]


@pytest.mark.parametrize("text", ["open at 22:00", "open until 22:00", "营业到22点", "晚上十点还营业"])
def test_a_time_at_which_places_are_open_is_no_other_wish(text):
    assert conditions_of(fold(text)).hours == ()


COMPARED = {
    "cheaper than X": [("price", "<")],
    "not as expensive as X": [("price", "<")],
    "a better rating than X has": [("rating", ">")],
    "rated no lower than X": [("rating", ">=")],
    "charges less for delivery than X and has more reviews": [("fee", "<"), ("count", ">")],
    "X is too expensive, somewhere else": [("price", "<")],
    "closes later than X": [("closes", ">")],
    "near X, under 60": [],
    "is X open?": [],
    "比X便宜,评分也更高": [("price", "<"), ("rating", ">")],
    "没有X那么贵": [("price", "<")],
    "人均不超过X": [("per_head", "<=")],
    "评分和X一样高": [("rating", ">=")],
}


@pytest.mark.parametrize("text", COMPARED)
def test_comparisons_with_a_thing_are_read(text):
    folded, at = fold(text), text.index("X")
    assert [wish[2:4] for wish, _ in Comparisons(folded, [(at, at + 1)]).compared()] == COMPARED[text]


def test_each_thing_of_a_search_has_its_own_comparison():
    text = "a lower price than x and at least as good a rating as y"
    things = [(text.index("x"), text.index("x") + 1), (len(text) - 1, len(text))]
    wishes = Comparisons(text, things).compared()
    assert [(*wish[2:4], at) for wish, at in wishes] == [("per_head", "<", 0), ("rating", ">=", 1)]


@pytest.mark.parametrize(
    ("text", "wished"),
    [
        ("the cheapest", [("price", "<")]),
        ("gym with most reviews", [("count", ">")]),
        ("人均最低的三家", [("per_head", "<")]),
        ("top 3 gyms by rating", [("rating", ">")]),
        ("at most 80, at best", []),
        ("最好有露台", []),
    ],
)
def test_the_most_and_the_least_are_read(text, wished):
    assert [wish[2:4] for wish in Comparisons(fold(text), []).best()] == wished


@pytest.mark.parametrize(
    ("text", "trait"),
    [
        ("where i can pay by card", ("cards", False)),
        ("cash-only", ("cards", True)),
        ("accepts_cards", ("cards", False)),
        ("送货上门", ("delivery", False)),
        ("不用预约", ("booking", True)),
    ],
)
def test_traits_are_read_in_other_words(text, trait):
    assert [found[2:] for found in traits_in(text)] == [trait]
