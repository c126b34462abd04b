"""Agents in JavaScript, played by the file mapsat.mjs that users copy."""

import shutil
import sys
from pathlib import Path

import pytest

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.cli import main
from pytest_mapsat.commands.shared import starts
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.users import make_user

sys.path.insert(0, str(Path(__file__).parents[1] / "episode"))
from episodes import CASE, recorded_sandbox

FOLDER = Path(__file__).with_name("node_client")
MAPSAT = starts() / "node" / "mapsat.mjs"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")


def play(kind):
    """Run one reply of an agent of the AI SDK or Mastra."""
    for package in ["ai", *(["@mastra/core"] if kind == "mastra" else [])]:
        if not (FOLDER / "node_modules" / package).exists():
            pytest.skip(f"npm install {package} was not run in tests/agents/node_client")
    source = resolve_source(f"cmd:node {FOLDER / 'agents.mjs'} {MAPSAT} {kind}", root=Path.cwd())
    return run_episode(CASE, source, make_user("scripted", CASE), recorded_sandbox(), Limits(timeout=60, max_turns=1))


@pytest.mark.parametrize("kind", ["own", "case", "stream", "mastra"])
def test_the_sandbox_answers_the_tools_and_usage_and_thoughts_are_told(kind):
    played = play(kind)
    turn = played.turns[1]
    assert (turn.text, turn.usage.input_tokens, turn.usage.output_tokens) == ("Blue Door", 200, 20)
    assert [step.text for step in turn.steps if step.kind == "thought"] == ["Look."]
    assert [(step.tool, step.arguments, step.status) for step in played.calls] == [
        ("find", {"query": "cafe"}, "ok"),
        ("find", {"query": "tea"}, "miss"),
    ]


def test_data_that_the_agent_returns_is_the_output():
    turn = play("data").turns[1]
    assert (turn.output, turn.text) == ({"place": "Blue Door"}, '{"place": "Blue Door"}')


@pytest.mark.parametrize(
    ("kind", "blame", "words"),
    [("down", "infrastructure", "connect ECONNREFUSED"), ("crash", "agent", "TypeError: x is no y")],
)
def test_a_service_that_is_down_is_no_fault_of_the_agent_and_a_crash_is(kind, blame, words):
    fault = play(kind).fault
    assert (fault.blame, words in fault.message) == (blame, True)


def test_the_start_runs_as_it_is_written_without_a_package(pytester):
    assert main(["init", "--for", "node", str(pytester.path)]) == 0
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(['*-> cancel_booking(booking_id="BK-1")*'])
