import inspect

import pytest

from pytest_mapsat.model import Case, Context, ScriptedAnswer, Truth, Turn, UsageError, UserScript, Visible
from pytest_mapsat.users import ScriptedUser, SilentUser, UserMove, make_user

CASE = Case(
    id="c1",
    language="zh",
    visible=Visible(query="Find a cafe", context=Context(now="2026-05-01T09:00:00")),
    truth=Truth(user=UserScript(answers=(ScriptedAnswer(asked=("time",), say="Nine."),))),
)


def test_the_scripted_user_gets_script_and_language_of_the_case():
    one = make_user("scripted", CASE)
    assert one.reply([Turn(role="agent", text="What time?")]) == UserMove("Nine.")
    assert one.reply([Turn(role="agent", text="Which colour?")]) == UserMove("都可以。")


def test_each_episode_has_its_own_user():
    assert make_user("scripted", CASE) is not make_user("scripted", CASE)


def test_the_silent_user_never_answers():
    assert make_user("silent", CASE).reply([Turn(role="agent", text="What time?")]) == UserMove(None, "done")
    assert isinstance(make_user("silent", CASE), SilentUser)


def test_a_user_of_ones_own_is_refused_with_what_there_is():
    with pytest.raises(UsageError, match="unknown user 'mymod:user'; expected scripted"):
        make_user("mymod:user", CASE)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UsageError, match=r"unknown user 'scriptd'.*did you mean 'scripted'"):
        make_user("scriptd", CASE)


def test_the_scripted_user_can_be_given_nothing_of_the_truth_but_its_script():
    assert list(inspect.signature(ScriptedUser).parameters) == ["script", "language", "manner"]
