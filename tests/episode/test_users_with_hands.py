"""Users with hands: their calls are steps of their turns, change the world, and are never the agent's."""

import json

import phone
import pytest
import saved_runs

from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import SuiteError
from pytest_mapsat.sandbox import End, make_sandbox, play_reference, tables_of
from pytest_mapsat.users import UserMove, make_user

HEARD = "status bar", "airplane mode off"


def talks(*replies):
    """Return an agent that says these, one after the other."""

    def agent(message, session):
        return replies[min(sum(one["role"] == "assistant" for one in session.messages), len(replies) - 1)]

    return agent


def play(root, agent, *, user=None, **parts):
    case, suite = phone.opened(root, phone.case(**parts))
    limits = Limits(timeout=parts.pop("timeout", 20))
    source = source_of(agent, "mymod:agent") if callable(agent) else agent
    user = user or make_user("scripted", case)
    return run_episode(case, source, user, make_sandbox(case, suite), limits), case, suite


def script(*answers, **patch):
    return {"truth": {"user": {"answers": list(answers)}}, **patch}


def said_by_user(trajectory):
    return [turn.text for turn in trajectory.turns[1:] if turn.role == "user"]


def with_phone(**columns):
    return {"world": {"rows": [{"table": "phones", "where": {"id": "p1"}, "set": columns}]}}


namespace: dict = {}
exec(phone.GOOD, namespace)
GOOD = namespace["agent"]


def test_the_user_acts_by_script_quotes_what_it_sees_and_its_calls_are_its_own(tmp_path):
    trajectory, case, suite = play(tmp_path, GOOD)
    assert said_by_user(trajectory) == ["Signal: none. Airplane mode: true.", "Done.", "That is all, thank you."]
    assert [step.tool for step in trajectory.calls] == ["get_line", "reset_line"]
    assert [step.tool for step in trajectory.user_calls] == ["zebra_status", "zebra_airplane"]
    assert [step.id for step in trajectory.all_calls] == ["c1", "c2", "c3", "c4"]
    assert trajectory.turns[4].steps[0].changed[0].table == "phones"
    end = End(tables_of(case, suite), trajectory)
    assert [(change.table, change.id) for change in end.changes] == [("lines", "l1"), ("phones", "p1")]
    assert end.changes == play_reference(case, suite).changes
    verdict = ChecksJudge(suite.tools, suite.vocabulary, suite=suite).judge(case, trajectory)
    assert [label.outcome for label in verdict.labels] == ["passed"] * 3


def test_braces_are_plain_words_where_nothing_is_called(tmp_path):
    trajectory, *_ = play(tmp_path, talks("Which model is it?", "Thank you."))
    assert said_by_user(trajectory)[0] == "A {grey} one."


@pytest.mark.parametrize(
    ("say", "told"),
    [
        ("{zebra_speed}", '{"mbit": [12.5, 3]}'),
        ("{zebra_speed.mbit.0} down, {zebra_speed.mbit.1} up", "12.5 down, 3 up"),
        ("{zebra_speed.__class__}", "nothing"),
        ("{zebra_speed.mbit.__len__}", "nothing"),
        ("{zebra_speed.mbit.7}", "nothing"),
        ("{zebra_speed.mbit." + "9" * 5000 + "}", "nothing"),
        ("{zebra_speed!r} {zebra_speed:>9} {0}", "{zebra_speed!r} {zebra_speed:>9} {0}"),
    ],
)
def test_a_value_is_quoted_by_its_path_and_by_nothing_else_of_format_strings(tmp_path, say, told):
    answer = {"asked": ["speed"], "calls": [{"tool": "zebra_speed"}], "say": say, "else": "nothing"}
    if say.endswith("{0}"):
        with pytest.raises(SuiteError, match=r"it quotes \{0\}, and no call has that name"):
            play(tmp_path / "bad", talks("What is the speed?"), **script(answer))
        answer["say"], told = say[:-4], told[:-4]
    trajectory, *_ = play(tmp_path, talks("What is the speed?"), **script(answer))
    assert said_by_user(trajectory)[0] == told


def test_a_value_that_is_not_there_without_other_words_is_the_users_fault(tmp_path):
    answer = {"asked": ["speed"], "calls": [{"tool": "zebra_speed"}], "say": "{zebra_speed.up}"}
    trajectory, *_ = play(tmp_path, talks("What is the speed?"), **script(answer))
    assert (trajectory.ending, trajectory.fault.blame) == ("user_error", "user")
    assert "no zebra_speed.up; give the answer an else" in trajectory.fault.message


def test_a_request_that_the_script_has_no_answer_for_is_noted(tmp_path):
    request = "Please disable flight mode in the settings."
    trajectory, *_ = play(tmp_path, talks(request))
    assert f"no prepared answer is for: {request.casefold()}" in [
        step.text for turn in trajectory.turns for step in turn.steps
    ]


def test_a_call_that_is_refused_has_other_words_or_those_of_the_refusal(tmp_path):
    trajectory, *_ = play(tmp_path / "own", talks("Turn airplane mode off."), **with_phone(locked=True))
    assert said_by_user(trajectory)[0] == "The switch does not move."
    answer = {"asked": ["airplane mode"], "calls": [{"tool": "zebra_airplane"}], "say": "Done.", "else": "It is stuck."}
    trajectory, *_ = play(
        tmp_path / "else", talks("Please set airplane mode."), **script(answer, **with_phone(locked=True))
    )
    assert said_by_user(trajectory)[0] == "It is stuck."
    assert trajectory.fault is None


def test_what_is_asked_for_again_is_done_again_and_in_the_order_of_the_message(tmp_path):
    both = "Turn airplane mode off. Then tell me: what does the status bar show?"
    trajectory, *_ = play(tmp_path, talks(both, "And what does the status bar show now?", "Good."))
    assert [step.tool for step in trajectory.user_calls] == ["zebra_airplane", "zebra_status", "zebra_status"]
    assert said_by_user(trajectory)[:2] == [
        "Done. Signal: good. Airplane mode: false.",
        "Signal: good. Airplane mode: false.",
    ]


def test_an_agent_that_asks_for_the_same_for_ever_is_given_up(tmp_path):
    trajectory, *_ = play(tmp_path, talks("What does the status bar show?"))
    assert trajectory.ending == "stalled"
    assert len(trajectory.replies) == 3


@pytest.mark.parametrize(
    ("message", "acts"),
    [
        ("Please turn airplane mode off.", True),
        ("Now turn airplane mode off and tell me what happens.", True),
        ("Step 1: Turn airplane mode off.", True),
        ("Could you turn airplane mode off?", True),
        ("I need you to turn airplane mode off.", True),
        ("Go ahead and turn airplane mode off", True),
        ("You should turn airplane mode off.", True),
        ("I see that airplane mode off is what you want.", False),
        ("Please do not turn airplane mode off.", False),
        ("So the airplane mode off switch is broken.", False),
        ("I will turn airplane mode off.", False),
        ("The airplane mode off switch is broken.", False),
        ("Turning airplane mode off would help.", False),
    ],
)
def test_the_user_does_what_it_is_told_to_do_and_nothing_that_is_only_said(tmp_path, message, acts):
    trajectory, *_ = play(tmp_path, talks(message, "Thank you."))
    assert bool(trajectory.user_calls) is acts


class Curious:
    """A user that tries tools."""

    def __init__(self, *names):
        self.names = names
        self.seen = {}

    def reply(self, turns, hands):
        self.tools = sorted(hands.tools)
        self.seen = {name: hands.call(name, {}) for name in self.names}
        return UserMove(None)


def test_a_user_has_its_own_tools_only(tmp_path):
    user = Curious("reset_line", "break_line", "wait_a_bit")
    _, *_ = play(tmp_path, talks("Well."), user=user)
    assert user.tools == ["wait_a_bit", "zebra_airplane", "zebra_speed", "zebra_status"]
    assert [step.status for step in user.seen.values()] == ["error", "error", "ok"]
    text = "there is no tool 'reset_line'; the tools are wait_a_bit, zebra_airplane, zebra_speed, zebra_status"
    assert user.seen["reset_line"].result["message"] == text


# -- what an agent sees --------------------------------------------------------------------------------------------------


def nosy(message, tools, session):
    told = [repr(tools), dir(tools), tools.schemas(), session.messages]
    told += [tools.call(name, {}) for name in ("zebra_airplan", "get_lin", "break_line")]
    told.append(tools.zebra_speed())
    nosy.told = json.dumps(told)
    return "What does the status bar show?"


def test_a_call_of_anothers_tool_is_one_of_a_tool_that_does_not_exist(tmp_path):
    trajectory, *_ = play(tmp_path, nosy)
    assert [(step.tool, step.status) for step in trajectory.calls[:4]] == [
        ("zebra_airplan", "error"),
        ("get_lin", "error"),
        ("break_line", "error"),
        ("zebra_speed", "error"),
    ]
    for hidden in ("zebra_airplane", "zebra_status", "xylophone", "did you mean 'break"):
        assert hidden not in nosy.told
    assert "did you mean 'get_line'" in nosy.told
    assert "there is no tool 'zebra_speed'" in nosy.told
    assert "wait_a_bit" in nosy.told


def test_a_tool_of_both_is_called_by_both_and_each_call_is_its_callers(tmp_path):
    answer = {"asked": ["wait"], "calls": [{"tool": "wait_a_bit"}], "say": "Waited {wait_a_bit} times."}

    def agent(message, tools):
        return f"{tools.wait_a_bit()} so far. Please wait a bit." if "Waited" not in message else "Fine."

    trajectory, *_ = play(tmp_path, agent, **script(answer))
    assert said_by_user(trajectory)[0] == "Waited 2 times."
    assert ([step.result for step in trajectory.calls], [step.result for step in trajectory.user_calls]) == ([1], [2])


# -- worlds that break ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [{"odd": True}, {"stuck": True}])
def test_a_world_that_breaks_or_loops_in_the_users_call_is_neithers_fault(tmp_path, columns):
    answer = {"asked": ["speed"], "calls": [{"tool": "zebra_speed"}], "say": "{zebra_speed.mbit.0}", "else": "No."}
    case, suite = phone.opened(tmp_path, phone.case(**script(answer, **with_phone(**columns))))
    source = source_of(talks("What is the speed?"), "mymod:agent")
    sandbox = make_sandbox(case, suite)
    trajectory = run_episode(case, source, make_user("scripted", case), sandbox, Limits(timeout=1.5))
    sandbox._state["phones"].put_back("p1", None)  # lets the loop end
    assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
    assert "zebra_speed" in trajectory.fault.message


def test_a_run_is_told_with_whose_calls_they_were(pytester: pytest.Pytester):
    phone.write_phone(pytester.path / "benchmark_cases")
    pytester.makeconftest(phone.CONFTEST)
    pytester.makepyfile(good=phone.GOOD)
    run = ("--mapsat-agent=good:agent", "--mapsat-save=run.json", "--mapsat-fail-under=calls<=2")
    pytester.runpytest(*run).assert_outcomes(passed=1)
    saved = saved_runs.saved(pytester)
    (card,) = saved["cases"]
    assert (card["calls"]["total"], card["calls"]["by_tool"]) == (2, {"get_line": 1, "reset_line": 1})
    assert [step["tool"] for step in card["trajectory"]["turns"][2]["steps"]] == ["zebra_status"]


def test_the_opening_messages_are_heard_and_no_turns(tmp_path):
    heard = []

    def agent(message, session):
        heard.append(session.messages)
        return "Which model is it?" if len(heard) == 1 else "Thank you."

    messages = [{"role": "user", "text": "Hello."}, {"role": "agent", "text": "Hi, what is it?"}]
    trajectory, *_ = play(tmp_path, agent, visible={"messages": messages})
    assert [one["content"] for one in heard[0]] == ["Hello.", "Hi, what is it?", "My phone has no signal."]
    assert [one["role"] for one in heard[1]] == ["user", "assistant", "user", "assistant", "user"]
    assert [turn.role for turn in trajectory.turns] == ["user", "agent"] * 2 + ["user"]
