"""One event loop on a thread of ours, for every agent that is a coroutine.

A thread of its own, because a test of the user's may be running in a loop already, and so that no async plugin is needed.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from pytest_mapsat.user_code import end_copy_of, make_room, new_thread

#: How long a loop may need to answer after a coroutine was cancelled, seconds, before it counts as blocked.
_PATIENCE = 0.5

_lock = threading.Lock()
_running: EventLoop | None = None


class EventLoop:
    """An event loop that runs on a daemon thread until it is stopped; by us, not by a coroutine that runs in it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = self._loop.stop
        self._loop.stop = _refuse_to_stop  # type: ignore[method-assign]
        self._ended = False
        self._thread = new_thread(self._run, "mapsat-loop")
        self._thread.start()

    def _run(self) -> None:
        while not self._ended and not self._loop.is_closed():
            # A SystemExit in a task or a callback comes out here; who waits for the task hears of it there.
            with suppress(BaseException):
                self._loop.run_forever()
        self._loop.close()

    def submit(self, awaitable: Awaitable[Any]) -> Future[Any]:
        """Start the awaitable on the loop; the future holds its outcome."""
        return asyncio.run_coroutine_threadsafe(_outcome(awaitable), self._loop)

    def answers(self) -> bool:
        """Return whether the loop still turns."""
        turned = threading.Event()
        self._loop.call_soon_threadsafe(turned.set)
        return turned.wait(_PATIENCE)

    def dismiss(self) -> None:
        """End the loop as soon as it turns, whatever still waits in it."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop)

    def stop(self) -> None:
        """End the loop, and wait for it a little; a blocked one is left behind on its daemon thread."""
        self.dismiss()
        self._thread.join(2 * _PATIENCE)

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks and (await asyncio.wait(tasks, timeout=_PATIENCE))[1]:
            return  # to destroy a coroutine that will not end is to run it: it is left behind with its daemon thread
        await self._loop.shutdown_asyncgens()
        self._ended = True
        self._stop()


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Await, and hand an exception over as a value: a SystemExit that is raised in a task would stop the loop."""
    process = os.getpid()
    raised: BaseException | None = None
    try:
        return await awaitable, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
        raised = error
        make_room(error)
        return None, error
    finally:
        end_copy_of(process, raised)


def _refuse_to_stop() -> None:
    raise RuntimeError("this event loop is shared by all replies: it is not the agent's to stop")


def submit(awaitable: Awaitable[Any]) -> Future[tuple[Any, BaseException | None]]:
    """Start an awaitable on the shared loop, which is started when it is first needed."""
    return _shared().submit(awaitable)


def cancel(future: Future[Any]) -> None:
    """Cancel what was submitted; a loop that a coroutine blocks is given up, and the next submit starts another."""
    future.cancel()
    with _lock:
        loop = _running
    if loop is not None and not loop.answers() and _give_up(loop) is not None:
        loop.dismiss()


def shutdown() -> None:
    """Stop the shared loop, if there is one."""
    loop = _give_up(None)
    if loop is not None:
        loop.stop()


def _shared() -> EventLoop:
    global _running  # noqa: PLW0603  # one loop for the process
    with _lock:
        if _running is None:
            _running = EventLoop()
        return _running


def _give_up(loop: EventLoop | None) -> EventLoop | None:
    """Forget the shared loop if it is the one given, or whichever it is; return it if it was forgotten."""
    global _running
    with _lock:
        if loop is not None and loop is not _running:
            return None
        forgotten, _running = _running, None
        return forgotten
