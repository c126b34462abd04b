"""When two recordings answer the same request: the sandbox reads their calls alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from pytest_mapsat.model import Recording, Tool, canonical_json
from pytest_mapsat.sandbox import recording_key

RequestKey = tuple[str, str, str, str]


def request_key(recording: Recording, tool: Tool | None) -> RequestKey:
    """Return what two recordings share that answer the same request: case, tool, the writes before it, and canonical arguments."""
    key = canonical_json(recording.arguments)
    if tool is not None:
        with suppress(ValueError):  # arguments that the tool cannot take are told by lint
            key = recording_key(tool, recording)
    return recording.case, recording.tool, recording.writes, key


def by_request(recordings: Sequence[Recording], tools: Mapping[str, Tool]) -> dict[RequestKey, list[Recording]]:
    """Return the recordings grouped by request, in the order of their first."""
    groups: dict[RequestKey, list[Recording]] = {}
    for recording in recordings:
        groups.setdefault(request_key(recording, tools.get(recording.tool)), []).append(recording)
    return groups
