"""Metric sets: what they are given of an episode, and what is taken from them. One may be a stranger's."""

from __future__ import annotations

import copy
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_mapsat.model import (
    OBSERVATION,
    STATE,
    Case,
    Fault,
    Label,
    Metric,
    Outcome,
    Spent,
    Tool,
    Trajectory,
    UsageError,
    Verdict,
    did_you_mean,
    shown,
)
from pytest_mapsat.user_code import StrangerError, call_stranger, words_of

from .counts import sum_spent
from .labels import Measure, index_labels
from .outcome import class_of, fault_of
from .satisfaction import Faithfulness, faithfulness
from .tools import ArgumentProblems, SameValue, Satisfies, ToolSelection, no_problems, tool_selection
from .weights import DEFAULT_WEIGHTS, WeightTable

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_ASKED = frozenset({STATE, OBSERVATION})
_NO_VALUE: tuple[Outcome, ...] = ("not_applicable", "unevaluated", "error")
_NUMBERS = (int, float)


@dataclass(frozen=True)
class MetricInput:
    """All that a metric is computed from: one episode of a case, as it was judged.

    Attributes:
        case: the case, truth included.
        trajectory: what happened.
        verdict: what the judge said of it.
        tools: the suite's tools by name.
        satisfies: compares an argument with a match (``pytest_mapsat.sandbox.satisfies``).
        weights: the numbers that weights are computed with (A.2).
        success: the metric that the suite calls its success; None where it names none, and for the metric set that measures it.
        argument_problems: says why a tool cannot take some arguments (``pytest_mapsat.sandbox.argument_problems``).
        same_value: says whether two values are one in another spelling (``pytest_mapsat.sandbox.same_value``).
    """

    case: Case
    trajectory: Trajectory
    verdict: Verdict
    tools: Mapping[str, Tool]
    satisfies: Satisfies
    weights: WeightTable = DEFAULT_WEIGHTS
    success: Measure | None = None
    argument_problems: ArgumentProblems = no_problems
    same_value: SameValue = operator.eq

    @cached_property
    def labels(self) -> Mapping[str, Label]:
        """The verdict's labels by requirement id, without those that contradict each other."""
        return index_labels(self.verdict)

    @cached_property
    def fault(self) -> Fault | None:
        """What broke the episode; None where the agent had its say."""
        return fault_of(self.trajectory)

    @cached_property
    def spent(self) -> Spent:
        """What the agent spent."""
        return sum_spent(self.trajectory.replies)

    @cached_property
    def selection(self) -> ToolSelection:
        """TS with its parts."""
        approved = self.verdict.approved_tools
        return tool_selection(self.case, self.trajectory, satisfies=self.satisfies, approved=approved)

    @cached_property
    def faithfulness(self) -> Faithfulness:
        """IFS, and how much of it was earned by saying nothing."""
        return faithfulness(self.case, self.labels)

    def knowing(self, success: Measure) -> MetricInput:
        """Return the same scene with the metric that the suite calls its success; what was computed of it stays."""
        known = replace(self, success=success)
        vars(known).update({**vars(self), "success": success})
        return known

    def copied(self) -> MetricInput:
        """Return the same scene in values of its own: whoever changes something in it changes nothing else."""
        case, trajectory, verdict, tools = copy.deepcopy((self.case, self.trajectory, self.verdict, dict(self.tools)))
        return replace(self, case=case, trajectory=trajectory, verdict=verdict, tools=tools)


#: What a metric set gives for one metric: a measure, a plain value, or None for one that nobody could tell.
Given = Measure | float | None


@dataclass(frozen=True)
class MetricSet:
    """Some metrics that are measured together.

    Attributes:
        name: what suites declare it by, under ``metrics:``, and ``mapsat_metrics`` of an ini file names it by.
        metrics: what it measures; names are unique over all metric sets.
        labels: kinds of labels that it reads besides those of the case's requirements: ``state`` for the steps, ``observation`` for the things that
            replies name. A judge gives them only where a metric set asks.
        measure: from a scene to each of its metrics. It is called for every episode that was not broken, and for one that the agent broke
            where a metric is not earned (``scene.fault`` is set then).
        names: of its metrics.
    """

    name: str
    metrics: Sequence[Metric]
    measure: Callable[[MetricInput], Mapping[str, Given]] = field(compare=False)
    labels: Collection[str] = frozenset()
    names: frozenset[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise UsageError(f"a metric set is named {shown(self.name)}: expected letters, digits, '_', '.', '-'")
        if not self.metrics or not all(isinstance(metric, Metric) for metric in self.metrics):
            raise UsageError(f"the metric set {self.name} has no metrics: expected a sequence of Metric")
        if not callable(self.measure):
            raise UsageError(
                f"the metric set {self.name} measures by {shown(self.measure)}, expected a function of a MetricInput"
            )
        if strange := sorted(frozenset(self.labels) - _ASKED):
            hint = did_you_mean(strange[0], _ASKED) or f"known are {', '.join(sorted(_ASKED))}"
            raise UsageError(f"the metric set {self.name} reads labels of the kind {shown(strange[0])}; {hint}")
        object.__setattr__(self, "labels", frozenset(self.labels))
        named = tuple(metric.model_copy(update={"metric_set": self.name}) for metric in self.metrics)
        object.__setattr__(self, "metrics", named)
        object.__setattr__(self, "names", frozenset(metric.name for metric in named))


def measure(
    metric_set: MetricSet, scene: MetricInput, *, trusted: bool = False
) -> tuple[dict[str, Measure], Fault | None]:
    """Return a metric set's metrics of one episode, and what broke in the metric set itself; None where it holds.

    A broken episode earns 0 where the agent broke it, in the metrics that are earned; it has no value where somebody else did.

    Args:
        metric_set: the metric set.
        scene: the episode.
        trusted: whether the metric set is ours, and gets the scene itself.
    """
    fault = scene.fault
    if fault is None:
        return _measure_asked(metric_set, metric_set.metrics, scene, trusted=trusted)
    if fault.blame != "agent":
        return {metric.name: Measure(None, class_of(fault), fault.message) for metric in metric_set.metrics}, None
    found = {metric.name: Measure(0.0, why=fault.message) for metric in metric_set.metrics if metric.earned}
    asked = [metric for metric in metric_set.metrics if metric.name not in found]
    if not asked:
        return found, None
    others, broken = _measure_asked(metric_set, asked, scene, trusted=trusted)
    return {metric.name: (found | others)[metric.name] for metric in metric_set.metrics}, broken


def _measure_asked(
    metric_set: MetricSet, asked: Sequence[Metric], scene: MetricInput, *, trusted: bool
) -> tuple[dict[str, Measure], Fault | None]:
    """Return what the metric set itself says of some of its metrics, in their order, and what broke in it."""
    try:
        given = metric_set.measure(scene) if trusted else call_stranger(_measure_copy, metric_set, scene)
        return _checked_all(metric_set, asked, given), None
    except StrangerError as broken:
        message = f"the metric set {metric_set.name} broke: {words_of(broken.error)}"
    except _BadError as bad:
        message = f"the metric set {metric_set.name} cannot be used: {bad}"
    unknown = Measure(None, "error", message)
    return {metric.name: unknown for metric in asked}, Fault(blame="infrastructure", message=message)


def _measure_copy(metric_set: MetricSet, scene: MetricInput) -> dict[str, Given]:
    return dict(metric_set.measure(scene.copied()))


class _BadError(Exception):
    """A metric set gives what no metric can be."""


def _checked_all(metric_set: MetricSet, asked: Sequence[Metric], given: Mapping[str, Given]) -> dict[str, Measure]:
    """Return what a metric set gives for the metrics asked of it. Raises _BadError."""
    if stray := given.keys() - metric_set.names:
        raise _BadError(f"it gives {shown(min(map(str, stray)))}, which it does not declare")
    return {metric.name: _checked(metric, given) for metric in asked}


def _checked(metric: Metric, given: Mapping[str, Given]) -> Measure:
    """Return what a metric set gives for a metric, as a sound measure. Raises _BadError."""
    if metric.name not in given:
        raise _BadError(f"it gives no {metric.name}")
    value = given[metric.name]
    if type(value) is Measure and _is_sound(metric, value):
        return value
    if value is None:
        return Measure(None, "unevaluated", f"the metric set {metric.metric_set} could not tell")
    if not isinstance(value, Measure):
        return Measure(_number(metric, value))
    why = value.why if isinstance(value.why, str) else ""
    if value.value is not None:
        return Measure(_number(metric, value.value), why=why)
    if value.outcome_class not in _NO_VALUE:
        raise _BadError(f"{metric.name} has no value and the class {shown(value.outcome_class)}")
    if value.bounds is None:
        return Measure(None, value.outcome_class, why)
    try:
        least, most = value.bounds
    except (TypeError, ValueError):
        raise _BadError(
            f"{metric.name} has the bounds {shown(value.bounds)}, expected the least and the most"
        ) from None
    least, most = _number(metric, least), _number(metric, most)
    if least > most or value.outcome_class != "unevaluated":
        raise _BadError(f"{metric.name} has the bounds {least:g} and {most:g} as {value.outcome_class}")
    return Measure(None, "unevaluated", why, (least, most))


def _is_sound(metric: Metric, measure: Measure) -> bool:
    """Return whether a measure is a value and no more, as most are."""
    value, outcome_class, why, bounds = measure
    return (
        type(value) is float
        and outcome_class is None
        and bounds is None
        and type(why) is str
        and (0 <= value <= 1 if metric.gated else math.isfinite(value))
    )


def _number(metric: Metric, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or not math.isfinite(value):
        raise _BadError(f"{metric.name} is {shown(value)}, expected a number")
    if metric.gated and not 0 <= value <= 1:
        raise _BadError(f"{metric.name} is {value:g}: a metric that may be gated lies between 0 and 1")
    return float(value)
