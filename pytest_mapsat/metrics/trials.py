"""Several trials of one case: when the case passes, how often any of k trials does, or all of them, and which cases are flaky."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_mapsat.model import Bounds, Outcome, Scorecard, UsageError, shown

#: Of so many trials all numbers k are told; of more, powers of two and the last.
_ALL_TOLD = 8
_RULE = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class PassRule:
    """How many trials of a case must pass for the case to pass.

    Attributes:
        needed: so many.
        trials: of so many.
    """

    needed: int
    trials: int

    @classmethod
    def parse(cls, text: str, trials: int) -> PassRule:
        """Return the rule that a text like ``3/4`` gives; empty: all trials.

        Raises:
            UsageError: it is no such text, or is about another number of trials.
        """
        if not text:
            return cls(trials, trials)
        found = _RULE.fullmatch(text)
        if found is None or int(found[1]) > int(found[2]):
            raise UsageError(f"--mapsat-trials: found {shown(text)}, expected K/N as in 3/4, K at most N")
        if int(found[2]) != trials:
            raise UsageError(f"the pass rule {text} is about {found[2]} trials, the run has {trials} of each case")
        return cls(int(found[1]), trials)

    @property
    def forgives(self) -> bool:
        """Whether a case may pass though a trial of it failed."""
        return self.needed < self.trials

    def outcome(self, passed: int, failed: int) -> Outcome:
        """Return how a case ends of whose trials so many passed and failed; the others are not known."""
        if passed >= self.needed:
            return "passed"
        return "failed" if failed > self.trials - self.needed else "unevaluated"

    def __str__(self) -> str:
        return f"{self.needed}/{self.trials}"


def trial_outcome(card: Scorecard) -> Outcome:
    """Return ``passed``, ``failed``, or ``unevaluated`` where nobody knows yet; what the agent broke has failed."""
    if card.outcome == "passed":
        return "passed"
    return "failed" if card.outcome == "failed" or card.blame == "agent" else "unevaluated"


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case of a run, its trials taken together.

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
        """The scorecard that tells most of it: the first that failed where the case did, else the first that did not pass, else the first."""
        return min(
            self.cards,
            key=lambda card: (trial_outcome(card) == "passed", trial_outcome(card) != self.outcome, card.key),
        )


def case_rows(cards: Iterable[Scorecard], rule: str = "") -> tuple[CaseRow, ...]:
    """Return one row for each case and agent, by id.

    Args:
        cards: scorecards in any order.
        rule: how many trials must pass, as ``3/4``; empty: all that there are.
    """
    given = PassRule.parse(rule, int(rule.partition("/")[2])) if rule else None
    return tuple(_row(key, some, given) for key, some in sorted(_by_case(cards).items()))


def _row(key: tuple[str, str], cards: Sequence[Scorecard], rule: PassRule | None) -> CaseRow:
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
    """Return Pass@k: how probably at least one of k trials of a case passes, unbiased (Chen et al. 2021, arXiv 2107.03374, eq. 1).

    Args:
        passed: trials that passed.
        trials: of so many, at least k.
        k: how many trials are drawn.
    """
    return 1 - math.comb(trials - passed, k) / math.comb(trials, k)


def pass_all(passed: int, trials: int, k: int) -> float:
    """Return Pass^k: how probably all of k trials of a case pass, unbiased (Yao et al. 2024, tau-bench, arXiv 2406.12045, section 3).

    Args:
        passed: trials that passed.
        trials: of so many, at least k.
        k: how many trials are drawn.
    """
    return math.comb(passed, k) / math.comb(trials, k)


def trial_numbers(cards: Sequence[Scorecard]) -> tuple[int, ...]:
    """Return the k of which Pass@k and Pass^k are told: from 2 to the number of trials; none where each case ran once."""
    if len({card.trial for card in cards}) < 2:  # noqa: PLR2004 - one trial each
        return ()
    most = max((len(_by_trial(some)) for some in _by_case(cards).values()), default=0)
    if most <= _ALL_TOLD:
        return tuple(range(2, most + 1))
    powers = [2**power for power in range(1, most.bit_length()) if 2**power < most]
    return (*powers, most)


def trial_spans(cards: Iterable[Scorecard], k: int) -> tuple[Bounds, Bounds] | None:
    """Return Pass@k and Pass^k of one case at their bounds; None for one with fewer trials.

    Trials that nobody could decide may have passed or not. Of a trial that was run again the first attempt counts: reruns are given to failures
    only, and would make the agent look better than it is.
    """
    found: list[tuple[Bounds, Bounds]] = []
    for some in _by_case(cards).values():
        first = [trial_outcome(tries[0]) for tries in _by_trial(some)]
        if len(first) >= k:
            n, least = len(first), first.count("passed")
            most = least + first.count("unevaluated")
            any_of_k = (pass_at(least, n, k), pass_at(most, n, k))
            found.append((any_of_k, (pass_all(least, n, k), pass_all(most, n, k))))
    if not found:
        return None
    return _middle([one for one, _ in found]), _middle([other for _, other in found])


def _middle(spans: Sequence[Bounds]) -> Bounds:
    least, most = zip(*spans, strict=True)
    return math.fsum(least) / len(spans), math.fsum(most) / len(spans)


def _by_case(cards: Iterable[Scorecard]) -> dict[tuple[str, str], list[Scorecard]]:
    found: dict[tuple[str, str], list[Scorecard]] = {}
    for card in sorted(cards, key=lambda card: (card.key, card.outcome)):
        found.setdefault((card.id, card.agent), []).append(card)
    return found


def _by_trial(cards: Iterable[Scorecard]) -> list[list[Scorecard]]:
    """Return the attempts at each trial, in order."""
    found: dict[int, list[Scorecard]] = {}
    for card in cards:
        found.setdefault(card.trial, []).append(card)
    return list(found.values())
