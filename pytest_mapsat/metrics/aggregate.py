"""From episodes to a run: how a case of several trials ends (which pass, which are flaky), and means over cases with their denominators."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from pytest_mapsat.model import VARIANT_OF, Aggregate, Bounds, Outcome, Scorecard, UsageError, shown

from .scoring import PASS_RATE, SOURCE_ATTRIBUTE
from .statistics import LEVEL, RESAMPLES, bootstrap_intervals, by_key, clustered, mean_span, share_interval

#: Groups are many and small: fewer resamples move their bounds by a few percent of the width at most.
_GROUP_RESAMPLES = 2_000
_TINY = 1e-9
#: How the trials of some cases, or users, ended, for each agent.
_Ends = Sequence[Sequence[Sequence[Outcome]]]
_GRAVITY: dict[Outcome, int] = {"error": 3, "unevaluated": 2, "not_applicable": 1}


#: The dimensions of groups that are no attributes.
_OWN_DIMENSIONS = frozenset({"domain", "group", "place", "tool"})
#: Of so many trials all numbers k are told; of more, powers of two and the last.
_ALL_TOLD = 8
_RULE = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class PassRule:
    """The number of trials that must pass for a case to pass.

    Attributes:
        needed: so many.
        trials: of so many.
    """

    needed: int
    trials: int

    @classmethod
    def parse(cls, text: str, trials: int) -> PassRule:
        """Return the rule in a text like ``3/4``; for an empty text, all trials must pass.

        Raises:
            UsageError: it is no such text, or is about another number of trials.
        """
        if not text:
            return cls(trials, trials)
        match = _RULE.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise UsageError(f"--mapsat-trials: found {shown(text)}, expected K/N as in 3/4, K at most N")
        if int(match[2]) != trials:
            raise UsageError(f"the pass rule {text} is about {match[2]} trials, the run has {trials} of each case")
        return cls(int(match[1]), trials)

    @property
    def forgives(self) -> bool:
        """Return whether a case may pass although a trial failed."""
        return self.needed < self.trials

    def outcome(self, passed: int, failed: int) -> Outcome:
        """Return the outcome of a case with these numbers of passed and failed trials; its other trials are unknown."""
        if passed >= self.needed:
            return "passed"
        return "failed" if failed > self.trials - self.needed else "unevaluated"

    def __str__(self) -> str:
        return f"{self.needed}/{self.trials}"


def trial_outcome(card: Scorecard) -> Outcome:
    """Return ``passed``, ``failed`` (also if the agent broke the trial), or ``unevaluated`` if the outcome is unknown."""
    if card.outcome == "passed":
        return "passed"
    return "failed" if card.outcome == "failed" or card.blame == "agent" else "unevaluated"


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case of a run, combining its trials.

    Attributes:
        id: the case.
        agent: the parameter of a parametrised ``mapsat_agent``, or empty.
        cards: its scorecards in order, reruns included.
        outcome: how it ends under the pass rule.
        passed: trials that passed, at their last attempt.
        trials: trials with a scorecard.
        reruns: attempts beyond the first of each trial.
        flaky: some trials passed and some failed, or one passed on a rerun only.
    """

    id: str
    agent: str
    cards: tuple[Scorecard, ...]
    outcome: Outcome
    passed: int
    trials: int
    reruns: int
    flaky: bool

    @property
    def told(self) -> Scorecard:
        """Return the most informative scorecard: one that did not pass, preferably with the case's own outcome, otherwise the first."""
        return min(
            self.cards,
            key=lambda card: (trial_outcome(card) == "passed", trial_outcome(card) != self.outcome, card.key),
        )


def case_rows(cards: Iterable[Scorecard], rule: str = "") -> tuple[CaseRow, ...]:
    """Return one row for each case and agent, by id; ``rule`` is the required number of passed trials, such as ``3/4``; empty for all."""
    given = PassRule.parse(rule, int(rule.partition("/")[2])) if rule else None
    return tuple(_row(key, some, given) for key, some in sorted(_by_case_and_agent(cards).items()))


def _row(key: tuple[str, str], cards: Sequence[Scorecard], rule: PassRule | None) -> CaseRow:
    """Return the trials of one case and agent as a row, with its outcome, counts and flakiness."""
    tries = _by_trial(cards)
    last = [trial_outcome(some[-1]) for some in tries]
    passed, failed = last.count("passed"), last.count("failed")
    rescued = any(outcome == "passed" != trial_outcome(some[0]) for outcome, some in zip(last, tries, strict=True))
    needed = rule or PassRule(len(tries), len(tries))
    return CaseRow(
        id=key[0],
        agent=key[1],
        cards=tuple(cards),
        outcome=needed.outcome(passed, failed),
        passed=passed,
        trials=len(tries),
        reruns=len(cards) - len(tries),
        flaky=rescued or bool(passed and failed),
    )


def pass_at(passed: int, trials: int, k: int) -> float:
    """Return Pass@k: the probability that at least one of k trials passes, unbiased (Chen et al. 2021, arXiv 2107.03374, eq. 1)."""
    return 1 - math.comb(trials - passed, k) / math.comb(trials, k)


def pass_all(passed: int, trials: int, k: int) -> float:
    """Return Pass^k: the probability that all of k trials pass, unbiased (Yao et al. 2024, tau-bench, arXiv 2406.12045, section 3)."""
    return math.comb(passed, k) / math.comb(trials, k)


def trial_numbers(cards: Sequence[Scorecard]) -> tuple[int, ...]:
    """Return each k for which Pass@k and Pass^k are reported, from 2 on; empty if each case ran only once."""
    if len({card.trial for card in cards}) < 2:  # noqa: PLR2004 - one trial each
        return ()
    most = max((len(_by_trial(some)) for some in _by_case_and_agent(cards).values()), default=0)
    if most <= _ALL_TOLD:
        return tuple(range(2, most + 1))
    powers = [2**power for power in range(1, most.bit_length()) if 2**power < most]
    return (*powers, most)


def _first_attempts(cards: Iterable[Scorecard]) -> list[list[Outcome]]:
    """Return the outcomes of one case's trials, a list for each agent.

    Of a trial that was run again the first attempt counts: reruns are given to failures only, and would make the agent look better than it is.
    """
    return [[trial_outcome(tries[0]) for tries in _by_trial(some)] for some in _by_case_and_agent(cards).values()]


def _pass_column(
    name: str, rate: Callable[[int, int, int], float], k: int, ends: _Ends, clusters: Sequence[str]
) -> _Column:
    """Return the column of Pass@k or Pass^k over cases or users, except cases or users with fewer than k trials."""
    column = _Column(name)
    for agents, cluster in zip(ends, clusters, strict=True):
        spans = []
        for outcomes in agents:
            n, least = len(outcomes), outcomes.count("passed")
            if n >= k:
                spans.append((rate(least, n, k), rate(least + outcomes.count("unevaluated"), n, k)))
        if spans:
            column.add(spans, cluster)
        else:
            column.leave_out("unevaluated")
    return column


def _by_case_and_agent(cards: Iterable[Scorecard]) -> dict[tuple[str, str], list[Scorecard]]:
    """Return scorecards by case and agent, each list in order."""
    ordered = sorted(cards, key=lambda card: (card.key, card.outcome))
    return by_key(((card.id, card.agent), card) for card in ordered)


def _by_trial(cards: Iterable[Scorecard]) -> list[list[Scorecard]]:
    """Return the attempts at each trial in order."""
    return list(by_key((card.trial, card) for card in cards).values())


@dataclass(slots=True)
class _Column:
    """The values of one metric over cases, at their lower and upper bounds, and the number of cases without a value.

    ``clusters``: what each case is drawn with, its group or itself.
    """

    name: str
    least: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    undecided: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def add(self, spans: Sequence[Bounds], cluster: str) -> None:
        """Add a case by the mean of its trials' bounds."""
        least, most = spans[0] if len(spans) == 1 else mean_span(spans)  # a mean of one is exact
        self.least.append(least)
        self.most.append(most)
        self.clusters.append(cluster)
        self.undecided += any(low != high for low, high in spans)

    def leave_out(self, outcome: str) -> None:
        """Count a case without a value, by its class."""
        self.left_out[outcome] = self.left_out.get(outcome, 0) + 1

    def take(self, cards: Sequence[Scorecard], cluster: str) -> None:
        """Add a case by its trials with a value or bounds; count the case as omitted if there are none."""
        spans = [span for card in cards if (span := span_of(card, self.name)) is not None]
        if spans:
            self.add(spans, cluster)
        else:
            rate = self.name == PASS_RATE
            classes = [card.outcome if rate else card.classes.get(self.name, "unevaluated") for card in cards]
            self.leave_out(max(classes, key=lambda outcome: _GRAVITY.get(outcome, 0)))


def summarise(
    cards: Sequence[Scorecard], *, level: float = LEVEL, resamples: int = RESAMPLES, users: bool = False
) -> dict[str, Aggregate]:
    """Return the mean of each metric and of ``pass_rate`` over cases; for several trials also Pass@k and Pass^k (``pass@2``, ``pass^2``, ...).

    With ``users`` the same over users, where cases stand in sequences: ``user_pass_rate``, ``user_pass@2``, ... A trial of a user passes where all tasks do.

    The trials of a case are averaged first, over those that have a value or bounds, so that each case counts once. A case that has neither is left
    out and counted by its class, the gravest of its trials. While a case is undecided the mean is too, and lies between its bounds. Intervals are
    bootstrapped, Wilson's for ``pass_rate``; with no resamples there is Wilson's alone. A metric that the suite of a case does not declare is over the other cases alone.
    """
    trials = list(by_key((card.id, card) for card in cards).values())
    *metrics, rate = _columns(cards, trials)
    ways = [(f"pass{sign}{k}", way, k) for k in trial_numbers(cards) for sign, way in (("@", pass_at), ("^", pass_all))]
    ends, clusters = (
        [_first_attempts(case) for case in trials] if ways else [],
        [cluster_of(case[0]) for case in trials],
    )
    columns = [*metrics, rate, *(_pass_column(*way, ends, clusters) for way in ways)]
    if users and (sequences := _users(cards)):
        numbers = [str(number) for number in range(len(sequences))]
        for name, way, k in ((PASS_RATE, pass_at, 1), *ways):
            columns.append(_pass_column(f"user_{name}", way, k, sequences, numbers))
    # All in one call, which shares the resamples; what is decided is drawn once.
    means = [column for column in columns if column is not rate]
    samples = [clustered(column.least, column.clusters) for column in means]
    samples += [clustered(column.most, column.clusters) for column in means if column.undecided]
    none = (None,) * len(samples)
    intervals = bootstrap_intervals(samples, level=level, resamples=resamples) if resamples else none
    lower, upper = iter(intervals[: len(means)]), iter(intervals[len(means) :])
    summary = {}
    misread = _Misreadings(trials)
    for column in columns:
        if column is rate:
            low, high = (share_interval(end, rate.clusters, level) for end in (rate.least, rate.most))
        else:
            low = next(lower)
            high = next(upper) if column.undecided else low
        summary[column.name] = misread.widened(column.name, _aggregate(column, low, high))
    return summary


class _Misreadings:
    """How far means may be wrong because the judge misreads some answers.

    Of W answers that truly are wrong g W come out green, and of R right ones e R red, with the rates g and e of the judge. Of W the run shows those that are not green,
    of R those that are not red; so up to g / (1 - g) times the former are wrong and counted as passed, and up to e / (1 - e) times the latter right
    and counted as failed (as Rogan and Gladen 1978 correct a prevalence for an imperfect test). Those that would move a mean most are taken.
    """

    def __init__(self, trials: Sequence[Sequence[Scorecard]]) -> None:
        self._read = [
            (card, card.misread, 1 / len(some)) for some in trials for card in some if card.misread is not None
        ]
        wrong = right = 0.0
        for card, misread, _ in self._read:
            least, most = misread.bounds.get(PASS_RATE, (0.0, 1.0))
            if card.outcome in ("failed", "unevaluated") and most == 1:
                wrong += misread.green_of_wrong / max(_TINY, 1 - misread.green_of_wrong)
            if card.outcome in ("passed", "unevaluated") and least == 0:
                right += misread.red_of_right / max(_TINY, 1 - misread.red_of_right)
        self._passed_wrongly, self._failed_wrongly = wrong, right
        self._falling = [read for read in self._read if read[0].outcome == "passed"] if wrong else []
        self._rising = [read for read in self._read if read[0].outcome == "failed"] if right else []

    def widened(self, name: str, aggregate: Aggregate) -> Aggregate:
        """Return an aggregate with its bounds and interval widened by the judge's error rates."""
        if aggregate.bounds is None or not self._read:
            return aggregate
        moved = []
        for read, number, end in ((self._falling, self._passed_wrongly, 0), (self._rising, self._failed_wrongly, 1)):
            changes = []
            for card, misread, weight in read:
                if (unread := misread.bounds.get(name)) and (own := span_of(card, name)):
                    changes.append(weight * (unread[end] - own[end]) * (1 if end else -1))
            moved.append(max(0.0, _most(changes, number) / (aggregate.n + aggregate.undecided)))
        down, up = moved
        return aggregate.model_copy(
            update={
                "bounds": (aggregate.bounds[0] - down, aggregate.bounds[1] + up),
                "low": None if aggregate.low is None else aggregate.low - down,
                "high": None if aggregate.high is None else aggregate.high + up,
            }
        )


def within_scale(summary: Mapping[str, Aggregate], shares: Container[str]) -> dict[str, Aggregate]:
    """Return aggregates with the bounds and intervals of shares cut to the range from 0 to 1.

    Args:
        summary: aggregates by name.
        shares: the metrics that lie between 0 and 1; rates of passed items always do.
    """
    return {
        name: aggregate.model_copy(
            update={
                "bounds": aggregate.bounds and (max(0.0, aggregate.bounds[0]), min(1.0, aggregate.bounds[1])),
                "low": None if aggregate.low is None else max(0.0, aggregate.low),
                "high": None if aggregate.high is None else min(1.0, aggregate.high),
            }
        )
        if name in shares or name.removeprefix("user_").startswith("pass")
        else aggregate
        for name, aggregate in summary.items()
    }


def _most(changes: Iterable[float], number: float) -> float:
    """Return the sum of the ``number`` largest changes; a fraction counts part of the last change."""
    total = 0.0
    for change in sorted(changes, reverse=True):
        if number <= 0:
            break
        total += change * min(1.0, number)
        number -= 1
    return total


def group(cards: Sequence[Scorecard]) -> dict[str, dict[str, dict[str, Aggregate]]]:
    """Return the aggregates by dimension and name: ``groups["domain"]["navigation"]["ar"]``.

    Dimensions are ``domain``, every attribute (``difficulty``, ``requirement_source``, ...), ``tool``: the cases whose agent called it, ``group``: the
    user, and ``place``: that in the user's sequence. A case of several domains, requirement sources or tools counts in each.
    """
    members: dict[str, dict[str, list[Scorecard]]] = {}
    for card in cards:
        for dimension, name in memberships(card):
            members.setdefault(dimension, {}).setdefault(name, []).append(card)
    # Often a group is all there is, or the same as another: its aggregates are made once.
    known: dict[tuple[int, ...], dict[str, Aggregate]] = {}
    groups: dict[str, dict[str, dict[str, Aggregate]]] = {}
    for dimension, names in sorted(members.items()):
        for name, some in sorted(names.items()):
            key = tuple(map(id, some))
            if key not in known:
                known[key] = summarise(some, resamples=_GROUP_RESAMPLES)
            groups.setdefault(dimension, {})[name] = known[key]
    return groups


def memberships(card: Scorecard) -> Iterator[tuple[str, str]]:
    """Yield the groups to which a scorecard belongs, each by its dimension and name."""
    for domain in dict.fromkeys(card.domains):
        yield "domain", domain
    for tool in card.calls.by_tool:
        yield "tool", tool
    if card.group is not None:
        yield "group", card.group.name
        yield "place", str(card.group.order)
    for attribute, value in card.attributes.items():
        if attribute == VARIANT_OF:
            continue  # each case would be a group
        # A suite's own attribute never mixes with our dimension of the same name.
        dimension = f"attribute {attribute}" if attribute in _OWN_DIMENSIONS else attribute
        for name in value.split(", ") if attribute == SOURCE_ATTRIBUTE else [value]:
            yield dimension, name


def _columns(cards: Sequence[Scorecard], trials: Sequence[Sequence[Scorecard]]) -> list[_Column]:
    """Return a column for each metric of the cards, over the cases that have the metric, then the column of ``pass_rate``."""
    columns: dict[str, _Column] = {}
    for name in dict.fromkeys(chain.from_iterable([card.metrics for card in cards])):
        columns[name] = _Column(name)
    rate = _Column(PASS_RATE)
    for some in trials:
        cluster = cluster_of(some[0])
        rate.take(some, cluster)
        alone = len(some) == 1
        for name in some[0].metrics if alone else dict.fromkeys(chain.from_iterable([card.metrics for card in some])):
            value = some[0].metrics[name] if alone else None
            if value is None:
                columns[name].take(some, cluster)
            else:  # one trial with a value, as most cases have
                columns[name].add([(value, value)], cluster)
    return [*columns.values(), rate]


def _users(cards: Sequence[Scorecard]) -> _Ends:
    """Return the outcomes of the trials of each user and agent: passed if all tasks pass, failed if one fails.

    A user of whose tasks some did not run at all has none; where one is missing in a trial, that trial is undecided.
    """
    users = by_key(((card.group.name, card.agent), card) for card in cards if card.group is not None)
    return [[_user_trials(some)] for _, some in sorted(users.items())]


def _user_trials(cards: Sequence[Scorecard]) -> list[Outcome]:
    """Return the outcome of each trial of a user's tasks at the first attempt; empty if a task of the sequence is missing."""
    places = {card.group.order for card in cards if card.group is not None}
    if len(places) < max(places):
        return []
    tasks = len({card.id for card in cards})
    trials: list[Outcome] = []
    for some in _by_trial(sorted(cards, key=lambda card: card.trial)):
        first = {card.id: trial_outcome(card) for card in sorted(some, key=lambda card: -card.attempt)}
        outcomes = list(first.values())
        right = outcomes.count("passed") == tasks
        trials.append("passed" if right else "failed" if "failed" in outcomes else "unevaluated")
    return trials


def span_of(card: Scorecard, name: str) -> Bounds | None:
    """Return the bounds of a metric, or of ``pass_rate``, in one episode; None if the episode is not part of the mean."""
    if name != PASS_RATE:
        return card.bounds_of(name)
    if card.outcome == "passed":
        return 1.0, 1.0
    if card.outcome == "failed" or card.blame == "agent":
        return 0.0, 0.0
    if card.outcome != "unevaluated" or not card.unknown:
        return None
    bounded = {label.requirement for label in card.labels if label.bounded}.union(card.bounds)
    return (0.0, 1.0) if bounded.issuperset(card.unknown) else None


def cluster_of(card: Scorecard) -> str:
    """Return the name of the unit in which a case is resampled: its value of the suite's ``cluster``, its group, or the case itself, with its variants."""
    if value := card.attributes.get(card.cluster):
        return f"{card.cluster} {value}"
    if card.group is not None:
        return f"group {card.group.name}"
    return f"case {card.attributes.get(VARIANT_OF, card.id)}"


def _aggregate(column: _Column, lower: Bounds | None, upper: Bounds | None) -> Aggregate:
    """Return the aggregate of a column, with the intervals of its lower and upper values."""
    bounds = mean_span(list(zip(column.least, column.most, strict=True))) if column.least else None
    return Aggregate(
        mean=None if bounds is None or column.undecided else bounds[0],
        bounds=bounds,
        n=len(column.least) - column.undecided,
        undecided=column.undecided,
        low=None if lower is None else max(lower[0], min(column.least)),
        high=None if upper is None else min(upper[1], max(column.most)),
        left_out=dict(sorted(column.left_out.items())),
    )
