"""The rows that a sandbox starts from, table by table, and how those of one case differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pytest_mapsat.model import Json, JsonObject, Overlay

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
