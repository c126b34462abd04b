"""The bytes of files, within limits: whole, by lines, or as a digest."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple, cast

from pytest_mapsat.model import Problem, SuiteError

from . import limits

_CHUNK = 1024 * 1024


@lru_cache(maxsize=1024)
def shown_path(path: Path) -> str:
    """Return the path as the user would type it: relative to the current folder where it lies below.

    Remembered, as every case and record of a run asks for it in case it has a problem; a run does not change its folder.
    """
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):  # not below the current folder, or there is none any more
        return path.as_posix()


def read_small(path: Path, limit: int) -> bytes:
    """Return a file's bytes.

    Args:
        path: the file.
        limit: its greatest size, bytes.

    Raises:
        SuiteError: when it cannot be read or is larger.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) > limit:
        raise SuiteError(Problem(shown_path(path), 0, f"is larger than {limit} bytes", "split it into several files"))
    return data


def unreadable(path: Path, error: BaseException) -> SuiteError:
    """Return the error for a file that the system, or gzip, does not give."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SuiteError(Problem(shown_path(path), 0, f"cannot be read: {why}"))


#: What reading a file may raise: the system's errors, and those of a damaged gzip file.
READ_ERRORS = (OSError, EOFError, zlib.error)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a JSONL file for reading, unpacked."""
    return cast("IO[bytes]", gzip.open(path)) if path.name.endswith(".gz") else path.open("rb")


class RawLine(NamedTuple):
    """One line of a JSONL file: its 1-based number, its offset among the unpacked bytes, and its bytes."""

    number: int
    offset: int
    data: bytes


def read_lines(path: Path, line_limit: int) -> Iterator[RawLine]:
    """Give every line that is not blank.

    Args:
        path: a JSONL file, compressed or not.
        line_limit: the greatest length of a line, bytes.

    Raises:
        SuiteError: when the file cannot be read or goes beyond a limit.
    """
    total_limit = limits.GZIP_BYTES if path.name.endswith(".gz") else limits.FILE_BYTES
    offset = 0
    try:
        with open_bytes(path) as file:
            for number in range(1, limits.LINES + 1):
                data = file.readline(line_limit + 1)
                if not data:
                    return
                if len(data) > line_limit:
                    raise _beyond(path, number, f"the line is longer than {line_limit} bytes")
                if offset + len(data) > total_limit:
                    raise _beyond(path, number, f"the file holds more than {total_limit} bytes")
                if not data.isspace():
                    yield RawLine(number, offset, data)
                offset += len(data)
            if file.read(1):
                raise _beyond(path, limits.LINES, f"the file has more than {limits.LINES} lines")
    except READ_ERRORS as error:
        raise unreadable(path, error) from error


def _beyond(path: Path, line: int, message: str) -> SuiteError:
    return SuiteError(Problem(shown_path(path), line, message, "split the file"))


def content_digest(path: Path) -> str:
    """Return the SHA-256 of the content; a packed file's is that of what it holds."""
    sha = hashlib.sha256()
    total = 0
    try:
        with open_bytes(path) as file:
            while chunk := file.read(_CHUNK):
                total += len(chunk)
                if total > limits.FILE_BYTES:
                    raise SuiteError(Problem(shown_path(path), 0, f"holds more than {limits.FILE_BYTES} bytes"))
                sha.update(chunk)
    except READ_ERRORS as error:
        raise unreadable(path, error) from error
    return sha.hexdigest()
