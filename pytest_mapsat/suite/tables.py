"""The tables of a suite: ``state/NAME.jsonl``, one row a line, and ``state/overlays.jsonl``, how those of a case differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import MappingProxyType

from pytest_mapsat.formats import Lines, Located, document_of, limits, read_lines, shown_path, validate
from pytest_mapsat.model import JsonObject, Overlay, Problem, SuiteError, did_you_mean, shown
from pytest_mapsat.sandbox import LARGE_BYTES, FileRows, Keys, Spots, Table, rows_meant, unmet

#: The table of a suite whose lines change the others, and no case sees.
OVERLAYS = "overlays"

#: A file and a line.
Spot = tuple[Path, int]


@dataclass(frozen=True)
class StateFiles:
    """What ``state/`` holds.

    Attributes:
        tables: the tables by name, sorted.
        spots: where each row of a table stands.
        overlays: the lines of each overlay by its name, in their order.
        placed: all lines of overlays with their places.
    """

    tables: Mapping[str, Table]
    spots: Mapping[str, Sequence[Spot]]
    overlays: Mapping[str, Sequence[Overlay]]
    placed: Sequence[tuple[Overlay, Spot]]

    def columns(self, table: str) -> Mapping[str, None]:
        """Return the columns of a table, those that overlays give it included, in the order in which they first stand."""
        rows = self.tables[table].rows
        if isinstance(rows, FileRows):
            laid = (line for line, _ in self.placed if line.table == table)
            return dict.fromkeys(
                (*rows.columns, *(column for line in laid for row in (line.set, *line.add) for column in row))
            )
        return dict.fromkeys(column for row, _ in self.rows(table) for column in row)

    def rows(self, table: str) -> Iterator[tuple[JsonObject, Spot]]:
        """Give the rows of a table with their places, then those that overlays add and those that they change, as they are then."""
        yield from zip(self.tables[table].rows, self.spots[table], strict=True)
        lines = [(line, spot) for line, spot in self.placed if line.table == table]
        added = [row for line, _ in lines for row in line.add]
        for line, spot in lines:
            yield from ((row, spot) for row in line.add)
            if line.set:
                yield from (({**row, **line.set}, spot) for row in rows_meant(line, self.tables[table], added))

    def laid_on(self, name: str) -> tuple[Overlay, ...]:
        """Return the lines of an overlay and of those that it takes in, in the order in which they are laid on; none where there is no such overlay."""
        lines: list[Overlay] = []
        for overlay in self.overlays.get(name, ()):
            for other in overlay.like:
                lines += self.laid_on(other)
            if not overlay.like:
                lines.append(overlay)
        return tuple(lines)


def read_state(paths: Sequence[Path], ranked: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> StateFiles:
    """Return the tables and overlays of these files. Files of one name in folders of their own make one table; rows in the order of files and lines.

    Args:
        paths: the files.
        ranked: table that is searched by a ranked tool -> the columns with the id and with the part; it stays in its files where it is large.

    Raises:
        SuiteError: with the problems of all files, up to a limit.
    """
    problems: list[Problem] = []
    rows_of: dict[str, list[tuple[JsonObject, Spot]]] = {}
    large = {name: FileRows(files, Keys(*ranked[name])) for name, files in _large(paths, ranked).items()}
    for path in paths:
        if path.name.partition(".")[0] not in large:
            _read(path, rows_of.setdefault(path.name.partition(".")[0], []), problems)
    lines = rows_of.pop(OVERLAYS, [])
    rows = {name: tuple(row for row, _ in listed) for name, listed in rows_of.items()} | large
    tables = {name: Table(name, rows[name]) for name in sorted(rows)}
    spots = {name: Spots(large[name]) if name in large else tuple(spot for _, spot in rows_of[name]) for name in tables}
    overlays: dict[str, list[Overlay]] = {}
    placed: list[tuple[Overlay, Spot]] = []
    for data, (path, line) in lines:
        overlay = validate(Overlay, Located(data, Lines(line)), shown_path(path), problems)
        if overlay is not None:
            overlays.setdefault(overlay.overlay, []).append(overlay)
            placed.append((overlay, (path, line)))
    problems += _unfit(placed, tables, overlays)
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return StateFiles(tables, spots, overlays, placed)


def _large(paths: Sequence[Path], ranked: Collection[str]) -> dict[str, list[Path]]:
    """Return the files of the tables that stay in them: large, and not packed."""
    files: dict[str, list[Path]] = {}
    for path in paths:
        if path.name.partition(".")[0] in ranked:
            files.setdefault(path.name.partition(".")[0], []).append(path)
    return {name: listed for name, listed in files.items() if sum(map(_size, listed)) > LARGE_BYTES}


def _size(path: Path) -> float:
    """Return how many bytes a file has, and that it is too small to stay where it is packed or cannot be read."""
    try:
        return float("-inf") if path.name.endswith(".gz") else path.stat().st_size
    except OSError:
        return float("-inf")


def _read(path: Path, rows: list[tuple[JsonObject, Spot]], problems: list[Problem]) -> None:
    name = shown_path(path)
    for line in read_lines(path, limits.ROW_BYTES):
        if len(rows) >= limits.TABLE_ROWS:
            message = f"the table has more than {limits.TABLE_ROWS} rows"
            problems.append(Problem(name, line.number, message, "a sandbox of one suite needs fewer"))
            return
        document = document_of(line.data, name, line.number, problems)
        if document is not None and isinstance(document.data, dict):
            rows.append((document.data, (path, line.number)))
        elif document is not None:
            message = f"a row is a JSON object of columns and values, not {shown(document.data)}"
            problems.append(Problem(name, line.number, message))
        if len(problems) >= limits.PROBLEMS:
            return


def _unfit(
    placed: Sequence[tuple[Overlay, Spot]], tables: Mapping[str, Table], overlays: Mapping[str, Sequence[Overlay]]
) -> Iterator[Problem]:
    """Give what is wrong between overlays and tables; cycles first, which would never end."""
    circle = circle_in({name: [other for line in lines for other in line.like] for name, lines in overlays.items()})
    for overlay, spot in placed:
        if overlay.overlay in circle and overlay.like:
            message = f"like: the overlay {shown(overlay.overlay)} takes in itself, by way of {', '.join(overlay.like)}"
            yield _problem(spot, message, "take one of these lines out")
    for overlay, spot in placed:
        for other in overlay.like:
            if other not in overlays:
                message = f"like: there is no overlay {shown(other)}"
                yield _problem(spot, message, did_you_mean(other, overlays))
        if overlay.table and overlay.table not in tables:
            hint = did_you_mean(overlay.table, tables) or f"there is {', '.join(tables) or 'none'}"
            yield _problem(spot, f"table: there is no table {shown(overlay.table)}", hint)
        elif overlay.where:
            added = [row for other, _ in placed if other.table == overlay.table for row in other.add]
            for column, value in unmet(overlay, tables[overlay.table], added):
                message = f"where: no row of {overlay.table} that is meant has {column} {shown(value)}"
                yield _problem(spot, message)


def circle_in(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Return names that lead from one to the next, the last to the first; none where no way leads in a circle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def _problem(spot: Spot, message: str, hint: str = "") -> Problem:
    return Problem(shown_path(spot[0]), spot[1], message, hint)
