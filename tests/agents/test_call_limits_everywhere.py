"""The limit of a case on tool calls holds however the agent is played: here, in a process of its own, as a program, a service, or over MCP."""

import json
import sys
from pathlib import Path

import isolated_agents
import pytest
from http_services import Service, answers

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.agents.isolated import IsolatedSource, Isolation, Processes
from pytest_mapsat.agents.tool_server import missing_extra, serve_tools
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.model import EpisodeTerms
from pytest_mapsat.users import make_user

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "episode"))
from episodes import CASE, recorded_sandbox  # noqa: E402

LIMITED = CASE.model_copy(update={"episode": EpisodeTerms(calls=1)})
NONE_LEFT = "this episode allows 1 tool call, and none is left: answer the user now, with what you have"


@pytest.fixture
def in_process():
    return source_of(isolated_agents.calls_twice, "isolated_agents:calls_twice")


@pytest.fixture
def isolated():
    processes = Processes(Isolation(tuple(sys.path), {}, memory=400, patience=60))
    source = IsolatedSource("isolated_agents:calls_twice", HERE, processes)
    yield source
    source.dismiss()
    processes.close()


@pytest.fixture
def program():
    return resolve_source(f"cmd:{sys.executable} -IS {HERE / 'command_agents.py'} calls_twice", root=HERE)


@pytest.fixture
def service(tmp_path):
    find = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"query": "cafe"}'}}

    def behave(request):
        last = request.body["messages"][-1]
        calls = {} if NONE_LEFT in str(last["content"]) else {"tool_calls": [find]}
        return answers({"choices": [{"message": {"role": "assistant", "content": last["content"], **calls}}]})

    with Service().running() as running:
        yield resolve_source(f"openai-chat:{running.at(behave)}", root=tmp_path)


@pytest.fixture
def over_mcp():
    if reason := missing_extra():
        pytest.skip(reason)
    from mcp_clients import call_once

    def agent(message, tools):
        with serve_tools(tools) as endpoint:
            answers = [call_once(endpoint.url, endpoint.token, "find", query="cafe") for _ in range(2)]
        return json.dumps(answers[1])

    return source_of(agent, "mymod:agent")


@pytest.mark.parametrize("played", ["in_process", "isolated", "program", "service", "over_mcp"])
def test_a_call_too_many_is_answered_with_an_error_and_never_the_infrastructures(request, played):
    source = request.getfixturevalue(played)
    trajectory = run_episode(LIMITED, source, make_user("silent", LIMITED), recorded_sandbox(), Limits(timeout=60))
    assert (trajectory.ending, trajectory.fault) == ("done", None)
    assert [(call.tool, call.status) for call in trajectory.calls] == [("find", "ok"), ("find", "over_limit")]
    assert NONE_LEFT in trajectory.replies[-1].text
