"""Threads on which agents run, so that one that hangs can be left behind, and the alarms that end an episode in time.

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
from threading import Condition, Event, Lock, Thread, current_thread
from time import perf_counter
from typing import Any, Protocol

from pytest_mapsat import agents
from pytest_mapsat.turns import waiting
from pytest_mapsat.user_code import Surroundings


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
    """One call of an agent, and what came of it."""

    def __init__(self, function: Callable[[Any], Any], argument: Any) -> None:
        self._function = function
        self._argument = argument
        self._context = copy_context()
        self._done = Lock()
        self._done.acquire()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._context.run(self._function, self._argument)
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            self.error = error
        self._done.release()

    def wait(self, timeout: float) -> bool:
        """Return whether it was done in time."""
        return self._done.acquire(timeout=max(timeout, 0))


class Worker:
    """A thread for an agent.

    Attributes:
        idle: false while a job runs, and for ever after one was overdue.
    """

    def __init__(self) -> None:
        self.idle = True
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="mapsat-agent", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            # Kept until the next job comes, it would keep an agent and its exceptions alive.
            del job

    def run(self, function: Callable[[Any], Any], argument: Any, *, timeout: float) -> Any:
        """See ``Caller.run``."""
        job, surroundings = _Job(function, argument), Surroundings()
        self.idle = False
        self._jobs.put(job)
        try:
            self.idle = job.wait(timeout)
        finally:
            surroundings.restore()
        if not self.idle:
            raise Overdue
        if job.error is not None:
            raise job.error
        return job.result

    def dismiss(self) -> None:
        """Let the thread end when the job does, whenever that is."""
        self._jobs.put(None)

    def stop(self) -> None:
        """Let the thread end, and wait for it."""
        self.dismiss()
        self._thread.join(1)


class Alarm:
    """Something to be done at a time, unless it is put off before."""

    __slots__ = ("_alarms", "at", "ring")

    def __init__(self, alarms: Alarms, at: float, ring: Callable[[], None]) -> None:
        self._alarms = alarms
        self.at = at
        self.ring = ring

    def off(self) -> bool:
        """Put it off; return whether that was in time."""
        return self._alarms.put_off(self)


class Alarms:
    """All alarms of a process, and the thread that rings them. It is woken for an earlier time only."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._set: dict[int, Alarm] = {}
        self._until = inf
        self._thread: Thread | None = None

    def set(self, at: float, ring: Callable[[], None]) -> Alarm:
        """Have ``ring`` called, on the thread of the alarms, when ``time.perf_counter`` has come to ``at``."""
        alarm = Alarm(self, at, ring)
        with self._changed:
            self._set[id(alarm)] = alarm
            if self._thread is None:
                self._thread = Thread(target=self._work, name="mapsat-alarms", daemon=True)
                self._thread.start()
            elif at < self._until:
                self._changed.notify()
        return alarm

    def put_off(self, alarm: Alarm) -> bool:
        """See ``Alarm.off``."""
        with self._changed:
            return self._set.pop(id(alarm), None) is not None

    def ring_all(self) -> None:
        """Ring those that are set now, whatever their time."""
        with self._changed:
            for alarm in self._set.values():
                alarm.at = 0
            self._changed.notify()

    def stop(self) -> None:
        """End the thread, and wait for it a little; the next alarm starts another."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._set.clear()
            self._changed.notify()
        if thread is not None:
            thread.join(1)

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._thread is not current_thread():
                    return
                now = perf_counter()
                due = [alarm for alarm in self._set.values() if alarm.at <= now]
                for alarm in due:
                    del self._set[id(alarm)]
                if not due:
                    self._until = min((alarm.at for alarm in self._set.values()), default=inf)
                    self._changed.wait(None if self._until == inf else self._until - now)
                    self._until = -inf  # awake: looks at all of them anyway
            for alarm in due:
                alarm.ring()


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
    if "pytest_mapsat.agents.callables" in sys.modules:
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
