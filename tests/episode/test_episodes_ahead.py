"""Episodes on threads of their own: in order, no more than so many, and nothing of one that hangs."""

import asyncio
import sys
import threading
import time
from contextvars import copy_context

import pytest
from episodes import CASE, recorded_sandbox

from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.runs.ahead import HELD, Ahead, Planned
from pytest_mapsat.runs.request import CeilingReachedError
from pytest_mapsat.runs.runner import Played
from pytest_mapsat.users import make_user


def meanwhile():
    """Nothing to be done while somebody waits."""


@pytest.fixture
def ahead():
    made = Ahead(3, grades=False)
    yield made
    made.close()


def offer(ahead, key, agent, *, grade=None, timeout=60.0):
    """Offer an episode of the case with an agent; its card is the trajectory unless something grades it."""

    def play():
        user, limits = make_user("scripted", CASE), Limits(timeout=timeout)
        return Played(CASE, run_episode(CASE, source_of(agent, "mymod:agent"), user, recorded_sandbox(), limits), 0.0)

    ahead.offer(Planned(key, play, grade or (lambda played: played.trajectory), copy_context()))


def test_episodes_begin_in_order_and_as_many_as_may_be_under_way(ahead):
    began = []
    together = threading.Barrier(3)

    def agent_of(number):
        def agent(message):
            began.append(number)
            together.wait(10)
            return "Here."

        return agent

    for number in range(9):
        offer(ahead, number, agent_of(number))
    assert [ahead.ask(number, meanwhile).ending for number in range(9)] == ["done"] * 9
    assert [sorted(began[at : at + 3]) for at in (0, 3, 6)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_one_that_runs_on_the_calling_thread_counts_as_well(ahead):
    under_way, most, lock = [], [], threading.Lock()

    def counted(message=None):
        with lock:
            under_way.append(message)
            most.append(len(under_way))
        time.sleep(0.02)
        with lock:
            under_way.pop()
        return "Here."

    for number in range(9):
        offer(ahead, number, lambda message: counted())
    for _ in range(3):
        with ahead.elsewhere():
            counted()
    assert [ahead.ask(number, meanwhile).ending for number in range(9)] == ["done"] * 9
    assert max(most) <= 3


def test_as_much_is_held_as_memory_is_meant_to_hold_whether_it_has_ended_or_not(ahead):
    for number in range(HELD * 3):
        assert ahead.room == HELD * 3 - number
        offer(ahead, number, lambda message: "Here.")
    ahead.ask(0, meanwhile)
    ahead.drop(1)
    assert ahead.room == 2


def test_one_that_is_asked_for_goes_before_those_that_are_not():
    ahead = Ahead(1, grades=False)
    gate = threading.Event()
    began = []

    def holds(message):
        gate.wait(5)
        return "Here."

    offer(ahead, 0, holds)
    for number in range(1, 5):
        offer(ahead, number, lambda message, number=number: began.append(number) or "Here.")
    ahead.ask(4, gate.set)
    ahead.close()
    assert began[0] == 4


def test_what_is_to_be_done_meanwhile_is_done_before_anybody_waits(ahead):
    done = threading.Event()
    offer(ahead, 1, lambda message: "Here." if done.wait(10) else "Never.")
    assert ahead.ask(1, done.set).turns[1].text == "Here."


@pytest.mark.parametrize("kind", ["blocking", "coroutine"])
def test_an_agent_that_outlives_its_time_ends_its_episode_and_holds_up_no_other(ahead, kind):
    release = threading.Event()

    def hangs(message, tools):
        tools.find(query="cafe")
        release.wait(5)
        tools.find(query="cafe")
        return "too late"

    async def sleeps(message, tools):
        tools.find(query="cafe")
        await asyncio.sleep(5)

    for number in range(4):
        offer(ahead, number, hangs if kind == "blocking" else sleeps, timeout=0.2)
    offer(ahead, "good", lambda message: "Here.")
    started = time.perf_counter()
    for number in range(4):
        trajectory = ahead.ask(number, meanwhile)
        assert (trajectory.ending, trajectory.fault.blame) == ("timeout", "agent")
        assert [step.tool for step in trajectory.calls] == ["find"]
    assert ahead.ask("good", meanwhile).ending == "done"
    assert time.perf_counter() - started < 3
    release.set()
    assert ahead.close() == 0


def test_the_end_waits_for_what_is_under_way_and_gives_up_what_hangs(monkeypatch):
    monkeypatch.setattr("pytest_mapsat.runs.ahead._PATIENCE", 0.3)
    ahead = Ahead(2, grades=False)
    release, ended = threading.Event(), []

    def short(message):
        time.sleep(0.1)
        ended.append("short")
        return "Here."

    offer(ahead, "short", short)
    offer(ahead, "hangs", lambda message: release.wait(5) and "Here.")
    offer(ahead, "not begun", lambda message: ended.append("not begun") or "Here.")
    time.sleep(0.05)
    started = time.perf_counter()
    ahead.cancel()
    assert ahead.ask("not begun", meanwhile) is None
    assert ahead.close() == 1
    assert time.perf_counter() - started < 3
    assert ended == ["short"]
    release.set()


def test_what_playing_or_grading_raises_is_raised_where_it_is_asked_for(ahead):
    def refuses(played):
        raise TimeoutError("of the judge")

    offer(ahead, 1, lambda message: "Here.", grade=refuses)
    with pytest.raises(TimeoutError, match="of the judge"):
        ahead.ask(1, meanwhile)


def test_a_ceiling_lets_nothing_more_begin():
    ahead = Ahead(1, grades=True)

    def spent(played):
        raise CeilingReachedError("spent")

    for number in range(3):
        offer(ahead, number, lambda message: "Here.", grade=spent)
    with pytest.raises(CeilingReachedError):
        ahead.ask(0, meanwhile)
    assert ahead.ask(2, meanwhile) is None
    assert ahead.room == 0


def test_a_recursion_limit_that_an_agent_leaves_behind_is_put_back(ahead):
    before = sys.getrecursionlimit()

    def agent(message):
        sys.setrecursionlimit(before + 50)
        return "Here."

    offer(ahead, 1, agent)
    ahead.ask(1, meanwhile)
    assert sys.getrecursionlimit() == before
