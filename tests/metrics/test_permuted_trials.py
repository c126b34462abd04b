"""Trials dealt out anew within each case: against scipy, against what is known, and corrected for asking more than once."""

import random
from itertools import product

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.metrics.statistics import TrialBlock, chances


def units_of(*cases, column=0, flips=False):
    """A unit for each case, given as its trials in both runs."""
    weight = 1.0 if flips else 1 / len(cases)
    return [[TrialBlock(column, weight, baseline, new, flips=flips)] for baseline, new in cases]


@pytest.mark.parametrize("tail", ["down", "both"])
def test_one_case_agrees_with_scipys_exact_permutation_test(tail):
    import numpy as np
    from scipy.stats import permutation_test

    baseline, new = (0.9, 0.4, 0.7, 1.0, 0.3), (0.2, 0.6, 0.1, 0.35)
    oracle = permutation_test(
        (new, baseline),
        lambda x, y, axis=-1: np.mean(x, axis=axis) - np.mean(y, axis=axis),
        vectorized=True,
        n_resamples=np.inf,
        alternative={"down": "less", "both": "two-sided"}[tail],
    )
    (chance,) = chances(units_of((baseline, new)), 1, tail=tail)
    assert chance == pytest.approx(oracle.pvalue, rel=0.1 if tail == "both" else 1e-9)  # scipy doubles the smaller tail


def test_cases_with_one_trial_in_each_run_are_the_flipping_of_signs():
    cases = [((1.0,), (0.0,))] * 5 + [((0.0,), (1.0,))] + [((1.0,), (1.0,))] * 20
    assert chances(units_of(*cases), 1) == [pytest.approx(7 / 64)]


def test_several_cases_are_dealt_out_within_each_one_only():
    cases = [((1.0, 1.0), (0.0, 1.0)), ((0.0, 1.0), (0.0, 0.0))]
    ways = []
    for first, second in product(range(4), range(4)):
        deal = []
        for fails, place in ((1, first), (3, second)):
            marks = [0.0] * fails + [1.0] * (4 - fails)
            marks = marks[place:] + marks[:place]
            deal.append((marks[0] + marks[1] - marks[2] - marks[3]) / 2)
        ways.append(sum(deal) / 2)
    expected = sum(way <= -0.5 + 1e-9 for way in ways) / len(ways)
    assert chances(units_of(*cases), 1) == [pytest.approx(expected)]


def test_ways_that_are_drawn_come_close_to_all_of_them():
    generator = random.Random(3)
    case = [[float(generator.random() < share) for _ in range(6)] for share in (0.8, 0.4)]
    (exact,) = chances(units_of(tuple(case)), 1)
    more = units_of(tuple(case), *[((1.0, 0.0), (0.0, 1.0))] * 9)  # too many ways; these sum to nothing on average
    (drawn,) = chances(more, 1)
    assert 0 < exact < drawn < 1


def test_flips_count_cases_that_hold_in_every_trial_and_fail_in_every_one():
    flipped, other = ((1.0,) * 3, (0.0,) * 3), ((1.0, 0.0, 1.0), (0.0, 1.0, 1.0))
    assert chances(units_of(flipped, other, flips=True), 1) == [pytest.approx(1 / 20)]


def test_two_columns_that_go_together_cost_nothing_and_two_that_do_not_are_corrected_for():
    case = ((1.0,) * 4, (0.0, 0.0, 0.0, 1.0))
    (alone,) = chances(units_of(case), 1)
    both = chances([[TrialBlock(0, 1, *case), TrialBlock(1, 1, *case)]], 2)
    assert both == [pytest.approx(alone)] * 2
    apart = chances([[TrialBlock(0, 1, *case)], [TrialBlock(1, 1, *case)]], 2)
    assert alone < apart[0] <= 2 * alone + 1e-9


def test_trials_without_a_value_are_left_out():
    with_gap = chances(units_of(((1.0, None, 1.0), (0.0, 0.0, None))), 1)
    assert 0 < with_gap[0] <= 0.35
    assert chances(units_of(((None,), (0.0,))), 1) == [1.0]
    assert chances([], 2) == [1.0, 1.0]


def test_one_agent_twice_is_a_false_alarm_in_one_of_twenty_at_most():
    generator = random.Random(11)
    alarms = 0
    for _ in range(100):
        cases = []
        for _ in range(8):
            chance = generator.random()
            runs = [[float(generator.random() < chance) for _ in range(4)] for _ in range(2)]
            cases.append(tuple(runs))
        alarms += min(chances(units_of(*cases), 1)) <= 0.05
    assert alarms <= 10  # of 100; 5 % and more than two standard deviations


@generated(50)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=3),
            st.lists(st.floats(0, 1), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_a_probability_is_one_and_the_same_for_any_order_of_cases(cases):
    (chance,) = chances(units_of(*cases), 1)
    assert 0 < chance <= 1
    (turned,) = chances(units_of(*cases[::-1]), 1)
    assert turned == pytest.approx(chance, abs=0.02)
