"""Hooks that other packages may implement. Each is called only while an agent is active."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_mapsat.environments import Environment
    from pytest_mapsat.metrics import MetricSet
    from pytest_mapsat.model import Case, Run
    from pytest_mapsat.sandbox import SandboxFactory
    from pytest_mapsat.suite import Suite


@pytest.hookspec(firstresult=True)
def pytest_mapsat_make_agent(config: pytest.Config, spec: str) -> object | None:
    """Return the agent object for ``spec`` (the value of ``--mapsat-agent``); None to leave it to other plugins.

    Called before the built-in specs are tried.
    """


@pytest.hookspec
def pytest_mapsat_case_loaded(case: Case) -> None:
    """Inspect a loaded case before it runs; raise ``pytest.UsageError`` to refuse the case."""


@pytest.hookspec(firstresult=True)
def pytest_mapsat_sandbox(config: pytest.Config, case: Case, suite: Suite) -> SandboxFactory | None:
    """Return the factory of a case's sandbox, a class or function of the ``State``; None to leave the case to other plugins.

    Called for each episode. The object that is made has a method for each tool that it answers; see docs/how-to/build-a-sandbox.md. A ``conftest.py`` in the
    suite's own folder is refused: a suite is data. Outside pytest the entry points of the group ``pytest_mapsat.sandboxes`` are known.
    """


@pytest.hookspec(firstresult=True)
def pytest_mapsat_environment(config: pytest.Config, case: Case, suite: Suite) -> Environment | None:
    """Return the environment that an episode changes, such as a ``SqlEnvironment``, one object for each place; None to leave it to other plugins.

    Called for each episode. A fixture ``mapsat_environment`` comes before it.
    """


@pytest.hookspec
def pytest_mapsat_metrics(config: pytest.Config) -> Sequence[MetricSet] | None:
    """Return metric sets of your own.

    A suite names those it is measured by under ``metrics:`` in ``suite.yaml``; ``mapsat_metrics`` of an ini file adds others.

    Called once in each process, at its start. Outside pytest the entry points of the group ``pytest_mapsat.metrics`` are known, and those of the
    project's conftests.
    """


@pytest.hookspec
def pytest_mapsat_report(config: pytest.Config, run: Run) -> None:
    """Report on a complete run, after the gate has decided. Called once, on the controller."""
