"""The bytes of files, within limits: whole, by lines, or as a digest; and files that are put in place whole. Only regular files are opened."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import IO, NamedTuple, cast

from pytest_mapsat.model import Problem, SuiteError, UsageError, hint_at


class FileLimits:
    """The limits for reading a file; generous for real files, small enough to stop a decompression bomb."""

    MIB = 1024 * 1024

    #: One YAML file (cases, tools, the manifest), and the keys, values, lists and mappings in it: a few seconds' reading.
    YAML_BYTES = 16 * MIB
    YAML_PARTS = 1_000_000
    #: One case in a JSONL file, one line.
    CASE_BYTES = 2 * MIB
    #: One recording, one line.
    RECORDING_BYTES = 8 * MIB
    #: One row of a table of a suite, one line; rows of a table.
    ROW_BYTES = 1 * MIB
    TABLE_ROWS = 200_000
    #: One recorded dialogue or verdict, one line; one cell of a table.
    DIALOGUE_BYTES = 64 * MIB
    CELL_BYTES = 64 * MIB
    #: A saved run, which is read whole.
    RUN_BYTES = 1024 * MIB
    #: A file that is read line by line, and what a compressed one may unpack to.
    FILE_BYTES = 4096 * MIB
    GZIP_BYTES = 1024 * MIB
    #: Lines of a JSONL file or a table, blank ones included.
    LINES = 5_000_000
    #: Lines of a file of logged events, of which one user's are in memory at a time.
    LOG_LINES = 50_000_000
    #: A Python literal in a cell.
    LITERAL_CHARS = 8 * MIB
    #: Columns of a table.
    COLUMNS = 1_000
    #: What a workbook may unpack to, the files in it, and the rows of one sheet.
    WORKBOOK_BYTES = 512 * MIB
    WORKBOOK_MEMBERS = 10_000
    SHEET_ROWS = 2_000_000
    #: Lists and mappings inside each other. A saved run holds results of tools, which were bounded for themselves, further in.
    DEPTH = 64
    RUN_DEPTH = 2 * DEPTH
    #: Characters of one text of a case.
    TEXT_CHARS = 100_000
    #: Digits of one number.
    NUMBER_CHARS = 400
    #: Problems reported of one file.
    PROBLEMS = 20


#: The limits of this process.
limits = FileLimits()
_CHUNK = limits.MIB
_BYTES_OF_NAMES = range(0xDC80, 0xDD00)  # how Python writes the bytes of a file name that is not UTF-8
NOT_REGULAR = "is not a regular file"


def raise_for_problems(problems: Sequence[Problem]) -> None:
    """Raise SuiteError with the problems, up to a limit; do nothing if there are none."""
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])


@lru_cache(maxsize=1024)
def shown_path(path: Path) -> str:
    """Return a path for messages, printable, and relative if it is below the current folder.

    Remembered, as every case and recording of a run asks for it in case it has a problem; a run does not change its folder.
    """
    try:
        return printable(path.relative_to(Path.cwd()).as_posix())
    except (ValueError, OSError):  # not below the current folder, or there is none any more
        return printable(path.as_posix())


def printable(name: str) -> str:
    r"""Return a file's name as one printable line; a byte that is not UTF-8 becomes ``\xff``."""
    return name if name.isprintable() else "".join(map(_escaped, name))


def _escaped(character: str) -> str:
    """Return a printable character unchanged, and any other character as a backslash escape."""
    if ord(character) in _BYTES_OF_NAMES:
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def require_file(path: Path, name: str) -> None:
    """Check that a file named by the user exists and is a regular file.

    Args:
        path: the file.
        name: the path as the user typed it.

    Raises:
        UsageError: there is no such file, or it is not a regular one.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{printable(name)}: there is no such file{_similar_names(path)}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{printable(name)}: cannot be read: {_reason_of(error)}") from None
    if not stat.S_ISREG(mode):
        raise UsageError(f"{printable(name)}: {NOT_REGULAR}")


def _similar_names(path: Path) -> str:
    """Return a hint that names files in the same folder with similar names; empty if there are none."""
    try:
        return hint_at(path.name, sorted(entry.name for entry in path.parent.iterdir()))
    except OSError:
        return ""


#: What reading a file may raise: the system's errors, and those of a damaged gzip file.
READ_ERRORS = (OSError, EOFError, zlib.error)


def unreadable(path: Path, error: BaseException, name: str = "") -> SuiteError:
    """Return the SuiteError for a file that the system or gzip cannot read."""
    return SuiteError(Problem(name or shown_path(path), 0, f"cannot be read: {_reason_of(error)}"))


def _reason_of(error: BaseException) -> str:
    """Return the system's message for an error while reading a file."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a regular file for reading, with decompression if its name ends in ``.gz``.

    Raises:
        OSError: when it cannot be opened, or is a folder, a device or a pipe, which could be read without end.
    """
    file = open(path, "rb", opener=_open_regular)  # noqa: SIM115  Path.open has no opener; the caller closes
    if not path.name.endswith(".gz"):
        return file
    packed = gzip.GzipFile(fileobj=file, mode="rb")
    packed.myfileobj = cast("FileIO", file)  # closed with it, as it is where gzip opens the file itself
    return cast("IO[bytes]", packed)


def _open_regular(path: str, flags: int) -> int:
    """Open a regular file; an opener for ``open``. Raises OSError for a folder, a device or a pipe."""
    # Without O_NONBLOCK, opening a pipe without a writer would wait for ever.
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, f"it {NOT_REGULAR}")


def read_bytes(path: Path, limit: int, name: str = "") -> bytes:
    """Return a file's bytes, decompressed if its name ends in ``.gz``, up to a limit.

    Args:
        path: the file.
        limit: its greatest size, bytes.
        name: how messages name it; the path as a user would type it where none is given.

    Raises:
        SuiteError: when it cannot be read or is larger.
    """
    try:
        with open_bytes(path) as file:
            data = file.read(limit + 1)
    except READ_ERRORS as error:
        raise unreadable(path, error, name) from error
    if len(data) > limit:
        raise SuiteError(Problem(name or shown_path(path), 0, f"is larger than {limit} bytes", "split it"))
    return data


class RawLine(NamedTuple):
    """One line of a file: its 1-based number, its offset in the decompressed bytes, and its bytes."""

    number: int
    offset: int
    data: bytes


def read_lines(
    path: Path, line_limit: int, name: str = "", *, blank: bool = False, most: int | None = None
) -> Iterator[RawLine]:
    """Yield the lines of a file, decompressed if its name ends in ``.gz``.

    Args:
        path: the file, compressed or not.
        line_limit: the greatest length of a line, bytes.
        name: how messages name it; the path as a user would type it where none is given.
        blank: whether blank lines are given too.
        most: the greatest number of lines; ``limits.LINES`` where none is given.

    Raises:
        SuiteError: when the file cannot be read or goes beyond a limit.
    """
    most = limits.LINES if most is None else most
    total_limit = limits.GZIP_BYTES if path.name.endswith(".gz") else limits.FILE_BYTES
    offset = 0
    try:
        with open_bytes(path) as file:
            for number in range(1, most + 1):
                data = file.readline(line_limit + 1)
                if not data:
                    return
                if len(data) > line_limit:
                    raise _limit_error(path, name, number, f"the line is longer than {line_limit} bytes")
                if offset + len(data) > total_limit:
                    raise _limit_error(path, name, number, f"the file holds more than {total_limit} bytes")
                if blank or not data.isspace():
                    yield RawLine(number, offset, data)
                offset += len(data)
            if file.read(1):
                raise _limit_error(path, name, most, f"the file has more than {most} lines")
    except READ_ERRORS as error:
        raise unreadable(path, error, name) from error


def _limit_error(path: Path, name: str, line: int, message: str) -> SuiteError:
    """Return the SuiteError for a file that exceeds a limit in one line."""
    return SuiteError(Problem(name or shown_path(path), line, message, "split the file"))


def content_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, decompressed if its name ends in ``.gz``."""
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


@contextmanager
def replacing(path: Path, *, like: Path | None = None) -> Iterator[IO[bytes]]:
    """Yield a new file that replaces an existing path if the block succeeds; otherwise nothing changes.

    A symbolic link stays: the file that it leads to is replaced. A file that is replaced hands on its permissions.

    Args:
        path: where the file goes; folders are made.
        like: a file whose permissions the new one gets, where there is none to replace.

    Raises:
        OSError: the place cannot be written, or holds a folder, a device or a pipe.
    """
    target = Path(os.path.realpath(path))  # not resolve(), which raises RuntimeError at a loop of links
    mode = _mode_at(like if like is not None and not target.exists() else target)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = _open_beside(target)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
            if not name:
                name = _named(file.fileno(), target)
        if Path(name) != target:
            Path(name).replace(target)
    except BaseException:
        if name:
            Path(name).unlink(missing_ok=True)
        raise


def add_files(folder: Path, files: Mapping[str, bytes], accept: Callable[[], object] = lambda: None) -> None:
    """Write new files into a folder; if one fails or ``accept`` raises, remove the new files and the folders created for them.

    Args:
        folder: the folder.
        files: what they hold, by their places in the folder.
        accept: is called once they are there.

    Raises:
        OSError: one cannot be written.
    """
    created: list[Path] = []
    try:
        for name, data in files.items():
            path = folder / name
            created += [*[parent for parent in path.parents if not parent.exists()][::-1], path]
            with replacing(path) as file:
                file.write(data)
        accept()
    except BaseException:
        for path in reversed(created):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        raise


def _open_beside(target: Path) -> tuple[int, str]:
    """Open a new file in the target's folder and return its handle and name; the name is empty if the system supports unnamed files."""
    with suppress(AttributeError, OSError):
        Path("/proc/self/fd").stat()  # where a nameless file is found again
        return os.open(target.parent, os.O_TMPFILE | os.O_WRONLY, 0o600), ""
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part")


def _named(handle: int, target: Path) -> str:
    """Link an unnamed file into the target's folder, under a temporary name if the target exists; return its path."""
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        for name in (target.name, f".{target.name[:100]}.{os.getpid()}.part"):
            with suppress(FileExistsError):
                # With a folder's descriptor Python calls linkat, which follows the link in /proc to the open file.
                os.link(f"/proc/self/fd/{handle}", name, dst_dir_fd=folder)
                return str(target.with_name(name))
    finally:
        os.close(folder)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def _mode_at(target: Path) -> int:
    """Return the permissions for a new file at a path: those of the existing file, otherwise the defaults."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return 0o666 & ~umask()
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"it {NOT_REGULAR}", str(target))
    return mode & 0o777


def umask() -> int:
    """Return the umask of the process, which temporary files and folders ignore."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
