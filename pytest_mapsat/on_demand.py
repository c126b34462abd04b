"""Names of a package that are fetched when they are first used, so that a run has only the modules that it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def fetched(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return what a package has as its ``__getattr__``.

    Args:
        package: its name.
        homes: names that it shows, by the module of the package in which they live. None is called like a module of the package.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def fetch(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return fetch
