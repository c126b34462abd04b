"""What can be said of tools that the benchmark's source names and nobody describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_mapsat.model import Case, JsonObject, Recording, Tool, did_you_mean

from .report import Journal


def derive_tools(
    known: Mapping[str, Tool], cases: Iterable[Case], recordings: Sequence[Recording], journal: Journal
) -> Iterator[Tool]:
    """Give a bare spec for every tool that a recording or a case names and that is not known: its parameters are those seen."""
    seen: dict[str, set[str]] = {}
    for recording in recordings:
        seen.setdefault(recording.tool, set()).update(recording.arguments)
    for expected in (tool for case in cases for tool in case.truth.tools):
        seen.setdefault(expected.name, set()).update(expected.required)
    for name in sorted(seen.keys() - known.keys()):
        parameters: dict[str, JsonObject] = {parameter: {} for parameter in sorted(seen[name])}
        near = did_you_mean(name, known) or "its spec has the parameters seen, and no description"
        journal.note("unknown_tool", name, f"the benchmark has no such tool; {near}")
        yield Tool(
            name=name,
            description=f"{name} (the source does not describe this tool)",
            parameters={"type": "object", "properties": parameters},
        )
