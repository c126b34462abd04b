"""IFS: are the facts of the answer those that the tools returned (MapSatisfyBench 3.3)?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_mapsat.model import Case, Label

from .labels import read_labels, weighted_share
from .measure import Measure, not_applicable


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """IFS, and how much of it was earned by saying nothing.

    Attributes:
        measure: the share of fact requirements that hold.
        vacuous: how many of those hold because the answer makes no such claim.
    """

    measure: Measure
    vacuous: int = 0


def faithfulness(case: Case, labels: Mapping[str, Label]) -> Faithfulness:
    """Return IFS: the share of fact requirements that hold; not applicable where the case has none.

    Args:
        case: the case.
        labels: the verdict's labels by factor id. A requirement whose facts the answer never states holds vacuously.
    """
    factors = case.truth.facts
    if not factors:
        return Faithfulness(not_applicable("the case has no fact requirement"))
    readings = read_labels(factors, labels)
    vacuous = sum(reading.vacuous and reading.value == 1 for reading in readings)
    return Faithfulness(weighted_share((1.0, reading) for reading in readings), vacuous)
