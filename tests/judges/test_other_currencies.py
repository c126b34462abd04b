"""Prices in a suite whose money is not the yuan."""

import pytest
from suite_maker import MANIFEST, case_yaml, make_suite

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import Case, Step, SuiteError, Tool, Trajectory, Turn
from pytest_mapsat.reading import Vocabulary
from pytest_mapsat.suite import open_suite

TOOL = Tool.model_validate(
    {
        "name": "find",
        "description": "Find.",
        "parameters": {"type": "object", "properties": {}},
        "entities": [{"items": "places", "name": "name", "fields": {"price": "price"}}],
    }
)
FOUND = Step(kind="call", tool="find", result={"places": [{"name": "Old Mill", "price": 30}]})
AT_MOST = {"kind": "number", "unit": "money", "max": 40}
EQUAL = {"kind": "number", "unit": "money", "equals": {"op": "bound", "tool": "find", "path": "places.*.price"}}


def judged(reply, check, *, currency="USD", query="Where can we eat?"):
    facts = [{"id": "f", "text": "the price agrees"}]
    case = {
        "id": "c",
        "visible": {"query": query},
        "truth": {
            "requirements": [
                {"id": "e", "kind": "asked", "text": "cheap", "check": check},
                *({"kind": "fact", **one} for one in facts),
            ]
        },
    }
    turns = (Turn(role="user", text=query), Turn(role="agent", text=reply, steps=(FOUND,)))
    judge = ChecksJudge({"find": TOOL}, Vocabulary(currency=currency))
    verdict = judge.judge(Case.model_validate(case), Trajectory(case="c", turns=turns))
    return {label.requirement: label for label in verdict.labels}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Old Mill, dinner is $30 per person.", "passed"),
        ("Old Mill, dinner is 30 dollars per person.", "passed"),
        ("Old Mill, dinner is $50 per person.", "failed"),
        ("Old Mill, dinner is 30 yuan per person.", "unevaluated"),
        ("Old Mill, dinner is €50 per person.", "unevaluated"),
        ("Old Mill is nice.", "failed"),
    ],
)
def test_a_sum_in_another_currency_is_undecided(reply, outcome):
    label = judged(reply, AT_MOST)["e"]
    assert (label.outcome, label.undecided) == (outcome, outcome == "unevaluated")
    if outcome == "unevaluated":
        assert "not in the suite's currency, USD" in label.why
        assert label.quotes


def test_what_a_tool_returns_is_in_the_suites_currency():
    assert judged("Old Mill costs £30.", EQUAL, currency="GBP")["e"].outcome == "passed"
    label = judged("Old Mill costs £50.", EQUAL, currency="GBP")["e"]
    assert (label.outcome, label.wanted) == ("failed", "a sum of money equal to 30 GBP")
    assert judged("Old Mill costs $50.", EQUAL, currency="GBP")["e"].outcome == "unevaluated"


def test_claims_in_another_currency_are_undecided():
    own, other = (judged(f"Old Mill costs {said}.", AT_MOST, currency="JPY")["f"] for said in ("¥30", "$30"))
    assert own.undecided
    assert "which the evidence has, perhaps for something else" in own.why
    assert other.undecided
    assert "not in the suite's currency" in other.why


def test_yuan_in_a_suite_of_another_currency_is_told_with_its_place(tmp_path):
    check = "      check: {kind: number, unit: yuan, max: 3}\n"
    suite = open_suite(
        make_suite(tmp_path, {"suite.yaml": MANIFEST + "currency: EUR\n", "a.yaml": case_yaml("a") + check})
    )
    with pytest.raises(SuiteError) as caught:
        suite.entries(tmp_path / "a.yaml")
    (problem,) = caught.value.problems
    assert (problem.line, problem.message) == (
        12,
        "truth.requirements[0].check.unit: found yuan, but the suite's currency is EUR",
    )
    with pytest.raises(SuiteError, match=r"currency: found 'EURO', expected one of .*did you mean 'EUR'"):
        open_suite(make_suite(tmp_path / "b", {"suite.yaml": MANIFEST + "currency: EURO\n"}))


def test_evidence_is_quoted_in_the_money_of_the_suite():
    assert "30 USD (find)" in judged("Old Mill, dinner is $50 per person.", AT_MOST)["f"].why
