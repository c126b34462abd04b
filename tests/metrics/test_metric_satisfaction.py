"""ECR, IISR, AR."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_builders import label, make_case, make_verdict

from pytest_mapsat.metrics import Measure, product
from pytest_mapsat.metrics.metric_set import explicit_completion, implicit_satisfaction, index_labels, read_labels
from pytest_mapsat.model import Count

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)


def readings(case, labels):
    return read_labels(case.truth.requirements, index_labels(make_verdict(labels)))


def ecr(case, labels=(), count=None):
    return explicit_completion(case, readings(case, labels), count)


def iisr(case, labels=()):
    return implicit_satisfaction(case, readings(case, labels))


def test_ecr_is_the_share_of_completed_requirements():
    assert ecr(make_case(explicit=3), {"e1": 1, "e2": 0, "e3": 1}).value == pytest.approx(2 / 3)


def test_a_case_without_requirements_of_one_kind_is_satisfied_in_it():
    assert ecr(make_case(soft=(1,))).value == 1
    assert iisr(make_case(explicit=1)).value == 1


def test_of_a_case_with_neither_kind_nothing_can_be_said():
    for measure in (ecr(make_case(facts=2)), iisr(make_case(facts=2))):
        assert (measure.value, measure.outcome_class, measure.bounds) == (None, "unevaluated", None)


def test_iisr_weighs_each_requirement():
    case = make_case(soft=(0.743, 0.6872))
    assert iisr(case, {"s1": 1, "s2": 0.75}).value == pytest.approx(0.8799, abs=1e-4)


def test_all_weights_zero_is_not_applicable():
    assert iisr(make_case(soft=(0, 0)), {"s1": 1, "s2": 0}).outcome_class == "not_applicable"


def test_a_requirement_of_weight_zero_needs_no_label():
    assert iisr(make_case(soft=(0, 1)), {"s2": 0.5}).value == 0.5


@pytest.mark.parametrize("measure", [ecr, iisr])
def test_one_unknown_label_leaves_the_metric_unevaluated(measure):
    case = make_case(explicit=2, soft=(1, 1))
    found = measure(case, {"e1": 1, "e2": None, "s1": 1, "s2": None})
    assert (found.value, found.outcome_class) == (None, "unevaluated")
    assert "1 of 2 labels" in found.why


def test_a_missing_label_is_unevaluated():
    assert ecr(make_case(explicit=2), {"e1": 1}).outcome_class == "unevaluated"


def test_a_label_that_does_not_apply_leaves_the_denominator():
    labels = [label("e1", 1), label("e2", None, "not_applicable")]
    assert ecr(make_case(explicit=2), labels).value == 1
    assert (
        ecr(make_case(explicit=2), [label("e1", None, "not_applicable"), labels[1]]).outcome_class == "not_applicable"
    )


def test_an_error_label_makes_the_metric_an_error():
    found = iisr(make_case(soft=(1, 1)), [label("s1", None), label("s2", None, "error")])
    assert found.outcome_class == "error"


@pytest.mark.parametrize(
    "unsound",
    [
        label("s1", 0.3, "failed"),
        label("s1", None, "passed"),
        label("s1", 1, "failed"),
        label("h1", 0.5, "failed"),
        label("h1", 0, "passed"),
    ],
    ids=["no level", "no value", "value against outcome", "hard between", "hard against outcome"],
)
def test_an_unsound_label_is_not_rounded_but_unevaluated(unsound):
    case = make_case(soft=(1,)) if unsound.requirement == "s1" else make_case(hard=(1,))
    assert iisr(case, [unsound]).outcome_class == "unevaluated"


def test_labels_that_contradict_each_other_are_unevaluated():
    found = ecr(make_case(explicit=1), [label("e1", 1), label("e1", 0), label("e1", 1)])
    assert (found.outcome_class, "contradicting" in found.why) == ("unevaluated", True)


def test_a_binary_label_without_a_value_counts_by_its_outcome():
    assert ecr(make_case(explicit=2), [label("e1", None, "passed"), label("e2", None, "failed")]).value == 0.5


def test_a_count_stands_in_for_labels_that_are_not_known():
    case = make_case(explicit=3)
    assert ecr(case, {"e1": None}, Count(met=2, total=3)).value == pytest.approx(2 / 3)
    assert ecr(case, {"e1": 1, "e2": 1, "e3": 1}, Count(met=2, total=3)).value == 1


@pytest.mark.parametrize("count", [Count(met=5, total=2), Count(met=1, total=3), Count(met=0, total=0)])
def test_a_count_that_does_not_fit_the_case_is_not_believed(count):
    found = ecr(make_case(explicit=2), {}, count)
    assert found.outcome_class == "unevaluated"
    assert f"{count.met} of {count.total}" in found.why


def test_ar_is_the_product_unrounded():
    assert product(Measure(2 / 3), Measure(0.7)).value == 2 / 3 * 0.7


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ("unevaluated", None, "unevaluated"),
        ("unevaluated", "not_applicable", "not_applicable"),
        ("error", "unevaluated", "error"),
    ],
)
def test_a_product_without_a_requirement_says_why(one, other, wanted):
    pair = [Measure(0.0 if name is None else None, name, "because") for name in (one, other)]
    assert product(*pair).outcome_class == wanted
    assert product(*reversed(pair)).outcome_class == wanted


def test_large_weights_do_not_overflow():
    assert iisr(make_case(soft=(1.5e308, 1.5e308)), {"s1": 1, "s2": 0}).value == 0.5


requirements = st.lists(st.tuples(st.floats(0, 2), st.sampled_from(LEVELS)), min_size=1, max_size=6)


@given(requirements, st.data())
def test_satisfying_one_requirement_more_never_lowers_ar(weighted, data):
    case = make_case(explicit=2, soft=tuple(weight for weight, _ in weighted))
    labels = {f"s{n}": value for n, (_, value) in enumerate(weighted, 1)} | {"e1": 1, "e2": 0}
    raised = data.draw(st.sampled_from(sorted(labels)))
    before = product(ecr(case, labels), iisr(case, labels))
    after = product(ecr(case, labels | {raised: 1}), iisr(case, labels | {raised: 1}))
    if before.value is None:
        assert after.outcome_class == before.outcome_class == "not_applicable"
    else:
        assert 0 <= before.value <= after.value <= 1


@given(requirements, st.randoms(use_true_random=False))
def test_the_order_of_labels_does_not_matter(weighted, random):
    case = make_case(soft=tuple(weight for weight, _ in weighted))
    labels = [label(f"s{n}", value, "passed" if value else "failed") for n, (_, value) in enumerate(weighted, 1)]
    shuffled = random.sample(labels, len(labels))
    assert iisr(case, labels) == iisr(case, shuffled)
