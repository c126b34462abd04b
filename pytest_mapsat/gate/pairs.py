"""Cases that two runs share: by how much a metric of each differs, all these differences by metric and group, and the cases that are not as they were.

What is undecided alike in both runs cancels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from typing import Literal

from pytest_mapsat.metrics import (
    PASS_RATE,
    bootstrap_intervals,
    by_key,
    case_rows,
    cluster_of,
    clustered,
    span_of,
    summarise,
    trial_outcome,
    within_scale,
)
from pytest_mapsat.metrics.statistics import TrialBlock, mean, mean_span, units
from pytest_mapsat.model import (
    BESIDES,
    VARIANT_OF,
    Aggregate,
    Bounds,
    CaseChange,
    CaseSide,
    Direction,
    Label,
    Outcome,
    RequirementChange,
    Scorecard,
    any_true,
)

from .likeness import dialogue_of, labels_of
from .rules import TOLERANCE

_ORDER: tuple[Direction, ...] = ("worse", "unclear", "better", "same")
_WORST: tuple[Outcome, ...] = ("failed", "unevaluated", "passed")
#: Where a label that is not known stands, when one is looked for that shows a change.
_MIDDLE = 0.5
_Spans = list[tuple[Scorecard, Bounds]]
_CardsOfCases = Mapping[str, Sequence[Scorecard]]


@dataclass(frozen=True, slots=True)
class CasePair:
    """One case in both runs, with the scorecards of all its trials and reruns."""

    id: str
    baseline: tuple[Scorecard, ...]
    new: tuple[Scorecard, ...]
    #: What ``_spans`` has returned for each metric: it is asked for many times.
    _known: dict[str, tuple[_Spans, _Spans]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def domains(self) -> tuple[str, ...]:
        """Return the domains of the case in the new run."""
        return self.new[0].domains

    @property
    def cluster(self) -> str:
        """Return the name of the unit in which the case is resampled: its group, or the case itself."""
        return cluster_of(self.new[0])

    def mean(self, metric: str, *, new: bool) -> Bounds | None:
        """Return the bounds of a metric's mean over the case's trials in one run; None if the case has no value."""
        spans = self._spans(metric)[new]
        return mean_span([span for _, span in spans]) if spans else None

    def difference(self, metric: str) -> Bounds | None:
        """Return the bounds of new minus baseline for a metric; None if one of the runs has no value."""
        ends = [self.values(metric, most=most) for most in (False, True)]
        if any(not baseline or not new for baseline, new in ends):
            return None
        # Equal ends may differ in the last bit.
        least, most = sorted(mean(new) - mean(baseline) for baseline, new in ends)
        return least, most

    def values(self, metric: str, *, most: bool) -> tuple[Sequence[float], Sequence[float]]:
        """Return the metric in each trial of both runs, with unknown values chosen to minimise or maximise new minus baseline.

        Episodes with the same words, the same calls and the same answers have the same labels, known or not: what is undecided about them is
        the same unknown number in both runs, and counts as often as it stands in the one more than in the other.
        """
        baseline, new = self._spans(metric)
        if all(low == high for _, (low, high) in (*baseline, *new)):
            return [low for _, (low, _) in baseline], [low for _, (low, _) in new]
        weights: dict[tuple[str, Bounds], int] = {}
        keyed: list[list[tuple[tuple[str, Bounds], Bounds]]] = [[], []]
        for spans, others, sign, keys in ((baseline, len(new), -1, keyed[0]), (new, len(baseline), 1, keyed[1])):
            for number, (card, span) in enumerate(spans):
                key = (dialogue_of(card) or f"{sign} {number}", span)
                keys.append((key, span))
                weights[key] = weights.get(key, 0) + sign * others
        first, second = ([span[(weights[key] > 0) == most] for key, span in keys] for keys in keyed)
        return first, second

    @property
    def flip(self) -> int:
        """Return -1 if the case passed in every trial before and now fails in every trial, 1 for the reverse, else 0."""
        return {("passed", "failed"): -1, ("failed", "passed"): 1}.get(self._ends, 0)

    @property
    def may_flip(self) -> bool:
        """Return whether the case passed in every trial before and, depending on undecided labels, may fail in every trial now."""
        before, now = self._ends
        return before == "passed" and "passed" not in now and self.is_open(new=True)

    @property
    def _ends(self) -> tuple[str, str]:
        """Return the distinct outcomes of the trials in each run as sorted text."""
        before, now = (" ".join(sorted(set(map(trial_outcome, cards)))) for cards in (self.baseline, self.new))
        return before, now

    def is_open(self, *, new: bool) -> bool:
        """Return whether an asserted label of the case is undecided in one of the runs."""
        return any(card.unknown for card in (self.new if new else self.baseline))

    @property
    def same_words(self) -> bool:
        """Return whether both runs have the same dialogues of the case, with equal words and calls."""
        baseline, new = (sorted(map(dialogue_of, cards)) for cards in (self.baseline, self.new))
        return baseline == new and all(baseline)

    def varies(self, metrics: Sequence[str]) -> bool | None:
        """Return whether trials within one run certainly differ in a metric; None if undecided labels leave this open."""
        if len(self.baseline) == len(self.new) == 1:
            return False
        outcomes: list[bool | None] = []
        for cards, name in product((self.baseline, self.new), metrics):
            spans: dict[str, set[Bounds]] = {}
            for card in cards:
                if (span := span_of(card, name)) is not None:
                    spans.setdefault(card.agent, set()).add(span)
            for some in spans.values():
                apart = max(low for low, _ in some) > min(high for _, high in some)
                outcomes.append(apart or (None if len(some) > 1 else False))
        return any_true(outcomes)

    def _spans(self, metric: str) -> tuple[_Spans, _Spans]:
        """Return the trials of both runs that have a metric, each with its bounds."""
        if metric not in self._known:
            baseline, new = (
                [(card, span) for card in cards if (span := span_of(card, metric)) is not None]
                for cards in (self.baseline, self.new)
            )
            self._known[metric] = baseline, new
        return self._known[metric]


def pair_up(
    baseline: _CardsOfCases, new: _CardsOfCases, without: frozenset[str], *, other_decisions: bool = False
) -> tuple[CasePair, ...]:
    """Return the cases that both runs have, sorted by id, except the cases in ``without``.

    ``other_decisions``: whether the labels of the runs rest on different decisions of people. A decision is about words: where both runs have the same,
    the decisions of the new run count for both.
    """
    pairs = (
        CasePair(case, tuple(baseline[case]), tuple(new[case]))
        for case in sorted(baseline.keys() & new.keys())
        if case not in without
    )
    if not other_decisions:
        return tuple(pairs)
    return tuple(CasePair(pair.id, pair.new, pair.new) if pair.same_words else pair for pair in pairs)


class PairTable:
    """The cases that two runs share.

    Args:
        pairs: them, by id.
        shares: the metrics that lie between 0 and 1.
    """

    def __init__(self, pairs: Sequence[CasePair], shares: Container[str] = ()) -> None:
        self.pairs = pairs
        self.clusters = [pair.cluster for pair in pairs]
        self._shares = shares
        self._means: dict[tuple[str, bool], dict[str, Aggregate]] = {}
        self._differences: dict[str, list[Bounds | None]] = {}
        by_domain = ((domain, place) for place, pair in enumerate(pairs) for domain in dict.fromkeys(pair.domains))
        self._places = {"": [*range(len(pairs))], **by_key(by_domain)}

    @property
    def domains(self) -> list[str]:
        """Return all domains, sorted."""
        return sorted(filter(None, self._places))

    def column(self, metric: str, domain: str = "") -> Column:
        """Return the differences of a metric, over all cases or those of a domain."""
        if metric not in self._differences:
            self._differences[metric] = [pair.difference(metric) for pair in self.pairs]
        return Column(self, metric, domain, self._places.get(domain, []), self._differences[metric])

    def mean(self, metric: str, domain: str, *, new: bool) -> Bounds | None:
        """Return the bounds of a mean in one of the runs, over the compared cases; None if there is no value."""
        if (domain, new) not in self._means:
            pairs = [self.pairs[place] for place in self._places.get(domain, ())]
            cards = [card for pair in pairs for card in (pair.new if new else pair.baseline)]
            self._means[domain, new] = within_scale(summarise(cards, resamples=0), self._shares)
        aggregate = self._means[domain, new].get(metric)
        return None if aggregate is None else aggregate.bounds

    def intervals(self, columns: Sequence[Column], *, level: float) -> list[Bounds | None]:
        """Return the interval of each column's mean difference, from its minimum to its maximum; None if it has no values."""
        samples = [clustered(end, column.clusters) for column in columns for end in (column.least, column.most)]
        drawn = bootstrap_intervals(samples, level=level)
        return [
            None if low is None or high is None else (low[0], high[1])
            for low, high in zip(drawn[::2], drawn[1::2], strict=True)
        ]


def recoveries(cards: Iterable[Scorecard], metric: str) -> dict[str, Aggregate]:
    """Return the recovery of variants by attribute and kind (``fault timeout``), and of several kinds together (``fault``).

    It is the mean of a metric over the variants, divided by that over their plain cases; each case counts once, with its variants. A case varies in
    the attribute in which it differs from its plain case; the kind is the last word of the value. The interval is that of a ratio of two paired means, linearised (Wolter 2007,
    "Introduction to Variance Estimation", chapter 6). Of 0 there is no recovery: it is undecided.
    """
    by_case = by_key((card.id, card) for card in cards)
    kinds: dict[tuple[str, str], dict[str, list[Scorecard]]] = {}
    for card in chain.from_iterable(by_case.values()):
        plain = by_case.get(card.attributes.get(VARIANT_OF, ""), [])
        for name, value in card.attributes.items() if plain else ():
            if name != VARIANT_OF and value.strip() and plain[0].attributes.get(name) != value:
                for key in ((name, ""), (name, value.split()[-1])):
                    kinds.setdefault(key, {}).setdefault(plain[0].id, []).append(card)
    number = Counter(name for name, _ in kinds)
    return {
        f"{name} {kind}".strip(): _recovery(
            [CasePair(case, tuple(by_case[case]), tuple(some)) for case, some in sorted(varied.items())], metric
        )
        for (name, kind), varied in sorted(kinds.items())
        if kind or number[name] > 2  # noqa: PLR2004  its only kind is all
    }


def _recovery(pairs: Sequence[CasePair], metric: str) -> Aggregate:
    """Return the ratio of the means of a metric in the new and in the baseline cards of some pairs, with its interval."""
    pairs = [pair for pair in pairs if pair.difference(metric) is not None]
    undecided = sum(low != high for low, high in (pair.difference(metric) or (0, 0) for pair in pairs))
    clusters, ends = [pair.cluster for pair in pairs], list[tuple[float, Bounds | None]]()
    for most in (False, True):
        trials = [pair.values(metric, most=most) for pair in pairs]
        values = [(mean(old), mean(new)) for old, new in trials]
        if not any(old for old, _ in values):
            return Aggregate(mean=None, n=len(pairs) - undecided, undecided=undecided)
        plain = mean([old for old, _ in values])
        ratio = mean([new for _, new in values]) / plain
        linear = [ratio + (new - ratio * old) / plain for old, new in values]
        ends.append((ratio, bootstrap_intervals([clustered(linear, clusters)])[0]))
    (least, lower), (greatest, upper) = sorted(ends, key=lambda end: end[0])
    return Aggregate(
        mean=None if undecided else least,
        bounds=(least, greatest),
        n=len(pairs) - undecided,
        undecided=undecided,
        low=None if lower is None else max(lower[0], 0.0),
        high=None if upper is None else upper[1],
    )


def blocks_of(
    columns: Sequence[Column], kinds: Sequence[Literal["most", "least", "flips", "none"]]
) -> list[list[TrialBlock]]:
    """Return the trials that a permutation test redistributes between two runs, in units of a case or group of cases.

    Of each column is asked: its mean, with what is not known at the end at which the difference is ``most`` or ``least``; how many cases flipped
    (``flips``); nothing (``none``).
    """
    dealt: dict[str, list[TrialBlock]] = {}
    for number, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        for pair in column.members if kind != "none" else ():
            baseline, new = pair.values(column.metric, most=kind != "least")
            if baseline == new and len(set(baseline)) == 1:
                continue  # however it is dealt out, nothing of it differs
            dealt.setdefault(pair.cluster, []).append(TrialBlock(number, 1.0, baseline, new, flips=kind == "flips"))
    return [dealt[cluster] for cluster in sorted(dealt)]


class Column:
    """The differences of one metric over some cases: new minus baseline.

    Attributes:
        metric: the metric.
        domain: the domain; empty for all cases.
        cases: how many cases the group has.
        members: those of them that have the metric in both runs.
        clusters: what each of these is drawn with.
        least: the least that their differences can come to.
        most: the most.
    """

    def __init__(
        self, table: PairTable, metric: str, domain: str, places: Sequence[int], differences: Sequence[Bounds | None]
    ) -> None:
        self.metric = metric
        self.domain = domain
        self.cases = len(places)
        self._table = table
        placed = [(place, difference) for place in places if (difference := differences[place]) is not None]
        self._places = [place for place, _ in placed]
        self.members = [table.pairs[place] for place in self._places]
        self.clusters = [table.clusters[place] for place in self._places]
        self.least = [low for _, (low, _) in placed]
        self.most = [high for _, (_, high) in placed]

    @cached_property
    def bounds(self) -> Bounds | None:
        """Return the bounds of the mean difference; None if no case has a difference."""
        return (mean(self.least), mean(self.most)) if self.least else None

    @property
    def differ(self) -> int:
        """Return how many cases may differ."""
        return sum(low != 0 or high != 0 for low, high in zip(self.least, self.most, strict=True))

    @property
    def undecided(self) -> int:
        """Return how many cases have an undecided difference."""
        return sum(low != high for low, high in zip(self.least, self.most, strict=True))

    def side(self, *, new: bool) -> Bounds | None:
        """Return the bounds of the mean in one of the runs; None if there is no value."""
        return self._table.mean(self.metric, self.domain, new=new)

    def aligned(self, values: Sequence[float]) -> list[float]:
        """Return values of the members summed by cluster, with the same rows for every column."""
        every: list[float | None] = [None] * len(self._table.pairs)
        for place, value in zip(self._places, values, strict=True):
            every[place] = value
        return units(every, self._table.clusters)

    @property
    def nearer_end(self) -> Literal["most", "least", "none"]:
        """Return the end of the mean difference that is nearer to 0; ``none`` if 0 lies between the ends."""
        least, most = self.bounds or (0.0, 0.0)
        return "none" if least < 0 < most else "most" if most <= 0 else "least"


def changed_cases(
    pairs: Iterable[CasePair], metrics: Sequence[str], *, baseline_rule: str, new_rule: str
) -> tuple[CaseChange, ...]:
    """Return the cases that changed, starting with cases that got worse; among these, cases that now fail are first."""
    changes = [change for pair in pairs if (change := _change(pair, metrics, baseline_rule, new_rule)) is not None]
    first = metrics[0] if metrics else PASS_RATE

    def order(change: CaseChange) -> tuple[int, bool, float, str]:
        """Return the sort key of a change; among those that flipped, the upper bound of the first metric that fell most comes first."""
        before, after = (side.metrics.get(first, (0.0, 0.0)) for side in (change.baseline, change.new))
        return _ORDER.index(change.direction), not change.flipped, after[1] - before[1], change.id

    return tuple(sorted(changes, key=order))


def _change(pair: CasePair, metrics: Sequence[str], baseline_rule: str, new_rule: str) -> CaseChange | None:
    """Return the change of a case; None if it did not change."""
    if [_ended(card) for card in pair.baseline] == [_ended(card) for card in pair.new]:
        return None
    differences = {
        name: difference for name in (*metrics, PASS_RATE) if (difference := pair.difference(name)) is not None
    }
    baseline, new = _side(pair, baseline_rule, metrics, new=False), _side(pair, new_rule, metrics, new=True)
    requirements = _requirements(pair)
    if baseline.outcome == new.outcome and not requirements and not any(map(_differs, differences.values())):
        return None
    return CaseChange(
        id=pair.id,
        nodeid=pair.new[0].nodeid,
        domains=pair.domains,
        direction=_direction(baseline.outcome, new.outcome, list(differences.values())),
        flipped={baseline.outcome, new.outcome} == {"passed", "failed"},
        baseline=baseline,
        new=new,
        requirements=requirements,
    )


def _ended(card: Scorecard) -> tuple[object, ...]:
    """Return the ending of an episode in a form that shows whether two episodes are alike."""
    return card.outcome, card.metrics, card.bounds, card.labels


def _differs(difference: Bounds) -> bool:
    """Return whether a difference exceeds rounding errors."""
    return difference[0] < -TOLERANCE or difference[1] > TOLERANCE


def _direction(baseline: Outcome, new: Outcome, differences: Sequence[Bounds]) -> Direction:
    """Return whether a case got worse or better: by its outcome, otherwise by the first metric that certainly moved."""
    if {baseline, new} == {"passed", "failed"}:
        return "worse" if new == "failed" else "better"
    for least, most in differences:
        if most < -TOLERANCE:
            return "worse"
        if least > TOLERANCE:
            return "better"
    return "unclear" if any(map(_differs, differences)) else "same"


def _side(pair: CasePair, rule: str, metrics: Sequence[str], *, new: bool) -> CaseSide:
    """Return the outcome, the trials and the metrics of a case in one of the runs."""
    rows = case_rows(pair.new if new else pair.baseline, rule)
    worst = min(rows, key=lambda row: _WORST.index(row.outcome))
    means = {name: pair.mean(name, new=new) for name in (*metrics, PASS_RATE)}
    return CaseSide(
        outcome=worst.outcome,
        reason="" if worst.outcome == "passed" else worst.told.reason,
        passed=sum(row.passed for row in rows),
        trials=sum(row.trials for row in rows),
        metrics={name: mean for name, mean in means.items() if mean is not None},
    )


def _requirements(pair: CasePair) -> tuple[RequirementChange, ...]:
    """Return the requirements with changed labels, starting with those that got worse."""
    before, after = _labels(pair.baseline), _labels(pair.new)
    changes = [
        change
        for requirement in dict.fromkeys((*before, *after))
        if (change := _requirement(before.get(requirement, []), after.get(requirement, []))) is not None
    ]
    return tuple(sorted(changes, key=lambda change: _ORDER.index(change.direction)))


def _labels(cards: Iterable[Scorecard]) -> dict[str, list[Label]]:
    """Return the labels of each requirement over all trials, by requirement."""
    labels = (label for card in cards for label in labels_of(card))
    # Steps of two dialogues are not the same.
    return by_key((label.requirement, label) for label in labels if label.kind not in BESIDES)


def _requirement(before: Sequence[Label], after: Sequence[Label]) -> RequirementChange | None:
    """Return the change of one requirement over all trials, illustrated by one label of each run; None if it did not change."""
    if not before or not after:
        return None  # the episode broke in one of the runs, which the case says
    (least, most), (least_now, most_now) = _bounds(before), _bounds(after)
    if (least, most) == (least_now, most_now):
        return None
    direction: Direction = "worse" if most_now < least else "better" if least_now > most else "unclear"
    baseline, new = _telling(before, after)
    return RequirementChange(
        requirement=new.requirement,
        kind=new.kind,
        direction=direction,
        baseline=baseline.outcome,
        new=new.outcome,
        baseline_value=baseline.value,
        new_value=new.value,
        baseline_why=baseline.why,
        new_why=new.why,
        wanted=new.wanted or baseline.wanted,
        baseline_quotes=baseline.quotes,
        new_quotes=new.quotes,
        baseline_trials=(sum(_known_level(label) == 1 for label in before), len(before)),
        new_trials=(sum(_known_level(label) == 1 for label in after), len(after)),
    )


def _telling(before: Sequence[Label], after: Sequence[Label]) -> tuple[Label, Label]:
    """Return one label of each run that shows the change: the best before and the worst now, or the reverse."""
    fallen = sum(_bounds(before)) >= sum(_bounds(after))
    best, worst = (max, min) if fallen else (min, max)
    return best(before, key=_assumed_level), worst(after, key=_assumed_level)


def _bounds(labels: Sequence[Label]) -> Bounds:
    """Return the bounds of a requirement's mean level; an unknown label may be anything from 0 to 1."""
    return mean_span([(0.0, 1.0) if level is None else (level, level) for level in map(_known_level, labels)])


def _known_level(label: Label) -> float | None:
    """Return the level to which a requirement is met; None if the level is unknown."""
    if label.value is not None:
        return label.value
    return {"passed": 1.0, "failed": 0.0}.get(label.outcome)


def _assumed_level(label: Label) -> float:
    """Return the level to which a requirement is met; 0.5 if the level is unknown."""
    level = _known_level(label)
    return _MIDDLE if level is None else level
