"""Cases that two runs share, and by how much a metric of each differs. What is undecided alike in both cancels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mapsat.metrics import cluster_of, span_of
from pytest_mapsat.metrics.statistics import mean, variance
from pytest_mapsat.model import Bounds, Scorecard

from .likeness import dialogue_of


@dataclass(frozen=True, slots=True)
class Pair:
    """One case in both runs: its scorecards, trials and reruns alike."""

    id: str
    base: tuple[Scorecard, ...]
    new: tuple[Scorecard, ...]

    @property
    def domains(self) -> tuple[str, ...]:
        """The case's domains, as the new run has them."""
        return self.new[0].domains

    @property
    def cluster(self) -> str:
        """What the case is drawn with: its group, or itself."""
        return cluster_of(self.new[0])

    @property
    def trials(self) -> int:
        """Trials of the case, the fewer of both runs."""
        return min(len(self.base), len(self.new))

    def mean(self, metric: str, *, new: bool) -> Bounds | None:
        """Return the mean of a metric over the case's trials in one run, at its bounds; None where it has none."""
        spans = _spans(self.new if new else self.base, metric)
        return None if not spans else (mean([low for _, (low, _) in spans]), mean([high for _, (_, high) in spans]))

    def difference(self, metric: str) -> Bounds | None:
        """Return the least and the most that new minus base can come to; None where one of them has no value.

        Episodes with the same words, the same calls and the same answers have the same labels, known or not: what is undecided about them is
        the same unknown number in both runs, and counts as often as it stands in the one more than in the other.
        """
        base, new = (_spans(cards, metric) for cards in (self.base, self.new))
        if not base or not new:
            return None
        sides = [(new, 1), (base, -1)]
        known = [math.fsum(low for _, (low, high) in spans if low == high) / len(spans) for spans, _ in sides]
        least = most = known[0] - known[1]
        weights: dict[tuple[str, Bounds], int] = {}
        for spans, sign in sides:
            others = len(base) if sign == 1 else len(new)
            for number, (dialogue, span) in enumerate(spans):
                if span[0] != span[1]:
                    key = (dialogue or f"{sign} {number}", span)
                    weights[key] = weights.get(key, 0) + sign * others
        for (_, span), weight in weights.items():
            ends = [weight * end / (len(base) * len(new)) for end in span]
            least, most = least + min(ends), most + max(ends)
        return least, most

    def chance(self, metric: str) -> float | None:
        """Return the variance of the difference that trials show; None where the case ran once in one of the runs."""
        total = 0.0
        for cards in (self.base, self.new):
            values = [(low + high) / 2 for _, (low, high) in _spans(cards, metric)]
            if len(values) < 2:  # noqa: PLR2004
                return None
            total += variance(values) / len(values)
        return total


def pair_up(
    base: dict[str, list[Scorecard]], new: dict[str, list[Scorecard]], without: frozenset[str]
) -> tuple[Pair, ...]:
    """Return the cases that both runs have, by id, without some."""
    return tuple(
        Pair(case, tuple(base[case]), tuple(new[case]))
        for case in sorted(base.keys() & new.keys())
        if case not in without
    )


def _spans(cards: Sequence[Scorecard], metric: str) -> list[tuple[str, Bounds]]:
    spans = ((dialogue_of(card), span_of(card, metric)) for card in cards)
    return [(dialogue, span) for dialogue, span in spans if span is not None]
