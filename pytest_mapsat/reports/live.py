"""The line that tells how a run goes while it goes: what is counted for it, and how it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from pytest_mapsat.model import Bounds, Scorecard

from .text import cell_width, printable
from .view import metric_word, span_text

_GAP = ", "
#: What is given room first; the order of the line is that of ``live_line``.
_KEPT = ("done", "failed", "undecided", "not judged", "slow", "left", "under way", "mean", "cost", "rate")
#: From so many cases on a rate says something; below so many a second it is told by the minute.
_RATED, _BY_THE_MINUTE = 3, 1.0
#: An episode is slow that has taken so many seconds, and so many times the mean of those that have ended.
_SLOW, _TIMES = 10.0, 3.0
_MINUTE, _HOUR = 60, 3600


class Tally:
    """What the episodes that have ended come to so far. Of one that ran again the last attempt counts, and what all of them cost.

    Attributes:
        cost: of agent, user and judge, US dollars; None while unknown.
        seconds: that all of them took.
    """

    def __init__(self) -> None:
        self.cost: float | None = None
        self.seconds = 0.0
        self._last: dict[tuple[str, int, str], tuple[str, Bounds | None]] = {}
        self._metric = ""

    def __len__(self) -> int:
        return len(self._last)

    def add(self, card: Scorecard) -> None:
        """Count an episode."""
        self._metric = self._metric or ("ar" if "ar" in card.metrics else next(iter(card.metrics), ""))
        unknown = "undecided" if card.outcome == "unevaluated" and card.blame is None else "not judged"
        outcome = unknown if card.outcome in ("unevaluated", "error") else card.outcome
        self._last[card.id, card.trial, card.agent] = (outcome, card.bounds_of(self._metric))
        self.seconds += card.timing.seconds
        for part in (card.spent, card.user_spent, card.judge_spent):
            if part is not None and part.cost is not None:
                self.cost = (self.cost or 0.0) + part.cost

    @property
    def outcomes(self) -> Counter[str]:
        """How many failed, are undecided, or were not judged because something broke."""
        return Counter(outcome for outcome, _ in self._last.values())

    @property
    def mean(self) -> str:
        """The mean of AR, or of the suite's own first metric, between its bounds while cases are undecided; empty where none is known."""
        spans = [span for _, span in self._last.values() if span is not None]
        if not spans:
            return ""
        least, most = (fsum(ends) / len(spans) for ends in zip(*spans, strict=True))
        return f"{metric_word(self._metric)} {span_text(least, most, '-')}"


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An episode that is under way.

    Attributes:
        name: the case, with its trial.
        seconds: since it began.
    """

    name: str
    seconds: float


def live_line(tally: Tally, *, done: int, of: int, under_way: Sequence[UnderWay], seconds: float, width: int) -> str:
    """Return how a run goes, on one line.

    Args:
        tally: what has ended.
        done: cases that are over.
        of: all that there are; 0 where unknown.
        under_way: the oldest first.
        seconds: since the first began.
        width: columns of the terminal; what has no room is left out.
    """
    outcomes = tally.outcomes
    rate = done / seconds if done >= _RATED and seconds > 0 else 0.0
    by_the_minute = rate < _BY_THE_MINUTE
    slow = under_way[0] if under_way else None
    if slow is not None and slow.seconds < max(_SLOW, _TIMES * tally.seconds / max(len(tally), 1)):
        slow = None
    parts = {
        "done": f"mapsat {done}/{of}" if of else f"mapsat {done}",
        "under way": f"{len(under_way)} under way" if under_way else "",
        **{name: f"{outcomes[name]} {name}" for name in ("failed", "undecided", "not judged") if outcomes[name]},
        "mean": tally.mean,
        "rate": "" if not rate else f"{rate * _MINUTE:.1f}/min" if by_the_minute else f"{rate:.1f}/s",
        "left": f"{_clock((of - done) / rate)} left" if rate and of > done else "",
        "cost": "" if tally.cost is None else f"${tally.cost:.2f}",
        "slow": "" if slow is None else f"slow: {printable(slow.name)} {_clock(slow.seconds)}",
    }
    shown: list[str] = []
    for name in _KEPT:
        tried = [part for part in parts if parts[part] and (part in shown or part == name)]
        if cell_width(_GAP.join(parts[part] for part in tried)) < width:
            shown = tried
    return _GAP.join(parts[name] for name in shown)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE}:{whole % _MINUTE:02}"
    return f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02}:{whole % _MINUTE:02}"
