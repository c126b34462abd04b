"""What is clear decides, what is unclear does not: each check on replies that were read by hand."""

import pytest
from judging import TOOLS, call, found_places
from readings import asks, figure, judge_reading, names, reading, time

from pytest_mapsat.model import Tool

LUNA, MILL, GARDEN = "Cafe Luna (Riverside)", "Old Mill", "Old Mill Garden"
GOOD = {"rating": {"op": "between", "min": 4.5}}
STANCES = ("affirmed", "rejected", "denied", "compared", "landmark", "asked", "unclear")


def luna_and_mill(luna, mill):
    return reading(f"{LUNA} or {MILL}", names(LUNA, luna), names(MILL, mill))


def recommends(document, *, only=True, **fields):
    return judge_reading(document, "recommends", steps=[found_places()], only=only, **fields)


@pytest.mark.parametrize(
    ("luna", "mill", "passed"),
    [
        *(("affirmed", mill, True) for mill in ("rejected", "denied", "compared", "landmark", "asked")),
        ("affirmed", "affirmed", False),
        ("affirmed", "unclear", None),
        ("unclear", "affirmed", False),
        ("unclear", "rejected", None),
        ("rejected", "compared", None),
        ("rejected", "rejected", False),
        ("compared", "compared", None),
    ],
)
def test_what_is_recommended_is_decided_by_stance(luna, mill, passed):
    assert recommends(luna_and_mill(luna, mill), where=GOOD).passed is passed


@pytest.mark.parametrize(
    ("luna", "mill", "passed"),
    [
        ("affirmed", "affirmed", True), ("affirmed", "unclear", True), ("unclear", "affirmed", None), ("rejected", "affirmed", False),
    ],
)  # fmt: skip
def test_one_good_thing_is_enough_where_any_is_asked_for(luna, mill, passed):
    assert recommends(luna_and_mill(luna, mill), where=GOOD, only=False).passed is passed


@pytest.mark.parametrize(
    ("stance", "chosen", "avoided", "ruled_out"),
    [
        ("affirmed", True, False, False),
        ("rejected", False, True, True),
        ("denied", False, True, True),
        ("compared", None, None, None),
        ("landmark", False, True, None),
        ("asked", False, True, None),
        ("unclear", None, None, None),
    ],
)
def test_each_stance_says_what_is_done_with_a_thing(stance, chosen, avoided, ruled_out):
    document = reading(f"So, {MILL}.", names(MILL, stance))
    steps = [found_places()]
    assert judge_reading(document, "recommends", any_of=[MILL], steps=steps).passed is chosen
    assert judge_reading(document, "recommends", none_of=[MILL], steps=steps).passed is avoided
    assert judge_reading(document, "recommends", turned_down=[MILL], steps=steps).passed is ruled_out
    assert judge_reading(document, "recommends", all_of=[[MILL]], steps=steps).passed is chosen


def test_what_seems_turned_down_in_a_reply_that_goes_on_may_be_what_it_is_about():
    steps = [found_places()]
    for parts, passed in (((), False), ((figure("8 minutes", 8, "min", "travel_time"),), None)):
        document = reading(f"So, {MILL} takes 8 minutes.", names(MILL, "rejected"), *parts)
        assert judge_reading(document, "recommends", any_of=[MILL], steps=steps).passed is passed


def test_too_few_beside_others_are_open_and_none_at_all_are_not():
    steps = [found_places()]
    for luna, passed in (("affirmed", None), ("unclear", False), ("rejected", False)):
        finding = judge_reading(luna_and_mill(luna, "rejected"), "recommends", all_of=[[LUNA], [MILL]], steps=steps)
        assert finding.passed is passed


@pytest.mark.parametrize(
    ("text", "passed"), [(f"{MILL}, 8 minutes.", False), (f"The {MILL}.", False), (f"A pity about {MILL}.", None)]
)
def test_words_before_a_name_that_are_not_understood_may_turn_it_down(text, passed):
    document = reading(text, names(MILL, "affirmed"))
    steps = [found_places()]
    assert judge_reading(document, "recommends", any_of=[LUNA], none_of=[MILL], steps=steps).passed is passed
    assert judge_reading(document, "recommends", turned_down=[MILL], steps=steps).passed is passed


@pytest.mark.parametrize(
    ("luna", "mill", "passed"),
    [
        ("affirmed", "compared", True),
        ("affirmed", "affirmed", False),
        ("affirmed", "unclear", None),
        ("asked", "unclear", None),
    ],
)
def test_a_choice_over_others_is_open_while_one_of_them_is(luna, mill, passed):
    finding = judge_reading(
        luna_and_mill(luna, mill), "recommends", any_of=[LUNA], none_of=[MILL], steps=[found_places()]
    )
    assert finding.passed is passed


def test_an_undecided_finding_names_the_unclear_words():
    finding = recommends(luna_and_mill("affirmed", "unclear"), where=GOOD)
    assert finding.why == "turn 1 says 'Old Mill' (chars 25-33), and it is unclear whether the reply recommends it"
    assert [quote.text for quote in finding.quotes] == ["Old Mill"]


def test_a_short_form_of_several_things_leaves_all_of_them_open():
    document = reading("Go to the mill.", names("mill", "affirmed", "old mill", "old mill garden", form="short"))
    assert recommends(document, where=GOOD).passed is None
    assert recommends(document, any_of=[MILL, GARDEN]).passed is None


def test_a_short_form_means_the_thing_that_is_proposed_in_full():
    document = reading(
        "The mill it is: Old Mill.",
        names("mill", "affirmed", "old mill", "old mill garden", form="short"),
        names(MILL, "affirmed"),
    )
    assert recommends(document, any_of=[MILL]).passed is True


def test_a_thing_that_is_proposed_and_turned_down_is_open():
    document = reading("Old Mill! No, not the old mill", names(MILL, "affirmed"), names("old mill", "rejected"))
    assert recommends(document, any_of=[MILL]).passed is None


@pytest.mark.parametrize(("kind", "fields"), [
    ("recommends", {"any_of": [MILL], "only": True}), ("recommends", {"any_of": [MILL]}), ("recommends", {"all_of": [[MILL]]}), ("says", {"any": ["quiet"]}),
])  # fmt: skip
def test_absence_is_certain_only_where_the_reply_says_nothing(kind, fields):
    steps = [found_places()]
    silent = reading("I can help with that.")
    only_asks = reading("Would 12 min be fine?", figure("12 min", 12, "min", None), asks("Would 12 min be fine?"))
    substantial = reading("It is 12 min to the usual place.", figure("12 min", 12, "min", "travel_time"))
    other_words = None if kind == "says" else False  # words that no check knows may say the same
    assert judge_reading(silent, kind, steps=steps, **fields).passed is other_words
    assert judge_reading(only_asks, kind, steps=steps, **fields).passed is False
    assert judge_reading(substantial, kind, steps=steps, **fields).passed is None


def test_words_without_which_it_cannot_be_said_make_absence_certain():
    document = reading("It is 12 min away.", figure("12 min", 12, "min", "travel_time"))
    assert judge_reading(document, "says", any=["a quiet room"], about=["quiet", "noise"]).passed is False
    assert judge_reading(document, "says", any=["a quiet room"], about=["away"]).passed is None


def test_too_many_things_fail_and_unclear_ones_leave_the_number_open():
    three = [names(LUNA, "affirmed"), names(MILL, "affirmed")]
    fields = {"all_of": [[LUNA], [MILL], [GARDEN]], "at_least": 1, "at_most": 1, "steps": [found_places()]}
    assert judge_reading(reading(f"{LUNA}, {MILL}", *three), "recommends", **fields).passed is False
    assert judge_reading(luna_and_mill("affirmed", "unclear"), "recommends", **fields).passed is None
    assert judge_reading(luna_and_mill("affirmed", "rejected"), "recommends", **fields).passed is True


def test_an_order_is_that_of_the_times_before_that_of_the_words():
    text = f"{LUNA} at noon, after {MILL} at ten"
    both = (names(LUNA, "affirmed"), names(MILL, "affirmed"))
    noon, ten = time("noon", 720, "arrival", LUNA.casefold()), time("ten", 600, "arrival", "old mill")
    fields = {"in_order": [[MILL], [LUNA]], "steps": [found_places()]}
    assert judge_reading(reading(text, *both, noon, ten), "recommends", **fields).passed is True
    assert judge_reading(reading(text, *both), "recommends", **fields).passed is None
    assert (
        judge_reading(reading(text, *both, noon, ten), "recommends", **{**fields, "in_order": [[LUNA], [MILL]]}).passed
        is False
    )


FARES = Tool.model_validate(
    {
        "name": "fares",
        "description": "Finds rides.",
        "parameters": {"type": "object", "properties": {}},
        "entities": [{"items": "options", "name": "kind", "sort": "ride"}],
    }
)
RIDES = call("fares", {"options": [{"kind": "Compact", "price": 52}, {"kind": "Premium", "price": 88}]})
PRICE = {"unit": "yuan", "role": "price", "equals": {"op": "bound", "tool": "fares", "path": "options.*.price"}}


def fare(*parts, said="The Compact or the Premium, 52 yuan or 88 yuan or 70 yuan.", **fields):
    document = reading(said, *parts)
    return judge_reading(document, "number", steps=[RIDES], tools={**TOOLS, "fares": FARES}, **{**PRICE, **fields})


@pytest.mark.parametrize(
    ("value", "subject", "passed"),
    [
        (52, ("compact",), True),
        (88, ("compact",), False),
        (70, ("compact",), False),
        (88, ("premium",), True),
        (52, (), None),
        (52, ("compact", "premium"), None),
        (70, (), False),
    ],
)
def test_a_figure_is_held_against_its_own_thing(value, subject, passed):
    assert fare(figure(f"{value} yuan", value, "yuan", "price", *subject)).passed is passed


def test_a_figure_of_nothing_is_said_of_what_is_proposed():
    compact = names("Compact", "affirmed"), names("Premium", "compared")
    assert fare(*compact, figure("52 yuan", 52, "yuan", "price")).passed is True
    assert fare(*compact, figure("88 yuan", 88, "yuan", "price")).passed is None


@pytest.mark.parametrize(
    ("role", "value", "passed"),
    [("budget", 70, True), ("total", 70, None), (None, 70, None), ("price", 70, False)],
)
def test_a_figure_of_another_role_is_not_compared_and_one_of_none_is_open(role, value, passed):
    finding = fare(figure(f"{value} yuan", value, "yuan", role, "compact"), if_absent="nothing_claimed")
    assert finding.passed is passed
    assert finding.nothing_claimed is (passed is True)


def test_an_unclear_figure_decides_nothing_beside_a_clear_one():
    unsure = figure("70 yuan", 70, "yuan", None, "compact")
    assert fare(unsure).passed is None
    assert fare(figure("52 yuan", 52, "yuan", "price", "compact"), unsure).passed is True
    assert fare(figure("88 yuan", 88, "yuan", "price", "compact"), unsure).passed is False


def test_an_unclear_figure_that_fits_its_thing_harms_nothing():
    finding = fare(figure("52 yuan", 52, "yuan", None, "compact"), if_absent="nothing_claimed")
    assert (finding.passed, finding.nothing_claimed) == (True, False)
    assert fare(figure("52 yuan", 52, "yuan", None, "compact")).passed is None


def test_a_sum_of_no_sure_role_and_of_another_size_is_left_open():
    assert fare(figure("70 yuan", 2000, "yuan", None, "compact"), if_absent="nothing_claimed").passed is None


@pytest.mark.parametrize(
    ("approx", "value", "low", "high", "passed"),
    [
        ("about", 50, 50, 50, True), ("about", 70, 70, 70, False), ("at_most", 60, 0, 60, True), ("at_most", 45, 0, 45, False),
        ("at_least", 50, 50, 99, True), ("at_least", 60, 60, 99, False), ("range", 55, 50, 60, True), ("range", 65, 60, 70, False),
    ],
)  # fmt: skip
def test_an_approximate_figure_is_compared_as_such(approx, value, low, high, passed):
    told = figure("52 yuan", value, "yuan", "price", "compact", approx=approx, low=low, high=high)
    assert fare(told).passed is passed


def test_a_figure_of_a_thing_that_the_check_does_not_ask_for_is_left_alone():
    fields = {"unit": "yuan", "of": ["Compact"], "max": 60, "role": []}
    assert (
        fare(figure("88 yuan", 88, "yuan", "price", "premium"), if_absent="nothing_claimed", **fields).nothing_claimed
        is True
    )
    assert fare(figure("88 yuan", 88, "yuan", "price", "compact"), **fields).passed is False


@pytest.mark.parametrize(
    ("minutes", "role", "passed"),
    [
        (720, "arrival", True),
        (780, "arrival", False),
        ((60, 780), "arrival", False),
        ((720, 0), "arrival", None),
        (720, None, None),
    ],
)
def test_a_clock_time_is_sure_only_with_one_reading_and_its_role(minutes, role, passed):
    document = reading("You are there at twelve.", time("twelve", minutes, role))
    assert judge_reading(document, "clock_time", role="arrival", after="11:00", before="12:30").passed is passed


@pytest.mark.parametrize(
    ("mode", "stance", "passed"),
    [
        ("walking", "affirmed", True),
        ("taxi", "affirmed", False),
        ("taxi", "compared", True),
        ("taxi", "unclear", None),
        ("", "affirmed", True),
    ],
)
def test_only_an_affirmed_way_sends_the_user_on_it(mode, stance, passed):
    document = reading("12 min.", figure("12 min", 12, "min", "travel_time", mode=mode, stance=stance))
    assert judge_reading(document, "travels", by=["walking"]).passed is passed
