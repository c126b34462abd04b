"""Which files belong to a suite, in which role, and their bytes: nothing outside the suite is ever read."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import IO, Literal, NamedTuple, cast

from pytest_mapsat.model import Problem, SuiteError

from . import limits

Role = Literal["manifest", "tools", "records", "cases"]
MANIFEST = "suite.yaml"
YAML_ENDINGS = (".yaml", ".yml")
JSONL_ENDINGS = (".jsonl", ".jsonl.gz")
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


def is_yaml(path: PurePath) -> bool:
    """Say whether the name is that of a YAML file."""
    return path.name.endswith(YAML_ENDINGS)


def is_jsonl(path: PurePath) -> bool:
    """Say whether the name is that of a JSON Lines file, compressed or not."""
    return path.name.endswith(JSONL_ENDINGS)


def role_of(relative: PurePath) -> Role | None:
    """Return what a file at this place below the suite's folder is, or None for what is no part of a suite."""
    if any(part.startswith(".") for part in relative.parts):
        return None
    if relative.name == MANIFEST:
        return "manifest" if len(relative.parts) == 1 else None
    if relative.parts[0] == "records":
        return "records" if is_jsonl(relative) else None
    if relative.parts[0] == "tools" or str(relative) in {"tools.yaml", "tools.yml"}:
        return "tools" if is_yaml(relative) else None
    return "cases" if is_yaml(relative) or is_jsonl(relative) else None


@dataclass(frozen=True)
class Inventory:
    """The files of a suite by role, each sorted by its place in the suite, and what keeps others from being read.

    ``strangers`` stand in ``tools/`` or ``records/`` and are neither.
    """

    cases: tuple[Path, ...]
    tools: tuple[Path, ...]
    records: tuple[Path, ...]
    problems: tuple[Problem, ...]
    strangers: tuple[Path, ...] = ()


def take_inventory(root: Path) -> Inventory:
    """Return all files below ``root`` by role; the order of the files on disk does not matter."""
    problems: list[Problem] = []
    found: dict[Role, list[Path]] = {"manifest": [], "cases": [], "tools": [], "records": []}
    strangers: list[Path] = []
    for path in sorted(_below(root, problems), key=lambda path: path.relative_to(root).parts):
        relative = path.relative_to(root)
        role = role_of(relative)
        if role is None:
            if relative.parts[0] in {"tools", "records"} and not path.name.startswith("."):
                strangers.append(path)
            continue
        problem = refusal(root, path)
        if problem is None:
            found[role].append(path)
        else:
            problems.append(problem)
    return Inventory(
        tuple(found["cases"]), tuple(found["tools"]), tuple(found["records"]), tuple(problems), tuple(strangers)
    )


def _below(root: Path, problems: list[Problem]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        problems.append(Problem(shown_path(Path(error.filename)), 0, f"cannot list the folder: {error.strerror}"))

    for folder, names, files in os.walk(root, onerror=unreadable):
        here = Path(folder)
        names[:] = sorted(name for name in names if _is_entered(here / name, problems))
        yield from (here / name for name in files)


def _is_entered(folder: Path, problems: list[Problem]) -> bool:
    if folder.name.startswith(".") or folder.name == "__pycache__":
        return False
    if folder.is_symlink():
        message = "this folder is a symbolic link, which a suite does not follow"
        problems.append(Problem(shown_path(folder), 0, message, "copy the folder into the suite"))
        return False
    return not (folder / MANIFEST).exists()  # a suite in a suite stands for itself


def refusal(root: Path, path: Path) -> Problem | None:
    """Return why the file must not be read as part of the suite at ``root``, or None."""
    if not path.resolve().is_relative_to(root.resolve()):
        message = "this leads out of the suite's folder"
        return Problem(shown_path(path), 0, message, "copy the file into the suite: links out of it are not followed")
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Problem(shown_path(path), 0, f"cannot be read: {error.strerror}")
    return None if stat.S_ISREG(mode) else Problem(shown_path(path), 0, "is not a regular file")


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
