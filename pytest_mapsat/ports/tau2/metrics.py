"""The reward of tau2-bench: the product of what a task's ``reward_basis`` names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pytest_mapsat.metrics import Measure, MetricInput, MetricSet, Reading, between, not_applicable, product
from pytest_mapsat.model import Metric

from .checks import STOPS

#: Each part of a reward, with how the ids of its requirements begin.
PARTS = {
    "DB": "db",
    "ENV_ASSERTION": "env",
    "ACTION": "action",
    "COMMUNICATE": "communicate",
    "NL_ASSERTION": "nl",
}
_METRICS = (
    # What a broken episode earns depends on the parts of its task, so the metric set decides it, not the core.
    Metric(name="tau_reward", title="reward: the product of what the task's basis names", earned=False, headline=True),
    Metric(name="tau_db", title="the databases end as after the reference actions", earned=False),
    Metric(name="tau_env", title="what must hold at the end holds", earned=False),
    Metric(name="tau_action", title="every reference action is called", earned=False),
    Metric(name="tau_communicate", title="everything is said that must be said", earned=False),
    Metric(name="tau_nl", title="what a judge is asked holds", earned=False),
)


def _measure(metric_input: MetricInput) -> Mapping[str, Measure]:
    parts = {f"tau_{prefix}": _part(metric_input, prefix) for prefix in PARTS.values()}
    ending, fault = metric_input.trajectory.ending, metric_input.fault
    if ending not in STOPS:
        # The agent broke the episode, or came to no end.
        nothing = Measure(0.0, why=fault.message if fault else f"the dialogue ended as {ending}")
        parts = {name: nothing if fault and _applies(measure) else measure for name, measure in parts.items()}
        return {"tau_reward": nothing, **parts}
    return {"tau_reward": reduce(product, filter(_applies, parts.values()), Measure(1.0)), **parts}


def _applies(measure: Measure) -> bool:
    return measure.outcome_class != "not_applicable"


def _part(metric_input: MetricInput, prefix: str) -> Measure:
    """Return 1 where all requirements of a part hold, 0 where one is broken, and bounds where one is undecided."""
    readings = [reading for name, reading in metric_input.readings.items() if name.partition("-")[0] == prefix]
    if not readings:
        return not_applicable("the task's reward_basis does not name it, or gives nothing for it")
    return reduce(product, map(_read, readings))


def _read(reading: Reading) -> Measure:
    if reading.value is not None:
        return Measure(reading.value, why=reading.why)
    if reading.bounded or reading.outcome == "unevaluated":
        return between(0.0, 1.0, reading.why)
    return Measure(None, reading.outcome, reading.why)


#: The reward, and its five parts.
TAU = MetricSet("tau", _METRICS, _measure)
