"""The episodes of one process: run once for each time an item asks, and in the journal before anybody hears of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.formats import Journal, Place, scorecard_line
from pytest_mapsat.model import Scorecard

from .flights import Flights
from .resume import Finished

#: What tells an episode from those of other suites, cases, trials and agents.
Key = tuple[Path, str, int, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """An episode that an item asks for.

    Attributes:
        suite: the suite's folder.
        case: the case's id.
        trial: from 1.
        agent: the parameter of a parametrised ``mapsat_agent``, or empty.
        source: the agent itself where a fixture made it; two episodes are one only with the same agent.
    """

    suite: Path
    case: str
    trial: int
    agent: str = ""
    source: object = None

    @property
    def key(self) -> Key:
        """What tells it from others."""
        return self.suite, self.case, self.trial, self.agent


@dataclass(frozen=True, slots=True)
class Ended:
    """An episode that has ended.

    Attributes:
        card: its scorecard.
        place: where its line stands in the journal; None where there is no journal.
        line: the line itself, kept where the journal could not take it.
    """

    card: Scorecard
    place: Place | None = None
    line: bytes | None = None


class Episodes:
    """Runs episodes and remembers them.

    An item that asks again, as a rerun does, gets a further attempt; another test that asks for the same case, trial and agent gets
    the episode that is there.

    Args:
        worker: the name of this process among several, or empty.
    """

    def __init__(self, worker: str = "") -> None:
        self._worker = worker
        #: Which are under way now.
        self.flights = Flights()
        #: Set at the start of the session, where there are such.
        self.journal: Journal | None = None
        self.finished: Finished | None = None
        #: Whether episodes are kept for other tests that may ask for them.
        self.shared = False
        #: Whether a line is kept with its scorecard where no journal takes it.
        self.keeps_lines = False
        #: Why the journal could not be written, once it could not.
        self.fault = ""
        self._asked: Counter[tuple[str, Key]] = Counter()
        self._attempts: Counter[Key] = Counter()
        self._kept: dict[Key, list[tuple[object, Ended]]] = {}

    def ended(self, asker: str, wanted: Wanted, nodeid: str, run: Callable[[], Scorecard]) -> Ended:
        """Return the episode that an item asks for.

        Args:
            asker: the item's own node id.
            wanted: which episode.
            nodeid: the node id of the case's built-in item, which the scorecard bears.
            run: runs it anew.
        """
        key = wanted.key
        if self.shared:
            self._asked[asker, key] += 1
            turn = self._asked[asker, key]
            kept = [one for source, one in self._kept.get(key, ()) if source is wanted.source]
            if turn <= len(kept):
                return kept[turn - 1]
        self._attempts[key] += 1
        attempt = self._attempts[key]
        before = self.finished.card(wanted.case, wanted.trial, wanted.agent, attempt) if self.finished else None
        card = run() if before is None else before
        if (card.agent, card.attempt, card.nodeid) != (wanted.agent, attempt, nodeid):
            card = card.model_copy(update={"agent": wanted.agent, "attempt": attempt, "nodeid": nodeid})
        one = self._journalled(card, again=before is not None)
        if self.shared:
            self._kept.setdefault(key, []).append((wanted.source, one))
        return one

    def has(self, wanted: Wanted) -> bool:
        """Return whether the episode need not be run: an earlier run has it, or this one."""
        if any(source is wanted.source for source, _ in self._kept.get(wanted.key, ())):
            return True
        finished = self.finished
        return finished is not None and finished.card(wanted.case, wanted.trial, wanted.agent, 1) is not None

    def _journalled(self, card: Scorecard, *, again: bool) -> Ended:
        if self.journal is None:
            return Ended(card, line=scorecard_line(card) if self.keeps_lines else None)
        line = scorecard_line(card)
        try:
            return Ended(card, self.journal.add(line, self._worker, again=again))
        except OSError as error:
            self.fault = self.fault or f"{self.journal.path}: {error.strerror or error}"
            return Ended(card, line=line)
