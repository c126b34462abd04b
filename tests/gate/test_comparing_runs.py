"""Two runs side by side: what got worse, how sure that is, what would settle it, and what cannot be compared."""

import random
from itertools import permutations

import pytest
from gate_runs import SUITE, card, compared, label, side

from pytest_mapsat.gate import Side, compare, false_alarms, parse_drops
from pytest_mapsat.model import Lost, Trajectory, UsageError


def suite_of(count=30, domains=("navigation", "search", "realtime")):
    return [card(f"c{n:03}", 0.5 + n % 5 / 10, domains=(domains[n % len(domains)],)) for n in range(count)]


def worse_in(cards, domain, by=0.4):
    return [
        card(
            one.id,
            max(0.0, one.ar - by),
            domains=one.domains,
            outcome="failed",
            blame="agent",
            labels=(label("open", "failed", "closed shop"),),
        )
        if domain in one.domains
        else one
        for one in cards
    ]


@pytest.mark.parametrize(("cluster", "outcome"), [("", "failed"), ("kind", "inconclusive")])
def test_cases_of_one_cluster_that_fall_together_are_one_piece_of_evidence(cluster, outcome):
    def run(of_kind):
        kinds = [n % 6 for n in range(60)]
        fields = [{"attributes": {"kind": f"k{kind}"}, "cluster": cluster} for kind in kinds]
        return [card(f"c{n:03}", 0.8 - (kinds[n] == of_kind) * 0.3, **fields[n]) for n in range(60)]

    assert compared(run(None), run(0), "ar:0").outcome == outcome


def test_the_same_run_twice_is_the_same_everywhere_and_passes_even_without_any_room():
    found = compared(suite_of(), suite_of(), "ar:0", "pass_rate:0", "search.ar:0")
    assert (found.outcome, found.cases, found.flips) == ("passed", (), (0, 0))
    assert {change.direction for change in found.changes} == {"same"}
    assert found.reasons[0] == "ar 0.700 -> 0.700: no difference in 30 cases"
    assert compared([card("one")], [card("one")], "ar:0").outcome == "passed"


def test_a_regression_in_one_domain_fails_and_names_domain_requirement_and_cases():
    baseline = [one.model_copy(update={"labels": (label("open", "passed", "open shop"),)}) for one in suite_of()]
    found = compared(baseline, worse_in(baseline, "search"), "ar:0.02")
    assert found.outcome == "failed"
    rule, flips = found.rules
    assert flips.reason == "10 cases passed before and fail now (allowed: 0): c001, c004, c007 and 7 more"
    assert rule.reason == ("ar 0.700 -> 0.567 fell by more than 0.02: -0.133 (10 of 30 cases differ; p < 0.001)")
    assert found.where == ("search: 10 of 10 cases got worse (c001, c004, c007 ...); requirements: open",)
    changed = {(one.group, one.metric): one.direction for one in found.changes}
    assert changed["", "ar"] == changed["search", "ar"] == "worse"
    assert changed["navigation", "ar"] == "same"
    first = found.cases[0]
    assert (first.direction, first.flipped, first.baseline.outcome, first.new.outcome) == (
        "worse",
        True,
        "passed",
        "failed",
    )
    (requirement,) = first.requirements
    assert (requirement.direction, requirement.baseline_quotes[0].text, requirement.new_quotes[0].text) == (
        "worse",
        "open shop",
        "closed shop",
    )
    assert found.flips == (10, 0)


def test_a_domain_alone_is_held_against_its_own_drop():
    baseline = suite_of()
    new = [one.model_copy(update={"outcome": "passed", "blame": None}) for one in worse_in(baseline, "search", by=0.1)]
    found = compared(baseline, new, "ar:0.06", "search.ar:0.05", "navigation.ar:0.05")
    assert [rule.outcome for rule in found.rules] == ["passed", "failed", "passed"]
    assert found.outcome == "failed"


def test_an_improvement_is_told_and_passes():
    baseline = worse_in(suite_of(), "search")
    found = compared(baseline, suite_of(), "ar:0")
    assert (found.outcome, found.flips) == ("passed", (0, 10))
    assert {one.direction for one in found.cases} == {"better"}


def noisy(seed, count=60, trials=1, fall=0.0):
    rng = random.Random(seed)
    return [
        card(f"c{n:03}", min(1.0, max(0.0, 0.3 + n % 60 / 100 - fall + rng.gauss(0, 0.2))), trial=trial)
        for n in range(count)
        for trial in range(1, trials + 1)
    ]


def test_a_sampled_rule_that_cannot_be_told_is_inconclusive_and_says_what_would_settle_it():
    found = compared(noisy(1), noisy(11, fall=0.05), "ar:0.03@sampled")
    (rule,) = found.rules
    assert (found.outcome, rule.outcome) == ("inconclusive", "inconclusive")
    assert rule.low < -0.03 < rule.high
    assert rule.cases > 60
    assert f"about {rule.cases} cases like these would settle" in rule.settle[0]
    assert "beyond the allowed one is seen four times in five" in rule.settle[1]
    assert 0.05 < rule.smallest < 0.2


def test_so_many_cases_as_it_asks_for_do_settle_it():
    (rule,) = compared(noisy(1), noisy(11, fall=0.1), "ar:0.05@sampled").rules
    (enough,) = compared(
        noisy(3, count=3 * rule.cases), noisy(4, count=3 * rule.cases, fall=0.1), "ar:0.05@sampled"
    ).rules
    assert (rule.outcome, enough.outcome) == ("inconclusive", "failed")


def test_a_few_cases_that_all_fell_are_no_proof():
    baseline = [card(f"c{n}", 1.0) for n in range(3)]
    (rule,) = compared(baseline, [card(f"c{n}", 0.0) for n in range(3)], "ar:0.02").rules
    assert rule.outcome == "inconclusive"
    assert "p = 0.125" in rule.reason
    six = compared([card(f"c{n}", 1.0) for n in range(6)], [card(f"c{n}", 0.0) for n in range(6)], "ar:0.02")
    assert six.outcome == "failed"


def test_labels_undecided_alike_cancel_and_others_leave_bounds():
    same = compared(
        [card("a", (0.0, 1.0), dialogue="d"), card("b", 0.5)],
        [card("a", (0.0, 1.0), dialogue="d"), card("b", 0.5)],
        "ar:0",
    )
    assert same.outcome == "passed"
    other = compared([card("a", (0.2, 1.0), dialogue="d")], [card("a", (0.0, 1.0), dialogue="e")], "ar:0")
    (rule,) = other.rules
    assert (rule.outcome, rule.difference) == ("inconclusive", (-1.0, 0.8))
    assert "undecided in one run only" in rule.settle[0]
    silent = compared([card("a", (0.0, 1.0))], [card("a", (0.0, 1.0))], "ar:0")
    assert silent.rules[0].difference == (-1.0, 1.0)


def test_an_undecided_dialogue_counts_as_often_as_it_stands_in_one_run_more_than_in_the_other():
    baseline = [card("a", (0.0, 1.0), dialogue="d", trial=1), card("a", 0.5, trial=2)]
    new = [card("a", (0.0, 1.0), dialogue="d", trial=trial) for trial in (1, 2)]
    (rule,) = compared(baseline, new, "ar:0").rules
    assert rule.difference == (-0.25, 0.25)


def test_a_regression_that_holds_whatever_open_labels_turn_out_to_be_fails():
    baseline = [card(f"c{n}", 0.9) for n in range(12)]
    new = [card(f"c{n}", (0.1, 0.3), dialogue="x") for n in range(12)]
    assert compared(baseline, new, "ar:0.02").outcome == "failed"


def test_several_drops_need_wider_intervals_than_one():
    baseline, new = noisy(1), noisy(2)
    (alone,) = compared(baseline, new, "ar:0.02@sampled").rules
    rate = [one.model_copy(update={"outcome": random.Random(one.id).choice(["passed", "failed"])}) for one in new]
    both = compared(baseline, rate, "ar:0.02@sampled", "pass_rate:0.02@sampled").rules[0]
    assert both.low < alone.low < alone.high < both.high


def test_trials_of_one_case_are_one_case_and_a_flaky_requirement_says_how_often_it_held():
    baseline = [card("a", 1.0, trial=t, labels=(label("z", "passed"),)) for t in (1, 2, 3)]
    new = [card("a", 1.0 - t // 3, trial=t, labels=(label("z", "failed" if t == 3 else "passed"),)) for t in (1, 2, 3)]
    found = compared(baseline, new)
    (changed,) = found.cases
    assert (found.pairs, changed.requirements[0].baseline_trials, changed.requirements[0].new_trials) == (
        1,
        (3, 3),
        (2, 3),
    )


def test_a_label_that_nobody_could_decide_is_neither_better_nor_worse():
    new = card("a", (0.0, 1.0), labels=(label("z", "unevaluated"),), outcome="unevaluated", unknown=("z",))
    (changed,) = compared([card("a", 1.0, labels=(label("z", "passed"),))], [new]).cases
    assert (changed.direction, changed.flipped, changed.requirements[0].direction) == ("unclear", False, "unclear")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"user": "silent"}, "user: baseline scripted, new silent"),
        ({"judge": {"spec": "recorded:x"}}, "judge: baseline checks, new recorded:x"),
        ({"prompts": {"judge": "2 abcd"}}, "prompt judge: baseline none, new 2 abcd"),
        ({"options": {"max_turns": 3}}, "max-turns: baseline 10, new 3"),
        ({"unfinished": "stopped"}, "end: baseline a whole run, new stopped"),
    ],
)
def test_runs_of_different_kinds_are_refused_with_what_differs_even_for_their_common_part(fields, told):
    found = compare(side([card("a")]), side([card("a")], **fields), parse_drops(["ar:0"]), common=True)
    assert not found.comparable
    assert found.outcome == "invalid"
    assert found.reasons[0] == f"the runs cannot be compared: {told}"
    assert found.rules == found.changes == ()


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (side([card("a"), card("b")], versions={"pytest-mapsat": "2"}), "version of pytest-mapsat: baseline 1, new 2"),
        (
            side([card("a"), card("b")], suites=(SUITE.model_copy(update={"fingerprint": "g"}),)),
            "suite s: baseline version 1",
        ),
        (side([card("a"), card("c")]), "cases: baseline 2, of them only here b, new 2, of them only here c"),
        (side([card("a"), card("b", stamp="other")]), "changed cases: baseline b"),
        (side([card("a")], lost=(Lost(id="b", reason="x"),)), "lost cases: baseline 0, new 1 (b)"),
        (
            side([card("a"), card("b", None, outcome="error", blame="infrastructure")]),
            "lost cases: baseline 0, new 1 (b)",
        ),
        (side([card("a"), card("b", None, outcome="unevaluated", blame="judge")]), "lost cases: baseline 0, new 1 (b)"),
    ],
)
def test_runs_that_differ_in_part_are_compared_on_the_common_part_when_asked(new, told):
    baseline = side([card("a"), card("b")])
    refused = compare(baseline, new, parse_drops(["ar:0"]))
    assert not refused.comparable
    assert (refused.outcome, refused.rules) == ("invalid", ())
    assert any(told in reason for reason in refused.reasons)
    assert "mapsat compare --common" in refused.reasons[-1]
    found = compare(baseline, new, parse_drops(["ar:0"]), common=True)
    assert (found.comparable, found.outcome) == (True, "passed")
    assert any(told in warning for warning in found.warnings)
    assert found.pairs == (2 if "version" in told else 1)


def test_a_part_of_the_suite_leaves_what_it_cannot_tell_undecided():
    found = compare(
        side(suite_of()),
        side(suite_of()[::3], partial=True),
        parse_drops(["ar:0", "navigation.ar:0"]),
        covers=lambda domain: domain == "navigation",
    )
    assert [rule.rule for rule in found.rules] == ["navigation.ar:0"]
    assert (found.outcome, found.pairs) == ("passed", 10)


def test_a_drop_of_what_no_case_has_is_undecided():
    found = compared([card("a")], [card("a")], "ses:0.1", "seach.ar:0.1")
    assert [rule.reason for rule in found.rules] == [
        "ses is undecided: no case has ses in both runs",
        "seach.ar is undecided: the runs share no case of domain 'seach'",
    ]


def runs_of(passes, *, agent_source="", agent_build="", **fields):
    """A run from the passes of each case's trials: ``{"a": "110"}`` passed twice and failed once."""
    cards = [
        card(
            case,
            float(mark),
            trial=place,
            outcome="passed" if mark == "1" else "failed",
            blame=None if mark == "1" else "agent",
            **fields,
        )
        for case, marks in passes.items()
        for place, mark in enumerate(marks, 1)
    ]
    return side(cards, agent_source=agent_source, agent_build=agent_build)


def against(baseline, new, *drops):
    return compare(baseline, new, parse_drops(drops))


def test_trials_are_dealt_out_within_each_case_so_that_an_easy_case_weighs_as_one():
    from scipy.stats import permutation_test

    baseline = {"a": "11111111", "b": "11110111", "c": "00000001"}
    new = {"a": "10010011", "b": "01110100", "c": "00000000"}
    (rule,) = against(runs_of(baseline), runs_of(new), "ar:0.02").rules
    assert rule.outcome == "failed"
    (alone,) = against(runs_of({"a": baseline["a"]}), runs_of({"a": new["a"]}), "ar:0.02").rules
    oracle = permutation_test(
        ([1.0] * 8, [float(mark) for mark in new["a"]]),
        lambda x, y: sum(y) / len(y) - sum(x) / len(x),
        permutation_type="independent",
        n_resamples=20_000,
        alternative="less",
    )
    assert alone.p == pytest.approx(oracle.pvalue, abs=0.005)
    assert rule.p < alone.p


def test_a_fall_that_chance_explains_is_inconclusive_and_says_what_would_have_been_seen():
    baseline, new = {f"c{n}": "1101" for n in range(6)}, {f"c{n}": "1001" if n < 2 else "1101" for n in range(6)}
    found = against(runs_of(baseline), runs_of(new), "ar:0.02")
    (rule,) = found.rules
    assert (found.varies, rule.outcome, found.inconclusive) == (True, "inconclusive", "pass")
    assert "fell by more than 0.02, which may be chance: -0.083 (2 of 6 cases differ; " in rule.reason
    assert rule.settle[0].startswith(
        f"a drop of {rule.smallest:.3f} would have been seen four times in five with 4 trials"
    )
    assert (
        rule.settle[1]
        == "to see a drop of 0.02 so often takes more than 64 trials of each case: allow more, or add cases"
    )


@pytest.mark.parametrize(
    ("before", "after", "drop", "seen", "trials"),
    [
        # A case of 3 of 4 passes has the variance 1/4: sqrt(6 * (1/4/4 + 1/4/4)) / 6 = 0.1443 is the error of the mean.
        ("1101", "1101", "0.02", 2.487 * 0.14434, 64),
        ("1101", "1101", "0.3", 0.3 + 0.842 * 0.14434, 6),
        ("1101", "0101", "0.3", 0.3 + 0.842 * 0.14434, 6),
        ("1101", "1101", "0", 2.487 * 0.14434, None),
        # Half as many trials in the new run: sqrt(6 * (1/4/4 + 1/4/2)) / 6 = 0.17678, and both are worth 2 / (1/4 + 1/2) trials.
        ("1101", "11", "0.3", 0.3 + 0.842 * 0.17678, 6),
        # The earlier run alone says how its agent varies, but where it has one trial.
        ("1111", "1101", "0.3", None, None),
        ("1", "1101", "0.3", 2.487 * 0.22822, 6),
    ],
)
def test_the_drop_that_would_have_been_seen_and_the_trials_that_see_the_rules_own(before, after, drop, seen, trials):
    runs = (runs_of({f"c{n}": marks for n in range(6)}) for marks in (before, after))
    rule = against(*runs, f"ar:{drop}").rules[0]
    assert rule.smallest == (seen and pytest.approx(seen, rel=1e-3))
    assert rule.trials == trials


def test_where_chance_may_have_made_the_fall_as_many_trials_as_see_it_are_asked_for_and_no_fewer():
    def settle(drop):
        baseline, new = ({f"c{n}": marks for n in range(6)} for marks in ("1101", "0101"))
        return against(runs_of(baseline), runs_of(new), f"ar:{drop}").rules[0].settle

    assert settle("0.3")[-1] == "to see a drop of 0.3 so often takes about 6 trials of each case (--mapsat-trials=6)"
    assert len(settle("0.36")) == 1  # four trials are enough


def test_of_a_case_that_failed_the_reason_is_told_and_of_one_that_passed_none():
    failed = card("a", 0.0, outcome="failed", blame="agent", reason="the shop is closed")
    (case,) = compared([card("a", 1.0, reason="a note")], [failed]).cases
    assert (case.baseline.reason, case.new.reason) == ("", "the shop is closed")
    assert (case.baseline.passed, case.baseline.trials, case.new.passed, case.new.trials) == (1, 1, 0, 1)


def test_a_requirement_is_told_by_the_labels_that_show_how_it_changed():
    def run(*outcomes):
        return [
            card("a", 0.5, trial=trial, labels=(label("z", outcome, f"words {trial}"),))
            for trial, outcome in enumerate(outcomes, 1)
        ]

    for before, after, direction, told, quoted in (
        (("failed", "passed", "unevaluated"), ("passed", "failed", "failed"), "unclear", ("passed", "failed"), (2, 2)),
        (("passed", "passed"), ("passed", "failed"), "worse", ("passed", "failed"), (1, 2)),
        (("failed", "passed"), ("passed", "passed"), "better", ("failed", "passed"), (1, 1)),
        (("passed", "unevaluated"), ("failed", "failed"), "worse", ("passed", "failed"), (1, 1)),
        (("unevaluated", "failed"), ("passed", "passed"), "better", ("failed", "passed"), (2, 1)),
    ):
        (case,) = compared(run(*before), run(*after)).cases
        (changed,) = case.requirements
        assert (changed.direction, changed.baseline, changed.new) == (direction, *told)
        quotes = (changed.baseline_quotes[0].text, changed.new_quotes[0].text)
        assert quotes == (f"words {quoted[0]}", f"words {quoted[1]}")
        assert changed.baseline_trials == (before.count("passed"), len(before))
        assert changed.new_trials == (after.count("passed"), len(after))


def test_domains_and_requirements_that_got_worse_are_told_the_most_first_and_a_few_by_name():
    def run(outcome, requirements):
        return [
            card(
                f"{domain}{n}",
                float(outcome == "passed"),
                domains=(domain,) if domain != "none" else (),
                outcome=outcome,
                blame=None if outcome == "passed" else "agent",
                labels=tuple(label(f"r{at}", outcome if at <= n else "passed") for at in range(requirements)),
            )
            for domain, count in (("a", 1), ("b", 5), ("none", 2))
            for n in range(count)
        ]

    found = compared(run("passed", 5), run("failed", 5), "ar:0.02")
    assert found.where == (
        "b: 5 of 5 cases got worse (b0, b1, b2 ...); requirements: r0, r1, r2 ...",
        "no domain: 2 of 2 cases got worse (none0, none1); requirements: r0, r1",
        "a: 1 of 1 case got worse (a0); requirements: r0",
    )


def test_a_case_tells_its_mean_in_each_run_at_its_bounds():
    before = [card("a", 1.0), card("a", 0.5, trial=2)]
    after = [card("a", (0.2, 0.6), dialogue="x"), card("a", 0.4, trial=2)]
    (case,) = compared(before, after).cases
    assert case.baseline.metrics["ar"] == (0.75, 0.75)
    assert case.new.metrics["ar"] == pytest.approx((0.3, 0.5))
    assert "ses" not in case.new.metrics


def test_one_case_that_did_not_move_passes_a_sampled_rule_and_one_that_fell_a_little_settles_none():
    for after, outcome in ((0.9, "passed"), (0.89, "inconclusive"), (0.1, "inconclusive")):
        for drop in ("0.02", "0"):
            (rule,) = compared([card("a", 0.9)], [card("a", after)], f"ar:{drop}@sampled").rules
            assert rule.outcome == outcome


def test_a_changed_case_is_named_by_its_first_trial():
    (case,) = compared([card("a", 0.9)] * 2, [card("a", 0.1, nodeid=name) for name in ("first", "second")]).cases
    assert case.nodeid == "first"


def test_a_difference_that_is_open_on_both_sides_of_nothing_is_unclear_however_many_cases_have_it():
    baseline = [card(f"c{n:02}", 0.5) for n in range(30)]
    for least, most, direction in (
        (0.4, 1.0, "unclear"),
        (0.0, 0.6, "unclear"),
        (0.0, 0.4, "worse"),
        (0.6, 1.0, "better"),
    ):
        new = [card(f"c{n:02}", (least, most), dialogue=f"d{n}") for n in range(30)]
        (change, *_) = compared(baseline, new).changes
        assert (change.direction, change.p == 1) == (direction, direction == "unclear")


@pytest.mark.long_proof(in_turn=True)
def test_so_many_trials_as_it_asks_for_see_a_drop_as_large_as_the_rule():
    generator = random.Random(4)

    def run(trials, chance):
        return runs_of({f"c{n}": "".join("01"[generator.random() < chance] for _ in range(trials)) for n in range(10)})

    (rule,) = against(run(4, 0.8), run(4, 0.8), "ar:0.1").rules
    seen = [against(run(rule.trials, 0.8), run(rule.trials, 0.6), "ar:0.1").outcome for _ in range(5)]
    assert 15 < rule.trials < 40
    assert seen.count("failed") >= 4  # twice as large a drop


def test_one_trial_of_an_agent_that_varies_is_said_to_be_too_few():
    baseline = runs_of({"a": "11", "b": "10", "c": "11"})
    (rule,) = against(baseline, runs_of({"a": "1", "b": "0", "c": "1"}), "ar:0.02").rules
    assert (
        rule.settle[0]
        == "one trial of each case is too few: this agent varies (trials of b in one run end differently)"
    )


def test_a_case_that_passed_in_every_trial_and_fails_in_every_one_fails_the_comparison_and_is_named():
    baseline = {f"c{n}": "11111" for n in range(20)}
    found = against(runs_of(baseline), runs_of({**baseline, "c7": "00000"}), "ar:0.2")
    assert [(rule.rule, rule.outcome) for rule in found.rules] == [("ar:0.2", "passed"), ("flips:0", "failed")]
    assert found.rules[1].reason == "1 case passed in every trial and fails now (allowed: 0): c7"
    assert against(runs_of(baseline), runs_of({**baseline, "c7": "00000"}), "flips:1").outcome == "passed"
    assert against(runs_of(baseline), runs_of({**baseline, "c7": "00001"})).outcome == "passed"


ONE_TRIAL = (
    "one trial of each case is too few to exclude chance",
    "run both with --mapsat-trials=4, or let N cases flip with flips:N (flips:1 lets these)",
)


@pytest.mark.parametrize("words", ["alike", "other"])
@pytest.mark.parametrize("rules", [(), ("flips:0",)])
def test_a_flip_in_one_trial_fails_as_a_failing_test_does_and_names_the_ways_on(words, rules):
    baseline, new = {f"c{n}": mark for n, mark in enumerate("111100")}, {f"c{n}": m for n, m in enumerate("111010")}
    same_source = {"agent_source": "s", "agent_build": "s"}
    runs = runs_of(baseline, dialogue="x", **same_source), runs_of(new, dialogue=words, **same_source)
    found = against(*runs, *rules)
    (rule,) = found.rules
    assert (found.varies, rule.outcome, rule.p, rule.settle) == (None, "failed", None, ONE_TRIAL)
    assert rule.reason == "1 case passed before and fails now (allowed: 0): c3"
    assert against(*runs, "flips:1").outcome == "passed"
    assert against(*runs, "navigation.flips:0").outcome == "failed"


@pytest.mark.parametrize("trials", [(1, 4), (4, 1), (2, 2), (4, 4)])
def test_a_case_that_passed_in_all_trials_and_fails_in_all_fails_where_no_trial_of_a_run_differs(trials):
    before, after = trials
    baseline = runs_of({f"c{n}": "1" * before for n in range(8)})
    new = runs_of({f"c{n}": ("0" if n == 3 else "1") * after for n in range(8)})
    found = against(baseline, new, "ar:0.2")
    assert [(rule.rule, rule.outcome) for rule in found.rules] == [("ar:0.2", "passed"), ("flips:0", "failed")]
    assert found.rules[1].settle == (ONE_TRIAL if 1 in trials else ())
    assert found.varies is (None if 1 in trials else False)


def test_a_mean_that_fell_in_all_trials_of_a_few_cases_fails_where_no_trial_of_a_run_differs():
    def run(trials, *values):
        cards = [card(f"c{n}", value, trial=t + 1) for n, value in enumerate(values) for t in range(trials)]
        return side(cards)

    before, after = (1.0,) * 10, (1.0,) * 8 + (0.5,) * 2
    (rule,) = against(run(2, *before), run(2, *after), "ar:0.02").rules
    assert (rule.outcome, rule.p, rule.settle) == ("failed", None, ())
    assert rule.reason == "ar 1.000 -> 0.900 fell by more than 0.02: -0.100 (2 of 10 cases differ)"
    (single,) = against(run(1, *before), run(1, *after), "ar:0.02").rules
    assert (single.outcome, single.p) == ("inconclusive", 0.25)
    assert single.settle == (f"{ONE_TRIAL[0]}: --mapsat-trials=4 in both runs decides it",)


def test_where_trials_within_a_run_vary_a_flip_fails_only_where_chance_hardly_does_that():
    baseline = {"a": "10", **{f"c{n}": "11" for n in range(8)}}
    one = against(runs_of(baseline), runs_of({**baseline, "c1": "00"}))
    (rule,) = one.rules
    assert (one.varies, one.outcome, rule.p) == (True, "inconclusive", pytest.approx(11 / 36))
    assert rule.settle == (
        "this agent varies (trials of a in one run end differently); by chance alone this happens with p = 0.306",
        "run both with --mapsat-trials=4, or let N cases flip with flips:N (flips:1 lets these)",
    )
    assert against(runs_of(baseline), runs_of({**baseline, "c1": "00"}), "flips:0").rules == one.rules
    three = against(runs_of(baseline), runs_of({**baseline, "c1": "00", "c2": "00", "c3": "00"}))
    assert (three.outcome, three.rules[0].settle) == ("failed", ())
    assert three.rules[0].p == pytest.approx(21 / 1296)
    single = {"a": "1", **{f"c{n}": "1" for n in range(8)}, "c1": "0"}
    mixed = against(runs_of(baseline), runs_of(single))
    assert mixed.rules[0].outcome == "inconclusive"
    assert mixed.rules[0].settle[0].startswith("one trial of each case is too few: this agent varies (trials of a ")


def test_chance_that_flips_a_case_more_often_than_not_is_no_news():
    wild = {f"c{n:02}": "10" for n in range(9)}
    steady = {f"s{n:02}": mark for n, mark in enumerate(["11"] * 6)}
    new = {**wild, **steady, "c00": "01", "s00": "00"}
    # Ten cases could flip by chance with 1 of 6 each: at least one of them does so more often than not.
    before = {**wild, **steady}
    (rule,) = against(runs_of(before), runs_of(new), "flips:0").rules
    assert (rule.p > 0.5, rule.outcome) == (True, "passed")


def test_a_metric_that_varies_excuses_no_other():
    def run(fails, *values):
        ends = {"outcome": "failed", "blame": "agent"} if fails else {}
        return [card("b", value, trial=t, **ends) for t, value in enumerate(values, 1)]

    steady = [card(f"c{n}", 1.0, trial=t) for n in range(3) for t in (1, 2)]
    found = compared([*steady, *run(False, 0.5, 1.0)], [*steady, *run(True, 1.0, 0.5)], "ar:0.02")
    assert [(rule.rule, rule.outcome) for rule in found.rules] == [("ar:0.02", "passed"), ("flips:0", "failed")]
    assert found.varies is True


def test_two_agents_of_a_fixture_are_no_trials_of_each_other():
    def run(*marks):
        cards = [
            card("a", float(mark), agent=agent, trial=t, outcome="passed" if mark == "1" else "failed")
            for agent, both in zip("xy", marks, strict=True)
            for t, mark in enumerate(both, 1)
        ]
        return [*cards, *(card("b", 1.0, agent=agent, trial=t) for agent in "xy" for t in (1, 2))]

    found = compared(run("11", "00"), run("00", "00"), "ar:0.02")
    assert (found.varies, found.rules[0].outcome) == (False, "failed")


def test_trials_that_may_differ_as_labels_are_undecided_show_neither_chance_nor_its_absence():
    def trials(*values):
        return [card("a", value, trial=t, dialogue=f"{t}") for t, value in enumerate(values, 1)]

    steady = [card("b", 1.0, trial=t) for t in (1, 2)]
    found = compared([*steady, *trials(1.0, (0.5, 1.0))], [*steady, *trials(0.2, 0.2)], "ar:0.02")
    (rule,) = found.rules
    assert (found.varies, rule.outcome) == (None, "inconclusive")
    assert "undecided labels hide whether this agent varies" in rule.settle


BUILD = "both runs name the build v1: chance makes the difference, or something besides the agent"


@pytest.mark.parametrize("trials", [1, 2])
def test_no_flip_of_one_and_the_same_build_fails(trials):
    baseline = {f"c{n}": "1" * trials for n in range(6)}
    new = {**baseline, "c3": "0" * trials}
    named = against(*(runs_of(run, agent_build="v1") for run in (baseline, new)), "ar:0.02")
    assert [rule.outcome for rule in named.rules] == ["inconclusive", "inconclusive"]
    assert named.rules[0].settle[0] == BUILD + (": --mapsat-trials=4 in both runs decides it" if trials == 1 else "")
    assert named.rules[1].settle == (BUILD, ONE_TRIAL[1])
    for builds in (("v1", "v2"), ("v1", ""), ("", "v1"), ("", "")):
        other = (runs_of(run, agent_build=build) for run, build in zip((baseline, new), builds, strict=True))
        assert against(*other).outcome == "failed"
    python = (runs_of(run, agent_source="s", agent_build="s") for run in (baseline, new))
    assert against(*python).outcome == ("failed" if trials == 1 else "inconclusive")
    service = (runs_of(run, agent_source="s") for run in (baseline, new))  # its file is the same, its code is elsewhere
    assert against(*service).outcome == "failed"


def answering(builds, **fields):
    """A run whose dialogues name these builds."""
    cards = [
        card(f"c{n}").model_copy(update={"trajectory": Trajectory(case=f"c{n}", turns=(), builds=some)})
        for n, some in enumerate(builds)
    ]
    return side(cards, **fields)


@pytest.mark.parametrize(
    ("builds", "told", "known"),
    [
        ([("v1",), ("v1",)], "", "v1"),
        ([("v1",), ()], "", "v1"),
        ([("v1",), ("v1",)], "v1", "v1"),
        ([(), ()], "v1", "v1"),
        ([(), ()], "", ""),
        ([("v1",), ("v2",)], "", ""),
        ([("v1", "v2"), ("v1",)], "", ""),
        ([("", "v1"), ("v1",)], "", ""),
        ([("",), ("",)], "", ""),
        ([("v2",), ("v2",)], "v1", ""),
    ],
)
def test_a_build_is_known_where_everything_that_names_one_names_the_same(builds, told, known):
    run = answering(builds, agent_build=told)
    assert run.build == known
    assert run.described().agent_build == known


@pytest.mark.long_proof(in_turn=True)
def test_one_agent_against_itself_is_red_in_at_most_one_of_twenty_comparisons_at_any_number_of_trials():
    generator = random.Random(7)
    for trials in (2, 4, 8):
        red = 0
        for _ in range(25):
            ease = [generator.betavariate(2.6, 0.4) for _ in range(12)]
            baseline, new = (
                runs_of(
                    {
                        f"c{n:02}": "".join("01"[generator.random() < chance] for _ in range(trials))
                        for n, chance in enumerate(ease)
                    },
                )
                for _ in "xy"
            )
            red += against(baseline, new, "ar:0.02", "pass_rate:0.02").outcome == "failed"
        assert red <= 4, f"{trials} trials: {red} of 25"


@pytest.mark.long_proof(in_turn=True)
def test_how_often_a_run_of_an_agent_that_fails_one_trial_in_ten_is_red_against_the_next_one():
    generator = random.Random(9)

    def run(trials):
        return runs_of({f"c{n}": "".join("01"[generator.random() < 0.9] for _ in range(trials)) for n in range(100)})

    red = {}
    for trials, number in ((1, 8), (2, 30), (4, 15)):
        ended = [against(run(trials), run(trials), "ar:0.02").outcome for _ in range(number)]
        red[trials] = ended.count("failed")
    assert red[1] == 8  # docs/how-to/compare.md says so
    assert (red[2] <= 3, red[4] <= 3) == (True, True), red


def test_runs_of_one_agent_are_held_against_each_other_in_both_directions():
    marks = {f"c{n}": "11" for n in range(6)}
    other = {**marks, "c0": "00"}
    drops = parse_drops(["ar:0.02"])
    alarms = false_alarms([runs_of(marks), runs_of(other), runs_of(marks)], drops)
    assert alarms["comparisons"] == 6
    assert alarms["outcomes"] == {"passed": 4, "inconclusive": 0, "failed": 2}
    of_rule = {"rule": "ar:0.02", "passed": 4, "inconclusive": 0, "failed": 2, "smallest": None}
    assert alarms["rules"] == [of_rule, {**of_rule, "rule": "flips:0", "passed": 0}]
    assert false_alarms([runs_of(marks)] * 2, ())["outcomes"]["passed"] == 2
    for fields in ({"agent_source": "s"}, {"agent_build": "v1"}):
        with pytest.raises(UsageError, match="not runs of one agent: a:b and a:b, or its source or build differs"):
            false_alarms([runs_of(marks), runs_of(marks, **fields)], drops)
    with pytest.raises(UsageError, match="not runs of one kind: cases: baseline 6"):
        false_alarms([runs_of(marks), runs_of({"c0": "1"})], drops)


def test_the_smallest_drop_that_is_seen_in_runs_of_one_agent_is_that_at_the_median():
    ways = (("0111", "1011"), ("0011", "1111", "1101"), ("0101", "1010", "0110", "1110"), ("0001", "1111"))
    runs = [runs_of({f"c{n}": marks[n % len(marks)] for n in range(8)}) for marks in ways]
    drops = parse_drops(["ar:0.02"])
    seen = sorted(compare(*pair, drops).rules[0].smallest for pair in permutations(runs, 2))
    assert seen[5] < seen[6]
    assert false_alarms(runs, drops)["rules"][0]["smallest"] == seen[6]


def test_one_run_is_held_against_itself_by_halves_of_its_trials():
    drops = parse_drops(["ar:0.02"])
    varied = {f"c{n}": "".join("01"[place != n % 4] for place in range(4)) for n in range(8)}
    alarms = false_alarms([runs_of(varied)], drops)
    assert alarms["comparisons"] == 6  # two of four trials against the other two
    assert alarms["outcomes"]["failed"] == 0
    smallest = alarms["rules"][0]["smallest"]
    assert 0.2 < smallest < 0.8
    assert [false_alarms([runs_of({"c0": marks})], drops)["comparisons"] for marks in ("11", "111")] == [2, 3]
    with pytest.raises(UsageError, match="one run of one trial cannot be compared with itself"):
        false_alarms([runs_of({"c0": "1"})], drops)


def test_many_rules_and_domains_are_corrected_for():
    baseline = {f"c{n}": "11111" for n in range(3)}
    new = {"c0": "10011", "c1": "11111", "c2": "11111"}
    (alone,) = against(runs_of(baseline), runs_of(new), "ar:0.02").rules
    several = against(runs_of(baseline), runs_of(new), "ar:0.02", "pass_rate:0.02", "flips:3").rules
    assert several[0].p == pytest.approx(alone.p)  # the two go together, and nothing flipped
    assert several[0].p == several[1].p


def test_trials_of_a_group_are_dealt_out_together():
    group = {"name": "u", "order": 1}
    cards = [
        [card(f"c{n}", mark, group={**group, "order": n + 1}, dialogue=f"{mark}") for n in range(6)]
        for mark in (1.0, 0.0)
    ]
    (rule,) = compared(*cards, "ar:0.02").rules
    assert rule.p == 0.5  # one user's tasks, all of one day: as good as one case


def test_what_does_not_change_an_episode_refuses_no_comparison():
    labels = (label("h", "passed"), label("s", "failed"))
    wanted = [{"id": "h", "kind": "hard", "text": "h"}, {"id": "s", "kind": "soft", "text": "s"}]
    ended = {"labels": labels, "requirements": wanted}
    strict = side([card("a", outcome="failed", blame="agent", **ended)], options={"assert": ["hard", "soft"]})
    mild = side([card("a", **ended)], options={"assert": ["hard"]}, decisions="abc")
    assert compare(mild, mild, parse_drops(["pass_rate:0"])).outcome == "passed"
    back = compare(mild, strict, parse_drops(["pass_rate:0"]))  # both as the new run asserts: it failed before, too
    assert (back.comparable, back.outcome, back.flips) == (True, "passed", (0, 0))


def test_a_decision_about_words_that_both_runs_have_counts_for_both():
    baseline = side([card("a", 1.0, dialogue="d"), card("b", 1.0, dialogue="e")])
    new = side(
        [card("a", 0.0, dialogue="d", outcome="failed"), card("b", 1.0, dialogue="e")],
        suites=(SUITE.model_copy(update={"decisions": "reviewed"}),),
    )
    found = compare(baseline, new, parse_drops(["ar:0"]))
    assert (found.comparable, found.outcome, found.cases) == (True, "passed", ())


def test_more_undecided_cases_than_before_are_told_and_a_rule_fails_on_them():
    baseline = [card(f"c{n}") for n in range(10)]
    unknown = {"outcome": "unevaluated", "unknown": ("z",), "labels": (label("z", "unevaluated"),)}
    new = [*baseline[:8], *(card(f"c{n}", (0.5, 1.0), **unknown) for n in (8, 9))]
    found = compared(baseline, new, "ar:0.2", "undecided:0.1")
    assert [rule.outcome for rule in found.rules] == ["passed", "failed", "inconclusive"]
    assert "2 more cases passed before and may fail now, as labels are undecided: c8, c9" in found.rules[2].reason
    assert found.rules[1].reason == "undecided 0.000 -> 0.200 of 10 cases rose by more than 0.1"
    assert found.warnings[0].startswith("2 cases with undecided labels that can fail an item, 0 in the baseline")


def test_a_case_that_passed_and_is_undecided_now_leaves_a_comparison_inconclusive():
    unknown = {"outcome": "unevaluated", "unknown": ("z",), "labels": (label("z", "unevaluated"),)}
    passed, undecided = [card("a"), card("b")], [card("a"), card("b", (0.0, 1.0), **unknown)]
    assert compared(passed, undecided).outcome == "inconclusive"
    assert compared(undecided, undecided).outcome == "passed"
    assert compared(undecided, passed).outcome == "passed"
    assert compared(passed, undecided, "flips:1").outcome == "passed"


def test_a_common_part_of_less_than_half_is_not_compared():
    baseline = side([card(f"c{n}") for n in range(30)])
    new = side([card("c0"), *(card(f"d{n}") for n in range(29))])
    found = compare(baseline, new, parse_drops(["ar:0"]), common=True)
    assert "cases in common: baseline 1 of 30, new 1 of 30; fewer than half: run the baseline again" in found.reasons[0]


def test_a_difference_that_rounding_turns_round_is_compared():
    def trials(*values):
        return [card("a", value, trial=at, dialogue=words) for at, (value, words) in enumerate(values, 1)]

    # The unknown is the same in both runs and cancels; the two ends then differ in the last bit.
    unknown = ((0.5, 1.0), "same")
    found = compared(trials(unknown, (0.1, "p"), (0.1, "q")), trials(unknown, (0.8, "r"), (0.7, "s")), "ar:0.02")
    assert found.rules[0].outcome == "passed"


def test_chance_is_asked_of_the_end_of_an_open_difference_that_is_nearer_to_nothing():
    baseline, new = [card(f"c{n}", 0.5) for n in range(8)], [card(f"c{n}", (0.0, 0.5), dialogue="x") for n in range(8)]
    found = compared(baseline, new, "ar:0.02")
    (rule,) = found.rules
    assert (rule.outcome, rule.difference, rule.p) == ("inconclusive", (-0.5, 0.0), 1.0)
    ends = {change.metric: (change.difference, change.p, change.direction) for change in found.changes}
    assert ends["ar"] == ((-0.5, 0.0), 1.0, "unclear")
    (worse,) = compared([card("c", (0.4, 0.6), dialogue="x")], [card("c", (0.0, 0.2), dialogue="y")], "ar:0.1").rules
    assert worse.difference == (pytest.approx(-0.6), pytest.approx(-0.2))
    (open_,) = compared([card("c", (0.4, 0.6), dialogue="x")], [card("c", (0.1, 0.2), dialogue="y")], "ar:0.3").rules
    assert "may have fallen by more than 0.3, as labels are undecided: -0.500 to -0.200" in open_.reason


def test_cases_that_are_missing_without_a_reason_are_no_part_that_was_asked_for():
    baseline, new = side([card("a"), card("b")]), side([card("a")])
    for partial, told in ((False, "invalid"), (True, "passed")):
        assert compare(baseline, Side(new.manifest, new.cards, partial=partial)).outcome == told
    assert (
        compare(baseline, Side(new.manifest, new.cards)).reasons[0].startswith("the runs cannot be compared: cases: ")
    )


def test_of_two_agents_of_one_case_the_worse_one_says_how_it_ended():
    def run(*outcomes):
        ends = {
            "failed": {"blame": "agent"},
            "unevaluated": {"unknown": ("z",), "labels": (label("z", "unevaluated"),)},
        }
        return [
            card("a", 1.0, agent=agent, outcome=end, **ends.get(end, {}))
            for agent, end in zip("xy", outcomes, strict=True)
        ]

    for outcomes in (("unevaluated", "failed"), ("failed", "unevaluated"), ("passed", "failed")):
        (case,) = compared(run("passed", "passed"), run(*outcomes)).cases
        assert case.new.outcome == "failed"
    (case,) = compared(run("passed", "passed"), run("passed", "unevaluated")).cases
    assert (case.baseline.outcome, case.new.outcome) == ("passed", "unevaluated")


def test_a_case_has_changed_where_it_ends_otherwise_or_something_of_it_differs():
    def told(new, **baseline):
        return [change.id for change in compared([card("a", 1.0, **baseline)], [new]).cases]

    failed = {"outcome": "failed", "blame": "agent"}
    assert told(card("a", 1.0, **failed)) == ["a"]  # nothing else of it differs
    assert told(card("a", 1.0, labels=(label("z", "passed", "other words"),)), labels=(label("z", "passed"),)) == []
    assert told(card("a", 1.0, labels=(label("z", "failed"),)), labels=(label("z", "passed"),)) == ["a"]
    assert told(card("a", 0.9)) == ["a"]
    assert told(card("a", 1.0)) == []


def test_the_share_of_undecided_cases_is_held_against_that_of_before():
    unknown = {"outcome": "unevaluated", "unknown": ("z",), "labels": (label("z", "unevaluated"),)}

    def run(count):
        return [
            card(f"c{n}", (0.0, 1.0), dialogue=f"{n}", **unknown) if n < count else card(f"c{n}") for n in range(10)
        ]

    for before, after, outcome in ((2, 2, "passed"), (2, 3, "passed"), (2, 4, "failed"), (4, 0, "passed")):
        found = compared(run(before), run(after), "undecided:0.1")
        (rule,) = (rule for rule in found.rules if rule.metric == "undecided")
        assert (rule.outcome, bool(found.warnings)) == (outcome, after > before)
    for domain, outcome in (("navigation", "failed"), ("search", "inconclusive")):
        rule, _ = compared(run(0), run(1), f"{domain}.undecided:0.01").rules
        assert rule.outcome == outcome
    assert rule.reason == "search.undecided is undecided: the runs share no case of domain 'search'"


def test_cases_are_told_by_how_far_they_fell_in_the_first_metric():
    def run(**values):
        return [
            card(name, ar).model_copy(update={"metrics": {"ar": ar, "ses": ses}}) for name, (ar, ses) in values.items()
        ]

    before = run(a=(1.0, 1.0), b=(1.0, 1.0), c=(0.5, 0.5), d=(1.0, 1.0))
    found = compared(before, run(a=(0.9, 0.1), b=(0.2, 0.9), c=(0.6, 0.6), d=(0.9, 0.1)))
    assert [(case.id, case.direction) for case in found.cases] == [
        ("b", "worse"),
        ("a", "worse"),
        ("d", "worse"),
        ("c", "better"),
    ]


def test_a_sampled_rule_holds_the_whole_of_an_open_difference_beside_others():
    baseline = [card(f"c{n:02}", 0.9) for n in range(30)]
    new = [card(f"c{n:02}", (0.1 + n % 4 / 10, 0.5 + n % 3 / 10), dialogue="x") for n in range(30)]
    rate, rule = compared(baseline, new, "pass_rate:0.02@sampled", "ar:0.02@sampled").rules
    assert (rate.outcome, rate.low, rate.high) == ("passed", 0.0, 0.0)
    assert rule.low < rule.difference[0] < rule.difference[1] < rule.high < -0.02
    assert (rule.outcome, rule.settle, rule.cases) == ("failed", (), None)
    assert rule.reason.startswith("ar 0.900 -> 0.243 to 0.600 fell by more than 0.02: -0.657 to -0.300 [-0.7")
