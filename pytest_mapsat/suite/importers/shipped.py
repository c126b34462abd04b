"""The tools of benchmarks, described in files that this package ships."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

from pytest_mapsat.model import Tool


@cache
def shipped_tools(file: str) -> Mapping[str, Tool]:
    """Return the tools that a file of this package describes, by name, sorted."""
    import yaml  # noqa: PLC0415  heavy

    # Our own file, unlike a suite's: it may spare itself repetition with anchors.
    text = (resources.files(__package__) / file).read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tools = [Tool.model_validate(data) for data in yaml.load(text, Loader=loader)]  # noqa: S506  a safe loader, in C
    return MappingProxyType({tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)})


def published_tools() -> Mapping[str, Tool]:
    """Return the tools of MapSatisfyBench."""
    return shipped_tools("mapsatisfybench_tools.yaml")


def mobility_tools() -> Mapping[str, Tool]:
    """Return the tools of MobilityBench."""
    return shipped_tools("mobilitybench_tools.yaml")
