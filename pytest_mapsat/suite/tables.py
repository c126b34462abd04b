"""The tables of a suite: ``state/NAME.jsonl``, one row a line, and ``state/overlays.jsonl``, how those of a case differ."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import chain, islice, starmap
from pathlib import Path
from types import MappingProxyType
from typing import IO, TypeVar

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
    Overlay,
    Problem,
    Recording,
    SuiteError,
    Tool,
    canonical_json,
    did_you_mean,
    shown,
)
from pytest_mapsat.sandbox import LARGE_BYTES, FileRows, Keys, Spots, Table, recording_key, rows_meant, unmet

#: The table of a suite whose lines change the others, and no case sees.
OVERLAYS = "overlays"

#: Overlays of more bytes are read, and checked, with the case that they are for: a run needs few of them, and each of its processes would hold them all.
_AT_ONCE = 1_000_000

#: Rows of a large table that are looked through for the columns that a tool names.
_FIRST_ROWS = 20

#: A file and a line.
Spot = tuple[Path, int]


#: The lines of overlays with their places, by the case whose tables they change.
Overlays = Mapping[str, Sequence[tuple[Overlay, Spot]]]


class _ByCase(Overlays):
    """Overlays that are read for each case. Raises SuiteError where a file or a line cannot be read."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._spans, self._reader = _index(paths, Overlay, limits.ROW_BYTES), SpanReader()

    def __getitem__(self, name: str) -> Sequence[tuple[Overlay, Spot]]:
        return [(line, (path, at)) for line, path, at in _read_spans(self._spans[name], self._reader, Overlay)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


@dataclass(frozen=True)
class StateFiles:
    """What ``state/`` holds.

    Attributes:
        tables: the tables by name, sorted.
        overlays: the lines of ``state/overlays.jsonl``.
    """

    tables: Mapping[str, Table]
    overlays: Overlays

    def columns(self, table: str, wanted: Iterable[str]) -> Mapping[str, None]:
        """Return the columns of a table, in the order in which they first stand; those that overlays alone give it come last, where any is wanted."""
        rows = self.tables[table].rows
        listed = dict.fromkeys(rows.columns if isinstance(rows, FileRows) else chain.from_iterable(rows))
        if listed.keys() >= {*wanted}:
            return listed
        laid = (row for line, _ in self._laid_over(table) for row in (*line.add, line.set))
        return dict.fromkeys([*listed, *chain.from_iterable(laid)])

    def rows(self, table: str) -> Iterator[tuple[JsonObject, Spot]]:
        """Give the rows of a table with their places, then those that overlays add and change, as they are then; of overlays that are read for each case, none."""
        yield from zip(self.tables[table].rows, self.tables[table].spots, strict=True)
        if isinstance(self.overlays, _ByCase):
            return
        added = [row for line, _ in self._laid_over(table) for row in line.add]
        for line, spot in self._laid_over(table):
            yield from ((row, spot) for row in line.add)
            if line.set:
                yield from (({**row, **line.set}, spot) for row in rows_meant(line, self.tables[table], added))

    def _laid_over(self, table: str) -> Iterator[tuple[Overlay, Spot]]:
        return (each for lines in self.overlays.values() for each in lines if each[0].table == table)

    def unfit(self, lines: Sequence[tuple[Overlay, Spot]]) -> Iterator[Problem]:
        """Give what is wrong between lines of overlays and the tables."""
        for overlay, (path, line) in lines:
            if overlay.table not in self.tables:
                hint = did_you_mean(overlay.table, self.tables) or f"there is {', '.join(self.tables) or 'none'}"
                message = f"table: there is no table {shown(overlay.table)}"
                yield Problem(shown_path(path), line, message, hint)
            elif overlay.where:
                added = [row for other, _ in lines if other.table == overlay.table for row in other.add]
                for column, value in unmet(overlay, self.tables[overlay.table], added):
                    message = f"where: no row of {overlay.table} that is meant has {column} {shown(value)}"
                    yield Problem(shown_path(path), line, message)

    def laid_on(self, case: str) -> tuple[Overlay, ...]:
        """Return the lines for a case, first to last. Raises SuiteError where one cannot be read, or not be laid on."""
        lines = self.overlays.get(case, ())
        if isinstance(self.overlays, _ByCase):
            raise_for_problems([*self.unfit(lines)])
        return tuple(overlay for overlay, _ in lines)


def read_state(paths: Sequence[Path], ranked: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> StateFiles:
    """Return the tables and overlays of these files. Files of one name in folders of their own make one table; rows in the order of files and lines.

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
        if name != OVERLAYS and name not in large:
            _read(path, rows_of.setdefault(name, []), problems)
    rows = {name: tuple(row for row, _ in listed) for name, listed in rows_of.items()} | large
    spots: dict[str, Sequence[Spot]] = {name: tuple(spot for _, spot in listed) for name, listed in rows_of.items()}
    spots |= {name: Spots(rows) for name, rows in large.items()}
    laid = [path for name, path in named if name == OVERLAYS]
    by_case, overlays = _ByCase(laid), dict[str, Sequence[tuple[Overlay, Spot]]]()
    at_once = sum(path.stat().st_size for path in laid) <= _AT_ONCE
    for name in by_case if at_once else ():
        try:
            overlays[name] = by_case[name]
        except SuiteError as error:
            problems += error.problems
    tables = {name: Table(name, rows[name], spots[name]) for name in sorted(rows)}
    state = StateFiles(tables, overlays if at_once else by_case)
    raise_for_problems(problems or [*state.unfit([*chain.from_iterable(overlays.values())])])
    return state


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

_CANONICAL = re.compile(
    rb'(?:\xef\xbb\xbf)?\{"(?:case": ?"([A-Za-z0-9_.-]{1,80})", ?"(?:tool|arguments|result)|overlay": ?"([A-Za-z0-9_.-]{1,80})", ?"[a-z]+)": ?'
)
_Line = TypeVar("_Line", Recording, Overlay)


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
    return _index(paths, Recording, limits.RECORDING_BYTES)


def _index(paths: Sequence[Path], noun: type[_Line], most: int) -> dict[str, list[Span]]:
    spans: dict[str, list[Span]] = {}
    problems: list[Problem] = []
    for path in paths:
        name, last, before = shown_path(path), "", len(problems)
        for line in read_lines(path, most):
            if (match := _CANONICAL.match(line.data)) is not None:
                case = (match[1] or match[2]).decode()
            else:
                read = noun_of(noun, line.data, name, line.number, problems)
                case = "" if read is None else read.case if isinstance(read, Recording) else read.overlay
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
    return starmap(PlacedRecording, _read_spans(spans, reader, Recording))


def _read_spans(spans: Sequence[Span], reader: SpanReader, noun: type[_Line]) -> Iterator[tuple[_Line, Path, int]]:
    for span in spans:
        name = shown_path(span.path)
        problems: list[Problem] = []
        placed: list[tuple[_Line, Path, int]] = []
        data = reader.read(span.path, span.offset, span.length)
        for line, raw in enumerate(data.split(b"\n"), span.line):
            if raw and not raw.isspace():
                read = noun_of(noun, raw, name, line, problems)
                if read is not None:
                    placed.append((read, span.path, line))
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
