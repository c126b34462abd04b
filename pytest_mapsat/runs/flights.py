"""Which episodes are under way in this process, and since when: for whoever tells it while it happens."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from time import perf_counter


@dataclass(frozen=True, slots=True)
class Flight:
    """An episode that is under way.

    Attributes:
        nodeid: the node id of the case's built-in item.
        case: the case's id.
        trial: from 1.
        since: when it began, as ``time.perf_counter`` counts, seconds.
    """

    nodeid: str
    case: str
    trial: int
    since: float


class Flights:
    """The episodes that are under way in this process. Safe to be used from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._under_way: dict[int, Flight] = {}
        self._begun = 0

    @property
    def begun(self) -> int:
        """How many episodes have begun, ended ones included."""
        return self._begun

    def under_way(self) -> tuple[Flight, ...]:
        """Return the episodes that have begun and not ended, the oldest first."""
        with self._lock:
            return tuple(self._under_way.values())

    def begin(self, nodeid: str, case: str, trial: int) -> int:
        """Count an episode as under way; return the number that ``end`` takes."""
        with self._lock:
            self._begun += 1
            self._under_way[self._begun] = Flight(nodeid, case, trial, perf_counter())
            return self._begun

    def end(self, number: int) -> None:
        """Count an episode as under way no more."""
        with self._lock:
            self._under_way.pop(number, None)
