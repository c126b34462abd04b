"""``--mapsat-isolate``: what it may be asked for, and the agent that runs in processes of its own."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .hooks import call_hook
from .options import agent_spec, dest_of, text_of, typed

if TYPE_CHECKING:
    from pytest_mapsat.agents import Source
    from pytest_mapsat.llm import LiteLLMClient

    from .settings import Settings

#: Megabytes: what Python and the agent's side of ours need, and more than any machine has.
_LEAST_MEMORY, _MOST_MEMORY = 64, 16_000_000
#: How long a process may take to import the agent at least, seconds, however short episodes are.
_LEAST_PATIENCE = 60.0
_SWITCH_OFF = "leave --mapsat-isolate out (an ini file's: -o mapsat_isolate=off)"


@dataclass(frozen=True)
class IsolationSettings:
    """How agents are kept apart. Nothing of it stands in the run file: an isolated agent gives the same run.

    Attributes:
        passed: variables of the environment that are passed on.
        memory: what each process may use, MB; 0: any amount.
    """

    passed: Mapping[str, str]
    memory: int = 0


def read_isolation(config: pytest.Config) -> IsolationSettings | None:
    """Return how agents are kept apart; None where they are not.

    Raises:
        pytest.UsageError: a value cannot be used, or the agent cannot be isolated.
    """
    if not _is_on(config):
        lonely = next((name for name in ("isolate-env", "memory") if typed(config, name)), None)
        if lonely is not None:
            raise pytest.UsageError(f"--mapsat-{lonely} is for isolated agents: give --mapsat-isolate as well")
        return None
    if not hasattr(os, "fork"):
        raise pytest.UsageError(f"--mapsat-isolate needs a system that can fork, such as Linux or macOS: {_SWITCH_OFF}")
    if agent_spec(config) == "fixture":
        raise pytest.UsageError(
            "--mapsat-isolate: the agent of a fixture is an object of this process and cannot be made in another one: name it as "
            f"module:attr, or {_SWITCH_OFF}"
        )
    return IsolationSettings(_passed(config), _memory(config))


def _is_on(config: pytest.Config) -> bool:
    word = str(config.getoption(dest_of("isolate")) or config.getini(dest_of("isolate")) or "off").strip()
    if word not in ("on", "off"):
        raise pytest.UsageError(f"mapsat_isolate: found {word!r}, expected on or off")
    return word == "on"


def _passed(config: pytest.Config) -> dict[str, str]:
    """Return the variables that are passed on. One that is not set is an error where it was typed: the agent would look for it."""
    names: list[str] = config.getoption(dest_of("isolate-env")) or config.getini(dest_of("isolate-env"))
    for name in names:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,255}", name):
            found = name.partition("=")[0] + "=..." if "=" in name else repr(name)
            raise pytest.UsageError(
                f"--mapsat-isolate-env: found {found}, expected the name of a variable; its value is that of the environment"
            )
        if name == "PYTEST_CURRENT_TEST":
            raise pytest.UsageError(f"--mapsat-isolate-env={name}: it names the case, which no agent is told")
        if name not in os.environ and name in typed(config, "isolate-env"):
            raise pytest.UsageError(f"--mapsat-isolate-env={name}: it is not set in the environment")
    return {name: os.environ[name] for name in names if name in os.environ}


def _memory(config: pytest.Config) -> int:
    text = text_of(config, "memory", "")
    if not text:
        return 0
    if not re.fullmatch(r"[0-9]{1,9}", text) or not _LEAST_MEMORY <= int(text) <= _MOST_MEMORY:
        raise pytest.UsageError(
            f"--mapsat-memory: found {text!r}, expected megabytes, a whole number from {_LEAST_MEMORY} to {_MOST_MEMORY}"
        )
    if not sys.platform.startswith("linux"):
        raise pytest.UsageError("--mapsat-memory needs Linux: no other system holds a process to it; leave it out")
    return int(text)


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
