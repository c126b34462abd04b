"""The tables of a suite (``state/NAME.jsonl``, one row a line), its recordings, and its tools with their computed answers."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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
    validate,
)
from pytest_mapsat.model import (
    POINT_COLUMNS,
    WAY_NAME,
    Around,
    Json,
    JsonObject,
    MetresFrom,
    NextTimes,
    OfRoute,
    Problem,
    RankedAnswer,
    Recording,
    Reference,
    Refers,
    RoundAnswer,
    RoutesAnswer,
    RowsAnswer,
    SuiteError,
    Tool,
    Words,
    canonical_json,
    did_you_mean,
    point_of,
    shown,
)
from pytest_mapsat.sandbox import LARGE_BYTES, FileRows, Keys, Parts, Spots, Table, recording_key

from .common import documents_of_yaml

#: Rows of a large table that are looked through for the columns that a tool names.
_FIRST_ROWS = 20

#: A file and a line.
Spot = tuple[Path, int]


def columns_of(table: Table) -> Mapping[str, None]:
    """Return the columns of a table, in the order in which they first occur."""
    rows = table.rows
    return dict.fromkeys(rows.columns if isinstance(rows, FileRows) else chain.from_iterable(rows))


def read_state(
    paths: Sequence[Path], ranked: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> Mapping[str, Table]:
    """Return the tables in these files, sorted by name; files of the same name form one table, rows in order of files and lines.

    Args:
        paths: the files.
        ranked: table that is searched by a ranked tool -> the columns with the id and with the part; it stays in its files where it is large.

    Raises:
        SuiteError: with the problems of all files, up to a limit.
    """
    problems: list[Problem] = []
    rows_of: dict[str, list[tuple[JsonObject, Spot]]] = {}
    named_paths = [(path.name.partition(".")[0], path) for path in paths]
    large = {name: FileRows(files, Keys(*ranked[name])) for name, files in _large(named_paths, ranked).items()}
    for name, path in named_paths:
        if name == "overlays":
            message = "rows that single cases change belong into these cases: world, with rows"
            problems.append(Problem(shown_path(path), 0, message, "docs/reference/suites.md shows it"))
        elif name not in large:
            _read(path, rows_of.setdefault(name, []), problems)
    rows = {name: tuple(row for row, _ in listed) for name, listed in rows_of.items()} | large
    spots: dict[str, Sequence[Spot]] = {name: tuple(spot for _, spot in listed) for name, listed in rows_of.items()}
    spots |= {name: Spots(rows) for name, rows in large.items()}
    raise_for_problems(problems)
    return {name: Table(name, rows[name], spots[name]) for name in sorted(rows)}


def _large(named_paths: Sequence[tuple[str, Path]], ranked: Mapping[str, tuple[str, str]]) -> dict[str, list[Path]]:
    """Return the files of large tables that stay on disk: uncompressed, and with the column of parts that a tool names."""
    files = {name: [path for other, path in named_paths if other == name] for name in ranked}
    return {
        name: listed
        for name, listed in files.items()
        if sum(map(_size, listed)) > LARGE_BYTES and _has_column(listed[0], ranked[name][1])
    }


def _has_column(path: Path, column: str) -> bool:
    """Return whether one of the first rows of a file has a column; also True if no row can be read."""
    rows: list[JsonObject] = []
    for line in islice(read_lines(path, limits.ROW_BYTES), _FIRST_ROWS):
        document = document_of(line.data, shown_path(path), line.number, [])
        rows += [document.data] if document is not None and isinstance(document.data, dict) else []
    return not rows or any(column in row for row in rows)


def _size(path: Path) -> float:
    """Return the size of a file in bytes; minus infinity if it is compressed or cannot be accessed, so that it is read whole."""
    try:
        return float("-inf") if path.name.endswith(".gz") else path.stat().st_size
    except OSError:
        return float("-inf")


def _read(path: Path, rows: list[tuple[JsonObject, Spot]], problems: list[Problem]) -> None:
    """Add the rows of a file, each with its file and line, to ``rows``, and any problems to ``problems``."""
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


# -- recordings of a suite ---------------------------------------------------------------------------------------------

_CANONICAL = re.compile(rb'(?:\xef\xbb\xbf)?\{"case": ?"([A-Za-z0-9_.-]{1,80})", ?"(?:tool|arguments|result)": ?')


@dataclass(slots=True)
class LineSpan:
    """Consecutive lines of one case in one file."""

    path: Path
    line: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class PlacedRecording:
    """A recording with its file and line."""

    recording: Recording
    path: Path
    line: int


def index_recordings(paths: Sequence[Path]) -> dict[str, list[LineSpan]]:
    """Return the spans of each case's recordings, in file and line order. Lines that begin in canonical form are only scanned.

    Raises:
        SuiteError: a file, or a line that had to be read, cannot be.
    """
    spans: dict[str, list[LineSpan]] = {}
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
                spans.setdefault(case, []).append(LineSpan(path, line.number, line.offset, len(line.data)))
            last = case
            if len(problems) - before >= limits.PROBLEMS:
                break
    raise_for_problems(problems)
    return spans


class SpanReader:
    """Reads spans of files, one file after another. Thread-safe.

    The file read last is kept open: the spans of a run come in the order of its cases, and a packed file that is read in
    order is unpacked once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[Path, IO[bytes]] | None = None

    def read(self, path: Path, offset: int, length: int) -> bytes:
        """Return ``length`` uncompressed bytes from ``offset``; fewer if the file has become shorter."""
        try:
            with self._lock:
                file = self._open(path)
                file.seek(offset)
                return file.read(length)
        except READ_ERRORS as error:
            raise unreadable(path, error) from error

    def _open(self, path: Path) -> IO[bytes]:
        """Return the file, opened for reading; the previously open file is closed if it is another file."""
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


def read_recordings(spans: Sequence[LineSpan], reader: SpanReader) -> Iterator[PlacedRecording]:
    """Yield the recordings in some spans, validated. Raises SuiteError."""
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
    """Return a key that recordings of the same request share: case, tool, earlier writes, canonical arguments."""
    key = canonical_json(recording.arguments)
    if tool is not None:
        with suppress(ValueError):  # arguments that the tool cannot take are told by lint
            key = recording_key(tool, recording)
    return recording.case, recording.tool, recording.writes, key


# -- tools, and their answer blocks against the tables: what no case can know, found when the suite is opened ------------

#: Tools by name, each with its file and line.
Tools = Mapping[str, tuple[Tool, Path, int]]
#: A complaint of an ``answer`` block: what is wrong, and what to do.
_Wrong = tuple[str, str]
_CLOCK = re.compile(r"([01]\d|2[0-4]):[0-5]\d", re.ASCII)
_WORD_LISTS = ("words", "absent", "near", "spelt")


def read_tools(paths: Sequence[Path]) -> dict[str, tuple[Tool, Path, int]]:
    """Return the tools in these files by name, sorted, each with its file and line. Raises SuiteError."""
    tools: dict[str, tuple[Tool, Path, int]] = {}
    problems: list[Problem] = []
    for path in paths:
        name = shown_path(path)
        try:
            documents = documents_of_yaml(path)
        except SuiteError as error:
            problems.extend(error.problems)
            continue
        for document in documents:
            tool, line = validate(Tool, document, name, problems), document.lines.line
            if tool is None:
                continue
            _, first, first_line = tools.setdefault(tool.name, (tool, path, line))
            if (first, first_line) != (path, line):
                message = f"the tool {shown(tool.name)} is described twice; first in {shown_path(first)}:{first_line}"
                problems.append(Problem(name, line, message, "keep one of the two"))
    owners = {name: name for name in tools}
    for own, (tool, path, line) in sorted(tools.items()):
        for alias in tool.aliases:
            if owners.setdefault(alias, own) != own or alias == own:
                message = f"the alias {shown(alias)} of {own} is also a name of {owners[alias]}"
                problems.append(Problem(shown_path(path), line, message, "leave it out here, or there"))
    raise_for_problems(problems)
    return dict(sorted(tools.items()))


# -- answer blocks


def ranked_tables(tools: Tools) -> dict[str, tuple[str, str]]:
    """Return the tables that ranked tools search, with their id and part columns. Raises SuiteError if tools contradict."""
    tables: dict[str, tuple[str, str]] = {}
    problems: list[Problem] = []
    for name, (tool, path, line) in tools.items():
        if isinstance(tool.answer, RankedAnswer):
            keys = tool.answer.id, tool.answer.part
            if (first := tables.setdefault(tool.answer.table, keys)) != keys:
                message = f"{name}: answer: id and part are {' and '.join(keys)}, and {' and '.join(first)} of another tool for {tool.answer.table}"
                problems.append(Problem(shown_path(path), line, message, "rows of one table have one id and one part"))
    raise_for_problems(problems)
    return tables


def answer_problems(tools: Tools, tables: Mapping[str, Table]) -> Iterator[Problem]:
    """Yield the problems between the ``answer`` blocks of tools and the tables, each with its file and line."""
    word_tables: set[str] = set()
    way_tables: dict[str, RoutesAnswer] = {}
    for tool, path, line in tools.values():
        for message, hint in _Block(tool, tools, tables, word_tables).wrong():
            yield Problem(shown_path(path), line, f"{tool.name}: answer: {message}", hint)
        if isinstance(tool.answer, RoutesAnswer) and tool.answer.ways in tables:
            way_tables.setdefault(tool.answer.ways, tool.answer)
        if isinstance(tool.answer, RowsAnswer) and tool.answer.table in tables:
            for field in tool.answer.compute.values():
                if isinstance(field, NextTimes):
                    yield from _of_rows(tool.answer.table, tables, partial(_timetable_wrong, column=field.column))
    answers = [tool.answer for tool, _, _ in tools.values() if isinstance(tool.answer, RankedAnswer)]
    # Two tools may search one table.
    for table, keys in dict.fromkeys((answer.table, Keys(answer.id, answer.part)) for answer in answers):
        yield from _keys_wrong(table, keys, tables)
    for name in sorted(word_tables):
        yield from _of_rows(name, tables, _word_wrong)
    for name, answer in sorted(way_tables.items()):
        yield from _of_rows(name, tables, partial(_way_wrong, answer=answer))


class _Block:
    """Checks the ``answer`` block of one tool against the suite's tools and tables."""

    def __init__(self, tool: Tool, tools: Tools, tables: Mapping[str, Table], word_tables: set[str]) -> None:
        self._tool = tool
        self._tools = tools
        self._tables = tables
        self._word_tables = word_tables

    def wrong(self) -> Iterator[_Wrong]:
        """Yield all problems of the block, each as a message and a hint."""
        answer = self._tool.answer
        if isinstance(answer, RowsAnswer):
            yield from self._rows(answer)
        elif isinstance(answer, RankedAnswer):
            yield from self._ranked(answer)
        elif isinstance(answer, RoutesAnswer):
            yield from self._routes(answer)
        elif isinstance(answer, RoundAnswer):
            yield from self._parameters(answer.start, answer.stops)
            yield from self._reference(answer.places)
            yield from self._columns(answer.places.table, (*answer.show.values(), answer.ties))
            yield from self._knows_routes(answer.routes, answer.mode)

    def _rows(self, answer: RowsAnswer) -> Iterator[_Wrong]:
        """Yield the problems of an answer that filters rows."""
        yield from self._parameters(*answer.where, *answer.echo.values(), answer.page.number, answer.page.size)
        computed = answer.compute.keys()
        shown_columns = {field.removeprefix("-") for field in answer.sort} | set(answer.show)
        yield from self._columns(answer.table, shown_columns - computed)
        for rule in answer.where.values():
            if isinstance(rule, Words):
                yield from self._columns(answer.table, (*rule.name, *rule.sort, *rule.also, rule.lon, rule.lat))
                yield from self._words(rule.words)
            elif isinstance(rule, Around):
                yield from self._columns(answer.table, POINT_COLUMNS)
                yield from self._parameters(rule.within if isinstance(rule.within, str) else None)
            else:
                yield from self._columns(answer.table, (rule.column,))
            if isinstance(rule, Refers):
                yield from self._reference(rule.to)
        for field in answer.compute.values():
            if isinstance(field, MetresFrom):
                yield from self._columns(answer.table, POINT_COLUMNS)
                yield from self._parameters(field.parameter)
            elif isinstance(field, OfRoute):
                yield from self._columns(answer.table, (field.plus, field.per_km))
                yield from self._parameters(field.origin, field.destination)
                yield from self._knows_routes(field.routes, field.mode)
            else:
                yield from self._columns(answer.table, (field.column,))

    def _ranked(self, answer: RankedAnswer) -> Iterator[_Wrong]:
        """Yield the problems of an answer that ranks rows."""
        parameters = (answer.text, *answer.where, *answer.echo.values())
        yield from self._parameters(*parameters, answer.page.number, answer.page.size)
        yield from self._columns(answer.table, (answer.id, answer.part, *answer.fields, *answer.show))
        yield from self._words(answer.words)

    def _routes(self, answer: RoutesAnswer) -> Iterator[_Wrong]:
        """Yield the problems of an answer that gives routes."""
        yield from self._parameters("origin", "destination", "mode", *answer.avoid, *answer.echo.values())
        yield from self._columns(
            answer.ways, (WAY_NAME, answer.metres, answer.minutes, *answer.sums, *answer.least, *answer.avoid.values())
        )
        if answer.ends is not None:
            yield from self._reference(answer.ends)

    def _reference(self, reference: Reference) -> Iterator[_Wrong]:
        """Yield the problems of a reference, which defines how a value names a row."""
        yield from self._columns(
            reference.table, (reference.id, *reference.name, *reference.sort, reference.lon, reference.lat)
        )
        yield from self._words(reference.words)

    def _words(self, table: str | None) -> Iterator[_Wrong]:
        """Yield an error if there is no table of words with this name; record the table as one of words."""
        if table is not None:
            yield from self._columns(table, ())
            if table in self._tables:
                self._word_tables.add(table)

    def _columns(self, table: str, columns: Iterable[str | None]) -> Iterator[_Wrong]:
        """Yield an error for each column that no row of a table has and no tool declares, or for an unknown table."""
        if table not in self._tables:
            known = did_you_mean(table, self._tables, "there is")
            yield f"there is no table {shown(table)}, which state/{table}.jsonl would hold", known
            return
        wanted = dict.fromkeys(filter(None, columns))
        declared = {field for entities in self._tool.entities for field in entities.fields}
        there = columns_of(self._tables[table])
        for column in wanted:
            if column not in there and column not in declared:  # the rows of single cases may have it
                yield f"no row of the table {table} has a column {shown(column)}", did_you_mean(column, there, "it has")

    def _parameters(self, *names: str | None) -> Iterator[_Wrong]:
        """Yield an error for each name that is not a parameter of the tool."""
        declared = self._tool.parameters.get("properties", {})
        for name in dict.fromkeys(filter(None, names)):
            if name not in declared:
                yield f"the tool has no parameter {shown(name)}", did_you_mean(name, declared)

    def _knows_routes(self, name: str, mode: str) -> Iterator[_Wrong]:
        """Yield an error if another tool does not answer with routes, or not with this mode."""
        other = self._tools.get(name)
        answer = other[0].answer if other else None
        if not isinstance(answer, RoutesAnswer):
            yield f"routes: {shown(name)} is not a tool that answers with routes", did_you_mean(name, self._tools)
        elif mode not in answer.local:
            yield f"mode: {name} knows no {shown(mode)}", f"it knows {', '.join(answer.local)}"


def _of_rows(name: str, tables: Mapping[str, Table], wrong: Callable[[JsonObject], str]) -> Iterator[Problem]:
    """Yield the problems that a function finds in each row of a table, with the line of the row."""
    for row, (path, line) in zip(tables[name].rows, tables[name].spots, strict=True):
        message = wrong(row)
        if message:
            yield Problem(shown_path(path), line, message)


def _keys_wrong(table: str, keys: Keys, tables: Mapping[str, Table]) -> Iterator[Problem]:
    """Yield a problem for each row of a ranked table with a missing id or part, or a duplicate id."""
    if table not in tables or not isinstance(tables[table].spots, tuple):
        return  # the tool is wrong, which a problem of its own tells; a large table is held to its keys when it is read
    if keys.part not in columns_of(tables[table]):
        return
    parts = Parts(keys)
    spots = tables[table].spots
    for at, row in enumerate(tables[table].rows):
        path, line = spots[at]
        if wrong := parts.add(row, at, lambda first: f"{shown_path(spots[first][0])}:{spots[first][1]}"):
            yield Problem(shown_path(path), line, wrong)


def _word_wrong(row: JsonObject) -> str:
    """Return the problem with a row of a table of words; empty if there is none."""
    lists = [name for name in _WORD_LISTS if name in row]
    pairs = (("sort", "words"), ("word", "spelt"))
    if not lists or any(
        (key in row) != (with_ in row) or not isinstance(row.get(key, ""), str) for key, with_ in pairs
    ):
        return "a row of words has sort with words, word with spelt, absent, or near"
    for name in lists:
        words = row[name] if isinstance(row[name], list) else [None]
        if not all(isinstance(word, str) and word.strip() for word in words):
            return f"{name}: found {shown(row[name])}, expected a list of texts"
    return ""


def _timetable_wrong(row: JsonObject, column: str) -> str:
    """Return the problem with a timetable in a column of a row; empty if there is none."""
    hours = row.get(column)
    if column not in row or (isinstance(hours, dict) and all(_hour(*hour) for hour in hours.items())):
        return ""
    return f'{column}: found {shown(hours)}, expected minutes by hour: {{"09": ["05", "35"]}}'


def _hour(hour: str, minutes: Json) -> bool:
    """Return whether an hour and its list of minutes are valid in a timetable."""
    listed = minutes if isinstance(minutes, list) else [None]
    return all(isinstance(minute, str) and _CLOCK.fullmatch(f"{hour}:{minute}") is not None for minute in listed)


def _way_wrong(row: JsonObject, answer: RoutesAnswer) -> str:
    """Return the problem with a row of a table of ways; empty if there is none."""
    for column in ("from", "to"):
        if point_of(row.get(column)) is None:
            return f'{column}: found {shown(row.get(column))}, expected a point: "lon,lat"'
    for column in (answer.metres, answer.minutes):
        value = row.get(column)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            return f"{column}: found {shown(value)}, expected a number, not below 0"
    modes = row.get("mode") if isinstance(row.get("mode"), list) else [row.get("mode")]
    unknown = [mode for mode in modes or [None] if mode not in answer.local]
    if unknown:
        return f"mode: found {shown(unknown[0])}, expected one of {', '.join(answer.local)}"
    closed = row.get("closed")
    clocks = closed if isinstance(closed, list) else []
    if closed is None or [isinstance(clock, str) and bool(_CLOCK.fullmatch(clock)) for clock in clocks] == [True, True]:
        return ""
    return f'closed: found {shown(closed)}, expected two times of day: ["22:00", "05:30"]'
