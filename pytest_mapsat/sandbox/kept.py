"""Arrays in a file of the cache folder: put in place whole by one process, mapped into memory by all, made anew where it is cut short or damaged."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.formats import replacing
from pytest_mapsat.model import JsonObject, canonical_json, digest
from pytest_mapsat.store import ARRAYS, store_folder

if TYPE_CHECKING:
    import numpy as np

_MAGIC = b"mapsat arrays\n"
_ALIGNED = 16
#: The most bytes of all files together; beyond it the oldest are removed.
_MOST_BYTES = 4 << 30
#: The files whose content this process has checked, with size and time of change.
_checked: set[tuple[str, int, int]] = set()


class Arrays(NamedTuple):
    """Arrays by name, with JSON data that describes them."""

    info: JsonObject
    arrays: Mapping[str, np.ndarray]


def kept_arrays(key: object, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of a key: from its file where that is whole, else newly made.

    Where the cache folder cannot be written, as on a full disk, they are held in memory.

    Args:
        key: JSON data that says all that the arrays depend on.
        make: makes them; one process at a time does, where the system can lock files.
    """
    path = store_folder() / ARRAYS / f"{digest([_code(), key])}.arrays"
    if (arrays := _opened(path)) is not None:
        return arrays
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return make()
    with _alone(path):
        if (arrays := _opened(path)) is not None:
            return arrays
        arrays = make()
        try:
            _write(path, arrays)
        except OSError:
            return arrays
    return _opened(path) or arrays


@cache
def _code() -> list[str]:
    """Return digests of the modules of this room: what an older or a newer one of them kept is never read."""
    sources = sorted(
        (file for file in files(__package__).iterdir() if file.name.endswith(".py")), key=lambda file: file.name
    )
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in sources]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time make a file, where the folder allows locks."""
    try:
        import fcntl  # noqa: PLC0415  not on Windows

        lock = path.with_suffix(".lock").open("ab")
    except (ImportError, OSError):
        yield
        return
    with lock:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(path: Path, arrays: Arrays) -> None:
    sections: dict[str, list[object]] = {}
    crc = at = 0
    pieces: list[bytes] = []
    for name, array in arrays.arrays.items():
        data = array.tobytes()
        data += b"\0" * (-len(data) % _ALIGNED)
        sections[name] = [array.dtype.str, at, len(array)]
        crc, at = zlib.crc32(data, crc), at + len(data)
        pieces.append(data)
    header = canonical_json({"info": arrays.info, "sections": sections, "crc": crc, "bytes": at}).encode()
    head = _MAGIC + b"".join(number.to_bytes(8, "little") for number in (len(header), zlib.crc32(header))) + header
    with replacing(path) as file:
        file.write(head + b"\0" * (-len(head) % _ALIGNED))
        for piece in pieces:
            file.write(piece)
    _prune(path)


def _prune(new: Path) -> None:
    """Remove the oldest files where all together are too large."""
    with suppress(OSError), os.scandir(new.parent) as entries:  # a part has a file, and a table may have thousands
        files = [(entry.stat(), entry.name) for entry in entries if entry.name.endswith(".arrays")]
        total = sum(stat.st_size for stat, _ in files)
        for stat, name in sorted(files, key=lambda file: file[0].st_mtime) if total > _MOST_BYTES else ():
            if total > _MOST_BYTES and name != new.name:
                (new.parent / name).unlink(missing_ok=True)
                total -= stat.st_size


def _opened(path: Path) -> Arrays | None:
    """Return the arrays of a file; None where it is missing or damaged."""
    import numpy as np  # noqa: PLC0415  loaded where a large table is searched

    try:
        with path.open("rb") as file:
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            stat = path.stat()
        start = len(_MAGIC) + 16
        if view[: len(_MAGIC)] != _MAGIC:
            return None
        length, crc = (int.from_bytes(view[at : at + 8], "little") for at in (start - 16, start - 8))
        if zlib.crc32(raw := view[start : start + length]) != crc:
            return None
        header = json.loads(raw)
        begin = start + length + -(start + length) % _ALIGNED
        if len(view) != begin + header["bytes"]:
            return None
        stamp = (str(path), stat.st_size, stat.st_mtime_ns)
        if stamp not in _checked:
            with memoryview(view) as whole, whole[begin:] as body:
                if zlib.crc32(body) != header["crc"]:
                    return None
            _checked.add(stamp)
        arrays = {
            name: np.frombuffer(view, dtype=dtype, count=count, offset=begin + at)
            for name, (dtype, at, count) in header["sections"].items()
        }
        return Arrays(header["info"], arrays)
    except (OSError, ValueError, KeyError, TypeError):  # no such file, an empty one, or one that is damaged
        return None
