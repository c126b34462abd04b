"""Figures: value, unit, role and the thing they are said of."""

import pytest
from reading_help import reading

#: Text; value, role and thing of each figure ("*": whichever).
ROLES = [
    ("Take Amber Hall (capacity 10, 30 yuan an hour).", [(10, "capacity", "amber"), (30, "price", "amber")]),
    (
        "Amber Hall: 899 yuan, rating 4.9 - 14 hours.",
        [(899, "price", "amber"), (4.9, "rating", "amber"), (840, None, "amber")],
    ),
    ("Amber Hall – ⭐ 4.9 – 14 h", [(4.9, "rating", "amber"), (840, None, "amber")]),
    ("Amber Hall costs ¥899, down from ¥999.", [(899, "price", "amber"), (999, "former_price", "*")]),
    ("Birch Cafe is rated 4.9.", [(4.9, "rating", "birch")]),
    ("Birch Cafe has 120 ratings.", [(120, "count", "birch")]),
    ("The total of your order was 99 yuan.", [(99, "total", "*")]),
    ("Amber Hall costs 36 yuan (was 45 yuan).", [(36, "price", "amber"), (45, "former_price", "*")]),
    ("It is 62 yuan, well within your usual 80 yuan.", [(62, "price", "*"), (80, "budget", "*")]),
    ("老城路要多开将近十分钟。", [(10, "slack", "*")]),
    ("Birch Cafe is three minutes quicker.", [(3, "slack", "birch")]),
    ("The driver takes 27 minutes to come.", [(27, "wait", "*")]),
    ("You've got about eighteen minutes.", [(18, "slack", "*")]),
    ("A supper for two is 168 yuan instead of 190.", [(168, "price", "*"), (190, "former_price", "*")]),
    (
        "At Amber Hall three nights make 140 yuan each, which makes 420 yuan.",
        [(140, "per_head", "*"), (420, "total", "*")],
    ),
    ("For your party of six the total would therefore amount to 480 yuan.", [(6, "count", "*"), (480, "total", "*")]),
    ("云溪茶社长半公里。", [(500, "slack", "云溪茶社")]),
    ("Birch Cafe is 8 yuan, and the insurance is another three yuan on top.", [(8, "price", "birch"), (3, "fee", "*")]),
    ("Cedar Garage is 5 yuan an hour.", [(5, "price", "cedar")]),
    ("云溪茶社多花6分钟。", [(6, "slack", "云溪茶社")]),
    ("云溪茶社五分钟左右能来接。", [(5, "wait", "云溪茶社")]),
    ("门票三十。", [(30, "price", "*")]),
    (
        "| | Amber Hall | Birch Cafe |\n|---|---|---|\n| Walk | 6 min | 9 min |\n| Price | 30 yuan | 25 yuan |",
        [(6, "travel_time", "amber"), (9, "travel_time", "birch"), (30, "price", "amber"), (25, "price", "birch")],
    ),
    (
        "Amber Hall is a 12-minute walk away; you would wait about 5 minutes for a table and have 20 minutes to spare.",
        [(12, "travel_time", "amber"), (5, "wait", "*"), (20, "slack", "*")],
    ),
    (
        "It is 3.4 km by car to Dunlin House, around nine minutes.",
        [(3400, "travel_distance", "dunlin"), (9, "travel_time", "dunlin")],
    ),
    (
        "Cedar Garage has a height limit of 2.1 m and charges 4 yuan per hour.",
        [(2.1, "headroom", "cedar"), (4, "fee", "cedar")],
    ),
    (
        "Dinner at Birch Cafe comes to 240 yuan in total for four, i.e. 60 yuan a head.",
        [(240, "total", "*"), (60, "per_head", "birch")],
    ),
    ("The set menu costs 38 yuan (was 52), so you save 14.", [(38, "price", "*"), (52, "former_price", "*")]),
    ("Birch Cafe is rated 4.6 and seats 40.", [(4.6, "rating", "birch"), (40, "capacity", "birch")]),
    (
        "Walk from Market Square to Amber Hall in 8 minutes (650 m), then drive 14 minutes to Dunlin House.",
        [(8, "travel_time", "amber"), (650, "travel_distance", "amber"), (14, "travel_time", "dunlin")],
    ),
    ("The next bus leaves in 6 minutes and the ride takes 18.", [(6, "wait", "*")]),
    ("You have half an hour before it closes; stay for 25 minutes.", [(30, "slack", "*"), (25, "stay", "*")]),
    (
        "| Place | Walk | Price | Rating |\n|---|---|---|---|\n| Amber Hall | 6 min | 30 yuan | 4.5 |\n| Birch Cafe | 9 min | 25 yuan | 4.1 |",
        [(6, "travel_time", "amber"), (30, "price", "amber"), (9, "travel_time", "birch"), (25, "price", "birch")],
    ),
    ("**Amber Hall**\n- 🚶 9 min\n- 💰 18 yuan\n- ⭐ 4.4", [(9, "travel_time", "amber"), (18, "price", "amber")]),
    (
        "Tram 4 runs every 12 minutes; about a quarter of an hour to Amber Hall.",
        [(12, "frequency", "*"), (15, "travel_time", "amber")],
    ),
    ("Your car pays 12 yuan in tolls on the way.", [(12, "fee", "*")]),
    ("Both are close: 400 m and 650 m.", [(400, "travel_distance", "*"), (650, "travel_distance", "*")]),
    ("The van is 2.6 m tall but Cedar Garage only allows 2.2 m.", [(2.6, None, "*"), (2.2, "headroom", "cedar")]),
    ("Driving takes 25 min, cycling 40 min.", [(25, "travel_time", "*"), (40, "travel_time", "*")]),
    ("The taxi costs about 32 yuan, so 8 yuan per person.", [(32, "price", "*"), (8, "per_head", "*")]),
    ("ten minutes walk from here and 2.50 yuan to get in", [(10, "travel_time", "*"), (2.5, "price", "*")]),
    (
        "走到云溪茶社十二分钟，等位大概五分钟，离您七点的约还富余二十分钟。",
        [(12, "travel_time", "云溪茶社"), (5, "wait", "*"), (20, "slack", "*")],
    ),
    (
        "红枫面馆人均35元，三个人一共105元，没超120元的预算。",
        [(35, "per_head", "红枫面馆"), (105, "total", "*"), (120, "budget", "*")],
    ),
    (
        "开车去白鹭广场3.2公里，约9分钟，过路费5元。",
        [(3200, "travel_distance", "白鹭广场"), (9, "travel_time", "白鹭广场"), (5, "fee", "*")],
    ),
    ("青石停车场限高2.1米，每小时4块。", [(2.1, "headroom", "青石停车场"), (4, "fee", "青石停车场")]),
    ("套餐现价68元，原价88元，省20元。", [(68, "price", "*"), (88, "former_price", "*"), (20, "saving", "*")]),
    ("云溪茶社评分4.7，能坐8个人。", [(4.7, "rating", "云溪茶社")]),
    (
        "从白鹭广场步行六分钟到听松书局，再走十分钟到云溪茶社。",
        [(6, "travel_time", "听松书局"), (10, "travel_time", "云溪茶社")],
    ),
    ("在听松书局待一个小时，再骑车一刻钟到红枫面馆。", [(60, "stay", "听松书局"), (15, "travel_time", "红枫面馆")]),
    ("每10分钟一班，坐20分钟。", [(10, "frequency", "*")]),
    ("打车二十来块，三个人平摊每人七块。", [(20, "price", "*"), (7, "per_head", "*")]),
    (
        "云溪茶社：步行7分钟，人均30元。红枫面馆：步行9分钟，人均25元。",
        [
            (7, "travel_time", "云溪茶社"),
            (30, "per_head", "云溪茶社"),
            (9, "travel_time", "红枫面馆"),
            (25, "per_head", "红枫面馆"),
        ],
    ),
    (
        "| 地点 | 步行 | 人均 |\n|---|---|---|\n| 云溪茶社 | 7分钟 | 30元 |",
        [(7, "travel_time", "云溪茶社"), (30, "per_head", "云溪茶社")],
    ),
]


@pytest.mark.parametrize(("text", "wanted"), ROLES, ids=[text[:40] for text, _ in ROLES])
def test_a_figure_has_the_role_and_the_thing_that_the_sentence_gives_it(text, wanted):
    figures = {figure.value: figure for figure in reversed(reading(text).quantities)}
    for value, role, key in wanted:
        assert figures[value].role == role
        assert key == "*" or figures[value].subject == (key,)


#: Text, value, least and most that is meant, how exactly it is said, unit.
VALUES = [
    ("a quarter of an hour on foot", 15, 15, 15, "exact", "min"),
    ("half an hour on foot", 30, 30, 30, "exact", "min"),
    ("an hour and a half on foot", 90, 90, 90, "exact", "min"),
    ("two and a half hours on foot", 150, 150, 150, "exact", "min"),
    ("1 h 20 min by car", 80, 80, 80, "exact", "min"),
    ("12–18 min on foot", 15, 12, 18, "range", "min"),
    ("between 10 and 15 minutes on foot", 12.5, 10, 15, "range", "min"),
    ("ten or twelve minutes on foot", 11, 10, 12, "range", "min"),
    ("half a mile away", 804.672, 804.672, 804.672, "exact", "m"),
    ("two dozen people", 24, 24, 24, "exact", "people"),
    ("¥85 for the menu", 85, 85, 85, "exact", "yuan"),
    ("a hundred and ten yuan", 110, 110, 110, "exact", "yuan"),
    ("1,250 yuan for the room", 1250, 1250, 1250, "exact", "yuan"),
    ("Free spaces: 12", 12, 12, 12, "exact", "count"),
    ("当前空位：12个", 12, 12, 12, "exact", "count"),
    ("its headroom is 205 cm", 2.05, 2.05, 2.05, "exact", "m"),
    ("步行一刻钟", 15, 15, 15, "exact", "min"),
    ("步行半个小时", 30, 30, 30, "exact", "min"),
    ("开车一个半小时", 90, 90, 90, "exact", "min"),
    ("走三到五分钟", 4, 3, 5, "range", "min"),
    ("走两三分钟", 2.5, 2, 3, "range", "min"),
    ("车程2小时10分", 130, 130, 130, "exact", "min"),
    ("一百九十五块钱", 195, 195, 195, "exact", "yuan"),
]


@pytest.mark.parametrize(("text", "value", "low", "high", "approx", "unit"), VALUES, ids=[row[0] for row in VALUES])
def test_a_figure_is_read_in_the_canonical_unit(text, value, low, high, approx, unit):  # noqa: PLR0917  a table
    figure = reading(text).quantities[0]
    assert (figure.value, figure.low, figure.high) == pytest.approx((value, low, high))
    assert (figure.approx, figure.unit) == (approx, unit)


HEDGED = [
    ("just under twenty minutes on foot", "at_most", 20),
    ("a little over 3 km by car", "at_least", 3000),
    ("roughly 40 yuan", "about", 40),
    ("20 minutes or so on foot", "about", 20),
    ("不到一刻钟的路程", "at_most", 15),
    ("走九十多米", "at_least", 90),
    ("三十来分钟车程", "about", 30),
    ("大约两公里", "about", 2000),
    ("十分钟左右能到", "about", 10),
    ("一公里出头", "at_least", 1000),
]


@pytest.mark.parametrize(("text", "approx", "value"), HEDGED, ids=[row[0] for row in HEDGED])
def test_how_exactly_a_figure_is_said_is_kept_and_bounds_it(text, approx, value):
    figure = reading(text).quantities[0]
    assert (figure.approx, figure.value) == (approx, value)
    assert (figure.low < value) == (approx in ("about", "at_most"))
    assert (figure.high > value) == (approx in ("about", "at_least"))


def test_a_figure_with_decimals_may_hide_less_than_a_round_one():
    exact, rounded = reading("1.37 km by car").quantities[0], reading("1.4 km by car").quantities[0]
    assert (exact.step, rounded.step) == pytest.approx((10, 100))


def test_a_figure_after_a_name_that_is_only_compared_belongs_to_the_first():
    figure = reading("Amber Hall is nearer than Birch Cafe: 7 min on foot.").quantities[0]
    assert figure.subject == ("amber",)


def test_the_facts_of_a_list_belong_to_the_thing_in_its_heading():
    text = "## Amber Hall\n- 9 min walk\n- 18 yuan\n\n## Birch Cafe\n- 4 min walk"
    assert [q.subject for q in reading(text).quantities] == [("amber",), ("amber",), ("birch",)]


def test_a_figure_in_a_table_belongs_to_its_row_and_to_the_head_of_its_column():
    text = "| | Walk | Ticket | Total for 3 |\n|---|---|---|---|\n| Amber Hall | 6 min | 30 yuan | 90 yuan |"
    assert [(q.role, q.subject) for q in reading(text).quantities if q.unit in ("min", "yuan")] == [
        ("travel_time", ("amber",)),
        ("price", ("amber",)),
        ("total", ()),
    ]


def test_the_way_of_travelling_goes_with_the_figure():
    text = "It is 9 min by bike to Amber Hall, 25 min on foot to Birch Cafe and 5 min by car to Dunlin House."
    assert [(q.value, q.mode) for q in reading(text).quantities] == [(9, "cycling"), (25, "walking"), (5, "driving")]


def test_a_way_that_the_user_cannot_take_says_nothing_of_the_figure():
    assert reading("Birch Cafe is open, but at 2.5 km it's a long way without the car.").quantities[0].mode == ""


def test_figures_of_several_things_in_turn_are_surely_of_none_of_them():
    for text in (
        "Amber Hall and Birch Cafe are further off, at 8 and 9 km respectively.",
        "云溪茶社和听松书局分别要8公里、9公里。",
    ):
        assert {len(figure.subject) for figure in reading(text).quantities} == {2}
    said = reading("Amber Hall (8 yuan) is near; Birch Cafe and Dunlin House take 7 and 9 minutes respectively.")
    assert said.quantities[0].subject == ("amber",)


def test_taking_a_road_is_not_walking_it():
    assert reading("走临江大桥，开车15分钟。").quantities[0].mode == "driving"
    assert reading("走15分钟到云溪茶社。").quantities[0].mode == "walking"


def test_an_unclear_role_is_none():
    assert reading("Amber Hall, something with 45 minutes.").quantities[0].role is None


def test_numbers_that_count_nothing_are_no_figures():
    for text in (
        "1. Amber Hall\n2. Birch Cafe",
        "Call 555-0147.",
        "See https://example.org/12/34",
        "第3站",
        "2026年10月3日",
    ):
        assert reading(text).quantities == ()


@pytest.mark.parametrize(
    ("text", "unit", "value", "subject"),
    [
        ("Birch Cafe is just 700 metres from you.", "m", 700, ("birch",)),
        ("Birch Cafe is twelve minutes from here.", "min", 12, ("birch",)),
        ("Go to Birch Cafe. On foot it's 18 minutes from Fennel Court.", "min", 18, ("birch",)),
    ],
)
def test_how_far_it_is_from_somewhere_is_a_length_or_a_time(text, unit, value, subject):
    (figure,) = reading(text).quantities
    assert (figure.unit, figure.value, figure.subject) == (unit, value, subject)


def test_what_is_said_of_another_thing_without_a_name_is_not_said_of_the_named_one():
    (figure,) = reading("Amber Hall is sold out, but there's another one from six, 32 yuan.").quantities
    assert figure.subject == ()


def test_other_currencies_are_not_taken_for_the_one_of_the_case():
    assert [q.unit for q in reading("It costs $30 or 30 yuan.").quantities] == ["foreign", "yuan"]


def test_a_denied_figure_is_denied():
    assert reading("It is not 12 minutes but 15 minutes on foot.").quantities[0].stance == "denied"


def test_the_height_of_a_vehicle_is_no_way_to_go():
    assert [q.role for q in reading("Car parks for your 2.6 m van: Cedar Garage.").quantities] == [None]


def test_how_often_a_price_is_taken_is_no_price():
    assert [figure.value for figure in reading("| | 总价 |\n|---|---|\n| 云溪茶社 | 58×2 = 116元 |").quantities] == [
        58,
        116,
    ]


NOTHING = [
    ("Amber Hall is free of charge.", "price", "amber"),
    ("There are no tolls on the way to Amber Hall.", "fee", "amber"),
    ("Birch Cafe has no queue.", "wait", "birch"),
    ("听松书局免费。", "price", "听松书局"),
    ("红枫面馆不用排队。", "wait", "红枫面馆"),
    ("临江大桥没有过路费。", "fee", "临江大桥"),
    ("临江大桥不收取过路费。", "fee", "临江大桥"),
]


@pytest.mark.parametrize(("text", "role", "thing"), NOTHING, ids=[row[0] for row in NOTHING])
def test_words_that_deny_a_price_a_toll_or_a_wait_say_nothing_of_it_and_never_surely(text, role, thing):
    (figure,) = reading(text).quantities
    assert (figure.value, figure.role, figure.subject, figure.stance) == (0, role, (thing,), "unclear")


def test_what_is_free_by_its_name_alone_is_said_of_what_follows():
    assert reading("临江大桥5元。不收费的路来不及。").quantities[1:] == ()
