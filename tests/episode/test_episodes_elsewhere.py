"""Episodes that another process plays: only text travels, and whatever goes wrong is told of the episode."""

import json
import threading
import time
import zlib
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from episodes import CASE, FIND, HIDDEN, RECORDING, play

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.model import RunRequest, SuiteManifest
from pytest_mapsat.runs import elsewhere
from pytest_mapsat.runs.elsewhere import Elsewhere, play_elsewhere

MANIFEST = {"name": "s", "version": "1", "license": "MIT", "schema_version": 1, "coordinates": "wgs84"}
SUITE = SimpleNamespace(
    manifest=SuiteManifest(**MANIFEST),
    tools={"find": FIND},
    tables={},
    sandboxes=None,
    recordings=lambda case_id: (RECORDING, HIDDEN),
)
AGENT = """
def agent(message, tools):
    return "Here." if "nine" in message else f"What time? {tools.find(query='cafe')['places']}"
"""


class Wire(Executor):
    """Plays at once, and keeps what travelled."""

    def __init__(self):
        self.sent = []

    def submit(self, function, /, *arguments):
        self.sent += arguments
        future = Future()
        future.set_result(function(*arguments))
        return future


class OnTheDot(Executor):
    """Answers at the very moment at which whoever waits looks away."""

    class Answer(Future):
        def result(self, timeout=None):
            if timeout is None:
                return super().result()
            self.set_result(self.said)
            raise TimeoutError

    def submit(self, function, /, *arguments):
        future = self.Answer()
        future.said = function(*arguments)
        threading.Timer(0.01, lambda: future.done() or future.set_result(future.said)).start()
        return future


class Silent(Executor):
    """Never answers."""

    def submit(self, function, /, *arguments):
        return Future()


@pytest.fixture
def far(tmp_path, monkeypatch):
    """Plays the case elsewhere with an executor; the agent of a module is there by default."""
    (tmp_path / "far_agent.py").write_text(AGENT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(elsewhere, "_GLANCE", 0.02)

    def play_far(executor, *, agent="far_agent:agent", **changes):
        request = RunRequest(agent=agent, user="scripted", judge="checks")
        player = Elsewhere(executor.submit, request, tmp_path, **changes)
        source = resolve_source("far_agent:agent", root=tmp_path)
        return player.play(CASE, SUITE, source, trial=1)

    return play_far


def without_times(trajectory):
    return [turn.model_copy(update={"timing": None}) for turn in trajectory.turns]


def test_the_trajectory_is_that_of_an_episode_played_here(far):
    def agent(message, tools):
        return "Here." if "nine" in message else f"What time? {tools.find(query='cafe')['places']}"

    with ThreadPoolExecutor(1) as pool:
        there = far(pool)
    here = play(agent)
    assert (there.ending, without_times(there)) == (here.ending, without_times(here))
    assert len(there.replies) == 2


def test_an_answer_that_comes_as_the_waiting_ends_is_not_lost(far):
    assert far(OnTheDot()).ending == "done"


def test_only_text_travels_and_no_truth_but_the_users_script(far):
    wire = Wire()
    far(wire)
    text = "".join(zlib.decompress(part).decode() for part in wire.sent)
    assert all(isinstance(part, bytes) for part in wire.sent)
    for secret in (
        "secret-intent",
        "secret-explicit",
        "secret-implicit",
        "secret-fact",
        "secret_tool",
        "secret-oracle",
    ):
        assert secret not in text
    assert "At nine." in text


@pytest.mark.parametrize(
    ("agent", "said"),
    [("no_such_module:agent", "there is no module 'no_such_module'"), ("far_agent:nobody", "no attribute 'nobody'")],
)
def test_an_agent_that_cannot_be_imported_there_is_that_episodes_error(far, agent, said):
    trajectory = far(Wire(), agent=agent)
    assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
    assert said in trajectory.fault.message


def test_a_process_of_another_version_is_named_and_plays_nothing(far, monkeypatch):
    def of_another_version(suite, asked):
        monkeypatch.setattr(elsewhere, "__version__", "0.0.1")
        return play_elsewhere(suite, asked)

    class Older(Wire):
        def submit(self, function, /, *arguments):
            return super().submit(of_another_version, *arguments)

    said = far(Older()).fault.message
    assert "has pytest-mapsat 0.0.1, the run has" in said


def test_what_an_executor_raises_or_never_says_ends_the_episode(far):
    class Broken(Executor):
        def submit(self, function, /, *arguments):
            future = Future()
            future.set_exception(OSError("the worker died"))
            return future

    assert "the executor lost it: OSError: the worker died" in far(Broken()).fault.message
    far(Wire())


def test_nobody_waits_after_the_end_of_the_run(far, tmp_path):
    player = Elsewhere(Silent().submit, RunRequest(agent="far_agent:agent", user="scripted", judge="checks"), tmp_path)
    threading.Timer(0.1, player.stop).start()
    started = time.perf_counter()
    trajectory = player.play(CASE, SUITE, resolve_source("far_agent:agent", root=tmp_path), trial=1)
    assert "the run ended before the episode did" in trajectory.fault.message
    assert time.perf_counter() - started < 5
    assert json.loads(trajectory.model_dump_json())["ending"] == "infrastructure_error"
