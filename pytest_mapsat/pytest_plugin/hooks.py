"""Our hooks, called so that a plugin that breaks is named and breaks nothing else."""

from __future__ import annotations

from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import pluggy
import pytest

from pytest_mapsat.interpreter import waiting
from pytest_mapsat.model import MapsatError
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error

if TYPE_CHECKING:
    from pytest_mapsat.model import Case
    from pytest_mapsat.sandbox import SandboxFactory
    from pytest_mapsat.suite import Suite


class HookError(MapsatError):
    """A plugin raised in one of our hooks; the message names both."""


def call_hook(config: pytest.Config, caller: pluggy.HookCaller, /, **arguments: Any) -> Any:
    """Return what the hook returns.

    Raises:
        HookError: a plugin raised.
        KeyboardInterrupt: the user interrupted the run.
    """
    if not caller.get_hookimpls():
        return caller(**arguments)  # no code of others runs, so nothing needs to be put back
    try:
        return call_user_code(caller, **arguments)
    except UserCodeError as broken:
        message = f"{caller.name} of {_plugin(config, caller, broken.error)}: {describe_error(broken.error)}"
    raise HookError(message)


def sandbox_of(config: pytest.Config, case: Case, suite: Suite) -> SandboxFactory | None:
    """Return what the plugins make the sandbox of a case by; None where none of them does.

    Raises:
        HookError: a plugin raised, or it stands in the suite's own folder.
    """
    caller = config.hook.pytest_mapsat_sandbox
    implementations = caller.get_hookimpls()
    if not implementations:
        return None
    for implementation in implementations:
        file = getattr(implementation.plugin, "__file__", None)
        if file and suite.in_files and Path(file).is_relative_to(suite.root):
            raise HookError(
                f"pytest_mapsat_sandbox of {Path(file).name} stands in the suite {suite.manifest.name!r}, whose folder is data: put the hook into "
                "a conftest.py outside of it, or into a package"
            )
    with waiting():
        made: SandboxFactory | None = call_hook(config, caller, config=config, case=case, suite=suite)
    return made


def call_each(config: pytest.Config, caller: pluggy.HookCaller, /, **arguments: Any) -> list[str]:
    """Call the hook of each plugin on its own, so that one that breaks keeps no other from its turn; return what broke.

    Raises:
        KeyboardInterrupt: the user interrupted the run.
    """
    plugins = list(dict.fromkeys(implementation.plugin for implementation in reversed(caller.get_hookimpls())))
    told = []
    for plugin in plugins:
        others = [other for other in plugins if other is not plugin]
        try:
            call_hook(config, config.pluginmanager.subset_hook_caller(caller.name, others), **arguments)
        except HookError as error:
            told.append(str(error))
    return told


def _plugin(config: pytest.Config, caller: pluggy.HookCaller, error: BaseException) -> str:
    """Return the name of the plugin whose function was under way; of a conftest, its place below the root."""
    names = {
        getattr(implementation.function, "__code__", None): implementation.plugin_name
        for implementation in caller.get_hookimpls()
    }
    for frame, _ in walk_tb(error.__traceback__):
        if name := names.get(frame.f_code):
            return name.removeprefix(f"{config.rootpath}/")
    return "a plugin"
