"""What an agent changes for the whole process is put back after its reply, and what it raises is its own."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest
from episodes import play

from pytest_mapsat.agents import Reply


@pytest.mark.parametrize("hangs", [False, True])
def test_the_surroundings_are_put_back_after_a_reply_and_after_a_timeout(hangs, tmp_path):
    before = (sys.getrecursionlimit(), Path.cwd())

    def agent(message):
        os.chdir(tmp_path)
        sys.setrecursionlimit(5000)
        if hangs:
            time.sleep(1)
        return "Here."

    trajectory = play(agent, timeout=0.2 if hangs else 60)
    assert trajectory.ending == ("timeout" if hangs else "done")
    assert (sys.getrecursionlimit(), Path.cwd()) == before


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
    def test_stopping_the_shared_loop_harms_no_episode(self):
        async def stops(message):
            asyncio.get_running_loop().stop()
            return "Here."

        async def good(message):
            await asyncio.sleep(0)
            return "Here."

        assert play(stops).ending == "done"
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


class TestPartsThatRaise:
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
