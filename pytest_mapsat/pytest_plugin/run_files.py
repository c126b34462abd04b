"""The files of a run, on the controller: what it goes on from, its journal, and its reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mapsat.agents import scrubbed
from pytest_mapsat.formats import Journal, scorecard_line
from pytest_mapsat.gate import Side
from pytest_mapsat.model import MapsatError, Run, Scorecard, UsageError
from pytest_mapsat.printed import printed
from pytest_mapsat.runs.assemble import portable, refuse_unlike
from pytest_mapsat.runs.episodes import Episodes, read_finished
from pytest_mapsat.runs.request import prompts_of
from pytest_mapsat.runs.saved import check_save_path, journal_of, put_aside, put_journal_aside, read_baselines

from .settings import Settings

if TYPE_CHECKING:
    from pytest_mapsat.reports import ReportTarget


class Beginning:
    """What a run that comes to a result does with files before its first episode.

    Attributes:
        begun: whether it has begun.
        baselines: the earlier runs that this one is held against.
        moved: files that were moved away, and where to.
        journal_path: where the journal is to stand; None where there is no place for it.
    """

    def __init__(self, config: pytest.Config, settings: Settings, episodes: Episodes, *, decides: bool) -> None:
        self._config = config
        self._settings = settings
        self._episodes = episodes
        self._decides = decides
        self.begun = False
        self.baselines: tuple[Side, ...] = ()
        self.moved: dict[str, str] = {}
        self.journal_path = self._place_of_journal()

    def begin(self) -> None:
        """Read what is gone on from, move away what stands where this run writes, and begin the journal."""
        if self.begun or not self._decides:
            return
        self.begun = True
        request = portable(self._settings.request)
        try:
            self.baselines = read_baselines(self._settings.compare)
            for path, baseline in zip(self._settings.compare, self.baselines, strict=True):
                refuse_unlike(path, baseline, request)
            finished = None if self._settings.resume is None else read_finished(self._settings.resume)
            if finished is not None:
                finished.refuse_other_request(request)
            if self._settings.save is not None:
                moved = put_aside(self._settings.save)
            else:
                moved = {} if self.journal_path is None else put_journal_aside(self.journal_path)
        except MapsatError as error:
            raise pytest.UsageError(str(error)) from None
        self.moved = {os.path.realpath(old): str(new) for old, new in moved.items()}
        if finished is not None:
            finished.path = Path(self.moved.get(os.path.realpath(finished.path), finished.path))
        self._episodes.finished = finished
        self._episodes.journal = self._journal(request.model_dump(mode="json", by_alias=True))
        if prompts := prompts_of(request):
            self.note({"prompts": prompts})
        self._episodes.keeps_lines = self.needs_lines
        if finished is not None and (journal := self._episodes.journal) is not None:
            for card in finished.cards():
                journal.keep({} if card.trajectory.environment is None else card.trajectory.environment.starts)
                journal.add(scorecard_line(card))  # first of all, so that none is lost whenever this run ends

    def _journal(self, request: dict[str, Any]) -> Journal | None:
        path = self.journal_path
        if path is None:
            return None
        try:
            return Journal.begin(path, request)
        except OSError as error:
            if self._settings.save is None:
                return None  # the cache folder cannot be written, which is no reason not to run
            raise pytest.UsageError(f"--mapsat-save: {error.strerror or error} ({path})") from None

    @property
    def needs_lines(self) -> bool:
        """Whether dialogues are needed at the end, although no journal may take them: for files, or for what own tools answered."""
        settings = self._settings
        return settings.save is not None or bool(settings.reports or settings.tools)

    def _place_of_journal(self) -> Path | None:
        if self._settings.save is not None:
            return journal_of(self._settings.save)
        cache = getattr(self._config, "cache", None)
        if cache is None or not self._decides:
            return None
        try:
            folder: Path = cache.mkdir("mapsat")
        except OSError:
            return None
        return folder / "journal"

    def note(self, entry: dict[str, Any]) -> None:
        """Write what is no episode into the journal, where there is one."""
        if self._episodes.journal is not None:
            try:
                self._episodes.journal.note(entry)
            except OSError as error:
                self._episodes.fault = (
                    self._episodes.fault or f"{self._episodes.journal.path}: {error.strerror or error}"
                )


def write_line(terminal: pytest.TerminalReporter, text: str, **markup: bool) -> None:
    """Print a line of ours on the terminal of pytest."""
    terminal.write_line(printed(text), **markup)


class Reports:
    """The reports that ``--mapsat-report`` asks for: checked before anything runs, written when the run is complete."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._written: list[ReportTarget] = []
        #: What GitHub is to read from the output of the step.
        self._commands: list[str] = []

    def check(self) -> None:
        """Check that the reports can be written.

        Raises:
            UsageError: one of them cannot, or the run file goes to the same place.
        """
        save = self._settings.save
        for target in self._settings.reports:
            option = f"--mapsat-report={target.type}:"
            if target.path is None:
                continue
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
        if not self._settings.reports or not (run.cases or run.accounting.collected):
            return []
        from pytest_mapsat.reports import opening, write_reports  # noqa: PLC0415 (only where reports are asked for)

        def dialogues(numbers: Sequence[int]) -> Iterator[Scorecard]:
            wanted = frozenset(numbers)
            return (Scorecard.model_validate_json(line) for number, line in enumerate(lines()) if number in wanted)

        cards = tuple(opening(Scorecard.model_validate_json(line)) for line in lines())
        whole = run.model_copy(update={"cases": cards})
        faults = []
        for target in self._settings.reports:
            try:
                self._commands += write_reports(whole, [target], self._config.rootpath, dialogues)
            except MapsatError as error:
                faults.append(f"--mapsat-report: {scrubbed(str(error))}")
            else:
                self._written += [target] if target.place else []
        return faults

    def tell(self, terminal: pytest.TerminalReporter, *, brief: bool) -> None:
        """Say where the reports are, and print what GitHub is to read."""
        for target in () if brief else self._written:
            write_line(terminal, f"report   {target.place}")
        for command in self._commands:
            write_line(terminal, command)
