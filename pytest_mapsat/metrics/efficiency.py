"""Eff, SES and CEI: what the answer cost in turns and in tokens (MapSatisfyBench 3.3)."""

from __future__ import annotations

from pytest_mapsat.model import Case, Spent, Trajectory

from .measure import Measure, not_applicable, product

_MILLION = 1_000_000


def interaction_efficiency(case: Case, trajectory: Trajectory) -> Measure:
    """Return Eff = 1 / (1 + turns / reference).

    Turns are the agent's replies, at least 1. The reference is the case's own figure, else the greatest useful number of
    clarification turns; where that is 0 or not given, Eff does not apply.
    """
    policy = case.truth.clarification
    if policy is None:
        return not_applicable("the case has no clarification policy, so no reference for its turns")
    reference = policy.reference_turns or policy.max_turns
    if not reference:
        return not_applicable("the case's reference is 0 turns")
    turns = max(1, sum(turn.role == "agent" for turn in trajectory.turns))
    return Measure(reference / (reference + turns))


def satisfaction_efficiency(ar: Measure, eff: Measure) -> Measure:
    """Return SES = AR x Eff, unrounded."""
    return product(ar, eff)


def cost_efficiency(ses: Measure, spent: Spent) -> Measure:
    """Return CEI = SES per million tokens; for reference only, not a metric of the paper.

    Args:
        ses: the episode's SES.
        spent: all tokens that the agent used, in and out.
    """
    if ses.value is None:
        return ses
    if spent.input_tokens is None or spent.output_tokens is None:
        return not_applicable("the agent did not say how many tokens it used")
    tokens = spent.input_tokens + spent.output_tokens
    if tokens == 0:
        return not_applicable("the agent used no tokens")
    return Measure(ses.value / tokens * _MILLION)
