"""Tables that a ranked search reads part by part: which rows a part has, and the rows of a large file, each read when it is asked for."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from pytest_mapsat.formats import content_digest, document_of, limits, read_lines, replacing, shown_path, unreadable
from pytest_mapsat.model import (
    InfrastructureError,
    Json,
    JsonObject,
    Problem,
    SuiteError,
    canonical_json,
    digest,
    shown,
)

if TYPE_CHECKING:
    import numpy as np


#: Larger tables stay in their files, bytes; smaller ones are read whole.
LARGE_BYTES = 1 << 20
#: Rows of one table that stays in its files.
_MOST_ROWS = 4_000_000


class Keys(NamedTuple):
    """The key columns of a ranked table: the id of a row, and its part."""

    id: str
    part: str


class Parts:
    """Collects the rows of each part of a table and checks their ids."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._places: dict[str, int] = {}
        self._ids: dict[str, list[str]] = {}

    def add(self, row: JsonObject, place: int, place_of: Callable[[int], str]) -> str:
        """Add a row and return the problem with its id or part, or an empty text. ``place_of`` describes the place of another row."""
        id_, part = row.get(self._keys.id), row.get(self._keys.part)
        if not isinstance(id_, (str, int)) or isinstance(id_, bool) or not str(id_).strip():
            return f"{self._keys.id}: found {shown(id_)}, expected an id: a text or a whole number"
        if not isinstance(part, str) or not part.strip():
            return f"{self._keys.part}: found {shown(part)}, expected the name of a part: a text"
        own = str(id_).strip()  # as a parameter that gives an id is compared
        first = self._places.setdefault(own, place)
        if first != place:
            return f"{self._keys.id}: the id {shown(id_)} occurs twice; first in {place_of(first)}"
        self._ids.setdefault(part, []).append(own)
        return ""

    def by_id(self) -> Iterator[tuple[int, int]]:
        """Yield the hash of each id with the place of its row, in the order of addition."""
        yield from ((hashed(id_), place) for id_, place in self._places.items())

    def rows(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each part, sorted by name, with the places of its rows in the order of their ids."""
        for part in sorted(self._ids):
            yield part, [self._places[id_] for id_ in sorted(self._ids[part])]


class FileRows(Sequence[JsonObject]):
    """The rows of a table in their files, in the order of files and lines. Safe for several threads and processes.

    Args:
        paths: the files, none packed.
        keys: the columns that rows are found by.

    Attributes:
        keys: these columns.
        digest: of the content of the files.
        columns: the columns that any row has.
        parts: part -> the places of its rows, by id.

    Raises:
        SuiteError: rows that cannot be read, or whose id is missing or stands twice, each with its file and line.
    """

    def __init__(self, paths: Sequence[Path], keys: Keys) -> None:
        self.keys = keys
        self._paths = tuple(paths)
        self._stamps = tuple(_stamp(path, path) for path in paths)
        self.digest = [content_digest(path) for path in paths]
        kept = kept_arrays(["rows", self.digest, keys], self._made)
        self._arrays = kept.arrays
        self.columns: tuple[str, ...] = tuple(kept.info["columns"])
        self.parts: dict[str, Any] = {}
        start = 0
        for part, count in kept.info["parts"]:
            self.parts[part] = self._arrays["by_part"][start : start + count]
            start += count

    def _made(self) -> Arrays:
        """Build and return the catalogue of the files. Raises InfrastructureError if a file changes meanwhile."""
        catalogue = _catalogue(self._paths, self.keys)
        for number in range(len(self._paths)):
            self._unchanged(number)
        return catalogue

    def __len__(self) -> int:
        return len(self._arrays["offset"])

    def __getitem__(self, at: Any) -> Any:
        """Return a row, read from its file. Raises InfrastructureError if the file has changed."""
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        (row,) = self.read([at])
        return row

    def read(self, places: Iterable[int]) -> Iterator[JsonObject]:
        """Yield the rows at ascending places; each file is opened once. Raises InfrastructureError if a file has changed."""
        for number, group in groupby(places, lambda at: int(self._arrays["number"][at])):
            self._unchanged(number)
            with self._paths[number].open("rb") as file:
                try:
                    for at in group:
                        file.seek(int(self._arrays["offset"][at]))
                        yield from_json(file.read(int(self._arrays["length"][at])))
                finally:
                    self._unchanged(number, file)

    def with_id(self, id_: str) -> list[int]:
        """Return a list with the place of the row with an id; empty if there is no such row."""
        import numpy as np  # noqa: PLC0415  loaded where a large table is searched

        id_ = id_.strip()
        hashes, wanted = self._arrays["id_hash"], np.uint64(hashed(id_))
        first, last = np.searchsorted(hashes, wanted, "left"), np.searchsorted(hashes, wanted, "right")
        return [int(at) for at in self._arrays["by_id"][first:last] if str(self[int(at)][self.keys.id]).strip() == id_]

    def spot(self, at: int) -> tuple[Path, int]:
        """Return the file and the line of a row."""
        return self._paths[int(self._arrays["number"][at])], int(self._arrays["line"][at])

    def _unchanged(self, number: int, file: IO[bytes] | None = None) -> None:
        """Raise InfrastructureError if a file, or a given open file, differs in size or time from the first reading."""
        path = self._paths[number]
        try:
            unchanged = _stamp(path if file is None else file.fileno(), path) == self._stamps[number]
        except SuiteError:
            unchanged = False
        if not unchanged:
            raise InfrastructureError(f"{shown_path(path)} has changed since it was opened")


class Spots(Sequence[tuple[Path, int]]):
    """The file and line of each row of a large table, as a sequence."""

    def __init__(self, rows: FileRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        """Return the place of a row."""
        return self._rows.spot(at)


def hashed(text: str) -> int:
    """Return a 64-bit hash of a text (an id, or words joined by blanks), used for lookups."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _stamp(opened: Path | int, path: Path) -> tuple[int, int]:
    """Return the size and the modification time of a file, given by path or file descriptor. Raises SuiteError."""
    try:
        stat = os.stat(opened)  # noqa: PTH116  a number of an open file, too
    except OSError as error:
        raise unreadable(path, error) from error
    return stat.st_size, stat.st_mtime_ns


def _catalogue(paths: Sequence[Path], keys: Keys) -> Arrays:
    """Read all files and return the places of all rows, the rows of each part and the ids by hash. Raises SuiteError for invalid rows."""
    import numpy as np  # noqa: PLC0415  loaded where a large table is searched

    file, offset, length, line = array("H"), array("Q"), array("I"), array("I")
    parts, columns, problems = Parts(keys), dict[str, None](), list[Problem]()

    def place_of(at: int) -> str:
        """Return the file and the line of a row as text."""
        return f"{shown_path(paths[file[at]])}:{line[at]}"

    for number, path in enumerate(paths):
        name = shown_path(path)
        for raw in read_lines(path, limits.ROW_BYTES):
            row = _row(raw.data, name, raw.number, problems)
            if isinstance(row, dict):
                wrong = parts.add(row, len(offset), place_of)
                problems += [Problem(name, raw.number, wrong)] if wrong else []
                file.append(number)
                offset.append(raw.offset)
                length.append(len(raw.data))
                line.append(raw.number)
                columns.update(dict.fromkeys(row))
            if len(offset) > _MOST_ROWS:
                problems.append(Problem(name, raw.number, f"the table has more than {_MOST_ROWS} rows"))
            if len(problems) >= limits.PROBLEMS or len(offset) > _MOST_ROWS:
                raise SuiteError(*problems)
    if problems:
        raise SuiteError(*problems)
    by_part = list(parts.rows())
    order = [place for _, places in by_part for place in places]
    hashes = np.fromiter((hash_ for hash_, _ in parts.by_id()), np.uint64, len(order))
    by_hash = np.argsort(hashes, kind="stable")
    arrays: dict[str, np.ndarray] = {
        "number": np.frombuffer(file, np.uint16),
        "offset": np.frombuffer(offset, np.uint64),
        "length": np.frombuffer(length, np.uint32),
        "line": np.frombuffer(line, np.uint32),
        "by_part": np.array(order, np.uint32),
        "id_hash": hashes[by_hash],
        "by_id": by_hash.astype(np.uint32),
    }
    return Arrays({"columns": list(columns), "parts": [[part, len(places)] for part, places in by_part]}, arrays)


def _row(raw: bytes, name: str, line: int, problems: list[Problem]) -> Json:
    """Return the row on a line; if it is invalid, add the problem to ``problems`` and return None."""
    try:
        data = from_json(raw, allow_inf_nan=False)
    except ValueError:
        document = document_of(raw, name, line, problems)
        data = document.data if document is not None else None
        if document is None:
            return None
    if not isinstance(data, dict):
        problems.append(Problem(name, line, f"a row is a JSON object of columns and values, not {shown(data)}"))
        return None
    return data


# -- indexes of large tables that are kept on disk ---------------------------------------------------------------------

#: The most bytes of all files together; beyond it the oldest are removed.
_MOST_BYTES = 4 << 30


class Arrays(NamedTuple):
    """Arrays by name, with JSON data that describes them."""

    info: JsonObject
    arrays: Mapping[str, np.ndarray]


def kept_arrays(key: object, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of a key from a complete cache file; otherwise create them and write the file.

    Where the cache folder cannot be written, as on a full disk, they are held in memory.

    Args:
        key: JSON data that says all that the arrays depend on.
        make: makes them; one process at a time does, where the system can lock files.
    """
    from pytest_mapsat.store import ARRAYS, alone, store_folder  # noqa: PLC0415 (sqlite: for ranked searches alone)

    path = store_folder() / ARRAYS / f"{digest([_code(), key])}.arrays"
    if (arrays := _opened(path)) is not None:
        return arrays
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return make()
    with alone(path.with_suffix(".lock")):
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
    """Return digests of the modules of this package, so that arrays from another version of the code are never read."""
    sources = sorted(
        (file for file in files(__package__).iterdir() if file.name.endswith(".py")), key=lambda file: file.name
    )
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in sources]


def _write(path: Path, arrays: Arrays) -> None:
    """Write arrays to a file, which appears only when complete, and remove the oldest files if the total is too large."""
    import numpy as np  # noqa: PLC0415  loaded where a large table is searched

    contents: dict[str, Any] = {"info": np.frombuffer(canonical_json(arrays.info).encode(), np.uint8), **arrays.arrays}
    with replacing(path) as file:
        np.savez(file, **contents)
    _prune(path)


def _prune(new: Path) -> None:
    """Remove the oldest cached files while their total size is too large; keep the new file."""
    with suppress(OSError), os.scandir(new.parent) as entries:  # a part has a file, and a table may have thousands
        files = [(entry.stat(), entry.name) for entry in entries if entry.name.endswith(".arrays")]
        total = sum(stat.st_size for stat, _ in files)
        for stat, name in sorted(files, key=lambda file: file[0].st_mtime) if total > _MOST_BYTES else ():
            if total > _MOST_BYTES and name != new.name:
                (new.parent / name).unlink(missing_ok=True)
                total -= stat.st_size


def _opened(path: Path) -> Arrays | None:
    """Return the arrays in a cache file; None if it is missing or damaged."""
    import numpy as np  # noqa: PLC0415  loaded where a large table is searched

    try:
        with path.open("rb") as file, np.load(file) as kept:  # never a pickle, unless it is asked for
            arrays = dict(kept)
        return Arrays(json.loads(arrays.pop("info").tobytes()), arrays)
    except Exception:  # noqa: BLE001  no such file, an empty one, or one that is damaged in any way
        return None
