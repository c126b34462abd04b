"""Agents in processes of their own: they play as they would here, and what they do to their process is their own failure."""

import ctypes
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import isolated_agents
import pytest
from isolated_agents import GARBAGE

from pytest_mapsat.agents import source_of
from pytest_mapsat.agents.isolated import IsolatedSource, Isolation, Processes, isolated_source
from pytest_mapsat.agents.keeper import prctl, restrict_process, unreadable
from pytest_mapsat.agents.process import MOST_PRINTED
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.model import UsageError
from pytest_mapsat.users import make_user

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "episode"))
from episodes import CASE, recorded_sandbox  # noqa: E402

SAME = [
    "talks", "Keeps", "makes", "waits", "structured", "clumsy", "raises", "returns_nothing", "floods", "calls_for_ever", "large_arguments",
    "leaves", "interrupts", "odd_surrogate", "cannot_connect", "is_unavailable", "asks_a_model",
]  # fmt: skip
BAD = {
    "ends_at_once": "the agent's process ended with exit status 0 before it replied",
    "crashes": "the agent's process was ended by SIGSEGV",
    "kills_its_group": "the agent's process was ended by SIGTERM",
    "kills_its_guard": "the agent's process was lost with its keeper",
    "eats_memory": "MemoryError: no message (isolated_agents.py:",
    "hoards": "MemoryError: no message",
    "hoards_in_a_loop": "MemoryError: no message",
    "claims_much": "MemoryError: ",
    "closes_everything": "the agent's process closed its output before it replied",
}


@contextmanager
def processes(memory=400, **environment):
    made = Processes(Isolation(tuple(sys.path), environment, memory=memory, patience=60))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def shared():
    with processes() as made:
        yield made


@contextmanager
def isolated(name, made):
    source = IsolatedSource(f"isolated_agents:{name}", HERE, made)
    try:
        yield source
    finally:
        source.dismiss()


def play(source, **limits):
    return run_episode(CASE, source, make_user("scripted", CASE), recorded_sandbox(), Limits(**limits))


def played(name, made, **limits):
    with isolated(name, made) as source:
        return play(source, **limits)


def plain(trajectory):
    turns = [turn.model_copy(update={"timing": None}) for turn in trajectory.turns]
    return trajectory.model_copy(update={"turns": tuple(turns)})


def has_ended(pid):
    """Return whether a process is gone within some seconds, or waits only for somebody to ask how it ended."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with suppress(FileNotFoundError, ProcessLookupError):  # it ends between two looks
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("name", SAME)
def test_an_agent_plays_as_it_does_in_our_own_process(shared, name):
    here = play(source_of(getattr(isolated_agents, name), f"isolated_agents:{name}"))
    assert plain(played(name, shared)) == plain(here)
    assert len(here.turns) > 1 or here.fault is not None


@pytest.mark.parametrize("name", BAD)
def test_what_an_agent_does_to_its_process_is_its_own_failure(shared, name):
    trajectory = played(name, shared)
    assert trajectory.ending == "agent_error"
    assert trajectory.fault.blame == "agent"
    assert trajectory.fault.message.startswith(BAD[name])
    if "MemoryError" in BAD[name]:
        assert "its process may use 400 MB (--mapsat-isolate=memory:MB)" in trajectory.fault.message


def test_an_agent_that_replies_with_no_memory_left_is_heard_or_told_of_its_memory(shared):
    trajectory = played("hoards_and_replies", shared)  # how much is left for the reply differs from process to process
    if trajectory.fault is None:
        assert [turn.text for turn in trajectory.replies][:1] == ["I have it all"]
    else:
        assert trajectory.fault.blame == "agent"
        assert trajectory.fault.message.startswith("MemoryError: ")


@pytest.mark.parametrize("memory", range(100, 124, 4))
def test_a_coroutine_that_uses_up_its_memory_is_told_so_wherever_the_limit_falls(memory):
    with processes(memory=memory) as made:
        trajectory = played("hoards_in_a_loop", made, timeout=60)
    assert trajectory.ending == "agent_error"
    assert trajectory.fault.message.startswith("MemoryError: ")


def test_an_agent_that_kills_the_keeper_harms_no_other_episode(shared):
    assert played("kills_its_keeper", shared).replies[0].text == "Here."
    assert played("structured", shared).fault is None


def test_a_loop_in_c_that_holds_the_interpreter_ends_with_its_time(shared):
    started = time.monotonic()
    trajectory = played("holds_the_interpreter", shared, timeout=0.5)
    assert (trajectory.ending, trajectory.fault.blame) == ("timeout", "agent")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("name", ["leaves_a_child", "leaves_a_daemon", "never_ends"])
def test_what_an_agent_has_started_ends_with_its_episode(shared, name):
    assert has_ended(int(played(name, shared).replies[0].text.split()[1]))


def test_what_is_no_message_fails_the_episode_and_the_next_agent_has_a_process_as_good_as_new(shared):
    for number, what in enumerate(GARBAGE):
        trajectory = played(f"garbage_{number}", shared, timeout=20)
        assert trajectory.ending == "agent_error", (what, trajectory)
        assert trajectory.fault.blame == "agent"
        assert len(trajectory.fault.message) < 500
        assert not trajectory.replies
        if "more values" in what:
            assert "values at once; at most 3,000,000 are taken" in trajectory.fault.message
    assert played("structured", shared).fault is None


def test_a_second_answer_fails_the_episode(shared):
    twice = played("answers_twice", shared)
    assert "the agent's process wrote" in twice.fault.message
    assert twice.fault.message.endswith("before it was asked")
    assert [turn.text for turn in twice.replies] == ["What time? I say it myself"]


def test_calls_that_are_made_up_count_like_any(shared):
    trajectory = played("makes_up_calls", shared)
    assert trajectory.fault.message == "the agent made more than 200 tool calls in one reply"


def test_an_agent_that_never_listens_to_its_answers_ends_with_its_time(shared):
    trajectory = played("never_listens", shared, timeout=0.5)
    assert trajectory.fault.blame == "agent"
    assert len([step for turn in trajectory.turns for step in turn.steps]) <= 200


def test_what_an_agent_prints_is_printed_here_and_bounded(shared, capsys):
    played("prints", shared)
    out, err = capsys.readouterr()
    assert out == "to stdout 1\nfrom C\nfrom a program\n"
    assert err == "to stderr\n"
    played("prints_for_ever", shared)
    out, _ = capsys.readouterr()
    assert len(out) == MOST_PRINTED
    played("ends_at_once", shared)
    assert capsys.readouterr().out == "last words\n"


def test_an_agent_has_an_empty_folder_and_little_of_the_environment_and_leaves_nothing_to_the_next(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "of ours")
    with processes(PASSED="yes") as made, isolated("leaves_traces", made) as source:
        for _ in range(2):
            rounds, trace, folder, names, place, home, arguments = json.loads(play(source).replies[0].text)
            assert (rounds, trace, folder) == (1, "x", ["trace.txt"])
            assert place == home
            assert {"PATH", "HOME", "TMPDIR", "PASSED"} <= set(names)
            assert not {"SECRET_KEY", "PYTEST_CURRENT_TEST", "PYTHONPATH"} & set(names)
            assert arguments == ["mapsat-agent"]
    assert not Path(place).parent.exists()


def test_a_call_between_replies_is_refused_and_leaves_its_trace(shared, monkeypatch):
    user = make_user("scripted", CASE)
    answers = user.reply
    monkeypatch.setattr(user, "reply", lambda *given: time.sleep(1) or answers(*given))
    with isolated("calls_after_its_reply", shared) as source:
        trajectory = run_episode(CASE, source, user, recorded_sandbox(), Limits())
    assert (trajectory.fault, trajectory.calls) == (None, ())
    assert [(step.tool, step.arguments, step.status) for step in trajectory.after_end] == [
        ("find", {"query": "too late"}, "unknown")
    ]


def test_a_process_may_end_in_an_orderly_way_with_its_tools_closed(tmp_path):
    note = tmp_path / "goodbye.txt"
    with processes(GOODBYE=str(note)) as made:
        played("says_goodbye", made)
    assert note.read_text().startswith("ToolsClosed: no reply is under way")


def test_many_episodes_may_be_under_way_at_once(shared):
    with isolated("Keeps", shared) as source, ThreadPoolExecutor(8) as threads:
        done = list(threads.map(lambda _: plain(play(source)), range(16)))
    assert {one.model_dump_json() for one in done} == {plain(played("Keeps", shared)).model_dump_json()}


def test_whether_an_agent_waits_is_known(shared):
    for name, waits in (("waits", True), ("talks", False)):
        with isolated(name, shared) as source:
            source.check()
            assert source.waits is waits


def reads_its_parent(user, lock):
    """Return whether a process of a user reads the environment of the one that made it, behind a lock: it is asked in processes of their own."""
    parent = os.fork()
    if parent == 0:
        if user:
            os.setuid(user)
            prctl(4, 1)  # PR_SET_DUMPABLE, which a change of user takes away
        with unreadable() if lock == "unreadable" else nullcontext():
            child = os.fork()
            if child == 0:
                if lock == "others":
                    restrict_process()
                try:
                    os._exit(int(bool(Path(f"/proc/{os.getppid()}/environ").read_bytes())))
                except PermissionError:
                    os._exit(0)
                finally:
                    os._exit(2)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return os.waitstatus_to_exitcode(os.waitpid(parent, 0)[1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="locks of Linux")
@pytest.mark.parametrize("lock", ["unreadable", pytest.param("others", id="landlock")])
def test_each_lock_alone_keeps_a_process_from_reading_another(lock):
    if lock == "others" and ctypes.CDLL(None).syscall(444, None, 0, 1) < 2:
        pytest.skip("this kernel has no Landlock")
    user = os.getuid() or 65534
    assert reads_its_parent(user, "none") == 1
    assert reads_its_parent(user, lock) == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_an_agent_that_looks_for_the_truth_finds_none(shared):
    tried, found = json.loads(played("searches", shared).replies[0].text)
    assert tried > 100
    assert found == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_the_same_search_finds_what_a_process_was_given():
    with processes(NOTE="secret-intent") as made:
        _, found = json.loads(played("searches", made).replies[0].text)
    assert {"environment", "/proc/self/environ", "texts of objects", "own memory"} <= set(found)


BROKEN = {
    "import os; os._exit(0)": "the agent's process ended with exit status 0 before its module 'broken' was imported",
    "import ctypes; ctypes.string_at(0)": "the agent's process was ended by SIGSEGV before its module 'broken' was imported",
    "import sys; sys.exit(0)": "importing 'broken' failed: broken.py:1: SystemExit: 0",
    "x = bytearray(10**10)": "MemoryError: no message; its process may use 400 MB",
    "import time; time.sleep(60)": "the agent's process was silent for 1 s before its module 'broken' was imported",
    "agent = 3": "is an object of type int",
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_module_that_breaks_its_process_is_a_usage_error(shared, tmp_path, source, monkeypatch):
    (tmp_path / "broken.py").write_text(source)
    monkeypatch.setattr(shared, "isolation", Isolation((), {}, memory=400, patience=1 if "sleep" in source else 60))
    broken = IsolatedSource("broken:agent", tmp_path, shared)
    try:
        with pytest.raises(UsageError) as told:
            broken.check()
    finally:
        broken.dismiss()
    assert "agent 'broken:agent'" in str(told.value)
    assert BROKEN[source] in str(told.value)
    assert "broken" not in sys.modules


def test_no_word_of_a_module_steers_the_terminal(shared, tmp_path):
    (tmp_path / "broken.py").write_text("raise ValueError('\\x1b[31mred')")
    broken = IsolatedSource("broken:agent", tmp_path, shared)
    with pytest.raises(UsageError, match=r"ValueError: \\u001b\[31mred"):
        broken.check()
    broken.dismiss()


def test_a_keeper_that_cannot_begin_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_mapsat.agents.isolated.BOOT", "import nothing_of_that_name")
    with pytest.raises(UsageError, match=r"was lost with its keeper: .*No module named 'nothing_of_that_name'"):
        isolated_source("isolated_agents:talks", HERE, Isolation((), {}))


def test_a_module_that_breaks_some_of_its_processes_fails_their_episodes(shared, tmp_path):
    (tmp_path / "broken.py").write_text(
        f"import os, pathlib\nonce = pathlib.Path({str(tmp_path)!r}) / 'once'\n"
        "if once.exists(): os._exit(7)\n\ndef agent(message):\n    once.write_text('x')\n    return 'Here.'\n"
    )
    source = IsolatedSource("broken:agent", tmp_path, shared)
    source.check()
    endings = [play(source) for _ in range(3)]
    source.dismiss()
    assert endings[0].fault is None
    assert (
        endings[-1].fault.message
        == "the agent's process ended with exit status 7 before its module 'broken' was imported"
    )


def children_of(pid):
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def test_no_process_outlives_a_pytest_that_is_killed(tmp_path):
    import subprocess

    script = (
        "import sys; sys.path[:0] = sys.argv[1:3]\nimport test_isolated_agents as t\n"
        "with t.processes() as made:\n    first = made.start()\n    print(made._keeper.pid, flush=True)\n    t.played('holds_the_interpreter', made)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(HERE), str(HERE.parent)], stdout=subprocess.PIPE, text=True
    ) as pytest_like:
        keeper = int(pytest_like.stdout.readline())
        until, started = time.monotonic() + 60, []
        while time.monotonic() < until and len(started) < 6:
            time.sleep(0.05)
            guards = children_of(keeper)
            started = [*guards, *(pid for guard in guards for pid in children_of(guard))]
        pytest_like.send_signal(signal.SIGKILL)
    assert len(started) == 6
    assert all(map(has_ended, [keeper, *started]))
