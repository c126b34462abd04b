"""Where the agent of a run comes from, and where its episodes are played: here, in processes of their own, on a cluster."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_mapsat.options import typed

from .hooks import call_hook
from .settings import IsolationSettings, Settings

if TYPE_CHECKING:
    from pytest_mapsat.agents import Source
    from pytest_mapsat.llm import LiteLLMClient
    from pytest_mapsat.model import RunRequest
    from pytest_mapsat.runs.elsewhere import Cluster, Elsewhere

    from .settings import Settings

_HERE = "leave --mapsat-executor out"


def connect(config: pytest.Config, settings: Settings, *, asks_models: bool) -> Cluster | None:
    """Return the cluster that episodes are handed to; None where they are played here.

    Args:
        config: pytest's.
        settings: what was asked for.
        asks_models: whether the agent or the user is a model.

    Raises:
        pytest.UsageError: something else was asked for that only this process can do.
        UsageError: there is no cluster there that can be used.
    """
    if not settings.executor:
        return None
    bounds = (settings.max_cost, *settings.rates)
    reasons = {
        "--mapsat-isolate starts processes of its own": settings.isolation is not None,
        "--mapsat-on-miss asks from this process": settings.request.options.on_miss != "strict",
        "limits on what models may cost or how often they are asked hold on one machine": asks_models and any(bounds),
        "sandboxes of a conftest.py are not known there, those of installed packages are": bool(
            config.hook.pytest_mapsat_sandbox.get_hookimpls()
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            raise pytest.UsageError(f"--mapsat-executor=dask:{settings.executor}: {reason}: {_HERE}, or the other")
    from pytest_mapsat.runs.elsewhere import open_cluster  # noqa: PLC0415 (an extra)

    cluster = open_cluster(settings.executor)
    config.add_cleanup(cluster.close)
    return cluster


def elsewhere(cluster: Cluster, settings: Settings, request: RunRequest, root: Path) -> Elsewhere:
    """Return the way in which episodes are played on a cluster.

    Args:
        cluster: where.
        settings: what was asked for.
        request: the run that they are of.
        root: the directory pytest was started in.
    """
    from pytest_mapsat.runs.elsewhere import Elsewhere  # noqa: PLC0415 (an agent is active)

    rounds = 1 + (settings.concurrency or 1) // max(cluster.threads, 1)
    return Elsewhere(cluster.executor, request, root, settings.cache, rounds=rounds, gone=cluster.gone)


#: How long a process may take to import the agent at least, seconds, however short episodes are.
_LEAST_PATIENCE = 60.0


def source_for(config: pytest.Config, settings: Settings, spec: str, *, client: LiteLLMClient | None) -> Source:
    """Return the agent of a run: what a plugin makes of the spec, else what the spec names, in processes of its own where that is asked for.

    Args:
        config: pytest's.
        settings: what was asked for.
        spec: what ``--mapsat-agent`` names.
        client: the way to models, where anybody in the run is one.

    Raises:
        pytest.UsageError: it cannot be used with what else was asked for.
        UsageError: it cannot be resolved.
    """
    from pytest_mapsat.agents import resolve_source, source_of  # noqa: PLC0415 (an agent is active)

    made = call_hook(config, config.hook.pytest_mapsat_make_agent, config=config, spec=spec)
    if made is None:
        root, timeout = config.invocation_params.dir, settings.request.options.timeout_seconds
        isolated = settings.isolation and _isolated(config, settings.isolation, spec, root, timeout)
        return isolated or resolve_source(spec, root=root, client=client)
    if settings.isolation is not None:
        raise pytest.UsageError(
            "--mapsat-isolate: what pytest_mapsat_make_agent makes is an object of this process and cannot be made in another one"
        )
    if settings.executor:
        raise pytest.UsageError(
            "--mapsat-executor: what pytest_mapsat_make_agent makes is an object of this process, and no other one has it"
        )
    return source_of(made, spec)


def _isolated(
    config: pytest.Config, settings: IsolationSettings, spec: str, root: Path, timeout: float
) -> Source | None:
    """Return the agent of a spec in processes of its own; None where it is none of the user's own code."""
    from pytest_mapsat.agents import names_own_code  # noqa: PLC0415 (an agent is active)
    from pytest_mapsat.agents.isolation import Isolation, isolated_source, unreadable  # noqa: PLC0415 (likewise)
    from pytest_mapsat.suite import find_suite  # noqa: PLC0415 (likewise)

    if not names_own_code(spec):
        if typed(config, "isolate"):
            raise pytest.UsageError(
                f"--mapsat-isolate: {spec} runs no code of an agent, so there is nothing to keep apart: leave it out"
            )
        return None
    # A conftest.py in a suite brings pytest to put the suite's own folder there, which tells where it is.
    own = (None, root, *root.parents)
    path = [os.path.normpath(root / place) for place in sys.path]
    path = [place for place in path if find_suite(Path(place)) in own]
    hidden = ExitStack()
    hidden.enter_context(unreadable())
    config.add_cleanup(hidden.close)
    isolation = Isolation(tuple(path), settings.passed, settings.memory, max(timeout, _LEAST_PATIENCE))
    source = isolated_source(spec, root, isolation)
    config.add_cleanup(source.close)
    return source
