"""The one door to the sandbox of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pytest_mapsat.model import Case, InfrastructureError, Overlay, Recording, SuiteManifest, Tool

from .python_sandbox import PythonSandbox, SandboxHook, factory_of, installed_sandboxes
from .recorded_sandbox import RecordedSandbox, Sandbox
from .tables import Table, as_seen


class SandboxSuite(Protocol):
    """What of a suite a sandbox is made from."""

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

    def recordings(self, case_id: str) -> tuple[Recording, ...]:
        """Return what was recorded for a case."""
        ...

    @property
    def sandboxes(self) -> Sequence[SandboxHook] | None:
        """What looks for sandboxes in Python; None: installed packages alone."""
        ...


def make_sandbox(case: Case, suite: SandboxSuite) -> Sandbox:
    """Return the sandbox in which one episode of a case takes place, in the state that it starts from.

    A sandbox in Python answers the tools that it has; the layers of the suite's data all others. They answer in this order: an exact recording, what the tables say, a near or composed recording, an explained miss.

    Args:
        case: the case.
        suite: its suite.

    Raises:
        SuiteError: a recording of the case, or a table, cannot be read.
        InfrastructureError: a sandbox in Python cannot be made.
    """
    tables, overlays, recordings = suite.tables, suite.overlays(case.id), suite.recordings(case.id)

    def data(written: tuple[Overlay, ...] = ()) -> RecordedSandbox:
        laid = (*overlays, *written)
        if not tables:
            return RecordedSandbox(suite.tools, recordings)
        from .computing import Computed  # noqa: PLC0415 (only where a suite has tables)

        return RecordedSandbox(suite.tools, recordings, Computed(suite.tools, tables, laid, case.visible.context))

    make = factory_of(case, suite, installed_sandboxes() if suite.sandboxes is None else suite.sandboxes)
    if make is None and suite.manifest.sandbox:
        raise InfrastructureError(
            f"suite.yaml of {suite.manifest.name} has options of a sandbox in Python, and nobody makes one: install the package that does, or name the "
            "conftest.py with -p"
        )
    return data() if make is None else PythonSandbox(make, as_seen(tables, overlays), data)
