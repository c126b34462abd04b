"""Would the user accept the answer, are its facts true, and what did it cost: ECR, IISR, AR, IFS, Eff, SES, CEI (MapSatisfyBench 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pytest_mapsat.model import Case, Count, Label, Spent, Trajectory

from .labels import Measure, between, not_applicable, product, read_labels, weighted_share
from .weights import DEFAULT_WEIGHTS, WeightTable, weights_of


def explicit_completion(case: Case, labels: Mapping[str, Label], count: Count | None = None) -> Measure:
    """Return ECR: the mean of the binary labels over the explicit requirements; 1 where the case has implicit ones only.

    Args:
        case: the case.
        labels: the verdict's labels by requirement id.
        count: how many explicit requirements are met, for a verdict that does not say which; used where labels are not known.
    """
    requirements = case.truth.explicit
    if not requirements:
        return _without(case, "explicit")
    share = weighted_share([(1.0, reading) for reading in read_labels(requirements, labels)])
    if share.outcome_class != "unevaluated" or count is None:
        return share
    if count.total != len(requirements) or count.met > count.total:
        found = (
            f"the verdict counts {count.met} of {count.total} explicit requirements, the case has {len(requirements)}"
        )
        return share._replace(why=found)
    return Measure(count.met / count.total)


def implicit_satisfaction(case: Case, labels: Mapping[str, Label], table: WeightTable = DEFAULT_WEIGHTS) -> Measure:
    """Return IISR: sum(w c) / sum(w) over the implicit requirements; 1 where the case has explicit ones only.

    Args:
        case: the case.
        labels: the verdict's labels by requirement id.
        table: the numbers that weights are computed with where a requirement has none of its own.
    """
    requirements = case.truth.implicit
    if not requirements:
        return _without(case, "implicit")
    return weighted_share(zip(weights_of(requirements, table), read_labels(requirements, labels), strict=True))


def nothing_asked(case: Case) -> str:
    """Return why nothing can be said of whether the user is satisfied, empty where something can."""
    asked = case.truth.explicit or case.truth.implicit
    return (
        ""
        if asked
        else "the case has neither explicit nor implicit requirements: nothing says what would satisfy the user"
    )


def _without(case: Case, kind: str) -> Measure:
    """Return what the share over no requirement is: 1, unless the case has none of the other kind either."""
    if why := nothing_asked(case):
        return Measure(None, "unevaluated", why)
    return Measure(1.0, why=f"the case has no {kind} requirement")


def acceptance(ecr: Measure, iisr: Measure) -> Measure:
    """Return AR = ECR x IISR, unrounded."""
    return product(ecr, iisr)


class Faithfulness(NamedTuple):
    """IFS, and how much of it was earned by saying nothing.

    Attributes:
        measure: the share of fact requirements that hold.
        nothing_claimed: how many of those hold because the answer makes no such claim.
    """

    measure: Measure
    nothing_claimed: int = 0


def faithfulness(case: Case, labels: Mapping[str, Label]) -> Faithfulness:
    """Return IFS: the share of fact requirements that hold; not applicable where the case has none.

    Args:
        case: the case.
        labels: the verdict's labels by requirement id. A requirement whose facts the answer never states holds, with nothing claimed.
    """
    requirements = case.truth.facts
    if not requirements:
        return Faithfulness(not_applicable("the case has no fact requirement"))
    readings = read_labels(requirements, labels)
    nothing_claimed = sum([reading.nothing_claimed and reading.value == 1 for reading in readings])
    return Faithfulness(weighted_share([(1.0, reading) for reading in readings]), nothing_claimed)


_MILLION = 1_000_000


def interaction_efficiency(case: Case, trajectory: Trajectory) -> Measure:
    """Return Eff = 1 / (1 + turns / reference).

    Turns are the agent's replies, at least 1. The reference is the case's own figure, else the greatest useful number of
    clarification turns, else the replies of its oracle dialogue; where a case gives none of them, Eff does not apply.
    """
    reference = case.truth.reference_turns
    if not reference:
        return not_applicable(
            "the case has neither a clarification policy nor an oracle dialogue, so no reference for its turns"
        )
    turns = max(1, len(trajectory.replies))
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
    if ses.span is None:
        return ses
    if spent.input_tokens is None or spent.output_tokens is None:
        return not_applicable("the agent did not say how many tokens it used")
    tokens = spent.input_tokens + spent.output_tokens
    if tokens == 0:
        return not_applicable("the agent used no tokens")
    least, most = ses.span
    return between(least / tokens * _MILLION, most / tokens * _MILLION, ses.why)
