"""Which figure belongs to which phrase: the clause decides, and where it has none, what is nearest in the sentence."""

import pytest
from judging import judge_reply


def minutes(reply, *near):
    """The minutes that the reply gives near the phrases."""
    finding = judge_reply(reply, "number", unit="min", near=list(near), min=0, quantifier="any")
    return [quote.text for quote in finding.quotes]


@pytest.mark.parametrize(
    ("reply", "near", "said"),
    [
        ("It is an 18 min walk, the bus takes 9 min.", "walk", ["18 min"]),
        ("It is an 18 min walk, the bus takes 9 min.", "bus", ["9 min"]),
        ("It is there in 11 min and the drive takes 22 min.", "drive", ["22 min"]),
        ("It is there in 11 min and the drive takes 22 min.", "there in", ["11 min"]),
        ("By bike, it is 11 min to the Copper Kettle (8 min back).", "bike", ["11 min"]),
        ("The walk takes 10-15 min.", "walk", ["10-15 min"]),
        ("18 min, all on foot, and the bus would take 10 min.", "on foot", ["18 min"]),
        ("现在排队约15分钟，步行14分钟，六点半前能坐下。", "步行", ["14分钟"]),
        ("现在排队约15分钟，步行14分钟，六点半前能坐下。", "排队", ["15分钟"]),
        ("开车走砚湖大道最快，15分钟，6.19公里。", "开车", ["15分钟"]),
        ("步行5分钟、开车3分钟。", "开车", ["3分钟"]),
        ("The walk – 18 min – is flat, the bus takes 9 min.", "walk", ["18 min"]),
        ("The walk takes 10 - 15 min.", "walk", ["10 - 15 min"]),
        ("步行5分钟或开车3分钟。", "步行", ["5分钟"]),
    ],
)
def test_a_figure_belongs_to_its_clause_or_it_is_left_open(reply, near, said):
    finding = judge_reply(reply, "number", unit="min", near=[near], min=0, quantifier="any")
    assert finding.passed is None or [quote.text for quote in finding.quotes] == said


@pytest.mark.parametrize("reply", ["It is not 18 min.", "It isn't about 18 min.", "不是18分钟。", "并非约18分钟。"])
def test_a_denied_figure_is_not_said(reply):
    assert minutes(reply) == []


@pytest.mark.parametrize(
    "reply", ["It is no more than 18 min.", "There is no toll, 18 min.", "Not far: 18 min.", "不堵车，18分钟。", "不到18分钟。"]
)  # fmt: skip
def test_a_denial_of_something_else_leaves_the_figure(reply):
    assert len(minutes(reply)) == 1


@pytest.mark.parametrize(
    "reply",
    ["eighteen minutes", "Eighteen min", "１８ min", "١٨ min", "१८ min", "十八分钟", "a walk of eighteen minutes"],
)
def test_eighteen_is_read_in_any_script(reply):
    assert judge_reply(reply, "number", unit="min", min=18, max=18).passed


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("twenty-five", 25), ("ninety five", 95), ("a hundred", 100), ("one hundred and twenty", 120), ("two hundred", 200),
        ("three hundred and five", 305), ("sixteen", 16), ("seventy", 70),
    ],
)  # fmt: skip
def test_english_numerals(said, value):
    assert judge_reply(f"It costs {said} yuan.", "number", unit="yuan", min=value, max=value).passed


def test_a_phone_number_in_other_digits_is_the_same():
    assert judge_reply("٥٥٥-٠١٠٣", "says", any=["555-0103"]).passed


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("There is no bus, metro or tram.", "tram"),
        ("There is no bus, metro or tram.", "metro"),
        ("Without a bus, tram, or metro it is hard.", "tram"),
    ],
)
def test_a_denial_goes_on_in_a_list_behind_a_comma(reply, word):
    assert judge_reply(reply, "says", any=[word]).passed is not True


@pytest.mark.parametrize(
    "reply", ["No bus, no metro, take the tram.", "No bus - take the tram.", "No – the tram runs."]
)
def test_a_denial_of_another_thing_never_denies_this_one(reply):
    assert judge_reply(reply, "says", any=["tram"]).passed is not False


@pytest.mark.parametrize(
    "reply",
    [
        "Do not do this: take the tram. It leaves at nine.",
        "The following is not true: take the tram.",
        "不要这样做：坐车去，再乘tram。",
    ],
)
def test_what_is_taken_back_as_a_whole_is_not_said(reply):
    assert judge_reply(reply, "says", any=["tram"]).passed is not True


@pytest.mark.parametrize("reply", ["Do this: take the tram.", "Avoid the A1: take the tram."])
def test_what_is_led_in_otherwise_is_said(reply):
    assert judge_reply(reply, "says", any=["tram"]).passed is not False
