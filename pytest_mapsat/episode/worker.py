"""Threads on which agents run, so that one that hangs can be left behind.

A worker is used for one episode after another; only one whose agent outlived its time is replaced.
"""

from __future__ import annotations

import concurrent.futures.thread
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from math import inf
from queue import SimpleQueue
from threading import Condition, Event, Lock
from time import perf_counter
from typing import Any, Protocol

from pytest_mapsat import agents
from pytest_mapsat.turns import waiting
from pytest_mapsat.user_code import Surroundings, new_thread

from .alarms import Alarms


class Overdue(Exception):  # noqa: N818  # says what happened; nothing is in error
    """The job was not done in its time; its thread is left behind."""


class LeftBehind(BaseException):  # likewise
    """This thread was left behind by an episode that ended without it: there is nothing more for it to do."""


class Caller(Protocol):
    """A way to call an agent."""

    def run(self, function: Callable[[Any], Any], argument: Any, *, timeout: float) -> Any:
        """Return ``function(argument)``, or raise what it raised.

        Raises:
            Overdue: it took longer than ``timeout`` seconds.
        """
        ...


class _Job:
    """One call of an agent. It ends once: when the agent is done, or when its time is over."""

    __slots__ = (
        "_context",
        "_done",
        "_ending",
        "_surroundings",
        "argument",
        "deadline",
        "error",
        "function",
        "overdue",
        "result",
    )

    def __init__(self, function: Callable[[Any], Any], argument: Any, deadline: float) -> None:
        self.function = function
        self.argument = argument
        self.deadline = deadline
        self.result: Any = None
        self.error: BaseException | None = None
        self.overdue = False
        self._context = copy_context()
        self._surroundings = Surroundings()
        self._ending = Lock()
        self._done = Lock()
        self._done.acquire()

    def run(self) -> None:
        try:
            self.result = self._context.run(self.function, self.argument)
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            self.error = error
        self.end()

    def end(self, *, overdue: bool = False) -> None:
        # Never released: an agent that was left behind must not put anything back when it does come to an end.
        if self._ending.acquire(blocking=False):
            self.overdue = overdue
            self._surroundings.restore()
            self._done.release()

    def wait(self) -> None:
        self._done.acquire()


class _Watch:
    """A thread that ends a job whose time is over, and puts the surroundings back before anybody goes on.

    The thread that waits for the job could not: deep in pytest's stack, nothing can be called any more once the agent has set a
    recursion limit below that depth. It is woken for an earlier deadline only, so that it costs a reply next to nothing.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._job: _Job | None = None
        self._until = inf
        self._stopped = False
        self._thread = new_thread(self._work, "mapsat-watch")
        self._thread.start()

    def set(self, job: _Job | None) -> None:
        with self._changed:
            self._job = job
            if job is not None and job.deadline < self._until:
                self._changed.notify()

    def dismiss(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def join(self) -> None:
        self._thread.join(1)

    def _work(self) -> None:
        with self._changed:
            while not self._stopped:
                if self._job is not None and self._job.deadline <= perf_counter():
                    self._job.end(overdue=True)
                    self._job = None
                self._until = inf if self._job is None else self._job.deadline
                self._changed.wait(None if self._until == inf else max(self._until - perf_counter(), 0))


class Worker:
    """A thread for an agent, and one that watches the time.

    Attributes:
        idle: false while a job runs, and for ever after one was overdue.
    """

    def __init__(self) -> None:
        self.idle = True
        self._watch = _Watch()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = new_thread(self._work, "mapsat-agent")
        self._thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            # Kept until the next job comes, it would keep an agent and its exceptions alive.
            del job

    def run(self, function: Callable[[Any], Any], argument: Any, *, timeout: float) -> Any:
        """Return ``function(argument)``, or raise what it raised.

        Raises:
            Overdue: it took longer than ``timeout`` seconds.
        """
        job = _Job(function, argument, perf_counter() + timeout)
        self.idle = False
        self._watch.set(job)
        self._jobs.put(job)
        try:
            job.wait()
        except KeyboardInterrupt:
            job.end(overdue=True)
            raise
        self._watch.set(None)
        if job.overdue:
            raise Overdue
        self.idle = True
        if job.error is not None:
            raise job.error
        return job.result

    def dismiss(self) -> None:
        """Let the threads end when the job does, whenever that is."""
        self._watch.dismiss()
        self._jobs.put(None)

    def stop(self) -> None:
        """Let the threads end, and wait for them."""
        self.dismiss()
        self._watch.join()
        self._thread.join(1)


class Here:
    """The calling thread, for a dialogue that has it to itself: an agent is called without a hand-over.

    Nobody can call a thread back from an agent that hangs in it. So when the time is over, the episode ends on another thread, and this
    one is left behind.

    Args:
        overdue: ends the episode. Called on the thread of the alarms, and ``run`` then raises ``LeftBehind`` whenever the agent is done.
    """

    def __init__(self, overdue: Callable[[], None]) -> None:
        self._overdue = overdue
        self._rung = Event()

    def run(self, function: Callable[[Any], Any], argument: Any, *, timeout: float) -> Any:
        """See ``Caller.run``."""
        if timeout <= 0:
            raise Overdue
        alarm = _alarms.set(perf_counter() + timeout, self._ring)
        try:
            with waiting():
                return function(argument)
        finally:
            if not alarm.off():
                self._rung.wait()  # the episode has ended without this thread by then
                raise LeftBehind

    def _ring(self) -> None:
        _left_behind.append(self)
        try:
            self._overdue()
        finally:
            self._rung.set()


_alarms = Alarms()
_idle: list[Worker] = []
_left_behind: list[Worker | Here] = []


def leave_behind() -> None:
    """End the episodes now whose agents have a thread of their own and are in a reply, as if their time were over."""
    _alarms.ring_all()


@contextmanager
def leased() -> Iterator[Worker]:
    """Give a worker for one episode."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = Worker()
    try:
        yield worker
    finally:
        if worker.idle:
            _idle.append(worker)
        else:
            worker.dismiss()
            _left_behind.append(worker)


def shutdown() -> None:
    """Stop the threads that wait for work, and the agents' event loop."""
    while _idle:
        _idle.pop().stop()
    _alarms.stop()
    if "pytest_mapsat.agents.loop" in sys.modules:  # a coroutine has run
        agents.shutdown()
    if _left_behind:
        _left_behind.clear()
        _forget_executors()


def _forget_executors() -> None:
    """Let Python end without the executors of agents that were left behind: it would wait for their threads for ever.

    Those threads are daemons, like ours that started them, which Python's own table of executors does not ask.
    """
    threads = getattr(concurrent.futures.thread, "_threads_queues", {})
    for thread in [thread for thread in threads if thread.daemon]:
        del threads[thread]
