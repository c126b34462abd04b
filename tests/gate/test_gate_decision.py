"""The gate of a run: passed, failed, inconclusive, invalid, and the reasons it prints."""

from functools import partial

import pytest
from gate_runs import side
from generated import generated
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.gate import Coverage, compare, decide, parse_allowance, parse_drops, parse_thresholds
from pytest_mapsat.model import Fault, Label, Lost, Scorecard, Trajectory


def make_card(case, ar=None, outcome="passed", blame=None, ar_class=None, **fields):
    return Scorecard(
        **{
            "id": case,
            "outcome": outcome,
            "blame": blame,
            "metrics": {"ar": ar},
            "classes": {"ar": ar_class} if ar_class else {},
            "trajectory": Trajectory(case=case, turns=()),
            **fields,
        }
    )


def judge_run(cards, *texts, undecided="0", origin="command line", gone=(), **coverage):
    whole = Coverage(**{"selected": len({card.id for card in cards}), "lost": gone, **coverage})
    thresholds = parse_thresholds([(text, origin) for text in texts])
    return decide(cards, thresholds, allowed_undecided=undecided, coverage=whole)


def cards_of(*values, **fields):
    return [make_card(f"c{place}", value, **fields) for place, value in enumerate(values)]


def test_without_thresholds_the_gate_says_that_none_was_given():
    gate = judge_run(cards_of(0.0))
    assert (gate.outcome, gate.reasons) == ("passed", ("no threshold was given, so the test results alone decide",))
    unread = judge_run(cards_of(0.0), errors=("a.yaml",))
    assert unread.outcome == "invalid"
    assert unread.reasons == ("1 place could not be read: a.yaml", "no threshold was given")


def test_a_mean_below_its_threshold_fails_with_both_numbers_and_the_denominator():
    gate = judge_run(cards_of(0.5, 0.6, 0.7, 0.5), "ar=0.65")
    assert gate.outcome == "failed"
    assert gate.reasons[0].startswith("ar 0.5750 < 0.65 (4 of 4 cases; 95 % interval 0.5")


def test_a_mean_at_its_threshold_holds_whatever_floats_make_of_it():
    assert judge_run(cards_of(0.1, 0.2), "ar=0.15").outcome == "passed"
    assert judge_run(cards_of(0.15 - 5e-10), "ar=0.15").outcome == "passed"
    assert judge_run(cards_of(0.15 - 2e-9), "ar=0.15").outcome == "failed"


def test_a_mean_just_below_its_threshold_is_shown_with_enough_digits():
    assert judge_run(cards_of(0.6499999), "ar=0.65").reasons[0].startswith("ar 0.6499999")


def test_the_reason_says_whether_the_interval_covers_the_threshold():
    covered = judge_run(cards_of(0.1, 0.9, 0.2, 0.8), "ar=0.5").reasons[0]
    clear = judge_run(cards_of(0.8, 0.9, 0.8, 0.9), "ar=0.5").reasons[0]
    assert ("includes 0." in covered, "excludes 0." in clear) == (True, True)
    assert "too few for an interval" in judge_run(cards_of(0.8), "ar=0.5").reasons[0]
    assert "all cases equal" in judge_run(cards_of(0.8, 0.8), "ar=0.5").reasons[0]


def test_the_denominator_shows_who_is_left_out():
    cards = [*cards_of(0.8, 0.9), make_card("x", ar_class="not_applicable")]
    gate = judge_run(cards, "ar=0.5")
    assert (gate.outcome, "2 of 3 cases" in gate.reasons[0]) == ("passed", True)


@pytest.mark.parametrize("blame", ["judge", "user", "infrastructure"])
def test_a_fault_that_is_not_the_agents_makes_the_run_invalid_and_not_failed(blame):
    cards = [*cards_of(0.9, 0.8), make_card("x", outcome="error", blame=blame, ar_class="error")]
    gate = judge_run(cards, "ar=0.5")
    assert gate.outcome == "invalid"
    assert gate.reasons[0] == f"1 case lost ({blame} 1: x)"
    assert gate.reasons[1].startswith("ar 0.8500 >= 0.5 (2 of 3 cases")


def test_unevaluated_items_make_a_run_invalid_without_any_threshold():
    assert judge_run([make_card("x", outcome="unevaluated", blame="judge")]).outcome == "invalid"


def test_trials_of_one_case_are_one_lost_case():
    cards = [make_card("x", outcome="unevaluated", blame="judge", trial=trial) for trial in (1, 2, 3)]
    assert judge_run(cards).reasons[0] == "1 case lost (judge 1: x)"


def test_a_crash_of_the_agent_is_its_failure_and_no_fault_of_the_run():
    cards = [make_card("x", 0.0, outcome="failed", blame="agent"), make_card("y", 0.0, outcome="error", blame="agent")]
    assert judge_run(cards, "ar=0.5").outcome == "failed"


def test_a_gated_metric_that_nobody_could_judge_counts_though_the_item_passed():
    cards = [*cards_of(0.9), make_card("x", ar_class="unevaluated")]
    assert judge_run(cards, "ar=0.5").outcome == "invalid"
    assert judge_run(cards, "pass_rate=0.5").outcome == "passed"
    assert judge_run(cards).outcome == "passed"


def test_a_gated_metric_is_laid_to_whom_the_label_names():
    label = Label(requirement="z", kind="hard", outcome="unevaluated", blame="infrastructure")
    cards = [*cards_of(0.9), make_card("x", ar_class="unevaluated", labels=(label,))]
    assert judge_run(cards, "ar=0.5").reasons[0] == "1 case lost (infrastructure 1: x)"


def unknown(requirement, why="undecided: 'the mill' may be either", blame=None):
    return Label(requirement=requirement, kind="hard", outcome="unevaluated", why=why, blame=blame)


def open_card(case, least, most, *labels, **fields):
    """A card with AR between two bounds."""
    labels = labels or (unknown("s1"),)
    return make_card(case, ar_class="unevaluated", bounds={"ar": (least, most)}, labels=labels, **fields)


OPEN = [*cards_of(0.9, 0.9, 0.9), open_card("x", 0.1, 0.9)]  # AR 0.7 to 0.9


@pytest.mark.parametrize(
    ("minimum", "outcome", "reason"),
    [
        ("0.7", "passed", "ar 0.7000-0.9000 >= 0.7 (3 of 4 cases decided; 95 % interval "),
        ("0.71", "inconclusive", "ar 0.7000-0.9000 may be below 0.71 (3 of 4 cases decided; 95 % interval "),
        ("0.9", "inconclusive", "ar 0.7000-0.9000 may be below 0.9 (3 of 4 cases decided; 95 % interval "),
        ("0.91", "failed", "ar 0.7000-0.9000 < 0.91 (3 of 4 cases decided; 95 % interval "),
    ],
)
def test_a_threshold_holds_at_the_lower_bound_and_breaks_at_the_upper_one(minimum, outcome, reason):
    gate = judge_run(OPEN, f"ar={minimum}")
    assert (gate.outcome, gate.reasons[0].startswith(reason)) == (outcome, True)


def test_between_the_bounds_the_gate_names_the_three_ways_on_once():
    gate = judge_run([*OPEN, open_card("y", 0.0, 1.0, domains=("search",))], "ar=0.8,search.ar=0.8")
    assert len(gate.reasons) == 3
    assert gate.reasons[-1] == (
        "to decide it, let a model judge (mapsat regrade RUN --judge=llm:MODEL), label by hand (mapsat review RUN), "
        "or allow undecided cases (--mapsat-allow-undecided=N or N%)"
    )


def test_where_all_thresholds_are_settled_no_way_on_is_named():
    for minimum in ("0.7", "0.95"):
        assert len(judge_run(OPEN, f"ar={minimum}").reasons) == 1


def test_where_recordings_lack_the_way_on_is_to_add_them():
    label = unknown("s1", "no recording", "sandbox")
    broken = judge_run([*cards_of(0.9), open_card("x", 0.1, 0.9, label)], "ar=0.8")
    assert len(broken.reasons) == 1, "the tools broke, and no call missed"
    gate = judge_run([*cards_of(0.9), open_card("x", 0.1, 0.9, label, sandbox={"miss": 1})], "ar=0.8")
    assert gate.outcome == "inconclusive"
    assert gate.reasons[1:] == (
        "calls without a recording leave labels open: mapsat lint SUITE --misses RUN offers synonyms and recordings",
    )


def test_a_metric_between_bounds_is_not_counted_as_unevaluated():
    assert judge_run(OPEN, "ar=0.5").outcome == "passed"
    assert judge_run(OPEN).outcome == "passed"


def undecided_card(case, **fields):
    label = fields.pop("label", unknown("h1"))
    return open_card(case, 0.5, 0.9, label, **{"outcome": "unevaluated", "unknown": ("h1",), **fields})


TOLD = "1 of 2 cases has no verdict, allowed: 0 (undecided 1: x; requirement h1: 'the mill' may be either)"


@pytest.mark.parametrize("rule", ["ar=0.5", "pass_rate=0.5", "search.ar=0.5", "calls<=9", "case.calls<=9"])
def test_no_rule_that_holds_makes_up_for_an_item_that_could_not_be_decided(rule):
    cards = [*cards_of(0.9, domains=("search",)), undecided_card("x")]
    gate = judge_run(cards, rule)
    assert (gate.outcome, gate.reasons[0]) == ("inconclusive", TOLD)
    assert "to decide it" in gate.reasons[-1]
    assert judge_run(cards, rule, undecided="1").outcome == "passed"


def test_a_broken_rule_is_graver_than_an_item_that_could_not_be_decided():
    gate = judge_run([*cards_of(0.4), undecided_card("x")], "ar=0.9")
    assert (gate.outcome, TOLD in gate.reasons) == ("failed", True)


@pytest.mark.parametrize("drops", [(), ("ar:0.9",)])
@pytest.mark.parametrize("inconclusive", ["pass", "fail"])
def test_no_comparison_makes_up_for_an_item_that_could_not_be_decided(drops, inconclusive):
    cards = [*cards_of(0.9), undecided_card("x")]
    rules = parse_drops(drops)
    alike = compare(side(cards), side(cards), rules, inconclusive=inconclusive)
    for allowed, outcome in (("0", "inconclusive"), ("1", "passed")):
        gate = decide(
            cards, (), coverage=Coverage(2), allowed_undecided=allowed, drops=rules, comparisons=[alike, alike]
        )
        assert (gate.outcome, TOLD.replace("allowed: 0", f"allowed: {allowed}") in gate.reasons) == (outcome, True)


def test_a_rule_that_part_of_the_suite_leaves_open_makes_up_for_no_item_that_could_not_be_decided():
    cards = [*cards_of(0.9), undecided_card("x")]
    partly = {"total": 9, "partial": ("deselected by -k",)}
    assert judge_run(cards, "ar=0.5", origin="ini", **partly).reasons[0] == TOLD
    assert judge_run(cards, "ar=0.5", origin="ini", undecided="1", **partly).outcome == "passed"


@pytest.mark.parametrize("rules", [(), ("ar=0.5",)])
def test_a_shard_forbids_what_the_whole_suite_cannot_allow_and_leaves_the_rest_to_merge(rules):
    cards = [*cards_of(0.9), undecided_card("x")]
    shard = {"total": 8, "shard": "1/4", "partial": ("shard 1/4",)}
    for undecided, outcome in (("0", "inconclusive"), ("12%", "inconclusive"), ("13%", "passed"), ("1", "passed")):
        assert judge_run(cards, *rules, undecided=undecided, **shard).outcome == outcome


def test_undecided_cases_that_could_turn_a_threshold_need_an_allowance_and_then_the_others_decide():
    cards = [*cards_of(0.9, 0.9, 0.9, 0.9), undecided_card("x")]  # AR 0.82 to 0.9
    assert judge_run(cards, "ar=0.85").outcome == "inconclusive"
    for allowance in ("1", "20%"):
        gate = judge_run(cards, "ar=0.85", undecided=allowance)
        assert gate.outcome == "passed"
        assert "ar 0.9000 >= 0.85 without 1 undecided case, which --mapsat-allow-undecided lets pass" in gate.reasons
    assert judge_run(cards, "ar=0.85", undecided="19%").outcome == "inconclusive"
    assert judge_run([*cards, undecided_card("y")], "ar=0.85", undecided="1").outcome == "inconclusive"


def test_an_allowance_does_not_let_a_threshold_pass_that_the_decided_cases_miss():
    cards = [*cards_of(0.8, 0.8, 0.8, 0.8), open_card("x", 0.0, 1.0, outcome="unevaluated", unknown=("s1",))]
    assert judge_run(cards, "ar=0.82", undecided="50%").outcome == "inconclusive"
    assert judge_run(cards, "ar=0.85", undecided="50%").outcome == "failed"


def test_without_thresholds_items_that_nobody_could_decide_need_an_allowance():
    cards = [*cards_of(0.9), undecided_card("x")]
    gate = judge_run(cards)
    assert (gate.outcome, gate.reasons[0]) == (
        "inconclusive",
        "1 of 2 cases has no verdict, allowed: 0 (undecided 1: x; requirement h1: 'the mill' may be either)",
    )
    assert "to decide it" in gate.reasons[-1]
    assert judge_run(cards, undecided="50%").outcome == "passed"


def test_an_open_label_of_an_item_that_failed_anyway_is_not_counted():
    card = undecided_card("x", outcome="failed", blame="agent")
    gate = judge_run([*cards_of(0.9), card])
    assert (gate.outcome, gate.reasons[0]) == ("failed", "1 of 2 cases failed: x")


@pytest.mark.parametrize(
    ("ended", "pass_rule", "outcome"),
    [
        ("pppu", "3/4", "passed"),
        ("ppfu", "3/4", "inconclusive"),
        ("pffu", "3/4", "failed"),
        ("pppu", "", "inconclusive"),
        ("pfuu", "", "failed"),
    ],
)
def test_an_open_trial_that_the_pass_rule_does_not_need_is_not_counted(ended, pass_rule, outcome):
    end = {
        "p": partial(make_card, "x", 0.9),
        "f": partial(make_card, "x", 0.9, outcome="failed", blame="agent"),
        "u": partial(undecided_card, "x"),
    }
    cards = [
        end[letter](trial=trial, trajectory=Trajectory(case="x", trial=trial, turns=()))
        for trial, letter in enumerate(ended, 1)
    ]
    assert decide(cards, (), coverage=Coverage(1), pass_rule=pass_rule).outcome == outcome


def test_an_allowance_of_undecided_cases_lets_no_lost_one_pass():
    broken = make_card("y", outcome="error", blame="infrastructure", ar_class="error")
    cards = [*cards_of(0.9), undecided_card("x"), broken]
    assert judge_run(cards, undecided="100%").outcome == "invalid"


def test_an_asserted_label_for_want_of_a_recording_is_undecided_and_laid_to_the_sandbox():
    card = undecided_card("x", label=unknown("h1", "no recording", "sandbox"), blame="sandbox")
    assert (
        judge_run([card]).reasons[0]
        == "1 of 1 case has no verdict, allowed: 0 (sandbox 1: x; requirement h1: no recording)"
    )


def test_an_open_pass_rate_is_held_at_its_bounds():
    cards = [*cards_of(0.9, 0.9, 0.9), undecided_card("x")]
    for minimum, reason in (("0.75", "pass_rate 0.7500-1.0000 >="), ("0.76", "pass_rate 0.7500-1.0000 may be below")):
        assert any(told.startswith(reason) for told in judge_run(cards, f"pass_rate={minimum}").reasons)
    assert judge_run(cards, "pass_rate=0.76", undecided="1").outcome == "passed"


@pytest.mark.parametrize("text", ["", "-1", "1.5", "101%", "many", "20 %%", "1e3"])
def test_an_allowance_that_cannot_be_read_says_what_is_expected(text):
    with pytest.raises(ValueError, match="expected"):
        parse_allowance(text)


def spending(case, **fields):
    spent = {name: fields.pop(name) for name in ("cost", "input_tokens", "output_tokens") if name in fields}
    return make_card(case, 1.0, spent=spent, **fields)


@pytest.mark.parametrize(
    ("rule", "outcome", "reason"),
    [
        ("cost<=0.3", "passed", "cost 0.3 <= 0.3 USD a case (2 cases)"),
        ("cost<=0.29", "failed", "cost 0.3 > 0.29 USD a case (2 cases)"),
        ("case.cost<=0.4", "passed", "case.cost at most 0.4 <= 0.4 USD"),
        ("case.cost<=0.3", "failed", "case.cost > 0.3 USD: b 0.4"),
        ("search.cost<=0.2", "passed", "search.cost 0.2 <= 0.2 USD a case (1 case)"),
        ("tokens<=150", "inconclusive", "tokens<=150 is undecided: b of 2 cases do not say it"),
        ("turns<=3", "failed", "turns 4 > 3 turns a case (2 cases)"),
        ("calls<=0", "passed", "calls 0 <= 0 calls a case (2 cases)"),
    ],
)
def test_a_ceiling_is_held_for_the_suite_a_domain_or_each_case(rule, outcome, reason):
    cards = [
        spending("a", cost=0.2, input_tokens=100, output_tokens=20, turns=2, domains=("search",)),
        spending("b", cost=0.4, turns=6),
    ]
    gate = judge_run(cards, rule)
    assert (gate.outcome, gate.reasons[0]) == (outcome, reason)


def test_a_gated_metric_that_broke_is_laid_to_what_broke_it():
    card = make_card("x", ar_class="error", faults={"ar": Fault(blame="infrastructure", message="no judge")})
    assert "infrastructure 1: x" in judge_run([card], "ar=0.5").reasons[0]
    assert judge_run([card]).outcome == "passed"


def test_a_share_allows_whole_cases_and_a_mean_is_shown_with_the_digits_that_tell_it_apart():
    cards = [*cards_of(0.9, 0.9), undecided_card("x")]
    assert judge_run(cards, undecided="33%").outcome == "inconclusive"
    assert judge_run(cards, undecided="34%").outcome == "passed"
    for mean, shown in ((0.7499, "0.7499"), (0.749996, "0.749996"), (0.74999996, "0.749999960")):
        assert judge_run(cards_of(mean), "ar=0.75").reasons[0].startswith(f"ar {shown} <")


def test_why_a_case_is_undecided_is_told_of_the_first_by_a_label_that_its_verdict_needs():
    first = undecided_card("x", label=unknown("h1", "undecided: 'noon' may be either"))
    noted = first.model_copy(update={"labels": (unknown("note", "undecided: not needed"), *first.labels)})
    other = undecided_card("y", label=unknown("h1", "undecided: another"))
    for cards in ([noted, other], [other, noted]):
        assert judge_run(cards).reasons[0].endswith("(undecided 2: x, y; x, requirement h1: 'noon' may be either)")


def test_tokens_are_those_of_both_ways_and_undecided_where_the_agent_does_not_say_one():
    whole = [spending("a", input_tokens=100, output_tokens=20), spending("b", input_tokens=10, output_tokens=30)]
    assert judge_run(whole, "tokens<=80").reasons[0] == "tokens 80 <= 80 tokens a case (2 cases)"
    assert judge_run(whole, "tokens<=79").outcome == "failed"
    for half in ({"input_tokens": 1}, {"output_tokens": 1}):
        assert judge_run([whole[0], spending("c", **half)], "tokens<=150").outcome == "inconclusive"


def test_a_multiple_is_of_what_the_earlier_run_spent_on_the_same_cases_and_skipped_where_the_model_changed():
    baseline = side([spending("a", cost=0.1), spending("b", cost=0.3), spending("gone", cost=9.0)], agent="react:big")
    cards = [spending("a", cost=0.2), spending("b", cost=0.42)]
    ask = {"coverage": Coverage(selected=2, total=2), "baseline": baseline}
    failed = decide(cards, parse_thresholds(["cost<=1.5x"]), agent="react:big", **ask)
    assert failed.reasons == ("cost 0.31 > 0.3 (1.5 x 0.2) USD a case (2 cases)",)
    assert decide(cards, parse_thresholds(["cost<=1.6x"]), agent="react:big", **ask).outcome == "passed"
    changed = decide(cards, parse_thresholds(["cost<=1.5x"]), agent="react:small", **ask)
    assert changed.reasons == ("cost<=1.5x was skipped: the agent or its model changed (react:big -> react:small)",)
    assert judge_run(cards, "cost<=1.5x").outcome == "inconclusive"
    assert judge_run(cards, "cost<=1.5x", origin="ini").outcome == "passed"


def test_a_domain_threshold_does_not_ask_for_cases_of_other_domains():
    cards = [*cards_of(0.9, domains=("navigation",)), make_card("x", ar_class="unevaluated", domains=("search",))]
    assert judge_run(cards, "navigation.ar=0.5").outcome == "passed"


def test_a_collection_error_makes_the_run_invalid_whatever_holds():
    gate = judge_run(cards_of(0.9), "ar=0.5", errors=tuple(f"cases/{n}.yaml" for n in range(5)))
    assert gate.outcome == "invalid"
    reason = "5 places could not be read: cases/0.yaml, cases/1.yaml, cases/2.yaml and 2 more"
    assert gate.reasons[0] == reason


PART = {"total": 9, "partial": ("deselected by -k",)}


def test_part_of_the_suite_decides_no_threshold_of_the_command_line():
    gate = judge_run(cards_of(0.1), "ar=0.5", **PART)
    assert gate.outcome == "inconclusive"
    assert gate.reasons == ("ar is undecided: part of the suite ran (1 of 9 cases; deselected by -k)",)


def test_a_threshold_of_the_ini_is_a_note_on_part_of_the_suite_and_decided_on_all_of_it():
    gate = judge_run(cards_of(0.1), "ar=0.5", origin="ini", **PART)
    assert gate.outcome == "passed"
    assert gate.reasons == ("ar was not checked: part of the suite ran (1 of 9 cases; deselected by -k)",)
    assert judge_run(cards_of(0.1), "ar=0.5", origin="ini").outcome == "failed"


def test_fewer_selected_than_there_are_is_part_of_the_suite_without_any_reason():
    assert judge_run(cards_of(0.1), "ar=0.5", total=2).outcome == "inconclusive"


def test_an_episode_without_a_scorecard_makes_the_gate_invalid_whatever_the_others_scored():
    lost = (Lost(id="c7", reason="not started"),)
    for texts in ((), ("ar=0.5",)):
        gate = judge_run(cards_of(0.9), *texts, gone=lost, selected=2, total=2)
        assert (gate.outcome, gate.reasons[0]) == ("invalid", "1 case lost (lost 1: c7)")


def test_a_domain_that_ran_whole_is_decided_on_part_of_the_suite():
    cards = cards_of(0.5, 0.7, domains=("navigation", "search"))
    whole = frozenset({"navigation"})
    assert judge_run(cards, "navigation.ar=0.6", whole_domains=whole, **PART).outcome == "passed"
    assert judge_run(cards, "navigation.ar=0.65", whole_domains=whole, **PART).outcome == "failed"
    assert judge_run(cards, "search.ar=0.6", whole_domains=whole, **PART).outcome == "inconclusive"
    assert judge_run(cards, "ar=0.1", whole_domains=whole, **PART).outcome == "inconclusive"


def test_a_domain_without_cases_is_undecided_with_a_hint():
    gate = judge_run(cards_of(0.9, domains=("navigation",)), "navigaton.ar=0.5")
    assert gate.outcome == "inconclusive"
    assert gate.reasons[0] == (
        "navigaton.ar is undecided: no case of domain 'navigaton' has run, did you mean 'navigation'?"
    )


def test_a_metric_that_no_case_has_is_undecided():
    gate = judge_run([make_card("x", ar_class="not_applicable")], "ar=0.5")
    assert gate.outcome == "inconclusive"
    assert gate.reasons[0] == "ar is undecided: none of 1 case has it (not_applicable 1)"


def test_a_run_without_cases_decides_nothing():
    assert judge_run([], "ar=0.5").outcome == "inconclusive"
    assert judge_run([], "ar=0.5").reasons == ("ar is undecided: no case has run",)


def test_the_gravest_finding_is_the_outcome_and_stands_first():
    cards = [*cards_of(0.1, domains=("search",)), make_card("x", outcome="error", blame="user", ar_class="error")]
    gate = judge_run(cards, "pass_rate=0.5,nowhere.ar=0.5,ar=0.5")
    assert gate.outcome == "invalid"
    assert [reason.split()[0] for reason in gate.reasons] == ["1", "ar", "nowhere.ar", "pass_rate"]
    assert judge_run(cards[:1], "pass_rate=0.5,nowhere.ar=0.5,ar=0.5").outcome == "failed"


def test_reasons_fit_the_terminal():
    cards = [make_card(f"c{n}", (n % 7) / 7, domains=("navigation",)) for n in range(500)]
    for reason in judge_run(cards, "navigation.ar=0.65,ar=0.1,pass_rate=0.9").reasons:
        assert "\n" not in reason
        assert len(reason) <= 90


@generated()
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(1e-6, 1), st.randoms(use_true_random=False))
def test_the_decision_is_free_of_the_order_of_cases_and_monotone_in_the_threshold(values, minimum, random):
    cards = cards_of(*values)
    gate = judge_run(cards, f"ar={minimum}")
    assert judge_run(random.sample(cards, len(cards)), f"ar={minimum}") == gate
    if gate.outcome == "passed":
        assert judge_run(cards, f"ar={minimum / 2}").outcome == "passed"


@generated()
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1, max_size=8), st.floats(1e-6, 1))
def test_what_is_decided_at_the_bounds_stays_so_whatever_the_open_labels_turn_out_to_be(cases, minimum):
    spans = [(min(one, other), max(one, other)) for one, other, _ in cases]
    cards = [open_card(f"c{place}", *span) for place, span in enumerate(spans)]
    turned_out = cards_of(*(span[at_most] for span, (_, _, at_most) in zip(spans, cases, strict=True)))
    outcome = judge_run(cards, f"ar={minimum}").outcome
    assert outcome in ("inconclusive", judge_run(turned_out, f"ar={minimum}").outcome)


FAILED = {"outcome": "failed", "blame": "agent"}


@pytest.mark.parametrize(
    ("more", "rules", "outcome"),
    [
        ([], (), "failed"),
        ([], ("ar=0.5",), "failed"),
        ([undecided_card("u")], (), "failed"),
        ([undecided_card("u")], ("ar=0.5",), "failed"),
        ([make_card("l", outcome="error", blame="infrastructure")], (), "invalid"),
    ],
)
def test_a_case_that_failed_makes_the_gate_failed_unless_it_is_invalid(more, rules, outcome):
    gate = judge_run([*cards_of(0.9, 0.9), make_card("bad", 0.6, **FAILED), *more], *rules)
    assert gate.outcome == outcome
    assert f"1 of {3 + len(more)} cases failed: bad" in gate.reasons


def test_only_the_cases_that_fail_an_item_make_the_gate_failed():
    cards = [
        *(make_card("again", 0.9, attempt=n, **({} if n == 2 else FAILED)) for n in (1, 2)),
        *(make_card("mine", 0.9, trial=n, **FAILED) for n in (1, 2)),
        make_card("broke", 0.9, outcome="error", blame="agent"),
    ]
    one = decide(cards, (), coverage=Coverage(3), excused={"mine"})
    assert (one.outcome, one.reasons[0]) == ("failed", "1 of 3 cases failed: broke")
    assert decide(cards, (), coverage=Coverage(3), excused={"mine", "broke"}).outcome == "passed"


@pytest.mark.parametrize(
    ("thresholds", "drops", "outcome"), [([], [], "passed"), (["ar=0.1"], [], "invalid"), ([], ["ar:0"], "invalid")]
)
def test_a_judge_without_its_certificate_gates_nothing_and_is_told_where_nothing_is_gated(thresholds, drops, outcome):
    cards = cards_of(0.9)
    same = compare(side(cards), side(cards), parse_drops(drops)) if drops else None
    gate = decide(
        cards,
        parse_thresholds(thresholds),
        coverage=Coverage(1),
        drops=parse_drops(drops),
        comparisons=[same] if same else [],
        uncertified=["the judge may not gate"],
    )
    assert (gate.outcome, gate.reasons[0]) == (outcome, "the judge may not gate")


def test_each_rule_of_each_comparison_is_told_and_an_inconclusive_one_as_it_was_asked_for():
    drops = parse_drops(["ar:0.02"])
    good, bad = cards_of(*[1.0] * 8), [*cards_of(*[1.0] * 6), make_card("c6", 0.5), make_card("c7", 0.5)]
    worse = [make_card(card.id, 0.2) for card in good]

    def decided(cards, *comparisons, **coverage):
        return decide(cards, (), coverage=Coverage(8, **coverage), drops=drops, comparisons=comparisons)

    alike = compare(side(good), side(good), drops)
    unsure, strict = (compare(side(good), side(bad), drops, inconclusive=word) for word in ("pass", "fail"))
    fell = compare(side(good), side(worse), drops)
    told = "ar 1.000 -> 0.875 fell by more than 0.02, which may be chance: -0.125 (2 of 8 cases differ; p = 0.250)"
    gate = decided(bad, unsure)
    assert (gate.outcome, gate.reasons[0]) == ("passed", f"warning: inconclusive: {told}")
    assert gate.reasons[1].startswith("  one trial of each case is too few to exclude chance")
    gate = decided(bad, strict, alike)
    assert (gate.outcome, gate.reasons[0]) == ("inconclusive", told)
    assert gate.reasons[2] == "against the anchor, ar 1.000 -> 1.000: no difference in 8 cases"
    gate = decided(worse, alike, fell)
    assert (gate.outcome, gate.reasons[0][:49]) == ("failed", "against the anchor, ar 1.000 -> 0.200 fell by mor")
    unlike = compare(side(good), side(good, user="silent"), drops)
    gate = decided(good, alike, unlike)
    assert (gate.outcome, gate.reasons[0]) == (
        "invalid",
        "against the anchor, the runs cannot be compared: user: baseline scripted, new silent",
    )
    gate = decided(good)
    assert (gate.outcome, gate.reasons) == (
        "inconclusive",
        ("ar is undecided: the earlier run is not given (--mapsat-compare=PATH)",),
    )
    part = decided(good, total=9, partial=("-k",))
    assert (part.outcome, part.reasons) == (
        "inconclusive",
        ("ar is undecided: part of the suite ran (8 of 9 cases; -k)",),
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"faults": {"m": Fault(blame="infrastructure", message="no judge")}}, "1 case lost (infrastructure 1: x)"),
        ({"bounds": {"m": (0.0, 1.0)}}, "1 of 1 case has no verdict, allowed: 0 (undecided 1: x)"),
        ({}, "1 case lost (judge 1: x)"),
        ({"labels": (unknown("m", "who knows"),)}, "1 of 1 case has no verdict, allowed: 0 (undecided 1: x)"),
        ({"labels": (unknown("m", blame="user"),)}, "1 case lost (user 1: x)"),
        (
            {
                "labels": (unknown("m", blame="user"),),
                "faults": {"m": Fault(blame="infrastructure", message="no judge")},
            },
            "1 case lost (user 1: x)",
        ),
        ({"unknown": ("m", "n"), "labels": (unknown("m"), unknown("n", blame="judge"))}, "1 case lost (judge 1: x)"),
    ],
)
def test_an_unknown_label_is_laid_to_whom_it_names_else_to_what_broke_its_metric(fields, told):
    gate = judge_run([make_card("x", outcome="unevaluated", **{"unknown": ("m",), **fields})])
    assert gate.reasons[0].partition(": x")[0] == told.partition(": x")[0]
