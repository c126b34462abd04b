"""Turns: one thread computes, others wait for it or for something else, and nothing is held up by one that never ends."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from pytest_mapsat import interpreter
from pytest_mapsat.interpreter import Turns


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as made:
        yield made


def computed(ours):
    with ours.computing():
        return True


def test_one_thread_computes_at_a_time(pool):
    ours, under_way, most = Turns(), [], []

    def compute(number):
        with ours.computing():
            under_way.append(number)
            time.sleep(0.001)  # whoever may run does so now
            most.append(len(under_way))
            under_way.remove(number)

    list(pool.map(compute, range(100)))
    assert set(most) == {1}


def test_all_wait_at_once_though_one_computes_at_a_time(pool):
    ours, together = Turns(), threading.Barrier(8)

    def episode(_):
        with ours.computing(), ours.waiting():
            return together.wait(10)

    assert sorted(pool.map(episode, range(8))) == list(range(8))


def test_a_turn_within_a_turn_is_the_same_and_who_has_none_gives_none(pool):
    ours = Turns()
    with ours.waiting(), ours.computing(), ours.computing():
        with ours.waiting(), ours.waiting():
            pool.submit(computed, ours).result(10)
        later = pool.submit(computed, ours)
        assert not wait([later], 0.05).done
    later.result(10)


def test_who_has_waited_while_nobody_was_called_goes_on_without(pool, monkeypatch):
    monkeypatch.setattr(interpreter, "_PATIENCE", 0.01)
    ours, ended = Turns(), threading.Event()

    def holds():
        with ours.computing():
            return ended.wait(10)

    def goes_on():
        with ours.computing(), ours.waiting():
            ended.set()

    with ours.computing():
        pool.submit(goes_on).result(10)
    ended.clear()
    held = pool.submit(holds)
    pool.submit(goes_on).result(10)
    assert held.result(10)


def test_a_turn_is_given_back_whatever_is_raised(pool):
    ours = Turns()

    def breaks():
        with ours.computing(), ours.waiting():
            raise SystemExit

    with pytest.raises(SystemExit):
        pool.submit(breaks).result(10)
    pool.submit(computed, ours).result(10)
