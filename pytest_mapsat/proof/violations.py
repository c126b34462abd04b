"""Which factors a change makes false: decided from the case's checks and plain readings, not by the judge.

The judge is asked only what it says of the oracle. A part of a check that reads the same before and after the change keeps that; one
that plainly held and plainly holds no more fails. Where the plain reading and the judge differ on the oracle, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mapsat.judges import Context, Finding, evaluate
from pytest_mapsat.model import (
    All,
    AnyOf,
    AtLeast,
    Check,
    ClockTime,
    Factor,
    FactRequirement,
    ImplicitFactor,
    Not,
    Number,
    leaves,
)

from .oracle_run import Mutant, OracleRun
from .plain_checks import Around, PlainDialogue, around_of, fits_anything, kleene, plainly, strays


def violated(run: OracleRun, mutant: Mutant) -> tuple[str, ...]:
    """Return the factors that held on the oracle and do not hold on a mutant, as far as plain readings can tell."""
    reader = _Reader(run, mutant)
    return tuple(factor.id for factor in run.case.truth.factors if reader.lowers(factor))


class _Reader:
    def __init__(self, run: OracleRun, mutant: Mutant) -> None:
        self._labels = run.labels
        self._judged = Context.of(run.case, run.trajectory, run.tools, vocabulary=run.vocabulary)
        self._before = PlainDialogue(run.trajectory, run.things)
        self._after = PlainDialogue(mutant.trajectory, run.things, mutant.meaning)
        self._made_up = mutant.made_up
        self._strict = False

    def lowers(self, factor: Factor) -> bool:
        """Return whether the factor surely gets less than on the oracle."""
        before = self._labels[factor.id].value
        if not before:
            return False
        self._strict = isinstance(factor, FactRequirement)
        after = self._level(factor)
        return after is not None and after < before

    def _level(self, factor: Factor) -> float | None:
        rules = [(1.0, factor.check)] if factor.check is not None else []
        if isinstance(factor, ImplicitFactor):
            rules += [(rule.level, rule.check) for rule in factor.levels]
        for level, check in rules:
            held = self._holds(check)
            if held is not False:
                return level if held else None
        return 0.0

    def _holds(self, check: Check) -> bool | None:
        """Return whether a check holds after the change; None where that cannot be told."""
        if isinstance(check, Not):
            part = self._holds(check.check)
            return None if part is None else not part
        if isinstance(check, All | AnyOf | AtLeast):
            return kleene(_needed(check), [self._holds(part) for part in check.checks])
        if isinstance(check, Number) and check == self._made_up:
            return False if self._strict and not fits_anything(check, self._after) else None
        finding = evaluate(check, self._judged)
        judged, around = finding.passed, self._around(check, finding)
        before, after = plainly(check, self._before, around), plainly(check, self._after, around)
        if (
            self._strict
            and isinstance(check, Number | ClockTime)
            and judged
            and strays(check, self._before, self._after, around)
        ):
            return False
        if before is after:
            return judged
        return after if before is judged else None

    def _around(self, check: Check, finding: Finding) -> Around:
        """Return what stands around the figures of a role, a thing or a way of travelling, which no plain reading can tell."""
        if not isinstance(check, Number | ClockTime) or not (check.role or check.of or getattr(check, "mode", ())):
            return None
        turns = self._judged.trajectory.turns
        return frozenset(around_of(turns[quote.turn].text, quote.start, quote.end) for quote in finding.quotes)


def checks_of(factor: Factor) -> Iterator[Check]:
    """Yield the parts of all checks of a factor."""
    if factor.check is not None:
        yield from leaves(factor.check)
    for rule in factor.levels if isinstance(factor, ImplicitFactor) else ():
        yield from leaves(rule.check)


def _needed(check: All | AnyOf | AtLeast) -> int:
    return check.n if isinstance(check, AtLeast) else len(check.checks) if isinstance(check, All) else 1
