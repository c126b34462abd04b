"""mapsat doctor: what a few episodes show of how an agent is connected."""

import json
import shlex
import sys

import pytest

from pytest_mapsat.cli import main

AGENTS = '''
import itertools
from time import sleep

from pytest_mapsat import Reply


class Sound:
    """Reads the status of results, remembers, and tells what it cost."""

    def __init__(self):
        self.answer = None

    def __call__(self, message, tools, context):
        if self.answer is None or "repeat" not in message:
            result = tools.list_orders(user=context.uid)
            self.answer = f"{len(result['orders'])} orders." if "orders" in result else "I cannot see your orders now."
        else:
            self.answer = f"As I said: {self.answer}"
        return Reply(self.answer, usage={"input_tokens": 12, "cost": 0.001})


counter = itertools.count()


def leaky(message, tools, context):
    """Counts over all cases, and breaks where a tool fails."""
    return f"{len(tools.list_orders(user=context.uid)['orders'])} orders, message {next(counter)}"


current = {}


def crossed(message, tools):
    """Keeps what belongs to an episode where all episodes have it."""
    current["message"] = message
    sleep(0.05)
    return "Good day." if "repeat" in message else f"You said: {current['message']}"
'''

PROGRAM = """
import sys
for line in sys.stdin:
    print('{"type": "reply", "text": "Good day."}', flush=True)
"""


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Return a function from the name of an agent to what is found of it, by check, and the exit status."""
    folder = tmp_path_factory.mktemp("doctor")
    (folder / "doctored.py").write_text(AGENTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield lambda name: main(["doctor", f"doctored:{name}", "--json"])


def found_by(capsys):
    findings = json.loads(capsys.readouterr().out)["findings"]
    return {finding["check"]: (finding["outcome"], finding["observed"], finding["advice"]) for finding in findings}


def test_a_sound_agent_passes_every_check(findings, capsys):
    assert findings("Sound") == 0
    checks = found_by(capsys)
    assert {check: outcome for check, (outcome, _, _) in checks.items()} == dict.fromkeys(checks, "ok")
    assert len(checks) == 10
    assert checks["tells the user when tools fail"][1] == '"I cannot see your orders now."'
    assert checks["remembers the turn before"][1].endswith('"As I said: 2 orders."')
    assert checks["reports its usage"][1] == "cost, input_tokens"
    assert checks["takes a message and tools, and replies"][1] == '"2 orders." after 1 call'


def test_state_that_outlives_a_case_and_a_crash_where_a_tool_fails_are_told_with_what_to_do(findings, capsys):
    assert findings("leaky") == 1
    checks = found_by(capsys)
    outcome, observed, advice = checks["keeps nothing from one case to the next"]
    assert (outcome, observed) == ("failed", "fresh processes repeat the first answer, this one does not")
    assert "session.state" in advice
    outcome, observed, advice = checks["tells the user when tools fail"]
    assert outcome == "failed"
    assert observed.startswith("KeyError: 'orders' (doctored.py:")
    assert '"status": "error"' in advice
    assert checks["reports its usage"][0] == "warning"


def test_episodes_that_get_each_others_messages_are_noticed(findings, capsys):
    assert findings("crossed") == 1
    checks = found_by(capsys)
    outcome, observed, advice = checks["serves 10 episodes at once"]
    assert outcome == "failed"
    assert observed.endswith("of 10 differ from the same case alone")
    assert "--mapsat-concurrency=1" in advice
    assert checks["takes a message and tools, and replies"][0] == "warning"
    assert checks["tells the user when tools fail"][:2] == ("skipped", "it called no tool")
    assert checks["remembers the turn before"][0] == "warning"


def test_an_agent_that_gives_no_reply_is_asked_no_further(tmp_path, monkeypatch, capsys):
    (tmp_path / "pytest.ini").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "baseline:silent"]) == 1
    out, err = capsys.readouterr()
    assert "failed   takes a message and tools, and replies: the reply is empty" in out
    assert out.endswith("\n1 failed, 0 warnings\n")
    assert "the cases are those of `mapsat init`" in err


def test_an_agent_that_breaks_works_in_no_fresh_process(tmp_path, monkeypatch, capsys):
    (tmp_path / "pytest.ini").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", f"cmd:{sys.executable} -c {shlex.quote('raise SystemExit(3)')}", "--json"]) == 1
    checks = found_by(capsys)
    ended = ("failed", "the command ended with exit status 3 before it replied", "")
    assert checks == {"works in a fresh process": ended, "takes a message and tools, and replies": ended}


def test_a_program_is_told_to_write_its_usage_into_the_reply(tmp_path, monkeypatch, capsys):
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", f"cmd:{sys.executable} -IS program.py", "--json"]) == 0
    outcome, _, advice = found_by(capsys)["reports its usage"]
    assert outcome == "warning"
    assert 'put "usage": {"input_tokens": ..., "output_tokens": ..., "cost": ...} into the JSON of the reply' in advice


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere:agent"], "there is no module 'nowhere'"),
        (["baseline:silent", "--suite", "nowhere"], "nowhere: there is no suite"),
        (["baseline:silent", "--case", "too-lat"], "did you mean 'too-late'?"),
    ],
)
def test_what_cannot_be_examined_is_refused_before_anything_is_played(
    tmp_path, monkeypatch, capsys, arguments, message
):
    (tmp_path / "pytest.ini").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", *arguments]) == 2
    assert message in capsys.readouterr().err
