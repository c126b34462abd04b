"""ar=0.65@95: a threshold that asks the interval, and thresholds on Pass@k."""

import pytest
from gate_runs import card, label

from pytest_mapsat.gate import Coverage, decide, parse_drops, parse_thresholds
from pytest_mapsat.model import Membership, UsageError


def judged(cards, *texts, **coverage):
    cases = {one.id for one in cards}
    whole = Coverage(selected=len(cases), **coverage)
    return decide(cards, parse_thresholds(texts), coverage=whole, excused=cases)


def spread(count):
    return [card(f"c{n:03}", 0.5 + n % 5 / 10) for n in range(count)]


def test_a_sure_threshold_holds_above_the_interval_fails_below_and_is_inconclusive_between():
    cards = spread(40)  # mean 0.7, interval about 0.66 to 0.74
    assert judged(cards, "ar=0.69").outcome == "passed"
    sure = judged(cards, "ar=0.65@95")
    assert (sure.outcome, sure.thresholds) == ("passed", ("ar>=0.65@95",))
    assert sure.reasons[0].startswith("ar 0.7000 is surely at least 0.65 (the 95 % interval 0.65")
    between = judged(cards, "ar=0.69@95")
    assert between.outcome == "inconclusive"
    assert "is not surely at least 0.69" in between.reasons[0]
    assert "more cases make the interval narrower" in between.reasons[0]
    assert judged(cards, "ar=0.76@95").outcome == "failed"
    assert judged(cards, "ar=0.68@60").outcome == "passed"
    assert judged(spread(1), "ar=0.1@95").outcome == "inconclusive"


def test_open_labels_widen_what_must_be_sure():
    cards = [*spread(39), card("open", (0.0, 1.0), labels=(label("z", "unevaluated"),))]
    gate = judged(cards, "ar=0.67@95")
    assert gate.outcome == "inconclusive"
    assert any("mapsat review" in reason for reason in gate.reasons)


def test_pass_at_k_may_be_gated_where_trials_ran():
    cards = [card(f"c{n}", trial=t, outcome="failed" if t == 1 else "passed") for n in range(3) for t in (1, 2)]
    assert judged(cards, "pass@2=1").outcome == "passed"
    assert judged(cards, "pass^2=0.5").outcome == "failed"
    few = judged(spread(3), "pass^2=0.5")
    assert (few.outcome, few.reasons[0]) == (
        "inconclusive",
        "pass^2 is undecided: no case ran as many trials as pass^2 needs",
    )


def test_users_may_be_gated_where_cases_stand_in_sequences():
    # Of two users one has a task that fails in the first of two trials.
    cards = [
        card(
            f"{user}-{place}",
            trial=trial,
            outcome="failed" if (user, place, trial) == ("ida", 2, 1) else "passed",
            group=Membership(name=user, order=place),
        )
        for user in ("ida", "max")
        for place in (1, 2)
        for trial in (1, 2)
    ]
    assert judged(cards, "user_pass_rate=0.75", "user_pass@2=1", "user_pass^2=0.5").outcome == "passed"
    assert judged(cards, "user_pass_rate=0.76").outcome == "failed"
    assert judged(cards, "user_pass^2=0.51").outcome == "failed"
    alone = judged(spread(3), "user_pass_rate=0.5")
    assert (alone.outcome, alone.reasons[0]) == (
        "inconclusive",
        "user_pass_rate is undecided: no case is part of a user's sequence of tasks",
    )


def test_a_shard_leaves_the_whole_to_merge():
    gate = judged(spread(3), "ar=0.99", partial=("shard 2/8",), shard="2/8", total=30)
    assert gate.outcome == "passed"
    assert gate.reasons[0].startswith("ar is left to mapsat merge: this is shard 2/8")


@pytest.mark.parametrize("text", ["ar=0.6@", "ar=0.6@x", "ar=0.6@100", "ar=0.6@49", "ar=0.6@nan", "ar@95", "pass@=1"])
def test_a_level_that_cannot_be_is_an_error(text):
    with pytest.raises(UsageError, match="--mapsat-fail-under: "):
        parse_thresholds([text])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ar", "expected METRIC:NUMBER like ar:0.02"),
        ("ar:2", "expected a number from 0 to 1"),
        ("ar:-0.1", "expected a number from 0 to 1"),
        ("cei:0.1", "cei is given for reference only"),
        ("arr:0.1", "did you mean 'ar'?"),
        (".ar:0.1", "names no domain before the dot"),
        ("ar:0.1,,", "found nothing between the commas"),
        ("ar:0.1,ar:0.2", "ar is given twice, as 0.1 and 0.2"),
        ("pass^2:0.1", "no metric 'pass^2'"),
    ],
)
def test_a_drop_that_cannot_be_read_is_an_error(text, told):
    with pytest.raises(UsageError) as raised:
        parse_drops([text])
    assert told in str(raised.value)
