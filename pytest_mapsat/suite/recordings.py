"""Where the recordings of each case stand, so that only those of the case that runs are read."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pytest_mapsat.formats import (
    READ_ERRORS,
    Lines,
    Located,
    RawLine,
    limits,
    open_bytes,
    parse_json_line,
    read_lines,
    shown_path,
    unreadable,
    validate,
)
from pytest_mapsat.model import Problem, Recording, SuiteError

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
    """Return the spans of each case's recordings, in the order of files and lines.

    Raises:
        SuiteError: with the problems of lines that do not say which case they are of.
    """
    spans: dict[str, list[Span]] = {}
    problems: list[Problem] = []
    for path in paths:
        _index_file(path, spans, problems)
    if problems:
        raise SuiteError(*problems)
    return spans


def _index_file(path: Path, spans: dict[str, list[Span]], problems: list[Problem]) -> None:
    last = ""
    before = len(problems)
    for line in read_lines(path, limits.RECORDING_BYTES):
        found = _CANONICAL.match(line.data)
        case = found[1].decode() if found else _case_of(path, line, problems)
        if case and case == last:
            span = spans[case][-1]
            span.length = line.offset + len(line.data) - span.offset  # blank lines between are part of it
        elif case:
            spans.setdefault(case, []).append(Span(path, line.number, line.offset, len(line.data)))
        last = case
        if len(problems) - before >= limits.PROBLEMS:
            return


def _case_of(path: Path, line: RawLine, problems: list[Problem]) -> str:
    """Return the case of any line, or an empty string after adding its problems."""
    name = shown_path(path)
    try:
        data = parse_json_line(line.data, name, line.number)
    except SuiteError as error:
        problems.extend(error.problems)
        return ""
    recording = validate(Recording, Located(data, Lines(line.number)), name, problems)
    return recording.case if recording else ""


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
                return _read_at(self._open(path), offset, length)
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


def _read_at(file: IO[bytes], offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def read_recordings(spans: Sequence[Span], reader: SpanReader) -> Iterator[PlacedRecording]:
    """Give the recordings of the spans, validated.

    Raises:
        SuiteError: with the problems of all lines of a span.
    """
    for span in spans:
        yield from _read_span(span, reader.read(span.path, span.offset, span.length))


def _read_span(span: Span, data: bytes) -> list[PlacedRecording]:
    name = shown_path(span.path)
    problems: list[Problem] = []
    placed: list[PlacedRecording] = []
    for line, raw in enumerate(data.split(b"\n"), span.line):
        if not raw or raw.isspace():
            continue
        try:
            document = Located(parse_json_line(raw, name, line), Lines(line))
        except SuiteError as error:
            problems.extend(error.problems)
            continue
        recording = validate(Recording, document, name, problems)
        if recording is not None:
            placed.append(PlacedRecording(recording, span.path, line))
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return placed
