"""What unknown labels leave open: bounds in place of values, of one episode and of means."""

import json

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from metric_builders import METRICS, call, label, make_card, make_case, make_trajectory, make_verdict

from pytest_mapsat.metrics import score, summarise, wilson_interval
from pytest_mapsat.model import Count, Fault, Scorecard, Usage

CASE = make_case(explicit=2, hard=(1,), soft=(1,), facts=2, tools=("a",))
GOOD = {"e1": 1, "e2": 1, "h1": 1, "s1": 1, "f1": 1, "f2": 1}
DEFAULT = frozenset({"hard", "facts"})


def undecided(requirement, why="undecided: 'the mill' may be either", **fields):
    return label(requirement, None, why=why, **fields)


def mark(*unknown, case=CASE, asserted=DEFAULT, trajectory=None, count=None, **values):
    """Score a good answer but for ``values`` and the labels in ``unknown``."""
    labels = {name: label(name, value, "passed" if value else "failed") for name, value in (GOOD | values).items()}
    labels |= {one.requirement: one for one in unknown}
    verdict = make_verdict(list(labels.values()), explicit_count=count)
    return score(case, trajectory or make_trajectory(call("a")), verdict, asserted=asserted)


def test_a_metric_with_an_undecided_label_lies_between_the_label_failed_and_passed():
    card = mark(undecided("e1"), undecided("s1"), undecided("f2"))
    assert {name: card.metrics[name] for name in ("ecr", "iisr", "ar", "ifs", "ses")} == dict.fromkeys(
        ("ecr", "iisr", "ar", "ifs", "ses")
    )
    assert card.bounds == {
        "ecr": (0.5, 1.0),
        "iisr": (0.5, 1.0),
        "ar": (0.25, 1.0),
        "ifs": (0.5, 1.0),
        "ses": (0.25 * 2 / 3, 2 / 3),
    }
    assert {card.classes[name] for name in card.bounds} == {"unevaluated"}
    assert (card.metrics["ts"], card.metrics["eff"]) == (1, 2 / 3)


def test_a_decided_card_has_no_bounds_and_lies_between_its_own_values():
    card = mark()
    assert card.bounds == {}
    assert card.bounds_of("ar") == (1, 1)
    assert card.bounds_of("cei") is None


def test_cei_is_bounded_too_though_it_may_exceed_one():
    spent = make_trajectory(call("a"), usage=Usage(input_tokens=10, output_tokens=10))
    assert mark(undecided("h1"), trajectory=spent).bounds["cei"] == pytest.approx((0.5 * 2 / 60e-6, 2 / 60e-6))


def test_a_label_that_cannot_turn_a_metric_leaves_it_its_value():
    card = mark(undecided("s1"), e1=0, e2=0)
    assert (card.ar, card.ses, card.metrics["iisr"]) == (0, 0, None)
    assert set(card.bounds) == {"iisr"}


def test_a_label_of_a_call_without_a_recording_leaves_the_case_at_its_bounds():
    card = mark(label("h1", None, why="the sandbox had no recording for any call of a", blame="sandbox"))
    assert (card.outcome, card.blame, card.bounds["ar"]) == ("unevaluated", "sandbox", (0.5, 1.0))


def test_a_requirement_without_a_check_leaves_the_case_at_its_bounds():
    card = mark(label("s1", None, why="the requirement has no machine check"))
    assert (card.outcome, card.bounds["ar"]) == ("passed", (0.5, 1.0))


@pytest.mark.parametrize("blame", ["judge", "user", "infrastructure"])
def test_a_label_that_somebody_broke_leaves_no_bounds(blame):
    card = mark(undecided("s1"), label("h1", None, blame=blame))
    assert (card.outcome, card.blame, card.bounds_of("ar")) == ("unevaluated", blame, None)


def test_an_error_label_leaves_no_bounds():
    card = mark(undecided("s1"), label("h1", None, "error"))
    assert (card.classes["ar"], card.bounds_of("ar")) == ("error", None)


def test_a_count_decides_what_undecided_labels_leave_open():
    assert mark(undecided("e1"), count=Count(met=1, total=2)).metrics["ecr"] == 0.5
    assert mark(undecided("e1"), count=Count(met=3, total=3)).bounds["ecr"] == (0.5, 1)


def test_an_item_that_only_undecided_labels_keep_from_passing_is_nobodys_fault():
    card = mark(undecided("h1"), undecided("f1"))
    assert (card.outcome, card.blame, card.unknown) == ("unevaluated", None, ("h1", "f1"))
    assert card.reason == "hard h1 is undecided: 'the mill' may be either (and 1 more)"


def test_a_failed_label_fails_the_item_whatever_is_undecided():
    card = mark(undecided("h1"), f1=0)
    assert (card.outcome, card.blame, card.unknown) == ("failed", "agent", ("h1",))


def test_somebodys_fault_is_told_before_what_nobody_could_decide():
    card = mark(undecided("h1"), label("f1", None, why="the reply is lost", blame="judge"))
    assert (card.blame, card.reason) == ("judge", "facts f1 could not be judged: the reply is lost (and 1 more)")


def test_an_undecided_label_that_is_not_asserted_does_not_touch_the_item():
    card = mark(undecided("s1"))
    assert (card.outcome, card.unknown) == ("passed", ())


def test_an_unevaluated_label_without_that_reason_is_the_judges():
    assert mark(undecided("h1", why="the requirement has no machine check")).blame == "judge"


@pytest.mark.parametrize("asserted", [DEFAULT, frozenset()], ids=["default", "none"])
def test_a_case_without_explicit_and_implicit_requirements_earns_nothing(asserted):
    card = mark(label("f1", 1, nothing_claimed=True), case=make_case(facts=1), asserted=asserted)
    assert (card.outcome, card.blame) == ("unevaluated", "judge")
    assert "neither explicit nor implicit requirements" in card.reason
    assert {name: card.bounds_of(name) for name in ("ecr", "iisr", "ar", "ses")} == dict.fromkeys(
        ("ecr", "iisr", "ar", "ses")
    )
    assert card.metrics["ifs"] == 1


def test_a_silent_agent_scores_zero_in_such_a_case_too():
    card = mark(case=make_case(facts=1), trajectory=make_trajectory(replies=()))
    assert (card.outcome, card.ar) == ("failed", 0)


def test_bounds_survive_the_run_file():
    card = mark(undecided("s1"))
    assert Scorecard.model_validate(json.loads(json.dumps(card.to_json()))) == card


def test_bounds_the_wrong_way_round_are_refused():
    with pytest.raises(ValueError, match="the least, then the most"):
        make_card(bounds={"ar": (0.9, 0.1)})


levels = st.sampled_from([0, 0.25, 0.5, 0.75, 1])
soft_labels = st.lists(st.tuples(st.floats(0, 3), levels, st.booleans()), min_size=1, max_size=5)


@generated(60)
@given(soft_labels, st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_whatever_the_labels_turn_out_to_be_every_metric_lies_within_its_bounds(weighted, explicit, fact):
    case = make_case(explicit=1, soft=[weight for weight, _, _ in weighted], facts=1)
    values = {f"s{place}": value for place, (_, value, _) in enumerate(weighted, 1)} | {"e1": explicit, "f1": fact}
    truth = [label(name, value, "passed" if value else "failed") for name, value in values.items()]
    hidden = {f"s{place}" for place, (_, _, known) in enumerate(weighted, 1) if not known} | {"f1"}
    seen = [undecided(one.requirement) if one.requirement in hidden else one for one in truth]
    full, part = (score(case, make_trajectory(), make_verdict(labels), asserted=DEFAULT) for labels in (truth, seen))
    for name in METRICS:
        bounds, value = part.bounds_of(name), full.metric(name)
        assert (bounds is None) == (value is None)
        assert bounds is None or bounds[0] - 1e-12 <= value <= bounds[1] + 1e-12


def card(case, least, most=None, **fields):
    """A card with AR between two values, or one."""
    if most is None:
        return make_card(case, {"ar": least}, **fields)
    return make_card(case, {"ar": "unevaluated"}, bounds={"ar": (least, most)}, **fields)


def test_a_mean_over_an_undecided_case_is_null_between_its_bounds():
    ar = summarise([card("a", 0.5), card("b", 0.2, 0.8), card("c", 1.0), make_card("d", {"ar": "error"})])["ar"]
    assert (ar.mean, ar.n, ar.undecided, ar.left_out) == (None, 2, 1, {"error": 1})
    assert ar.bounds == pytest.approx((1.7 / 3, 2.3 / 3))


def test_the_bounds_of_a_decided_mean_are_the_mean():
    ar = summarise([card("a", 0.5), card("b", 1.0)])["ar"]
    assert (ar.mean, ar.bounds, ar.undecided) == (0.75, (0.75, 0.75), 0)
    assert summarise([make_card("d", {"ar": "error"})])["ar"].bounds is None


def test_the_trials_of_a_case_are_averaged_by_their_bounds():
    cards = [card("a", 0.5), card("a", 0.1, 0.9, trial=2), make_card("a", {"ar": "error"}, trial=3)]
    ar = summarise(cards)["ar"]
    assert (ar.mean, ar.n, ar.undecided, ar.bounds) == (None, 0, 1, pytest.approx((0.3, 0.7)))


def test_the_interval_reaches_from_the_least_side_to_the_most_side():
    known = [card(str(place), place / 10) for place in range(9)]
    ar = summarise([*known, card("x", 0.0, 1.0)])["ar"]
    assert ar.low == summarise([*known, card("x", 0.0)])["ar"].low
    assert ar.high == summarise([*known, card("x", 1.0)])["ar"].high


def test_the_pass_rate_of_an_undecided_item_is_open():
    unknown = make_card("b", outcome="unevaluated", unknown=("h1",), labels=(undecided("h1"),))
    rate = summarise([make_card("a"), unknown])["pass_rate"]
    assert (rate.mean, rate.n, rate.bounds) == (None, 1, (0.5, 1.0))
    assert (rate.low, rate.high) == (wilson_interval(0.5, 2)[0], 1.0)


def test_the_pass_rate_leaves_out_an_item_that_somebody_broke():
    broken = make_card(
        "b", outcome="unevaluated", blame="judge", unknown=("h1",), labels=(label("h1", None, blame="judge"),)
    )
    assert summarise([make_card("a"), broken])["pass_rate"].left_out == {"unevaluated": 1}


def test_a_fault_of_the_whole_episode_stays_out_of_every_mean():
    broken = mark(trajectory=make_trajectory(replies=(), fault=Fault(blame="user", message="it broke")))
    assert {one.n + one.undecided for one in summarise([broken]).values()} == {0}


@generated(40)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1, max_size=8))
def test_the_mean_of_what_the_cases_turn_out_to_be_lies_within_the_bounds(cases):
    spans = [(min(one, other), max(one, other), at_most) for one, other, at_most in cases]
    cards = [card(str(place), low, high) for place, (low, high, _) in enumerate(spans)]
    ends = [high if at_most else low for low, high, at_most in spans]
    least, most = summarise(cards)["ar"].bounds
    assert least - 1e-12 <= sum(ends) / len(ends) <= most + 1e-12
