"""Eff, SES, CEI, and IFS beside them: metrics that may not apply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_builders import label, make_case, make_trajectory, make_verdict

from pytest_mapsat.metrics import Measure, product
from pytest_mapsat.metrics.metric_set import (
    cost_efficiency,
    faithfulness,
    index_labels,
    interaction_efficiency,
    read_labels,
)
from pytest_mapsat.model import OracleTurn, Usage


@pytest.mark.parametrize(("turns", "reference", "value"), [(1, 5, 0.8333), (2, 2, 0.5), (4, 3, 0.4286), (4, 5, 0.5556)])
def test_eff_compares_agent_replies_with_the_reference(turns, reference, value):
    found = interaction_efficiency(make_case(max_turns=reference), make_trajectory(replies=["x"] * turns))
    assert found.value == pytest.approx(value, abs=5e-5)


def test_the_cases_own_reference_beats_the_clarification_maximum():
    assert interaction_efficiency(make_case(max_turns=9, reference=1.0), make_trajectory()).value == 0.5
    assert interaction_efficiency(make_case(max_turns=0, reference=1.0), make_trajectory()).value == 0.5


def test_no_reply_counts_as_one_turn():
    assert interaction_efficiency(make_case(max_turns=1), make_trajectory(replies=())).value == 0.5


@pytest.mark.parametrize("max_turns", [0, None])
def test_without_a_reference_eff_and_ses_do_not_apply(max_turns):
    eff = interaction_efficiency(make_case(max_turns=max_turns), make_trajectory())
    assert eff.outcome_class == "not_applicable"
    assert product(Measure(0.5), eff).outcome_class == "not_applicable"


@pytest.mark.parametrize("max_turns", [0, None])
def test_the_replies_of_the_oracle_stand_in_for_a_reference(max_turns):
    case = make_case(max_turns=max_turns)
    truth = case.truth.model_copy(update={"oracle": (OracleTurn(say="When?"), OracleTurn(say="Take the bus."))})
    eff = interaction_efficiency(case.model_copy(update={"truth": truth}), make_trajectory(replies=["x"] * 2))
    assert eff.value == 0.5


@given(st.integers(1, 50), st.integers(1, 100))
def test_eff_lies_between_zero_and_one_and_falls_with_every_turn(turns, reference):
    case = make_case(max_turns=reference)
    fewer, more = (interaction_efficiency(case, make_trajectory(replies=["x"] * n)).value for n in (turns, turns + 1))
    assert 0 < more < fewer <= 1


def test_ses_is_the_product_unrounded():
    assert product(Measure(0.8799), Measure(0.5)).value == 0.8799 * 0.5


def test_cei_is_ses_per_million_tokens_of_the_agent():
    spent = Usage(input_tokens=8_152, output_tokens=1_376)
    assert cost_efficiency(Measure(0.4399), spent).value == pytest.approx(46.16918555835432)


@pytest.mark.parametrize("spent", [Usage(), Usage(input_tokens=5), Usage(input_tokens=0, output_tokens=0)])
def test_cei_does_not_apply_where_tokens_are_not_known(spent):
    assert cost_efficiency(Measure(0.5), spent).outcome_class == "not_applicable"


def test_cei_says_why_ses_has_no_value():
    known = Usage(input_tokens=1, output_tokens=1)
    assert cost_efficiency(Measure(None, "unevaluated"), known).outcome_class == "unevaluated"


def faith(case, *labels):
    return faithfulness(case, read_labels(case.truth.requirements, index_labels(make_verdict(labels))))


def test_ifs_is_the_share_of_facts_that_hold_and_counts_those_that_claim_nothing():
    found = faith(make_case(facts=3), label("f1", 1), label("f2", 1, nothing_claimed=True), label("f3", 0))
    assert (found.measure.value, found.nothing_claimed) == (pytest.approx(2 / 3), 1)


def test_ifs_does_not_apply_to_a_case_without_facts():
    assert faith(make_case()).measure.outcome_class == "not_applicable"


def test_a_fact_that_nobody_could_judge_leaves_ifs_unevaluated():
    found = faith(make_case(facts=2), label("f1", 1, nothing_claimed=True), label("f2", None, why="no tool to ask"))
    assert (found.measure.value, found.measure.outcome_class, found.nothing_claimed) == (None, "unevaluated", 1)
    assert "no tool to ask" in found.measure.why
