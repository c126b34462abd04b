"""The worlds by domain, and the entry point by which sandboxes of cases are found."""

from __future__ import annotations

from typing import Any

from pytest_mapsat.model import Case
from pytest_mapsat.sandbox import SandboxFactory

from .airline import AirlineWorld
from .mock import MockWorld
from .retail import RetailWorld
from .telecom import TelecomWorld
from .world import World

#: The class of each domain's world.
WORLDS: dict[str, type[World]] = {
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
