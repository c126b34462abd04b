"""The calls that an episode allows: one more is answered with an error that asks for the answer, and the dialogue goes on."""

import pytest
from episodes import CASE, RECORDING, play

from pytest_mapsat.metrics import score
from pytest_mapsat.model import EpisodeTerms, Verdict


def limited(calls):
    return CASE.model_copy(update={"episode": EpisodeTerms(calls=calls)})


def test_a_call_too_many_is_answered_with_an_error_that_asks_for_the_answer():
    answers = []

    def agent(message, tools):
        answers.extend(tools.find(query="cafe") for _ in range(2))
        return "What time?" if len(answers) == 2 else "The Blue Door."

    trajectory = play(agent, case=limited(3))
    assert (trajectory.ending, trajectory.fault) == ("done", None)
    assert [call.status for call in trajectory.calls] == ["ok", "ok", "ok", "over_limit"]
    assert answers[:3] == [RECORDING.result] * 3
    assert answers[3] == {
        "status": "error",
        "message": "this episode allows 3 tool calls, and none is left: answer the user now, with what you have",
    }


def test_the_scorecard_counts_calls_too_many():
    def agent(message, tools):
        for _ in range(3):
            tools.call("nonsense", {})
        return "Here."

    case = limited(1)
    trajectory = play(agent, case=case, user="silent")
    card = score(case, trajectory, Verdict(case=case.id, judge="checks"), asserted=frozenset({"asked"}))
    assert (card.calls.total, card.calls.failed, card.calls.over_limit) == (3, 1, 2)
    assert "allows 1 tool call, and" in trajectory.calls[1].result["message"]


@pytest.mark.parametrize(("calls", "status"), [(0, "over_limit"), (None, "ok")])
def test_an_episode_may_allow_none_or_any_number(calls, status):
    trajectory = play(lambda message, tools: str(tools.find(query="cafe")), case=limited(calls), user="silent")
    assert [call.status for call in trajectory.calls] == [status]
