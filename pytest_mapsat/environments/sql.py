"""Databases that SQLAlchemy speaks to: read in one transaction that writes nothing, and put back where that was asked for."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mapsat.formats import limits, read_bytes, require_file
from pytest_mapsat.model import Case, Json, UsageError, did_you_mean, digest, hint_at, shown
from pytest_mapsat.sandbox import key_text

from .world import MOST_ROWS, EpisodeSession, Seen, alone, seen

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

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
_COUNTER = "SELECT pg_get_serial_sequence(%s, %s)"


@dataclass(frozen=True)
class _Watched:
    """A table that is watched.

    Attributes:
        name: as the user wrote it.
        table: its columns as they are read and written.
        key: the columns that tell rows apart.
        ignored: columns that do not count.
        written: columns that are no computed ones.
        hidden: columns that reach no file.
        decimals: columns of decimal numbers.
        parsers: what reads the values that SQLite gives, by column.
        updated: the column that says when a row was changed; empty: all rows are read.
        condition: what holds for the rows that are watched, in SQL.
    """

    name: str
    table: Table
    key: tuple[str, ...]
    written: tuple[str, ...]
    ignored: frozenset[str]
    hidden: tuple[str, ...]
    decimals: tuple[str, ...]
    parsers: Mapping[str, Callable[[Any], Any]]
    updated: str
    condition: str

    def rows(self, connection: Connection, *conditions: Any) -> list[dict[str, Any]]:
        """Return the rows for which all conditions hold; one more than are read where there are more."""
        import sqlalchemy as sql  # noqa: PLC0415  an extra

        selected = (
            self.table.select().where(sql.text(self.condition.replace(":", r"\:")), *conditions).limit(MOST_ROWS + 1)
        )
        return [dict(row) for row in connection.execute(selected).mappings()]

    def seen(self, rows: Iterable[Mapping[str, Any]]) -> Seen:
        """Return rows as they are compared: without what does not count."""
        plain = ({name: self._parsed(name, row[name]) for name in row if name not in self.ignored} for row in rows)
        return seen(self.name, plain, self.key, decimals=self.decimals, hidden=self.hidden)

    def _parsed(self, name: str, value: Any) -> Any:
        if value is not None and name in self.parsers:
            with suppress(ValueError, TypeError):  # SQLite keeps what it is given, whatever the type
                return self.parsers[name](value)
        return value

    def by_id(self, rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return rows by what they are known by."""
        return {key_text(*(row[name] for name in self.key)): row for row in rows}

    def are(self, rows: Iterable[Mapping[str, Any]]) -> Any:
        """Return the condition for some rows."""
        import sqlalchemy as sql  # noqa: PLC0415  an extra

        return sql.or_(*(sql.and_(*(self.table.c[name] == row[name] for name in self.key)) for row in rows))


class SqlEnvironment:
    """A database in which episodes leave their traces. Without ``reset`` it is only read.

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
        UsageError: SQLAlchemy or a driver is missing, the database is not one for tests, or an argument cannot be used.
    """

    def __init__(
        self,
        database: str | Engine,
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
        self._ignore, self._hide = ({names} if isinstance(names, str) else {*names} for names in (ignore, hide))
        self._where, self._updated = dict(where or {}), dict(updated or {})
        self._keys = {name: (key,) if isinstance(key, str) else tuple(key) for name, key in (keys or {}).items()}
        self.settle, self.parallel = settle, parallel
        url, dialect = self._engine.url, self._engine.dialect.name
        self._lite, self._postgres = dialect == "sqlite", dialect == "postgresql"
        self._database = Path(url.database or "").name if self._lite else str(url.database or "")
        host = f" on {url.host}" if url.host else ""
        self.shown = f"the database {self._database or 'in memory'} ({dialect}{host})"
        in_memory = self._lite and self._database in ("", ":memory:")
        #: What no two runs may act on at once.
        self.name = url.set(password=None).render_as_string()
        if self._lite:
            self.name = f"memory {id(self._engine)}" if in_memory else str(Path(url.database or "").resolve())
        self._reset = reset
        if isinstance(reset, str | Path):
            self._reset = _written_reset(reset)
            if self._reset == "restore" and self._updated:
                raise UsageError(
                    "reset='restore' reads whole tables, and updated is for those that are too large: leave one of them out"
                )
            if allow and allow != self._database:
                raise UsageError(f"allow names {allow!r}, which is not {self.shown}")
            if not allow and not in_memory and not _FOR_TESTS.search(self._database):
                raise UsageError(
                    f"reset={str(reset)!r} would write to {self.shown}, whose name does not say that it is for tests: expected test as a word of the name, or "
                    f"allow={self._database!r}"
                )
        arguments = inspect.signature(reset).parameters if callable(reset) else {}
        self._takes_case = bool(arguments)
        #: Whether every reset leads to the same rows: one that is told the case may make others for each.
        self.same_start = reset is not None and not arguments
        self._before: dict[str, dict[str, dict[str, Any]]] = {}
        self._counters: dict[str, tuple[Any, ...]] = {}

    def start(self, case: Case, session: EpisodeSession) -> SqlWorld:
        """Reset the database for an episode, and return its world; see ``Environment``. Raises UsageError where a table cannot be watched."""
        del session
        watched, unwatched = self._watched
        if self._reset == "restore":
            if not self._before:
                self._remember(watched)
            self.put_back()
        elif isinstance(self._reset, Path):
            self._run(self._reset)
        elif callable(self._reset):
            self._reset(*([case] if self._takes_case else []))
        return SqlWorld(self, watched, unwatched)

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """Keep other runs out while the context is open, and give whether that could be done."""
        if not self._postgres:
            with alone(self.name)() as held:
                yield held
            return
        with closing(self._engine.connect()) as connection:
            schema = connection.exec_driver_sql("SELECT current_schema()").scalar()
            number = int(digest(["pytest-mapsat", schema]), 16) >> 1
            held = bool(connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({number})").scalar())
            connection.commit()  # the lock is one of the session, not of the transaction
            yield held

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of all tables and writes nothing."""
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
    def _watched(self) -> tuple[tuple[_Watched, ...], tuple[str, ...]]:
        """The watched tables, those that others refer to first, and the names of the other tables. Raises UsageError."""
        import sqlalchemy as sql  # noqa: PLC0415  an extra

        schemas = {name: name.rpartition(".")[0] or None for name in self._tables}
        with self._engine.connect() as connection, warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", sql.exc.SAWarning
            )  # types that it does not know, tables that refer to each other
            inspector, metadata = sql.inspect(connection), sql.MetaData()
            there = [
                f"{schema}.{table}" if schema else table
                for schema in dict.fromkeys([None, *schemas.values()])
                for table in inspector.get_table_names(schema)
            ]
            self._refuse_unknown(there)
            tables = {
                name: sql.Table(name.rpartition(".")[2], metadata, schema=schema, autoload_with=connection)
                for name, schema in schemas.items()
            }
            order = [*metadata.sorted_tables]
        watched = tuple(
            self._watch(name, tables[name]) for name in sorted(tables, key=lambda name: order.index(tables[name]))
        )
        self._refuse_columns(watched)
        return watched, tuple(sorted(set(there) - tables.keys()))

    def _refuse_unknown(self, there: Sequence[str]) -> None:
        """Refuse tables that are not there. Raises UsageError."""
        for name in self._tables:
            if name not in there:
                hint = did_you_mean(name, there) or f"it has: {', '.join(there) or 'none'}"
                raise UsageError(f"{self.shown} has no table {shown(name)} ({hint})")
        named: Mapping[str, Iterable[str]] = {"where": self._where, "updated": self._updated, "keys": self._keys}
        for what, name in ((what, name) for what, names in named.items() for name in names):
            if name not in self._tables:
                raise UsageError(f"{what}: the table {shown(name)} is not watched{hint_at(name, self._tables)}")

    def _refuse_columns(self, watched: Iterable[_Watched]) -> None:
        """Refuse columns that are not there, or that are needed. Raises UsageError."""
        columns: set[str] = set()
        for each in watched:
            own = {column.name for column in each.table.columns}
            columns |= own | {f"{each.name}.{name}" for name in own}
            needed = {*each.key, *filter(None, [each.updated])}
            if wrong := sorted((needed - own) | needed & (each.ignored | {*each.hidden})):
                raise UsageError(
                    f"{each.name}: {wrong[0]} is needed to tell rows apart, or which are new: it must be a column that is neither ignored nor hidden"
                )
        for what, names in {"ignore": self._ignore, "hide": self._hide}.items():
            for name in names - columns:
                raise UsageError(f"{what}: no watched table has a column {shown(name)}{hint_at(name, columns)}")

    def _watch(self, name: str, table: Table) -> _Watched:
        import sqlalchemy as sql  # noqa: PLC0415  an extra

        key = tuple(self._keys.get(name) or [column.name for column in table.primary_key])
        if not key:
            raise UsageError(
                f"{name} has no primary key, so its rows cannot be told apart: give it one, name the columns that tell them apart, keys={{{name!r}: [...]}}, or leave it out"
            )
        types = {column.name: column.type for column in table.columns}
        written = tuple(column.name for column in table.columns if column.computed is None)
        ignored, hidden = (
            [column for column in types if {column, f"{name}.{column}"} & names] for names in (self._ignore, self._hide)
        )
        decimals = [
            column
            for column, kind in types.items()
            if isinstance(kind, sql.Numeric) and not isinstance(kind, sql.Float)
        ]
        parsers: dict[str, Callable[[Any], Any]] = {}
        if self._lite:
            # Read as it is kept: an application may write dates in a way that no type reads.
            parsers = {column: _OF_SQLITE[str(kind)] for column, kind in types.items() if str(kind) in _OF_SQLITE}
            plain: list[sql.Column[Any]] = [sql.Column(name) for name in types]
            table = sql.Table(table.name, sql.MetaData(), *plain, schema=table.schema)
        updated, condition = self._updated.get(name, ""), self._where.get(name, "1 = 1")
        return _Watched(
            name,
            table,
            key,
            written,
            frozenset(ignored),
            tuple(hidden),
            tuple(decimals),
            parsers,
            updated,
            f"({condition})",
        )

    # -- reading ---------------------------------------------------------------------------

    def last_changes(self, watched: Iterable[_Watched]) -> dict[str, Any]:
        """Return when large tables were last changed."""
        import sqlalchemy as sql  # noqa: PLC0415  an extra

        with self.reading() as connection:
            return {
                each.name: connection.execute(sql.select(sql.func.max(each.table.c[each.updated]))).scalar()
                for each in watched
                if each.updated
            }

    def read(self, watched: Iterable[_Watched], last: Mapping[str, Any]) -> dict[str, Seen]:
        """Return the tables as they are; of a large one the rows that were changed after ``last``."""
        with self.reading() as connection:
            return {each.name: self._seen(connection, each, last) for each in watched}

    def _seen(self, connection: Connection, each: _Watched, last: Mapping[str, Any]) -> Seen:
        known: dict[str, Any] = {"key": each.key, "decimals": each.decimals, "hidden": each.hidden}
        if not each.updated:
            table = each.seen(each.rows(connection))
            return table if not table.unread else Seen({}, unread=f"{table.unread} (give where, or updated)", **known)
        newer = [] if last[each.name] is None else [each.table.c[each.updated] > last[each.name]]
        rows = each.seen(each.rows(connection, *newer)).rows
        return Seen(
            rows, unread=f"of {each.name} changed rows alone are read", rest=self._rest(connection, each), **known
        )

    def _rest(self, connection: Connection, each: _Watched) -> Json:
        """Return how many rows a large table has, and a digest of them all."""
        columns = [column for column in each.table.columns if column.name not in each.ignored]
        if self._postgres:
            quoted = connection.dialect.identifier_preparer
            named = ", ".join(quoted.quote(column.name) for column in columns)
            counted = connection.exec_driver_sql(
                _REST.format(named, quoted.format_table(each.table), each.condition).replace("%", "%%")
            )
            return [str(value) for value in counted.one()]
        import sqlalchemy as sql  # noqa: PLC0415  an extra

        count, total = 0, 0
        selected = sql.select(*columns).where(sql.text(each.condition.replace(":", r"\:")))
        for row in connection.execute(selected, execution_options={"stream_results": True}):
            count, total = count + 1, (total + int(digest([repr(value) for value in row], 32), 16)) % (1 << 128)
        return [count, str(total)]

    # -- putting back ----------------------------------------------------------------------

    def _remember(self, watched: Iterable[_Watched]) -> None:
        """Keep what the tables are when the run begins. Raises UsageError where one is too large."""
        with self.reading() as connection:
            for each in watched:
                rows = each.rows(connection)
                if (table := each.seen(rows)).unread:
                    raise UsageError(f"reset='restore': {table.unread}")
                self._before[each.name] = each.by_id(rows)
            self._counters = dict(self._counted(connection, watched))

    def put_back(self) -> None:
        """Make the tables what they were when the run began, in one transaction: only what differs is written."""
        if self._reset != "restore" or not self._before:
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
                before = self._before[each.name]
                for rows in _parts([row for own, row in now[each.name].items() if own not in before]):
                    connection.execute(each.table.delete().where(each.are(rows)))
            for each in watched:
                self._write(connection, each, now[each.name])
            for name, counter in self._counted(connection, watched):
                if counter != self._counters.get(name, counter):
                    connection.exec_driver_sql(
                        self._set_counter, (name, *self._counters[name])[:: -1 if self._lite else 1]
                    )

    def _write(self, connection: Connection, each: _Watched, now: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the rows of a table that have changed or gone."""
        import sqlalchemy as sql  # noqa: PLC0415  an extra

        missing = []
        for own, row in self._before[each.name].items():
            if own not in now:
                # None is no JSON here, but nothing.
                missing.append({name: sql.null() if row[name] is None else row[name] for name in each.written})
            elif changed := {name: row[name] for name in each.written if row[name] != now[own][name]}:
                values = {name: sql.null() if value is None else value for name, value in changed.items()}
                connection.execute(each.table.update().where(each.are([row])).values(values))
        for rows in _parts(missing):
            connection.execute(each.table.insert().values(rows))

    @property
    def _set_counter(self) -> str:
        return "UPDATE sqlite_sequence SET seq = ? WHERE name = ?" if self._lite else "SELECT setval(%s, %s, %s)"

    def _counted(self, connection: Connection, watched: Iterable[_Watched]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield what new ids are counted by: its name, and where it stands."""
        if (
            self._lite
            and connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").scalar()
        ):
            names = {each.table.name for each in watched}
            yield from (
                (name, (at,))
                for name, at in connection.exec_driver_sql("SELECT name, seq FROM sqlite_sequence")
                if name in names
            )
        quoted = connection.dialect.identifier_preparer
        places = [(each, name) for each in watched for name in each.key] if self._postgres else []
        for each, column in places:
            name = connection.exec_driver_sql(_COUNTER, (quoted.format_table(each.table), column)).scalar()
            if name:
                at = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {name}")  # noqa: S608  as the server quotes it
                yield name, tuple(at.one())

    def _run(self, path: Path) -> None:
        """Run a file of SQL."""
        script = read_bytes(path, limits.YAML_BYTES).decode()
        with closing(self._engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
            (cursor.executescript if self._lite else cursor.execute)(script)
            connection.commit()


class SqlWorld:
    """A database in one episode; see ``World``."""

    def __init__(self, environment: SqlEnvironment, watched: Sequence[_Watched], unwatched: Sequence[str]) -> None:
        self.unwatched = unwatched
        self._environment, self._watched = environment, watched
        self._last = environment.last_changes(watched)

    def tables(self) -> Mapping[str, Seen]:
        """Return the watched tables as they are now."""
        return self._environment.read(self._watched, self._last)

    def close(self) -> None:
        """Put the database back, where that was asked for."""
        self._environment.put_back()


def _parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE))


def _written_reset(reset: str | Path) -> str | Path:
    """Return a reset that is written as text: ``restore``, or a file of SQL. Raises UsageError."""
    if reset == "restore":
        return "restore"
    if not str(reset).endswith(".sql"):
        raise UsageError(
            f"reset: found {shown(str(reset))}, expected a function, a .sql file, or 'restore'{hint_at(reset, ['restore'])}"
        )
    require_file(Path(reset), str(reset))
    return Path(reset).resolve()


def _engine_of(database: object) -> tuple[Engine, bool]:
    """Return an engine, and whether it is our own. Raises UsageError; no message shows an address, as it may hold a password."""
    try:
        import sqlalchemy as sql  # noqa: PLC0415  an extra
    except ImportError:
        raise UsageError(
            "SqlEnvironment needs SQLAlchemy: pip install 'pytest-mapsat[sql]', and a driver of your database"
        ) from None
    if isinstance(database, sql.Engine):
        return database, False
    if not isinstance(database, str | sql.URL):
        raise UsageError(
            f"a database is an engine or an address, found {type(database).__name__}: of an engine for asyncio give the address, with another driver"
        )
    try:
        url = sql.make_url(database)
        engine = sql.create_engine(url, poolclass=sql.pool.NullPool)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the driver {error.name} is not installed: pip install {error.name}, or name another one, as in postgresql+psycopg://"
        ) from None
    except sql.exc.ArgumentError:  # also of a dialect that there is not
        raise UsageError(
            "that is no address of a database, such as postgresql+psycopg://app@127.0.0.1/app_test or sqlite:///app_test.db"
        ) from None
    if engine.dialect.is_async:
        raise UsageError(
            f"{url.drivername} needs asyncio: name another driver, as in {url.get_backend_name()}{'+psycopg' if url.get_backend_name() == 'postgresql' else ''}://"
        )
    if engine.dialect.name == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise UsageError("a database in memory is in its engine: give the engine")
        require_file(Path(str(url.database)), f"the database {url.database}")
    return engine, True
