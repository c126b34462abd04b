"""The checks on what an agent did: its calls, and what it asked."""

import pytest
from judging import call, dialogue, judge_dialogue, judge_reply

TEA = {"query": {"op": "contains", "text": "tea"}}


def test_called_wants_matching_arguments_often_enough():
    steps = [call(query="tea house"), call(query="tea room"), call(query="bar")]
    assert judge_reply("x", "calls", steps=steps, tool="search_poi", **{"with": TEA}).passed is True
    assert judge_reply("x", "calls", steps=steps, tool="search_poi", at_least=3, **{"with": TEA}).passed is False
    assert judge_reply("x", "calls", steps=steps, tool="search_poi", at_most=2).passed is False
    finding = judge_reply("x", "calls", steps=steps, tool="route")
    assert (finding.passed, finding.why) == (False, "route was never called")


def test_an_argument_that_is_not_given_does_not_match():
    assert judge_reply("x", "calls", steps=[call(x=1)], tool="search_poi", **{"with": TEA}).passed is False


def test_answered_leaves_out_misses_and_errors():
    steps = [call(status="miss", query="tea"), call(status="error", query="tea")]
    assert judge_reply("x", "calls", steps=steps, tool="search_poi").passed is True
    assert judge_reply("x", "calls", steps=steps, tool="search_poi", answered=True).passed is False


def test_not_called_fails_on_a_matching_call_only():
    steps = [call(query="tea")]
    assert judge_reply("x", "calls", steps=steps, tool="search_poi", **{"with": TEA}, at_most=0).passed is False
    assert (
        judge_reply("x", "calls", steps=[call(query="bar")], tool="search_poi", **{"with": TEA}, at_most=0).passed
        is True
    )


def test_a_match_bound_to_an_earlier_result_is_unknown_without_one():
    bound = {"to": {"op": "bound", "tool": "search_poi", "path": "pois.*.name"}}
    known = [call(result={"pois": [{"name": "Old Mill"}]}), call("route", to="Old Mill")]
    assert judge_reply("x", "calls", steps=known, tool="route", **{"with": bound}).passed is True
    assert judge_reply("x", "calls", steps=known[1:], tool="route", **{"with": bound}).passed is None
    assert judge_reply("x", "calls", steps=known[1:], tool="route", **{"with": bound}, at_most=0).passed is None


@pytest.mark.parametrize(
    "reply",
    [
        "Which district do you prefer?",
        "Please tell me which district.",
        "Let me know which district suits you",
        "请问您在哪个district",
        "您想去哪个district？",
        "需要区分district吗。",
    ],
)
def test_a_question_or_a_request_is_asked(reply):
    assert judge_reply(reply, "asked", at_least=1).passed is True
    assert judge_reply(reply, "asked", at_least=1, about=["district"]).passed is True
    assert judge_reply(reply, "asked", at_most=0).passed is False


@pytest.mark.parametrize(
    "reply",
    [
        "Go there.",
        "See http://x.example/a?b=1",
        "Let me know if you need any more help.",
        "???",
        "如有其他需要请告诉我。",
        "",
    ],
)
def test_a_statement_or_an_offer_is_not(reply):
    assert judge_reply(reply, "asked", at_most=0).passed is True


def test_questions_are_counted_over_the_dialogue():
    trajectory = dialogue("By bus? Or by metro?", "With luggage?")
    assert judge_dialogue(trajectory, "asked", at_least=3, at_most=3).passed is True
    assert judge_dialogue(trajectory, "asked", about=["metro"], at_least=2).passed is False
