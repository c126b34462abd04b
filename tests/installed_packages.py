"""What is found out about an installed package once holds for the process: pytest and this package ask at the start of each run."""

import sysconfig
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import Distribution, PathDistribution
from typing import Any

_SITE = sysconfig.get_path("purelib")


def remember_installed() -> None:
    """Have each installed package read once; what a test writes into a folder of its own is read whenever it is asked for."""
    kinds: list[tuple[type[Any], type[Any]]] = [(Distribution, PathDistribution)]
    with suppress(ImportError):  # the backport that litellm brings takes over the search
        import importlib_metadata

        kinds.append((importlib_metadata.Distribution, importlib_metadata.PathDistribution))
    for base, kind in kinds:
        for name in ("entry_points", "files", "metadata"):
            setattr(kind, name, property(_remembered(getattr(base, name).fget)))


def _remembered(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    results: dict[str, Any] = {}

    def result(package: Any) -> Any:
        place = str(package._path)
        if not place.startswith(_SITE):
            return compute(package)
        if place not in results:
            results[place] = compute(package)
        return results[place]

    return result
