"""When two recordings answer the same request: their arguments are canonically the same, as the sandbox would say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_mapsat.model import Json, ParameterMatch, Recording, Tool, canonical_json
from pytest_mapsat.sandbox import UnfitError, canonical

RequestKey = tuple[str, str, str, str]
_UNDECLARED = ParameterMatch(type="json")


def request_key(recording: Recording, tool: Tool | None) -> RequestKey:
    """Return what two recordings share that answer the same request: case, tool, sandbox, and canonical arguments."""
    arguments = recording.arguments if tool is None else dict(_canonical_arguments(recording.arguments, tool))
    return recording.case, recording.tool, recording.writes, canonical_json(arguments)


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


def by_request(recordings: Sequence[Recording], tools: Mapping[str, Tool]) -> dict[RequestKey, list[Recording]]:
    """Return the recordings grouped by request, in the order of their first."""
    groups: dict[RequestKey, list[Recording]] = {}
    for recording in recordings:
        groups.setdefault(request_key(recording, tools.get(recording.tool)), []).append(recording)
    return groups
