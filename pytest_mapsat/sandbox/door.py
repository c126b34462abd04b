"""The one door to the world of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pytest_mapsat.model import Case, InfrastructureError, Overlay, Record, SuiteManifest, Tool

from .python_world import PythonWorld, WorldHook, factory_of, installed_worlds
from .tables import Table, as_seen
from .world import Sandbox, World


class WorldSuite(Protocol):
    """What of a suite a world is made from."""

    @property
    def manifest(self) -> SuiteManifest:
        """What suite.yaml says."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        ...

    @property
    def tables(self) -> Mapping[str, Table]:
        """The rows that every case starts from, by table."""
        ...

    def overlays(self, name: str) -> tuple[Overlay, ...]:
        """Return what is laid over the tables for a case, first to last."""
        ...

    def records(self, case_id: str) -> tuple[Record, ...]:
        """Return what was recorded for a case."""
        ...

    @property
    def worlds(self) -> Sequence[WorldHook] | None:
        """What looks for worlds in Python; None: installed packages alone."""
        ...


def make_world(case: Case, suite: WorldSuite) -> World:
    """Return the world in which one episode of a case takes place, in the state that it starts from.

    A world in Python answers the tools that it has; the layers of the suite's data all others. They answer in this order: an exact record, what the tables say, a near or composed record, an explained miss.

    Args:
        case: the case.
        suite: its suite.

    Raises:
        SuiteError: a record of the case, or a table, cannot be read.
        InfrastructureError: a world in Python cannot be made.
    """
    tables, overlays, records = suite.tables, suite.overlays(case.id), suite.records(case.id)

    def data(written: tuple[Overlay, ...] = ()) -> Sandbox:
        laid = (*overlays, *written)
        if not tables:
            return Sandbox(suite.tools, records)
        from .computing import Computed  # noqa: PLC0415 (only where a suite has tables)

        return Sandbox(suite.tools, records, Computed(suite.tools, tables, laid, case.visible.context))

    make = factory_of(case, suite, installed_worlds() if suite.worlds is None else suite.worlds)
    if make is None and suite.manifest.world:
        raise InfrastructureError(
            f"suite.yaml of {suite.manifest.name} has options of a world in Python, and nobody makes one: install the package that does, or name the "
            "conftest.py with -p"
        )
    return data() if make is None else PythonWorld(make, as_seen(tables, overlays), data)
