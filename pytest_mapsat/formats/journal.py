"""The journal of a run: one line for each episode, handed to the operating system before its item is reported.

A run that is killed at any moment leaves it behind, and ``--mapsat-resume`` goes on from it. Several processes append to one
journal. Each entry is written at once and begins a line of its own, so that one which a killed process left torn spoils no other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from pytest_mapsat.model import JsonObject, Problem, Scorecard, StartRows, SuiteError, canonical_json

from . import limits
from .files import open_bytes, read_lines, shown_path
from .located import Lines, Located, validate
from .plain_data import parse_json_line
from .starts import begin_with

JOURNAL_SCHEMA = "mapsat-journal/1"
_HEAD = 200
#: How a line begins that keeps the rows which a table had at the start of episodes.
_START = b'{"start":'


class Place(NamedTuple):
    """Where the scorecard of an episode stands in a journal: its first byte, how many it has, and their checksum."""

    start: int
    size: int
    checksum: int


def lock_file(file: int) -> bool:
    """Hold a file for this process as long as it is open, and say whether that could be done; where a system has no locks it could."""
    try:
        import fcntl  # noqa: PLC0415  not on Windows
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


class Journal:
    """A journal that this process appends to.

    Args:
        path: the file; it exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))
        self._process = os.getpid()
        self._kept: set[str] = set()

    @classmethod
    def begin(cls, path: Path, request: JsonObject) -> Journal:
        """Begin a journal where there is none.

        Args:
            path: the file; its folder is made.
            request: what the run is asked for.

        Raises:
            OSError: it exists already, or cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        journal = cls(path)
        lock_file(journal._file)
        try:
            journal.note({"schema": JOURNAL_SCHEMA, "request": request})
        except OSError:
            journal.close()
            path.unlink(missing_ok=True)
            raise
        return journal

    @staticmethod
    def is_being_written(path: Path) -> bool:
        """Say whether a run that is under way has begun this journal; a process that ended, in whatever way, holds it no longer."""
        try:
            file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            return False
        try:
            return not lock_file(file)
        finally:
            os.close(file)

    def note(self, entry: JsonObject) -> None:
        """Append an entry that is no episode.

        Raises:
            OSError: it cannot be written.
        """
        # The schema stands first, where is_journal looks for it.
        schema = {"schema": entry["schema"]} if "schema" in entry else {}
        rest = {name: value for name, value in entry.items() if name != "schema"}
        parts = [canonical_json(part)[1:-1] for part in (schema, rest) if part]
        self._append(f"{{{','.join(parts)}}}".encode("utf-8", "replace"))

    def add(self, card: bytes, worker: str = "", *, again: bool = False) -> Place:
        """Append the episode with this scorecard, and return where the scorecard stands.

        Args:
            card: its line of JSON.
            worker: the process that ran it; empty for the only one.
            again: it stands in the journal already, as one of an earlier run.

        Raises:
            OSError: it cannot be written whole.
        """
        head = canonical_json({"worker": worker, **({"again": True} if again else {})})[:-1]
        end = self._append(f'{head},"episode":'.encode() + card + b"}")
        return Place(end - len(card) - len(b"}\n"), len(card), crc32(card))

    def keep(self, starts: Mapping[str, StartRows]) -> None:
        """Append the rows that tables had at the start of episodes, those that this process has not written yet.

        Raises:
            OSError: they cannot be written.
        """
        for name in starts.keys() - self._kept:
            self._kept.add(name)
            if packed := starts[name].packed:
                self._append(_START + canonical_json({"name": name, "rows": packed}).encode() + b"}")

    def starts(self) -> dict[str, str]:
        """Return the rows that are kept of tables, packed, by digest. Raises SuiteError where the journal cannot be read."""
        lines = (raw for raw in read_lines(self.path, limits.RUN_BYTES) if raw.data.startswith(_START))
        kept = [parse_json_line(raw.data, str(self.path), raw.number)["start"] for raw in lines]
        return {start["name"]: start["rows"] for start in kept}

    def read(self, place: Place) -> bytes:
        """Return the line of a scorecard.

        Raises:
            OSError: the journal cannot be read, or something else has written to it.
        """
        line = os.pread(self._file, place.size, place.start)
        if crc32(line) != place.checksum:  # once cut, it may have been filled again by what came after
            raise OSError(f"{self.path}: the journal was changed while the run used it")
        return line

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, entry: bytes) -> int:
        """Write one entry and return where it ends."""
        if os.getpid() != self._process:
            raise OSError("a forked copy of a process writes to no journal")
        line = memoryview(b"\n" + entry + b"\n")
        while line:
            line = line[os.write(self._file, line) :]
        return os.lseek(self._file, 0, os.SEEK_CUR)


class JournalEpisode(NamedTuple):
    """An episode of a journal that was read: which process ran it, and its scorecard."""

    worker: str
    card: Scorecard


class JournalContent(NamedTuple):
    """What a journal holds.

    Attributes:
        request: what the run was asked for, as its manifest would say it.
        notes: the entries that are no episodes, in order, the first left out.
        episodes: the finished episodes in the order in which they ended.
    """

    request: JsonObject
    notes: tuple[JsonObject, ...]
    episodes: tuple[JournalEpisode, ...]


def is_journal(path: Path) -> bool:
    """Say whether a file begins as a journal does; False where it cannot be read."""
    with suppress(OSError), open_bytes(path) as file:
        return f'{{"schema":"{JOURNAL_SCHEMA}"' in file.read(_HEAD).decode("ascii", "replace")
    return False


def read_journal(path: Path) -> JournalContent:
    """Read a journal. An entry that a killed process left torn is passed over; everything else must be sound.

    Raises:
        SuiteError: it is no journal, goes beyond a limit, or holds what no journal does; with the line.
    """
    name = shown_path(path)
    entries = _entries(path, name)
    head = next(entries, None)
    if head is None or head[1].get("schema") != JOURNAL_SCHEMA or not isinstance(head[1].get("request"), dict):
        first_line = "an empty file" if head is None else f"line {head[0]}"
        raise SuiteError(
            Problem(name, 0, f"this is no journal: found {first_line}", f"expected one of {JOURNAL_SCHEMA!r}")
        )
    notes: list[JsonObject] = []
    episodes: list[JournalEpisode] = []
    problems: list[Problem] = []
    for line, data in entries:
        if "episode" not in data:
            notes.append(data)
        if "episode" not in data or data.get("again") is True:
            continue
        card = validate(Scorecard, Located(data["episode"], Lines(line)), name, problems)
        if card is not None and (card.id, card.trial) != (card.trajectory.case, card.trajectory.trial):
            problems.append(Problem(name, line, f"the scorecard of case {card.id} holds another dialogue"))
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        if card is not None:
            episodes.append(JournalEpisode(str(data.get("worker", "")), card))
    kept = [note["start"] for note in notes if isinstance(note.get("start"), dict)]
    begin_with((episode.card for episode in episodes), {str(start["name"]): str(start["rows"]) for start in kept})
    return JournalContent(head[1]["request"], tuple(notes), tuple(episodes))


def _entries(path: Path, name: str) -> Iterator[tuple[int, JsonObject]]:
    for raw in read_lines(path, limits.RUN_BYTES):
        try:
            data = parse_json_line(raw.data, name, raw.number)
        except SuiteError:
            continue  # the writer was killed in the middle of this line; the next writer began a new one
        if isinstance(data, dict):
            yield raw.number, data
