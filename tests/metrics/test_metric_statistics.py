"""Intervals of means and proportions, against scipy and against themselves in another order."""

import subprocess
import sys

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.metrics import bootstrap_interval, bootstrap_intervals, clustered, cohen_kappa, wilson_interval
from pytest_mapsat.metrics.statistics import normal_quantile, normal_share, student_quantile

LEVELS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


def sample(n, seed=7):
    """A fixed, uneven sample in [0, 1]."""
    return [((place * 7919 + seed * 104729) % 1009 / 1009) ** 2 for place in range(n)]


@pytest.mark.parametrize("n", [12, 60, 500])
def test_the_interval_is_scipys_bca_at_the_level_that_a_small_sample_needs(n):
    import numpy as np
    from scipy.stats import bootstrap, norm, t

    values = sample(n)
    wider = 2 * norm.cdf(t.ppf(0.975, n - 1) * (n / (n - 1)) ** 0.5) - 1
    oracle = bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        confidence_level=wider,
        method="BCa",
        random_state=np.random.default_rng(1),
    )
    low, high = bootstrap_interval(values)
    width = high - low
    assert low == pytest.approx(oracle.confidence_interval.low, abs=0.06 * width)
    assert high == pytest.approx(oracle.confidence_interval.high, abs=0.06 * width)


@pytest.mark.parametrize("share", [0.6, 0.975, 0.9999])
def test_quantiles_agree_with_scipy(share):
    from scipy.stats import norm, t

    for df in (1, 2, 3, 8, 37, 100, 101, 499):
        assert student_quantile(share, df) == pytest.approx(t.ppf(share, df), rel=1e-6), df
    assert normal_quantile(share) == pytest.approx(norm.ppf(share), rel=1e-12)
    assert normal_share(normal_quantile(share)) == pytest.approx(share, rel=1e-12)


def test_a_wider_level_has_a_wider_interval():
    values = sample(60)
    (low, high), (lower, higher) = (bootstrap_interval(values, level=level) for level in (0.8, 0.99))
    assert lower < low < high < higher


def test_cases_of_one_cluster_count_as_less_than_as_many_others():
    values = [0.0, 0.1, 0.9, 1.0, 0.5, 0.4]
    pairs = clustered(values, ["a", "a", "b", "b", "c", "c"])
    assert sum(pairs) / 3 == pytest.approx(sum(values) / 6)
    assert sorted(pairs) == pytest.approx([0.05, 0.45, 0.95])
    assert clustered(values, list("abcdef")) == values
    uneven = clustered([1.0, 0.0, 0.0], ["a", "b", "b"])
    assert sum(uneven) / 2 == pytest.approx(1 / 3)


def test_the_interval_of_many_values_agrees_with_the_normal_one():
    values = sample(5_000)
    mean = sum(values) / len(values)
    error = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5 / len(values) ** 0.5
    low, high = bootstrap_interval(values)
    assert low == pytest.approx(mean - 1.96 * error, abs=0.25 * error)
    assert high == pytest.approx(mean + 1.96 * error, abs=0.25 * error)


@pytest.mark.parametrize("values", [[], [0.5]])
def test_fewer_than_two_values_have_no_interval(values):
    assert bootstrap_interval(values) is None


def test_equal_values_have_the_interval_of_their_value():
    assert bootstrap_interval([0.3] * 9) == (0.3, 0.3)


@generated(30)
@given(st.lists(LEVELS | st.floats(0, 1), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_the_interval_is_bounded_by_the_values_and_free_of_their_order(values, random):
    low, high = bootstrap_interval(values, resamples=1_000)
    assert min(values) <= low <= high <= max(values)
    assert bootstrap_interval(random.sample(values, len(values)), resamples=1_000) == (low, high)


@generated(15)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_values_of_any_magnitude_keep_their_scale(shift, scale):
    base_low, base_high = bootstrap_interval(sample(30), resamples=1_000)
    low, high = bootstrap_interval([shift + scale * value for value in sample(30)], resamples=1_000)
    margin = 1e-8 * (abs(shift) + scale)
    assert low == pytest.approx(shift + scale * base_low, abs=margin)
    assert high == pytest.approx(shift + scale * base_high, abs=margin)


@pytest.mark.parametrize("values", [[0.0, 5e-324, 1e-310], [1e308, 2.0, 3.0]])
def test_extreme_values_do_not_break_the_interval(values):
    low, high = bootstrap_interval(values, resamples=1_000)
    assert min(values) <= low <= high <= max(values)


def test_a_sample_has_the_same_interval_alone_and_among_others():
    samples = [sample(40), sample(40, seed=3), sample(25), [1.0, 1.0], [0.5]]
    assert bootstrap_intervals(samples) == tuple(bootstrap_interval(one) for one in samples)


def test_the_interval_is_the_same_in_every_process_and_here():
    code = (
        "from pytest_mapsat.metrics import bootstrap_interval;"
        "print(bootstrap_interval([((p * 7919) % 1009 / 1009) ** 2 for p in range(30)]))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, threads in (("1", "1"), ("2", "4"))
    }
    assert runs == {INTERVAL_OF_THIRTY}


#: Written down once: a change means that published intervals change.
INTERVAL_OF_THIRTY = "(0.23232619108688493, 0.45498228978599203)"


@pytest.mark.parametrize(("passed", "n"), [(0, 5), (5, 5), (1, 2), (37, 50), (1, 500), (340, 500)])
def test_wilson_agrees_with_scipy(passed, n):
    from scipy.stats import binomtest

    oracle = binomtest(passed, n).proportion_ci(method="wilson")
    assert wilson_interval(passed / n, n) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


def test_wilson_of_no_cases_is_none():
    assert wilson_interval(0.0, 0) is None


@given(st.integers(1, 2_000), st.floats(0, 1))
def test_wilson_holds_the_share_and_stays_in_bounds(n, share):
    low, high = wilson_interval(share, n)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1


def test_numpy_is_not_imported_until_an_interval_is_drawn():
    code = "import sys, pytest_mapsat.metrics, pytest_mapsat.gate; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_kappa_with_quadratic_weights_is_worked_out_by_hand():
    # Weights of three ordered categories: 1, three quarters for neighbours, 0. Marginals, in sixths: 3, 1, 2 and 2, 2, 2.
    table = [[2, 0, 1], [0, 1, 0], [0, 1, 1]]
    observed, chance = (2 + 1 + 1 + 3 / 4) / 6, (6 + 2 + 4 + 3 / 4 * (6 + 2 + 2 + 4)) / 36
    assert cohen_kappa(table, quadratic=True) == pytest.approx((observed - chance) / (1 - chance))
    assert cohen_kappa([[3, 0], [1, 2]], quadratic=True) == pytest.approx(cohen_kappa([[3, 0], [1, 2]]))
    assert cohen_kappa([[4]], quadratic=True) is None
