"""The local store: the only door to diskcache. JSON texts in one SQLite file, shared by all processes, safe when a writer is killed.

No pickle is written or read: what stands in the file as anything but plain text is refused.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import get_ident, local
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import ValidationError

from pytest_mapsat.formats import parse_json, shown_path
from pytest_mapsat.model import Json, MapsatError, Noun, UsageError, canonical_json

if TYPE_CHECKING:
    import diskcache

#: Names the folder where a user wants it elsewhere.
FOLDER_VARIABLE = "MAPSAT_CACHE_DIR"
#: The folder in it with the indexes of large tables (``sandbox/large.py``).
ARRAYS = "tables"
#: What the store may hold before the oldest entries go, bytes.
SIZE_LIMIT = 1024 * 1024 * 1024
#: One value, unpacked, bytes.
VALUE_BYTES = 16 * 1024 * 1024
#: How long a process waits for its turn, seconds.
_PATIENCE = 60
_CLEAR = "run: python -m pytest_mapsat cache clear"
_INSTALL = "install pytest-mapsat[llm]: pip install 'pytest-mapsat[llm]'"


class StoreError(MapsatError):
    """The store cannot be read or written."""


def missing(library: str, what: str) -> UsageError:
    """Return the UsageError for a feature whose library is not installed."""
    how = f"pip install {library}" if library == "diskcache" else _INSTALL
    return UsageError(f"{what} needs {library}, which is not installed; {how}")


def store_folder() -> Path:
    """Return the folder of the store: ``MAPSAT_CACHE_DIR``, otherwise one in the user's cache folder. Raises UsageError without a home."""
    chosen, base = (os.environ.get(name, "").strip() for name in (FOLDER_VARIABLE, "XDG_CACHE_HOME"))
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        return (Path(base) if base else Path.home() / ".cache") / "pytest-mapsat"
    except RuntimeError:  # a user whom the system does not know
        owner = f"of {chosen}" if chosen else "of the user"
        raise UsageError(f"the home folder {owner} is not known; name a folder with {FOLDER_VARIABLE}") from None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Run the block in only one process at a time, using a file lock if the system and the file allow one."""
    try:
        import fcntl  # noqa: PLC0415  not on Windows

        lock = path.open("ab")
    except (ImportError, OSError):
        yield
        return
    with lock:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Store:
    """A store of JSON values by key, kept on disk.

    Args:
        folder: where it lies; made where it does not exist.
        size_limit: bytes; the entries stored first go first.

    Raises:
        UsageError: diskcache is not installed.
        StoreError: the folder cannot be used, or the file in it is damaged.
    """

    def __init__(self, folder: Path, *, size_limit: int = SIZE_LIMIT) -> None:
        self.folder = folder
        self._owner = get_ident()
        self._depth = local()
        with self._errors_as_store_error():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._entries = _library().open(folder, size_limit)

    def get(self, key: str) -> Json:
        """Return the value under a key; None if there is none. Raises StoreError."""
        with self._errors_as_store_error():
            data = self._entries.get(key)
        return None if data is None else self._value(data)

    def put(self, key: str, value: Json) -> None:
        """Store a value under a key, replacing any other."""
        with self._errors_as_store_error():
            self._entries.set(key, _packed(value))

    def add(self, key: str, value: Json) -> bool:
        """Store a value unless the key already has one; return whether the value was stored."""
        with self._errors_as_store_error():
            return bool(self._entries.add(key, _packed(value)))

    def names(self) -> Iterator[str]:
        """Yield all keys, sorted."""
        with self._errors_as_store_error():
            yield from (key for key in self._entries.iterkeys() if isinstance(key, str))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold a transaction during the block: no other process writes, and the block's writes are applied together or not at all."""
        with self._errors_as_store_error(), self._entries.transact():
            yield

    def __len__(self) -> int:
        with self._errors_as_store_error():
            return len(self._entries)

    def size(self) -> int:
        """Return the size of the store in bytes."""
        with self._errors_as_store_error():
            return int(self._entries.volume())

    def delete(self, key: str) -> None:
        """Delete the value under a key, if there is one."""
        with self._errors_as_store_error():
            self._entries.delete(key)

    def close(self) -> None:
        """Close the file; any later use opens it again."""
        self._entries.close()

    def _value(self, data: object) -> Json:
        """Return a stored entry as a value. Raises StoreError if it is damaged."""
        try:
            return _unpacked(data)
        except (ValueError, zlib.error) as error:
            raise StoreError(f"{shown_path(self.folder)}: an entry is damaged: {error}; {_CLEAR}") from None

    @contextmanager
    def _errors_as_store_error(self) -> Iterator[None]:
        """Turn database and file errors in the block into StoreError; close the connection of any thread but the owner's."""
        depth = self._depth.value = getattr(self._depth, "value", 0) + 1
        try:
            yield
        except (sqlite3.Error, OSError, _library().Timeout) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            hint = (
                _CLEAR
                if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
                else f"name another folder with {FOLDER_VARIABLE}"
            )
            raise StoreError(f"the cache in {shown_path(self.folder)} cannot be used: {reason}; {hint}") from error
        finally:
            self._depth.value = depth - 1
            if depth == 1 and get_ident() != self._owner and hasattr(self, "_entries"):
                self._entries.close()  # the connection is this thread's, which may end without a word


class StoreEntry(Noun):
    """An entry stored under a name derived from its content."""

    def key(self) -> str:
        """Return the key derived from the entry's content: a digest of the request."""
        raise NotImplementedError


_Entry = TypeVar("_Entry", bound=StoreEntry)


class Shelf(Generic[_Entry]):
    """The entries of one kind in a store.

    Args:
        store: where they are kept.
        prefix: stands before their names.
        kind: their class.
    """

    def __init__(self, store: Store, prefix: str, kind: type[_Entry]) -> None:
        self.store = store
        self._prefix = prefix
        self._kind = kind

    def find(self, key: str) -> _Entry | None:
        """Return the entry with a key; None if there is none. Raises StoreError if the entry is damaged."""
        value = self.store.get(self._prefix + key)
        if value is None:
            return None
        with suppress(ValidationError):
            entry = self._kind.model_validate(value)
            if entry.key() == key:
                return entry
        raise StoreError(f"{shown_path(self.store.folder)}: the entry {key} is damaged; {_CLEAR}")

    def keep(self, entry: _Entry, *, again: bool = False) -> bool:
        """Store an entry and return whether it was stored; ``again`` replaces an existing entry."""
        name, value = self._prefix + entry.key(), entry.model_dump(mode="json", exclude_defaults=True)
        if not again:
            return self.store.add(name, value)
        self.store.put(name, value)
        return True

    def __iter__(self) -> Iterator[_Entry]:
        """Yield all entries in the order of their keys. Raises StoreError at a damaged entry."""
        for name in self.store.names():
            if name.startswith(self._prefix) and (entry := self.find(name.removeprefix(self._prefix))) is not None:
                yield entry


def indexes_in(folder: Path) -> tuple[int, int]:
    """Return the number of stored indexes of large tables and their total size in bytes."""
    sizes = [file.stat().st_size for file in (folder / ARRAYS).glob("*.arrays")]
    return len(sizes), sum(sizes)


def clear_store(folder: Path) -> None:
    """Remove the store's own files and the indexes of large tables, damaged or not; other files in the folder stay.

    Raises:
        StoreError: one cannot be removed.
    """
    own = [folder / f"cache.db{suffix}" for suffix in ("", "-wal", "-shm", "-journal")]
    for file in (*own, *(path for ending in ("arrays", "lock") for path in (folder / ARRAYS).glob(f"*.{ending}"))):
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{shown_path(folder)}: cannot be cleared: {error.strerror or error}") from error


def _packed(value: Json) -> bytes:
    """Return a value as compressed JSON. Raises StoreError if it is too large."""
    data = canonical_json(value).encode("utf-8", "surrogatepass")
    if len(data) > VALUE_BYTES:
        raise StoreError(f"a value of {len(data):,} bytes is too large for the cache; at most {VALUE_BYTES:,} are kept")
    return zlib.compress(data, 6)


def _unpacked(data: object) -> Json:
    """Return the value in compressed JSON. Raises ValueError if the data is not bytes, cut off, too large or no JSON."""
    if not isinstance(data, bytes):
        raise ValueError("it was not written by pytest-mapsat")  # noqa: TRY004  all that is wrong with an entry is a ValueError
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(data, VALUE_BYTES + 1)
    if len(text) > VALUE_BYTES or not unpacker.eof:
        raise ValueError("it is cut or too large")
    try:
        return parse_json(text.decode("utf-8", "surrogatepass"))
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg}") from None


@cache
def _library() -> SimpleNamespace:
    """Return the parts of diskcache for the store: ``open`` and ``Timeout``. Raises UsageError if it is not installed."""
    try:
        import diskcache  # noqa: PLC0415  costs 50 ms and is an extra
    except ImportError:
        raise missing("diskcache", "the cache of models' answers") from None
    raw = diskcache.core.MODE_RAW

    class Plain(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
        """A diskcache storage of text keys and bytes values in the one file; entries of any other form are not read."""

        def put(self, key: object) -> tuple[object, bool]:
            """Return a key in the form that the database keeps. Raises TypeError if it is not text."""
            if not isinstance(key, str):
                raise TypeError(f"a name is text, not {type(key).__name__}")
            return key, True

        def get(self, key: object, raw: bool) -> object:
            """Return a key as it is read from the database; None if it was stored pickled."""
            return key if raw else None

        def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, object]:  # noqa: ARG002
            """Return a value in the form that the database keeps. Raises TypeError if it is not bytes."""
            if not isinstance(value, bytes):
                raise TypeError(f"a value is bytes, not {type(value).__name__}")
            return 0, raw, None, sqlite3.Binary(value)

        def fetch(self, mode: int, filename: object, value: Any, read: bool) -> object:  # noqa: ARG002
            """Return a value as bytes; an empty text if it was stored in any other form."""
            return bytes(value) if mode == raw and isinstance(value, (bytes, memoryview)) else ""

    def open_cache(folder: Path, size_limit: int) -> diskcache.Cache:
        # Eviction by age: every other way writes at each read.
        """Open and return the cache in a folder; when it is full, the entries stored first are removed."""
        policy = "least-recently-stored"
        return diskcache.Cache(
            str(folder), timeout=_PATIENCE, disk=Plain, size_limit=size_limit, eviction_policy=policy
        )

    return SimpleNamespace(open=open_cache, Timeout=diskcache.Timeout)
