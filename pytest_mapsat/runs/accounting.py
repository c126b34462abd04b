"""Every collected item is accounted for: at the end it has a scorecard, was deselected, or is lost for a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from pytest_mapsat.model import Accounting, Lost

#: From a node id to its case and trial.
NamedBy = Callable[[str], tuple[str, int]]


class Ledger:
    """Where each built-in item of a run stands, by node id.

    Items are expected once, or once for each worker where every worker runs all of them. A scorecard settles an item whatever
    happened before: a rerun may bring what the first attempt did not.
    """

    def __init__(self) -> None:
        self._expected: dict[str, int] = {}
        self._deselected: set[str] = set()
        self._carded: Counter[str] = Counter()
        self._begun: set[str] = set()
        self._reasons: dict[str, str] = {}

    @property
    def collected(self) -> int:
        """How many episodes the items stand for, deselected ones included."""
        return sum(self._expected.values())

    @property
    def deselected(self) -> int:
        """How many of them were deselected."""
        return sum(self._expected.get(nodeid, 0) for nodeid in self._deselected)

    def expect(self, nodeids: Iterable[str], copies: int = 1) -> None:
        """Note collected items, each of which is to run so many times."""
        for nodeid in nodeids:
            self._expected[nodeid] = max(copies, self._expected.get(nodeid, 0))

    def deselect(self, nodeids: Iterable[str]) -> None:
        """Note items that were deselected, as pytest was told."""
        self._deselected.update(nodeids)

    def select(self, nodeids: Iterable[str]) -> None:
        """Note the items that are left to run: one that was collected and is neither here nor deselected is lost."""
        left = set(nodeids)
        self._deselected -= left
        for nodeid in self._expected.keys() - left - self._deselected:
            self.lose(nodeid, "removed from the collection without being deselected")

    def begin(self, nodeid: str) -> None:
        """Note that an item has begun."""
        self._begun.add(nodeid)

    def card(self, nodeid: str) -> None:
        """Note that an item has brought a scorecard."""
        self._carded[nodeid] += 1

    def lose(self, nodeid: str, reason: str) -> None:
        """Note why an item has brought none; the first reason holds."""
        self._reasons.setdefault(nodeid, reason)

    def close(self, named: NamedBy, why: str = "") -> Accounting:
        """Return where everything went.

        Args:
            named: tells the case and trial of a node id.
            why: why the run ended before its last item, where it did.
        """
        lost = []
        for nodeid, copies in self._expected.items():
            missing = 0 if nodeid in self._deselected else copies - self._carded[nodeid]
            if missing > 0:
                case, trial = named(nodeid)
                reason = self._reasons.get(nodeid) or self._unheard(nodeid, why)
                lost += [Lost(id=case, trial=trial, reason=reason)] * missing
        lost.sort(key=lambda one: (one.id, one.trial, one.reason))
        return Accounting(collected=self.collected, deselected=self.deselected, lost=tuple(lost))

    def _unheard(self, nodeid: str, why: str) -> str:
        state = "interrupted" if nodeid in self._begun else "not started"
        return f"{state}: {why}" if why and why != state else state
