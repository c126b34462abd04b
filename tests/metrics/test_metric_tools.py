"""TS: tools by name, with the parameters that they need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_builders import call, make_case, make_trajectory

from pytest_mapsat.metrics.metric_set import tool_selection
from pytest_mapsat.model import Case, ExpectedTool


def select(case, *calls, approved=None):
    return tool_selection(case, make_trajectory(*calls), approved=approved)


def test_the_share_is_of_the_union_of_expected_and_called():
    found = select(make_case(tools=("a", "b")), call("a"), call("c"), call("c"))
    assert found.measure.value == pytest.approx(1 / 3)
    assert (found.correct, found.invalid, found.extra, found.missed) == (("a",), (), ("c",), ("b",))


def test_nothing_expected_and_nothing_called_does_not_apply():
    assert select(make_case()).measure.outcome_class == "not_applicable"


def test_a_call_where_none_is_expected_scores_zero():
    assert select(make_case(tools=()), call("a")).measure.value == 0


def test_a_case_that_leaves_out_its_tools_says_nothing_of_which_are_right():
    left_out = make_case().model_dump(mode="json")
    del left_out["truth"]["tools"]
    assert select(Case.model_validate(left_out), call("a")).measure.outcome_class == "not_applicable"


def test_a_tool_that_does_not_exist_counts_as_called():
    assert select(make_case(tools=("a",)), call("a"), call("nonsense", status="error")).measure.value == 0.5


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_a_required_name_must_be_given_by_the_agent_itself(empty):
    case = make_case(tools=(ExpectedTool(name="a", required=("city",)),))
    assert select(case, call("a", city=empty)).invalid == ("a",)
    assert select(case, call("a")).measure.value == 0


@pytest.mark.parametrize("given_value", [0, False, " ", "x", [0]])
def test_zero_and_false_are_values(given_value):
    case = make_case(tools=(ExpectedTool(name="a", required=("city",)),))
    assert select(case, call("a", city=given_value)).correct == ("a",)


def test_the_required_names_stand_in_one_call():
    case = make_case(tools=(ExpectedTool(name="a", required=("x", "y")),))
    assert select(case, call("a", x=1), call("a", y=1)).measure.value == 0
    assert select(case, call("a", x=1), call("a", x=1, y=1)).measure.value == 1


def test_an_invalid_call_stands_in_the_union_only():
    case = make_case(tools=(ExpectedTool(name="a", required=("x",)), "b"))
    found = select(case, call("a"), call("b"))
    assert (found.measure.value, found.invalid) == (0.5, ("a",))


ruled = make_case(
    tools=(ExpectedTool(name="a", match={"x": {"op": "equal", "value": 1}}, prose=(("x", "be nice"), ("y", "too"))),)
)


#: Hours that cannot be read satisfy nothing and break nothing.
HOURS, UNREADABLE = "09:00-18:00", "ask at the door"
open_then = make_case(
    tools=(
        ExpectedTool(name="a", match={"x": {"op": "open_at", "time": "10:00"}}, prose=(("x", "be nice"), ("y", "too"))),
    )
)


def test_a_machine_rule_must_hold():
    assert select(ruled, call("a", x=2)).invalid == ("a",)
    assert select(ruled, call("a")).invalid == ("a",)
    assert select(ruled, call("a", x=2), call("a", x=1)).correct == ("a",)


def test_a_rule_that_cannot_be_said_does_not_invalidate_but_is_counted():
    found = select(open_then, call("a", x=UNREADABLE))
    assert (found.correct, found.unchecked) == (("a",), 3)


def test_the_call_with_fewest_unknown_rules_counts():
    assert select(open_then, call("a", x=UNREADABLE), call("a", x=HOURS)).unchecked == 2


def test_prose_rules_are_unchecked_until_a_judge_approves():
    assert select(ruled, call("a", x=1)).unchecked == 2
    approved = select(ruled, call("a", x=1), approved=("a",))
    assert (approved.correct, approved.unchecked) == (("a",), 0)
    assert select(ruled, call("a", x=1), approved=()).invalid == ("a",)


def test_approval_does_not_replace_what_a_machine_can_check():
    case = make_case(tools=(ExpectedTool(name="a", required=("x",)),))
    assert select(case, call("a"), approved=("a",)).invalid == ("a",)


def test_rules_of_a_tool_that_was_not_called_are_not_counted():
    assert select(ruled, call("b")).unchecked == 0


def test_a_tool_expected_twice_must_meet_both_expectations():
    case = make_case(tools=(ExpectedTool(name="a", required=("x",)), ExpectedTool(name="a", required=("y",))))
    assert select(case, call("a", x=1)).invalid == ("a",)
    assert select(case, call("a", x=1), call("a", y=1)).measure.value == 1


def test_a_rule_sees_its_own_arguments_and_the_calls_before():
    bound = {"op": "bound", "tool": "b", "path": "spot"}
    near = {"op": "within_m", "lon": 1.0, "lat": 2.0, "metres": 10, "lat_from": "y"}
    case = make_case(tools=(ExpectedTool(name="a", match={"x": near, "z": bound}), "b"))
    asked = call("a", x=1.0, y=2.0, z="here")
    found = call("b").model_copy(update={"result": {"spot": "here"}})
    assert select(case, found, asked).unchecked == 0
    assert select(case, asked, found).unchecked == 1  # bound to a result that does not exist yet
    assert select(case, found, call("a", x=1.0, y=3.0, z="here")).invalid == ("a",)


names = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(names, names)
def test_without_rules_the_score_is_the_overlap_of_the_two_sets(expected, called):
    found = select(make_case(tools=tuple(dict.fromkeys(expected))), *(call(name) for name in called))
    union = set(expected) | set(called)
    if union:
        assert found.measure.value == len(set(expected) & set(called)) / len(union)
    assert set(found.correct) | set(found.invalid) | set(found.extra) | set(found.missed) == union


def test_a_call_is_valid_only_after_the_tools_that_it_builds_on():
    tools = (ExpectedTool(name="find", id="start"), ExpectedTool(name="route", after=("start",)))
    case = make_case(tools=tools)
    assert select(case, call("find"), call("route")).measure.value == 1
    found = select(case, call("route"), call("find"))
    assert (found.measure.value, found.invalid) == (0.5, ("route",))
    assert select(case, call("route"), call("find"), call("route")).measure.value == 1


def test_an_oracle_that_asks_for_what_it_found_has_all_tools_right_and_one_that_guesses_has_not():
    landmark = {"op": "contains", "of": {"op": "bound", "call": "play", "path": "shops.*.landmark"}}
    play, bite = (
        ExpectedTool(name="search", id="play"),
        ExpectedTool(name="search", id="bite", after=("play",), match={"query": landmark}),
    )
    case = make_case(tools=(play, bite))
    theatres = call("search", query="theatre").model_copy(update={"result": {"shops": [{"landmark": "Rowan Square"}]}})
    asked, guessed = (call("search", query=f"noodle bar near {place}") for place in ("Rowan Square", "Linden Gate"))
    assert select(case, theatres, asked).measure.value == 1
    assert select(case, theatres, guessed).measure.value == 0
    assert select(case, asked, theatres).measure.value == 0
