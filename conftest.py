"""For the project's own tests, pytest's plugin tester; for the shipped suites, their sandboxes in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_mapsat.model import Case
    from pytest_mapsat.sandbox import SandboxFactory
    from pytest_mapsat.suite import Suite

pytest_plugins = ["pytester"]


def pytest_mapsat_sandbox(config: pytest.Config, case: Case, suite: Suite) -> SandboxFactory | None:
    """Return what makes the sandbox of a shipped case in the domain ``errands``, or of ``benchmark_hard``."""
    del config
    if suite.manifest.name == "mapsat-hard":
        from shipped_agents.hard_sandbox import Desk  # noqa: PLC0415  most runs play no such case

        return Desk
    if suite.manifest.name != "mapsat-starter":
        return None
    from shipped_agents.errands_sandbox import sandbox_of  # noqa: PLC0415  most runs play no such case

    return sandbox_of(case)
