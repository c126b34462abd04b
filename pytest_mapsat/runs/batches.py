"""A saved run, judged by a model that is asked through files: what the cache lacks is written, what came back is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock

from pytest_mapsat.llm import Answer, Cache, ModelClient, ModelError, Request, read_batch, write_batch
from pytest_mapsat.model import Problem, Run


@dataclass
class BatchDoor:
    """Answers from the cache alone, and keeps what it was asked.

    Attributes:
        cache: the kept answers.
        asked: every request by its key.
        lacking: those that the cache has no answer to.
    """

    cache: Cache
    asked: dict[str, Request] = field(default_factory=dict)
    lacking: dict[str, Request] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def ask(self, request: Request, *, timeout: float | None = None, cancelled: Event | None = None) -> Answer:  # noqa: ARG002
        """Return the kept answer. Raises ModelError where there is none."""
        key, found = request.key(), self.cache.find(request)
        with self._lock:
            self.asked[key] = request
            if found is None:
                self.lacking[key] = request
        if found is None:
            raise ModelError("not_cached", f"no answer of {request.model} to this has been read yet", purpose="judge")
        return found


@dataclass(frozen=True)
class Batched:
    """What became of the files.

    Attributes:
        run: the run, judged with all answers that there are.
        taken: answers that were read and kept.
        open: requests that still have no answer, those among them that ask again.
        written: requests that were written for the next round.
        problems: what is wrong with rows of the file that was read.
    """

    run: Run
    taken: int
    open: int
    written: int
    problems: tuple[Problem, ...]


def regrade_in_batches(
    regraded: Callable[[ModelClient], Run], cache: Cache, *, read: Path | None = None, write: Path | None = None
) -> Batched:
    """Return a run judged with what the cache and a file of results hold, and write what is still to be asked.

    What of a reply does not check is asked again once: such requests come up when the first replies have been read, and are
    written for a second round.

    Args:
        regraded: judges the run by a door.
        cache: where answers are kept.
        read: results, JSON Lines.
        write: where requests go; nothing is written where none is left.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read.
        StoreError: the cache cannot be used.
    """
    taken = 0
    problems: tuple[Problem, ...] = ()
    while True:
        client = BatchDoor(cache)
        run = regraded(client)
        if read is None:
            break
        # The file may answer what is asked again, too.
        result = read_batch(read, _in_order(client.asked), cache)
        problems = result.problems
        taken += result.taken
        if not result.taken:
            break
    written = 0
    if write is not None and client.lacking:
        written = write_batch(write, _in_order(client.lacking), cache).requests
    return Batched(run, taken, len(client.lacking), written, problems)


def _in_order(requests: dict[str, Request]) -> list[Request]:
    """Return requests in an order that no thread decides."""
    return [requests[key] for key in sorted(requests)]
