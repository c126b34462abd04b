"""When two records answer the same request: their arguments are canonically the same, as the sandbox would say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_mapsat.model import Json, ParameterMatch, Record, Tool, canonical_json
from pytest_mapsat.sandbox import UnfitError, canonical

RequestKey = tuple[str, str, str, str]
_UNDECLARED = ParameterMatch(type="json")


def request_key(record: Record, tool: Tool | None) -> RequestKey:
    """Return what two records share that answer the same request: case, tool, world, and canonical arguments."""
    arguments = record.arguments if tool is None else dict(_canonical_arguments(record.arguments, tool))
    return record.case, record.tool, record.writes, canonical_json(arguments)


def _canonical_arguments(arguments: Mapping[str, Json], tool: Tool) -> Iterator[tuple[str, str]]:
    for name in sorted(arguments.keys() | tool.match.keys()):
        rule = tool.match.get(name, _UNDECLARED)
        if rule.role == "ignored":
            continue
        value = arguments.get(name)
        try:
            form = canonical(rule.default if value is None else value, rule)
        except UnfitError:
            form = canonical_json(value)
        if form is not None:
            yield name, repr(form)


def by_request(records: Sequence[Record], tools: Mapping[str, Tool]) -> dict[RequestKey, list[Record]]:
    """Return the records grouped by request, in the order of their first."""
    groups: dict[RequestKey, list[Record]] = {}
    for record in records:
        groups.setdefault(request_key(record, tools.get(record.tool)), []).append(record)
    return groups
