"""Ceilings on what episodes spend: money, tokens, calls, turns, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_mapsat.metrics.statistics import mean
from pytest_mapsat.model import Scorecard

from .coverage import Coverage
from .finding import TOLERANCE, Finding, counted

if TYPE_CHECKING:
    from .likeness import Side
    from .rules import Ceiling

#: What a ceiling may stand on, with the unit in which it is told.
SPENDING = {"cost": "USD", "tokens": "tokens", "calls": "calls", "turns": "turns", "seconds": "s"}
#: In the place of a domain: every case for itself.
EACH_CASE = "case"
_NAMED = 3


def spent(card: Scorecard, metric: str) -> float | None:
    """Return what the agent spent in an episode; None where it did not say.

    Args:
        card: the episode.
        metric: one of ``SPENDING``: US dollars; tokens in and out; tool calls; replies; seconds of wall time that the agent took.
    """
    if metric == "cost":
        return card.spent.cost
    if metric == "tokens":
        used = card.spent.input_tokens, card.spent.output_tokens
        return None if used[0] is None or used[1] is None else float(used[0] + used[1])
    return {"calls": card.calls.total, "turns": card.turns, "seconds": card.timing.agent}[metric]


def check_ceiling(
    ceiling: Ceiling, cards: Sequence[Scorecard], base: Side | None, coverage: Coverage, agent: str
) -> Finding:
    """Return whether a ceiling holds.

    Args:
        ceiling: the most that may be spent.
        cards: all scorecards of the run.
        base: the earlier run, of whose spending a relative ceiling is a multiple.
        coverage: how much of the suite has run.
        agent: the spec of the run's agent, with its model where it names one.

    Returns:
        ``failed`` where more was spent; ``inconclusive`` where the agent does not say what it spends, or there is nothing to take a multiple of.
    """
    if ceiling.relative and base is not None and base.manifest.agent != agent:
        told = f"the agent or its model changed ({base.manifest.agent} -> {agent})"
        return Finding("passed", f"{ceiling} was skipped: {told}")
    cases = _by_case(cards, ceiling.metric, "" if ceiling.domain == EACH_CASE else ceiling.domain)
    known = {case: value for case, value in cases.items() if value is not None}
    if not known or len(known) < len(cases):
        silent = sorted(cases.keys() - known.keys())
        why = f"{_some(silent)} of {counted(len(cases), 'case')} do not say it" if cases else "no case has run"
        return Finding("inconclusive", f"{ceiling} is undecided: {why}")
    if ceiling.domain == EACH_CASE:
        return _each(ceiling, known)
    return _relative(ceiling, known, base, coverage) if ceiling.relative else _held(ceiling, known, ceiling.most, "")


def _each(ceiling: Ceiling, known: dict[str, float]) -> Finding:
    unit = SPENDING[ceiling.metric]
    beyond = sorted((-value, case) for case, value in known.items() if value > ceiling.most + TOLERANCE)
    if not beyond:
        return Finding("passed", f"{ceiling.name} at most {max(known.values()):.4g} <= {ceiling.most:g} {unit}")
    told = _some([f"{case} {-value:.4g}" for value, case in beyond])
    return Finding("failed", f"{ceiling.name} > {ceiling.most:g} {unit}: {told}")


def _relative(ceiling: Ceiling, known: dict[str, float], base: Side | None, coverage: Coverage) -> Finding:
    if base is None and (ceiling.origin == "ini" or coverage.shard):
        return Finding("passed", f"{ceiling} was not checked: there is no earlier run to compare with")
    before = None if base is None else _mean_before(base, ceiling.metric, known)
    if before is None:
        why = (
            "the earlier run is not given (--mapsat-compare=PATH)"
            if base is None
            else "the earlier run does not say it"
        )
        return Finding("inconclusive", f"{ceiling} is undecided: {why}")
    return _held(ceiling, known, ceiling.most * before, f" ({ceiling.most:g} x {before:.4g})")


def _held(ceiling: Ceiling, known: dict[str, float], most: float, of: str) -> Finding:
    value = mean(list(known.values()))
    holds = value <= most + TOLERANCE
    cases = counted(len(known), "case")
    told = f"{ceiling.name} {value:.4g} {'<=' if holds else '>'} {most:.4g}{of} {SPENDING[ceiling.metric]} a case ({cases})"
    return Finding("passed" if holds else "failed", told)


def _mean_before(base: Side, metric: str, now: dict[str, float]) -> float | None:
    before = _by_case([card for card in base.cards if card.id in now], metric, "")
    known = [value for value in before.values() if value is not None]
    return mean(known) if known and len(known) == len(before) else None


def _by_case(cards: Sequence[Scorecard], metric: str, domain: str) -> dict[str, float | None]:
    """Return the mean over a case's trials for each case; None for one of which any trial says nothing."""
    values: dict[str, list[float | None]] = {}
    for card in cards:
        if not domain or domain in card.domains:
            values.setdefault(card.id, []).append(spent(card, metric))
    means: dict[str, float | None] = {}
    for case, some in values.items():
        known = [value for value in some if value is not None]
        means[case] = mean(known) if len(known) == len(some) else None
    return means


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
