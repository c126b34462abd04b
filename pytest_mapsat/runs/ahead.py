"""Episodes that run ahead of the items that will ask for them, many at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from threading import Condition, Thread

from pytest_mapsat.episode import leave_behind
from pytest_mapsat.interpreter import computing
from pytest_mapsat.model import Scorecard

from .request import CeilingReachedError
from .runner import Played

#: Episodes that are held at once for each one that may be under way, those that have ended and wait for their item included.
HELD = 4
#: How long the end of a run waits for episodes that are under way, and then for those that it has given up, seconds.
_PATIENCE = 5.0
_LAST = 0.5
#: How often somebody who waits for an episode looks whether there is more to be started, seconds.
_GLANCE = 0.1


@dataclass(eq=False)
class Planned:
    """An episode that an item will request later, with the functions that play and grade it.

    Attributes:
        key: names it.
        play: plays it.
        grade: judges and scores it; None: the caller does.
        context: the context in which it is played.
        alone: names what no two episodes under way may share, such as a user; None: it goes with any other.
        outcome: what has come of it.
    """

    key: Hashable
    play: Callable[[], Played]
    grade: Callable[[Played], Scorecard] | None
    context: Context
    alone: Hashable = None
    outcome: Future[Scorecard | Played] = field(default_factory=Future)

    def cancel(self) -> None:
        """Cancel the outcome, so that a thread waiting for it learns that the episode will not be played."""
        self.outcome.cancel()
        self.outcome.set_running_or_notify_cancel()  # who waits hears of it only now


class Ahead:
    """Plays episodes on its own threads before they are requested, in the order of the offers.

    What has ended waits until it is asked for; as long as much is waiting, no more is taken in, so that memory stays bounded.

    Args:
        width: how many episodes may be under way, those that run elsewhere in this process included.
        grades: whether episodes are graded on their threads too, as is worth while where the judge waits for a model.
        give_up: ends the waiting of episodes that are no longer wanted, and returns how many were left behind.
    """

    def __init__(self, width: int, *, grades: bool, give_up: Callable[[], int] = leave_behind) -> None:
        self._width = width
        self._give_up = give_up
        self._grades = grades
        self._changed = Condition()
        self._planned: dict[Hashable, Planned] = {}
        self._queue: list[Planned] = []
        #: Under way; and those of other threads that wait to be.
        self._busy = self._waiting = 0
        self._shared: set[Hashable] = set()
        self._open = True
        self._wanted = True

    @property
    def room(self) -> int:
        """The number of episodes that can be offered now; 0 after ``cancel``."""
        return HELD * self._width - len(self._planned) if self._open else 0

    def knows(self, key: Hashable) -> bool:
        """Return whether an episode with this key was offered and not yet requested."""
        return key in self._planned

    def offer(self, planned: Planned) -> None:
        """Queue an episode, which starts as soon as there is capacity; after ``cancel`` it is cancelled at once."""
        with self._changed:
            self._planned[planned.key] = planned
            if not self._open:
                planned.cancel()
                return
            self._queue.append(planned)
            self._begin()

    def ask(self, key: Hashable, meanwhile: Callable[[], None]) -> Scorecard | Played | None:
        """Wait for an episode and return its scorecard (the episode itself if its plan has no ``grade``); None if it was cancelled.

        Args:
            key: names it.
            meanwhile: is called at once and now and then, as long as it lasts.

        Raises:
            BaseException: what playing or grading it raised.
        """
        planned = self._planned[key]
        with self._changed:
            if planned in self._queue:  # somebody is waiting for this one: it is next
                self._queue.remove(planned)
                self._queue.insert(0, planned)
        try:
            while not planned.outcome.done():
                meanwhile()
                wait((planned.outcome,), _GLANCE)
            ended = planned.outcome.result()
        except CancelledError:
            return None
        finally:
            self.drop(key)
        if not isinstance(ended, Played) or planned.grade is None:
            return ended
        with computing():
            return planned.grade(ended)

    def drop(self, key: Hashable) -> None:
        """Forget an episode that will not be requested; if it is running, discard its result."""
        with self._changed:
            planned = self._planned.pop(key, None)
            if planned is not None and planned in self._queue:
                self._queue.remove(planned)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Wait for capacity, then count an episode on the calling thread as running until the block ends."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._busy < self._width)
            self._waiting -= 1
            self._busy += 1
        try:
            yield
        finally:
            self._freed()

    def cancel(self) -> None:
        """Cancel all queued episodes and accept no more."""
        with self._changed:
            self._open = False
            while self._queue:
                self._queue.pop().cancel()

    def close(self) -> int:
        """Cancel queued episodes, wait briefly for running episodes, then abandon them.

        Returns:
            How many episodes were left behind, with their threads.
        """
        self.cancel()
        self._wanted = False
        with self._changed:
            ended = self._changed.wait_for(lambda: not self._busy, _PATIENCE)
        left = 0 if ended else self._give_up()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, _LAST)
        return left

    def _begin(self) -> None:
        """Start queued episodes on threads while there is capacity; the caller holds the lock."""
        for planned in list(self._queue):
            if self._busy + self._waiting < self._width and planned.alone not in self._shared:
                self._queue.remove(planned)
                self._busy += 1
                self._shared |= set() if planned.alone is None else {planned.alone}
                Thread(target=self._run, args=(planned,), name="mapsat-ahead", daemon=True).start()

    # -- the threads -----------------------------------------------------------------------

    def _run(self, planned: Planned) -> None:
        """Play an episode in its context on this thread, then release its place."""
        try:
            with computing():
                planned.context.run(self._play, planned)
        finally:
            self._freed(planned.alone)

    def _play(self, planned: Planned) -> None:
        """Play an episode and set its outcome, unless episodes are no longer wanted."""
        try:
            played = planned.play()
            if self._wanted:
                grade = planned.grade if self._grades else None
                planned.outcome.set_result(played if grade is None else grade(played))
        except BaseException as error:  # noqa: BLE001  raised again where it is asked for
            planned.outcome.set_exception(error)
            if isinstance(error, CeilingReachedError):
                self.cancel()  # what has not begun would meet it as well: its item finds that out for itself

    def _freed(self, alone: Hashable = None) -> None:
        """Release the place of a finished episode, and start the next one."""
        with self._changed:
            self._busy -= 1
            self._shared.discard(alone)
            self._begin()
            self._changed.notify_all()
