"""mapsat doctor: what a few episodes show of how an agent is connected."""

import json
import shlex
import sys

import pytest
from http_services import Service, answers

from pytest_mapsat.cli import main
from pytest_mapsat.commands import doctor

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


class Gossip:
    """Made anew for each case, and keeps what it hears where all of them hear it."""

    heard = []

    def __call__(self, message, tools):
        self.heard.append(message)
        return f"I heard {self.heard[-2:][0]}" if "repeat" in message else message


current = {}


def crossed(message, tools):
    """Keeps what belongs to an episode where all episodes have it."""
    current["message"] = message
    sleep(0.05)
    return "Good day." if "repeat" in message else f"You said: {current['message']}"
'''


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
    assert len(checks) == 8
    assert checks["tells the user when tools fail"][1] == '"I cannot see your orders now."'
    assert checks["remembers the turn before"][1].endswith('"As I said: 2 orders."')
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


def test_what_a_class_keeps_for_all_its_objects_is_told(findings, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_in_fresh_process", lambda *_: (None, doctor.Diagnosis("ok", "")))
    assert findings("Gossip") == 1
    outcome, observed, _ = found_by(capsys)["keeps nothing from one case to the next"]
    assert (outcome, observed) == (
        "failed",
        "to 'Please repeat your last answer.', a session answers by the case before it",
    )


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


#: What a service answers to a text, by what it has heard in all its sessions, oldest first.
KEEPERS = {
    "its last answer": lambda text, heard: f"As I said: {heard[-1]}" if "repeat" in text and heard else text,
    "what was said": lambda text, heard: " ".join(heard) if "What is my" in text else text,
    "who was there": lambda text, heard: "Welcome back." if any("dumplings" in old for old in heard) else "Welcome.",
    "what it never shows": lambda text, heard: text,
}


@pytest.mark.parametrize("what", KEEPERS)
def test_no_service_is_said_to_keep_nothing(what, tmp_path, monkeypatch, capsys):
    heard = []

    def answer(request):
        text = request.body["message"]
        reply = KEEPERS[what](text, heard)
        heard.append(text)
        return answers({"text": reply})

    (tmp_path / "pytest.ini").touch()
    monkeypatch.chdir(tmp_path)
    # A process of its own would ask the same service.
    monkeypatch.setattr(doctor, "_in_fresh_process", lambda *_: (None, doctor.Diagnosis("ok", "")))
    with Service().running() as service:
        status = main(["doctor", service.at(answer), "--json"])
    outcome, observed, _ = found_by(capsys)["keeps nothing from one case to the next"]
    if what == "what it never shows":
        assert (outcome, observed.partition(":")[0]) == ("skipped", "not known")
    else:
        assert (status, outcome) == (1, "failed")


def test_the_agent_of_mapsat_init_passes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "."]) == 0
    capsys.readouterr()
    assert main(["doctor", "my_agent:Agent", "--json"]) == 0
    assert found_by(capsys)["tells the user when tools fail"][:2] == ("ok", '"I cannot see your orders right now."')


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
