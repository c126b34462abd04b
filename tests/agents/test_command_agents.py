"""Agents that are programs: what they are told, what they may answer, and how each of their faults is named."""

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.agents.tool_server import missing_extra
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.model import UsageError
from pytest_mapsat.users import make_user

sys.path.insert(0, str(Path(__file__).parents[1] / "episode"))
from episodes import CASE, SECRETS, recorded_sandbox

PROGRAMS = Path(__file__).with_name("command_agents.py")
MCP = ["MAPSAT_MCP_URL", "MAPSAT_MCP_TOKEN"]


def play(name, *, timeout=30.0):
    """Run one episode of the case with a program."""
    source = resolve_source(f"cmd:{sys.executable} -IS {PROGRAMS} {name}", root=Path.cwd())
    return run_episode(CASE, source, make_user("scripted", CASE), recorded_sandbox(), Limits(timeout=timeout))


def replies(trajectory):
    return [turn.text for turn in trajectory.replies]


def is_gone(pid):
    """Return whether a process ends within a moment."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


class TestReply:
    def test_may_follow_calls_that_the_sandbox_answers(self):
        trajectory = play("finds")
        assert replies(trajectory) == ["Blue Door."]
        assert [(step.tool, step.arguments, step.status) for step in trajectory.calls] == [
            ("find", {"query": "cafe"}, "ok")
        ]

    def test_may_be_a_question_and_the_process_lives_on(self):
        trajectory = play("asks")
        assert replies(trajectory) == ["What time?", "Noted: At nine."]

    def test_may_have_output_usage_and_thoughts(self):
        turn = play("full").turns[1]
        assert turn.output == {"proposes": ["Blue Door"]}
        assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cost) == (12, 3, 0.5)
        assert [step.text for step in turn.steps] == ["it is close"]

    def test_may_be_data_alone(self):
        turn = play("data").turns[1]
        assert (turn.text, turn.output) == ("It is 4.", {"text": "It is 4.", "total": 4})

    def test_may_come_after_calls_that_wait_for_no_result(self):
        trajectory = play("pipelines")
        assert len(trajectory.calls) == 3

    def test_may_lack_the_end_of_its_line(self):
        assert replies(play("ends_no_line")) == ["Here."]


def test_an_unknown_tool_gets_an_error_as_its_result():
    trajectory = play("misspells")
    assert json.loads(trajectory.turns[1].text)["status"] == "error"
    assert trajectory.calls[0].status == "error"


def test_a_flood_on_standard_error_blocks_nothing_and_is_shown(capfd):
    assert replies(play("logs_much")) == ["Here."]
    assert "xxx" in capfd.readouterr().err


class TestGroundTruth:
    def test_stands_in_nothing_that_a_program_can_see(self, monkeypatch):
        monkeypatch.setenv("PYTEST_CURRENT_TEST", f"case[{CASE.id}] (call)")
        text = play("shows_all").turns[1].text
        assert not [secret for secret in SECRETS if secret in text]
        seen = json.loads(text)
        assert sorted(seen["message"]) == ["context", "message", "messages", "session", "tools", "type"]
        assert seen["message"]["context"]["location"] == {"lon": 1.0, "lat": 2.0, "name": "Gate"}
        assert seen["argv"][1:] == ["shows_all"]
        ours = sorted(set(seen["environment"]) - set(os.environ))
        assert ours == ([] if missing_extra() else sorted(MCP))


#: For each program what its fault says.
FAULTS = {
    "dies": "the command ended with exit status 3 before it replied; its last words: TypeError: x is not a function, key [redacted SERVICE_KEY]",
    "dies_in_node": "its last words: Error [ERR_NOT_FOUND]: no such place",
    "dies_in_python": "its last words: shop.OrderError: 1 wrong field",
    "is_killed": "the command was ended by SIGSEGV before it replied",
    "breaks_a_line": """the command ended with exit status 0 in the middle of a line: found '{"type": "rep'""",
    "says_half": """the command wrote no valid JSON (Unterminated string starting at: line 1 column 27 (char 26)): found '{"type": "reply", "text": "H'""",
    "prints": "found 'Listening on port 3000'; expected one JSON object on each line of standard output (logs belong on standard error)",
    "writes_bytes": "the command wrote no valid JSON",
    "wrong_type": """expected an object with the type "call" or "reply" or "unavailable" (did you mean 'reply'?)""",
    "wrong_key": "the command wrote a reply with the key 'ouput'; expected text, output, usage, thoughts (did you mean 'output'?)",
    "no_object": "the command wrote '[1]'; expected an object with the type",
    "wrong_call": "a call has a name, a string, and arguments, an object",
    "empty": "the command wrote a reply with neither text nor output",
    "wrong_text": "the agent returned a Reply whose text is an int; expected a string",
    "wrong_usage": "the agent returned bad usage: input_tokens: found 'many', expected a number",
    "floods_a_line": "bytes without the end of a line; at most 32,000,000 are taken: found 'xxx",
    "floods_lines": "the command wrote more than 1,000 lines in one reply",
    "calls_for_ever": "the agent made more than 200 tool calls in one reply",
    "closes": "the command closed its output before it replied",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_program_is_its_own_and_named(name, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "sk-very-secret-value")
    trajectory = play(name)
    assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")
    assert FAULTS[name] in trajectory.fault.message


def test_the_last_words_of_a_program_stand_in_the_detail():
    assert play("dies").fault.detail.splitlines()[0] == "loading"


def test_a_second_reply_is_no_answer_to_the_next_message():
    trajectory = play("replies_twice")
    assert (
        trajectory.fault.message
        == """the command wrote '{"type": "reply", "text": "And where?"}' before it was asked"""
    )
    assert replies(trajectory) == ["What time?"]


def test_a_service_that_is_down_is_no_fault_of_the_agent():
    trajectory = play("is_down")
    assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
    assert trajectory.fault.message.endswith("cannot be reached: the search service does not answer")


class TestProcess:
    def test_that_hangs_is_killed_when_the_time_is_over(self, capsys):
        began = time.perf_counter()
        assert play("hangs", timeout=1.5).ending == "timeout"
        assert time.perf_counter() - began < 20  # the program would take 60
        assert is_gone(int(capsys.readouterr().err))

    def test_ends_with_its_episode_and_takes_its_children_along(self):
        assert is_gone(int(play("leaves_a_child").turns[1].text))

    def test_that_dies_takes_its_children_along(self):
        fault = play("dies_before_its_child").fault
        assert fault.message.startswith("the command ended with exit status 1")
        assert is_gone(int(fault.detail))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "there is no command; expected one as in cmd:node agent.js"),
        ("no-such-program x", "there is no program 'no-such-program': it is not on PATH"),
        ("./agent.sh", "'./agent.sh': no such file can be executed (did you mean 'cmd:sh ./agent.sh'?)"),
        ("agent.mjs", "'agent.mjs': it is not on PATH (did you mean 'cmd:node agent.mjs'?)"),
        ("agent.py -v", "'agent.py': it is not on PATH (did you mean 'cmd:python agent.py -v'?)"),
        ("built x", "'built': it is not on PATH (did you mean 'cmd:./built x'?)"),
        ("plain", "(the file is not executable: chmod +x plain, and name it as 'cmd:./plain')"),
        ("node 'agent.js", "the command cannot be split: No closing quotation"),
    ],
)
def test_a_command_that_cannot_be_started_is_refused_at_once(command, words, tmp_path):
    for name in ("agent.sh", "agent.mjs", "agent.py", "built", "plain"):
        (tmp_path / name).write_text("echo")
    (tmp_path / "built").chmod(0o755)
    with pytest.raises(UsageError, match=re.escape(words)):
        resolve_source(f"cmd:{command}", root=tmp_path)
