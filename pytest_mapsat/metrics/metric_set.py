"""Metric sets: numbers with their bounds, what is given of an episode, what is taken from a metric set, and which there are: ours, and those of others.

Of a verdict's labels only the sound ones become numbers.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import (
    MSB_METRICS,
    OBSERVATION,
    QUALITY,
    SOFT_LEVELS,
    STATE,
    UNDECIDED,
    Blame,
    Bounds,
    Count,
    Ending,
    Fault,
    Label,
    Metric,
    Outcome,
    Step,
    Trajectory,
    Usage,
    UsageError,
    Verdict,
    did_you_mean,
    shown,
    tool_name,
    total_usage,
)
from pytest_mapsat.registry import is_ours, load_installed
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, installed

from .statistics import mean_span

if TYPE_CHECKING:
    from pytest_mapsat.model import Case, Evidence, Requirement, Tool


# -- one number of one episode, or why there is none ------------------------------------------------------------------


class Measure(NamedTuple):
    """One metric of one episode.

    Attributes:
        value: the metric, unrounded; None where it has no value.
        outcome_class: why there is no value: ``not_applicable``, ``unevaluated`` or ``error``; None beside a value.
        why: the reason in words; may be empty beside a value.
        bounds: where unknown labels alone leave it without a value, the least and the most that it can come to.
    """

    value: float | None
    outcome_class: Outcome | None = None
    why: str = ""
    bounds: Bounds | None = None

    @property
    def span(self) -> Bounds | None:
        """Return the bounds of the measure, both equal to its value if it has one; None if the measure is unknown."""
        return self.bounds if self.value is None else (self.value, self.value)


def not_applicable(why: str) -> Measure:
    """Return a measure without a value, for a case to which the metric does not apply."""
    return Measure(None, "not_applicable", why)


def between(least: float, most: float, why: str) -> Measure:
    """Return a measure between two bounds due to unknown labels; a plain value if the bounds are equal."""
    return Measure(least) if least == most else Measure(None, "unevaluated", why, (least, most))


def share_of(answers: Sequence[bool | None], of_nothing: str) -> Measure:
    """Return the share of yes among answers, with bounds if some answers are unknown.

    Args:
        answers: one for each thing that is counted; None: unknown.
        of_nothing: why the measure does not apply where there are no answers.
    """
    if not answers:
        return not_applicable(of_nothing)
    sure, unknown, total = answers.count(True), answers.count(None), len(answers)
    return between(sure / total, (sure + unknown) / total, f"{unknown} of {total} cannot be compared")


def product(left: Measure, right: Measure) -> Measure:
    """Return the product of two measures that are at least 0, unrounded.

    Bounds multiply; a measure without any leaves the product without a value. What does not apply outweighs what is not known: no judge could
    give such a product a value.
    """
    here, there = left.span, right.span
    if here is not None and there is not None:
        return between(here[0] * there[0], here[1] * there[1], left.why if left.value is None else right.why)
    return _worst((left, right))


def mean_of(measures: Sequence[Measure]) -> Measure:
    """Return the mean of measures, with bounds if any measure has bounds; without a value if any measure has neither."""
    spans = [measure.span for measure in measures if measure.span is not None]
    if len(spans) < len(measures):
        return _worst([measure for measure in measures if measure.span is None])
    return between(*mean_span(spans), next((measure.why for measure in measures if measure.value is None), ""))


_BINARY_LEVELS = (0.0, 1.0)
#: Of measures without a value the one that stands first here says why what is made of them has none.
_GRAVEST = ("not_applicable", "error", "unevaluated", None)


def _worst(measures: Sequence[Measure]) -> Measure:
    """Return a measure without a value, for the most serious reason among the measures."""
    worst = min(measures, key=lambda measure: _GRAVEST.index(measure.outcome_class))
    return Measure(None, worst.outcome_class, worst.why)


class LabelReading(NamedTuple):
    """The label of one requirement in the form that metrics use.

    Attributes:
        requirement: the requirement's id.
        value: 0 or 1, for a soft requirement one of the five levels; None where it is not known or does not apply.
        outcome: the label's class; ``passed`` and ``failed`` stand beside a value.
        blame: who is to blame for a missing value or a failure; None where no party is named.
        why: the reason in words.
        nothing_claimed: whether it holds because the answer makes no such claim.
        bounded: whether a missing value leaves the metrics between bounds; if not it is somebody's fault, and leaves them without any.
    """

    requirement: str
    value: float | None
    outcome: Outcome
    blame: Blame | None = None
    why: str = ""
    nothing_claimed: bool = False
    bounded: bool = False

    @property
    def undecided(self) -> bool:
        """Return whether the judge tried but could not decide, and no side is to blame."""
        return self.outcome == "unevaluated" and self.blame is None


def index_labels(verdict: Verdict) -> dict[str, Label]:
    """Return the verdict's labels by requirement id; contradictory labels become one unevaluated label."""
    labels: dict[str, Label] = {}
    for label in verdict.labels:
        earlier = labels.setdefault(label.requirement, label)
        if earlier is not label and (earlier.outcome, earlier.value) != (label.outcome, label.value):
            labels[label.requirement] = Label(
                requirement=label.requirement,
                kind=label.kind,
                outcome="unevaluated",
                why="the verdict gives it contradicting labels",
                blame="judge",
            )
    return labels


def read_labels(requirements: Iterable[Requirement], labels: Mapping[str, Label]) -> dict[str, LabelReading]:
    """Return one reading per requirement, by its id, in the order of the requirements."""
    return {
        requirement.id: read_label(requirement.id, labels.get(requirement.id), soft=requirement.kind == "soft")
        for requirement in requirements
    }


def read_label(name: str, label: Label | None, *, soft: bool = False) -> LabelReading:
    """Return the reading of a label of a requirement, a step or a thing with a given name.

    Levels are enforced (MapSatisfyBench 3.3): 0 or 1, and for a soft requirement also 0.25, 0.5, 0.75. A label that is missing,
    has another value or contradicts itself is not rounded or guessed: it is unevaluated, and the judge is to blame.
    """
    if label is None:
        return _unread(name, "the judge gave no label")
    outcome, value = label.outcome, label.value
    if outcome not in ("passed", "failed"):
        blameless = label.undecided or outcome == "not_applicable"
        blame = label.blame or (None if blameless else "judge")
        return LabelReading(name, None, outcome, blame, label.why, bounded=label.bounded)
    if value is None and not soft:
        value = 1.0 if outcome == "passed" else 0.0
    if value is None:
        return _unread(name, "the label of a soft requirement gives no level")
    if value not in (SOFT_LEVELS if soft else _BINARY_LEVELS):
        return _unread(name, f"the label's value is {value:g}, which is no level of such a requirement")
    if value == (0.0 if outcome == "passed" else 1.0):
        return _unread(name, f"the label says {outcome} and {value:g}")
    return LabelReading(name, value, outcome, label.blame, label.why, label.nothing_claimed)


def _unread(name: str, why: str) -> LabelReading:
    """Return an unevaluated reading that blames the judge."""
    return LabelReading(name, None, "unevaluated", "judge", why)


def weighted_share(weighted: Iterable[tuple[float, LabelReading]], empty: str = "no requirement applies") -> Measure:
    """Return sum(w c) / sum(w) over readings; without readings, a measure that explains why.

    It grows with every label, so labels that are not known leave it between its value with all of them 0 and with all of them 1. One of them
    that would turn out not to apply leaves it between these too.

    Args:
        weighted: a weight (at least 0) and a reading each. A weight of 0 asks for no label; a reading that does not apply counts nowhere.
        empty: what is said where none applies.
    """
    weights: list[float] = []
    least: list[float] = []
    most: list[float] = []
    unknown: list[LabelReading] = []
    for weight, reading in weighted:
        if reading.outcome == "not_applicable":
            continue
        empty = "all weights are 0"
        if weight > 0:
            weights.append(weight)
            least.append(0.0 if reading.value is None else reading.value)
            most.append(1.0 if reading.value is None else reading.value)
            if reading.value is None:
                unknown.append(reading)
    if not weights:
        return not_applicable(empty)
    # Divided by the greatest first, so that no sum of large weights overflows.
    greatest = max(weights)
    weights = [weight / greatest for weight in weights]
    whole = math.fsum(weights)
    lower = math.fsum(map(mul, weights, least)) / whole
    if not unknown:
        return Measure(lower)
    worst = next((reading for reading in unknown if not reading.bounded), unknown[0])
    why = f"{len(unknown)} of {len(weights)} labels are not known; {worst.requirement}: {worst.why or worst.outcome}"
    if not worst.bounded:
        return Measure(None, worst.outcome, why)
    return between(lower, math.fsum(map(mul, weights, most)) / whole, why)


# -- metric sets ------------------------------------------------------------------------------------------------------

#: The entry point group in which installed packages name their metric sets: they hold outside pytest too.
GROUP = "pytest_mapsat.metrics"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_ASKED = frozenset({STATE, OBSERVATION, QUALITY})
_NO_VALUE: tuple[Outcome, ...] = ("not_applicable", "unevaluated", "error")
_NUMBERS = (int, float)
#: Names that thresholds and summaries know already.
_TAKEN = {"pass_rate", "success"}
_BLAME_BY_ENDING: dict[Ending, Blame] = {
    "agent_error": "agent",
    "timeout": "agent",
    "user_error": "user",
    "infrastructure_error": "infrastructure",
}


def fault_of(trajectory: Trajectory) -> Fault | None:
    """Return the fault that broke the episode; None if the agent gave an answer.

    An agent that gives only blank replies, or none, has broken it itself.
    """
    if trajectory.fault is not None:
        return trajectory.fault
    if trajectory.ending in _BLAME_BY_ENDING:
        return Fault(blame=_BLAME_BY_ENDING[trajectory.ending], message=trajectory.ending.replace("_", " "))
    replies = trajectory.replies
    if any(not char.isspace() and char.isprintable() for turn in replies for char in turn.text):
        return None
    replies_text = f"{len(replies)} blank replies" if replies else "no reply"
    return Fault(blame="agent", message=f"the agent gave no answer ({replies_text})")


def class_of(fault: Fault) -> Outcome:
    """Return the outcome class of a broken item: failed if the agent is to blame, unevaluated for the judge, else error."""
    if fault.blame == "agent":
        return "failed"
    return "unevaluated" if fault.blame == "judge" else "error"


def sum_usage(parts: Sequence[Usage]) -> Usage:
    """Return the total usage; a field is None if a part does not state it, and all are None if no part states any."""
    return total_usage(parts) if any(map(says_usage, parts)) else Usage()


def says_usage(usage: Usage) -> bool:
    """Return whether a usage states any tokens or cost."""
    return (usage.input_tokens, usage.output_tokens, usage.cost) != (None, None, None)


@dataclass(frozen=True)
class MetricInput:
    """The input of a metric: one judged episode of a case.

    Attributes:
        case: the case, truth included.
        trajectory: what happened.
        verdict: what the judge said of it.
        tools: the suite's tools by name.
        success: the metric that the suite calls its success; None where it names none, and for the metric set that measures it.
        unread: whether labels that rest on reading prose count as undecided, to tell how much hangs on them.
    """

    case: Case
    trajectory: Trajectory
    verdict: Verdict
    tools: Mapping[str, Tool]
    success: Measure | None = None
    unread: bool = False

    @cached
    def labels(self) -> Mapping[str, Label]:
        """Return the verdict's labels by requirement id; contradictory labels become one unevaluated label."""
        return index_labels(self.verdict)

    @cached
    def readings(self) -> Mapping[str, LabelReading]:
        """Return the reading of each requirement's label, by the requirement's id."""
        readings = read_labels(self.case.truth.requirements, self.labels)
        if self.unread:
            read = [name for name in readings if rests_on_reading(self.labels.get(name))]
            readings |= {name: LabelReading(name, None, "unevaluated", None, UNDECIDED, bounded=True) for name in read}
        return readings

    @cached
    def fault(self) -> Fault | None:
        """Return the fault that broke the episode; None if the agent gave an answer."""
        return fault_of(self.trajectory)

    @cached
    def calls(self) -> Sequence[Step]:
        """Return the agent's calls, each with its tool's own name; one that a fault of the case hit counts as answered."""
        pairs = [(call, tool_name(self.tools, call.tool)) for call in self.trajectory.calls]
        return [
            call.model_copy(update={"tool": name, **({"status": "ok"} if call.fault else {})})
            if call.tool != name or call.fault
            else call
            for call, name in pairs
        ]

    @cached
    def spent(self) -> Usage:
        """Return the spending of the agent and its memory; None in fields that a reply does not state."""
        memory = self.trajectory.memory
        remembered = [memory.usage] if memory is not None and says_usage(memory.usage) else []
        return sum_usage([*(turn.usage for turn in self.trajectory.replies), *remembered])

    @cached
    def selection(self) -> ToolSelection:
        """Return TS (tool selection) with its parts."""
        return tool_selection(self.case, self.trajectory, approved=self.verdict.approved_tools)

    @cached
    def efficiency(self) -> Measure:
        """Return Eff (interaction efficiency)."""
        return interaction_efficiency(self.case, self.trajectory)

    @cached
    def faithfulness(self) -> Faithfulness:
        """Return IFS (faithfulness), and the number of its facts that are true only because nothing was claimed."""
        return faithfulness(self.case, self.readings)

    def knowing(self, success: Measure) -> MetricInput:
        """Return the same input with the measure of the success metric, keeping cached results."""
        other = replace(self, success=success)
        vars(other).update({**vars(self), "success": success})
        return other

    def left_open(self) -> MetricInput:
        """Return the same input with labels based on prose left undecided, keeping cached results that use no labels."""
        other = replace(self, unread=True)
        kept = ("labels", "fault", "spent", "selection", "efficiency")
        vars(other).update({name: vars(self)[name] for name in kept if name in vars(self)})
        return other

    def copied(self) -> MetricInput:
        """Return a deep copy, so that a metric set cannot change the original."""
        verdict = self.verdict
        if self.unread:
            verdict = verdict.model_copy(update={"labels": tuple(map(_undecided, verdict.labels))})
        case, trajectory, verdict, tools = copy.deepcopy((self.case, self.trajectory, verdict, dict(self.tools)))
        return replace(self, case=case, trajectory=trajectory, verdict=verdict, tools=tools, unread=False)


def rests_on_reading(label: Label | None) -> bool:
    """Return whether rules that read prose decided a label."""
    return label is not None and bool(label.reading) and label.by == "checks"


def _undecided(label: Label) -> Label:
    """Return a label based on prose as undecided; return any other label unchanged."""
    if not rests_on_reading(label):
        return label
    return label.model_copy(update={"outcome": "unevaluated", "value": None, "why": UNDECIDED, "blame": None})


#: What a metric set gives for one metric: a measure, a plain value, or None for one that is unknown.
Given = Measure | float | None


@dataclass(frozen=True)
class MetricSet:
    """A set of metrics that are measured together.

    Attributes:
        name: what suites declare it by, under ``metrics:``, and ``mapsat_metrics`` of an ini file names it by.
        metrics: what it measures; names are unique over all metric sets.
        labels: kinds of labels that it reads besides those of the case's requirements: ``state`` for the steps, ``observation`` for the things that
            replies name, ``quality`` for the fluency and safety of their words. A judge gives them only where a metric set asks.
        measure: from a metric_input to each of its metrics. It is called for every episode that was not broken, and for one that the agent broke
            where a metric is not earned (``metric_input.fault`` is set then).
        of_calls: names of metrics that rest on which calls were made: they have no value where some of these may not be known.
        names: of its metrics.
    """

    name: str
    metrics: Sequence[Metric]
    measure: Callable[[MetricInput], Mapping[str, Given]] = field(compare=False)
    labels: Collection[str] = frozenset()
    of_calls: Collection[str] = frozenset()
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
        object.__setattr__(self, "of_calls", frozenset(self.of_calls))
        metrics = tuple(metric.model_copy(update={"metric_set": self.name}) for metric in self.metrics)
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(self, "names", frozenset(metric.name for metric in metrics))


def measure(metric_set: MetricSet, metric_input: MetricInput) -> tuple[dict[str, Measure], Fault | None]:
    """Return a metric set's metrics for one episode, and the fault if the metric set itself broke, otherwise None.

    A broken episode earns 0 where the agent broke it, in the metrics that are earned; it has no value where somebody else did. A metric set of
    others gets a copy of the metric_input.
    """
    fault = metric_input.fault
    if fault is not None and fault.blame != "agent":
        return {metric.name: Measure(None, class_of(fault), fault.message) for metric in metric_set.metrics}, None
    asked = [metric for metric in metric_set.metrics if fault is None or not metric.earned]
    measures = {metric.name: Measure(0.0, why=fault.message) for metric in metric_set.metrics} if fault else {}
    if not asked:
        return measures, None
    if metric_set is MSB:  # ours, and sound
        return measures | metric_set.measure(metric_input), None  # type: ignore[operator]
    try:
        given = call_user_code(lambda: dict(metric_set.measure(metric_input.copied())))
        unsure = metric_set.of_calls if metric_input.trajectory.lacks_calls else ()
        lacking = Measure(None, "unevaluated", metric_input.trajectory.why_lacking)
        return measures | _sound_ones(metric_set, asked, given) | dict.fromkeys(unsure, lacking), None
    except UserCodeError as broken:
        message = f"the metric set {metric_set.name} broke: {describe_error(broken.error)}"
    except _BadMetricError as bad:
        message = f"the metric set {metric_set.name} cannot be used: {bad}"
    unknown = dict.fromkeys([metric.name for metric in asked], Measure(None, "error", message))
    return measures | unknown, Fault(blame="infrastructure", message=message)


class _BadMetricError(Exception):
    """Raised when a metric set returns something that cannot be a metric."""


def _sound_ones(metric_set: MetricSet, asked: Iterable[Metric], given: Mapping[str, Given]) -> dict[str, Measure]:
    """Return the requested metrics as checked measures. Raises _BadMetricError, even for undeclared metrics."""
    if stray := given.keys() - metric_set.names:
        raise _BadMetricError(f"it gives {shown(min(map(str, stray)))}, which it does not declare")
    return {metric.name: _sound(metric, given) for metric in asked}


def _sound(metric: Metric, given: Mapping[str, Given]) -> Measure:
    """Return a metric set's value for one metric as a checked measure. Raises _BadMetricError."""
    if metric.name not in given:
        raise _BadMetricError(f"it gives no {metric.name}")
    value = given[metric.name]
    if value is None:
        return Measure(None, "unevaluated", f"the metric set {metric.metric_set} could not tell")
    if not isinstance(value, Measure):
        return Measure(_number(metric, value))
    why = value.why if isinstance(value.why, str) else ""
    if value.value is not None:
        return Measure(_number(metric, value.value), why=why)
    if value.outcome_class not in _NO_VALUE:
        raise _BadMetricError(f"{metric.name} has no value and the class {shown(value.outcome_class)}")
    if value.bounds is None:
        return Measure(None, value.outcome_class, why)
    try:
        least, most = value.bounds
    except (TypeError, ValueError):
        message = f"{metric.name} has the bounds {shown(value.bounds)}, expected the least and the most"
        raise _BadMetricError(message) from None
    least, most = _number(metric, least), _number(metric, most)
    if least > most or value.outcome_class != "unevaluated":
        raise _BadMetricError(f"{metric.name} has the bounds {least:g} and {most:g} as {value.outcome_class}")
    return Measure(None, "unevaluated", why, (least, most))


def _number(metric: Metric, value: object) -> float:
    """Return a value as a float. Raises _BadMetricError if it is not finite, or is gated and not from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or not math.isfinite(value):
        raise _BadMetricError(f"{metric.name} is {shown(value)}, expected a number")
    if metric.gated and not 0 <= value <= 1:
        raise _BadMetricError(f"{metric.name} is {value:g}: a metric that may be gated lies between 0 and 1")
    return float(value)


def _measure(metric_input: MetricInput) -> Mapping[str, Measure]:
    """Return the metrics of MapSatisfyBench; after a fault, only CEI."""
    if metric_input.fault is not None:
        return {"cei": cost_efficiency(Measure(0.0, why=metric_input.fault.message), metric_input.spent)}
    ecr = explicit_completion(metric_input.case, metric_input.readings, metric_input.verdict.explicit_count)
    iisr = implicit_satisfaction(metric_input.case, metric_input.readings)
    ar = product(ecr, iisr)
    eff = metric_input.efficiency
    ses = product(ar, eff)
    return {
        "ecr": ecr,
        "iisr": iisr,
        "ar": ar,
        "ts": metric_input.selection.measure,
        "ifs": metric_input.faithfulness.measure,
        "eff": eff,
        "ses": ses,
        "cei": cost_efficiency(ses, metric_input.spent),
    }


#: The metric set of MapSatisfyBench: ECR, IISR, AR, TS, IFS, Eff, SES, and CEI for reference.
MSB = MetricSet("msb", MSB_METRICS, _measure)


def gather_metric_sets(given: Iterable[object] = ()) -> Mapping[str, MetricSet]:
    """Return the metric sets by name: built-in ones, those of installed packages, and given ones.

    Args:
        given: sequences of metric sets, as hooks return them.

    Raises:
        UsageError: two metric sets or two metrics share a name, something is no metric set, or an installed one cannot be loaded.
    """
    points = installed(GROUP)
    gathered = _MetricSets({point.name: point for point in (_NEEDS, *points) if point is _NEEDS or is_ours(point)})
    for metric_set in (MSB, *(load_installed(point) for point in points if not is_ours(point)), *_flat(given)):
        gathered.add(metric_set)
    return gathered


#: Loaded as a port's: few suites measure it.
_NEEDS = EntryPoint("needs", "pytest_mapsat.metrics.needs:NEEDS", GROUP)


class _MetricSets(Mapping[str, MetricSet]):
    """Metric sets by name; the metric sets of ports are imported on first use."""

    def __init__(self, ports: Mapping[str, EntryPoint]) -> None:
        self._ports = ports
        self._sets: dict[str, MetricSet] = {}
        self._owners: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._sets, *self._ports]))

    def __len__(self) -> int:
        return len(self._sets.keys() | self._ports.keys())

    def __getitem__(self, name: str) -> MetricSet:
        if name not in self._sets and name in self._ports:
            self.add(load_installed(self._ports[name]))
        return self._sets[name]

    def add(self, metric_set: object) -> None:
        """Add a metric set. Raises UsageError if it is not a metric set, or its name is taken."""
        if not isinstance(metric_set, MetricSet):
            raise UsageError(f"pytest_mapsat_metrics: found {shown(metric_set)}, expected a MetricSet")
        name = metric_set.name
        if self._sets.get(name) is metric_set:
            return
        if name in self._sets or (name in self._ports and load_installed(self._ports[name]) is not metric_set):
            raise UsageError(f"pytest_mapsat_metrics: two packages add a metric set {shown(name)}")
        self._sets[name] = metric_set
        for metric in metric_set.metrics:
            owner = self._owners.setdefault(metric.name, name)
            if owner != name or metric.name in _TAKEN:
                taken = f"is a metric of {owner} already" if owner != name else "is not free"
                raise UsageError(f"pytest_mapsat_metrics: {name}: the name {shown(metric.name)} {taken}")
        if len(metric_set.names) < len(metric_set.metrics):
            raise UsageError(f"pytest_mapsat_metrics: {name} gives one name to two metrics")


def _flat(given: Iterable[object]) -> Iterator[object]:
    """Yield the metric sets that hooks return, singly or in sequences. Raises UsageError for an unreadable sequence."""
    for some in given:
        if isinstance(some, MetricSet):
            yield some
        elif some is not None:
            try:
                yield from call_user_code(_listed, some)
            except UserCodeError as broken:
                raise UsageError(
                    f"pytest_mapsat_metrics: found {shown(some)}, expected metric sets: {describe_error(broken.error)}"
                ) from None


def _listed(some: Any) -> list[object]:
    """Return a sequence of metric sets as a list."""
    return list(some)


def metric_sets_named(names: Iterable[str], known: Mapping[str, MetricSet]) -> tuple[MetricSet, ...]:
    """Return the metric sets with these names, in the same order.

    Raises:
        UsageError: one of them does not exist.
    """
    for name in (names := tuple(names)):
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"no package or conftest adds the metric set {shown(name)}; "
                + (f"{hint}, " if hint else "")
                + f"known here: {', '.join(sorted(known))}"
            )
    return tuple(known[name] for name in names)


# -- the metrics of MapSatisfyBench ------------------------------------------------------------------------------------

#: The part of a weight that nothing is known about.
NEUTRAL = 1.0
_MILLION = 1_000_000


# The numbers that weights are computed with (A.2). Relevance, recency and momentum are the paper's. Change and need stand in for its tables
# A1 and A2, whose cells are not in the text that we hold: they are ours, chosen so that the paper's sample weights come out.

#: Strength S of a basic attribute.
_RELEVANCE = {"strong": 1.0, "weak": 0.3}
#: R of a routine habit and of recent evidence.
_RECENCY = {"habit": 0.8, "recent": 1.0}
#: M where late counts are above the early ones, as many, fewer, or none.
_MOMENTUM = {"rising": 1.2, "steady": 1.0, "falling": 0.8, "gone": 0.6}
#: The least change rate (S_short - S_long) / max(S_long, floor) that still counts as such; below: gone.
_CHANGE = {"rising": 0.2, "steady": -0.2, "falling": -0.6}
_LONG_FLOOR = 0.1
#: Current need by what the session says of the requirement.
_NEED = {"direct": 1.2, "related": 1.1, "weak": 0.8, "conflicting": 0.5, "invalid": 0.0}


def explicit_completion(case: Case, readings: Mapping[str, LabelReading], count: Count | None = None) -> Measure:
    """Return ECR: the mean of the binary labels over the explicit requirements; 1 if the case has only implicit requirements.

    ``count``: how many explicit requirements are met, for a verdict that does not say which; used where labels are not known.
    """
    requirements = case.truth.asked
    if not requirements:
        return _without(case, "explicit")
    share = weighted_share([(1.0, readings[requirement.id]) for requirement in requirements])
    if share.outcome_class != "unevaluated" or count is None:
        return share
    if count.total != len(requirements) or count.met > count.total:
        counts = f"the verdict counts {count.met} of {count.total} explicit requirements"
        return share._replace(why=f"{counts}, the case has {len(requirements)}")
    return Measure(count.met / count.total)


def implicit_satisfaction(case: Case, readings: Mapping[str, LabelReading]) -> Measure:
    """Return IISR: sum(w c) / sum(w) over the implicit requirements; 1 if the case has only explicit requirements."""
    requirements = case.truth.implicit
    if not requirements:
        return _without(case, "implicit")
    return weighted_share([(weight_of(requirement), readings[requirement.id]) for requirement in requirements])


def _without(case: Case, kind: str) -> Measure:
    """Return 1 if a case lacks one kind of requirement; unevaluated if it lacks both kinds."""
    if why := nothing_asked(case):
        return Measure(None, "unevaluated", why)
    return Measure(1.0, why=f"the case has no {kind} requirement")


def nothing_asked(case: Case) -> str:
    """Return why it is unknown whether the user is satisfied; empty if the case has requirements."""
    if case.truth.asked or case.truth.implicit:
        return ""
    return "the case has neither explicit nor implicit requirements: nothing says what would satisfy the user"


def weight_of(requirement: Requirement) -> float:
    """Return the weight of a hard or soft requirement: its own, else userpref x current_need with userpref = S x R x M, from its evidence (A.2).

    Of several evidences the largest userpref and the smallest current need count (our ruling: one good reason suffices to want
    a thing, one conflict in the session suffices to doubt it). A side that no evidence speaks of is 1.0.
    """
    if requirement.weight is not None:
        return requirement.weight
    preferences = [value for evidence in requirement.evidence if (value := _userpref(evidence)) is not None]
    needs = [_NEED[evidence.need] for evidence in requirement.evidence if evidence.need is not None]
    return max(preferences, default=NEUTRAL) * min(needs, default=NEUTRAL)


def _userpref(evidence: Evidence) -> float | None:
    """Return S x R x M; None if the evidence contains nothing about the user's past."""
    recency = None if evidence.recency is None else _RECENCY[evidence.recency]
    trend = _trend(evidence)
    parts = (_strength(evidence), recency, None if trend is None else _MOMENTUM[trend])
    if all(part is None for part in parts):
        return None
    strength, recent, momentum = (NEUTRAL if part is None else part for part in parts)
    return strength * recent * momentum


def _strength(evidence: Evidence) -> float | None:
    """Return the strength S of a preference in the evidence; None if there is none."""
    if evidence.count is not None and evidence.total is not None:
        return evidence.count / evidence.total
    if evidence.ratio is not None:
        return evidence.ratio
    if evidence.relevance is not None:
        return _RELEVANCE[evidence.relevance]
    # With a long-term profile and recent behaviour, the recent one is the present strength (A.2).
    return evidence.short_ratio


def _trend(evidence: Evidence) -> str | None:
    """Return whether a preference is rising, steady, falling or gone; None if the evidence leaves this open."""
    if evidence.long_ratio is not None and evidence.short_ratio is not None:
        rate = (evidence.short_ratio - evidence.long_ratio) / max(evidence.long_ratio, _LONG_FLOOR)
        if rate > _CHANGE["rising"]:
            return "rising"
        return next((trend for trend in ("steady", "falling") if rate >= _CHANGE[trend]), "gone")
    early, late = evidence.early, evidence.late
    if early is None or late is None:
        return None
    if late > early:
        return "rising"
    if not late:
        return "gone"
    return "steady" if late == early else "falling"


class Faithfulness(NamedTuple):
    """IFS, and the number of its facts that are true because the answer makes no such claim."""

    measure: Measure
    nothing_claimed: int = 0


def faithfulness(case: Case, readings: Mapping[str, LabelReading]) -> Faithfulness:
    """Return IFS: the share of fact requirements that are fulfilled; not applicable if the case has none."""
    requirements = case.truth.facts
    if not requirements:
        return Faithfulness(not_applicable("the case has no fact requirement"))
    weighted = [(1.0, readings[requirement.id]) for requirement in requirements]
    nothing_claimed = sum([reading.nothing_claimed and reading.value == 1 for _, reading in weighted])
    return Faithfulness(weighted_share(weighted), nothing_claimed)


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
    return Measure(reference / (reference + max(1, len(trajectory.replies))))


def cost_efficiency(ses: Measure, spent: Usage) -> Measure:
    """Return CEI = SES per million tokens, in and out; for reference only, not a metric of the paper."""
    if ses.span is None:
        return ses
    if spent.input_tokens is None or spent.output_tokens is None:
        return not_applicable("the agent did not say how many tokens it used")
    tokens = spent.input_tokens + spent.output_tokens
    if tokens == 0:
        return not_applicable("the agent used no tokens")
    least, most = ses.span
    return between(least / tokens * _MILLION, most / tokens * _MILLION, ses.why)


class ToolSelection(NamedTuple):
    """TS by tool name; the four groups are disjoint and sorted.

    Attributes:
        measure: ``len(correct)`` of all four together.
        correct: expected, called, and some call is valid.
        invalid: expected and called, but no call is valid.
        extra: called, not expected (also tools that do not exist).
        missed: expected, never called.
        unchecked: how many rules of the called expected tools could not be checked.
    """

    measure: Measure
    correct: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    unchecked: int = 0


def tool_selection(case: Case, trajectory: Trajectory, *, approved: Sequence[str] | None = None) -> ToolSelection:
    """Return TS = |gold and valid| / |gold or called| over tool names.

    Args:
        case: the case; its expected tools are the gold set.
        trajectory: the episode; every called name counts, also of a tool that does not exist.
        approved: expected tools whose prose rules a judge found kept; None where no judge looked, which leaves prose rules unchecked.

    Returns:
        TS with its parts. A called gold tool without a valid call stands in the union only; TS is not applicable where nothing is expected
        and nothing was called, and where the case leaves ``tools`` out.
    """
    calls, tools = trajectory.calls, case.truth.tools
    called = {call.tool for call in calls}
    gold = {expected.name for expected in tools}
    if not gold and not called and not trajectory.lacks_calls:
        return ToolSelection(not_applicable("no tool is expected and none was called"))
    if "tools" not in case.truth.model_fields_set:  # an empty list says that no call is right
        return ToolSelection(not_applicable("the case does not say which tools are expected"))
    if trajectory.lacks_calls:
        most = len(gold) / len(gold | called) if gold or called else 1.0
        return ToolSelection(between(0.0, most, trajectory.why_lacking))
    from pytest_mapsat.sandbox import hop_calls  # noqa: PLC0415  what only reads runs does without it

    valid, unchecked, open_ = gold & called, 0, set[str]()
    for expected, fulfilling in zip(tools, hop_calls(tools, calls), strict=True):
        if expected.name not in called:
            continue
        unknown = min(fulfilling.values(), default=None)
        if unknown is None or (approved is not None and expected.name not in approved):
            valid = valid - {expected.name}
            untold = any(call.tool == expected.name and "arguments" in call.unknown for call in calls)
            open_ |= {expected.name} if untold and unknown is None else set()
        unchecked += (unknown or 0) + (len(expected.prose) if approved is None else 0)
    every = len(gold | called)
    why = f"the record does not tell the arguments of {', '.join(sorted(open_))}"
    return ToolSelection(
        measure=between(len(valid) / every, len(valid | open_) / every, why),
        correct=tuple(sorted(valid)),
        invalid=tuple(sorted((gold & called) - valid)),
        extra=tuple(sorted(called - gold)),
        missed=tuple(sorted(gold - called)),
        unchecked=unchecked,
    )
