"""The checks on what a machine reads of a reply: the structured output at a path, its schema, a pattern in the text; and which reply is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import TOOLS, call, check_of, dialogue, found_places, judge_dialogue

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import Trajectory, Turn, Visible

ORDER = {
    "total": 42.5,
    "items": [{"id": "A1", "price": 40}, {"id": "A2", "price": 2.5}],
    "note": None,
    "eta": {"min": 25},
}


NULL = {"op": "equal", "value": None}


def said(*outputs, text="Done."):
    """A dialogue of one reply for each output."""
    turns = [Turn(role="user", text="Order it.")]
    for output in outputs:
        turns += [Turn(role="agent", text=text, output=output), Turn(role="user", text="Go on.")]
    return Trajectory(case="c1", turns=tuple(turns[:-1]))


def judge(check, *outputs, text="Done."):
    return judge_dialogue(said(*outputs, text=text), **check)


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"path": "total", "equals": 42.5}, True),
        ({"path": "total", "equals": "42.50"}, True),
        ({"path": "total", "equals": 42}, False),
        ({"path": "total", "equals": {"op": "between", "min": 40, "max": 45}}, True),
        ({"path": "items.*.id", "equals": ["A1", "A2"]}, True),
        ({"path": "items.*.id", "equals": "A1"}, False),
        ({"path": "items.1.price", "equals": 2.5}, True),
        ({"path": "items.*.price", "equals": {"op": "between", "max": 40}}, True),
        ({"path": "note", "equals": {"op": "absent"}}, True),
        ({"path": "reason", "equals": {"op": "absent"}}, True),
        ({"path": "note", "equals": {"op": "present"}}, False),
        ({"path": "eta.min", "equals": 25}, True),
        ({"path": "eta", "equals": {"min": 25}}, None),
        ({"path": "", "equals": {"op": "present"}}, True),
    ],
)
def test_values_at_a_path_are_held_against_a_match(check, passed):
    if passed is None:
        with pytest.raises(ValueError, match="op"):
            check_of("output", **check)
        return
    assert judge({"kind": "output", **check}, ORDER).passed is passed


@pytest.mark.parametrize(
    ("path", "data", "match", "passed"),
    [
        # Every element has the path, or the check fails.
        ("lines.*.price", {"lines": [{"price": 1}, {"price": 2}]}, {"op": "present"}, True),
        ("lines.*.price", {"lines": [{"price": 1}, {"name": "x"}]}, {"op": "present"}, False),
        ("lines.*.price", {"lines": [{"name": "x"}, {"price": 1}]}, {"op": "between", "min": 0}, False),
        ("lines.*.price", {"lines": [{"price": 1}, "x", 1, None]}, 1, False),
        ("lines.*.price", {"lines": [{"price": 1}, {}]}, [1, None], False),
        ("lines.*.price", {"lines": {"a": {"price": 1}, "b": {}}}, 1, False),
        ("*.price", {"a": {"price": 1}, "b": {}}, 1, False),
        ("*", {"a": 1, "b": 1}, 1, True),
        # Null is a value that is there.
        ("lines.*.price", {"lines": [{"price": None}, {"price": None}]}, NULL, True),
        ("lines.*.price", {"lines": [{"price": None}, {}]}, NULL, False),
        ("lines.*.price", {"lines": [{"price": 1}, {"price": None}]}, {"op": "present"}, False),
        # Only absent fits what is missing, and it is never there in part.
        ("lines.*.price", {"lines": [{}, {}]}, {"op": "absent"}, True),
        ("lines.*.price", {"lines": [{"price": None}, {}]}, {"op": "absent"}, True),
        ("lines.*.price", {"lines": [{"price": 1}, {}]}, {"op": "absent"}, False),
        ("lines.*.price", {"lines": []}, {"op": "absent"}, True),
        # A list without elements has none that could lack the path; with nothing at all, nothing is there.
        ("lines.*.price", {"lines": []}, {"op": "present"}, False),
        ("lines.*.price", {}, {"op": "present"}, False),
        ("orders.*.lines.*.price", {"orders": [{"lines": [{"price": 1}]}, {"lines": []}]}, 1, True),
        ("orders.*.lines.*.price", {"orders": [{"lines": [{"price": 1}]}, {}]}, 1, False),
        ("orders.*.lines.*.price", {"orders": [{"lines": [{"price": 1}]}, {"lines": None}]}, 1, False),
        ("orders.*.lines.*.price", {"orders": [{"lines": [{"price": 1}]}, {"lines": [{}]}]}, 1, False),
        ("orders.*.lines.0.price", {"orders": [{"lines": [{"price": 1}]}, {"lines": []}]}, 1, False),
        ("orders.*.lines.0.price", {"orders": [{"lines": [{"price": 1}]}] * 2}, 1, True),
    ],
)
def test_an_element_without_the_path_fails(path, data, match, passed):
    check = {"kind": "output", "path": path, "equals": match}
    finding = judge(check, data)
    assert finding.passed is passed
    # Put in a list, the same rule holds one star deeper.
    assert judge({**check, "path": f"all.*.{path}"}, {"all": [data]}).passed is passed
    assert judge({"kind": "not", "check": check}, data).passed is not passed


def test_a_missing_part_is_told_beside_the_values_that_are_wrong():
    check = {"kind": "output", "path": "lines.*.price", "equals": 1}
    finding = judge(check, {"lines": [{"price": 1}, {}, {"price": 2}]})
    assert (finding.passed, finding.why) == (False, "lines.*.price is missing in an element, 2")
    finding = judge(check, {"lines": [{"price": 1}, {"price": 1}]})
    assert (finding.passed, finding.why) == (True, "lines.*.price is 1, 1")


def test_of_more_values_than_are_read_nothing_is_sure_that_the_rest_could_turn():
    every = {"kind": "output", "path": "lines.*", "equals": 1}
    for size, last, passed in ((9_999, 1, True), (10_001, 2, None), (10_001, 1, None)):
        assert judge(every, {"lines": [1] * (size - 1) + [last]}).passed is passed
    assert judge(every, {"lines": [2] + [1] * 10_001}).passed is False


def test_in_several_replies_each_element_that_a_star_leads_to_has_the_path():
    check = {"kind": "output", "path": "lines.*.price", "equals": 1, "turn": "any"}
    whole, part = {"lines": [{"price": 1}]}, {"lines": [{"price": 1}, {}]}
    assert judge(check, whole, {"total": 3}).passed is True
    assert judge(check, whole, part).passed is False
    assert judge({**check, "turn": "last"}, part, whole).passed is True


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("totl", "the structured output has no totl (did you mean 'total'?)"),
        ("items.*.prize", "the structured output has no items.*.prize (did you mean 'price'?)"),
        (
            "items.7.id",
            "the structured output has no items.7.id (found [{'id': 'A1', 'price': 40}, {'id': 'A2', 'price': 2.5}])",
        ),
        ("zzz.q", "the structured output has no zzz.q (there are: total, items, note, eta)"),
    ],
)
def test_a_path_that_the_output_does_not_have_fails_and_says_what_is_there(path, why):
    finding = judge({"kind": "output", "path": path, "equals": 1}, ORDER)
    assert (finding.passed, finding.why) == (False, why)


def test_what_failed_is_told_with_the_value():
    finding = judge({"kind": "output", "path": "items.*.id", "equals": "A1"}, ORDER)
    assert finding.why == "items.*.id is 'A2'"
    assert finding.wanted == "items.*.id equal to 'A1' in the last reply"


def test_a_reply_without_output_fails():
    check = {"kind": "output", "path": "total", "equals": 1}
    assert judge(check, None).why == "no reply has a structured output"
    assert judge(check, {"total": 1}, None).why == "the last reply has no structured output, but reply 1 has"
    unread = judge({"kind": "output"}, None)  # the dialogue is of no case: there is no schema
    assert (unread.passed, unread.broken, unread.why) == (None, True, "the case shows no output_schema")
    of_case = evaluate(check_of("output"), JudgedDialogue(said(None), TOOLS, Visible(query="?", output_schema=SCHEMA)))
    assert (of_case.passed, of_case.why) == (False, "no reply has a structured output")


@pytest.mark.parametrize(
    ("text", "schema", "why"),
    [
        ('{"total": 1}', {}, " (its text is JSON, and was not handed over as data: text is read as data where the case has an output_schema)"),
        ('{"total": 1}', {"type": "object"}, " (its text is JSON, and was not handed over as data)"),
        ('{"total": 1}', None, " (its text is JSON, and was not handed over as data)"),
        ("Done.", {}, ""),
    ],
)  # fmt: skip
def test_json_in_the_text_of_a_reply_without_output_is_told(text, schema, why):
    visible = None if schema is None else Visible(query="?", output_schema=schema)
    check = check_of("output", path="total", equals=1)
    finding = evaluate(check, JudgedDialogue(said(None, text=text), TOOLS, visible))
    assert (finding.passed, finding.why) == (False, f"no reply has a structured output{why}")


def test_the_reply_that_is_read_is_named():
    for turn, words in (("any", "any reply"), ("first", "the first reply"), ("last", "the last reply"), (2, "reply 2")):
        finding = judge({"kind": "output", "path": "total", "equals": 1, "turn": turn}, {"total": 1}, {"total": 1})
        assert (finding.passed, finding.wanted) == (True, f"total equal to 1 in {words}")
    found = judge({"kind": "output", "path": "", "equals": {"op": "present"}}, {"total": 1})
    assert (found.passed, found.why) == (True, "the structured output is {'total': 1}")
    absent = judge({"kind": "output", "path": "note", "equals": {"op": "absent"}}, {"total": 1})
    assert (absent.passed, absent.why) == (True, "note is nothing")


def test_what_cannot_be_told_of_a_value_is_said_with_the_values():
    bound = {"op": "bound", "tool": "search_poi", "path": "pois.*.price"}
    finding = judge({"kind": "output", "path": "total", "equals": bound}, {"total": 42.5})
    assert finding.passed is None
    assert finding.why.startswith("it is unclear whether 42.5 is ")


@pytest.mark.parametrize(
    ("turn", "passed"),
    [("first", True), ("last", False), (1, True), (2, False), (3, False), (4, False), ("any", False)],
)
def test_turn_says_which_reply_is_read(turn, passed):
    check = {"kind": "output", "path": "total", "equals": 1, "turn": turn}
    assert judge(check, {"total": 1}, {"total": 2}, {"total": 3}).passed is passed


def test_a_value_bound_to_a_result_is_held_against_it():
    bound = {"op": "bound", "tool": "search_poi", "path": "pois.*.price"}
    check = {"kind": "output", "path": "total", "equals": bound}
    steps = (call(result={"pois": [{"price": 42.5}]}),)
    for total, passed in ((42.5, True), (41, False)):
        turns = Turn(role="user", text="?"), Turn(role="agent", text="Done.", steps=steps, output={"total": total})
        assert judge_dialogue(Trajectory(case="c1", turns=turns), **check).passed is passed
    assert judge(check, {"total": 42.5}).passed is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def naive(data, parts, *, starred=False):
    """All values at a path, by hand; None for an element of * that does not have it."""
    if not parts:
        return [data]
    head, rest = parts[0], parts[1:]
    inside = [] if not starred else None
    if head == "*" and isinstance(data, dict | list):
        inside = list(data.values()) if isinstance(data, dict) else data
    elif isinstance(data, dict) and head in data:
        inside = [data[head]]
    elif isinstance(data, list) and head.isdigit() and int(head) < len(data):
        inside = [data[int(head)]]
    if inside is None:
        return [None]
    return [value for member in inside for value in naive(member, rest, starred=starred or head == "*")]


@given(
    st.dictionaries(st.sampled_from("abc"), JSON, max_size=3),
    st.lists(st.sampled_from(["a", "b", "c", "*", "0", "1"]), min_size=1, max_size=3),
)
def test_any_path_into_any_output_is_read_as_by_hand(data, parts):
    values = naive(data, parts)
    check = {"kind": "output", "path": ".".join(parts), "equals": {"op": "present"}}
    assert judge(check, data).passed is (bool(values) and all(value not in (None, "", [], {}) for value in values))


SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "number", "minimum": 0}, "items": {"type": "array", "items": {"type": "string"}}},
    "required": ["total"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ({"total": 3, "items": ["a"]}, "the structured output fits the schema"),
        ({"total": "3"}, "total: found '3', expected a number"),
        ({"items": []}, "'total' is missing"),
        ({"total": -1}, "total: found -1, expected at least 0"),
        ({"total": 1, "items": ["a", 2]}, "items[1]: found 2, expected a string"),
        ({"total": 1, "extra": 1}, "extra: no field of this name is requested"),
    ],
)
def test_an_output_fits_the_schema_of_the_case_or_it_is_said_where_not(output, why):
    visible = Visible(query="?", output_schema=SCHEMA)
    finding = evaluate(check_of("output"), JudgedDialogue(said(output), TOOLS, visible))
    assert (finding.passed, finding.why) == (why.startswith("the structured"), why)


@pytest.mark.parametrize(
    ("pattern", "text", "quoted"),
    [
        (r"Order [A-Z]\d+", "Your Order A1 is cancelled.", "Order A1"),
        (r"(?i)order a1", "ORDER A1", "ORDER A1"),
        (r"订单A\d", "您的订单A1已取消。", "订单A1"),
        (r"^Done\.$", "Done.", "Done."),
        (r"(?m)^Done$", "Well.\nDone\n", "Done"),
    ],
)
def test_a_pattern_is_found_and_quoted(pattern, text, quoted):
    finding = judge({"kind": "matches", "pattern": pattern}, None, text=text)
    assert finding.passed is True
    (quote,) = finding.quotes
    assert (quote.text, text[quote.start : quote.end], quote.turn) == (quoted, quoted, 1)


def test_a_pattern_that_is_not_found_fails():
    finding = judge({"kind": "matches", "pattern": "A2"}, None, text="Order A1.")
    assert (finding.passed, finding.why) == (False, "nothing in the last reply matches")


def test_a_pattern_that_backtracks_elsewhere_is_read_in_the_time_of_the_text():
    assert judge({"kind": "matches", "pattern": "(a+)+$"}, None, text="a" * 50_000 + "b").passed is False


@pytest.mark.parametrize(
    ("turn", "passed"), [(1, True), (2, False), (3, False), ("first", True), ("last", False), ("any", True)]
)
@pytest.mark.parametrize(
    "check",
    [
        {"kind": "says", "any": ["Old Mill"], "about": ["mill"]},
        {"kind": "matches", "pattern": "Old Mill"},
        {"kind": "recommends", "only": True, "any_of": ["Old Mill"]},
        {"kind": "number", "unit": "yuan", "max": 40},
    ],
)
def test_checks_of_replies_read_the_turn_that_they_name(check, turn, passed):
    replies = dialogue("I recommend Old Mill, 40 yuan per person.", "It is raining today.", steps=[found_places()])
    assert judge_dialogue(replies, **check, turn=turn).passed is passed


def test_a_number_counts_blank_replies_too():
    replies = dialogue("", "I recommend Old Mill.")
    assert judge_dialogue(replies, "says", any=["Old Mill"], turn=2).passed is True
    assert judge_dialogue(replies, "says", any=["Old Mill"], turn=1).passed is False


def test_the_json_of_an_output_is_read_as_the_agents_own_words():
    own = {"answer": "Go to Old Mill."}
    assert judge({"kind": "says", "any": ["Old Mill"]}, own, text='{"answer": "Go to Old Mill."}').passed is True
    assert judge({"kind": "says", "any": ["Old Mill"]}, None, text='{"answer": "Go to Old Mill."}').passed is False
