"""What an agent hands over as data settles what its text leaves open, adds nothing, and may not contradict the text."""

import pytest
from judging import TOOLS, case_of, check_of, dialogue, found_places

from pytest_mapsat.judges import ChecksJudge, Context, evaluate

LUNA = {"kind": "recommends", "only": True, "any_of": ["Cafe Luna (Riverside)"]}
FACT = {"id": "f", "text": "t", "check": {"kind": "number", "unit": "yuan", "max": 5, "if_absent": "nothing_claimed"}}


def said(text, **output):
    trajectory = dialogue(text, steps=[found_places()])
    *before, last = trajectory.turns
    return trajectory.model_copy(update={"turns": (*before, last.model_copy(update={"output": output}))})


def finding(text, kind, output, **fields):
    return evaluate(check_of(kind, **fields), Context(said(text, **output), TOOLS))


def fact(text, **output):
    return ChecksJudge(TOOLS).judge(case_of(facts=[FACT]), said(text, **output)).labels[0]


def figure(thing, role, value, unit=""):
    return {"thing": thing, "role": role, "value": value, "unit": unit}


OPEN = "Old Mill but the soup is cold, and Cafe Luna though the tea is not hot."


@pytest.mark.parametrize("chosen", ["1", "Cafe Luna (Riverside)", "cafe luna"])
def test_a_choice_by_id_or_name_settles_which_of_the_named_things_is_meant(chosen):
    assert finding(OPEN, "recommends", {}, any_of=["Cafe Luna"], tool="any").passed is None
    assert finding(OPEN, "recommends", {"proposes": [chosen]}, any_of=["Cafe Luna"], tool="any").passed is True


def test_a_choice_that_the_text_does_not_name_is_not_recommended():
    output = {"proposes": ["1"]}
    assert (
        finding("Something nice by the river.", "recommends", output, any_of=["Cafe Luna"], only=True).passed
        is not True
    )
    assert finding("Go to Old Mill.", "recommends", output, any_of=["Cafe Luna"], only=True).passed is False


def test_a_choice_does_not_outweigh_what_the_text_turns_down():
    text = "Go to Old Mill. Skip Cafe Luna."
    assert finding(text, "recommends", {"proposes": ["1"]}, any_of=["Cafe Luna"], only=True).passed is False
    label = fact(text, proposes=["1"])
    assert (label.outcome, label.value) == ("failed", 0)
    assert "'Cafe Luna'" in label.why
    assert "which the structured output proposes" in label.why
    assert fact(text, proposes=["2"]).outcome == "passed"


def test_a_figure_of_the_data_says_what_a_figure_of_the_text_is_of():
    fields = {"unit": "min", "role": "wait", "of": ["Old Mill"], "max": 15}
    text = "Go to Old Mill. Count 12 minutes."
    assert finding(text, "number", {}, **fields).passed is None
    handed = [figure("2", "wait", 12, "min")]
    assert finding(text, "number", {"figures": handed}, **fields).passed is True
    assert finding(text, "number", {"figures": [figure("2", "wait", 13, "min")]}, **fields).passed is None


def test_two_figures_of_the_data_with_one_value_settle_nothing():
    handed = [figure("2", "wait", 12, "min"), figure("2", "travel_time", 12, "min")]
    fields = {"unit": "min", "role": "wait", "of": ["Old Mill"], "max": 15}
    assert finding("Go to Old Mill. Count 12 minutes.", "number", {"figures": handed}, **fields).passed is None


def test_a_figure_of_a_thing_that_the_text_does_not_name_says_nothing():
    fields = {"unit": "min", "role": "wait", "of": ["Old Mill"], "max": 15}
    handed = [figure("2", "wait", 12, "min")]
    assert finding("Count 12 minutes.", "number", {"figures": handed}, **fields).passed is not True


@pytest.mark.parametrize(
    ("text", "handed", "words"),
    [
        ("Go to Old Mill, the wait there is 12 minutes.", figure("2", "wait", 20, "minutes"), "20 minutes"),
        ("Go to Old Mill, it closes at 17:00.", figure("Old Mill", "closing", "18:30"), "18:30"),
    ],
)
def test_another_figure_of_the_same_thing_and_role_fails_the_fact(text, handed, words):
    label = fact(text, figures=[handed])
    assert label.outcome == "failed"
    assert f"but the structured output says {words}" in label.why


def fact_of(name, **check):
    return {"id": name, "text": "t", "check": {"if_absent": "nothing_claimed", **check}}


FACTS = [
    fact_of("price", kind="number", unit="yuan", max=50),
    fact_of("wait", kind="number", unit="min", role="wait", max=50),
    fact_of("other-wait", kind="number", unit="min", role="wait", of=["Cafe Luna"], max=50),
    fact_of("closing", kind="clock_time", role="closing", after="10:00"),
    {"id": "no-luna", "text": "t", "check": {"kind": "recommends", "none_of": ["Cafe Luna (Riverside)"]}},
    {"id": "waits", "text": "every waiting time (minutes) is a known one"},
]


@pytest.mark.parametrize(
    ("text", "output", "failed"),
    [
        (
            "Go to Old Mill, the wait there is 12 minutes.",
            {"figures": [figure("2", "wait", 20, "min")]},
            {"wait", "waits"},
        ),
        ("Go to Old Mill, it closes at 17:00.", {"figures": [figure("2", "closing", "18:30")]}, {"closing"}),
        ("Go to Old Mill. Skip Cafe Luna.", {"proposes": ["1"]}, {"no-luna"}),
        ("Go to Old Mill. Its rating is 4.1 stars.", {"figures": [figure("2", "rating", 4.9, "stars")]}, {"price"}),
    ],
)
def test_a_contradiction_fails_the_facts_that_speak_of_it_and_one_where_none_does(text, output, failed):
    labels = ChecksJudge(TOOLS).judge(case_of(facts=FACTS), said(text, **output)).labels
    blamed = {label.requirement for label in labels if "structured output" in label.why}
    assert blamed == failed
    assert {label.outcome for label in labels if label.requirement in failed} == {"failed"}


def test_the_same_figure_in_another_unit_or_rounded_is_no_contradiction():
    text = "Go to Old Mill, the wait there is about 2 hours."
    assert fact(text, figures=[figure("2", "wait", 120, "min")]).outcome == "passed"
    assert fact(text, figures=[figure("2", "wait", 118, "minutes")]).outcome == "passed"
    assert fact("Go to Old Mill.", figures=[figure("2", "wait", 120, "min")]).outcome == "passed"


def test_data_that_nothing_is_known_by_is_left_alone():
    output = {"proposes": ["no such id"], "figures": [figure("nobody", "no_role", "x" * 500, "y" * 500)]}
    assert finding("Go to Cafe Luna.", "recommends", output, any_of=["Cafe Luna"], only=True).passed is True
    assert fact("Go to Cafe Luna.", **output).outcome == "passed"
