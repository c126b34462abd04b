"""ECR, IISR and AR: would the user accept the response (MapSatisfyBench 3.3)?"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mapsat.model import Case, Count, Label

from .labels import read_labels, weighted_share
from .measure import Measure, product
from .weights import DEFAULT_WEIGHTS, WeightTable, weights_of


def explicit_completion(case: Case, labels: Mapping[str, Label], count: Count | None = None) -> Measure:
    """Return ECR: the mean of the binary labels over the explicit factors; 1 where the case has none.

    Args:
        case: the case.
        labels: the verdict's labels by factor id.
        count: how many explicit factors are met, for a verdict that does not say which; used where labels are not known.
    """
    factors = case.truth.explicit
    if not factors:
        return Measure(1.0, why="the case has no explicit factor")
    share = weighted_share((1.0, reading) for reading in read_labels(factors, labels))
    if share.outcome_class != "unevaluated" or count is None:
        return share
    if count.total != len(factors) or count.met > count.total:
        found = f"the verdict counts {count.met} of {count.total} explicit factors, the case has {len(factors)}"
        return Measure(None, "unevaluated", found)
    return Measure(count.met / count.total)


def implicit_satisfaction(case: Case, labels: Mapping[str, Label], table: WeightTable = DEFAULT_WEIGHTS) -> Measure:
    """Return IISR: sum(w c) / sum(w) over the implicit factors; 1 where the case has none.

    Args:
        case: the case.
        labels: the verdict's labels by factor id.
        table: the numbers that weights are computed with where a factor has none of its own.
    """
    factors = case.truth.implicit
    if not factors:
        return Measure(1.0, why="the case has no implicit factor")
    return weighted_share(zip(weights_of(factors, table), read_labels(factors, labels), strict=True))


def acceptance(ecr: Measure, iisr: Measure) -> Measure:
    """Return AR = ECR x IISR, unrounded."""
    return product(ecr, iisr)
