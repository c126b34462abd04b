"""tau2-bench: the worlds of its domains, the checks that its tasks ask for, and its reward."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, TypedDict

from pytest_mapsat.formats import package_data
from pytest_mapsat.judges import Call, Episode, Finding, matching
from pytest_mapsat.metrics import LabelReading, Measure, MetricInput, MetricSet, between, not_applicable, product
from pytest_mapsat.model import Case, Json, JsonObject, same, shown
from pytest_mapsat.ports import packaged_metrics
from pytest_mapsat.sandbox import Refused, SandboxFactory, State

from .airline import AirlineWorld
from .retail import RetailWorld
from .telecom import TelecomWorld
from .world import MockWorld, TauDesk

#: The class of each domain's world.
WORLDS: dict[str, type[TauDesk]] = {
    "mock": MockWorld,
    "retail": RetailWorld,
    "airline": AirlineWorld,
    "telecom": TelecomWorld,
}
#: The option of a suite's manifest, under ``sandbox``, that names the domain.
OPTION = "tau2"


def sandbox_of(case: Case, suite: Any) -> SandboxFactory | None:
    """Return the world of a case whose suite names a domain of tau2-bench; None for all others."""
    del case
    domain = suite.manifest.sandbox.get(OPTION)
    return WORLDS.get(domain) if isinstance(domain, str) else None


#: The endings by a stop of the user or the agent; an episode with any other ending earns nothing.
STOPS = ("done", "stalled")


class WantedCall(TypedDict):
    """A reference action, as the check ``tau_calls`` takes it.

    ``by``: agent or user. ``compare``: the arguments that count; null: all that the action has.
    """

    tool: str
    arguments: JsonObject
    by: str
    compare: list[str] | None


def tau_ends(episode: Episode) -> Finding:
    """Check that the dialogue ends by a stop of the user or the agent."""
    ended = f"the dialogue ends as {episode.ending}"
    return Finding(episode.ending in STOPS, ended, f"it ends as {' or '.join(STOPS)}")


def tau_says(episode: Episode, text: str) -> Finding:
    """Check that a reply contains a text, whatever its case and commas."""
    wanted = f"a reply says {shown(text)}"
    places = [number for number, reply in enumerate(episode.replies, 1) if _plain(text) in _plain(reply)]
    return Finding(bool(places), f"reply {places[0]} says it" if places else "no reply says it", wanted)


def _plain(text: str) -> str:
    """Return a text in lower case and without commas."""
    return text.lower().replace(",", "")


def tau_calls(episode: Episode, actions: list[WantedCall]) -> Finding:
    """Check that each reference action has a call of its own with the arguments that count; further calls do not matter."""
    calls_by = {"agent": episode.calls, "user": episode.user_calls}
    missing: list[str] = []
    for by, calls in calls_by.items():
        asked = [action for action in actions if action["by"] == by]
        called = matching([[_fits(action, call) for call in calls] for action in asked])
        missing += [action["tool"] for place, action in enumerate(asked) if place not in called]
    wanted = f"a call for each of {', '.join(action['tool'] for action in actions)}"
    return Finding(not missing, f"no such call: {', '.join(missing)}" if missing else "each has its call", wanted)


def _fits(action: WantedCall, call: Call) -> bool:
    """Return whether a call has the tool and exactly the arguments of an action; only those in ``compare`` where it is given."""
    if call.tool != action["tool"]:
        return False
    compare = action["compare"]
    if compare is None:
        return same(action["arguments"], call.arguments)
    wanted, given = (
        {name: side[name] for name in compare if name in side} for side in (action["arguments"], call.arguments)
    )
    return same(wanted, given)


def tau_holds(
    episode: Episode, domain: str, function: str, arguments: Mapping[str, Json], value: bool = True
) -> Finding:
    """Check that an assertion about the domain's world has the wanted truth value at the end."""
    holds, why = assertion_holds(episode.state, domain, function, arguments)
    return Finding(holds is value, f"{function}: {why}" if why else f"{function} is {holds}", f"{function} is {value}")


def assertion_holds(state: State, domain: str, function: str, arguments: Mapping[str, Json]) -> tuple[bool | None, str]:
    """Return whether an assertion of a domain's world is true in a state.

    None, with the reason, where the state lacks what it needs, or the published arguments are of other types than it takes.
    """
    try:
        return bool(getattr(WORLDS[domain](state), function)(**arguments)), ""
    except (ArithmeticError, AttributeError, LookupError, Refused, TypeError, ValueError) as error:
        return None, str(error)


#: Each part of a reward, with how the ids of its requirements begin.
PARTS: Mapping[str, str] = package_data(__package__, "words.yaml")["parts"]
_METRICS = packaged_metrics(__package__)


def _measure(metric_input: MetricInput) -> Mapping[str, Measure]:
    """Return the reward of an episode and its parts; the reward is 0 where the dialogue does not end by a stop."""
    parts = {f"tau_{prefix}": _part(metric_input, prefix) for prefix in PARTS.values()}
    ending, fault = metric_input.trajectory.ending, metric_input.fault
    if ending not in STOPS:
        # The agent broke the episode, or came to no end.
        nothing = Measure(0.0, why=fault.message if fault else f"the dialogue ended as {ending}")
        parts = {name: nothing if fault and _applies(measure) else measure for name, measure in parts.items()}
        return {"tau_reward": nothing, **parts}
    return {"tau_reward": reduce(product, filter(_applies, parts.values()), Measure(1.0)), **parts}


def _applies(measure: Measure) -> bool:
    """Return whether the case asks for a measure."""
    return measure.outcome_class != "not_applicable"


def _part(metric_input: MetricInput, prefix: str) -> Measure:
    """Return the product of a part's labels: 1 where all hold, 0 where one fails, bounds where one is undecided."""
    readings = [reading for name, reading in metric_input.readings.items() if name.partition("-")[0] == prefix]
    if not readings:
        return not_applicable("the task's reward_basis does not name it, or gives nothing for it")
    return reduce(product, map(_read, readings))


def _read(reading: LabelReading) -> Measure:
    """Return a label as a measure: its value, bounds of 0 and 1 where it is undecided, else its outcome without a value."""
    if reading.value is not None:
        return Measure(reading.value, why=reading.why)
    if reading.bounded or reading.outcome == "unevaluated":
        return between(0.0, 1.0, reading.why)
    return Measure(None, reading.outcome, reading.why)


#: The reward, and its five parts.
TAU = MetricSet("tau", _METRICS, _measure)
