"""A file of recorded dialogues as a source of trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_mapsat.model import Case, InfrastructureError, Trajectory, Turn, UsageError, did_you_mean

from .formats import Recordings, read_file
from .rows import Recording


@dataclass(frozen=True)
class RecordedSource:
    """The dialogues of one file.

    Attributes:
        spec: the text it was resolved from.
        file: the file's name, as the user typed it.
        recordings: the dialogues, by case id and trial.
    """

    spec: str
    file: str
    recordings: Recordings
    kind: Literal["recorded"] = "recorded"
    name: str = "recorded"
    agent: object = None
    shared: bool = False

    def trajectory(self, case: Case, trial: int) -> Trajectory:
        """Return the recorded dialogue of a case as it is, in front of it the case's query where the file has none.

        Raises:
            InfrastructureError: the file has none.
        """
        recorded = self._find(case, trial).trajectory
        if recorded.turns and recorded.turns[0].role == "user":
            return recorded
        return recorded.model_copy(update={"turns": (Turn(role="user", text=case.visible.query), *recorded.turns)})

    def warnings(self, case: Case, trial: int) -> tuple[str, ...]:
        """Return what is odd about the recorded dialogue of a case; nothing where there is none."""
        recording = self.recordings.get((case.id, trial))
        if recording is None:
            return ()
        turns = recording.trajectory.turns
        if turns and turns[0].role == "user" and turns[0].text.split() != case.visible.query.split():
            return (*recording.warnings, "the recorded dialogue begins with another query than the case's")
        return recording.warnings

    def _find(self, case: Case, trial: int) -> Recording:
        recording = self.recordings.get((case.id, trial))
        if recording is None:
            which = f"case {case.id}" if trial == 1 else f"trial {trial} of case {case.id}"
            raise InfrastructureError(f"no recorded trajectory of {which} in {self.file}")
        return recording


def open_recorded(path: str, *, root: Path) -> RecordedSource:
    """Return the source for a file.

    Args:
        path: absolute, or relative to ``root``.
        root: the directory pytest was started in.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read; with the line.
    """
    file = root / path
    if not path or not file.is_file():
        raise UsageError(f"recorded:{path}: there is no file {path!r} in {root}{_near(file)}")
    return RecordedSource(f"recorded:{path}", file.name, read_file(file, path))


def _near(file: Path) -> str:
    if not file.parent.is_dir():
        return ""
    hint = did_you_mean(file.name, sorted(entry.name for entry in file.parent.iterdir()))
    return f" ({hint})" if hint else ""
