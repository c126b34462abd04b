"""What each operator changes: one thing, in either language, and the same every time."""

import pytest
from oracle_runs import CHINESE, ENGLISH, oracle_run, requirement, says

from pytest_mapsat.proof import HARMLESS, WRONG

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


def test_a_closed_shop_is_one_whose_recording_says_so():
    # It is 10:00; Old Mill opens at noon.
    assert [text.split(" at ")[0] for text in wrong("closed_shop")] == ["Go to Old Mill"]
    assert not any("Old Mill" in text for text in wrong("another_place"))


def test_right_words_about_the_wrong_thing_keep_the_words():
    assert ENGLISH.replace("Cafe Luna", "Old Mill") in wrong("wrong_entity_right_words")


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


def test_a_number_is_made_up_where_the_answer_gives_none():
    assert wrong("number_made_up") == [f"{ENGLISH} For the ticket count on 97 yuan."]


def test_the_way_to_travel_changes_in_all_its_words():
    assert ENGLISH.replace("walk", "drive") in wrong("other_mode")
    assert CHINESE.replace("步行", "开车") in wrong("other_mode", ZH)


def test_a_sentence_or_clause_that_a_label_rests_on_is_left_out():
    assert ENGLISH.replace(" It has a quiet room.", "") in wrong("dropped_constraint")
    assert any("10 min" not in text and "1.5 km" in text for text in wrong("dropped_constraint"))


def test_words_that_a_label_rests_on_are_denied():
    assert ENGLISH.replace("quiet room", "not quiet room") in wrong("negated_constraint")
    assert CHINESE.replace("安静", "没有安静") in wrong("negated_constraint", ZH)
    assert CHINESE.replace("10分钟", "不是10分钟") in wrong("negated_constraint", ZH)
    assert CHINESE.replace("Cafe Luna", "不推荐Cafe Luna") in wrong("negated_constraint", ZH)


def test_what_is_denied_is_not_denied_again():
    run = oracle_run(requirement({"kind": "says", "all": ["stairs"]}), say="There are not only stairs.")
    assert says(WRONG["negated_constraint"](run)) == []


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


@pytest.mark.parametrize("name", ["unasked_detour", "second_choice", "other_first"])
def test_a_place_is_added(name):
    for text in (*wrong(name), *wrong(name, ZH)):
        assert "Cafe Luna" in text
        assert ("Old Mill" in text) != ("Red Door" in text)


def test_a_question_is_added():
    assert all(text.startswith(ENGLISH) and text.endswith("?") for text in wrong("unneeded_question"))


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("other_units", ENGLISH.replace("1.5 km", "1500 m")),
        ("other_clock", ENGLISH.replace("10:30", "10:30 am")),
        ("other_digits", ENGLISH.replace("10 min", "ten min")),
        ("emphasis", ENGLISH.replace("Cafe Luna", "**Cafe Luna**").replace("10:30", "**10:30**").replace("10 min", "**10** min")
         .replace("1.5", "**1.5**").replace("5 Mill", "**5** Mill")),
        ("layout", ENGLISH.replace(" ", "  ")),
        ("approximate", ENGLISH.replace("10 min", "about 10 min")),
        ("turned_down", f"Red Door is nearer, but it is already closed. {ENGLISH}"),
    ],
)  # fmt: skip
def test_a_harmless_change_in_english(name, new):
    assert new in harmless(name)


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("other_units", CHINESE.replace("1.5公里", "1500米")),
        ("other_clock", CHINESE.replace("10:30", "上午十点半")),
        ("other_digits", CHINESE.replace("10分钟", "十分钟")),
        ("other_digits", CHINESE.replace("10", "１０").replace("1.5", "１.５").replace("30", "３０")),
        ("synonyms", CHINESE.replace("推荐", "建议")),
        ("turned_down", f"{CHINESE}不推荐Old Mill。"),
    ],
)
def test_a_harmless_change_in_chinese(name, new):
    assert new in harmless(name, ZH)


def test_sentences_stay_in_order_where_a_check_looks_at_it():
    say = "Go to Cafe Luna. Bring a coat. It rains."
    assert says(HARMLESS["reordered_sentences"](oracle_run(say=say))) == ["Bring a coat. Go to Cafe Luna. It rains."]
    ordered = requirement({"kind": "recommends", "in_order": [["Cafe Luna"], ["coat"]]})
    assert says(HARMLESS["reordered_sentences"](oracle_run(ordered, say=say))) == []


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
