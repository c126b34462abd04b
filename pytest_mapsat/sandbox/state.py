"""The rows that a case starts from, and those that one episode has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, TypeVar

from pytest_mapsat.model import InfrastructureError, Json, JsonObject, Overlay, RowChange, did_you_mean, shown

Index = TypeVar("Index")


@dataclass(frozen=True, eq=False)
class Table:
    """One table of a suite. Its rows are shared by all cases: nobody changes them.

    Attributes:
        name: the table; ``state/NAME.jsonl`` holds it.
        rows: JSON objects, in the order of the file.
    """

    name: str
    rows: Sequence[JsonObject]
    _indexes: dict[Any, Any] = field(default_factory=dict, repr=False)

    def index(self, key: Any, make: Callable[[Sequence[JsonObject]], Index]) -> Index:
        """Return what was made of the rows, made once for all cases.

        Args:
            key: what it is; hashable.
            make: makes it.
        """
        if key not in self._indexes:
            self._indexes[key] = make(self.rows)
        found: Index = self._indexes[key]
        return found


class Part(NamedTuple):
    """Some rows of a table as a case sees it: those of all cases without the ones that it has otherwise, or its own.

    Attributes:
        table: the rows.
        gone: the rows of it, by their place, that the case does not have.
        order: where each row stands in the whole table.
    """

    table: Table
    gone: frozenset[int]
    order: Sequence[float]


class View:
    """A table as one case sees it; what all cases share of it stays shared.

    Args:
        table: the table.
        overlays: the lines that are laid over it, first to last.
    """

    def __init__(self, table: Table, overlays: Sequence[Overlay] = ()) -> None:
        changed: dict[int, JsonObject] = {}
        gone: set[int] = set()
        added: list[JsonObject] = []
        for overlay in overlays:
            added = [row for row in (_laid_on(row, overlay) for row in added) if row is not None] + list(overlay.add)
            for at in rows_of(table, overlay):
                row = None if at in gone else _laid_on(changed.get(at, table.rows[at]), overlay)
                if row is None:
                    gone.add(at)
                    changed.pop(at, None)
                elif row is not table.rows[at]:
                    changed[at] = row
        base = Part(table, frozenset(gone | changed.keys()), range(len(table.rows)))
        own = (*(changed[at] for at in sorted(changed)), *added)
        places = (*map(float, sorted(changed)), *(float(len(table.rows) + at) for at in range(len(added))))
        self.name = table.name
        self.parts = (base, Part(Table(table.name, own), frozenset(), places)) if own else (base,)

    def rows(self) -> Iterator[JsonObject]:
        """Give the rows in their order."""
        found = [
            (part.order[at], row)
            for part in self.parts
            for at, row in enumerate(part.table.rows)
            if at not in part.gone
        ]
        yield from (row for _, row in sorted(found, key=lambda pair: pair[0]))


def as_seen(tables: Mapping[str, Table], overlays: Sequence[Overlay]) -> dict[str, Table]:
    """Return the tables with what is laid over them; one that nothing is laid over is shared as it is."""
    laid: dict[str, list[Overlay]] = {}
    for overlay in overlays:
        laid.setdefault(overlay.table, []).append(overlay)
    return {
        name: Table(name, tuple(View(table, laid[name]).rows())) if name in laid else table
        for name, table in tables.items()
    }


def _laid_on(row: JsonObject, overlay: Overlay) -> JsonObject | None:
    """Return the row as a line of an overlay leaves it, None where it takes it out."""
    if not fits(row, overlay):
        return row
    return None if overlay.hide else {**row, **overlay.set}


def rows_of(table: Table, overlay: Overlay) -> Iterator[int]:
    """Give the places of the rows of a table that a line of an overlay may be about, by one of its columns."""
    if not overlay.where:
        return
    column = next(iter(overlay.where))
    by_value = table.index(("by value", column), lambda rows: _by_value(rows, column))
    for value in _values(overlay.where[column]):
        yield from by_value.get(_key(value), ())


def fits(row: JsonObject, overlay: Overlay) -> bool:
    """Return whether a line of an overlay is about this row."""
    return bool(overlay.where) and all(
        column in row and _key(row[column]) in map(_key, _values(wanted)) for column, wanted in overlay.where.items()
    )


def rows_meant(overlay: Overlay, table: Table, added: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the rows that a line of an overlay changes or hides.

    Args:
        overlay: the line.
        table: the table that it changes.
        added: the rows that overlays add to it.
    """
    return [row for row in (*(table.rows[at] for at in rows_of(table, overlay)), *added) if fits(row, overlay)]


def unmet(overlay: Overlay, table: Table, added: Sequence[JsonObject]) -> Iterator[tuple[str, Json]]:
    """Give the columns and values by which a line of an overlay finds no row; arguments as for ``rows_meant``."""
    met = rows_meant(overlay, table, added)
    for column, wanted in overlay.where.items():
        held = {_key(row[column]) for row in met}
        yield from ((column, value) for value in _values(wanted) if _key(value) not in held)


def _by_value(rows: Sequence[JsonObject], column: str) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        if column in row:
            found.setdefault(_key(row[column]), []).append(at)
    return found


def _values(wanted: Json) -> Sequence[Json]:
    return wanted if isinstance(wanted, list) else (wanted,)


def _key(value: Json) -> str:
    return repr(value)


_DEEPEST = 64
_WRITTEN = "written"


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("a row is not changed in place: use rows.change(id, column=value)")


class Row(dict[str, Any]):
    """A row as a tool or a check reads it: a dict that cannot be changed. ``rows.change(id, column=value)`` does that."""

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def copy(self) -> JsonObject:
        """Return the row as plain data of the caller's own."""
        plain: JsonObject = thawed(self)
        return plain

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> JsonObject:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


class RowList(list[Any]):
    """A list in a row: it equals any list of the same elements, and cannot be changed."""

    __setitem__ = __delitem__ = append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __iadd__ = __imul__ = _refuse

    def copy(self) -> list[Any]:
        """Return the list as plain data of the caller's own."""
        plain: list[Any] = thawed(self)
        return plain

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> list[Any]:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.copy(),)


def frozen(value: Json, depth: int = 0) -> Json:
    """Return JSON data that cannot be changed: objects are rows, lists are lists of rows.

    Raises:
        TypeError: it is no JSON data, or is nested too deep.
    """
    if depth > _DEEPEST:
        raise TypeError(f"nested deeper than {_DEEPEST}")
    if isinstance(value, (Row, RowList)) or value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("the names of an object are strings")
        return Row({name: frozen(member, depth + 1) for name, member in value.items()})
    if isinstance(value, (list, tuple)):
        return RowList(frozen(item, depth + 1) for item in value)
    raise TypeError(f"{shown(value)} is no JSON value")


def thawed(value: Json) -> Json:
    """Return frozen data as plain data of the caller's own."""
    if isinstance(value, Mapping):
        return {name: thawed(member) for name, member in value.items()}
    return [thawed(item) for item in value] if isinstance(value, (list, tuple)) else value


class NoSuchRowError(KeyError):
    """A sandbox looked up a row that is not in its table; where it is not caught, the call names something that does not exist."""

    def __init__(self, table: str, row_id: object) -> None:
        super().__init__(row_id)
        self.told = f"there is no row {shown(row_id)} in {table}"

    def __str__(self) -> str:
        return self.told


class Rows(Mapping[str, Row]):
    """One table in one episode, by the ids of its rows: what nobody has changed is shared with all other episodes.

    Args:
        name: the table.
        key: the column that holds the ids.
        shared: the rows that every episode starts from.
        writing: what is written in the call under way.
    """

    def __init__(self, name: str, key: str, shared: Mapping[str, Row], writing: Writing) -> None:
        self.name = name
        self.key = key
        self._shared = shared
        self._own: dict[str, Row | None] = {}
        self._writing = writing

    def __getitem__(self, row_id: str) -> Row:
        row = self._own[row_id] if row_id in self._own else self._shared.get(row_id)
        if row is None:
            raise NoSuchRowError(self.name, row_id)
        return row

    def __iter__(self) -> Iterator[str]:
        yield from (row_id for row_id in self._shared if self._own.get(row_id, self._shared[row_id]) is not None)
        yield from (row_id for row_id, row in self._own.items() if row is not None and row_id not in self._shared)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def change(self, row_id: str, /, **columns: Json) -> Row:
        """Give columns of a row other values, and return it.

        Raises:
            KeyError: there is no such row.
        """
        row = Row({**self[row_id], **frozen(columns)})
        if row[self.key] != row_id:
            raise ValueError(f"{self.name}: the id of a row stays as it is")
        self._write(row_id, row)
        return row

    def add(self, row: Mapping[str, Json]) -> Row:
        """Add a row, and return it.

        Raises:
            ValueError: it has no id, or that of another row.
        """
        new: Row = frozen(row)
        row_id = new.get(self.key)
        if not isinstance(row_id, str) or not row_id:
            raise ValueError(f"{self.name}: a new row needs a text of its own under {self.key!r}")
        if row_id in self:
            raise ValueError(f"{self.name}: there is a row {row_id!r} already")
        self._write(row_id, new)
        return new

    def remove(self, row_id: str) -> None:
        """Take a row out.

        Raises:
            KeyError: there is no such row.
        """
        _ = self[row_id]
        self._write(row_id, None)

    def _write(self, row_id: str, row: Row | None) -> None:
        self._writing.note(self, row_id, self.get(row_id))
        self._own[row_id] = row

    def overlays(self) -> Iterator[Overlay]:
        """Yield what is written in this episode, as it is laid over the rows that all start from."""
        for row_id, row in self._own.items():
            if row_id not in self._shared and row is not None:
                yield Overlay(overlay=_WRITTEN, table=self.name, add=(thawed(row),))
            elif row_id in self._shared and row is not self._shared[row_id]:
                change = {"hide": True} if row is None else {"set": thawed(row)}
                yield Overlay(overlay=_WRITTEN, table=self.name, where={self.key: row_id}, **change)

    def put_back(self, row_id: str, row: Row | None) -> None:
        """Make a row what it was."""
        self._own[row_id] = row


class Writing:
    """The writes of the call under way."""

    def __init__(self) -> None:
        self.allowed = True
        self._before: dict[tuple[str, str], tuple[Rows, Row | None]] = {}

    def note(self, rows: Rows, row_id: str, row: Row | None) -> None:
        """Remember what a row was. Raises InfrastructureError where nothing may be written."""
        if not self.allowed:
            raise InfrastructureError(
                f"the sandbox changes the table {rows.name} outside a tool that writes: declare effect: write of the tool that does"
            )
        self._before.setdefault((rows.name, row_id), (rows, row))

    def undo(self) -> None:
        """Make all rows what they were before the call."""
        for (_, row_id), (rows, row) in self._before.items():
            rows.put_back(row_id, row)
        self._before.clear()

    def done(self) -> tuple[RowChange, ...]:
        """Return what the call has changed, by table and id, and forget it."""
        changes = (
            RowChange(table=name, id=row_id, key=rows.key, before=thawed(row), after=thawed(rows.get(row_id)))
            for (name, row_id), (rows, row) in sorted(self._before.items(), key=lambda item: item[0])
        )
        found = tuple(change for change in changes if change.before != change.after)
        self._before.clear()
        return found


class State(Mapping[str, Rows]):
    """The tables of one episode's sandbox: ``state["orders"]``, or ``state.table("orders", key="number")``.

    Args:
        tables: the rows that every episode starts from; they stay as they are.
    """

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._rows: dict[str, Rows] = {}
        self.writing = Writing()

    def __getitem__(self, name: str) -> Rows:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def overlays(self) -> tuple[Overlay, ...]:
        """Return what is written in this episode, as overlays of the suite's tables."""
        return tuple(overlay for rows in self._rows.values() for overlay in rows.overlays())

    def table(self, name: str, *, key: str = "id") -> Rows:
        """Return a table by the ids of its rows.

        Args:
            name: the table; ``state/NAME.jsonl`` of the suite holds the rows that it starts from.
            key: the column that holds the ids.

        Raises:
            InfrastructureError: the suite has no such table, or its rows have no ids, or one twice.
        """
        if name not in self._tables:
            hint = did_you_mean(name, self._tables) or f"it has: {', '.join(self._tables) or 'none'}"
            raise InfrastructureError(f"the suite has no table {shown(name)} in state/ ({hint})")
        if name not in self._rows:
            self._rows[name] = Rows(name, key, _indexed(self._tables[name], key), self.writing)
        return self._rows[name]


def _indexed(table: Table, key: str) -> Mapping[str, Row]:
    """Return the rows of a table by id, frozen; made once for all episodes."""

    def by_id(listed: Sequence[JsonObject]) -> Mapping[str, Row]:
        rows: dict[str, Row] = {}
        for number, row in enumerate(listed, 1):
            row_id = row.get(key)
            if not isinstance(row_id, str) or row_id in rows:
                wrong = "another row has it" if isinstance(row_id, str) else "expected a text"
                raise InfrastructureError(f"state/{table.name}, row {number}: {key} is {shown(row_id)}: {wrong}")
            rows[row_id] = frozen(row)
        return rows

    return table.index(("frozen", key), by_id)
