"""What others add outside pytest: checks, metrics and sandboxes of installed packages, of conftests, and of modules that a command names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from pytest_mapsat.metrics import Family, gather_families
from pytest_mapsat.model import UsageError
from pytest_mapsat.registry import added_checks, exchange
from pytest_mapsat.sandbox import SandboxHook, installed_sandboxes
from pytest_mapsat.user_code import StrangerError, call_stranger, words_of

_HOOKS = ("pytest_mapsat_metrics", "pytest_mapsat_sandbox")
#: A folder with one of these is the root of a project, as pytest has it.
_ROOTS = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


@dataclass(frozen=True)
class Added:
    """Families of metrics, by name, ours included, and what looks for sandboxes."""

    families: Mapping[str, Family]
    sandboxes: tuple[SandboxHook, ...]


def load_added(modules: Sequence[str], suites: Sequence[Path]) -> Added:
    """Return what installed packages add, and what the hooks of some modules do, called without a configuration of pytest.

    Args:
        modules: files that end in ``.py``, or names, found from the current folder first; each has a hook of ours, or adds checks. None: the conftests
            that pytest would load, from the root of the project down to the suites.
        suites: the folders of suites, or paths in them.

    Raises:
        UsageError: a module that was named cannot be loaded or adds nothing, or hooks break.
    """
    exchange({})
    loaded = []
    for name in modules:
        known = len(added_checks())
        module = _module(name)
        if len(added_checks()) == known and not any(hasattr(module, hook) for hook in _HOOKS):
            raise UsageError(
                f"-p {name}: it adds no check with @mapsat.check, and has none of the hooks {', '.join(_HOOKS)}"
            )
        loaded.append(module)
    for path in () if modules else _conftests(suites):
        try:
            loaded.append(_module(str(path)))
        except UsageError as error:
            problem = str(error).removeprefix("-p ")
            sys.stderr.write(f"mapsat: warning: {problem}; its checks, metrics and sandboxes are not known here\n")
    return Added(
        gather_families(_given(loaded, "pytest_mapsat_metrics")),
        (*installed_sandboxes(), *(_sandbox(module) for module in loaded if hasattr(module, "pytest_mapsat_sandbox"))),
    )


def _conftests(suites: Sequence[Path]) -> list[Path]:
    """Return the conftests from the root of the current project down to some suites, outer ones first; none outside of the project."""
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if any((folder / name).is_file() for name in _ROOTS)), here)
    below = [path.resolve() for path in (here, *suites) if path.resolve().is_relative_to(root)]
    folders = {folder for path in below for folder in (path, *path.parents) if folder.is_relative_to(root)}
    conftests = (folder / "conftest.py" for folder in sorted(folders))
    return [path for path in conftests if path.is_file()]


def _sandbox(module: ModuleType) -> SandboxHook:
    return lambda case, suite: module.pytest_mapsat_sandbox(config=None, case=case, suite=suite)


def _module(name: str) -> ModuleType:
    for folder in {str(Path.cwd()), str(Path(name).parent) if Path(name).is_absolute() else str(Path.cwd())}:
        if folder not in sys.path:
            sys.path.insert(0, folder)
    try:
        return call_stranger(_file if name.endswith(".py") else importlib.import_module, name)
    except StrangerError as broken:
        raise UsageError(f"-p {name} cannot be loaded: {words_of(broken.error)}") from None


def _file(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _given(modules: Sequence[ModuleType], hook: str) -> list[object]:
    found = []
    for module in modules:
        if (function := getattr(module, hook, None)) is not None:
            try:
                found.append(call_stranger(function, config=None))
            except StrangerError as broken:
                raise UsageError(f"{hook} of {module.__name__}: {words_of(broken.error)}") from None
    return found
