"""Mutants made of labelled answers: what they change, and what their labels tell of them."""

from pathlib import Path

import pytest
from oracle_runs import oracle_run, requirement

from pytest_mapsat.model import PeopleLabels
from pytest_mapsat.proof import prove
from pytest_mapsat.proof.mutants import CROSSED, Answers
from pytest_mapsat.suite import open_suite, read_answers

PRICE = {
    "kind": "number", "unit": "min", "equals": {"op": "bound", "tool": "route", "path": "minutes"}, "if_absent": "nothing_claimed",
}  # fmt: skip
LUNA = requirement({"kind": "recommends", "only": True, "any_of": ["Cafe Luna"]}, "luna")
FACT = {"id": "way", "text": "the time is a known one", "check": PRICE}
KEPT = {"luna": "passed", "way": "passed"}


def answer(name, text, **labels):
    return PeopleLabels(case="c1", id=name, by="person", text=text, labels={**KEPT, **labels})


RIGHT = answer("r", "Cafe Luna it is: 10 min on foot. Old Mill shuts too early for you.")
OTHER = answer("o", "Off to Cafe Luna, a 10-minute stroll.")
SLOW = answer("w", "Cafe Luna is the one. Cafe Luna is 14 min away.", way="failed")
ELSEWHERE = answer("e", "Old Mill, 10 min.", luna="failed")


def crossings(kind, *answers):
    run = oracle_run(LUNA, facts=[FACT])
    found = list(CROSSED[kind](Answers.of(run, answers)))
    return [(one.mutant.trajectory.turns[-1].text, one.violates, one.holds) for one in found]


def test_right_answers_are_paraphrases_and_wrong_ones_break_what_their_labels_say():
    assert crossings("paraphrase", RIGHT, SLOW) == [(RIGHT.text, (), ("luna", "way"))]
    assert crossings("wrong_answer", RIGHT, SLOW, ELSEWHERE) == [
        (SLOW.text, ("way",), ()),
        (ELSEWHERE.text, ("luna",), ()),
    ]


def test_a_wrong_figure_takes_the_place_of_the_true_one_in_a_right_answer():
    assert crossings("crossed_figure", OTHER, SLOW) == [("Off to Cafe Luna, a 14-minute stroll.", ("way",), ())]


@pytest.mark.parametrize(
    "wrong",
    [
        answer("w", "Cafe Luna, 14 min, or 18 min.", way="failed"),
        answer("w", "Cafe Luna, 14 min.", way="failed", luna="failed"),
        answer("w", "Cafe Luna, 14 yuan.", way="failed"),
        answer("w", "Cafe Luna, 10 min.", way="failed"),
    ],
    ids=["two figures", "two requirements", "another sort", "no wrong figure"],
)
def test_where_it_is_not_sure_which_figure_is_wrong_nothing_is_crossed(wrong):
    assert crossings("crossed_figure", OTHER, wrong) == crossings("crossed_sentence", OTHER, wrong) == []


def test_a_sentence_with_a_wrong_figure_of_a_named_thing_stands_behind_a_right_answer():
    said = f"{OTHER.text}\n\nCafe Luna is 14 min away."
    assert crossings("crossed_sentence", OTHER, SLOW) == [(said, ("way",), ())]


def test_what_is_said_of_a_thing_that_cannot_be_meant_stands_behind_another_right_answer():
    said = f"{OTHER.text}\n\nOld Mill shuts too early for you."
    assert crossings("crossed_rejection", RIGHT, OTHER) == [(said, (), ("luna", "way"))]


def test_two_things_of_a_kind_change_names_where_no_shorter_form_gives_them_away():
    swapped = "Old Mill it is: 10 min on foot. Cafe Luna shuts too early for you."
    assert crossings("swapped_things", RIGHT) == [(swapped, ("luna",), ())]
    assert crossings("swapped_things", answer("r", f"{RIGHT.text} Luna is quiet, too.")) == []


def test_answers_to_other_cases_and_whole_dialogues_are_left_out():
    turns = [{"role": "user", "text": "Where?"}, {"role": "agent", "text": "Cafe Luna."}]
    dialogue = PeopleLabels(case="c1", id="d", by="person", turns=turns, labels=KEPT)
    other = RIGHT.model_copy(update={"case": "c2"})
    assert crossings("paraphrase", dialogue, other) == []


def test_of_three_shipped_cases_the_crossed_answers_accuse_nothing_right_and_are_counted_apart():
    suite = open_suite(Path(__file__).resolve().parents[2] / "benchmark_cases")
    wanted = ("ride-wheelchair", "realtime-last-train", "local-birthday-six")
    cases = [suite.load(entry) for path in suite.files() for entry in suite.entries(path) if entry.id in wanted]
    proof = prove(cases, suite, [placed.noun for placed in read_answers(suite)])
    counts = proof.crossed.to_json()
    assert counts["false_alarms"] <= 1  # "X would run to 660 for all of you" is read as a proposal
    assert counts["harmless"] >= 20
    assert counts["killed"] >= counts["wrong"] / 3
    assert proof.to_json()["answers"] == counts
    assert not {trial.kind for trial in proof.trials} & set(CROSSED)
