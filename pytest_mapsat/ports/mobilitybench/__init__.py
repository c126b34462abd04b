"""How a route planner understands, plans, calls and delivers: the metrics of MobilityBench (3.2, equations 1 to 5).

Where paper and published code differ the paper counts; where both leave something open, README.md here says how we rule.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_mapsat.metrics import (
    Measure,
    MetricInput,
    MetricSet,
    item_outcome,
    not_applicable,
    share_of,
    weighted_share,
)
from pytest_mapsat.model import (
    ExpectedTool,
    Json,
    JsonObject,
    Step,
    Tool,
    all_true,
    any_true,
    mismatches,
    same_value,
    tool_name,
    values_of,
)
from pytest_mapsat.ports import packaged_metrics
from pytest_mapsat.sandbox import argument_problems

_METRICS = packaged_metrics(__package__)
#: The id of the explicit requirement that says whether what was asked for is there at all.
DELIVER = "deliver"
#: The constraint whose list has an order; every other list is a set.
ORDERED = "waypoints"
#: A longer list is nothing that a query says, and not worth comparing.
_MANY = 1_000
_EVERYTHING = frozenset({"asked", "hard", "facts"})
#: What the agent spent is known, or not, however the episode ended.
_SPENT = ("mobility_it", "mobility_ot")


def _measure(metric_input: MetricInput) -> Mapping[str, Measure]:
    """Return all metrics of an episode; a fault of the agent sets the applicable metrics, except tokens, to 0."""
    measures = {
        "mobility_id": _intent(metric_input),
        "mobility_ie": _constraints(metric_input),
        **_decomposition(metric_input),
        **_selection(metric_input),
        "mobility_sc": share_of(
            [_complies(metric_input, call) for call in metric_input.calls], "the agent called nothing"
        ),
        "mobility_dr": _delivery(metric_input),
        "mobility_fpr": _final_pass(metric_input),
        "mobility_it": _tokens(metric_input.spent.input_tokens),
        "mobility_ot": _tokens(metric_input.spent.output_tokens),
    }
    if metric_input.fault is None:
        return measures
    # An agent that breaks its episode has earned nothing of what the case asks for.
    nothing = Measure(0.0, why=metric_input.fault.message)
    return {
        name: measure if name in _SPENT or measure.outcome_class == "not_applicable" else nothing
        for name, measure in measures.items()
    }


def _output(metric_input: MetricInput, name: str) -> Json:
    """Return the agent's output under a name, from the last reply that gives a value; None if no reply does."""
    given = ((turn.output or {}).get(name) for turn in reversed(metric_input.trajectory.replies))
    return next((value for value in given if value is not None), None)


def _compared(metric_input: MetricInput, name: str) -> tuple[Json, Json, Measure | None]:
    """Return the gold value, the agent's value, and a measure if the two cannot be compared (otherwise None)."""
    gold, given = metric_input.case.truth.output.get(name), _output(metric_input, name)
    if gold is None:
        return gold, given, not_applicable(f"the case does not say which {name} is right (truth.output)")
    if given is None and name not in metric_input.case.visible.output_schema.get("properties", {}):
        return gold, given, not_applicable(f"the case does not ask for output.{name}")
    return gold, given, None


def _intent(metric_input: MetricInput) -> Measure:
    """Return ID of one case (equation 1): 1 if the agent's intent equals gold in any spelling, otherwise 0."""
    gold, given, nothing = _compared(metric_input, "intent")
    return nothing or Measure(float(_same(gold, given)))


def _constraints(metric_input: MetricInput) -> Measure:
    """Return IE of one case (equation 2): 1 if the agent's constraints have gold's names and values, otherwise 0."""
    gold, given, nothing = _compared(metric_input, "constraints")
    if nothing is not None:
        return nothing
    if not isinstance(gold, Mapping) or not isinstance(given, Mapping):
        return Measure(0.0, why="output.constraints is no object of names and values")
    wanted, claimed = ({name: value for name, value in side.items() if _listed(value)} for side in (gold, given))
    same = wanted.keys() == claimed.keys() and all(
        _same(value, claimed[name], ordered=name == ORDERED) for name, value in wanted.items()
    )
    return Measure(float(same))


def _same(gold: Json, given: Json, *, ordered: bool = False) -> bool:
    """Return whether two values are equal; a single value counts as a list of one, and lists as sets unless ``ordered``."""
    wanted, claimed = _listed(gold), _listed(given)
    if len(claimed) > _MANY:
        return False
    if same_value(gold, given):
        return True
    if ordered:
        return len(wanted) == len(claimed) and all(map(same_value, wanted, claimed))
    return all(any(same_value(want, value) for value in claimed) for want in wanted) and all(
        any(same_value(want, value) for want in wanted) for value in claimed
    )


def _listed(value: Json) -> Sequence[Json]:
    """Return a value as a list, without its empty members."""
    listed = value if isinstance(value, list | tuple) else [value]
    return [item for item in listed if item is not None and item not in ("", [], {})]


@dataclass(frozen=True)
class _Action:
    """A tool and its arguments, as the agent called it or planned to call it."""

    tool: str
    arguments: JsonObject
    complete: bool  # what is not said is not there; a plan may leave open what earlier steps are to find
    results: Sequence[Step]


def _decomposition(metric_input: MetricInput) -> Mapping[str, Measure]:
    """Return DEC-P and DEC-R of one case (equation 3): the precision and recall of the steps taken against the expected steps."""
    expected, actions = metric_input.case.truth.tools, _actions(metric_input)
    taken = [any_true(_matches(step, action) for action in actions) for step in expected]
    needed = [any_true(_matches(step, action) for step in expected) for action in actions]
    return {
        "mobility_dec_p": share_of(taken, "the case expects no tool"),
        "mobility_dec_r": share_of(needed, "the agent planned nothing and called nothing"),
    }


def _actions(metric_input: MetricInput) -> Sequence[_Action]:
    """Return the steps of the agent's plan, otherwise the calls that it made."""
    plan, calls = _output(metric_input, "plan"), metric_input.calls
    if isinstance(plan, list | tuple) and plan:
        return [_planned(step, metric_input, calls) for step in plan]
    return [
        _Action(call.tool, _with_defaults(metric_input.tools.get(call.tool), call.arguments), True, calls[:place])
        for place, call in enumerate(calls)
    ]


def _planned(step: Json, metric_input: MetricInput, calls: Sequence[Step]) -> _Action:
    """Return a step of a plan, given as a tool's name or as an object with ``tool`` and optional ``arguments``."""
    tool, arguments = (step.get("tool"), step.get("arguments")) if isinstance(step, Mapping) else (step, None)
    name = tool_name(metric_input.tools, tool) if isinstance(tool, str) else ""
    return _Action(name, arguments if isinstance(arguments, dict) else {}, False, calls)


def _with_defaults(tool: Tool | None, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a call, completed with the defaults of omitted parameters."""
    properties = {} if tool is None else tool.parameters.get("properties", {})
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    return {**defaults, **arguments}


def _matches(expected: ExpectedTool, action: _Action) -> bool | None:
    """Return whether an action is an expected step, by its tool and arguments; None if this cannot be decided."""
    if action.tool != expected.name:
        return False
    asked = [name for name in expected.match if action.complete or name.partition(".")[0] in action.arguments]
    fits = {
        any_true(
            expected.match[name].fits(value, arguments=action.arguments, results=action.results)
            for value in values_of(action.arguments, name)
        )
        for name in asked
    }
    return all_true(fits)


def _selection(metric_input: MetricInput) -> Mapping[str, Measure]:
    """Return TS-P and TS-R of one case (equation 4): the precision and recall of the called tools against the expected tools."""
    expected = {tool.name for tool in metric_input.case.truth.tools}
    called = {call.tool for call in metric_input.calls}
    return {
        "mobility_ts_p": share_of([name in called for name in sorted(expected)], "the case expects no tool"),
        "mobility_ts_r": share_of([name in expected for name in sorted(called)], "the agent called nothing"),
    }


def _complies(metric_input: MetricInput, call: Step) -> bool:
    """Return whether a call complies (equation 5), whatever its result: its tool exists, and its schema allows the arguments.

    They are of its types, within its limits, and no others; and what each stands for can be read.
    """
    tool = metric_input.tools.get(call.tool)
    if tool is None:
        return False
    strict = {**tool.parameters, "additionalProperties": False}
    return not any(mismatches(strict, call.arguments)) and not argument_problems(tool, call.arguments)


def _delivery(metric_input: MetricInput) -> Measure:
    """Return DR of one case: 1 if the dialogue ends by itself, no call fails, and ``deliver`` is met (3.1.4, 3.2.4)."""
    if all(requirement.id != DELIVER for requirement in metric_input.case.truth.asked):
        return not_applicable(f"the case has no explicit requirement {DELIVER!r}")
    if metric_input.trajectory.ending != "done":
        return Measure(0.0, why=f"the dialogue did not end by itself: {metric_input.trajectory.ending}")
    expected = {tool.name for tool in metric_input.case.truth.tools}
    if failed := sorted({call.tool for call in metric_input.calls if _failed(call, expected)}):
        return Measure(0.0, why=f"{', '.join(failed)}: a call was not answered")
    return weighted_share([(1.0, metric_input.readings[DELIVER])])


def _failed(call: Step, expected: Collection[str]) -> bool:
    """Return whether a call could not be made or answered; an expected call without a recording does not count as failed."""
    if call.status == "miss" and call.tool in expected and call.provenance is not None:
        return bool(call.provenance.differences)
    return call.status not in ("ok", "unknown")


def _final_pass(metric_input: MetricInput) -> Measure:
    """Return FPR of one case: 1 if every explicit, hard and fact label passes, 0 if one fails, otherwise no value."""
    if not metric_input.case.truth.required:
        return not_applicable("the case has no explicit, hard or fact requirement")
    count = metric_input.verdict.explicit_count
    item = item_outcome(metric_input.case, metric_input.readings, asserted=_EVERYTHING, count=count)
    if item.outcome in ("passed", "failed"):
        return Measure(float(item.outcome == "passed"), why=item.reason)
    labels = [metric_input.labels.get(requirement) for requirement in item.unknown]
    bounded = bool(labels) and all(label is not None and label.bounded for label in labels)
    return Measure(None, item.outcome, item.reason, (0.0, 1.0) if bounded else None)


def _tokens(count: int | None) -> Measure:
    """Return a number of tokens as a measure; not applicable if the agent did not report it."""
    return not_applicable("the agent did not say how many tokens it used") if count is None else Measure(float(count))


#: Those that rest on which calls were made.
_OF_CALLS = [f"mobility_{name}" for name in ("dec_p", "dec_r", "ts_p", "ts_r", "sc", "dr")]
#: ID, IE, DEC, TS, SC, DR, FPR, and what the agent spent.
MOBILITY = MetricSet("mobility", _METRICS, _measure, of_calls=_OF_CALLS)
