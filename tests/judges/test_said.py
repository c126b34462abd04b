"""The checks on words, with what is denied and what only looks so."""

import pytest
from judging import check_of, dialogue, judge_dialogue, judge_reply

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import Trajectory, Turn

STANDING = [
    ("Take the bus.", "bus"),
    ("Instead of the bus, take the metro.", "metro"),
    ("Avoid tolls and take the bus", "bus"),
    ("This serves not only the bus", "bus"),
    ("No problem, the bus is fine", "bus"),
    ("The No. 5 bus is next", "bus"),
    ("It is not far from People's Square", "People's Square"),
    ("Don't miss Cafe Luna", "Cafe Luna"),
    ("You do not need to avoid tolls", "tolls"),
    ("There is no bus, so take the metro", "metro"),
    ("不仅走高速", "高速"),
    ("不是公交而是地铁", "地铁"),
    ("没有高速但有国道", "国道"),
    ("特别推荐高速", "高速"),
    ("无需避开高速", "高速"),
    ("不到10分钟就到公交站", "公交"),
]
DENIED = [
    ("There are no tolls.", "toll"),
    ("There’s no toll", "toll"),
    ("This avoids tolls", "toll"),
    ("without any toll", "toll"),
    ("It isn't a bus", "bus"),
    ("Take the metro rather than the bus", "bus"),
    ("The bus is not an option", "bus"),
    ("no toll roads and no highways", "highway"),
    ("neither bus nor metro", "metro"),
    ("**no** tolls", "tolls"),
    ("n\u200bo tolls", "tolls"),
    ("不走高速", "高速"),
    ("避开高速、隧道", "隧道"),
    ("没有收费站", "收费站"),
    ("别走高速", "高速"),
    ("走国道而不是高速", "高速"),
    ("不太建议走高速", "高速"),
    ("高速不推荐", "高速"),
]


@pytest.mark.parametrize(("reply", "phrase"), STANDING)
def test_a_phrase_that_stands_is_never_called_denied(reply, phrase):
    assert judge_reply(reply, "says", any=[phrase]).passed is not False
    assert judge_reply(reply, "says", none=[phrase]).passed is not True


@pytest.mark.parametrize(("reply", "phrase"), DENIED)
def test_a_phrase_under_a_negation_is_never_called_said(reply, phrase):
    assert judge_reply(reply, "says", any=[phrase]).passed is not True
    assert judge_reply(reply, "says", none=[phrase]).passed is not False


@pytest.mark.parametrize(
    ("reply", "phrase"),
    [("Take the bus.", "bus"), ("It has a quiet room.", "quiet"), ("那里有插座。", "插座"), ("There is snow.", "snow")],
)
def test_a_plain_statement_is_said(reply, phrase):
    assert judge_reply(reply, "says", any=[phrase]).passed is True
    assert judge_reply(reply, "says", none=[phrase]).passed is False


def test_one_mention_that_stands_is_enough():
    assert judge_reply("No bus at night. By day take the bus.", "says", any=["bus"]).passed is True


def test_said_wants_one_of_any_and_each_of_all():
    both = {"any": ["bus", "metro"], "all": ["lift", "metro"]}
    assert judge_reply("Take the metro. There is a lift.", "says", **both).passed is True
    finding = judge_reply("Take the metro.", "says", **both)
    assert (finding.passed, finding.why) == (None, "no reply says 'lift', unless other words say it")
    assert judge_reply("Take the metro.", "says", about=["lift"], **both).passed is False


def test_the_reason_quotes_the_words_and_their_place():
    finding = judge_reply("There is a Toll  Road ahead", "says", none=["toll road"])
    assert finding.why == "turn 1 says 'Toll  Road' (chars 11-21)"
    assert [(quote.turn, quote.start, quote.end, quote.text) for quote in finding.quotes] == [(1, 11, 21, "Toll  Road")]


@pytest.mark.parametrize(("turn", "passed"), [("any", True), ("first", True), ("last", None)])
def test_turn_says_which_replies_are_read(turn, passed):
    trajectory = dialogue("Take the bus", "Enjoy!")
    assert judge_dialogue(trajectory, "says", any=["bus"], turn=turn).passed is passed


def test_a_blank_reply_at_the_end_is_not_the_last_word():
    assert judge_dialogue(dialogue("Take the bus", " \u200b\n"), "says", any=["bus"], turn="last").passed is True


def test_covers_counts_the_things_that_are_proposed():
    names = [["museum", "博物馆"], ["park"], ["tower"]]
    reply = "Visit the museum, then visit the park."
    assert judge_reply(reply, "recommends", all_of=names, at_least=2).passed is True
    assert judge_reply(reply, "recommends", all_of=names).passed is None
    assert judge_reply("Skip the museum.", "recommends", all_of=[["museum"]]).passed is False
    beside = "Take the museum. If you want more, there's the zoo."
    assert judge_reply(beside, "recommends", all_of=[["museum"], ["zoo"]]).passed is None


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("1. Visit the museum\n2. Visit the park\n3. Visit the tower", True),
        ("1. Visit the park\n2. Visit the museum\n3. Visit the tower", False),
        ("Enjoy!", False),
    ],
)
def test_order_compares_first_mentions(reply, passed):
    names = [["museum"], ["park"], ["tower"]]
    assert judge_reply(reply, "recommends", in_order=names).passed is passed


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("Take the metro.", True),
        ("Take the metro, it is faster than the bus.", True),
        ("Take the metro instead of the bus", True),
        ("坐地铁，比公交快", True),
        ("Take the bus.", False),
        ("Enjoy!", False),
    ],
)
def test_chooses_wants_one_option_and_none_of_the_others(reply, passed):
    finding = judge_reply(reply, "recommends", any_of=["metro", "地铁"], none_of=["bus", "公交"])
    assert finding.passed is passed


@pytest.mark.parametrize("reply", ["Take the metro or the bus.", "坐地铁或公交", "Neither will do"])
def test_chooses_is_never_content_with_both_or_neither(reply):
    finding = judge_reply(reply, "recommends", any_of=["metro", "地铁"], none_of=["bus", "公交"])
    assert finding.passed is not True


def test_an_option_that_holds_the_name_of_the_other_is_not_the_other():
    assert judge_reply("Take the airport bus", "recommends", any_of=["airport bus"], none_of=["bus"]).passed is True


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("It is 18 minutes on foot, so take a taxi there.", False),
        ("Walk there; there is no need to take a taxi.", None),
        ("It is a 9 min walk from Cooper's Walk, in time for your train.", True),
        ("It is a 9 min walk, in good time for the train.", True),
        ("It is a long stretch for your parents; a taxi saves them that.", None),
        ("It is a 9 min walk, no bus needed.", True),
    ],
)
def test_travels_fails_where_the_user_is_told_to_take_another_way(reply, passed):
    assert judge_reply(reply, "travels", by=["walking"]).passed is passed


def test_a_way_that_the_user_has_named_is_no_way_that_the_user_is_told_to_take():
    turns = (
        Turn(role="user", text="I must catch the ferry."),
        Turn(role="agent", text="A ferry goes at nine. Walk there."),
    )
    assert judge_dialogue(Trajectory(case="c1", turns=turns), "travels", by=["walking"]).passed is True


@pytest.mark.parametrize("reply", ["Tuesday is cancelled at no cost.", "We have cancelled it, at no cost."])
def test_a_phrase_that_denies_by_itself_is_said(reply):
    assert judge_reply(reply, "says", any=["at no cost"]).passed is True


def test_a_phrase_that_denies_denies_the_next_one():
    checks = [{"kind": "says", "any": ["没有一家"]}, {"kind": "says", "none": ["还在营业"]}]
    both = check_of("all", checks=checks)
    context = JudgedDialogue(dialogue("附近没有一家还在营业。"), {}, language="zh").knowing([both])
    assert evaluate(both, context).passed is not False


def test_a_phrase_that_overlaps_a_denied_one_is_not_said():
    trajectory = dialogue("现在附近没有营业中的药店。")
    both = check_of("all", checks=[{"kind": "says", "any": ["没有营业"]}, {"kind": "says", "none": ["营业中"]}])
    assert evaluate(both, JudgedDialogue(trajectory, {}, language="zh").knowing([both])).passed is True


@pytest.mark.parametrize(
    "reply",
    [
        "The rest goes back to your card.",
        "I will send the other half back to your card.",
        "You can have all of it back to your card if you prefer.",
    ],
)
def test_what_may_be_set_beside_something_else_is_not_surely_unsaid(reply):
    assert judge_reply(reply, "says", none=["back to your card"]).passed is not True


@pytest.mark.parametrize(("banned", "passed"), [("metro", True), ("bus", False)])
def test_words_that_are_wanted_and_words_that_are_not_are_one_check(banned, passed):
    assert judge_reply("Take the bus.", "says", any=["bus"], none=[banned]).passed is passed
