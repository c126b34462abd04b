"""A user's turns held against the script, live or recorded: only what is surely at odds with it is a slip."""

from pathlib import Path

import pytest

from pytest_mapsat.judges import make_judge
from pytest_mapsat.model import Case, Label, Scorecard, Trajectory, Turn
from pytest_mapsat.runs.runner import grade
from pytest_mapsat.users import audit, make_user

ANSWERS = [
    {"asked": ["what time", "几点"], "say": "At 19:30."},
    {"asked": ["how many", "几位"], "say": "There are 4 of us."},
    {"asked": ["budget", "预算"], "say": "60 euros in all."},
    {"asked": ["wishes"], "say": "Somewhere quiet by the water."},
    {"asked": ["which day", "哪天"], "say": "On Friday."},
]


def case(language: str = "en", answers: list[dict[str, object]] | None = None) -> Case:
    truth = {"intent": "dinner", "user": {"answers": ANSWERS if answers is None else answers}}
    visible = {"query": "Take me somewhere for dinner.", "context": {"now": "2026-05-07T18:20:00"}}
    return Case.model_validate({"id": "c", "language": language, "visible": visible, "truth": truth})


def dialogue(*said: str) -> Trajectory:
    """Agent and user in turns, after the query; the agent first."""
    turns = [Turn(role="user", text="Take me somewhere for dinner.")]
    turns += [Turn(role="user" if place % 2 else "agent", text=text) for place, text in enumerate(said)]
    return Trajectory(case="c", turns=tuple(turns))


def slips(*said: str, **fields: object) -> list[Label]:
    return list(audit(case(**fields), dialogue(*said)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [
        ("What time?", "At 19:30.", "Blue Door it is."),
        ("What time?", "At half past seven.", "Blue Door it is."),
        ("What time?", "7:30 pm works", "Blue Door it is."),
        ("What time, and how many of you?", "At 19:30. There are 4 of us.", "Good."),
        ("What time, and how many of you?", "Half past seven, for four people", "Good."),
        ("您几点到，几位？", "晚上七点半，四个人。", "好的。"),
        ("Any wishes?", "A calm place near the harbour would be lovely", "Good."),
        ("Any wishes?", "Surprise me", "Good."),
        ("Which colour?", "No preference.", "Good."),
        ("What time?", "Around dinner, with 2 hours to spare", "Good."),
        ("Blue Door is the best.", "That is all, thank you."),
        ("Which day?", "Tomorrow", "Good."),
        ("哪天去？", "周五吧", "好的。"),
        ("Which day?", "In 1 day", "Good."),
        ("What time?", "At 19:30 on Saturday, then", "Good."),
        ("How many?", "There are 4 of us.", "How many, again?", "I have already said that.", "Good."),
        ("Blue Door seats 12 and costs 80 euros. What time?", "At 19:30. 12 seats is plenty.", "Good."),
    ],
)
def test_what_may_be_right_is_no_slip(said: tuple[str, ...]) -> None:
    assert slips(*said) == []


@pytest.mark.parametrize(
    ("said", "kind", "why"),
    [
        (("What time?", "At 20:15.", "Good."), "contradiction", "says '20:15', and the script has 'At 19:30.'"),
        (("What time?", "At a quarter past eight.", "Good."), "contradiction", "and the script has 'At 19:30.'"),
        (("您几点到？", "晚上八点。", "好的。"), "contradiction", "and the script has 'At 19:30.'"),
        (("8 or 9? What time?", "At 9, please", "Good."), "contradiction", "and the script has 'At 19:30.'"),
        (("Your booking number?", "It is 48213.", "Good."), "contradiction", "invents '48213'"),
        (("How many?", "There are seven of us", "Good."), "contradiction", "the script has 'There are 4 of us.'"),
        (("What time?", "I don't know.", "Then 8 pm."), "missing_details", "was asked for 'At 19:30.'"),
        (("您几点到？", "都可以。", "好的。"), "missing_details", "was asked for 'At 19:30.'"),
        (("Any wishes?", "No preference.", "Good."), "missing_details", "was asked for 'Somewhere quiet"),
        (("How many?", "Just a table", "Good."), "missing_details", "was asked for 'There are 4 of us.'"),
        (("How many?", "60 euros in all.", "Good."), "misinterpretation", "it says '60 euros in all.'"),
        (("Which day?", "On Saturday", "Good."), "contradiction", "says 'Saturday', and the script has 'On Friday.'"),
        (("哪天去？", "后天吧", "好的。"), "contradiction", "and the script has 'On Friday.'"),
        (("Which day?", "Some day soon", "Good."), "missing_details", "was asked for 'On Friday.'"),
        (("How many?", "That is all, thank you."), "proactivity", "ends though it was asked for 'There are 4"),
    ],
)
def test_a_slip_is_laid_to_the_user_with_its_turn(said: tuple[str, ...], kind: str, why: str) -> None:
    label = next(iter(slips(*said)))
    assert (label.requirement, label.kind, label.outcome, label.blame) == (f"user:2.{kind}", "user", "failed", "user")
    assert why in label.why
    assert label.quotes[0].text == said[1]


def test_a_moment_that_is_no_day_is_no_reason_to_break() -> None:
    data = case().model_dump(mode="json")
    data["visible"]["context"]["now"] = "2026-02-31T09:00"
    assert audit(Case.model_validate(data), dialogue("Which day?", "Tomorrow", "Good.")) != ()


def test_volunteering_misleads_nobody() -> None:
    (label,) = slips("Blue Door is the best.", "60 euros in all.", "Good.")
    assert (label.requirement, label.blame) == ("user:2.proactivity", None)


def test_without_prepared_answers_the_script_decides_nothing() -> None:
    assert slips("What time?", "At 20:15.", "Good.", answers=[]) == []


@pytest.mark.parametrize(
    "heard",
    [
        "What time?",
        "What time, and what budget?",
        "How many of you are there? And any wishes?",
        "您几点到？几位？",
        "Anything else?",
        "Which colour?",
        "Please click the link below to pay. What time?",
        "One moment please.",
        "I am unable to help with that. What time?",
        "Blue Door it is.",
    ],
)
def test_the_scripted_user_never_slips(heard: str) -> None:
    user, turns = make_user("scripted", case()), list(dialogue(heard).turns)
    for _ in range(4):
        move = user.reply(tuple(turns))
        if move.text is not None:
            turns.append(Turn(role="user", text=move.text))
        if move.ending is not None:
            break
        turns.append(Turn(role="agent", text=heard))
    assert audit(case(), Trajectory(case="c", turns=tuple(turns))) == ()


def graded(*said: str, asserted: str = "asked") -> Scorecard:
    data = case().model_dump(mode="json")
    data["truth"]["requirements"] = [
        {
            "id": "at-half-past-seven",
            "kind": "asked",
            "text": "19:30",
            "check": {"kind": "not", "check": {"kind": "matches", "pattern": "20:15|at eight"}},
        }
    ]
    judge = make_judge("checks", {}, root=Path())
    asked = frozenset({asserted} - {"none"})
    return grade(Case.model_validate(data), dialogue(*said), judge, asserted=asked, tools={})


def test_an_item_that_fails_by_a_slip_is_laid_to_the_user_and_leaves_the_score() -> None:
    misled = graded("What time?", "At 20:15.", "Blue Door has a table at 20:15.")
    assert (misled.outcome, misled.blame) == ("error", "user")
    assert "the script has 'At 19:30.'" in misled.reason
    assert {*misled.metrics.values()} == {None}
    assert {*misled.classes.values()} == {"error"}
    assert [label.requirement for label in misled.labels] == ["at-half-past-seven", "user:2.contradiction"]
    assert misled.warnings == ()


def test_a_slip_costs_nobody_anything_where_the_item_holds_or_was_not_misled() -> None:
    held = graded("What time?", "At 20:15.", "Blue Door has a table at 19:30.")
    assert (held.outcome, held.metrics["ecr"]) == ("passed", 1)
    volunteered = graded("Blue Door.", "60 euros in all.", "Blue Door at eight.")
    assert (volunteered.outcome, volunteered.blame) == ("failed", "agent")
    assert graded("What time?", "At 20:15.", "At 20:15.", asserted="none").metrics["ecr"] == 0
