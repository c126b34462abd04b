"""Calls that something else reports, as they come into an episode."""

from datetime import date

import pytest
from episodes import CASE, recorded_sandbox

from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.model import ScriptedAnswer, UserScript
from pytest_mapsat.users import make_user

LOOK = {"tool": "look", "arguments": {"day": "2026-05-01"}, "result": [1, 2]}
BOOK = {"tool": "book", "arguments": {"seats": 2}, "result": {"id": "B1"}}


def told(*reports, replies=("What time?", "Done.", "Bye."), call=None):
    """The calls of each reply, and the whole trajectory, where who reports them gives each of these lists in turn."""
    pending = list(reports)
    said = iter(replies)

    def ask():
        report = pending.pop(0) if pending else []
        if isinstance(report, Exception):
            raise report
        return report

    def agent(message, tools=None):
        if call:
            tools.call("find", call)
        return next(said)

    script = UserScript(answers=(ScriptedAnswer(asked=("what time",), say="At nine."),))
    case = CASE.model_copy(update={"truth": CASE.truth.model_copy(update={"user": script})})
    user = make_user("scripted", case)
    trajectory = run_episode(case, source_of(agent, "m:a"), user, recorded_sandbox(), Limits(), reported=ask)
    return [[named(step) for step in turn.steps] for turn in trajectory.replies], trajectory


def named(step):
    return step.tool, step.arguments


def test_reported_calls_are_steps_of_the_reply_under_way() -> None:
    calls, trajectory = told([LOOK], [BOOK])
    assert calls == [[("look", {"day": "2026-05-01"})], [("book", {"seats": 2})]]
    step = trajectory.calls[1]
    assert (step.result, step.status, step.unknown) == ({"id": "B1"}, "ok", ("changed",))
    assert (step.provenance.kind, step.provenance.note) == ("reported", "reported by the environment")
    assert trajectory.calls_reported
    assert trajectory.lacks_calls


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        (([LOOK], [LOOK, BOOK]), [["look"], ["book"]]),  # all of the dialogue so far
        (([LOOK, BOOK], [BOOK, BOOK, LOOK]), [["look", "book"], ["book"]]),  # the newest first
        (([LOOK], [BOOK, LOOK]), [["look"], ["book"]]),
        (([LOOK], [LOOK]), [["look"], []]),  # the same call, or the same report: one call is sure
        (([{**LOOK, "id": "1"}], [{**LOOK, "id": "2"}]), [["look"], ["look"]]),
        (([LOOK], [{**LOOK, "result": [3]}]), [["look"], ["look"]]),
        (([{"tool": "look", "arguments": {}}], [{"tool": "look", "arguments": {}, "result": 1}]), [["look"], []]),
        (([LOOK, LOOK], [LOOK, LOOK, BOOK]), [["look", "look"], ["book"]]),
        (([], []), [[], []]),
    ],
)
def test_a_call_that_is_reported_again_is_one_call(reports, expected) -> None:
    calls, _ = told(*reports)
    assert [[tool for tool, _ in reply] for reply in calls] == expected


def test_a_call_of_the_sandbox_that_is_reported_as_well_is_one_call() -> None:
    find = {"tool": "find", "arguments": {"query": "cafe"}}
    calls, trajectory = told([find, {**find, "arguments": '{"query": "bar"}'}], call={"query": "cafe"})
    assert calls[0] == [("find", {"query": "cafe"}), ("find", {"query": "bar"})]
    assert [step.provenance.kind for step in trajectory.replies[0].steps] == ["exact", "reported"]


@pytest.mark.parametrize(
    ("call", "fields"),
    [
        ({}, ({}, None, "unknown", ("changed", "arguments", "result"))),
        ({"arguments": '{"a": 1}', "result": '{"b": 2}'}, ({"a": 1}, {"b": 2}, "ok", ("changed",))),
        ({"arguments": '{"a": 1', "result": '{"b": 2'}, ({}, None, "unknown", ("changed", "arguments", "result"))),
        ({"arguments": ["a"], "result": "[REDACTED]"}, ({}, None, "unknown", ("changed", "arguments", "result"))),
        ({"arguments": {"day": date(2026, 5, 1)}, "result": "fine"}, ({}, "fine", "ok", ("changed", "arguments"))),
        ({"arguments": {}, "result": None}, ({}, None, "ok", ("changed",))),
        ({"arguments": {}, "result": {"error": "full"}}, ({}, {"error": "full"}, "unknown", ("changed",))),
        ({"arguments": {}, "result": "no", "status": "error"}, ({}, "no", "error", ("changed",))),
        ({"arguments": {}, "result": {"error": "full"}, "status": "ok"}, ({}, {"error": "full"}, "ok", ("changed",))),
        ({"arguments": {}, "result": 1, "status": "pending"}, ({}, 1, "unknown", ("changed",))),
        ({"arguments": {"a": "x" * 1_000_001}, "result": 1}, ({}, 1, "ok", ("changed", "arguments"))),
    ],
)
def test_what_is_not_reported_of_a_call_is_unknown(call, fields) -> None:
    _, trajectory = told([{"tool": "book", **call}])
    (step,) = trajectory.calls
    assert (step.arguments, step.result, step.status, step.unknown) == fields


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ([{"name": "book"}], "expected a reported call with the name of its tool, found {'name': 'book'}"),
        (["book"], "expected a reported call with the name of its tool, found 'book'"),
        ([{"tool": " "}], "expected a reported call with the name of its tool"),
        ("book", "expected a list of reported calls, found 'book'"),
        ({"tool": "book"}, "expected a list of reported calls"),
        (ValueError("no database"), "no database"),
    ],
)
def test_a_report_that_is_none_loses_the_episode(report, words) -> None:
    _, trajectory = told(report)
    assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
    assert words in trajectory.fault.message


def test_what_was_called_after_the_last_reply_came_after_the_end() -> None:
    calls, trajectory = told([LOOK], [], [BOOK])
    assert [len(steps) for steps in calls] == [1, 0]
    assert [named(step) for step in trajectory.after_end] == [("book", {"seats": 2})]


def test_an_environment_that_knows_of_no_call_leaves_open_which_were_made() -> None:
    user = make_user("scripted", CASE)
    trajectory = run_episode(CASE, source_of(lambda message: "Hi.", "m:a"), user, recorded_sandbox(), reported=tuple)
    assert (trajectory.calls, trajectory.calls_reported) == ((), True)


def test_only_so_many_calls_of_one_reply_are_kept() -> None:
    calls, _ = told([{"tool": f"t{number}"} for number in range(1200)])
    assert len(calls[0]) == 1000
