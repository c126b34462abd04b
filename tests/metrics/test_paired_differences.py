"""Differences of paired runs: exact tests against scipy, corrections against what they promise, power against simulation."""

import math
import random

import pytest

from pytest_mapsat.metrics import bootstrap_interval
from pytest_mapsat.metrics.statistics import Spread, joint_level, sign_flip, units


@pytest.mark.parametrize(("worse", "better"), [(1, 0), (5, 1), (8, 2)])
def test_flipping_signs_of_passes_is_mcnemars_test(worse, better):
    from scipy.stats import binomtest

    column = [-1.0] * worse + [1.0] * better + [0.0] * 30
    assert sign_flip([column]) == [pytest.approx(binomtest(worse, worse + better, alternative="greater").pvalue)]


def test_flipping_signs_agrees_with_scipys_permutation_test():
    import numpy as np
    from scipy.stats import permutation_test

    values = [-0.4, 0.1, -0.3, 0.2, -0.25, -0.05, 0.0, -0.5]
    oracle = permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="less")
    assert sign_flip([values]) == [pytest.approx(oracle.pvalue)]


def test_flips_that_are_drawn_come_close_to_all_of_them():
    from scipy.stats import norm

    column = [-0.2, 0.1, -0.3, 0.05] * 5  # 20 units: too many for every way
    (drawn,) = sign_flip([column])
    assert drawn == pytest.approx(norm.cdf(sum(column) / math.sqrt(sum(v * v for v in column))), abs=0.03)


def test_without_a_difference_nothing_is_improbable():
    assert sign_flip([[0.0, 0.0], [0.0, -1.0]]) == [1.0, 0.5]


def test_several_columns_are_corrected_for_and_copies_cost_nothing():
    one = [-1.0] * 6 + [0.0] * 10
    other = [0.0] * 10 + [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]
    (alone,) = sign_flip([one])
    assert alone == 1 / 64
    assert sign_flip([one, one]) == [alone, alone]
    both = sign_flip([one, other])
    assert alone < both[0] < 2.2 * alone
    assert both[1] >= both[0]


def test_one_agent_twice_is_a_false_alarm_in_one_of_twenty_families_at_most():
    rng = random.Random(11)
    alarms = 0
    families = 400
    for _ in range(families):
        columns = [[rng.choice((0, 0, 0, 1)) * rng.gauss(0, 1) for _ in range(12)] for _ in range(3)]
        alarms += min(sign_flip(columns)) <= 0.05
    assert alarms / families <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / families)


def test_one_column_needs_its_own_level_and_many_need_more():
    rng = random.Random(5)
    columns = [[rng.gauss(0, 1) for _ in range(60)] for _ in range(5)]
    assert joint_level(columns[:1]) == 0.95
    assert joint_level([columns[0], columns[0]]) == 0.95
    # Of five unrelated ones, each needs what Bonferroni's correction says, within what resampling can tell.
    assert joint_level(columns) == pytest.approx(1 - 0.05 / 5, abs=0.003)
    near = [[value + rng.gauss(0, 0.1) for value in columns[0]] for _ in range(4)]
    assert 0.95 <= joint_level(near) < 0.97


def test_units_are_sums_over_clusters_in_the_order_of_the_cases():
    assert units([0.5, None, -0.25, 1.0], ["a", "b", "a", "c"]) == [0.25, 0.0, 1.0]


def test_the_cases_that_power_asks_for_show_the_drop_four_times_in_five():
    rng = random.Random(3)
    spread = Spread.of([rng.gauss(0, 0.4) for _ in range(100)])
    needed = spread.cases_for(0.1)
    seen = 0
    runs = 100
    for _ in range(runs):
        _, high = bootstrap_interval([rng.gauss(-0.1, math.sqrt(spread.total)) for _ in range(needed)], resamples=1000)
        seen += high < 0
    assert seen / runs == pytest.approx(0.8, abs=0.12)
    assert spread.smallest == pytest.approx(0.1 * math.sqrt(needed / 100), rel=0.02)


def test_no_power_is_told_where_there_is_nothing_to_see():
    assert Spread(n=100, total=0.04).cases_for(0.05) == 129
    assert Spread(n=100, total=0.04).cases_for(0.0) is None
    assert Spread(n=5, total=0.0).smallest is None
