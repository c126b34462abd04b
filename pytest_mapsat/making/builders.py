"""Builders: each makes a kind of world from a seed, as a suite's tools and tables; installed packages add them by an entry point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.model import UsageError
from pytest_mapsat.registry import installed_function
from pytest_mapsat.user_code import installed

#: The entry point group in which installed packages name their builders: each entry is a kind of world and a function.
GROUP = "pytest_mapsat.builders"


@dataclass(frozen=True)
class BuildRequest:
    """What a world is asked to be. A value of None leaves the choice to the builder.

    Attributes:
        seed: the same seed gives the same bytes.
        cities: how many towns.
        each: how many rows of the main table each town has.
        language: ``en``, ``zh`` or ``mixed``: the towns take turns, Chinese first.
        cases: how many cases are made beside the world.
        queries: a file of queries for them, by case, in place of the builder's own wordings.
    """

    seed: int = 0
    cities: int | None = None
    each: int | None = None
    language: str = "mixed"
    cases: int | None = None
    queries: Path | None = None

    def only(self, *names: str, what: str) -> None:
        """Refuse what is asked for beside some of cities, each, cases and queries, by a builder of ``what``.

        Raises:
            UsageError: something else is asked for.
        """
        others = {"cities", "each", "cases", "queries"} - {*names}
        if given := [f"--{name}" for name in sorted(others) if getattr(self, name) is not None]:
            raise UsageError(
                f"{', '.join(given)}: not for {what}, which has {', '.join(f'--{name}' for name in names)}"
            )


Builder = Callable[[BuildRequest, Path], dict[str, int]]


def builders() -> Iterator[str]:
    """Yield the kinds of worlds that ``mapsat build`` knows, sorted."""
    yield from dict.fromkeys(point.name for point in installed(GROUP))


def builder_of(kind: str) -> Builder:
    """Return what builds a kind of world into a folder: a function of the request and the folder that returns the number of rows by table.

    Raises:
        UsageError: no package adds it, two packages do, or it cannot be loaded.
    """
    return installed_function(GROUP, kind, "invented world")
