"""Databases that SQLAlchemy speaks to: read in one transaction that writes nothing, and put back where that was asked for."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_mapsat.formats import limits, read_bytes, require_file
from pytest_mapsat.model import Case, Json, UsageError, did_you_mean, digest, hint_at, shown
from pytest_mapsat.sandbox import key_text

from .world import MOST_ROWS, EpisodeSession, Names, SeenTable, alone, seen

try:
    import sqlalchemy as sql
except ImportError:
    raise UsageError("SqlEnvironment needs SQLAlchemy and a driver: pip install 'pytest-mapsat[sql]'") from None

#: A database for tests says so: test, tests, testing or testdb is a word of its name.
_FOR_TESTS = re.compile(r"(?:^|[^a-z])test(?:s|ing|db)?(?:[^a-z]|$)", re.IGNORECASE)
#: How long PostgreSQL may take for one statement, and wait for a lock, milliseconds.
_PATIENCE = "SET LOCAL statement_timeout = 60000; SET LOCAL lock_timeout = 10000"
#: Rows that one statement writes.
_AT_ONCE = 200
#: How values are read that SQLite keeps as texts and numbers, by the type that a column was declared with.
_OF_SQLITE: Mapping[str, Callable[[Any], Any]] = {
    "BOOLEAN": lambda value: bool(value) if value in (0, 1) else value,
    "DATE": date.fromisoformat,
    "DATETIME": datetime.fromisoformat,
    "JSON": json.loads,
    "TIME": time.fromisoformat,
    "TIMESTAMP": datetime.fromisoformat,
}
#: Counts the rows of a table of PostgreSQL, and digests them whatever their order.
_REST = (
    "SELECT count(*), sum(hashtextextended(r, 0)::numeric), sum(hashtextextended(r, 1)::numeric) "
    "FROM (SELECT ROW({})::text AS r FROM {} WHERE {}) AS each"
)
#: Puts a counter of new ids where it stood: in PostgreSQL, in SQLite.
_COUNT_FROM = (
    "SELECT setval(name, at, called) FROM (VALUES (%s::bigint, %s::boolean, %s)) AS kept (at, called, name)",
    "UPDATE sqlite_sequence SET seq = ? WHERE name = ?",
)
_EXPECTED = (
    "expected an engine or an address such as postgresql+psycopg://app@127.0.0.1/app_test or sqlite:///app_test.db"
)
_Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class _WatchedTable:
    """A watched table of the database, with everything that is needed to read and write it.

    Attributes:
        name: as the user wrote it.
        table: its columns as they are read and written; ``written``: those that are not computed.
        key: the columns that tell rows apart.
        decimals: columns of decimal numbers.
        parsers: what reads the values that SQLite gives, by column.
        updated: the column that says when a row was changed; empty: all rows are read.
        condition: what holds for the rows that are watched, in SQL.
    """

    name: str
    table: sql.Table
    written: tuple[str, ...]
    key: tuple[str, ...]
    decimals: tuple[str, ...]
    parsers: Mapping[str, Callable[[Any], Any]]
    updated: str
    condition: str

    def rows(self, connection: sql.Connection, *conditions: Any) -> _Rows:
        """Return the rows that meet all conditions, up to one row above the limit, so that an excess is noticed."""
        own = sql.text(self.condition.replace(":", r"\:"))
        selected = self.table.select().where(own, *conditions).limit(MOST_ROWS + 1)
        return [dict(row) for row in connection.execute(selected).mappings()]

    def parsed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with the values that SQLite stores as texts or numbers converted to their declared types."""
        values = dict(row)
        for name in self.parsers.keys() & {name for name in row if row[name] is not None}:
            with suppress(ValueError, TypeError):  # SQLite keeps what it is given, whatever the type
                values[name] = self.parsers[name](row[name])
        return values

    def by_id(self, rows: _Rows) -> dict[str, dict[str, Any]]:
        """Return rows by the text of their keys."""
        return {key_text(*(row[name] for name in self.key)): row for row in rows}

    def are(self, rows: Iterable[Mapping[str, Any]]) -> Any:
        """Return the SQL condition that selects exactly the given rows by their keys."""
        return sql.or_(*(sql.and_(*(self.table.c[name] == row[name] for name in self.key)) for row in rows))


class SqlEnvironment:
    """A database that episodes change. Without ``reset``, the database is only read.

    Args:
        database: an engine of SQLAlchemy, or an address such as ``postgresql+psycopg://app@127.0.0.1/app_test`` or ``sqlite:///app_test.db``.
        tables: the tables that are watched; ``schema.table`` where they are in another schema than the default.
        reset: what happens before each episode: a function without arguments, or of the case; a ``.sql`` file; or ``"restore"``: in one transaction, rows and counters go
            back to what they were when the run began, once more after the last episode. None: nothing.
        ignore: columns that do not count, ``table.column``, or ``column`` for all tables.
        hide: columns that count and reach no file; no check can name them.
        where: conditions in SQL by table: only the rows for which they hold are watched.
        updated: by table the column that says when a row was last changed: of a large table the server then counts and digests the rows, and the changed ones alone are read.
        keys: by table the columns that tell rows apart, where it has no primary key.
        allow: the name of the database, where it does not say that it is for tests and a reset of ours is to write to it.
        settle: seconds between two readings that must be equal before the end is read.
        parallel: whether episodes do not see each other, so that several may be under way.

    Raises:
        UsageError: a driver is missing, the database is not one for tests, or an argument cannot be used.
    """

    def __init__(
        self,
        database: str | sql.Engine,
        tables: Iterable[str],
        *,
        reset: Callable[..., object] | str | Path | None = None,
        ignore: Iterable[str] = (),
        hide: Iterable[str] = (),
        where: Mapping[str, str] | None = None,
        updated: Mapping[str, str] | None = None,
        keys: Mapping[str, str | Sequence[str]] | None = None,
        allow: str = "",
        settle: float = 0.1,
        parallel: bool = False,
    ) -> None:
        self._engine, self._own = _engine_of(database)
        self._tables = tuple(dict.fromkeys([tables] if isinstance(tables, str) else tables))
        self._ignore, self._hide = Names(ignore), Names(hide)
        self._where, self._updated, self._keys = where or {}, updated or {}, keys or {}
        self.settle, self.parallel = settle, parallel
        url, dialect = self._engine.url, self._engine.dialect.name
        self._lite, self._postgres = dialect == "sqlite", dialect == "postgresql"
        in_memory = self._lite and url.database in (None, "", ":memory:")
        place = Path(url.database or "") if self._lite else None
        self._database = str(url.database) if place is None else place.name
        self.shown = f"the database {self._database or 'in memory'} ({dialect}{f' on {url.host}' if url.host else ''})"
        #: What no two runs may act on at once.
        self.name = url.set(password=None).render_as_string() if place is None else str(place.resolve())
        self.name = f"memory {id(self._engine)}" if in_memory else self.name
        self._reset = _written_reset(reset) if isinstance(reset, str | Path) else reset
        if isinstance(reset, str | Path) and not in_memory:
            self._refuse_other(allow)
        arguments = inspect.signature(reset).parameters if callable(reset) else {}
        self._given = len(arguments)
        #: Whether every reset leads to the same rows: one that is told the case may make others for each.
        self.same_start = reset is not None and not arguments
        self._before: dict[str, dict[str, dict[str, Any]]] = {}
        self._counters: dict[str, tuple[Any, ...]] = {}

    def _refuse_other(self, allow: str) -> None:
        """Raise UsageError if a reset would write to a database that is not marked for tests by its name or by ``allow``."""
        if allow and allow != self._database:
            raise UsageError(f"allow names {allow!r}, which is not {self.shown}")
        if not allow and not _FOR_TESTS.search(self._database):
            why = "whose name does not say that it is for tests: expected test as a word of it"
            raise UsageError(f"reset would write to {self.shown}, {why}, or allow={self._database!r}")

    def start(self, case: Case, session: EpisodeSession) -> SqlWorld:
        """Reset the database for an episode and return the episode's world. Raises UsageError if a table cannot be watched."""
        del session
        watched, unwatched = self._watched
        if self._reset == "restore" and not self._before:
            self._remember(watched)
        self.put_back()
        if isinstance(self._reset, Path):
            with closing(self._engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
                script = read_bytes(self._reset, limits.YAML_BYTES).decode()
                (cursor.executescript if self._lite else cursor.execute)(script)
                connection.commit()
        elif callable(self._reset):
            self._reset(*[case][: self._given])
        return SqlWorld(self, watched, unwatched)

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """Lock the database against other runs while the context is open; yield whether the lock was obtained."""
        with ExitStack() as ended:
            if not self._postgres:
                yield ended.enter_context(alone(self.name))
                return
            connection = ended.enter_context(self._engine.connect())
            schema = connection.exec_driver_sql("SELECT current_schema()").scalar()
            number = int(digest(["pytest-mapsat", schema]), 16) >> 1
            locked = connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({number})").scalar()
            connection.commit()  # the lock is one of the session, not of the transaction
            yield bool(locked)

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """Yield a read-only connection that sees one consistent state of all tables."""
        with self._engine.connect() as connection, ExitStack() as ended:
            if self._postgres:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                connection.exec_driver_sql(_PATIENCE)
            elif self._lite and self._own:
                for first, last in (("PRAGMA query_only = ON", "PRAGMA query_only = OFF"), ("BEGIN", "ROLLBACK")):
                    connection.exec_driver_sql(first)
                    ended.callback(connection.exec_driver_sql, last)
            yield connection

    # -- what is watched -------------------------------------------------------------------

    @cached_property
    def _watched(self) -> tuple[tuple[_WatchedTable, ...], tuple[str, ...]]:
        """Return the watched tables, referenced ones first, and the names of all other tables. Raises UsageError."""
        schemas = {name: name.rpartition(".")[0] or None for name in self._tables}
        with self._engine.connect() as connection, warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", sql.exc.SAWarning
            )  # types that it does not know, tables that refer to each other
            inspector, metadata = sql.inspect(connection), sql.MetaData()
            there: list[str] = []
            for schema in dict.fromkeys([None, *schemas.values()]):
                there += [f"{schema}.{table}" if schema else table for table in inspector.get_table_names(schema)]
            for name in (*self._tables, *self._where, *self._updated, *self._keys):
                if name not in there or name not in self._tables:
                    hint = did_you_mean(name, there, "it has:")
                    raise UsageError(f"{self.shown} has no table {shown(name)} that is watched ({hint})")
            tables = {
                name: sql.Table(name.rpartition(".")[2], metadata, schema=schema, autoload_with=connection)
                for name, schema in schemas.items()
            }
            order = [*metadata.sorted_tables]
        watched = [
            self._watch(name, table) for name, table in sorted(tables.items(), key=lambda each: order.index(each[1]))
        ]
        columns = {f"{each.name}.{column.name}" for each in watched for column in each.table.columns}
        for what, names in {"ignore": self._ignore, "hide": self._hide}.items():
            if unknown := names.not_among(columns):
                raise UsageError(f"{what}: no watched table has a column {shown(unknown)}{hint_at(unknown, columns)}")
        return tuple(watched), tuple(sorted(set(there) - tables.keys()))

    def _watch(self, name: str, table: sql.Table) -> _WatchedTable:
        """Return a table with everything needed to read and write it. Raises UsageError if it has no usable key."""
        given = self._keys.get(name, ())
        key = (given,) if isinstance(given, str) else tuple(given) or tuple(column.name for column in table.primary_key)
        if not key:
            what = f"give it one, name the columns that do, keys={{{name!r}: [...]}}, or leave it out"
            raise UsageError(f"{name} has no primary key, so its rows cannot be identified: {what}")
        types, updated = {column.name: column.type for column in table.columns}, self._updated.get(name, "")
        for column in filter(None, (*key, updated)):
            if column not in types or self._ignore.has(name, column) or self._hide.has(name, column):
                why = "it must be a column that is neither ignored nor hidden"
                raise UsageError(f"{name}: {column} is needed to tell rows apart, or which are new: {why}")
        numeric = [
            name for name in types if isinstance(types[name], sql.Numeric) and not isinstance(types[name], sql.Float)
        ]
        parsers, written = {}, tuple(column.name for column in table.columns if column.computed is None)
        if self._lite:
            # Read as it is kept: an application may write dates in a way that no type reads.
            parsers = {name: _OF_SQLITE[str(kind)] for name, kind in types.items() if str(kind) in _OF_SQLITE}
            plain: list[sql.Column[Any]] = [sql.Column(name) for name in types]
            table = sql.Table(table.name, sql.MetaData(), *plain, schema=table.schema)
        condition = f"({self._where.get(name, '1 = 1')})"
        return _WatchedTable(name, table, written, key, tuple(numeric), parsers, updated, condition)

    # -- reading ---------------------------------------------------------------------------

    def last_changes(self, watched: Iterable[_WatchedTable]) -> dict[str, Any]:
        """Return the last change time of each table with an ``updated`` column; None for a table without rows."""
        with self.reading() as connection:
            latest = {each.name: sql.func.max(each.table.c[each.updated]) for each in watched if each.updated}
            return {name: connection.execute(sql.select(column)).scalar() for name, column in latest.items()}

    def read(self, watched: Iterable[_WatchedTable], last: Mapping[str, Any]) -> dict[str, SeenTable]:
        """Return the current tables; for tables with an ``updated`` column, only the rows changed after ``last``."""
        with self.reading() as connection:
            return {each.name: self._seen(connection, each, last.get(each.name)) for each in watched}

    def _seen(self, connection: sql.Connection, each: _WatchedTable, last: Any) -> SeenTable:
        """Return one table, read on a given connection."""
        newer = [] if last is None or not each.updated else [each.table.c[each.updated] > last]
        rows = map(each.parsed, each.rows(connection, *newer))
        table = seen(each.name, rows, each.key, ignore=self._ignore, hide=self._hide, decimals=each.decimals)
        if not each.updated:
            return replace(table, unread=table.unread and f"{table.unread} (give where, or updated)")
        return replace(table, unread=f"of {each.name} changed rows alone are read", rest=self._rest(connection, each))

    def _rest(self, connection: sql.Connection, each: _WatchedTable) -> Json:
        """Return the number of rows of a large table and a digest of all its rows, which reveals any other change."""
        columns = [column for column in each.table.columns if not self._ignore.has(each.name, column.name)]
        if self._postgres:
            quoted = connection.dialect.identifier_preparer
            columns_text, of = (
                ", ".join(quoted.quote(column.name) for column in columns),
                quoted.format_table(each.table),
            )
            counted = connection.exec_driver_sql(_REST.format(columns_text, of, each.condition).replace("%", "%%"))
            return [str(value) for value in counted.one()]
        count, total = 0, 0
        selected = sql.select(*columns).where(sql.text(each.condition.replace(":", r"\:")))
        for row in connection.execute(selected, execution_options={"stream_results": True}):
            count, total = count + 1, (total + int(digest([repr(value) for value in row], 32), 16)) % (1 << 128)
        return [count, str(total)]

    # -- putting back ----------------------------------------------------------------------

    def _remember(self, watched: Iterable[_WatchedTable]) -> None:
        """Keep all rows and counters of the tables for later restores. Raises UsageError if a table is too large."""
        with self.reading() as connection:
            for each in watched:
                rows = each.rows(connection)
                if each.updated or len(rows) > MOST_ROWS:
                    raise UsageError(f"reset='restore': {each.name} is too large to be put back: leave it out")
                self._before[each.name] = each.by_id(rows)
            self._counters = dict(self._counted(connection, watched))

    def put_back(self) -> None:
        """Restore the remembered rows and counters in one transaction, writing only differences; do nothing without ``restore``."""
        if not self._before:
            return
        watched, _ = self._watched
        with self._engine.begin() as connection:
            if self._lite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            elif self._postgres:
                connection.exec_driver_sql(f"{_PATIENCE}; SET CONSTRAINTS ALL DEFERRED")
            now = {each.name: each.by_id(each.rows(connection)) for each in watched}
            for each in reversed(watched):
                for rows in _parts([row for own, row in now[each.name].items() if own not in self._before[each.name]]):
                    connection.execute(each.table.delete().where(each.are(rows)))
            for each in watched:
                self._write(connection, each, now[each.name])
            for name, at in self._counted(connection, watched):
                if at != (before := self._counters.get(name, at)):
                    connection.exec_driver_sql(_COUNT_FROM[self._lite], (*before, name))

    def _write(self, connection: sql.Connection, each: _WatchedTable, now: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the remembered rows of a table that have been changed or deleted."""
        missing = []
        for own, row in self._before[each.name].items():
            # In a column of JSON None would be its null, and not nothing.
            values = {name: sql.null() if row[name] is None else row[name] for name in each.written}
            if own not in now:
                missing.append(values)
            elif changed := {name: values[name] for name in values if row[name] != now[own][name]}:
                connection.execute(each.table.update().where(each.are([row])).values(changed))
        for rows in _parts(missing):
            connection.execute(each.table.insert().values(rows))

    def _counted(
        self, connection: sql.Connection, watched: Iterable[_WatchedTable]
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the name and the position of each counter that new ids come from."""
        execute = connection.exec_driver_sql
        if self._lite and execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").scalar():
            names = {each.table.name for each in watched}
            yield from ((name, (at,)) for name, at in execute("SELECT name, seq FROM sqlite_sequence") if name in names)
        quoted = connection.dialect.identifier_preparer
        for table, column in ((each.table, name) for each in watched if self._postgres for name in each.key):
            if name := execute("SELECT pg_get_serial_sequence(%s, %s)", (quoted.format_table(table), column)).scalar():
                yield name, tuple(execute(f"SELECT last_value, is_called FROM {name}").one())  # noqa: S608  it is quoted


class SqlWorld:
    """A database in one episode; see ``EpisodeWorld``."""

    def __init__(self, environment: SqlEnvironment, watched: Sequence[_WatchedTable], unwatched: Sequence[str]) -> None:
        self.unwatched = unwatched
        self._environment, self._watched = environment, watched
        self._last = environment.last_changes(watched)

    def tables(self) -> Mapping[str, SeenTable]:
        """Return the current watched tables."""
        return self._environment.read(self._watched, self._last)

    def close(self) -> None:
        """Restore the database if ``restore`` is set."""
        self._environment.put_back()


def _parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield rows in batches that one statement can write."""
    return (rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE))


def _written_reset(reset: str | Path) -> str | Path:
    """Return a reset given as text: "restore" or the path of an SQL file. Raises UsageError for any other text."""
    if reset == "restore":
        return "restore"
    if not str(reset).endswith(".sql"):
        hint = hint_at(reset, ["restore"])
        raise UsageError(f"reset: found {shown(str(reset))}, expected a function, a .sql file, or 'restore'{hint}")
    require_file(Path(reset), str(reset))
    return Path(reset).resolve()


def _engine_of(database: object) -> tuple[sql.Engine, bool]:
    """Return an engine for a database, and whether we created it. Raises UsageError; messages omit the address because it may hold a password."""
    if isinstance(database, sql.Engine):
        return database, False
    try:
        url = sql.make_url(database)  # type: ignore[arg-type]  # it says what it cannot take
        engine = sql.create_engine(url, poolclass=sql.pool.NullPool)
    except ModuleNotFoundError as error:
        raise UsageError(f"the driver {error.name} is not installed: install it, or name another one") from None
    except sql.exc.ArgumentError:  # also of a dialect that there is not
        raise UsageError(f"found an unknown database, {_EXPECTED}") from None
    if engine.dialect.is_async:
        raise UsageError(f"{url.drivername} needs asyncio: name a driver that does not; {_EXPECTED}")
    if engine.dialect.name == "sqlite" and url.database in (None, "", ":memory:"):
        raise UsageError("a database in memory is in its engine: give the engine")
    if engine.dialect.name == "sqlite":
        require_file(Path(str(url.database)), f"the database {url.database}")
    return engine, True
