"""Means over cases, with their denominators, their groups, and what the run used."""

import numpy as np
import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from metric_builders import make_card
from scipy import stats

from pytest_mapsat.metrics import group, summarise, wilson_interval
from pytest_mapsat.model import CallCounts


def test_a_mean_has_its_denominator_and_says_who_is_left_out():
    cards = [
        make_card("a", {"ar": 0.5}),
        make_card("b", {"ar": 1.0}),
        make_card("c", {"ar": "unevaluated"}),
        make_card("d", {"ar": "error"}),
        make_card("e", {"ar": "not_applicable"}),
        make_card("f", {"ar": "unevaluated"}),
    ]
    ar = summarise(cards)["ar"]
    assert (ar.mean, ar.n) == (0.75, 2)
    assert ar.left_out == {"error": 1, "not_applicable": 1, "unevaluated": 2}
    assert 0.5 <= ar.low <= ar.high <= 1.0


def test_of_no_case_there_is_a_pass_rate_without_a_mean():
    summary = summarise([])
    assert {name: (one.mean, one.n, one.low, one.high) for name, one in summary.items()} == {
        "pass_rate": (None, 0, None, None)
    }


def test_a_metric_is_over_the_cases_whose_suite_declares_it():
    summary = summarise(
        [make_card("a", {"ar": 0.5}), make_card("b", {"late": 0.25}), make_card("c", {"late": "error"})]
    )
    assert tuple(summary) == ("ar", "late", "pass_rate")
    assert (summary["ar"].mean, summary["ar"].left_out) == (0.5, {})
    assert (summary["late"].mean, summary["late"].left_out) == (0.25, {"error": 1})


def test_one_case_has_a_mean_but_no_interval():
    ar = summarise([make_card("a", {"ar": 0.5})])["ar"]
    assert (ar.mean, ar.n, ar.low, ar.high) == (0.5, 1, None, None)


def test_the_trials_of_a_case_count_as_one_case():
    cards = [make_card("a", {"ar": value}, trial=trial) for trial, value in enumerate((0.0, 0.0, 0.6), 1)]
    ar = summarise([*cards, make_card("b", {"ar": 1.0})])["ar"]
    assert (ar.mean, ar.n) == (pytest.approx(0.6), 2)


def test_a_case_is_left_out_only_when_no_trial_has_a_value_and_under_the_gravest_class():
    cards = [make_card("a", {"ar": "unevaluated"}), make_card("a", {"ar": 0.4}, trial=2)]
    cards += [make_card("b", {"ar": "not_applicable"}), make_card("b", {"ar": "error"}, trial=2)]
    ar = summarise(cards)["ar"]
    assert (ar.mean, ar.n, ar.left_out) == (0.4, 1, {"error": 1})


def test_the_pass_rate_counts_items_with_wilsons_interval():
    cards = [make_card("a"), make_card("b"), make_card("c", outcome="failed", blame="agent")]
    cards += [make_card("d", outcome="unevaluated", blame="judge"), make_card("e", outcome="error", blame="user")]
    rate = summarise(cards)["pass_rate"]
    assert (rate.mean, rate.n, rate.left_out) == (2 / 3, 3, {"error": 1, "unevaluated": 1})
    assert (rate.low, rate.high) == wilson_interval(2 / 3, 3)


def test_cases_of_one_group_count_as_less_than_as_many_others():
    def cards(grouped):
        return [
            make_card(
                f"{user}{n}",
                {"ar": value},
                outcome="passed" if value else "failed",
                blame=None if value else "agent",
                group={"name": user, "order": n} if grouped else None,
            )
            for user, value in zip("abcdef", (1.0, 0.0, 1.0, 1.0, 0.0, 1.0), strict=True)
            for n in range(5)
        ]

    alone, together = summarise(cards(grouped=False)), summarise(cards(grouped=True))
    for name in ("ar", "pass_rate"):
        assert alone[name].mean == pytest.approx(together[name].mean)
        width, wider = (one[name].high - one[name].low for one in (alone, together))
        assert 1.5 * width < wider <= 1


def test_the_interval_of_clustered_cases_is_that_of_their_clusters():
    random = np.random.default_rng(7)
    means = random.uniform(0.2, 0.8, 40)
    values = np.clip(means[:, None] + random.normal(0, 0.05, (40, 5)), 0, 1)
    cards = [
        make_card(f"c{kind}-{n}", {"ar": float(value)}, attributes={"kind": f"k{kind}"}, cluster="kind")
        for kind, row in enumerate(values)
        for n, value in enumerate(row)
    ]
    ar = summarise(cards)["ar"]
    error = values.mean(axis=1).std(ddof=1) / np.sqrt(40)
    quantile = stats.t.ppf(0.975, 39)
    assert (ar.n, ar.mean) == (200, pytest.approx(values.mean()))
    assert (ar.low, ar.high) == pytest.approx(
        (ar.mean - quantile * error, ar.mean + quantile * error), abs=0.15 * error
    )
    alone = summarise([card.model_copy(update={"cluster": ""}) for card in cards])["ar"]
    assert alone.high - alone.low < 0.6 * (ar.high - ar.low)


def test_a_case_without_the_attribute_is_drawn_by_itself():
    cards = [make_card(f"c{n}", {"ar": n % 3 / 2}, cluster="kind") for n in range(12)]
    assert summarise(cards) == summarise([card.model_copy(update={"cluster": ""}) for card in cards])


def test_an_error_of_the_agent_is_no_excuse():
    assert summarise([make_card(outcome="error", blame="agent")])["pass_rate"].mean == 0


def test_a_case_of_two_domains_counts_in_each():
    cards = [
        make_card("a", {"ar": 1.0}, domains=("search", "navigation"), attributes={"difficulty": "L2"}),
        make_card("b", {"ar": 0.0}, domains=("search",), attributes={"requirement_source": "context, profile"}),
    ]
    groups = group(cards)
    assert {name: one["ar"].mean for name, one in groups["domain"].items()} == {"navigation": 1.0, "search": 0.5}
    assert groups["difficulty"]["L2"]["ar"].n == 1
    assert list(groups["requirement_source"]) == ["context", "profile"]


def test_cases_are_grouped_by_the_tools_that_were_called():
    calls = CallCounts(total=3, by_tool={"a": 2, "b": 1})
    groups = group([make_card("a", {"ts": 0.5}, calls=calls), make_card("b", {"ts": 1.0})])
    assert {name: one["ts"].mean for name, one in groups["tool"].items()} == {"a": 0.5, "b": 0.5}


def test_an_attribute_never_mixes_with_our_dimension_of_the_same_name():
    groups = group([make_card("a", {"ar": 1.0}, domains=("search",), attributes={"domain": "other"})])
    assert (list(groups["domain"]), list(groups["attribute domain"])) == (["search"], ["other"])


def test_no_cards_have_no_groups():
    assert group([]) == {}


cards_strategy = st.lists(
    st.builds(
        make_card,
        st.sampled_from(["a", "b", "c", "d", "e"]),
        st.fixed_dictionaries({"ar": st.floats(0, 1) | st.sampled_from(["unevaluated", "error"])}),
        st.sampled_from(["passed", "failed", "unevaluated"]),
        domains=st.sampled_from([(), ("search",), ("navigation", "search")]),
        trial=st.integers(1, 3),
    ),
    max_size=12,
)


@generated(40)
@given(cards_strategy, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_every_case_is_counted_once(cards, random):
    summary = summarise(cards)
    shuffled = random.sample(cards, len(cards))
    assert summarise(shuffled) == summary
    assert group(shuffled) == group(cards)
    assert list(group(shuffled)) == list(group(cards))
    cases = len({card.id for card in cards})
    for one in (summary[name] for name in ("ar", "pass_rate") if cards):
        assert one.n + sum(one.left_out.values()) == cases
        assert (one.mean is None) == (one.n == 0)
        assert one.mean is None or 0 <= one.mean <= 1
