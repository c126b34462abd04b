"""Alarms: a thread that calls back when a time is over, for dialogues whose own thread cannot look at the clock."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import Condition, Thread, current_thread
from time import perf_counter

from pytest_mapsat.user_code import new_thread


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
                self._thread = new_thread(self._work, "mapsat-alarms")
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
