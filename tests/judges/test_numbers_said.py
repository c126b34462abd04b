"""A phrase that is a number is said in whatever spelling of it."""

import pytest

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import Case, Trajectory, Turn


def outcome(text, **check):
    requirement = {"id": "e", "kind": "asked", "text": "the total", "check": {"kind": "says", **check}}
    case = Case.model_validate({"id": "c", "visible": {"query": "q"}, "truth": {"requirements": [requirement]}})
    trajectory = Trajectory(case="c", turns=(Turn(role="user", text="q"), Turn(role="agent", text=text)))
    return ChecksJudge({}).judge(case, trajectory).labels[0].outcome


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("5244", "Your total is $5,244.00."),
        ("5244", "Your total is **5,244** dollars."),
        ("5,244.00", "Your total is 5244."),
        ("44.08", "The refund is 44.080."),
        ("1234567.5", "It comes to 1,234,567.50 in all."),
    ],
)
def test_a_number_is_said_with_marks_of_thousands_and_zeros_or_without(phrase, text):
    assert outcome(text, any=[phrase]) == "passed"
    assert outcome(text, none=[phrase]) != "passed"


@pytest.mark.parametrize(
    "text", ["Your total is 5,2440.", "It is 15,244.00.", "Ask at 5:244.", "It is 5,244.10.", "Order A5,244 is there."]
)
def test_another_number_says_something_else(text):
    assert outcome(text, any=["5244"]) != "passed"
    assert outcome(text, none=["5244"]) == "passed"


def test_a_number_that_is_asked_or_denied_is_not_said():
    assert outcome("Is the total 5,244.00?", any=["5244"]) != "passed"
    assert outcome("The total is not 5,244.00.", any=["5244"]) != "passed"
