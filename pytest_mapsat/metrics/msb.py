"""The first metric set: the metrics of MapSatisfyBench (3.3)."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mapsat.model import MSB_METRICS

from .labels import Measure
from .metric_set import MetricInput, MetricSet
from .satisfaction import (
    acceptance,
    cost_efficiency,
    explicit_completion,
    implicit_satisfaction,
    interaction_efficiency,
    satisfaction_efficiency,
)


def _measure(scene: MetricInput) -> Mapping[str, Measure]:
    if scene.fault is not None:
        return {"cei": cost_efficiency(Measure(0.0, why=scene.fault.message), scene.spent)}
    ecr = explicit_completion(scene.case, scene.labels, scene.verdict.explicit_count)
    iisr = implicit_satisfaction(scene.case, scene.labels, scene.weights)
    ar = acceptance(ecr, iisr)
    eff = interaction_efficiency(scene.case, scene.trajectory)
    ses = satisfaction_efficiency(ar, eff)
    return {
        "ecr": ecr,
        "iisr": iisr,
        "ar": ar,
        "ts": scene.selection.measure,
        "ifs": scene.faithfulness.measure,
        "eff": eff,
        "ses": ses,
        "cei": cost_efficiency(ses, scene.spent),
    }


#: ECR, IISR, AR, TS, IFS, Eff, SES, and CEI for reference.
MSB = MetricSet("msb", MSB_METRICS, _measure)
