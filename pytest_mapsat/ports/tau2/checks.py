"""What a task of tau2-bench asks for, as checks on an episode: its ending, calls, words, and what its world must hold at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from pytest_mapsat.judges import Call, Episode, Finding, matching
from pytest_mapsat.model import Json, JsonObject, same, shown
from pytest_mapsat.sandbox import Refused, State

from .worlds import WORLDS

#: The endings by a stop of the user or the agent; an episode with any other ending earns nothing.
STOPS = ("done", "stalled")


class WantedCall(TypedDict):
    """A reference action.

    ``by``: agent or user. ``compare``: the arguments that count; null: all that the action has.
    """

    tool: str
    arguments: JsonObject
    by: str
    compare: list[str] | None


def tau_ends(episode: Episode) -> Finding:
    """The dialogue ends with a stop of the user or the agent."""
    ended = f"the dialogue ends as {episode.ending}"
    return Finding(episode.ending in STOPS, ended, f"it ends as {' or '.join(STOPS)}")


def tau_says(episode: Episode, text: str) -> Finding:
    """A reply contains a text; case and commas do not count."""
    wanted = f"a reply says {shown(text)}"
    places = [number for number, reply in enumerate(episode.replies, 1) if _plain(text) in _plain(reply)]
    return Finding(bool(places), f"reply {places[0]} says it" if places else "no reply says it", wanted)


def _plain(text: str) -> str:
    return text.lower().replace(",", "")


def tau_calls(episode: Episode, actions: list[WantedCall]) -> Finding:
    """Each action has a call of its own, with the arguments that count. Further calls do not matter."""
    calls_by = {"agent": episode.calls, "user": episode.user_calls}
    missing: list[str] = []
    for by, calls in calls_by.items():
        asked = [action for action in actions if action["by"] == by]
        called = matching([[_fits(action, call) for call in calls] for action in asked])
        missing += [action["tool"] for place, action in enumerate(asked) if place not in called]
    wanted = f"a call for each of {', '.join(action['tool'] for action in actions)}"
    return Finding(not missing, f"no such call: {', '.join(missing)}" if missing else "each has its call", wanted)


def _fits(action: WantedCall, call: Call) -> bool:
    """Return whether a call has the arguments of an action: exactly these, or those that count."""
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
    """An assertion of the domain's world is true at the end, or false where the task says so."""
    held, why = held_at(episode.state, domain, function, arguments)
    return Finding(held is value, f"{function}: {why}" if why else f"{function} is {held}", f"{function} is {value}")


def held_at(state: State, domain: str, function: str, arguments: Mapping[str, Json]) -> tuple[bool | None, str]:
    """Return whether an assertion of a domain's world is true in a state.

    None, with the reason, where the state lacks what it needs, or the published arguments are of other types than it takes.
    """
    try:
        return bool(getattr(WORLDS[domain](state), function)(**arguments)), ""
    except (ArithmeticError, AttributeError, LookupError, Refused, TypeError, ValueError) as error:
        return None, str(error)
