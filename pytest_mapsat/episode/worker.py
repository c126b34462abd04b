"""Threads on which agents run, so that one that hangs can be left behind.

A worker is used for one episode after another; only one whose agent outlived its time is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from pytest_mapsat import agents
from pytest_mapsat.strangers import Surroundings


class Overdue(Exception):  # noqa: N818  # says what happened; nothing is in error
    """The job was not done in its time; its thread is left behind."""


class _Job:
    __slots__ = ("argument", "done", "error", "function", "result")

    def __init__(self, function: Callable[[Any], Any], argument: Any) -> None:
        self.function = function
        self.argument = argument
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = Lock()
        self.done.acquire()

    def __call__(self) -> None:
        try:
            self.result = self.function(self.argument)
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            self.error = error
        self.done.release()


class _Watch:
    """Waits for a job. When its time is over, the surroundings are put back before the main thread goes on.

    On a thread of its own, since deep in pytest's stack nothing can be called any more once the agent has set a recursion limit
    below that depth.
    """

    __slots__ = ("in_time", "job", "over", "surroundings", "timeout")

    def __init__(self, job: _Job, timeout: float) -> None:
        self.job = job
        self.timeout = max(timeout, 0)
        self.in_time = False
        self.surroundings = Surroundings()
        self.over = Lock()
        self.over.acquire()

    def __call__(self) -> None:
        self.in_time = self.job.done.acquire(timeout=self.timeout)
        self.surroundings.restore()
        self.over.release()


class _Thread:
    """A daemon thread that calls what is put in its queue, until that is None."""

    def __init__(self, name: str) -> None:
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            job()
            # Kept until the next job comes, it would keep an agent and its exceptions alive.
            del job

    def join(self) -> None:
        self._thread.join(1)


class Worker:
    """A thread for an agent, and one that watches it.

    Attributes:
        idle: false while a job runs, and for ever after one was overdue.
    """

    def __init__(self) -> None:
        self.idle = True
        self._agent = _Thread("mapsat-agent")
        self._watch = _Thread("mapsat-watch")

    def run(self, function: Callable[[Any], Any], argument: Any, *, timeout: float) -> Any:
        """Return ``function(argument)``, or raise what it raised.

        Raises:
            Overdue: it took longer than ``timeout`` seconds.
        """
        job = _Job(function, argument)
        watch = _Watch(job, timeout)
        self.idle = False
        self._watch.jobs.put(watch)
        self._agent.jobs.put(job)
        watch.over.acquire()
        if not watch.in_time:
            raise Overdue
        self.idle = True
        if job.error is not None:
            raise job.error
        return job.result

    def dismiss(self) -> None:
        """Let the threads end when their jobs do, whenever that is."""
        self._agent.jobs.put(None)
        self._watch.jobs.put(None)

    def stop(self) -> None:
        """Let the threads end, and wait for them."""
        self.dismiss()
        self._agent.join()
        self._watch.join()


_idle: list[Worker] = []


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


def shutdown() -> None:
    """Stop the threads that wait for work, and the agents' event loop."""
    while _idle:
        _idle.pop().stop()
    agents.shutdown()
