"""What stands around a statement decides what it says: labels and questions over lists, tags, words of not knowing, second arrivals."""

import pytest
from reading_help import reading, stances


def times(document):
    return {document.quote(one.span).text: (one.minutes, one.role, one.subject) for one in document.times}


def figures(document):
    return {document.quote(one.span).text: (one.value, one.unit) for one in document.quantities}


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Just go to Birch Cafe, okay?", 0),
        ("You don't want to sweat over it, do you?", 0),
        ("Do you?", 1),
        ("Would Birch Cafe be okay?", 1),
        ("When do you leave, and which one would you like, okay?", 1),
        ("去红枫面馆行吗？", 1),
        ("红枫面馆更近，是否无台阶我也没有核实。", 0),
        ("是否共用锅具、有没有海鲜我查不到。", 0),
        ("请问您是否开车？", 1),
        ("您是否开车。", 1),
    ],
)
def test_a_tag_and_a_whether_of_not_knowing_ask_nothing(text, questions):
    assert len(reading(text).questions) == questions


def test_a_tag_leaves_a_proposal_one():
    assert stances(reading("Just go to Birch Cafe, okay?"), "birch") == {"affirmed"}
    assert stances(reading("Shall I take Birch Cafe?"), "birch") == {"asked"}


def test_a_label_sets_aside_all_that_its_sentence_lists():
    document = reading(
        "**最早开门的：红枫面馆**\n- 06:30 开门\n\n其他几家更晚：云溪茶社 07:30，听松书局 08:00，白鹭广场 09:00。"
    )
    assert stances(document, "红枫面馆") == {"affirmed"}
    for name in ("云溪茶社", "听松书局", "白鹭广场"):
        assert stances(document, name) == {"compared"}
    assert stances(reading("我还推荐其他两家：云溪茶社，听松书局。"), "听松书局") != {"compared"}


def test_what_is_compared_in_a_verb_is_compared():
    assert stances(reading("去红枫面馆就够了，比去云溪茶社还省二十呢。"), "云溪茶社") == {"compared"}


def test_one_arrives_once():
    found = times(reading("Birch Cafe first, you're there at 14:40. Then the shop, you get there at 15:45."))
    assert found["14:40"][2] == ("birch",)
    assert found["15:45"][2] == ()


def test_who_has_closed_at_eleven_may_have_done_so_at_night():
    found = times(reading("红枫面馆十一点打烊。", now="2026-05-05T01:30:00+08:00"))
    assert found["十一点"][:2] == ((11 * 60, 23 * 60), "closing")


def test_numbers_without_a_unit_are_kept_apart_from_figures():
    document = reading("这会儿三十六，走过去八分钟，21:00关门。")
    assert [one.value for one in document.numbers] == [36]
