"""The metrics of VitaBench: the orders at the end, the share of rubrics that hold, and the reward, which all of them earn (2.0, A.3.4)."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mapsat.metrics import Given, Measure, MetricInput, MetricSet, not_applicable, read_label, weighted_share
from pytest_mapsat.model import Metric

#: The id of the requirement that compares the orders at the end.
ORDERS = "orders"
#: The ids of rubrics begin with this; a number follows.
RUBRIC = "rubric-"
_METRICS = (
    Metric(name="vita_orders", title="orders of the reference"),
    Metric(name="vita_rubrics", title="rubrics that hold"),
    Metric(name="vita_reward", title="reward: every rubric holds", headline=True),
)


def _measure(metric_input: MetricInput) -> Mapping[str, Given]:
    case, labels = metric_input.case, metric_input.labels
    if any(requirement.id == ORDERS for requirement in case.truth.requirements):
        orders = weighted_share([(1.0, read_label(ORDERS, labels.get(ORDERS)))], "")
    else:
        orders = not_applicable("the case has no orders that can be compared")
    names = [requirement.id for requirement in case.truth.requirements if requirement.id.startswith(RUBRIC)]
    readings = [metric_input.readings[name] for name in names]
    share = weighted_share([(1.0, reading) for reading in readings], "the case has no rubrics")
    return {"vita_orders": orders, "vita_rubrics": share, "vita_reward": _reward(metric_input, share)}


def _reward(metric_input: MetricInput, share: Measure) -> Measure:
    """Return 1 where all rubrics hold, 0 where one does not or the dialogue was cut off, and bounds while one is open."""
    ending = metric_input.trajectory.ending
    if ending not in ("done", "stalled"):
        return Measure(0.0, why=f"the dialogue did not end by itself: {ending}")
    if share.value is not None:
        return Measure(float(share.value == 1))
    if share.bounds is not None and share.bounds[1] < 1:
        return Measure(0.0, why="a rubric does not hold")
    return share if share.bounds is None else Measure(None, share.outcome_class, share.why, (0.0, 1.0))


#: Orders, rubrics and reward.
VITA = MetricSet("vita", _METRICS, _measure)
