"""Calls that came when no reply was under way: a check holds with and without them, or it does not hold."""

import pytest
import shop
from judging import check_of

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import RowChange, Step, Trajectory, Turn
from pytest_mapsat.registry import check, exchange
from pytest_mapsat.suite import open_suite

CANCEL = {"number": "o1", "reason": "too late"}
CHANGED = RowChange(table="orders", id="o1", before=shop.ORDERS[0], after={**shop.ORDERS[0], "status": "cancelled"})


def call(tool="cancel_order", **arguments):
    return Step(kind="call", tool=tool, arguments=arguments or CANCEL)


def late(tool="cancel_order", **arguments):
    return Step(
        kind="call",
        tool=tool,
        arguments=arguments or CANCEL,
        status="unknown",
        unknown=("result", "changed"),
    )


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return open_suite(shop.write_shop(tmp_path_factory.mktemp("late") / "shop"))


@pytest.fixture
def judged(suite):
    """Return what judges a check on a dialogue of one reply, with its calls and the late ones."""
    case = suite.load(suite.entries(suite.root / "cases.jsonl")[0])

    def judge(written, *after_end, steps=(), replies=1):
        turns = (Turn(role="user", text="Cancel it?"), *[Turn(role="agent", text="Done.", steps=steps)] * replies)
        trajectory = Trajectory(case=case.id, turns=turns, after_end=after_end)
        return evaluate(written, JudgedDialogue.of(case, trajectory, suite.tools, suite=suite))

    return judge


def test_a_record_that_tells_no_call_leaves_open_what_was_called_and_changed(suite):
    case = suite.load(suite.entries(suite.root / "cases.jsonl")[0])
    turns = (Turn(role="user", text="Cancel it?"), Turn(role="agent", text="Done."))

    @check
    def none_called(episode):
        assert not episode.calls

    def passed(written, **more):
        trajectory = Trajectory(case=case.id, source="recorded", turns=turns, **more)
        return evaluate(written, JudgedDialogue.of(case, trajectory, suite.tools, suite=suite)).passed

    try:
        negative = [NEVER, UNCHANGED, check_of("none_called"), check_of("calls", steps=[], match="exact")]
        called = check_of("calls", tool="cancel_order")
        assert [passed(written) for written in (*negative, called)] == [True] * 4 + [False]
        assert [passed(written, calls_untold=True) for written in (*negative, called)] == [None] * 5
    finally:
        exchange({})


NEVER = check_of("calls", tool="cancel_order", at_most=0)
UNCHANGED = check_of("unchanged")
FAILED = [
    UNCHANGED,
    NEVER,
    check_of("calls", tool="cancel_order", at_most=0, **{"with": {"number": "o1"}}),
    check_of("calls", steps=[], match="exact"),
    check_of("all", checks=[NEVER, UNCHANGED]),
    check_of("not", check={"kind": "calls", "tool": "cancel_order"}),
]


@pytest.mark.parametrize("number", range(len(FAILED)))
@pytest.mark.parametrize("replies", [0, 1, 2])
def test_a_late_write_fails_what_says_that_there_is_none(judged, number, replies):
    assert judged(FAILED[number], replies=replies).passed is True
    finding = judged(FAILED[number], late(), replies=replies)
    assert finding.passed is False
    assert finding.why.endswith("calls made when no reply was under way count here")


def test_the_failure_names_the_tool(judged):
    assert judged(UNCHANGED, late(), late()).why == (
        "cancel_order was called when no reply was under way; calls made when no reply was under way count here"
    )
    assert judged(NEVER, late()).why.startswith("cancel_order was called once")


@pytest.mark.parametrize(
    ("written", "steps", "without", "passed"),
    [
        # What is asked for must be done in time, and no more than is allowed may be done at any time.
        (check_of("calls", tool="cancel_order"), (), False, False),
        (check_of("calls", tool="cancel_order"), (call(),), True, True),
        (check_of("calls", tool="cancel_order", at_most=1), (call(),), True, False),
        (check_of("calls", tool="cancel_order", at_most=2), (call(),), True, True),
        (check_of("calls", steps=["cancel_order"]), (call(),), True, True),
        (check_of("calls", steps=["cancel_order"], match="exact"), (call(),), True, False),
        (
            check_of("calls", steps=["cancel_order", "opening_hours"], match="exact"),
            (call(), call("opening_hours")),
            True,
            False,
        ),
        # Whether the world outside would have answered it is not known.
        (check_of("calls", tool="cancel_order", answered=True, at_most=0), (), True, None),
        (check_of("calls", tool="cancel_order", answered=False, at_most=0), (), True, None),
        # What the end would have been is not known.
        (check_of("state", table="orders", count=2), (), True, None),
        (check_of("state", table="orders", count=3), (), False, False),
        (check_of("unchanged", **{"except": [{"table": "orders"}]}), (), True, None),
        (check_of("not", check={"kind": "unchanged"}), (), False, False),
        (check_of("not", check={"kind": "calls", "tool": "cancel_order", "at_most": 0}), (), False, False),
        # It is no matter of what is said.
        (check_of("matches", pattern="Done"), (), True, True),
        (check_of("says", any=["done"]), (), True, True),
    ],
)
def test_a_late_write_turns_nothing_green(judged, written, steps, without, passed):
    assert judged(written, steps=steps).passed is without
    assert judged(written, late(), steps=steps).passed is passed


@pytest.mark.parametrize("step", [late("find_order", number="o1"), late("no_such_tool", number="o1")])
def test_a_late_look_changes_nothing_and_a_call_of_no_tool_is_none(judged, step):
    assert judged(UNCHANGED, step).passed is True
    assert judged(NEVER, step).passed is True
    assert judged(check_of("calls", tool="find_order", at_most=0), step).passed is (step.tool != "find_order")


def test_a_call_that_was_answered_too_late_counts_with_what_it_changed(judged):
    answered = Step(kind="call", tool="cancel_order", arguments=CANCEL, changed=(CHANGED,))
    finding = judged(UNCHANGED, answered)
    assert (finding.passed, finding.compared[1]) == (
        False,
        ("orders o1 status: 'open'", "orders o1 status: 'cancelled'"),
    )
    state = check_of("state", table="orders", where={"status": "cancelled"}, count=0)
    assert judged(state, answered).passed is False


def test_a_check_in_python_sees_late_calls_and_knows_no_state_behind_them(judged):
    former = exchange({})
    try:

        @check
        def cancels_nothing(episode):
            assert not [made for made in episode.calls if made.tool == "cancel_order"]

        @check
        def leaves_all_open(episode):
            assert not episode.changes

        assert judged(check_of("cancels_nothing")).passed is True
        assert judged(check_of("cancels_nothing"), late()).passed is False
        assert judged(check_of("leaves_all_open")).passed is True
        finding = judged(check_of("leaves_all_open"), late())
        assert (finding.passed, finding.broken) == (None, False)
        assert finding.why.startswith("the record does not have the changes of cancel_order")
    finally:
        exchange(former)
