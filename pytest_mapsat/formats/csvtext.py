"""Tables of strangers as CSV: strictly quoted, every row with its line, every column where it is said to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.model import Problem, SuiteError, did_you_mean, shown

from . import limits
from .files import read_lines, shown_path
from .jsontext import decode


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table.

    Attributes:
        line: where it begins, 1-based: a cell may hold line breaks.
        cells: its texts by column.
    """

    line: int
    cells: dict[str, str]


def read_csv(
    path: Path,
    columns: Sequence[str],
    name: str = "",
    *,
    hint: str = "",
    torn: Callable[[Problem], None] | None = None,
) -> Iterator[TableRow]:
    """Give the rows of a CSV file in UTF-8, with or without a byte order mark; blank rows are passed over.

    Args:
        path: the file.
        columns: those that must be there.
        name: how messages name the file; the path as a user would type it where none is given.
        hint: what to say where a column is missing and no other is named nearly so.
        torn: hears of a row with more or fewer cells than columns, which is then passed over; an error where none is given.

    Raises:
        SuiteError: when the file cannot be read, lacks a column or has a torn row; with the line.
    """
    import csv  # noqa: PLC0415  only where there is a table

    name = name or shown_path(path)
    begins = 1
    texts = (decode(line.data, name, line.number) for line in read_lines(path, limits.CELL_BYTES, name, blank=True))
    reader = csv.reader(texts, strict=True)
    try:
        with _long_cells():
            header = next(reader, [])
        check_columns(name, header, columns, hint)
        while True:
            begins = reader.line_num + 1
            with _long_cells():  # not around the yield: the limit is the process's
                cells = next(reader, None)
            if cells is None:
                return
            if len(cells) == len(header):
                yield TableRow(begins, dict(zip(header, cells, strict=True)))
            elif cells:
                _tell(Problem(name, begins, f"the row has {len(cells)} cells under {len(header)} columns"), torn)
    except csv.Error as error:
        raise SuiteError(Problem(name, begins, f"is not valid CSV: {error}")) from error


def _tell(problem: Problem, torn: Callable[[Problem], None] | None) -> None:
    if torn is None:
        raise SuiteError(problem)
    torn(problem)


def check_columns(name: str, found: Sequence[str], wanted: Sequence[str], hint: str = "") -> None:
    """Raise a SuiteError that names the file, and every column that is missing or stands there twice."""
    if len(found) > limits.COLUMNS:
        raise SuiteError(Problem(name, 1, f"has {len(found)} columns, more than the {limits.COLUMNS} that are read"))
    problems = [
        Problem(name, 1, f"has no column {shown(one)}; found {_listed(found)}", did_you_mean(one, found) or hint)
        for one in wanted
        if one not in found
    ]
    twice = [one for one in dict.fromkeys(found) if one and found.count(one) > 1]
    problems += [Problem(name, 1, f"the column {shown(one)} stands twice", "keep one of the two") for one in twice]
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])


def _listed(names: Sequence[str]) -> str:
    return shown(", ".join(names)) if names else "none"


@contextmanager
def _long_cells() -> Iterator[None]:
    import csv  # noqa: PLC0415  as above

    before = csv.field_size_limit(limits.CELL_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)
