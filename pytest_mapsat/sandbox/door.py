"""The one door to the world of a case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pytest_mapsat.model import Case, Record, SuiteManifest, Tool

from .tables import Table
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

    def records(self, case_id: str) -> tuple[Record, ...]:
        """Return what was recorded for a case."""
        ...


def make_world(case: Case, suite: WorldSuite) -> World:
    """Return the world in which one episode of a case takes place, in the state that it starts from.

    Its layers answer in this order: an exact record, what the tables say, a near or composed record, an explained miss.

    Args:
        case: the case.
        suite: its suite.

    Raises:
        SuiteError: a record of the case, or a table, cannot be read.
    """
    return Sandbox(suite.tools, suite.records(case.id))
