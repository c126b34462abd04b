"""The agent of a run, in processes of its own with ``--mapsat-isolate``."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .hooks import call_hook
from .registration import typed
from .settings import IsolationSettings, Settings

if TYPE_CHECKING:
    from pytest_mapsat.agents import Source
    from pytest_mapsat.llm import LiteLLMClient

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
    from pytest_mapsat.agents import Isolation, isolated_source, names_own_code, unreadable  # noqa: PLC0415 (an agent is active)
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
