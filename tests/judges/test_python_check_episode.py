"""What a check in Python reads of an episode, and what becomes of a check that breaks, asserts, or reads what is not recorded."""

import pytest
from judging import call

import pytest_mapsat.judges.python_check as judging_python
from pytest_mapsat.judges import Finding, JudgedDialogue, evaluate
from pytest_mapsat.model import NotRecordedError, PythonCheck, RowChange, Tool, Trajectory, Turn, Visible
from pytest_mapsat.registry import check, exchange
from pytest_mapsat.sandbox import Table

ROW = {"id": "A1", "status": "open", "items": [{"sku": "s1"}]}
CHANGE = RowChange(table="orders", id="A1", before=ROW, after={**ROW, "status": "paid"})


@pytest.fixture(autouse=True)
def registry():
    former = exchange({})
    yield
    exchange(former)


def step(tool="pay", **fields):
    return call(tool, {"ok": [1]}, number="A1").model_copy(update=fields)


PAID = step(changed=(CHANGE,))
WRITES, READS = (
    Tool(name=name, description="Does it.", parameters={"type": "object"}, effect=effect)
    for name, effect in (("pay", "write"), ("look", "read"))
)
USER = (Turn(role="user", text="Pay it.", steps=(step("tap"),)), Turn(role="user", text="And?", steps=(step("tap"),)))


def dialogue(*steps, outputs=(None, None), ending="done", **fields):
    asked, again = USER
    first = Turn(role="agent", text="Wait.", output=outputs[0])
    return Trajectory(
        case="c1",
        turns=(asked, first, again, Turn(role="agent", text="Paid.", steps=steps, output=outputs[1])),
        ending=ending,
        **fields,
    )


def episode_of(trajectory, visible=None):
    return JudgedDialogue(trajectory, {"pay": WRITES, "look": READS}, visible).episode


def judged(function, trajectory=None, **arguments):
    check(name="mine")(function)
    context = JudgedDialogue(trajectory or dialogue(PAID), {"pay": WRITES, "look": READS})
    return evaluate(PythonCheck(kind="python", name="mine", arguments=arguments), context)


def test_an_episode_tells_what_was_said_and_done_and_by_whom():
    episode = episode_of(dialogue(PAID, step("look", status="miss")))
    assert repr(episode) == "<Episode of c1>"
    assert (episode.query, episode.replies, episode.ending) == ("Pay it.", ("Wait.", "Paid."), "done")
    pay, look = episode.calls
    assert (pay.tool, pay.arguments, pay.result, pay.status, pay.turn) == (
        "pay",
        {"number": "A1"},
        {"ok": [1]},
        "ok",
        2,
    )
    assert [change.after["status"] for change in pay.changed] == ["paid"]
    assert (repr(pay), repr(look)) == ("pay(number='A1')", "look(number='A1') -> miss")
    assert [(one.tool, one.turn) for one in episode.user_calls] == [("tap", 0), ("tap", 1)]


def test_what_the_user_was_shown_is_read_from_the_case():
    visible = Visible.model_validate(
        {
            "query": "Pay A1.",
            "context": {"now": "2026-03-01T10:00:00", "details": {"a": [1]}, "profile": {"b": {"c": 1}}},
        }
    )
    episode = episode_of(dialogue(PAID), visible)
    assert (episode.query, episode.context.now) == ("Pay A1.", visible.context.now)
    assert episode_of(dialogue(PAID)).context.now is None
    with pytest.raises(TypeError):
        episode.context.details["a"] = 2
    with pytest.raises(TypeError):
        episode.context.profile["b"]["c"] = 2


def test_nothing_in_an_episode_can_be_changed():
    (pay,) = episode_of(dialogue(PAID)).calls
    for change in (
        lambda: pay.arguments.update(number="A2"),
        lambda: pay.result["ok"].append(2),
        lambda: pay.changed[0].before["items"].append(1),
        lambda: pay.changed[0].after.update(status="open"),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()
    with pytest.raises(AttributeError):
        pay.tool = "look"


def test_the_last_output_counts_and_a_name_that_it_lacks_fails_the_check():
    assert episode_of(dialogue(outputs=({"total": 1}, {"total": 2}))).output == {"total": 2}
    assert episode_of(dialogue(outputs=({"total": 1}, None))).output == {"total": 1}
    assert episode_of(dialogue()).output == {}
    for outputs, why in (
        ((None, None), "no reply has a structured output"),
        (({"total": 1, "note": 2}, None), "the structured output has no 'sum'; it has total, note"),
    ):
        finding = judged(lambda episode: episode.output["sum"] == 1, dialogue(outputs=outputs))
        assert (finding.passed, finding.why) == (False, why)


def test_the_state_and_the_changes_are_those_of_the_end():
    end = judging_python.End({"orders": Table("orders", (ROW,))}, dialogue(PAID))
    episode = judging_python.Episode(dialogue(PAID), None, lambda: end)
    assert episode.state["orders"]["A1"]["status"] == "paid"
    (change,) = episode.changes
    assert (change.before["status"], change.after["status"]) == ("open", "paid")
    with pytest.raises(TypeError):
        change.after["status"] = "open"


@pytest.mark.parametrize(
    ("tool", "part", "told"),
    [
        ("pay", "changed", False),
        ("pay", "result", False),
        ("pay", "arguments", False),
        ("look", "changed", True),
        ("look", "result", False),
    ],
)
def test_a_part_that_the_record_lacks_is_undecided_and_the_others_are_read(tool, part, told):
    trajectory = dialogue(step(tool, unknown=(part,)))
    (made,) = episode_of(trajectory).calls
    assert made.tool == tool
    for other in {"arguments", "result", "changed"} - {part}:
        assert getattr(made, other) is not None
    finding = judged(lambda episode: getattr(episode.calls[0], part) is not None, trajectory)
    if told:
        assert finding.passed is True
        return
    assert (finding.passed, finding.broken) == (None, False)
    assert finding.why == f"the record does not have the {part} of a call of {tool}"
    assert repr(made) == f"{tool}(...) -> ok"
    with pytest.raises(NotRecordedError):
        getattr(made, part)


def test_calls_that_a_record_does_not_tell_are_undecided():
    finding = judged(lambda episode: not episode.calls, dialogue(calls_untold=True))
    assert (finding.passed, finding.broken) == (None, False)
    assert finding.why == "the record has no calls of any tool"


def test_arguments_of_the_case_reach_the_function():
    def most(episode, words):
        return len(episode.replies) <= words

    assert judged(most, words=2).passed is True
    exchange({})
    assert judged(most, words=1).passed is False


def test_a_check_that_nobody_adds_decides_nothing():
    finding = evaluate(PythonCheck(kind="python", name="mine"), JudgedDialogue(dialogue(), {}))
    assert (finding.passed, finding.broken, finding.why) == (None, True, "no conftest or package adds a check 'mine'")


def bare(episode):
    raise AssertionError


def worded(episode):
    assert episode.replies == (), "  it talks  "


def long(episode):
    raise AssertionError("x" * 5000)


def strange(episode):
    class OddError(AssertionError):
        def __str__(self):
            raise ValueError

    raise OddError


@pytest.mark.parametrize(
    ("function", "why"),
    [(bare, "raise AssertionError"), (worded, "it talks"), (long, "x" * 997 + "..."), (strange, "raise OddError")],
)
def test_an_assertion_fails_with_its_words_or_as_it_is_written(function, why):
    finding = judged(function)
    assert (finding.passed, finding.broken) == (False, False)
    assert finding.why.startswith(why)
    assert len(finding.why) <= 1000


def judged_again(function):
    exchange({})
    return judged(function)


def test_a_check_that_breaks_says_on_which_of_its_lines():
    def breaks(episode):
        return helper(episode)

    def helper(episode):
        return episode.replies[7]

    finding = judged(breaks)
    line = helper.__code__.co_firstlineno + 1
    assert (finding.passed, finding.broken) == (None, True)
    assert finding.why.startswith(f"the check mine broke on line {line}: ")
    assert "IndexError" in finding.why
    wrong = judged_again(lambda: True)
    assert wrong.passed is None
    assert "on line" not in wrong.why


def test_a_check_that_does_not_return_is_left_and_not_called_again(monkeypatch):
    from threading import Event

    let_go, times = Event(), []

    def waits(episode):
        times.append(1)
        let_go.wait(30)
        return True

    monkeypatch.setattr(judging_python, "SECONDS", 0.05)
    finding = judged(waits)
    assert (finding.passed, finding.broken, finding.why) == (None, True, "the check mine did not return within 0.05 s")
    again = judged_again(waits)
    assert (again.passed, again.broken) == (None, True)
    assert again.why == "the check mine is not called again: it has not come back from another call"
    let_go.set()
    assert times == [1]


def test_a_finding_of_ones_own_is_the_finding():
    own = Finding(False, "too dear")
    assert judged(lambda episode: own) == own._replace(check="python")
