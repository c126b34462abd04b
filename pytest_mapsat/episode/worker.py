"""Threads on which agents run, so that one that hangs can be left behind.

A thread is used for one episode after another; only one whose agent outlived its time is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from pytest_mapsat import agents


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

    def run(self) -> None:
        try:
            self.result = self.function(self.argument)
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            self.error = error
        self.done.release()


class Worker:
    """One thread. ``idle`` is false while a job runs on it, and for ever after a job was overdue."""

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
            Overdue: it took longer than ``timeout`` seconds.
        """
        job = _Job(function, argument)
        self.idle = False
        self._jobs.put(job)
        if not job.done.acquire(timeout=max(timeout, 0)):
            raise Overdue
        self.idle = True
        if job.error is not None:
            raise job.error
        return job.result

    def dismiss(self) -> None:
        """Let the thread end when its job does, whenever that is."""
        self._jobs.put(None)

    def stop(self) -> None:
        """Let the thread end, and wait for it."""
        self.dismiss()
        self._thread.join(1)


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
