"""Threads on which agents run, so that one that hangs can be left behind.

A worker is used for one episode after another; only one whose agent outlived its time is replaced. The waiting thread ends the episode.
"""

from __future__ import annotations

import concurrent.futures.thread
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock, Thread, current_thread, main_thread
from typing import Any

from pytest_mapsat import agents
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.user_code import Surroundings


class Overdue(Exception):  # noqa: N818  # says what happened; nothing is in error
    """The job was not done in its time; its thread is left behind."""


class _Job:
    """One call of an agent, and what came of it."""

    def __init__(self, function: Callable[[Any], Any], argument: Any) -> None:
        self._function = function
        self._argument = argument
        self._context = copy_context()
        self._over = Lock()
        self._over.acquire()
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._context.run(self._function, self._argument)
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            self.error = error
        self.done = True
        self.give_up()

    def give_up(self) -> None:
        """Wake the thread that waits for this job, finished or not."""
        with suppress(RuntimeError):  # it does already
            self._over.release()

    def wait(self, timeout: float) -> bool:
        """Wait until it is done, its time is over or it is given up; return whether it was done."""
        with waiting():
            self._over.acquire(timeout=max(timeout, 0))
        return self.done


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
        """Return ``function(argument)``, or raise what it raised.

        Raises:
            Overdue: it took longer than ``timeout`` seconds, or was left behind.
        """
        job = _Job(function, argument)
        # With many episodes at once, only the main thread can know what the agent has changed.
        surroundings = Surroundings() if current_thread() is main_thread() else None
        self.idle = False
        _under_way.add(job)
        self._jobs.put(job)
        try:
            self.idle = job.wait(timeout)
        finally:
            _under_way.discard(job)
            if surroundings is not None:
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


_under_way: set[_Job] = set()
_idle: list[Worker] = []
_left_behind: list[Worker] = []


def leave_behind() -> int:
    """End the episodes whose agents are in a reply now, as if their time were over; return how many there are."""
    jobs = list(_under_way)
    for job in jobs:
        job.give_up()
    return len(jobs)


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
