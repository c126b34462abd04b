"""The parts that a run is opened with: its agent, the way to models, the cluster, the agent's memory, the user's own tools.

Each is refused here, before anything is collected, where it is of no use with what else was asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mapsat.agents import Source, names_own_code, resolve_source, source_of
from pytest_mapsat.model import UsageError
from pytest_mapsat.options import typed
from pytest_mapsat.runs.request import asks_models
from pytest_mapsat.suite import find_suite

from .items import call_hook
from .settings import Settings

if TYPE_CHECKING:
    from pytest_mapsat.agents.isolated import Isolation
    from pytest_mapsat.agents.memory import MemorySource
    from pytest_mapsat.llm import LiteLLMClient, Replay
    from pytest_mapsat.recording import OwnTools

#: How long a process may take to import the agent at least, seconds, however short episodes are.
_LEAST_PATIENCE = 60.0


def open_door(settings: Settings, run: str) -> LiteLLMClient | None:
    """Return the client for models; None if neither the agent, the user nor the judge is a model."""
    if not asks_models(settings.request):
        return None
    from pytest_mapsat.llm import SpendingLimits, open_door  # noqa: PLC0415 (only where a model is asked)

    return open_door(settings.cache, SpendingLimits(*settings.rates, settings.max_cost), run=run)


def replay_models(config: pytest.Config, settings: Settings) -> Replay | None:
    """Start recording and replaying the agent's own model calls if requested, and return the recorder.

    Raises:
        UsageError: the agent is not in this process, or nothing is to be kept.
    """
    if not settings.model_cache:
        return None
    from pytest_mapsat.llm import Replay  # noqa: PLC0415 (only where it is asked for)
    from pytest_mapsat.store import Store, store_folder  # noqa: PLC0415 (likewise)

    spec = settings.request.agent
    reasons = {
        "--mapsat-cache=off keeps nothing": settings.cache == "off",
        "--mapsat-isolate has agents in processes of their own, whose calls are not seen here": settings.isolation,
        "--mapsat-executor has agents on other machines, whose calls are not seen here": settings.executor,
        f"{spec} is no agent in this process that asks models by itself": not names_own_code(spec),
    }
    _refuse("--mapsat-model-cache", reasons)
    store = Store(store_folder())
    config.add_cleanup(store.close)
    replay = Replay(settings.cache, store, settings.allowed_hosts)
    config.add_cleanup(replay.install())
    return replay


def load_own_tools(settings: Settings, root: Path) -> OwnTools | None:
    """Load the user's own tools if they answer calls without a recording."""
    if not settings.tools:
        return None
    from pytest_mapsat.recording import OwnTools  # noqa: PLC0415 (only where they are named)

    return OwnTools.load(settings.tools, root=root)


def open_agent_memory(
    settings: Settings, source: Source | None, root: Path, client: LiteLLMClient | None
) -> MemorySource | None:
    """Return the memory store of the agent; None if there is none.

    Raises:
        UsageError: there is no such memory, or it is of no use with what else was asked for.
    """
    spec, option = settings.request.options.agent_memory, "--mapsat-agent-memory"
    if spec == "none":
        return None
    from pytest_mapsat.agents.memory import open_memory  # noqa: PLC0415 (only where it is asked for)

    memory = open_memory(spec, root=root, client=client)
    if memory is None:
        return None
    reasons = {
        "recorded dialogues are as they are, whatever a memory has": source and source.kind != "agent",
        "--mapsat-isolate keeps the agent's code out of this process, in which a memory of its own would be": (
            settings.isolation and memory.own
        ),
    }
    _refuse(f"{option}={spec}", reasons)
    return memory


def connect(config: pytest.Config, settings: Settings, *, asks_models: bool, carries: bool) -> Any | None:
    """Return the client of the dask cluster that plays the episodes; None if this process plays them.

    Raises:
        UsageError: something else was asked for that only this process can do, or there is no cluster there that can be used.
    """
    if not settings.executor:
        return None
    bounds = (settings.max_cost, *settings.rates)
    reasons = {
        "--mapsat-isolate starts processes of its own": settings.isolation is not None,
        "--mapsat-unrecorded asks from this process": settings.request.options.on_miss != "strict",
        "limits on what models may cost or how often they are asked hold on one machine": asks_models and any(bounds),
        "the suite carries dialogues from one task to the next, and each would be played somewhere else": carries,
        "sandboxes of a plugin are not known there, those of a conftest.py and of installed packages are": not all(
            Path(getattr(hook.plugin, "__file__", None) or "").name == "conftest.py"
            for hook in config.hook.pytest_mapsat_sandbox.get_hookimpls()
        ),
    }
    _refuse(f"--mapsat-executor=dask:{settings.executor}", reasons, "leave --mapsat-executor out, or the other")
    from pytest_mapsat.runs.elsewhere import open_cluster  # noqa: PLC0415 (an extra)

    cluster = open_cluster(settings.executor)
    config.add_cleanup(cluster.close)
    return cluster


def source_for(config: pytest.Config, settings: Settings, spec: str, *, client: LiteLLMClient | None) -> Source:
    """Return the agent of a run: a plugin's source for the spec, otherwise the source that the spec names; isolated if requested.

    Raises:
        pytest.UsageError: it cannot be used with what else was asked for.
        UsageError: it cannot be resolved.
    """
    agent = call_hook(config, config.hook.pytest_mapsat_make_agent, config=config, spec=spec)
    if agent is None:
        root, timeout = config.invocation_params.dir, settings.request.options.timeout_seconds
        isolated = settings.isolation and _isolated(config, settings.isolation, spec, root, timeout)
        return isolated or resolve_source(spec, root=root, client=client, http_form=settings.request.options.http)
    for option, given in {"--mapsat-isolate": settings.isolation, "--mapsat-executor": settings.executor}.items():
        reason = "what pytest_mapsat_make_agent makes is an object of this process and cannot be made in another one"
        _refuse(option, {reason: given})
    return source_of(agent, spec)


def _isolated(config: pytest.Config, isolation: Isolation, spec: str, root: Path, timeout: float) -> Source | None:
    """Return the user's own agent in a new process for each episode; None if the spec does not name the user's own code."""
    from pytest_mapsat.agents.isolated import isolated_source  # noqa: PLC0415 (only where it is asked for)
    from pytest_mapsat.agents.keeper import unreadable  # noqa: PLC0415 (likewise)

    if not names_own_code(spec):
        if typed(config, "isolate"):
            reason = f"{spec} runs no code of an agent, so there is nothing to keep apart"
            if spec.startswith("cmd:"):
                reason = "a command runs in a process of its own already, with your environment and files"
            raise pytest.UsageError(f"--mapsat-isolate: {reason}: leave it out")
        return None
    # A conftest.py in a suite brings pytest to put the suite's own folder there, which tells where it is.
    own = (None, root, *root.parents)
    path = [os.path.normpath(root / place) for place in sys.path]
    path = [place for place in path if find_suite(Path(place)) in own]
    hidden = ExitStack()
    hidden.enter_context(unreadable())
    config.add_cleanup(hidden.close)
    isolation = replace(isolation, path=tuple(path), patience=max(timeout, _LEAST_PATIENCE))
    source = isolated_source(spec, root, isolation)
    config.add_cleanup(source.close)
    return source


def _refuse(option: str, reasons: Mapping[str, object], way_out: str = "leave one of them out") -> None:
    """Raise UsageError with the first reason that applies."""
    for reason, holds in reasons.items():
        if holds:
            raise UsageError(f"{option}: {reason}: {way_out}")
