"""What an agent changes for the whole process is put back after its reply, and a copy of the process ends."""

import asyncio
import builtins
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from episodes import play

from pytest_mapsat.agents import Reply


@pytest.mark.parametrize("hangs", [False, True])
def test_the_surroundings_are_put_back_after_a_reply_and_after_a_timeout(hangs, tmp_path):
    before = (sys.getrecursionlimit(), Path.cwd(), builtins.open, time.monotonic)

    def agent(message):
        sleep = time.sleep
        os.chdir(tmp_path)
        builtins.open = time.monotonic = time.sleep = None
        sys.setrecursionlimit(60)
        if hangs:
            sleep(1)
        return "Here."

    trajectory = play(agent, timeout=0.2 if hangs else 60)
    assert trajectory.ending == ("timeout" if hangs else "done")
    assert (sys.getrecursionlimit(), Path.cwd(), builtins.open, time.monotonic) == before


def test_an_agent_that_was_left_behind_puts_nothing_back_when_it_ends(tmp_path, monkeypatch):
    ended = []

    def agent(message):
        time.sleep(0.4)
        ended.append(True)
        return "Here."

    assert play(agent, timeout=0.1).ending == "timeout"
    monkeypatch.chdir(tmp_path)
    while not ended:
        time.sleep(0.05)
    time.sleep(0.1)
    assert Path.cwd() == tmp_path


def test_a_tool_called_with_the_stack_used_up_is_the_agents_fault():
    def agent(message, tools):
        try:
            return agent(message, tools)
        except RecursionError:
            return tools.find(query="cafe")["places"][0]

    trajectory = play(agent)
    assert (trajectory.fault is None) or trajectory.fault.blame == "agent"


class TestCoroutines:
    def test_stopping_the_shared_loop_is_refused_and_the_next_episode_is_unharmed(self):
        async def stops(message):
            asyncio.get_running_loop().stop()
            return "Here."

        async def good(message):
            await asyncio.sleep(0)
            return "Here."

        trajectory = play(stops)
        assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")
        assert "it is not the agent's to stop (test_episode_surroundings.py:" in trajectory.fault.message
        assert play(good).ending == "done"

    @pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
    def test_what_a_task_of_the_agent_raises_does_not_end_the_loop(self, error):
        async def task():
            raise error

        async def agent(message):
            await asyncio.create_task(task())

        async def good(message):
            return "Here."

        assert play(agent).fault.message.startswith(error.__name__)
        assert play(good).ending == "done"


class TestHostileParts:
    class Usage(dict):
        def __init__(self, error):
            super().__init__(cost=1)
            self.error = error

        def items(self):
            raise self.error

    class Thoughts(list):
        def __init__(self, error):
            super().__init__(["x"])
            self.error = error

        def __iter__(self):
            raise self.error

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(0), pytest.skip.Exception("no")])
    def test_what_a_part_of_a_reply_raises_is_the_agents(self, error):
        parts = [{"usage": self.Usage(error)}, {"output": self.Usage(error)}, {"thoughts": self.Thoughts(error)}]
        for part in parts:
            trajectory = play(lambda message, part=part: Reply("Here.", **part))
            assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")

    def test_words_that_raise_an_interrupt_are_told_all_the_same(self):
        class RudeError(Exception):
            def __str__(self):
                raise KeyboardInterrupt

        def agent(message):
            raise RudeError

        assert play(agent).fault.message.startswith("RudeError: its message cannot be read")


def printed_by(code):
    """Run a script in a process of its own, and return what it and all its copies print."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,  # ends only when every copy has closed its end
        text=True,
        timeout=30,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_copy_of_the_process_that_comes_back_is_blamed_on_its_episode_alone(kind):
    code = f"""
    import os, sys
    from episodes import play
    forks = True
    {kind} agent(message):
        if forks: os.fork()
        return "Here."
    fault = play(agent).fault
    print(fault.blame, fault.message, flush=True)
    forks = False
    print(play(agent).ending, flush=True)
    """
    said = "agent RuntimeError: a copy of the process came back from the call: one made with os.fork ends with os._exit"
    assert printed_by(code) == f"{said}\ndone\n"


def test_a_copy_is_blamed_on_the_episode_that_made_it_and_on_no_other_under_way():
    code = """
    import os, threading, time
    from episodes import play
    forked, ended = threading.Event(), threading.Event()
    def forks(message):
        if os.fork():
            forked.set()
            ended.wait(5)
        return "Here."
    def good(message):
        forked.wait(5)
        return "Here."
    def other():
        print(play(good).ending, flush=True)
        ended.set()
    thread = threading.Thread(target=other)
    thread.start()
    print(play(forks).ending, flush=True)
    thread.join()
    """
    assert printed_by(code) == "done\nagent_error\n"


@pytest.mark.parametrize(
    "copy", ["os._exit(0)", "sys.exit(0)", "os.execv(sys.executable, [sys.executable, '-S', '-c', ''])"]
)
def test_a_copy_that_ends_or_runs_another_program_is_no_fault(copy):
    code = f"""
    import os, sys
    from episodes import play
    def agent(message):
        child = os.fork()
        if not child: {copy}
        os.waitpid(child, 0)
        return "Here."
    print(play(agent).ending, flush=True)
    """
    assert printed_by(code) == "done\n"


def test_a_process_of_multiprocessing_is_no_fault():
    code = """
    import multiprocessing
    from episodes import play
    def agent(message):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            return pool.apply(str.upper, ("here.",))
    print(play(agent).ending, flush=True)
    """
    assert printed_by(code) == "done\n"
