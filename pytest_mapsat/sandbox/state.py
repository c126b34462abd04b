"""The rows that a case starts from, and those that one episode has changed; values of a database as JSON, and as code in Python reads them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar, cast
from uuid import UUID

from pytest_mapsat.model import InfrastructureError, Json, JsonObject, RowChange, RowPatch, did_you_mean, same, shown

Index = TypeVar("Index")
_FLAT = frozenset({str, int, float, bool, type(None)})
#: Those of which every value is one of JSON.
_SURE = _FLAT - {float}


def fresh(value: Json) -> Json:
    """Return a deep copy of JSON data, frozen or not, as plain dicts and lists."""
    if isinstance(value, (dict, Mapping)):
        return {name: member if type(member) in _FLAT else fresh(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [member if type(member) in _FLAT else fresh(member) for member in value]
    return value


@dataclass(frozen=True, eq=False)
class Table:
    """One table of a suite, ``state/NAME.jsonl``. All cases share its rows, which stay in file order and never change.

    ``spots``: where each row stands, file and line; empty where that is not known.
    """

    name: str
    rows: Sequence[JsonObject]
    spots: Sequence[tuple[Path, int]] = ()
    _indexes: dict[Any, Any] = field(default_factory=dict, repr=False)

    def place(self, number: int) -> str:
        """Return the place of a row, counted from 1, as text: file and line if known."""
        if not self.spots:
            return f"state/{self.name}, row {number}"
        path, line = self.spots[number - 1]
        return f"{Path(*path.parts[-2:]).as_posix()}:{line}"

    def index(self, key: Any, make: Callable[[Sequence[JsonObject]], Index]) -> Index:
        """Return the result of ``make`` for the rows, cached under a hashable key for all cases."""
        if key not in self._indexes:
            self._indexes[key] = make(self.rows)
        index: Index = self._indexes[key]
        return index

    def having(self, column: str, keys: Callable[[Json], Iterable[str]]) -> Mapping[str, Sequence[int]]:
        """Return the positions of the rows by the keys of their value in a column, cached for all cases."""

        def placed(rows: Sequence[JsonObject]) -> Mapping[str, Sequence[int]]:
            """Return the positions of the rows by key."""
            places: dict[str, list[int]] = {}
            for at, row in enumerate(rows):
                for key in keys(row[column]) if column in row else ():
                    places.setdefault(key, []).append(at)
            return places

        return self.index(("having", column, keys), placed)


class TablePart(NamedTuple):
    """Some rows of a table in a case: either the shared rows without changed ones, or the case's own rows.

    The rows at the places that are ``gone`` the case does not have. ``order`` says where each row stands in the whole table.
    """

    table: Table
    gone: frozenset[int]
    order: Sequence[float]


class View:
    """A table in one case, with overlays applied in order; unchanged rows stay shared between cases."""

    def __init__(self, table: Table, overlays: Sequence[RowPatch] = ()) -> None:
        changed: dict[int, JsonObject] = {}
        gone: set[int] = set()
        added: list[JsonObject] = []
        for overlay in overlays:
            added = [row for row in (_apply_overlay(row, overlay) for row in added) if row is not None] + list(
                overlay.add
            )
            for at in _rows_of(table, overlay):
                row = None if at in gone else _apply_overlay(changed.get(at, table.rows[at]), overlay)
                if row is None:
                    gone.add(at)
                    changed.pop(at, None)
                elif row is not table.rows[at]:
                    changed[at] = row
        base = TablePart(table, frozenset(gone | changed.keys()), range(len(table.rows)))
        own = (*(changed[at] for at in sorted(changed)), *added)
        places = (*map(float, sorted(changed)), *(float(len(table.rows) + at) for at in range(len(added))))
        self.name = table.name
        self.parts = (base, TablePart(Table(table.name, own), frozenset(), places)) if own else (base,)

    def rows(self) -> Iterator[JsonObject]:
        """Yield the rows in their order."""
        placed = [
            (part.order[at], row)
            for part in self.parts
            for at, row in enumerate(part.table.rows)
            if at not in part.gone
        ]
        yield from (row for _, row in sorted(placed, key=lambda pair: pair[0]))


def with_overlays(tables: Mapping[str, Table], overlays: Sequence[RowPatch]) -> dict[str, Table]:
    """Return the tables with overlays applied; a table without overlays is shared as it is."""
    laid: dict[str, list[RowPatch]] = {}
    for overlay in overlays:
        laid.setdefault(overlay.table, []).append(overlay)
    return {
        name: Table(name, tuple(View(table, laid[name]).rows())) if name in laid else table
        for name, table in tables.items()
    }


def _apply_overlay(row: JsonObject, overlay: RowPatch) -> JsonObject | None:
    """Return a row as changed by an overlay; None if the overlay hides it."""
    if not _is_about(overlay, row):
        return row
    return None if overlay.hide else {**row, **overlay.set}


def _rows_of(table: Table, overlay: RowPatch) -> Iterator[int]:
    """Yield the positions of the rows to which an overlay may apply, looked up by its first column."""
    if not overlay.where:
        return
    column = next(iter(overlay.where))
    index = table.having(column, _as_written)
    for value in _values(overlay.where[column]):
        yield from index.get(repr(value), ())


def _as_written(value: Json) -> tuple[str]:
    """Return the representation of a value in a tuple, a look-up key that distinguishes 1 and 1.0."""
    return (repr(value),)


def _is_about(overlay: RowPatch, row: JsonObject) -> bool:
    """Return whether an overlay changes or hides a row."""
    return bool(overlay.where) and all(
        column in row and repr(row[column]) in map(repr, _values(wanted)) for column, wanted in overlay.where.items()
    )


def unmet(overlay: RowPatch, table: Table, added: Sequence[JsonObject]) -> Iterator[tuple[str, Json]]:
    """Yield the columns and values of an overlay that match no row, in a table or among the rows ``added`` by overlays."""
    rows = (*(table.rows[at] for at in _rows_of(table, overlay)), *added)
    met = [row for row in rows if _is_about(overlay, row)]
    for column, wanted in overlay.where.items():
        values = {repr(row[column]) for row in met}
        yield from ((column, value) for value in _values(wanted) if repr(value) not in values)


def _values(wanted: Json) -> Sequence[Json]:
    """Return the values that an overlay allows for a column: a list unchanged, or a single value in a list."""
    return wanted if isinstance(wanted, list) else (wanted,)


_DEEPEST = 64
#: More rows than these are changed by no call, and compared at the end of no episode.
MOST_CHANGES = 100_000


def _refuse(*_: object, **__: object) -> NoReturn:
    """Raise TypeError, because rows cannot be modified."""
    raise TypeError("a row is not changed in place: use rows.change(id, column=value)")


class _Plain:
    """Base of frozen data; copies of it are plain, changeable data."""

    def copy(self) -> Any:
        """Return a deep copy as plain data that can be changed."""
        return fresh(self)

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Any:
        return fresh(self)


class Row(_Plain, dict[str, Any]):
    """A row for a tool or a check: a dict that cannot be changed; use ``rows.change(id, column=value)``."""

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (fresh(self),)


class RowList(_Plain, list[Any]):
    """A list in a row, which equals any list of the same elements and cannot be changed."""

    __setitem__ = __delitem__ = append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (fresh(self),)


def frozen(value: Json) -> Json:
    """Return JSON data as Row and RowList, which cannot be changed. Raises TypeError or ValueError if it is not JSON."""
    return _made(value, Row, RowList, 0)


def plain(value: Any) -> Json:
    """Return data from user code as plain dicts and lists. Raises TypeError or ValueError if it is not JSON."""
    # What is frozen is JSON already.
    return fresh(value) if type(value) in (Row, RowList) else _made(value, dict, list, 0)


def _made(value: Any, row: type[dict[str, Any]], rows: type[list[Any]], depth: int) -> Any:
    """Return JSON data with these classes for objects and lists. Raises TypeError or ValueError if it is not JSON."""
    kind = type(value)
    if kind in _FLAT:
        if kind is float and not isfinite(value):
            raise ValueError(f"Out of range float values are not JSON compliant: {value}")
        return value
    if depth > _DEEPEST:
        raise TypeError(f"nested deeper than {_DEEPEST}")
    if kind in (Row, RowList) and row is Row:
        return value
    if isinstance(value, (dict, Mapping)):
        members = {}
        for name, member in value.items():
            if type(name) is not str and not isinstance(name, str):
                raise TypeError("the names of an object are strings")
            members[name] = member if type(member) in _SURE else _made(member, row, rows, depth + 1)
        return members if row is dict else row(members)
    if isinstance(value, (list, tuple)):
        return rows([item if type(item) in _SURE else _made(item, row, rows, depth + 1) for item in value])
    if isinstance(value, (str, int)):
        return value
    raise TypeError(f"{shown(value)} is not a JSON value")


class NoSuchRowError(KeyError):
    """A sandbox looked up a row that is not in its table; unless the error is caught, the agent's call gets an error answer."""

    def __init__(self, table: str, row_id: object) -> None:
        super().__init__(row_id)
        self.table, self.row_id = table, row_id
        self.told = f"there is no row {shown(row_id)} in {table}"

    def __str__(self) -> str:
        return self.told


class SharedRows(dict[str, Any]):
    """The initial rows of all episodes by id; each row is frozen on first use."""

    def row(self, row_id: object) -> Row | None:
        """Return a row by its id, frozen; None if there is none."""
        row = self.get(cast("str", row_id))
        if row is None or type(row) is Row:
            return row
        frozen_row: Row = frozen(row)
        self[cast("str", row_id)] = frozen_row
        return frozen_row


class Rows(Mapping[str, Row]):
    """One table in one episode, its rows by the ids in the column ``key``; unchanged rows are shared with all other episodes."""

    def __init__(self, name: str, key: str, shared: SharedRows, writing: Writing) -> None:
        self.name = name
        self.key = key
        self._shared = shared
        self._own: dict[str, Row | None] = {}
        self._writing = writing

    def __getitem__(self, row_id: str) -> Row:
        row = self._own[row_id] if row_id in self._own else self._shared.row(row_id)
        if row is None:
            raise NoSuchRowError(self.name, row_id)
        return row

    def __iter__(self) -> Iterator[str]:
        yield from (row_id for row_id in self._shared if self._own.get(row_id, self._shared[row_id]) is not None)
        yield from (row_id for row_id, row in self._own.items() if row is not None and row_id not in self._shared)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def change(self, row_id: str, /, **columns: Json) -> Row:
        """Change columns of a row and return the new row. Raises KeyError if there is no such row."""
        row = Row({**self[row_id], **frozen(columns)})
        if row[self.key] != row_id:
            raise ValueError(f"{self.name}: the id of a row stays as it is")
        self._write(row_id, row)
        return row

    def add(self, row: Mapping[str, Json]) -> Row:
        """Add a row and return it. Raises ValueError if its id is missing or already taken."""
        new: Row = frozen(row)
        row_id = new.get(self.key)
        if not isinstance(row_id, str) or not row_id:
            raise ValueError(f"{self.name}: a new row needs a text of its own under {self.key!r}")
        if row_id in self:
            raise ValueError(f"{self.name}: there is a row {row_id!r} already")
        self._write(row_id, new)
        return new

    def remove(self, row_id: str) -> None:
        """Remove a row. Raises KeyError if there is no such row."""
        _ = self[row_id]
        self._write(row_id, None)

    def _write(self, row_id: str, row: Row | None) -> None:
        """Set a row (None removes it), after recording its previous value."""
        self._writing.note(self, row_id, self.get(row_id))
        self._own[row_id] = row

    def overlays(self) -> Iterator[RowPatch]:
        """Yield the changes of this episode as overlays of the start rows."""
        for row_id, row in self._own.items():
            if row_id not in self._shared and row is not None:
                yield RowPatch(table=self.name, add=(fresh(row),))
            elif row_id in self._shared and row is not self._shared.row(row_id):
                change = {"hide": True} if row is None else {"set": fresh(row)}
                yield RowPatch(table=self.name, where={self.key: row_id}, **change)

    def put_back(self, row_id: str, row: Row | None) -> None:
        """Set a row (None: no row) without recording the change."""
        self._own[row_id] = row


class Writing:
    """The writes of the current call."""

    def __init__(self, *, allowed: bool = True) -> None:
        self.allowed = allowed
        self._before: dict[tuple[str, str], tuple[Rows, Row | None]] = {}

    def note(self, rows: Rows, row_id: str, row: Row | None) -> None:
        """Record a row before its first write. Raises InfrastructureError if writing is not allowed, or too much is written."""
        if not self.allowed:
            raise InfrastructureError(
                f"the sandbox changes the table {rows.name} outside a tool that writes: declare effect: write of the tool that does"
            )
        if len(self._before) >= MOST_CHANGES:
            raise InfrastructureError(f"the sandbox changes more than {MOST_CHANGES:,} rows in one call")
        self._before.setdefault((rows.name, row_id), (rows, row))

    def undo(self) -> None:
        """Restore all rows to their state before the call."""
        for (_, row_id), (rows, row) in self._before.items():
            rows.put_back(row_id, row)
        self._before.clear()

    def done(self) -> tuple[RowChange, ...]:
        """Return the changes of the call, sorted by table and id, and clear the record."""
        changes = []
        for (name, row_id), (rows, row) in sorted(self._before.items(), key=lambda item: item[0]):
            before, after = fresh(row), fresh(rows.get(row_id))
            if before != after:
                changes.append(RowChange(table=name, id=row_id, key=rows.key, before=before, after=after))
        self._before.clear()
        return tuple(changes)


class State(Mapping[str, Rows]):
    """The tables of one episode's sandbox: ``state["orders"]``, or ``state.table("orders", key="number")``.

    Args:
        tables: the rows that every episode starts from; they stay as they are.
    """

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._rows: dict[str, Rows] = {}
        self._laid: set[str] = set()  # opened by an event first
        self.writing = Writing()

    def __getitem__(self, name: str) -> Rows:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def overlays(self) -> tuple[RowPatch, ...]:
        """Return all writes of this episode as overlays of the suite's tables."""
        return tuple(overlay for rows in self._rows.values() for overlay in rows.overlays())

    def lay(self, patches: Iterable[RowPatch]) -> tuple[RowChange, ...]:
        """Change rows outside of any call, as an event does, and return the changes. Raises InfrastructureError."""
        allowed, self.writing.allowed = self.writing.allowed, True
        try:
            for patch in patches:
                if patch.table not in self._rows:
                    self.table(patch.table, key=_key_of(self._tables[patch.table]))
                    self._laid.add(patch.table)
                rows = self._rows[patch.table]
                named = _values(patch.where[rows.key]) if rows.key in patch.where else rows
                for row_id in [each for each in named if each in rows and _is_about(patch, rows[each])]:
                    rows.remove(row_id) if patch.hide else rows.change(row_id, **patch.set)
                for row in patch.add:
                    rows.add(row)
        except ValueError as error:
            self.writing.undo()
            raise InfrastructureError(f"an event cannot change rows: {error}") from None
        finally:
            self.writing.allowed = allowed
        return self.writing.done()

    def table(self, name: str, *, key: str = "id") -> Rows:
        """Return a table with its rows by id; ``key`` is the column that holds the ids.

        Raises:
            InfrastructureError: the suite has no such table, or its rows have no ids, or one twice.
        """
        if name not in self._tables:
            raise InfrastructureError(unknown_table(name, self._tables))
        if name in self._laid and key != (own := self._rows[name].key):
            why = f"an event changed rows of {name} by {own} before the sandbox opened that table by {key}"
            raise InfrastructureError(f"{why}: open it while the sandbox is made")
        if name not in self._rows:
            table = self._tables[name]

            def by_id(listed: Sequence[JsonObject]) -> SharedRows:
                """Return rows by their ids. Raises InfrastructureError if an id is missing or occurs twice."""
                rows = SharedRows()
                for number, row in enumerate(listed, 1):
                    row_id = row.get(key)
                    if not isinstance(row_id, str) or row_id in rows:
                        # The rows before it are one for each id.
                        first = [*rows].index(row_id) + 1 if isinstance(row_id, str) else 0
                        wrong = f"{table.place(first)} has it, too" if first else "expected a text"
                        raise InfrastructureError(f"{table.place(number)}: {key} is {shown(row_id)}: {wrong}")
                    rows[row_id] = row
                return rows

            shared = table.index(("frozen", key), by_id)
            self._rows[name] = Rows(name, key, shared, self.writing)
        return self._rows[name]


def net_changes(changes: Iterable[RowChange]) -> tuple[RowChange, ...]:
    """Return one change per row, from its first ``before`` to its last ``after``, without rows that end unchanged."""
    net: dict[tuple[str, str], RowChange] = {}
    for change in changes:
        place = change.table, change.id
        net[place] = change if place not in net else net[place].model_copy(update={"after": change.after})
    return tuple(change for _, change in sorted(net.items()) if not same(change.before, change.after))


def _key_of(table: Table) -> str:
    """Return the column by which an event knows the rows of a table: the first of unique texts, ``id`` before others."""
    columns = sorted(table.rows[0] if table.rows else (), key=lambda name: name != "id")
    texts = ({row.get(column) for row in table.rows if isinstance(row.get(column), str)} for column in columns)
    return next((column for column, own in zip(columns, texts, strict=True) if len(own) == len(table.rows)), "id")


def unknown_table(table: str, tables: Iterable[str]) -> str:
    """Return the message that the suite has no such table, with a similar name or all names."""
    names = sorted(tables)
    return f"the suite has no table {shown(table)} in state/ ({did_you_mean(table, names, 'it has:')})"


# -- values of a database ----------------------------------------------------------------------------------------------
#
# A date, time or moment is its ISO text, a moment with an offset that of UTC; a decimal number is a JSON number where it is the same number, else its
# digits as text; bytes are ``base64:...``; a UUID and whatever else is no JSON is its text.

#: No value is nested deeper than a file may be.
_DEEPEST_CELL = 48
#: Decimal numbers of more digits before the point are kept as text.
_MOST_DIGITS = 300


def cell_of(value: Any, depth: int = 0) -> Json:  # noqa: C901, PLR0911  a line for each kind
    """Return a database value as JSON. Raises ValueError if it is nested too deeply."""
    if depth > _DEEPEST_CELL:
        raise ValueError(f"a value is nested deeper than {_DEEPEST_CELL}")
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case Decimal():
            return _number_of(value)
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
        case date() | time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return f"base64:{b64encode(value).decode()}"
        case Mapping():
            return {str(name): cell_of(member, depth + 1) for name, member in value.items()}
        case list() | tuple():
            return [cell_of(member, depth + 1) for member in value]
        case set() | frozenset():
            return sorted((cell_of(member, depth + 1) for member in value), key=str)
    return str(value)


def _number_of(value: Decimal) -> Json:
    """Return a decimal as a JSON number if this is exact, otherwise its digits as text."""
    if not value.is_finite() or value.adjusted() > _MOST_DIGITS:
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else str(value)


def key_text(*values: Any) -> str:
    """Return the text that identifies a row, from the values of its key columns."""
    texts = [text if isinstance(text := cell_of(value), str) else str(text) for value in values]
    plain = len(texts) == 1 or not any(mark in text for text in texts for mark in ',"')
    return ",".join(texts if plain else map(repr, texts))


class Amount(Decimal):
    """A decimal number of a database; a float is compared by its written digits, so that 9.99 is equal."""

    def __eq__(self, other: object) -> bool:
        return super().__eq__(_as_decimal(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return super().__lt__(_as_decimal(other))

    def __le__(self, other: Any) -> bool:
        return super().__le__(_as_decimal(other))

    def __gt__(self, other: Any) -> bool:
        return super().__gt__(_as_decimal(other))

    def __ge__(self, other: Any) -> bool:
        return super().__ge__(_as_decimal(other))

    __hash__ = Decimal.__hash__


def _as_decimal(other: Any) -> Any:
    """Return a float as the decimal number of its written digits; any other value unchanged."""
    return Decimal(repr(other)) if isinstance(other, float) else other


class Written(str):
    """A text from a database that also equals the date, time, UUID or bytes from which it was written."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (date, time, UUID, bytes)):
            other = cell_of(other)
        return str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def face(row: JsonObject, decimals: tuple[str, ...]) -> Row:
    """Return a row in the form that Python code reads. ``decimals``: its columns of decimal numbers."""
    return Row({name: _python_value(value, decimal=name in decimals) for name, value in row.items()})


def _python_value(value: Json, *, decimal: bool) -> Any:
    """Return a value in the form for Python code: a decimal as Amount, a text as Written, any other value frozen."""
    if decimal and value is not None:
        with suppress(InvalidOperation):  # SQLite keeps what it is given, whatever the type
            return Amount(str(value))
    return Written(value) if isinstance(value, str) else frozen(value)
