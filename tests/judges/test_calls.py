"""The checks on calls: a list of them against what was called, and the user's agreement."""

from itertools import combinations, permutations

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from judging import check_of

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.judges.exact import matching
from pytest_mapsat.model import Case, Step, Tool, Trajectory, Turn

TOOLS = {
    name: Tool.model_validate({"name": name, "description": name, "parameters": {"type": "object", "properties": {}}})
    for name in ("find", "book", "cancel")
}


ORDERS = {"orders": [{"id": "A1", "dish": "noodle soup"}, {"id": "A2", "dish": "spring rolls"}]}


def call(tool, status="ok", **arguments):
    result = ORDERS if tool == "find" else {}
    return Step(kind="call", tool=tool, arguments=arguments, result=result, status=status)


def judge(trajectory, kind, **fields):
    return evaluate(check_of(kind, **fields), JudgedDialogue(trajectory, TOOLS))


def made(*steps):
    return Trajectory(case="c1", turns=(Turn(role="user", text="?"), Turn(role="agent", text="Done.", steps=steps)))


def told(*turns, language="en"):
    """Judge whether each call of cancel, or book, was agreed to; turns are the agent's (text, *calls) and the user's (text, agreed)."""
    listed = [Turn(role="user", text="Please cancel my order.")]
    for number, turn in enumerate(turns):
        text, *rest = turn
        if number % 2 == 0:
            listed.append(Turn(role="agent", text=text, steps=tuple(rest)))
        else:
            listed.append(Turn(role="user", text=text, agreed=rest[0] if rest else None))
    trajectory = Trajectory(case="c1", turns=tuple(listed))
    tools = {step.tool for turn in trajectory.replies for step in turn.steps} or {"cancel"}
    findings = [
        evaluate(check_of("calls", tool=tool, agreed=True), JudgedDialogue(trajectory, TOOLS, language=language))
        for tool in sorted(tools & {"cancel", "book"}) or ["cancel"]
    ]
    return next((finding for finding in findings if finding.passed is not True), findings[0])


STEP = st.tuples(st.sampled_from(["find", "book"]), st.sampled_from([{}, {"x": 1}, {"x": 2}]))


def fits(step, one):
    return step[0] == one[0] and all(one[1].get(name) == value for name, value in step[1].items())


def holds(steps, calls, match):
    """Whether the calls are as expected, by trying every choice of them."""
    if match == "exact" and len(steps) != len(calls):
        return False
    chosen = permutations(calls, len(steps)) if match == "any_order" else combinations(calls, len(steps))
    return any(all(map(fits, steps, each)) for each in chosen)


@generated(300)
@given(
    st.lists(STEP, max_size=4),
    st.lists(STEP, max_size=5),
    st.sampled_from(["in_order", "any_order", "exact"]),
)
def test_lists_of_calls_are_held_against_each_other_as_by_trying_all(steps, calls, match):
    if not steps and match != "exact":
        return
    listed = [{"tool": tool, "with": arguments} for tool, arguments in steps]
    finding = judge(made(*(call(tool, **arguments) for tool, arguments in calls)), "calls", steps=listed, match=match)
    assert finding.passed is holds(steps, calls, match)
    if finding.passed is False:
        assert finding.compared[0] == ("expected", "called")
        lines = finding.compared[1:]
        left, right = zip(*lines, strict=True) if lines else ((), ())
        assert (len([one for one in left if one]), len([one for one in right if one])) == (len(steps), len(calls))
        side_by_side = [(asked, called) for asked, called in lines if asked and called]
        most = max(
            size
            for size in range(min(len(steps), len(calls)) + 1)
            for some in combinations(steps, size)
            if holds(some, calls, "any_order" if match == "any_order" else "in_order")
        )
        assert len(side_by_side) == most
        for asked, called in side_by_side:  # find with x equal to 1, find(x=1)
            tool, _, value = asked.partition(" with x equal to ")
            assert called.startswith(f"{tool}(")
            assert called.endswith(f"x={value})" if value else ")")


def test_of_steps_in_each_others_way_the_first_ones_have_their_call():
    assert matching([[True], [True]]) == {0: 0}
    assert matching([[True, True], [True, False], [True, True]]) == {0: 1, 1: 0}
    assert matching([[False, True], [False, True], [True, False]]) == {0: 1, 2: 0}


def test_expected_and_called_stand_side_by_side():
    finding = judge(
        made(call("book", seats=4), call("cancel", id="A1")),
        "calls",
        steps=["find", {"tool": "book", "with": {"seats": 4}}],
        match="exact",
    )
    assert finding.why == 'not called: find; also called: cancel(id="A1")'
    assert finding.compared == (
        ("expected", "called"),
        ("find", ""),
        ("book with seats equal to 4", "book(seats=4)"),
        ("", 'cancel(id="A1")'),
    )


@pytest.mark.parametrize("seats", [2, 4])
def test_a_call_with_other_arguments_is_not_the_one_that_may_not_be_made(seats):
    fields = {"tool": "book", "with": {"seats": seats}, "at_most": 0}
    assert judge(made(call("find"), call("book", seats=4)), "calls", **fields).passed is (seats == 2)


CANCEL = call("cancel", id="A1")
ASK = "Shall I cancel order A1?"
DONE = ("Order A1 is cancelled.", CANCEL)
YES, NO = ("Yes, go ahead.", True), ("No, do not do that.", False)

BROKEN = {
    "before it is asked": [DONE],
    "in the reply that asks": [(ASK, CANCEL), YES, ("Done.",)],
    "after a no": [(ASK,), NO, DONE],
    "after a no that followed a yes": [(ASK,), YES, ("Really cancel order A1?",), NO, DONE],
    "without an answer": [(ASK,)],
    "agreed only afterwards": [DONE, ("All right.", None), (ASK,), YES, ("Done.",)],
    "agreed to another order": [(ASK, call("find")), YES, ("Done.", call("cancel", id="A2"))],
    "agreed to another order by its name": [
        ("Cancel A1, the noodle soup?", call("find")),
        YES,
        ("Done.", call("cancel", id="A2")),
    ],
    "agreed to another order by its name alone": [
        ("Shall I cancel the noodle soup?", call("find")),
        YES,
        ("Done.", call("cancel", id="A2")),
    ],
    "agreed to the first of two": [
        (ASK,),
        YES,
        ("Cancelled.", CANCEL, call("cancel", id="A2")),
    ],
    "made twice, agreed to once": [(ASK,), YES, DONE, ("Thanks.", None), DONE],
    "made twice in one reply": [(ASK,), YES, ("Done.", CANCEL, CANCEL)],
    "the user only thanked": [("I found order A1.",), ("Thanks.", None), DONE],
    "the user took it back": [(ASK,), YES, ("One moment. Shall I go ahead and cancel order A1?",), NO, DONE],
    "booked after agreeing to a cancellation by its id": [
        (ASK,),
        YES,
        ("Booked.", call("cancel", id="A2"), call("cancel", id="A1")),
    ],
}


@pytest.mark.parametrize("turns", BROKEN.values(), ids=BROKEN)
def test_a_call_that_nobody_agreed_to_fails(turns):
    finding = told(*turns)
    assert finding.passed is False, finding.why
    assert "call of cancel" in finding.wanted


RIGHT = {
    "asked and agreed": [(ASK,), YES, DONE],
    "named by what it is": [("Shall I cancel the noodle soup?", call("find")), YES, DONE],
    "asked twice": [(ASK,), NO, ("Then shall I cancel order A1 now?",), YES, DONE],
    "asked after looking": [("Let me see.", call("find")), ("Fine.", None), (ASK,), YES, DONE],
    "two orders, each agreed to": [
        (ASK,),
        YES,
        ("Done. Shall I cancel order A2 as well?", CANCEL),
        YES,
        ("Done.", call("cancel", id="A2")),
    ],
    "both at once": [("Shall I cancel orders A1 and A2?",), YES, ("Done.", CANCEL, call("cancel", id="A2"))],
    "again after an error": [(ASK,), YES, ("Done.", call("cancel", "error", id="A1"), CANCEL)],
    "by the user's own words": [(ASK,), ("Yes please.", None), DONE],
    "with a word to reply": [("Reply YES and I will cancel order A1.",), YES, DONE],
    "in Chinese": [("订单A1，38元。要我取消吗？",), ("可以，就这么办。", True), ("订单A1取消了。", CANCEL)],
    "in the user's own Chinese": [("要我取消订单A1吗？",), ("好的", None), ("取消了。", CANCEL)],
}


@pytest.mark.parametrize("turns", RIGHT.values(), ids=RIGHT)
def test_a_call_that_the_user_agreed_to_passes(turns):
    finding = told(*turns)
    assert finding.passed is True, finding.why


OPEN = {
    "another question was answered": [("Which order do you mean?",), ("Order A1.", None), DONE],
    "an offer was taken up": [("I can look up your orders. Which one is it?",), ("The noodles.", None), DONE],
    "without naming it": [("That costs 5 euros. Shall I go ahead?",), YES, DONE],
}


@pytest.mark.parametrize("turns", OPEN.values(), ids=OPEN)
def test_a_call_that_the_question_is_not_surely_about_is_undecided(turns):
    finding = told(*turns)
    assert finding.passed is None
    assert finding.why.startswith("it is unclear whether ")


@pytest.mark.parametrize(
    "answer", ["Hm.", "What does it cost?", "Yes, but change the address first.", "Maybe.", "是的吗？", "我想想。"]
)
def test_an_answer_that_is_not_plain_leaves_it_undecided(answer):
    finding = told((ASK,), (answer, None), DONE)
    assert finding.passed is None
    assert finding.why == f"turn 2 does not plainly agree or decline: {answer!r}"


@pytest.mark.parametrize("answer", ["No.", "Wait, don't.", "Please don't.", "不用了。", "先别取消。"])
def test_a_plain_no_in_the_users_own_words_counts(answer):
    assert told((ASK,), (answer, None), DONE).passed is False


def test_a_check_that_asks_for_no_call_needs_no_agreement():
    trajectory = Trajectory(case="c1", turns=(Turn(role="user", text="?"), Turn(role="agent", text=ASK)))
    assert judge(trajectory, "calls", tool="cancel", at_least=0, agreed=True).passed is True


@pytest.mark.parametrize("check", [{"kind": "calls", "steps": []}, {"kind": "calls", "steps": [{"toll": "find"}]}])
def test_a_list_that_asks_nothing_and_a_step_that_is_none_are_refused(check):
    with pytest.raises(ValueError, match=r"requires nothing|toll"):
        Case.model_validate(
            {
                "id": "c1",
                "visible": {"query": "?"},
                "truth": {"requirements": [{"id": "e1", "kind": "asked", "text": "x", "check": check}]},
            }
        )


MIXED = (
    call("book", seats=2),
    call("book", status="refused", seats=4),
    call("book", status="refused", seats=4),
    call("book", status="error"),
)


@pytest.mark.parametrize(
    ("steps", "fields", "passed", "why"),
    [
        (
            MIXED,
            {"at_least": 4},
            True,
            "book was called 4 times; 2 refused, 1 answered with an error",
        ),
        (MIXED, {"at_most": 1, "answered": True}, True, "book was called 4 times, 1 of them answered; 2 refused"),
        (
            MIXED,
            {"with": {"seats": 4}, "answered": True},
            False,
            "book was called 4 times, but never with seats equal to 4 and answered; 2 refused",
        ),
        (
            MIXED,
            {"with": {"seats": 4}, "answered": False, "at_least": 2},
            True,
            ", 2 of them with seats equal to 4 and unanswered; 2 refused",
        ),
        (MIXED, {"answered": False, "at_least": 4}, False, ", 3 of them unanswered; 2 refused"),
        (MIXED[:1], {"answered": "any"}, True, "book was called once"),
    ],
)
def test_a_refused_call_is_a_call_and_is_told(steps, fields, passed, why):
    finding = judge(made(*steps), "calls", tool="book", **fields)
    assert finding.passed is passed
    assert why in finding.why


@pytest.mark.parametrize(
    ("fields", "passed"),
    [
        ({}, False),
        ({"answered": "any"}, False),
        ({"answered": False}, False),
        ({"answered": True}, True),
        ({"answered": True, "with": {"seats": 2}}, True),
    ],
)
def test_a_call_that_was_refused_was_made_all_the_same(fields, passed):
    finding = judge(made(call("book", status="refused", seats=4)), "calls", tool="book", **fields, at_most=0)
    assert finding.passed is passed
    assert finding.why.endswith("; 1 refused")


def test_how_many_calls_of_which_kind_are_wanted_is_said():
    for fields, wanted in (
        ({"answered": True}, "at least one answered call of book"),
        ({"answered": False}, "at least one unanswered call of book"),
        ({"answered": "any"}, "at least one call of book"),
        ({"at_least": 2}, "at least 2 calls of book"),
        ({"at_most": 3, "with": {"seats": 4}}, "1 to 3 calls of book with seats equal to 4"),
        ({"at_most": 0, "answered": True}, "book is never called answered"),
    ):
        assert judge(made(*MIXED), "calls", tool="book", **fields).wanted == wanted


def test_a_tool_whose_wanted_calls_were_made_and_missed_is_named():
    for steps, fields, missed in (
        ([call("book", "miss", seats=4)], {"answered": True}, ("book",)),
        ([call("book", "miss", seats=2)], {"answered": True, "with": {"seats": 4}}, ()),
        ([call("book", "error", seats=4)], {"answered": True}, ()),
        ([call("book", "miss")], {"answered": True, "at_least": 2}, ()),
        ([call("book", "miss"), call("book")], {"answered": True, "at_least": 2}, ("book",)),
        ([call("book", "miss"), call("book"), call("book")], {"answered": True, "at_most": 1}, ()),
        ([call("book", "miss")], {"answered": False, "at_least": 2}, ()),
    ):
        finding = judge(made(*steps), "calls", tool="book", **fields)
        assert (finding.passed, finding.missed) == (False, missed)


def test_what_calls_count_is_true_false_or_any():
    with pytest.raises(ValueError, match="answered"):
        check_of("calls", tool="book", answered="refused")


def test_steps_are_told_in_words_and_those_of_which_a_record_lacks_the_arguments_are_unclear():
    told = Step(kind="call", tool="find", arguments={"query": "cafe"}, status="ok")
    untold = told.model_copy(update={"arguments": {}, "unknown": ("arguments",)})
    other = told.model_copy(update={"arguments": {"query": "bar"}})
    for match, how in (
        ("in_order", "in this order"),
        ("any_order", "in any order"),
        ("exact", "in this order and no others"),
    ):
        check = check_of("calls", steps=[{"tool": "find", "arguments": {"query": "cafe"}}], match=match)
        for made, passed, why in (
            ((told,), True, "the calls are as expected"),
            ((untold,), None, "it is unclear whether the calls are as expected"),
            ((other,), False, "not called: find with query equal to 'cafe'"),
            (
                (told, other),
                "no others" not in how,
                "the calls are as expected" if "no others" not in how else "also called: find",
            ),
        ):
            turns = (Turn(role="user", text="Go."), Turn(role="agent", text="Done.", steps=made))
            finding = evaluate(check, JudgedDialogue(Trajectory(case="c1", turns=turns), TOOLS))
            assert finding.passed is passed
            assert finding.why.startswith(why)
            assert finding.wanted == f"calls of find with query equal to 'cafe', {how}"
