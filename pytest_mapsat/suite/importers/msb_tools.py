"""The benchmark's tools: the specs that this package ships, and what can be said of tools it does not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType

from pytest_mapsat.model import Case, JsonObject, Record, Tool, did_you_mean

from .report import Journal

_TOOLS_FILE = "mapsatisfybench_tools.yaml"


@cache
def published_tools() -> Mapping[str, Tool]:
    """Return the specs of the benchmark's tools by name, sorted."""
    import yaml  # noqa: PLC0415  heavy

    # Our own file, unlike a suite's: it may spare itself repetition with anchors.
    text = (resources.files(__package__) / _TOOLS_FILE).read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tools = [Tool.model_validate(data) for data in yaml.load(text, Loader=loader)]  # noqa: S506  a safe loader, in C
    return MappingProxyType({tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)})


def derive_tools(
    known: Mapping[str, Tool], cases: Iterable[Case], records: Sequence[Record], journal: Journal
) -> Iterator[Tool]:
    """Give a bare spec for every tool that a record or a case names and that is not known: its parameters are those seen."""
    seen: dict[str, set[str]] = {}
    for record in records:
        seen.setdefault(record.tool, set()).update(record.arguments)
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
