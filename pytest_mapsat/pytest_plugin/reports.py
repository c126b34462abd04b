"""The reports that ``--mapsat-report`` asks for: checked before anything runs, written when the run is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_mapsat.agents import scrubbed
from pytest_mapsat.model import MapsatError, Run, Scorecard, UsageError
from pytest_mapsat.runs.saved import check_save_path

from .settings import Settings

if TYPE_CHECKING:
    from pytest_mapsat.reports import ReportTarget


class Reports:
    """The reports of one session, on the controller."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self._written: list[ReportTarget] = []
        #: What GitHub is to read from the output of the step.
        self._commands: list[str] = []

    def check(self) -> None:
        """Check that the reports can be written.

        Raises:
            UsageError: one of them cannot, or the run file goes to the same place.
        """
        save = self.settings.save
        for target in self.settings.reports:
            option = f"--mapsat-report={target.type}:"
            check_save_path(target.path, option=option)
            if save is not None and os.path.realpath(target.path) == os.path.realpath(save):
                raise UsageError(f"{option}{target.path}: the run file of --mapsat-save goes there")

    def write(self, run: Run, lines: Callable[[], Iterable[bytes]]) -> list[str]:
        """Write all reports; one that fails takes no other with it.

        Args:
            run: the run, without dialogues.
            lines: gives its scorecards with dialogues, as the run file has them.

        Returns:
            What went wrong.
        """
        if not self.settings.reports or not (run.cases or run.accounting.collected):
            return []
        from pytest_mapsat.reports import opening, write_reports  # noqa: PLC0415 (only where reports are asked for)

        def dialogues(numbers: Sequence[int]) -> Iterator[Scorecard]:
            wanted = frozenset(numbers)
            return (Scorecard.model_validate_json(line) for number, line in enumerate(lines()) if number in wanted)

        cards = tuple(opening(Scorecard.model_validate_json(line)) for line in lines())
        whole = run.model_copy(update={"cases": cards})
        faults = []
        for target in self.settings.reports:
            try:
                self._commands += write_reports(whole, [target], self.config.rootpath, dialogues)
            except MapsatError as error:
                faults.append(f"--mapsat-report: {scrubbed(str(error))}")
            else:
                self._written.append(target)
        return faults

    def tell(self, terminal: pytest.TerminalReporter, *, brief: bool) -> None:
        """Say where the reports are, and print what GitHub is to read."""
        for target in () if brief else self._written:
            terminal.write_line(f"report   {target.path}")
        for command in self._commands:
            terminal.write_line(command)
