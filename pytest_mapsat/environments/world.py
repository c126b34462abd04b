"""Environments: tables as they were read, the differences between two readings, and one episode at a time, from the reset to the end state."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple, Protocol, cast

from pytest_mapsat.agents import session_id
from pytest_mapsat.formats import KeptRows, lock_file, without_secrets
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.model import (
    Case,
    EnvironmentEnd,
    InfrastructureError,
    Json,
    JsonObject,
    MapsatError,
    RowChange,
    Trajectory,
    WatchedTable,
    digest,
    listed,
    same,
    shown,
)
from pytest_mapsat.sandbox import cell_of, key_text
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, place_of

#: What a hidden value is in files; the second where it has changed.
_HIDDEN, _OTHER = "[hidden]", "[hidden, changed]"
#: More rows of a table than these are not read.
MOST_ROWS = 200_000


class EpisodeSession(NamedTuple):
    """The episode for which an environment is started: the trial, and an opaque id that is the same in every run of a case and trial."""

    id: str
    trial: int


class EpisodeWorld(Protocol):
    """An environment in one episode. It may also have ``calls()``, the agent's calls so far, and ``unwatched``, the other tables."""

    def tables(self) -> Mapping[str, Any]:
        """Return the current watched tables by name: each a list of rows with ``id``, a mapping of rows by id, or a ``SeenTable``."""

    def close(self) -> None:
        """Release the environment; called when the next episode begins or the run ends."""


class Environment(Protocol):
    """The interface of environments, which episodes change.

    It may have ``name``: the address of what is acted on, which no two runs may do at once; ``parallel``: whether episodes do not see each other (False); ``settle``: seconds between two
    readings that must be equal before the end is read (0.1); ``same_start``: whether every reset leads to the same rows (False); ``hold()``: a context manager that keeps other runs out.
    """

    def start(self, case: Case, session: EpisodeSession) -> EpisodeWorld:
        """Reset the environment for an episode of a case and return the episode's world."""


@dataclass(frozen=True)
class SeenTable:
    """A table at the time of one reading.

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
        """Return a row for files; a hidden column appears only if it differs from ``other``, as ``mark`` instead of its value."""
        return {
            name: value if name not in self.hidden else mark
            for name, value in row.items()
            if name not in self.hidden or (other is not None and not same(value, other.get(name)))
        }


class Names:
    """A set of column names: ``table.column``, or ``column`` for all tables."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {names} if isinstance(names, str) else {*names}

    def has(self, table: str, column: str) -> bool:
        """Return whether the names include a column of a table."""
        return column in self._names or f"{table}.{column}" in self._names

    def not_among(self, columns: Iterable[str]) -> str:
        """Return a name that matches none of the given columns (``table.column``); empty if all names match."""
        known = {name for column in columns for name in (column, column.rpartition(".")[2])}
        return min(self._names - known, default="")


_NONE = Names(())


def seen(
    name: str, given: Any, key: tuple[str, ...] = ("id",), *, ignore: Names = _NONE, hide: Names = _NONE, **known: Any
) -> SeenTable:
    """Return a table from code, a service or a database as a SeenTable; its rows may be a list or a mapping by id.

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
            raise InfrastructureError(f"a row of {name} has no {missing}, which identifies its rows")
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
    """Yield each table name with the table in both readings; a table missing from one reading is empty there."""
    for name in sorted(first.keys() | other.keys()):
        here, there = first.get(name), other.get(name)
        yield name, here or SeenTable({}, there.key if there else ()), there or SeenTable({}, here.key if here else ())


def differing(first: Tables, other: Tables) -> list[str]:
    """Return texts for the differences between two readings: table, row and columns; only the table if its rows are unknown."""
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
    """The initial rows of tables, each stored once for all episodes of this process."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Mapping[str, JsonObject], KeptRows]] = {}
        self._kept: dict[str, KeptRows] = {}

    def of(self, name: str, table: SeenTable, clean: Callable[[Any], Any]) -> KeptRows:
        """Return the rows of a table in stored form: without hidden columns, sorted by id, and passed through ``clean``."""
        last = self._last.get(name)
        if last is None or last[0] != table.rows:
            rows = KeptRows(clean([table.shown(row) for _, row in sorted(table.rows.items())]))
            last = self._last[name] = (table.rows, self._kept.setdefault(rows.digest, rows))
        return last[1]


def end_between(
    start: Tables, end: Tables, starts: Mapping[str, KeptRows], mentioned: frozenset[str]
) -> EnvironmentEnd:
    """Return how an episode changed its environment, from the tables before and after the episode.

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
                f"{name} has changed in rows whose start is not known"
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
    """Return the change of a row; hidden columns appear only if they changed, and are masked."""
    first = None if before is None else table.shown(before, after)
    last = None if after is None else table.shown(after, before, _OTHER)
    return RowChange(table=name, id=own, key=",".join(table.key), before=first, after=last)


@contextmanager
def alone(name: str) -> Iterator[bool]:
    """Hold a lock on a name, for this user and machine, while the context is open; yield whether the lock was obtained."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    path = Path(tempfile.gettempdir()) / f"pytest-mapsat-{user}-{digest(name)}.lock"
    file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield lock_file(file)
    finally:
        os.close(file)


# -- episodes in environments ------------------------------------------------------------------------------------------

#: How long tables may go on changing after the last reply, seconds.
_LONGEST = 10.0
#: How often a reset is tried that leaves other rows than before.
_RESETS = 4
_SETTLE = 0.1


class Late(NamedTuple):
    """An episode whose end turned out to be unknown after the judgement, and the reason."""

    case: str
    trial: int
    why: str


class _Last(NamedTuple):
    """The last episode at a place: its world and its final tables; None if the tables are unknown."""

    case: str
    trial: int
    world: EpisodeWorld
    end: Tables | None


@dataclass
class _Place:
    """The state of a place that only one episode may act on at a time."""

    lock: Lock = field(default_factory=Lock)
    held: ExitStack = field(default_factory=ExitStack)
    begun: bool = False
    last: _Last | None = None
    #: The rows that every reset leads to, by the names of the tables.
    resets: dict[tuple[str, ...], Tables] = field(default_factory=dict)


class Environments:
    """The environments of one process: plays episodes in them, one at a time in each place.

    Args:
        tell: is told once what is acted on, before it is.

    Attributes:
        late: episodes whose ends turned out not to be known.
        acted: how many episodes have acted on each.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        self.late: list[Late] = []
        self.acted: Counter[str] = Counter()
        self._told_by = tell
        self._named: set[str] = set()
        self._places: dict[str, _Place] = {}
        self._objects: list[object] = []
        self._starts = Starts()
        self._lock = Lock()

    def play(
        self, environment: object, case: Case, trial: int, play: Callable[[EpisodeWorld], Trajectory]
    ) -> Trajectory:
        """Play an episode in an environment and return its trajectory, including the environment's end state.

        Args:
            environment: what it acts on.
            case: its case.
            trial: counts the episodes of the case from 1.
            play: plays it in its world.

        Raises:
            InfrastructureError: it cannot be started.
        """
        if not callable(getattr(environment, "start", None)):
            raise InfrastructureError(
                f"an environment is an object with start(case, session), found {shown(environment)}"
            )
        acted_on = cast("Environment", environment)
        self.tell(acted_on)
        self.acted[_shown(acted_on)] += 1
        session = EpisodeSession(session_id(case, trial), trial)
        if not place_name(environment):
            world, start = _started(acted_on, case, session)
            try:
                return self._played(acted_on, case, world, play, start)[0]
            finally:
                _close(world)
        with self._lock:
            self._objects.append(environment)  # as long as it is kept, no other object has its id
            place = self._places.setdefault(place_name(environment), _Place())
        with waiting():
            place.lock.acquire()
        try:
            self._hold(place, acted_on)
            world, start = self._begun(place, acted_on, case, session)
            place.last = _Last(case.id, trial, world, None)
            trajectory, end = self._played(acted_on, case, world, play, start)
            place.last = _Last(case.id, trial, world, end)
        finally:
            place.lock.release()
        return trajectory

    def tell(self, environment: object) -> None:
        """Announce the environment of the episodes once, before the environment receives a request."""
        name = _shown(environment)
        if name not in self._named:
            self._named.add(name)
            self._told_by(name)

    def close(self) -> None:
        """Check whether the last episodes wrote again after their ends were read, and release all environments."""
        for place in self._places.values():
            self._look_back(place)
            place.held.close()
        self._places.clear()
        self._objects.clear()

    # -- inside ----------------------------------------------------------------------------

    def _hold(self, place: _Place, environment: Environment) -> None:
        """Lock a place for this process. Raises InfrastructureError if another process acts on it."""
        own = partial(alone, place_name(environment)) if hasattr(environment, "name") else nullcontext
        hold = getattr(environment, "hold", own)
        if not place.begun and _asked("hold", lambda: place.held.enter_context(hold())) is False:
            place.held.close()
            why = "give each worker one of its own (worker_id), or wait for the other run"
            raise InfrastructureError(f"another run, or worker of this one, acts on {_shown(environment)}: {why}")
        place.begun = True

    def _look_back(self, place: _Place) -> tuple[str, int] | None:
        """Record whether the last episode wrote after its end was read, and close its world; return its case and trial, or None."""
        last, place.last = place.last, None
        if last is None:
            return None
        if last.end is not None:
            try:
                rows = differing(last.end, _tables(last.world))
                why = f"{listed(rows, 5)} changed after the end had been read" if rows else ""
            except MapsatError as error:
                why = f"it is not known whether it wrote once more: {error}"
            if why:
                self.late.append(Late(last.case, last.trial, why))
        _close(last.world)
        return last.case, last.trial

    def _begun(
        self, place: _Place, environment: Environment, case: Case, session: EpisodeSession
    ) -> tuple[EpisodeWorld, Tables]:
        """Start an episode and return its world and tables; if resets lead to different rows, record that the last episode wrote late."""
        before = self._look_back(place)
        rows: list[str] = []
        last: Tables | None = None
        for _ in range(_RESETS):
            world, start = _started(environment, case, session)
            known = place.resets.get(tuple(start))
            if not getattr(environment, "same_start", False):
                return world, start
            # What two resets lead to one after the other is no write of somebody else.
            if last is not None and not differing(last, start):
                place.resets[tuple(start)] = start
                return world, start
            rows = differing(last or {}, start) if known is None else differing(known, start)
            if known is not None and not rows:
                if last is not None and before is not None:
                    why = f"{listed(differing(start, last), 5)} changed after the next episode had begun"
                    self.late.append(Late(*before, why))
                return world, start
            last = start
            _close(world)
        raise InfrastructureError(
            f"each reset leaves other rows, such as {listed(rows)}: something else writes, or these columns belong under ignore"
        )

    def _played(
        self,
        environment: Environment,
        case: Case,
        world: EpisodeWorld,
        play: Callable[[EpisodeWorld], Trajectory],
        start: Tables,
    ) -> tuple[Trajectory, Tables | None]:
        """Play an episode; return its trajectory with the environment's end, and the final tables (None if unknown)."""
        trajectory = play(world)
        unwatched = tuple(sorted(getattr(world, "unwatched", ())))
        try:
            end, why = _settled(world, float(getattr(environment, "settle", _SETTLE)))
            if not why:
                starts = {name: self._starts.of(name, table, without_secrets) for name, table in start.items()}
                ended = end_between(start, end, starts, _named(case, trajectory))
                ended = ended.model_copy(update={"unwatched": unwatched})
                return trajectory.model_copy(update={"environment": ended}), end
        except MapsatError as error:
            why = f"the end could not be read: {error}"
        return trajectory.model_copy(update={"environment": EnvironmentEnd(unknown=why, unwatched=unwatched)}), None


def place_name(environment: object) -> str:
    """Return the name of a place where only one episode may act at a time; empty if episodes may run in parallel."""
    if getattr(environment, "parallel", False):
        return ""
    return str(getattr(environment, "name", "") or f"{type(environment).__name__} {id(environment)}")


def _shown(environment: object) -> str:
    """Return the name of an environment for messages."""
    return str(getattr(environment, "shown", "") or getattr(environment, "name", "") or type(environment).__name__)


def _asked(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of an environment and return its result. Raises InfrastructureError if the function raises."""
    try:
        with waiting():
            return call_user_code(function, *arguments)
    except UserCodeError as broken:
        if isinstance(broken.error, MapsatError):
            raise InfrastructureError(f"the environment: {broken.error}") from None
        words = describe_error(broken.error).partition("\n")[0]  # what a database says behind it may hold a row
        raise InfrastructureError(f"the environment: {what} failed: {words}{place_of(broken.error)}") from None


def _started(environment: Environment, case: Case, session: EpisodeSession) -> tuple[EpisodeWorld, Tables]:
    """Start an episode and return its world and tables; the world is closed if the tables cannot be read."""
    world: EpisodeWorld = _asked("start", environment.start, case, session)
    try:
        return world, _tables(world)
    except MapsatError:
        _close(world)
        raise


def _tables(world: EpisodeWorld) -> Tables:
    """Return the current tables of a world, sorted by name. Raises InfrastructureError."""
    given = _asked("tables", world.tables)
    if not isinstance(given, Mapping):
        raise InfrastructureError(f"the environment: tables() returned {type(given).__name__}, expected tables by name")
    return {str(name): seen(str(name), table) for name, table in sorted(given.items())}


def _close(world: EpisodeWorld) -> None:
    """Close a world; ignore failures, because the next start reports rows that were not restored."""
    with suppress(MapsatError):  # what it cannot put back, the next start tells
        _asked("close", world.close)


def _settled(world: EpisodeWorld, seconds: float) -> tuple[Tables, str]:
    """Return the tables once two readings are equal, with an empty text; after a timeout, the last tables and the values that still change."""
    before, until = _tables(world), monotonic() + _LONGEST
    while True:
        with waiting():
            sleep(seconds)
        now = _tables(world)
        if not (rows := differing(before, now)):
            return now, ""
        if monotonic() > until:
            return (
                now,
                f"{listed(rows, 5)} still changed {_LONGEST:g} s after the last reply: what changes by itself belongs under ignore",
            )
        before = now


def _named(case: Case, trajectory: Trajectory) -> frozenset[str]:
    """Return all texts and whole numbers in the truth and the dialogue of a case, as texts."""
    names: set[str] = set()
    left: list[Any] = [case.truth.to_json(), [turn.to_json() for turn in trajectory.turns]]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, str | int) and not isinstance(value, bool):
            names.add(str(value))
    return frozenset(names)
