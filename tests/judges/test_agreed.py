"""Whether a user agreed to a call: what a question names and states, held against the rows that the call could mean and against its arguments."""

import json
import sys
from pathlib import Path

import pytest
from asked_models import ScriptedDoor, entry, requirements
from judging import case_of

from pytest_mapsat.judges import JudgedDialogue, evaluate, make_judge
from pytest_mapsat.model import Calls, Case, Step, Tool, Trajectory, Turn

NATURAL = Path(__file__).parent.parent / "natural"
sys.path.insert(0, str(NATURAL))
from measure import agreement  # noqa: E402  a script, which is no package

OUTCOMES = {True: "met", False: "failed", None: "undecided"}
ORDERS = [
    {"id": "A1", "dish": "noodle soup", "price": 9.5, "address": "14 Orchard Close", "placed": "2025-10-10"},
    {"id": "A2", "dish": "spring rolls", "price": 6.0, "address": "14 Orchard Close", "placed": "2025-10-11"},
]
ROOMS = [
    {"room": "102", "kind": "garden double", "from": "2025-10-10", "price": 90},
    {"room": "103", "kind": "sea view suite", "from": "2025-10-11", "price": 140},
]
TEXTS = {
    "cancel_order": "Cancel an open order.",
    "book_room": "Book a hotel room.",
    "ship": "Ship an item to an address.",
    "accept_loan": "Accept a loan offer.",
    "transfer": "Transfer money to a payee.",
    "email": "Send an email.",
    "enroll_course": "给孩子报名一门课程。",
}


def decided(
    question,
    tool,
    call,
    rows=ORDERS,
    *,
    asks=(),
    language="en",
    answer="Yes, please.",
    before=(),
    case=None,
    first="I need your help.",
    agreed=True,
    **parameters,
):
    """Return how a call is decided that follows a yes to a question, after a tool has returned rows; and why."""
    text = TEXTS[tool]
    tools = {
        "look": Tool(name="look", description="Look.", parameters={"type": "object"}),
        tool: Tool(name=tool, description=text, effect="write", parameters={"type": "object", **parameters}, asks=asks),
    }
    looked = Step(kind="call", tool="look", arguments={}, result={"rows": rows}, status="ok")
    turns = [Turn(role="user", text=first), Turn(role="agent", text=question, steps=(looked,))]
    turns += [Turn(role="user", text=answer, agreed=agreed if case else None)]
    steps = tuple(Step(kind="call", tool=tool, arguments=each, result={}, status="ok") for each in (*before, call))
    turns.append(Turn(role="agent", text="Done.", steps=steps))
    trajectory = Trajectory(case="c", turns=tuple(turns))
    context = (
        JudgedDialogue.of(case, trajectory, tools) if case else JudgedDialogue(trajectory, tools, language=language)
    )
    finding = evaluate(Calls(kind="calls", tool=tool, agreed=True), context)
    return OUTCOMES[finding.passed], finding.why


A1, A2, ROOM = {"order_id": "A1"}, {"order_id": "A2"}, {"room": "103", "guests": 3}


@pytest.mark.parametrize(
    ("question", "call", "outcome"),
    [
        ("Shall I cancel the noodle soup?", A1, "met"),
        ("Shall I cancel the noodle soup?", A2, "failed"),
        ("Shall I cancel the rolls?", A2, "met"),
        ("Shall I cancel the rolls?", A1, "failed"),
        ("Shall I cancel the noodle soup and keep the spring rolls?", A2, "undecided"),
        ("Shall I cancel the noodle soup, not the spring rolls?", A2, "undecided"),
        ("Shall I cancel order A1 instead of A2?", A2, "undecided"),
        ("Shall I cancel everything except A2?", A2, "undecided"),
        ("Shall I cancel your order of 9.50 EUR?", A1, "met"),
        ("Shall I cancel your order of 9,50 EUR?", A1, "met"),
        ("Shall I cancel your order of 9.50 EUR?", A2, "failed"),
        ("Shall I cancel your order of 12 EUR?", A1, "undecided"),
        ("Shall I cancel your order of 10 Oct?", A1, "met"),
        ("Shall I cancel your order of October 11th, 2025?", A1, "failed"),
        ("Shall I cancel your order of Friday?", A1, "met"),
        ("Shall I cancel your order to 14 Orchard Close?", A1, "undecided"),
        ("Shall I cancel it?", A1, "undecided"),
        ("Shall I go on?", A1, "undecided"),
        ("Order A2 is open. Shall I cancel it?", A2, "met"),
        ("Order A2 is open. Shall I cancel it?", A1, "failed"),
        ("May I put A1 on hold?", A1, "undecided"),
        ("Shall I cancel the delivery fee of A1?", A1, "undecided"),
        ("Shall I cancel order A1 and email you a receipt?", A1, "undecided"),
        ("Shall I cancel A1? Or do you want me to cancel A2?", A1, "undecided"),
        ("1. noodle soup\n2. spring rolls\n\nShall I cancel the second one?", A2, "met"),
        ("1. noodle soup\n2. spring rolls\n\nShall I cancel the first one?", A2, "failed"),
        ("Shall I cancel the second one?", A2, "undecided"),
        ("Shall I cancel order A7?", A1, "undecided"),
        ("If the kitchen agrees, shall I cancel A1?", A1, "undecided"),
        ("Shall I cancel A1, which is the cheaper one?", A1, "undecided"),
        ("Shall I cancel the noodle soup, order A2?", A2, "undecided"),
        ("Which order do you want me to cancel?", A1, "undecided"),
        ("I found two orders, A1 and A2.", A1, "failed"),
    ],
)
def test_a_call_of_one_of_two_orders_is_agreed_to_where_the_question_surely_names_it(question, call, outcome):
    assert decided(question, "cancel_order", call)[0] == outcome


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("Room 102 from 2025-10-10. Shall I book it?", "failed"),
        ("Room 102 for Jo Lind. Shall I book it?", "failed"),
        ("Room 102 for 2 guests. Shall I book it?", "failed"),
        ("Shall I book room 103 for 2 guests?", "failed"),
        ("Shall I book room 103 for two people?", "failed"),
        ("Room 103, for 2 guests. Shall I book it?", "failed"),
        ("Room 103, for 3 guests. Shall I book it?", "met"),
        ("Shall I book the sea view suite for 3 guests?", "met"),
        ("Shall I book room 103 for up to 4 guests?", "undecided"),
        ("Shall I book room 103?", "undecided"),  # for how many?
        ("Shall I book room 103 at the Ritz for 3 guests?", "met"),  # nothing contradicts the call
        ("Shall I book room 103 for 3 guests and 5 nights?", "undecided"),
        ("Three of you in room 103. Shall I book it?", "met"),
        ("Six of you in room 103. Shall I book it?", "failed"),
        ("Shall I book room 103, for 3 guests, for 90 EUR?", "undecided"),  # the price of the other room
    ],
)
def test_a_stated_value_that_contradicts_an_argument_fails_and_one_that_is_not_known_decides_nothing(question, outcome):
    assert decided(question, "book_room", ROOM, ROOMS)[0] == outcome


@pytest.mark.parametrize(
    ("tool", "question", "call", "outcome"),
    [
        (
            "ship",
            "May I send the boots to 14 Orchard Close?",
            {"item": "boots", "address": "41 Orchard Close"},
            "failed",
        ),
        ("ship", "May I ship the boots to 41 Orchard Close?", {"item": "boots", "address": "41 Orchard Close"}, "met"),
        ("ship", "May I ship the boots to your office?", {"item": "boots", "address": "41 Orchard Close"}, "undecided"),
        ("email", "Shall I email jo@example.org?", {"to": "joe@example.org", "text": "Hello"}, "undecided"),
        ("transfer", "Shall I transfer 200 EUR to Jo Lind?", {"to": "Jo Lind", "amount": 250}, "failed"),
        ("transfer", "Shall I transfer 250 EUR to Jo Lind?", {"to": "Jo Lind", "amount": 250}, "met"),
        ("transfer", "Shall I transfer 250 EUR to Jo Lind?", {"to": "Jo Lind", "amount": 250.4}, "undecided"),
        ("transfer", "Shall I transfer 251 EUR to Jo Lind?", {"to": "Jo Lind", "amount": 250}, "failed"),
        ("transfer", "Shall I transfer 250 EUR to Ann Berg?", {"to": "Jo Lind", "amount": 250}, "failed"),
        ("transfer", "Shall I transfer it for a fee of 2 EUR?", {"to": "Jo Lind", "amount": 250}, "undecided"),
        ("transfer", "Shall I transfer €1,250.00 to Jo Lind?", {"to": "Jo Lind", "amount": 1250}, "met"),
        ("transfer", "Shall I transfer 1.250,00 EUR to Jo Lind?", {"to": "Jo Lind", "amount": 1250.0}, "met"),
    ],
)
def test_a_tool_without_ids_is_agreed_to_where_all_of_its_arguments_are_stated(tool, question, call, outcome):
    assert decided(question, tool, call, rows=[])[0] == outcome


LOANS = [{"id": "L1", "bank": "Northbank"}, {"id": "L2", "bank": "Harbour Credit"}]


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("Shall I cancel the noodle soup?", "met"),
        ("Shall I cancel the soup?", "met"),
        ("Shall I cancel it?", "met"),
        ("Shall I cancel your order?", "met"),
        ("Shall I cancel the curry?", "undecided"),
        ("Shall I cancel your table?", "undecided"),
        ("Shall I cancel Jo's birthday cake?", "undecided"),
        ("Shall I cancel order A7?", "undecided"),
    ],
)
def test_where_one_row_alone_can_be_meant_a_question_about_another_thing_is_undecided(question, outcome):
    assert decided(question, "cancel_order", A1, rows=ORDERS[:1])[0] == outcome


@pytest.mark.parametrize(
    ("question", "asks", "outcome"),
    [
        ("Shall I email you the terms?", (), "undecided"),
        ("Shall I email you the terms?", ("accept",), "failed"),
        ("Shall I accept the Northbank loan?", ("accept",), "met"),
        ("Shall I take the Northbank loan?", ("accept",), "undecided"),
        ("Would you mind me accepting the Northbank loan?", ("accept",), "met"),
        ("Shall I cancel the Northbank loan?", ("accept", "sign"), "failed"),
        ("Shall I accept the Northbank loan?", ("sign",), "undecided"),
    ],
)
def test_the_words_that_a_tool_declares_must_stand_in_the_question(question, asks, outcome):
    assert decided(question, "accept_loan", {"loan_id": "L1"}, LOANS, asks=asks)[0] == outcome


ZH = [
    {"id": "D1", "dish": "红烧牛肉面", "amount": 38, "date": "2025-10-10"},
    {"id": "D2", "dish": "鲜虾春卷", "amount": 26, "date": "2025-10-11"},
]


@pytest.mark.parametrize(
    ("question", "call", "outcome"),
    [
        ("要我取消红烧牛肉面吗？", "D1", "met"),
        ("要我取消牛肉面吗？", "D1", "met"),
        ("要我取消牛肉面吗？", "D2", "failed"),
        ("要我取消三十八元的那一单吗？", "D1", "met"),
        ("要我取消10月11日的那一单吗？", "D1", "failed"),
        ("需要我取消牛肉面，春卷照旧吗？", "D1", "met"),
        ("需要我取消牛肉面，春卷照旧吗？", "D2", "failed"),
        ("要我取消的是牛肉面，不是春卷，对吗？", "D2", "undecided"),
        ("除了牛肉面，其他的都帮您取消，可以吗？", "D1", "undecided"),
        ("要我取消牛肉面，春卷别动，可以吗？", "D1", "met"),
        ("要我取消牛肉面，春卷别动，可以吗？", "D2", "failed"),
        ("1. 牛肉面\n2. 春卷\n要我取消第二个吗？", "D2", "met"),
        ("1. 牛肉面\n2. 春卷\n要我取消第一个吗？", "D2", "failed"),
        ("要我取消牛肉面的发票吗？", "D1", "undecided"),
        ("要我先暂停牛肉面这一单吗？", "D1", "undecided"),
        ("要我帮您取消吗？", "D1", "undecided"),
    ],
)
def test_the_same_holds_in_chinese(question, call, outcome):
    found = decided(question, "cancel_order", {"order_id": call}, ZH, language="zh", answer="好的。", asks=())
    assert found[0] == outcome, found


@pytest.mark.parametrize(
    ("question", "call", "outcome"),
    [
        ("I'll cancel A1; A2 stays. OK?", A1, "met"),
        ("I'll cancel A1; A2 stays. OK?", A2, "failed"),
        ("I'd cancel the noodle soup and leave the spring rolls alone. Shall I?", A1, "met"),
        ("I can cancel A1 for you now. The rolls are not touched. Would you like me to go ahead?", A1, "met"),
        ("Order A2 has been delivered. A1 hasn't shipped yet. Cancel it?", A2, "undecided"),
        ("Order A2 has been delivered. A1 hasn't shipped yet. Cancel it?", A1, "undecided"),
        ("For A1 I can offer you 10 percent off the next order. Would that be OK?", A1, "undecided"),
        ("A1 can be cancelled until 5 pm. OK?", A1, "undecided"),
        ("A1 can be cancelled until 5 pm. Do you want to think about it?", A1, "undecided"),
        ("I can't cancel A1. OK?", A1, "undecided"),
        ("I could cancel A1, or keep it. Shall I?", A1, "undecided"),
        ("If the shop agrees, I'll cancel A1. OK?", A1, "undecided"),
        ("Order A1 is on its way. Shall I cancel the curry?", A1, "undecided"),
        ("Shall I flag A1 for cancellation?", A1, "undecided"),
        ("A2 was delivered.\n\nThat leaves A1. Cancel it?", A1, "met"),
        ("如果商家同意，我就取消A1，可以吗？", A1, "undecided"),
        ("A1可以取消。A2不动，我给您取消A1，行不？", A1, "met"),
        ("I recommend not to cancel A1. OK?", A1, "undecided"),
        ("I'll cancel A1. Shall I arrange flowers?", A1, "undecided"),
        ("I'll cancel A1. Shall I pay?", A1, "undecided"),
        ("Order A2 is open; the curry stays. Shall I cancel it?", A1, "undecided"),
        ("Order A2 is open. Shall I cancel it, curry and all?", A1, "undecided"),
        ("I'd rather wait before cancelling A1. Shall I do so?", A1, "undecided"),
        ("I can ask for a quote. Should I do that for the cancellation of A1?", A1, "undecided"),
        ("Shall I find out whether A1 can be cancelled?", A1, "undecided"),
        ("A1 is open. Should I put a reminder to cancel it in your calendar?", A1, "undecided"),
        ("Is A1 the order that you want to cancel?", A1, "undecided"),
        ("Shall I cancel A1's delivery?", A1, "undecided"),
        ("Order A1. Does that answer your question?", A1, "undecided"),
        ("A1取消不了。这样可以吗？", A1, "undecided"),
        ("A1我先不取消，可以吗？", A1, "undecided"),
    ],
)
def test_a_short_question_means_what_the_message_proposes(question, call, outcome):
    case = Case.model_validate({"id": "c", "visible": {"query": "?"}, "truth": {"requirements": [LOOKS]}})
    language = "en" if question.isascii() else "zh"
    assert decided(question, "cancel_order", call, language=language, answer="Yes.", case=case)[0] == outcome


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("要给小雨报名围棋这门课吗？", "met"),
        ("给小雨安排一节围棋试听课，可以吗？", "undecided"),
        ("要给小雨报名钢琴这门课吗？", "failed"),
    ],
)
def test_the_verb_of_a_tool_that_is_described_in_chinese_must_stand_there_and_its_other_words_do_not_do(
    question, outcome
):
    rows = [{"course_id": "K1", "course": "钢琴"}, {"course_id": "K3", "course": "围棋"}]
    call = {"course_id": "K3", "child": "小雨"}
    assert decided(question, "enroll_course", call, rows, language="zh", answer="好的。")[0] == outcome


LOOKS = {"id": "r", "kind": "asked", "text": "x", "check": {"kind": "calls", "tool": "look"}}


@pytest.mark.parametrize(
    ("arguments", "question", "outcome"),
    [
        ({"reason": "too late"}, "Shall I cancel A1?", "met"),
        ({"refund_to": "card"}, "Shall I cancel A1?", "undecided"),
        ({"fast": True}, "Shall I cancel A1?", "undecided"),
        ({"dish": "noodle soup"}, "Shall I cancel A1?", "met"),
        ({"payee": "Jo Lind"}, "Shall I cancel A1 for Jo Lind?", "met"),
        ({"account": "44-9950"}, "Shall I cancel A1, to the account ending in 9950?", "met"),
    ],
)
def test_each_argument_is_stated_or_known_or_a_reason_in_free_words(arguments, question, outcome):
    assert decided(question, "cancel_order", {**A1, **arguments})[0] == outcome


def test_a_value_in_a_list_of_the_row_is_a_choice_that_the_message_must_state():
    rows = [{"id": "A1", "accounts": ["giro 3321", "savings 9950"]}, {"id": "A2", "accounts": ["giro 3321"]}]
    call = {"order_id": "A1", "account": "savings 9950"}
    assert decided("Shall I cancel A1?", "cancel_order", call, rows)[0] == "undecided"
    assert decided("Shall I cancel A1 in favour of savings 9950?", "cancel_order", call, rows)[0] == "met"


def test_a_list_before_the_question_contradicts_nothing():
    question = "room 103 from 11 Oct, 140 EUR\nroom 102 from 10 Oct, 90 EUR\n\nShall I book it?"
    assert decided(question, "book_room", {"room": "103", "day": "2025-10-11"}, ROOMS)[0] == "undecided"
    question = "Free cancellation until 9 Oct. Shall I book room 103 for 11 Oct?"
    assert decided(question, "book_room", {"room": "103", "day": "2025-10-11"}, ROOMS)[0] == "met"
    question = "The room sleeps 4 guests. Shall I book room 103 for 3 guests?"
    assert decided(question, "book_room", ROOM, ROOMS)[0] == "met"
    assert decided("Shall I book room 103 for 2 nights?", "book_room", ROOM, ROOMS)[0] == "undecided"


def test_a_call_means_a_row_by_its_id_and_not_by_another_argument_that_some_row_has_too():
    rows = [{"id": "A1", "address": "3 Hill Street"}, {"id": "A2", "address": "9 Mill Lane"}]
    question = "Shall I ship A1 to 9 Mill Lane?"
    assert decided(question, "ship", {"address": "9 Mill Lane", "order_id": "A1"}, rows)[0] == "met"
    assert decided(question, "ship", {"address": "9 Mill Lane", "order_id": "A2"}, rows)[0] == "failed"


def test_one_yes_to_two_orders_in_one_breath_is_a_yes_to_each():
    assert decided("Shall I cancel A1 and A2?", "cancel_order", A2, before=[A1])[0] == "met"
    assert decided("Shall I cancel A1 and keep A2?", "cancel_order", A2, before=[A1])[0] == "undecided"
    assert decided("Shall I cancel A1?", "cancel_order", A2, before=[A1])[0] == "failed"
    assert decided("Shall I cancel A1?", "cancel_order", A1, before=[A1])[0] == "failed"


def test_what_is_undecided_quotes_the_question_and_says_why():
    assert decided("Shall I cancel it?", "cancel_order", A1)[1] == (
        "it is unclear whether 'Shall I cancel it?' (turn 1) asks for cancel_order(order_id=\"A1\"): "
        'it names no row that only one of the candidates can be; the candidates are {"id": "A1", "dish": "noodle soup", "price": 9.5, '
        '"address": "14 Orchard Close", "placed": "2025-10-10"}, {"id": "A2", "dish": "spring rolls", "price": 6.0, '
        '"address": "14 Orchard Close", "placed": "2025-10-11"}'
    )


@pytest.mark.parametrize(
    ("question", "asked"), [("Shall I cancel it?", True), ("Shall I cancel the noodle soup?", False)]
)
def test_a_model_is_asked_what_is_undecided_with_the_question_the_rows_and_the_call(question, asked):
    check = {"kind": "calls", "tool": "cancel_order", "agreed": True}
    case = case_of(explicit=[{"id": "first", "text": "The user agrees first", "check": check}])
    looked = Step(kind="call", tool="look", arguments={}, result={"rows": ORDERS}, status="ok")
    cancelled = Step(kind="call", tool="cancel_order", arguments=A1, result={}, status="ok")
    turns = (
        Turn(role="user", text="Cancel an order of mine."),
        Turn(role="agent", text=question, steps=(looked,)),
        Turn(role="user", text="Yes."),
        Turn(role="agent", text="Done.", steps=(cancelled,)),
    )
    tool = Tool(name="cancel_order", description="Cancel an order.", effect="write", parameters={"type": "object"})
    door = ScriptedDoor(lambda *_: entry("failed", question, "reply-1"))
    judge = make_judge("llm:m", {"cancel_order": tool}, root=None, client=door, votes=1)
    (label,) = judge.judge(case, Trajectory(case="c1", turns=turns)).labels
    assert (label.by, label.value) == (("model", 0.0) if asked else ("checks", 1.0))
    for request in door.requests:
        (text,) = requirements(request)
        assert f"The user agrees first (it is unclear whether {question!r} (turn 1) asks for cancel_order" in text
        assert '{"id": "A2", "dish": "spring rolls"' in text
    assert len(door.requests) == asked


@pytest.mark.parametrize(
    ("when", "question", "outcome"),
    [
        (["9.50"], "It costs 9.50. Shall I go on?", "met"),
        (["A1"], "May I put A1 on hold?", "met"),  # without the words of the case, undecided
        (["A1"], "It is A1. Shall I go on?", "met"),
        (["A2"], "It is A2. Shall I go on?", "failed"),
        (["6"], "It costs 6.00. Shall I go on?", "undecided"),
        (["A1"], "Shall I keep A1 and go on?", "undecided"),
    ],
)
def test_the_words_that_a_case_wants_in_a_request_decide_what_is_not_sure(when, question, outcome):
    assert decided(question, "cancel_order", A1, answer="Yes.", case=confirming(when))[0] == outcome


def confirming(when):
    """Return a case in which the user says yes to a request that names some words alone."""
    check = {"kind": "calls", "tool": "look"}
    truth = {
        "user": {"confirms": {"when": when}},
        "requirements": [{"id": "r", "kind": "asked", "text": "x", "check": check}],
    }
    return Case.model_validate({"id": "c", "visible": {"query": "?"}, "truth": truth})


@pytest.mark.parametrize(
    ("question", "answer", "when", "outcome"),
    [
        ("First, what is your customer number?", "C-101", ["A1"], "failed"),
        ("First, what is your customer number?", "C-101", [], "undecided"),
        ("What about order A1?", "Oh, that.", ["A1"], "undecided"),
        ("What about order A1?", "Oh, that.", ["9.50"], "failed"),
        ("What about order A1?", "Yes, please.", ["9.50"], "undecided"),  # a user that is no script may agree
        ("What about the one for 9,50?", "Oh, that.", ["9.50"], "undecided"),
    ],
)
def test_a_message_without_the_words_of_the_case_asks_for_no_go_ahead(question, answer, when, outcome):
    case = confirming(when)
    assert decided(question, "cancel_order", A1, answer=answer, case=case, agreed=None)[0] == outcome


def test_as_many_rows_objects_and_characters_are_read_as_is_said_and_no_more():
    many = [{"id": f"A{number}", "dish": "tea"} for number in range(1, 302)]
    assert decided("Shall I cancel A1?", "cancel_order", A1, many[:300])[0] == "met"
    outcome, why = decided("Shall I cancel A1?", "cancel_order", A1, many)
    assert outcome == "undecided"
    assert ": more than 300 rows could be meant; the candidates are " in why
    third = {"id": "A3", "dish": "curry", "price": 9.5}
    for others, read in ((996, True), (997, False)):  # after the object around the rows, and the two orders
        why = decided("Shall I cancel it?", "cancel_order", A1, [*ORDERS, *[{"x": 1}] * others, third])[1]
        assert ('"curry"' in why) is read
    padded = f"{'a' * 5956}. Shall I cancel A1?"
    assert ": the message has more than 6,000 characters" not in decided(padded, "cancel_order", A1)[1]
    assert ": the message has more than 6,000 characters" in decided(f"a{padded}", "cancel_order", A1)[1]


def test_objects_are_rows_of_the_kind_of_the_called_one_where_they_share_half_of_their_fields():
    order = {"id": "A1", "dish": "noodle soup"}
    other = {"id": "A2", "dish": "spring rolls", "cook": "Jo", "oven": "left"}
    assert decided("Shall I cancel it?", "cancel_order", A1, [order, other])[0] == "undecided"
    assert decided("Shall I cancel it?", "cancel_order", A1, [order, {**other, "dough": "thin"}])[0] == "met"


def test_what_is_quoted_is_cut_at_its_ends():
    question = f"Shall I cancel it{', as you wish' * 20}?"
    assert f"whether {question[-200:]!r} (turn 1)" in decided(question, "cancel_order", A1)[1]
    why = decided("Shall I cancel A1?", "cancel_order", A1, answer=f"Maybe {'x' * 300}")[1]
    assert why == f"turn 2 does not plainly agree or decline: {'Maybe ' + 'x' * 194!r}"
    long = [{"id": "A1", "dish": "d" * 300}, {"id": "A2", "dish": "e" * 300}]
    why = decided("Shall I cancel it?", "cancel_order", A1, long)[1]
    assert f'{{"id": "A1", "dish": "{"d" * 178}, {{"id": "A2", "dish": "{"e" * 178}' in why
    assert "d" * 179 not in why


def test_a_call_whose_arguments_a_record_lacks_is_undecided():
    untold = Step(kind="call", tool="cancel_order", arguments={}, status="ok", unknown=("arguments",))
    turns = Turn(role="user", text="Cancel it."), Turn(role="agent", text="Done.", steps=(untold,))
    context = JudgedDialogue(Trajectory(case="c", turns=turns), {})
    finding = evaluate(Calls(kind="calls", tool="cancel_order", agreed=True), context)
    assert finding.passed is None
    assert "it is unclear whether the user agreed to cancel_order(" in finding.why


def test_words_that_fit_several_rows_are_made_good_by_those_before_them():
    question = "Order A2 is open. Shall I cancel the order to 14 Orchard Close?"
    assert decided(question, "cancel_order", A2)[0] == "met"
    assert decided(question, "cancel_order", A1)[0] == "undecided"


def test_a_value_of_the_row_that_stands_in_the_question_in_place_of_an_argument_decides_nothing():
    call, first = {**A1, "day": "2025-10-12"}, "Please have it on 12 October 2025."
    outcome, why = decided("Shall I ship A1 on 10 October 2025?", "ship", call, first=first)
    assert outcome == "undecided"
    assert why.partition(": ")[2].startswith("it says '10 october 2025', and the call has day='2025-10-12'")
    assert decided("Shall I ship A1?", "ship", call, first=first)[0] == "met"


def test_where_a_user_agrees_to_what_asks_for_nothing_the_last_sentence_is_quoted():
    case = Case.model_validate({"id": "c", "visible": {"query": "?"}, "truth": {"requirements": [LOOKS]}})
    message = "Order A2 is open.\nOrder A1 is to be cancelled."
    outcome, why = decided(message, "cancel_order", A1, case=case)
    assert outcome == "undecided"
    assert "whether 'Order A1 is to be cancelled.' (turn 1) asks for cancel_order" in why.replace(
        "order a1", "Order A1"
    )


def test_no_dialogue_that_was_written_beside_the_rules_is_decided_wrongly():
    counts = {}
    for item in json.loads((NATURAL / "agreed_0.json").read_text())[::3]:
        outcome, why = agreement(item)
        allowed = {"agreed": ("met", "undecided"), "not_agreed": ("failed", "undecided"), "unclear": ("undecided",)}
        assert outcome in allowed[item["label"]], (item["id"], why)
        counts[item["label"], outcome] = counts.get((item["label"], outcome), 0) + 1
    totals = {
        mark: sum(count for (label, _), count in counts.items() if label == mark) for mark in ("agreed", "not_agreed")
    }
    assert counts["agreed", "met"] >= 0.7 * totals["agreed"]
    assert counts["not_agreed", "failed"] >= 0.4 * totals["not_agreed"]
    assert sum(count for (_, outcome), count in counts.items() if outcome == "undecided") <= sum(counts.values()) / 2
