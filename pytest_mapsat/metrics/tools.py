"""TS: did the agent choose the tools that the task needs, and no others (MapSatisfyBench 3.3)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pytest_mapsat.model import (
    Case,
    ExpectedTool,
    Json,
    Match,
    Step,
    Tool,
    Trajectory,
    values_of,
)

from .labels import Measure, not_applicable

_EMPTY = (str, list, tuple, dict)


class Satisfies(Protocol):
    """A match against a value: True, False, or None where it cannot be said."""

    def __call__(
        self, match: Match, value: Json, *, arguments: Mapping[str, Json] | None = None, results: Sequence[Step] = ()
    ) -> bool | None:
        """Compare ``value`` under ``match``; ``arguments``: the call's own, ``results``: the calls before it."""


class ArgumentProblems(Protocol):
    """Why a tool cannot take some arguments, one sentence each; empty where it can."""

    def __call__(self, tool: Tool, arguments: Mapping[str, Json], /) -> Sequence[str]:
        """Say what is wrong with ``arguments``."""


class SameValue(Protocol):
    """Whether two values say the same, however they are written."""

    def __call__(self, wanted: Json, value: Json, /) -> bool:
        """Compare two values."""


def no_problems(_tool: Tool, _arguments: Mapping[str, Json], /) -> Sequence[str]:
    """Find nothing wrong."""
    return ()


class ToolSelection(NamedTuple):
    """TS by tool name; the four groups are disjoint and sorted.

    Attributes:
        measure: ``len(correct)`` of all four together.
        correct: expected, called, and some call is valid.
        invalid: expected and called, but no call is valid.
        extra: called, not expected (also tools that do not exist).
        missed: expected, never called.
        unchecked: how many rules of the called expected tools nobody could check.
    """

    measure: Measure
    correct: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    unchecked: int = 0


def tool_selection(
    case: Case, trajectory: Trajectory, *, satisfies: Satisfies, approved: Sequence[str] | None = None
) -> ToolSelection:
    """Return TS = |gold and valid| / |gold or called| over tool names.

    Args:
        case: the case; its expected tools are the gold set.
        trajectory: the episode; every called name counts, also of a tool that does not exist.
        satisfies: compares a value with a match (``pytest_mapsat.sandbox.satisfies``).
        approved: expected tools whose prose rules a judge found kept; None where nobody looked, which leaves prose rules unchecked.

    Returns:
        TS with its parts. A called gold tool without a valid call stands in the union only; TS is not applicable where nothing is expected
        and nothing was called, and where the case leaves ``tools`` out.
    """
    calls, tools = trajectory.calls, case.truth.tools
    called = {call.tool for call in calls}
    gold = {expected.name for expected in tools}
    if not gold and not called:
        return ToolSelection(not_applicable("no tool is expected and none was called"))
    if "tools" not in case.truth.model_fields_set:  # an empty list says that no call is right
        return ToolSelection(not_applicable("the case does not say which tools are expected"))
    named = {one.key: one.name for one in tools}
    expected = [(one, {named.get(key, key) for key in one.after}) for one in tools if one.name in called]
    valid, unchecked = _check_tools(expected, calls, satisfies, approved)
    return ToolSelection(
        measure=Measure(len(valid) / len(gold | called)),
        correct=tuple(sorted(valid)),
        invalid=tuple(sorted((gold & called) - valid)),
        extra=tuple(sorted(called - gold)),
        missed=tuple(sorted(gold - called)),
        unchecked=unchecked,
    )


def _check_tools(
    expected: Sequence[tuple[ExpectedTool, set[str]]],
    calls: Sequence[Step],
    satisfies: Satisfies,
    approved: Sequence[str] | None,
) -> tuple[set[str], int]:
    """Return the names whose every expectation some call meets, and the number of rules left unchecked.

    With each expectation come the tools that must be called before.
    """
    valid = {one.name for one, _ in expected}
    unchecked = 0
    for one, before in expected:
        unknown = _fewest_unknown(one, before, calls, satisfies)
        if unknown is None or (approved is not None and one.name not in approved):
            valid.discard(one.name)
        unchecked += (unknown or 0) + (len(one.prose) if approved is None else 0)
    return valid, unchecked


def _fewest_unknown(
    expected: ExpectedTool, before: set[str], calls: Sequence[Step], satisfies: Satisfies
) -> int | None:
    """Return how many machine rules stay unknown in the best valid call, or None where no call is valid."""
    counts: list[int] = []
    called: set[str] = set()
    for position, call in enumerate(calls):
        if call.tool == expected.name and before <= called:
            count = _unknown_rules(expected, call, calls[:position], satisfies)
            counts += [] if count is None else [count]
        called.add(call.tool)
    return min(counts, default=None)


def _unknown_rules(expected: ExpectedTool, call: Step, earlier: Sequence[Step], satisfies: Satisfies) -> int | None:
    """Return how many machine rules cannot be said to hold in ``call``, or None where the call is not valid."""
    arguments: Mapping[str, Json] = call.arguments
    if any(map(_empty, map(arguments.get, expected.required))):
        return None
    unknown = 0
    for name, match in expected.match.items():
        held = {satisfies(match, value, arguments=arguments, results=earlier) for value in values_of(arguments, name)}
        if held == {False}:
            return None
        unknown += True not in held
    return unknown


def _empty(value: Json) -> bool:
    """Say whether a required argument counts as not given: null, "", [] or {}; 0 and false are values."""
    return value is None or (not value and isinstance(value, _EMPTY))
