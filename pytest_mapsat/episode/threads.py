"""Threads on which agents run, so that one that hangs can be left behind.

A worker is used for one episode after another; only one whose agent outlived its time is replaced. The waiting thread ends the episode.
"""

from __future__ import annotations

import concurrent.futures.thread
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any

from pytest_mapsat import agents
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.user_code import Surroundings


class Overdue(Exception):  # noqa: N818  # says what happened; nothing is in error
    """The job was not done in its time; its thread is left behind."""


#: What an agent is asked to do, and what comes of it; it is cancelled where nobody waits for it any more.
_Job = tuple[Future[Any], Callable[[], Any]]


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
            _do(*job)
            # Kept until the next job comes, it would keep an agent and its exceptions alive.
            del job

    def run(self, function: Callable[[Any], Any], argument: Any, *, timeout: float) -> Any:
        """Return ``function(argument)``, or raise what it raised.

        Raises:
            Overdue: it took longer than ``timeout`` seconds, or was left behind.
        """
        job = Future[Any]()
        # With many episodes at once, only the main thread can know what the agent has changed.
        surroundings = Surroundings() if current_thread() is main_thread() else None
        self.idle = False
        _under_way.add(job)
        self._jobs.put((job, partial(copy_context().run, function, argument)))
        try:
            with waiting():
                error = job.exception(max(timeout, 0))
        except (TimeoutError, CancelledError):
            raise Overdue from None
        finally:
            _under_way.discard(job)
            if surroundings is not None:
                surroundings.restore()
        self.idle = True
        if error is not None:
            raise error
        return job.result()

    def dismiss(self) -> None:
        """Let the thread end when the job does, whenever that is."""
        self._jobs.put(None)

    def stop(self) -> None:
        """Let the thread end, and wait for it."""
        self.dismiss()
        self._thread.join(1)


def _do(job: Future[Any], call: Callable[[], Any]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
        with suppress(InvalidStateError):  # nobody waits for it any more
            job.set_exception(error)
    else:
        with suppress(InvalidStateError):
            job.set_result(result)


_under_way: set[Future[Any]] = set()
_idle: list[Worker] = []
_left_behind: list[Worker] = []


def leave_behind() -> int:
    """End the episodes whose agents are in a reply now, as if their time were over; return how many there are."""
    jobs = list(_under_way)
    for job in jobs:
        job.cancel()
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
