"""Several trials of a case: the pass rule, Avg@k, Pass@k, Pass^k, and which cases are flaky."""

from itertools import combinations

import pytest
from metric_builders import make_card

from pytest_mapsat.metrics import PassRule, case_rows, group, summarise
from pytest_mapsat.metrics.aggregate import pass_all, pass_at
from pytest_mapsat.model import Label, Membership, UsageError

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


def users(**tasks):
    """Cards of users: for each the outcomes of the trials of each task, in the order of the tasks."""
    return [
        card
        for user, many in tasks.items()
        for place, outcomes in enumerate(many, 1)
        for card in trials(f"{user}-{place}", outcomes, group=Membership(name=user, order=place))
    ]


def summary_of_users(cards):
    return {name: mean for name, mean in summarise(cards, users=True).items() if name.startswith("user_")}


@pytest.mark.parametrize(
    "tasks",
    [
        {"ida": ["ppff", "pfpf", "pppf"]},
        {"ida": ["pppf", "pppf"], "max": ["pfff"], "eva": ["pppp", "pppp", "pppp"]},
        {"ida": ["ffff"], "max": ["pppp", "ffpp"]},
    ],
)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_of_users_they_are_the_shares_of_all_draws_of_k_trials_in_which_all_tasks_are_right(tasks, k):
    right = [["f" not in trial for trial in map("".join, zip(*many, strict=True))] for many in tasks.values()]
    draws = [list(combinations(trials_of_user, k)) for trials_of_user in right]
    summary = summary_of_users(users(**tasks))
    expected = sum(sum(map(any, some)) / len(some) for some in draws) / len(draws)
    assert summary[f"user_pass@{k}"].mean == pytest.approx(expected)
    expected = sum(sum(map(all, some)) / len(some) for some in draws) / len(draws)
    assert summary[f"user_pass^{k}"].mean == pytest.approx(expected)
    assert summary["user_pass_rate"].mean == pytest.approx(sum(map(sum, right)) / 4 / len(right))


def test_a_users_trial_is_open_while_one_task_is_and_none_has_failed():
    summary = summary_of_users(users(ida=["pp", "up"], max=["uf", "fp"]))
    assert summary["user_pass_rate"].bounds == (0.25, 0.5)
    assert (summary["user_pass^2"].bounds, summary["user_pass^2"].undecided) == ((0.0, 0.5), 1)


def test_a_task_that_is_missing_in_a_trial_leaves_that_trial_open():
    cards = users(ida=["pp", "pp"])
    summary = summary_of_users([card for card in cards if (card.id, card.trial) != ("ida-2", 2)])
    assert summary["user_pass_rate"].bounds == (0.5, 1.0)


def test_a_user_of_whose_tasks_only_some_ran_is_left_out():
    cards = [card for card in users(ida=["p", "p", "p"], max=["p"]) if card.id != "ida-2"]
    rate = summary_of_users(cards)["user_pass_rate"]
    assert (rate.mean, rate.n, rate.left_out) == (1.0, 1, {"unevaluated": 1})


def test_only_the_first_attempt_of_a_task_counts_for_its_user():
    group_of_ida = Membership(name="ida", order=1)
    again = make_card("ida-1", outcome="passed", trial=1, attempt=2, group=group_of_ida)
    assert summary_of_users([*users(ida=["f"]), again])["user_pass_rate"].mean == 0


def test_cases_that_stand_alone_have_no_users():
    assert summary_of_users(trials("a", "pp")) == {}


def test_groups_are_by_user_and_by_place():
    cards = users(ida=["p"] * 11, max=["f", "p"])
    groups = group(cards)
    assert set(groups["place"]) == {str(place) for place in range(1, 12)}
    assert (groups["place"]["1"]["pass_rate"].mean, groups["place"]["2"]["pass_rate"].mean) == (0.5, 1.0)
    assert groups["group"]["max"]["pass_rate"].mean == 0.5
    assert not any(name.startswith("user_") for means in groups["place"].values() for name in means)


def test_an_attribute_that_is_called_like_our_groups_is_kept_apart():
    card = make_card("a", group=Membership(name="ida", order=1), attributes={"place": "harbour", "preference": "kept"})
    groups = group([card])
    assert list(groups["attribute place"]) == ["harbour"]
    assert list(groups["place"]) == ["1"]
    assert list(groups["preference"]) == ["kept"]
