"""Several trials of a case: the pass rule, Avg@k, Pass@k, Pass^k, and which cases are flaky."""

from itertools import combinations

import pytest
from metric_builders import make_card

from pytest_mapsat.metrics import PassRule, case_rows, pass_all, pass_at, summarise
from pytest_mapsat.model import Label, UsageError

OPEN = {
    "unknown": ("h1",),
    "labels": (Label(requirement="h1", kind="hard", outcome="unevaluated", why="undecided: x"),),
}


def trials(case, *outcomes, **fields):
    """Cards of one case, a letter a trial: p passed, f failed, u undecided, e an error of the user."""
    names = {"p": "passed", "f": "failed", "u": "unevaluated", "e": "error"}
    return [
        make_card(
            case,
            outcome=names[letter],
            blame={"f": "agent", "e": "user"}.get(letter),
            trial=trial,
            **(OPEN if letter == "u" else {}),
            **fields,
        )
        for trial, letter in enumerate("".join(outcomes), 1)
    ]


@pytest.mark.parametrize(("passed", "n"), [(0, 4), (1, 4), (3, 5), (5, 5)])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_pass_at_k_and_pass_all_k_are_the_shares_of_all_draws_of_k_trials(passed, n, k):
    draws = list(combinations([True] * passed + [False] * (n - passed), k))
    assert pass_at(passed, n, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_all(passed, n, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_the_summary_has_them_for_each_case_then_averaged():
    summary = summarise([*trials("a", "ppf"), *trials("b", "fff")])
    assert [name for name in summary if name.startswith("pass")] == [
        "pass_rate",
        "pass@2",
        "pass^2",
        "pass@3",
        "pass^3",
    ]
    assert summary["pass_rate"].mean == pytest.approx(1 / 3)
    assert summary["pass@2"].mean == pytest.approx(0.5)
    assert summary["pass^2"].mean == pytest.approx(1 / 6)
    assert (summary["pass@3"].mean, summary["pass^3"].mean) == (0.5, 0)


def test_one_trial_has_none_and_fewer_trials_than_k_are_left_out():
    assert "pass@2" not in summarise(trials("a", "p"))
    summary = summarise([*trials("a", "pp"), *trials("b", "p")])
    assert (summary["pass^2"].mean, summary["pass^2"].n, summary["pass^2"].left_out) == (1.0, 1, {"unevaluated": 1})


def test_of_many_trials_powers_of_two_and_the_last_are_told():
    names = [name for name in summarise(trials("a", "p" * 11)) if name.startswith("pass@")]
    assert names == ["pass@2", "pass@4", "pass@8", "pass@11"]


def test_a_trial_that_nobody_could_decide_leaves_them_between_bounds():
    one = summarise(trials("a", "pu"))
    assert (one["pass@2"].mean, one["pass^2"].mean, one["pass^2"].bounds) == (1.0, None, (0.0, 1.0))


def test_a_rerun_does_not_make_the_agent_look_better_and_is_named():
    again = make_card("a", outcome="passed", trial=1, attempt=2)
    cards = [*trials("a", "ff"), again]
    assert summarise(cards)["pass@2"].mean == 0
    (row,) = case_rows(cards)
    assert (row.outcome, row.passed, row.trials, row.reruns, row.flaky) == ("failed", 1, 2, 1, True)


@pytest.mark.parametrize(
    ("outcomes", "rule", "outcome", "flaky"),
    [
        ("pppf", "3/4", "passed", True),
        ("pppf", "", "failed", True),
        ("ppff", "3/4", "failed", True),
        ("pppp", "4/4", "passed", False),
        ("ppuf", "3/4", "unevaluated", True),
        ("ffuu", "3/4", "failed", False),
        ("pppu", "3/4", "passed", False),
        ("e", "", "unevaluated", False),
        ("ff", "1/2", "failed", False),
    ],
)
def test_a_case_is_one_row_and_ends_under_the_pass_rule(outcomes, rule, outcome, flaky):
    (row,) = case_rows(trials("a", outcomes), rule)
    assert (row.outcome, row.flaky) == (outcome, flaky)


def test_the_row_tells_of_the_trial_that_says_why():
    (row,) = case_rows(trials("a", "pfpf"), "3/4")
    assert (row.told.trial, row.told.outcome) == (2, "failed")


@pytest.mark.parametrize("text", ["4/3", "0/2", "3", "3/x", "-1/2", "3/4 ", "1/2/3"])
def test_a_pass_rule_that_cannot_be_read_is_an_error(text):
    with pytest.raises(UsageError, match="expected K/N"):
        PassRule.parse(text, 4)


def test_a_pass_rule_is_about_the_trials_that_there_are():
    with pytest.raises(UsageError, match="is about 4 trials, the run has 2"):
        PassRule.parse("3/4", 2)
    assert PassRule.parse("", 3) == PassRule(3, 3)
