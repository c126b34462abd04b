"""``--mapsat-executor``: what it may be asked for together with, and the cluster behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
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
