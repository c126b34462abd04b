"""What an environment and the world of one episode are, tables as they were read, and what differs between two readings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pytest_mapsat.formats import KeptRows, lock_file
from pytest_mapsat.model import (
    Case,
    EnvironmentEnd,
    InfrastructureError,
    Json,
    JsonObject,
    RowChange,
    WatchedTable,
    digest,
    same,
    shown,
)
from pytest_mapsat.sandbox import cell_of, key_text

#: What a hidden value is in files; the second where it has changed.
_HIDDEN, _OTHER = "[hidden]", "[hidden, changed]"
#: More rows of a table than these are not read.
MOST_ROWS = 200_000


class EpisodeSession(NamedTuple):
    """The episode that an environment is started for: an opaque id, the same whenever the same case and trial is run, and the trial, from 1."""

    id: str
    trial: int


class EpisodeWorld(Protocol):
    """An environment in one episode. It may have ``calls()``, the calls that the agent has made so far, and ``unwatched``, the names of its other tables."""

    def tables(self) -> Mapping[str, Any]:
        """Return the watched tables as they are now, by name: a list of rows that have an ``id``, the rows by their ids, or ``SeenTable``."""

    def close(self) -> None:
        """Give it back; called once the next episode begins, or the run ends."""


class Environment(Protocol):
    """What episodes act on.

    It may have ``name``: the address of what is acted on, which no two runs may do at once; ``parallel``: whether episodes do not see each other (False); ``settle``: seconds between two
    readings that must be equal before the end is read (0.1); ``same_start``: whether every reset leads to the same rows (False); ``hold()``: a context manager that keeps other runs out.
    """

    def start(self, case: Case, session: EpisodeSession) -> EpisodeWorld:
        """Reset it for an episode of a case, and return the episode's world."""


@dataclass(frozen=True)
class SeenTable:
    """A table as it was read.

    Attributes:
        rows: its rows by their ids, as JSON.
        key: the columns that tell rows apart.
        unread: why not all rows were read; empty where they were.
        rest: what is equal as long as the rows that were not read are; None: nothing is known of them.
        decimals: columns of decimal numbers.
        hidden: columns that count and reach no file.
    """

    rows: Mapping[str, JsonObject]
    key: tuple[str, ...] = ("id",)
    unread: str = ""
    rest: Json = None
    decimals: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def shown(self, row: JsonObject, other: JsonObject | None = None, mark: str = _HIDDEN) -> JsonObject:
        """Return a row for files: of its hidden columns only those that differ from another row, with a mark for a value."""
        return {
            name: value if name not in self.hidden else mark
            for name, value in row.items()
            if name not in self.hidden or (other is not None and not same(value, other.get(name)))
        }


class Names:
    """Names of columns: ``table.column``, or ``column`` for all tables."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {names} if isinstance(names, str) else {*names}

    def has(self, table: str, column: str) -> bool:
        """Return whether a column of a table is meant."""
        return column in self._names or f"{table}.{column}" in self._names

    def not_among(self, columns: Iterable[str]) -> str:
        """Return a name that means none of some columns, ``table.column``; empty where there is none."""
        known = {name for column in columns for name in (column, column.rpartition(".")[2])}
        return min(self._names - known, default="")


_NONE = Names(())


def seen(
    name: str, given: Any, key: tuple[str, ...] = ("id",), *, ignore: Names = _NONE, hide: Names = _NONE, **known: Any
) -> SeenTable:
    """Return a table that code, a service or a database gives: a list of rows, or rows by their ids.

    Args:
        name: the table.
        given: its rows.
        key: the columns that tell rows apart; where rows are given by their ids, the only one may be missing in them.
        ignore: columns that do not count.
        hide: columns that count and reach no file.
        known: other fields of the result.

    Raises:
        InfrastructureError: these are no rows, or they cannot be told apart.
    """
    if isinstance(given, SeenTable):
        return given
    if isinstance(given, Mapping):
        given = [{key[0]: row_id, **row} if isinstance(row, Mapping) else row for row_id, row in given.items()]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InfrastructureError(f"the table {name} is {shown(given)}, expected a list of rows, or rows by their ids")
    rows: dict[str, JsonObject] = {}
    ignored: dict[str, bool] = {}
    for row in given:
        if not isinstance(row, Mapping):
            raise InfrastructureError(f"a row of {name} is {shown(row)}, expected an object of columns")
        if missing := next((column for column in key if row.get(column) is None), ""):
            raise InfrastructureError(f"a row of {name} has no {missing}, by which rows are told apart")
        own = key_text(*(row[column] for column in key))
        if own in rows:
            raise InfrastructureError(f"two rows of {name} have the {', '.join(key)} {own}")
        if len(rows) == MOST_ROWS:
            return SeenTable({}, key, unread=f"{name} has more than {MOST_ROWS:,} rows, and no more are read", **known)
        ignored |= {column: ignore.has(name, column) for column in row.keys() - ignored.keys()}
        try:
            rows[own] = {column: cell_of(value) for column, value in row.items() if not ignored[column]}
        except ValueError as error:
            raise InfrastructureError(f"{name} {own}: {error}") from None
    hidden = tuple(sorted(column for column in ignored if hide.has(name, column)))
    return SeenTable(rows, key, hidden=hidden, **known)


#: The tables of one reading, by name, sorted.
Tables = Mapping[str, SeenTable]


def _pairs(first: Tables, other: Tables) -> Iterator[tuple[str, SeenTable, SeenTable]]:
    for name in sorted(first.keys() | other.keys()):
        here, there = first.get(name), other.get(name)
        yield name, here or SeenTable({}, there.key if there else ()), there or SeenTable({}, here.key if here else ())


def differing(first: Tables, other: Tables) -> list[str]:
    """Return what differs between two readings: the table, the row and its columns; the table alone where it is not known which of its rows."""
    places = []
    for name, here, there in _pairs(first, other):
        ids = sorted(here.rows.keys() | there.rows.keys())
        rows = [own for own in ids if not same(here.rows.get(own), there.rows.get(own))]
        for own in rows:
            change = RowChange(table=name, id=own, before=here.rows.get(own), after=there.rows.get(own))
            columns = "" if None in (change.before, change.after) else f" ({', '.join(change.columns)})"
            places.append(f"{name} {own}{columns}")
        places += [name] if not rows and (here.unread, here.rest) != (there.unread, there.rest) else []
    return places


class Starts:
    """The rows that tables start from, each kept once for all episodes of this process."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Mapping[str, JsonObject], KeptRows]] = {}
        self._kept: dict[str, KeptRows] = {}

    def of(self, name: str, table: SeenTable, clean: Callable[[Any], Any]) -> KeptRows:
        """Return the rows of a table as they are kept: without hidden columns, sorted by id, and ``clean`` of secrets."""
        last = self._last.get(name)
        if last is None or last[0] != table.rows:
            rows = KeptRows(clean([table.shown(row) for _, row in sorted(table.rows.items())]))
            last = self._last[name] = (table.rows, self._kept.setdefault(rows.digest, rows))
        return last[1]


def end_between(
    start: Tables, end: Tables, starts: Mapping[str, KeptRows], mentioned: frozenset[str]
) -> EnvironmentEnd:
    """Return what an episode left of its environment.

    Args:
        start: the tables as it found them.
        end: the tables as it left them.
        starts: the rows of the start as they are kept, by table.
        mentioned: texts of the case and of the dialogue: of a table that is too large to be kept, the rows with an id among them are.
    """
    changes: list[RowChange] = []
    tables = {}
    for name, here, there in _pairs(start, end):
        known: dict[str, Any] = {"key": ",".join(there.key), "decimals": there.decimals, "hidden": there.hidden}
        if unread := there.unread or here.unread:
            rows: Sequence[JsonObject] = [there.shown(row) for _, row in sorted(there.rows.items())]
            altered = None not in (here.rest, there.rest) and not same(here.rest, there.rest)
            what = (
                f"{name} has changed in rows of which the start is not known"
                if altered
                else f"it is not known what changed in {name}"
            )
            which = f" ({', '.join(sorted(there.rows)[:5])})" if altered and there.rows else ""
            unclear = "" if here.rest is not None and same(here.rest, there.rest) else f"{what}{which}: {unread}"
            known |= {"rows": rows, "unread": unread, "unclear": unclear, "altered": altered}
            tables[name] = WatchedTable(**known)
            continue
        for own in sorted(here.rows.keys() | there.rows.keys()):
            before, after = here.rows.get(own), there.rows.get(own)
            if not same(before, after):
                changes.append(_change(name, own, there, before, after))
        kept = starts[name]
        if not kept.packed:
            known["rows"] = [
                there.shown(row) for own, row in sorted(there.rows.items()) if {own, *own.split(",")} & mentioned
            ]
        tables[name] = WatchedTable(start=kept.digest, **known)
    ended = EnvironmentEnd(tables=tables, changes=tuple(changes))
    ended.begin_with({kept.digest: kept for kept in starts.values()})
    return ended


def _change(name: str, own: str, table: SeenTable, before: JsonObject | None, after: JsonObject | None) -> RowChange:
    first = None if before is None else table.shown(before, after)
    last = None if after is None else table.shown(after, before, _OTHER)
    return RowChange(table=name, id=own, key=",".join(table.key), before=first, after=last)


@contextmanager
def alone(name: str) -> Iterator[bool]:
    """Hold a name for this process, on this machine, while the context is open; give whether that could be done."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    path = Path(tempfile.gettempdir()) / f"pytest-mapsat-{user}-{digest(name)}.lock"
    file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield lock_file(file)
    finally:
        os.close(file)
