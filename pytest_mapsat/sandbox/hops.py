"""Which calls fulfil the expected tools of a case, and the rows that they returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from pytest_mapsat.model import ExpectedTool, FoundValues, Json, Step, Tool, all_true, any_true, fits_row, values_at


class ReturnedRow(NamedTuple):
    """One item of a tool result: its id as text (empty if it has none), and its part of the result."""

    id: str
    record: Mapping[str, Json]


def hop_calls(
    tools: Sequence[ExpectedTool], calls: Sequence[Step], specs: Mapping[str, Tool] | None = None
) -> list[dict[int, int]]:
    """Return the calls that fulfil each expected tool.

    A call does so when it gives every required argument, keeps every match that can be checked, and comes after calls that fulfil the entries of ``after``.

    Args:
        tools: the expected tools of a case.
        calls: all calls of the dialogue, in their order.
        specs: the tools themselves, by name; given, an entry is bound to the evidence alone of those that it refers to, where they say theirs.

    Returns:
        For each expected tool the positions of its calls in ``calls``, each with the number of matches that are unclear.
    """
    fulfilled: list[dict[int, int]] = [{} for _ in tools]
    hops: dict[str, FoundValues] = {}
    for position, call in enumerate(calls):
        met = []
        for tool, own in zip(tools, fulfilled, strict=True) if call.status != "over_limit" else ():
            if tool.name == call.tool and all(key in hops for key in tool.after):
                unknown = _unknown_rules(tool, call, calls[:position], hops)
                if unknown is not None:
                    own[position] = unknown
                    met.append(tool)
        for tool in met:
            spec = (specs or {}).get(tool.name) if tool.evidence_rows else None
            hops.setdefault(tool.key, FoundValues()).add(call if spec is None else _evidence_alone(tool, spec, call))
    return fulfilled


def _evidence_alone(expected: ExpectedTool, tool: Tool, call: Step) -> Step:
    """Return a copy of a call that keeps only the result rows that may be evidence for an expected tool."""
    result = deepcopy(call.result)
    for declared in tool.entities:
        for listed in values_at(result, declared.items):
            if isinstance(listed, list):
                listed[:] = [
                    row
                    for row in listed
                    if any(fits_row(part.where, row) is not False for part in expected.evidence_rows)
                ]
    return call.model_copy(update={"result": result})


def _unknown_rules(
    expected: ExpectedTool, call: Step, earlier: Sequence[Step], hops: Mapping[str, FoundValues]
) -> int | None:
    """Return the number of matches that a call leaves unclear; None if the call does not fulfil the expected tool."""
    arguments: Mapping[str, Json] = call.arguments
    if "arguments" in call.unknown:
        return None if expected.required or expected.match else 0
    # Not given: null, "", [] or {}; 0 and false are values.
    if any(value is None or value in ("", [], {}, ()) for value in map(arguments.get, expected.required)):
        return None
    unknown = 0
    for name, match in expected.match.items():
        holds = fits_row({name: match}, arguments, results=earlier, hops=hops)
        if holds is False:
            return None
        unknown += holds is None
    return unknown


def returned_rows(tool: Tool, result: Json) -> list[ReturnedRow]:
    """Return the items that a result lists at the paths in ``entities`` of its tool, except legs."""
    return [
        ReturnedRow(id_text(item.get(declared.id)) or "" if declared.id else "", item)
        for declared in tool.entities
        if declared.sort != "leg"
        for item in named_items(values_at(result, declared.items), declared.id or declared.name)
    ]


def holds_evidence(expected: ExpectedTool, tool: Tool, result: Json, *, first: int | None = None) -> bool | None:
    """Return whether a result has a row for each ``where`` in an expected tool's evidence; None if this is unclear.

    Args:
        expected: the expected tool.
        tool: the tool itself, which declares where its rows stand.
        result: what a call of it returned.
        first: how many rows from the top count; None: all.
    """
    rows = [row.record for row in returned_rows(tool, result)[:first]]
    return all_true(any_true(fits_row(part.where, row) for row in rows) for part in expected.evidence_rows)


def id_text(value: Json) -> str | None:
    """Return an id as text: a text without surrounding blanks, or the digits of a whole number; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    try:
        return str(value).strip() or None
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return None


def named_items(values: Iterable[Json], name: str) -> Iterator[dict[str, Json]]:
    """Yield the objects that have a member of a given name, from lists, objects of objects, and single objects."""
    for value in values:
        inner = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and name not in value:
            inner = list(value.values())
        yield from (item for item in inner if isinstance(item, dict) and name in item)
