"""For the project's own tests, pytest's plugin tester; for the shipped suite, the world of its errands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_mapsat.model import Case
    from pytest_mapsat.sandbox import WorldFactory
    from pytest_mapsat.suite import Suite

pytest_plugins = ["pytester"]


def pytest_mapsat_world(config: pytest.Config, case: Case, suite: Suite) -> WorldFactory | None:
    """Return what makes the world of a shipped case in the domain ``errands``."""
    del config
    if suite.manifest.name != "mapsat-starter":
        return None
    from shipped_agents.errands_world import world_of  # noqa: PLC0415  most runs play no such case

    return world_of(case)
