"""The tables of a suite: ``state/NAME.jsonl``, one row a line; and its recordings."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import IO

from pytest_mapsat.formats import (
    READ_ERRORS,
    document_of,
    limits,
    noun_of,
    open_bytes,
    raise_for_problems,
    read_lines,
    shown_path,
    unreadable,
)
from pytest_mapsat.model import (
    JsonObject,
    Problem,
    Recording,
    Tool,
    canonical_json,
    shown,
)
from pytest_mapsat.sandbox import LARGE_BYTES, FileRows, Keys, Spots, Table, recording_key

#: Rows of a large table that are looked through for the columns that a tool names.
_FIRST_ROWS = 20

#: A file and a line.
Spot = tuple[Path, int]


def columns_of(table: Table) -> Mapping[str, None]:
    """Return the columns of a table, in the order in which they first stand."""
    rows = table.rows
    return dict.fromkeys(rows.columns if isinstance(rows, FileRows) else chain.from_iterable(rows))


def read_state(
    paths: Sequence[Path], ranked: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> Mapping[str, Table]:
    """Return the tables of these files, sorted. Files of one name in folders of their own make one table; rows in the order of files and lines.

    Args:
        paths: the files.
        ranked: table that is searched by a ranked tool -> the columns with the id and with the part; it stays in its files where it is large.

    Raises:
        SuiteError: with the problems of all files, up to a limit.
    """
    problems: list[Problem] = []
    rows_of: dict[str, list[tuple[JsonObject, Spot]]] = {}
    named = [(path.name.partition(".")[0], path) for path in paths]
    large = {name: FileRows(files, Keys(*ranked[name])) for name, files in _large(named, ranked).items()}
    for name, path in named:
        if name == "overlays":
            message = "rows that single cases change stand in these cases: world, with rows"
            problems.append(Problem(shown_path(path), 0, message, "docs/reference/suites.md shows it"))
        elif name not in large:
            _read(path, rows_of.setdefault(name, []), problems)
    rows = {name: tuple(row for row, _ in listed) for name, listed in rows_of.items()} | large
    spots: dict[str, Sequence[Spot]] = {name: tuple(spot for _, spot in listed) for name, listed in rows_of.items()}
    spots |= {name: Spots(rows) for name, rows in large.items()}
    raise_for_problems(problems)
    return {name: Table(name, rows[name], spots[name]) for name in sorted(rows)}


def _large(named: Iterable[tuple[str, Path]], ranked: Mapping[str, tuple[str, str]]) -> dict[str, list[Path]]:
    """Return the files of the tables that stay in them: large, not packed, and with the columns that the tool names, so that a wrong tool is told by its own line."""
    files: dict[str, list[Path]] = {}
    for name, path in named:
        if name in ranked:
            files.setdefault(name, []).append(path)
    return {
        name: listed
        for name, listed in files.items()
        if sum(map(_size, listed)) > LARGE_BYTES and _has_column(listed[0], ranked[name][1])
    }


def _has_column(path: Path, column: str) -> bool:
    """Return whether one of the first rows of a file has a column, or none can be read."""
    rows: list[JsonObject] = []
    for line in islice(read_lines(path, limits.ROW_BYTES), _FIRST_ROWS):
        document = document_of(line.data, shown_path(path), line.number, [])
        rows += [document.data] if document is not None and isinstance(document.data, dict) else []
    return not rows or any(column in row for row in rows)


def _size(path: Path) -> float:
    """Return how many bytes a file has, and that it is too small to stay where it is packed or cannot be read."""
    try:
        return float("-inf") if path.name.endswith(".gz") else path.stat().st_size
    except OSError:
        return float("-inf")


def _read(path: Path, rows: list[tuple[JsonObject, Spot]], problems: list[Problem]) -> None:
    name = shown_path(path)
    for line in read_lines(path, limits.ROW_BYTES):
        if len(rows) >= limits.TABLE_ROWS:
            message = f"the table has more than {limits.TABLE_ROWS} rows"
            problems.append(Problem(name, line.number, message, "a sandbox of one suite needs fewer"))
            return
        document = document_of(line.data, name, line.number, problems)
        if document is not None and isinstance(document.data, dict):
            rows.append((document.data, (path, line.number)))
        elif document is not None:
            message = f"a row is a JSON object of columns and values, not {shown(document.data)}"
            problems.append(Problem(name, line.number, message))
        if len(problems) >= limits.PROBLEMS:
            return


def circle_in(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Return names that lead from one to the next, the last to the first; none where no way leads in a circle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


# -- recordings of a suite ---------------------------------------------------------------------------------------------

_CANONICAL = re.compile(rb'(?:\xef\xbb\xbf)?\{"case": ?"([A-Za-z0-9_.-]{1,80})", ?"(?:tool|arguments|result)": ?')


@dataclass(slots=True)
class Span:
    """Lines of one case that stand one after another in one file."""

    path: Path
    line: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class PlacedRecording:
    """A recording and where it stands."""

    recording: Recording
    path: Path
    line: int


def index_recordings(paths: Sequence[Path]) -> dict[str, list[Span]]:
    """Return the spans of each case's recordings, in the order of files and lines. A line that begins as we write it is only scanned.

    Raises:
        SuiteError: a file, or a line that had to be read, cannot be.
    """
    spans: dict[str, list[Span]] = {}
    problems: list[Problem] = []
    for path in paths:
        name, last, before = shown_path(path), "", len(problems)
        for line in read_lines(path, limits.RECORDING_BYTES):
            if (match := _CANONICAL.match(line.data)) is not None:
                case = match[1].decode()
            else:
                read = noun_of(Recording, line.data, name, line.number, problems)
                case = "" if read is None else read.case
            if case and case == last:
                span = spans[case][-1]
                span.length = line.offset + len(line.data) - span.offset  # blank lines between are part of it
            elif case:
                spans.setdefault(case, []).append(Span(path, line.number, line.offset, len(line.data)))
            last = case
            if len(problems) - before >= limits.PROBLEMS:
                break
    raise_for_problems(problems)
    return spans


class SpanReader:
    """Reads spans of one file after another. Thread-safe.

    The file read last is kept open: the spans of a run come in the order of its cases, and a packed file that is read in
    order is unpacked once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[Path, IO[bytes]] | None = None

    def read(self, path: Path, offset: int, length: int) -> bytes:
        """Return ``length`` unpacked bytes from ``offset``, fewer where the file has become shorter."""
        try:
            with self._lock:
                file = self._open(path)
                file.seek(offset)
                return file.read(length)
        except READ_ERRORS as error:
            raise unreadable(path, error) from error

    def _open(self, path: Path) -> IO[bytes]:
        kept = self._kept
        # Mostly it is the very path: comparing two costs more than reading.
        if kept is not None and (kept[0] is path or kept[0] == path):
            return kept[1]
        self.close()
        file = open_bytes(path)
        self._kept = (path, file)
        return file

    def close(self) -> None:
        """Close the file that is kept open, if any."""
        if self._kept is not None:
            self._kept[1].close()
            self._kept = None

    def __del__(self) -> None:
        # A suite has no end of its own; without this, its last file would be told as never closed.
        self.close()


def read_recordings(spans: Sequence[Span], reader: SpanReader) -> Iterator[PlacedRecording]:
    """Give the recordings of the spans, validated. Raises SuiteError."""
    for span in spans:
        name = shown_path(span.path)
        problems: list[Problem] = []
        placed: list[PlacedRecording] = []
        data = reader.read(span.path, span.offset, span.length)
        for line, raw in enumerate(data.split(b"\n"), span.line):
            if raw and not raw.isspace():
                read = noun_of(Recording, raw, name, line, problems)
                if read is not None:
                    placed.append(PlacedRecording(read, span.path, line))
        raise_for_problems(problems)
        yield from placed


# -- when two recordings answer the same request: the sandbox reads their calls alike

RequestKey = tuple[str, str, str, str]


def request_key(recording: Recording, tool: Tool | None) -> RequestKey:
    """Return what two recordings share that answer the same request: case, tool, the writes before it, and canonical arguments."""
    key = canonical_json(recording.arguments)
    if tool is not None:
        with suppress(ValueError):  # arguments that the tool cannot take are told by lint
            key = recording_key(tool, recording)
    return recording.case, recording.tool, recording.writes, key
