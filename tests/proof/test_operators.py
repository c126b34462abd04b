"""What each operator changes: one thing, in either language, and the same every time."""

import pytest
from oracle_runs import CHINESE, ENGLISH, oracle_run, requirement, says

from pytest_mapsat.model import Step
from pytest_mapsat.proof import HARMLESS, WRONG
from pytest_mapsat.proof.mutants import OracleRun, violated

NUMBER = {"kind": "number", "unit": "yuan", "near": ["ticket"], "max": 20, "if_absent": "nothing_claimed"}
RUN = oracle_run(
    requirement({"kind": "says", "any": ["quiet room"]}),
    requirement({"kind": "recommends", "only": True, "any_of": ["Cafe Luna"]}, "y"),
    requirement({"kind": "number", "unit": "min", "max": 20}, "x"),
    requirement(NUMBER, "w"),
)
ZH = oracle_run(
    requirement({"kind": "says", "any": ["安静"]}),
    requirement({"kind": "number", "unit": "min", "max": 20}, "y"),
    requirement({"kind": "recommends", "only": True, "any_of": ["Cafe Luna"]}, "x"),
    say=CHINESE,
)


def wrong(name, run=RUN):
    return says(WRONG[name](run))


def harmless(name, run=RUN):
    return says(HARMLESS[name](run))


def test_another_place_comes_with_its_own_address():
    assert ENGLISH.replace("Cafe Luna", "Red Door").replace("5 Mill Lane", "2 Hill Street") in wrong("another_place")


def test_right_words_about_the_wrong_thing_keep_the_words():
    assert ENGLISH.replace("Cafe Luna", "Old Mill") in wrong("another_place")


@pytest.mark.parametrize("new", ["8 min", "12 min", "1.2 km", "1.8 km"])
def test_values_are_a_fifth_off(new):
    old = "10 min" if "min" in new else "1.5 km"
    assert ENGLISH.replace(old, new) in wrong("value_off")


def test_small_whole_numbers_move_too():
    assert "2.4 km away" in says(WRONG["value_off"](oracle_run(say="2 km away")))


def test_clocks_go_wrong_by_an_hour_round_midnight():
    assert says(WRONG["clock_shifted"](oracle_run(say="At 23:30."))) == ["At 22:30.", "At 00:30."]


def test_a_phone_number_is_changed_or_made_up():
    assert wrong("invented_phone") == [f"{ENGLISH} Their telephone number is 555-9768."]
    assert says(WRONG["invented_phone"](oracle_run(say="Ring 555-0101."))) == ["Ring 555-9768."]


def test_a_sentence_or_clause_that_a_label_rests_on_is_left_out():
    assert ENGLISH.replace(" It has a quiet room.", "") in wrong("dropped_constraint")
    assert any("10 min" not in text and "1.5 km" in text for text in wrong("dropped_constraint"))


def test_calls_are_dropped_and_turned():
    (no_search, no_route) = WRONG["dropped_call"](RUN)
    assert [step.tool for step in no_search.trajectory.calls] == ["route"]
    assert [step.tool for step in no_route.trajectory.calls] == ["search_poi"]
    (other,) = WRONG["other_argument"](RUN)
    assert other.trajectory.calls[1].arguments["mode"] == "transit"


def test_two_places_change_places():
    run = oracle_run(say="First Cafe Luna, then Old Mill.")
    assert says(WRONG["swapped_order"](run)) == ["First Old Mill, then Cafe Luna."]


def test_all_results_are_pasted():
    (text,) = harmless("pasted_results")
    assert text.startswith(ENGLISH)
    assert all(name in text for name in ("Old Mill", "Red Door", '"minutes": 10'))


def test_a_place_is_added_beside_before_and_as_a_stop():
    for texts in (wrong("second_choice"), wrong("second_choice", ZH)):
        assert len(set(texts)) == 6
        for text in texts:
            assert "Cafe Luna" in text
            assert ("Old Mill" in text) != ("Red Door" in text)


def test_a_tool_that_was_called_in_every_mode_is_called_in_no_other():
    steps = tuple(
        Step(kind="call", tool="route", arguments={"mode": mode}) for mode in ("walking", "transit", "driving")
    )
    turns = (RUN.trajectory.turns[0], RUN.trajectory.turns[1].model_copy(update={"steps": steps}))
    trajectory = RUN.trajectory.model_copy(update={"turns": turns})
    run = OracleRun(RUN.case, RUN.tools, trajectory, RUN.verdict)
    assert list(WRONG["other_argument"](run)) == []


def test_a_question_is_added():
    assert all(text.startswith(ENGLISH) and text.endswith("?") for text in wrong("unneeded_question"))


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("other_units", ENGLISH.replace("1.5 km", "1500 m")),
        ("layout", ENGLISH.replace("Cafe Luna", "**Cafe Luna**")),
        ("layout", ENGLISH.replace(" ", "  ")),
        ("turned_down", f"Red Door is nearer, but it is already closed. {ENGLISH}"),
    ],
)  # fmt: skip
def test_a_harmless_change_in_english(name, new):
    assert new in harmless(name)


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("other_units", CHINESE.replace("1.5公里", "1500米")),
        ("turned_down", f"{CHINESE}不推荐Old Mill。"),
    ],
)
def test_a_harmless_change_in_chinese(name, new):
    assert new in harmless(name, ZH)


@pytest.mark.parametrize("name", sorted({**WRONG, **HARMLESS}))
def test_operators_are_deterministic_and_change_something(name):
    operator = {**WRONG, **HARMLESS}[name]
    for run in (RUN, ZH):
        mutants = list(operator(run))
        assert mutants == list(operator(run))
        assert all(mutant.changed and mutant.trajectory != run.trajectory for mutant in mutants)


@pytest.mark.parametrize("say", ["?", "…", "0", "1.5.5 km :: 99:99", "不", "a" * 50, "\n\n", "10 min" * 40])
@pytest.mark.parametrize("name", sorted({**WRONG, **HARMLESS}))
def test_no_oracle_is_too_odd(name, say):
    run = oracle_run(say=f".{say}")
    for mutant in {**WRONG, **HARMLESS}[name](run):
        assert mutant.changed
        assert mutant.trajectory.turns[:-2] == run.trajectory.turns[:-2], "only what is said last may change"


BOUND = {"op": "bound", "tool": "route"}
WALK = {"kind": "number", "unit": "min", "equals": {**BOUND, "path": "minutes"}}
LENGTH = {"kind": "number", "unit": "m", "equals": {**BOUND, "path": "metres"}}
RATED = {"kind": "recommends", "only": True, "where": {"rating": {"op": "between", "min": 4}}}
QUIET = {"kind": "says", "any": ["quiet room"]}


def breaks(name, *checks, say=ENGLISH, facts=(), **fields):
    """What the mutants of an operator change, with the requirements that each breaks."""
    run = oracle_run(*(requirement(check, f"r{at}") for at, check in enumerate(checks)), say=say, facts=facts, **fields)
    assert {label.outcome for label in run.verdict.labels} == {"passed"}, run.labels
    return {mutant.changed: violated(run, mutant) for mutant in WRONG[name](run)}


@pytest.mark.parametrize(
    ("name", "check", "broken"),
    [
        ("dropped_constraint", QUIET, ["left out: It has a quiet room."]),
        ("another_place", RATED, [f"{how} became {new}" for how in ("Cafe Luna", "the name Cafe Luna alone") for new in ("Old Mill", "Red Door")]),
        ("another_place", {"kind": "recommends", "any_of": ["Cafe Luna", "Old Mill"]}, ["Cafe Luna became Red Door", "the name Cafe Luna alone became Red Door"]),
        ("second_choice", {"kind": "recommends", "none_of": ["Red Door"]}, ["Red Door was proposed as well", "Red Door was recommended first", "a stop at Red Door was added"]),
        ("value_off", WALK, ["10 min became 8 min", "10 min became 12 min"]),
        ("value_off", LENGTH, ["1.5 km became 1.2 km", "1.5 km became 1.8 km"]),
        ("value_off", {"kind": "number", "unit": "min", "max": 11}, ["10 min became 12 min"]),
        ("clock_shifted", {"kind": "clock_time", "before": "11:00"}, ["10:30 became 11:30"]),
        ("clock_shifted", {"kind": "clock_time", "equals": {**BOUND, "path": "leaves.*"}}, ["10:30 became 09:30", "10:30 became 11:30"]),
        ("unneeded_question", {"kind": "asked", "at_most": 0}, ["asked: What is your favourite colour?", "asked: Could you tell me your budget and your date of birth?"]),
        ("dropped_call", {"kind": "calls", "tool": "route"}, ["route was never called"]),
        ("other_argument", {"kind": "calls", "tool": "route", "with": {"mode": "walking"}}, ["route was called for the mode transit"]),
        ("invented_phone", {"kind": "grounded", "claims": ["phone"]}, ["the telephone number 555-9768 was added"]),
    ],
)  # fmt: skip
def test_an_operator_names_the_checks_whose_field_it_breaks(name, check, broken):
    told = breaks(name, check)
    assert {changed for changed, requirements in told.items() if requirements} == set(broken)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("dropped_constraint", {"kind": "calls", "tool": "route"}),
        ("value_off", {"kind": "number", "unit": "min", "max": 20}),
        ("value_off", QUIET),
        ("clock_shifted", {"kind": "clock_time", "before": "12:00"}),
        ("another_place", WALK),
        ("second_choice", {"kind": "recommends", "any_of": ["Cafe Luna"]}),
        ("dropped_call", {"kind": "calls", "tool": "route", "at_least": 0, "at_most": 1}),
    ],
)
def test_what_a_check_allows_breaks_nothing(name, check):
    assert set(breaks(name, check).values()) <= {()}


def test_a_part_that_breaks_breaks_what_it_is_a_part_of_as_far_as_that_is_sure():
    told = breaks("value_off", {"kind": "all", "checks": [WALK, RATED]}, {"kind": "any", "checks": [WALK, RATED]})
    assert told["10 min became 8 min"] == ("r0",)
    denied = {"kind": "not", "check": {"kind": "says", "any": ["terrace"], "about": ["terrace"]}}
    assert set(breaks("dropped_constraint", QUIET, denied).values()) == {("r0",)}


def test_a_level_that_falls_is_broken_and_one_that_stays_is_not():
    levels = [{"level": 1, "check": QUIET}, {"level": 0.5, "check": WALK}]
    run = oracle_run({"id": "z", "text": "z", "kind": "soft", "weight": 1, "levels": levels})
    told = {mutant.changed: violated(run, mutant) for name in ("dropped_constraint", "value_off") for mutant in WRONG[name](run)}  # fmt: skip
    assert told["left out: It has a quiet room."] == ("z",)
    assert told["10 min became 8 min"] == ()


def test_a_fact_breaks_where_one_of_its_figures_strays_though_another_agrees():
    say = "It is a 10 min walk. The walk back takes 10 min."
    check = {**WALK, "quantifier": "any"}
    told = breaks("value_off", check, say=say, facts=[{"id": "f", "text": "f", "check": check}])
    assert {"f"} <= {name for requirements in told.values() for name in requirements}
    assert all("r0" not in requirements for requirements in told.values())


def test_what_the_oracle_does_not_hold_cannot_be_broken():
    run = oracle_run(requirement({"kind": "says", "any": ["bus"]}), requirement(WALK, "y"))
    assert {violated(run, mutant) for mutant in WRONG["dropped_constraint"](run)} <= {(), ("y",)}
