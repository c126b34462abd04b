"""Where the lines of each case stand in files of all cases, recordings and overlays, so that only those of the case that runs are read."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from pytest_mapsat.formats import (
    READ_ERRORS,
    limits,
    noun_of,
    open_bytes,
    read_lines,
    shown_path,
    unreadable,
)
from pytest_mapsat.model import Overlay, Problem, Recording, SuiteError, Tool, canonical_json
from pytest_mapsat.sandbox import recording_key

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
    """Return the spans of each case's recordings, in the order of files and lines. Raises SuiteError."""
    return index_lines(paths, Recording, lambda recording: recording.case, limits.RECORDING_BYTES)


def index_lines(
    paths: Sequence[Path], noun: type[_Line], name_of: Callable[[_Line], str], most: int
) -> dict[str, list[Span]]:
    """Return the spans of lines by the case, or overlay, that they are of, in the order of files and lines.

    Args:
        paths: files of one noun a line.
        noun: what stands on a line; one that begins as we write it is only scanned.
        name_of: whose line it is.
        most: bytes of a line.

    Raises:
        SuiteError: a file, or a line that had to be read, cannot be.
    """
    spans: dict[str, list[Span]] = {}
    problems: list[Problem] = []
    for path in paths:
        name, last, before = shown_path(path), "", len(problems)
        for line in read_lines(path, most):
            if (match := _CANONICAL.match(line.data)) is not None:
                case = (match[1] or match[2]).decode()
            else:
                read = noun_of(noun, line.data, name, line.number, problems)
                case = name_of(read) if read else ""
            if case and case == last:
                span = spans[case][-1]
                span.length = line.offset + len(line.data) - span.offset  # blank lines between are part of it
            elif case:
                spans.setdefault(case, []).append(Span(path, line.number, line.offset, len(line.data)))
            last = case
            if len(problems) - before >= limits.PROBLEMS:
                break
    if problems:
        raise SuiteError(*problems)
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
    for recording, path, line in read_spans(spans, reader, Recording):
        yield PlacedRecording(recording, path, line)


def read_spans(spans: Sequence[Span], reader: SpanReader, noun: type[_Line]) -> Iterator[tuple[_Line, Path, int]]:
    """Give the lines of the spans, validated, each with its file and line. Raises SuiteError."""
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
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
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
