"""Files that are put in place whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .files import NOT_REGULAR


@contextmanager
def replacing(path: Path, *, like: Path | None = None) -> Iterator[IO[bytes]]:
    """Give a file in the same folder that takes the path's place when all went well; else nothing is changed.

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


def _open_beside(target: Path) -> tuple[int, str]:
    """Open a new file in the target's folder; without a name where the system can, so that no kill leaves one behind."""
    with suppress(AttributeError, OSError):
        Path("/proc/self/fd").stat()  # where a nameless file is found again
        return os.open(target.parent, os.O_TMPFILE | os.O_WRONLY, 0o600), ""
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part")


def _named(handle: int, target: Path) -> str:
    """Give a nameless file its name: the target's, or one beside it where the target exists."""
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
    """Return the permissions for a file at this place."""
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
    """Return the process's mask; temporary files and folders ignore it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
