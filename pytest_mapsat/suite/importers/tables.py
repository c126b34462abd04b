"""Workbooks and CSV files of strangers, read with bounds."""

from __future__ import annotations

import csv
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_mapsat.model import Problem, SuiteError, did_you_mean, shown

from .report import Journal

_MIB = 1024 * 1024
_UNPACKED = 512 * _MIB
_MEMBERS = 10_000
_FIELD = 32 * _MIB
_FILE = 4096 * _MIB
_ROWS = 2_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """One row by column name, and where it stands."""

    place: str
    cells: dict[str, str]


def read_workbook(path: Path, columns: Sequence[str], journal: Journal) -> Iterator[Row]:
    """Give the rows of all sheets that have the columns; formulas are text.

    Args:
        path: an .xlsx file.
        columns: those that must be there.
        journal: hears of sheets and columns that are not read.

    Raises:
        SuiteError: when the file cannot be read, is a bomb, or its first sheet lacks a column.
    """
    _check_archive(path)
    try:
        # Our own handle: openpyxl leaves its own open where it raises.
        with path.open("rb") as file, closing(_opened(file)) as book:
            for index, sheet in enumerate(book.worksheets):
                yield from _sheet_rows(path, index, sheet, columns, journal)
    except SuiteError:
        raise
    except Exception as error:  # openpyxl raises almost anything for a damaged file
        raise SuiteError(Problem(str(path), 0, f"is not a readable workbook: {error}")) from error


def _opened(file: IO[bytes]) -> Any:
    import openpyxl  # noqa: PLC0415  heavy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles and extensions, which are not read
        return openpyxl.load_workbook(file, read_only=True, keep_links=False)


def _check_archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (OSError, zipfile.BadZipFile) as error:
        raise SuiteError(Problem(str(path), 0, f"is not a readable workbook: {error}")) from error
    unpacked = sum(member.file_size for member in members)
    if unpacked > _UNPACKED or len(members) > _MEMBERS:
        message = f"unpacks to {unpacked} bytes in {len(members)} members, more than is read"
        raise SuiteError(Problem(str(path), 0, message))


def _sheet_rows(path: Path, index: int, sheet: Any, columns: Sequence[str], journal: Journal) -> Iterator[Row]:
    sheet.reset_dimensions()  # the stored size of a sheet may lie
    rows = sheet.iter_rows(values_only=True)
    names = [_text(cell).strip() for cell in next(rows, ())]
    place = f"{path.name}[{sheet.title}]"
    if index and not set(columns) <= set(names):
        journal.note("sheet", place, "is not read: it lacks the columns of a table of cases")
        journal.leave("sheets")
        return
    check_columns(str(path), names, columns)
    for name in sorted(set(names) - set(columns) - {""}):
        journal.note("column", place, f"the column {shown(name)} is not carried over")
        journal.leave(f"column {name}")
    for number, row in enumerate(rows, 2):
        cells = [_text(cell) for cell in row]
        if any(cells):
            yield Row(f"{place} row {number}", dict(zip(names, cells, strict=False)))
        if number > _ROWS:
            raise SuiteError(Problem(str(path), number, f"has more than {_ROWS} rows"))


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def check_columns(path: str, found: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise a SuiteError that names the file and every column it lacks."""
    problems = [
        Problem(path, 1, f"has no column {shown(name)}; found {', '.join(found) or 'none'}", did_you_mean(name, found))
        for name in wanted
        if name not in found
    ]
    if problems:
        raise SuiteError(*problems)


def read_csv(path: Path, columns: Sequence[str], journal: Journal) -> Iterator[Row]:
    """Give the rows of a CSV file in UTF-8, with or without a byte order mark.

    Args:
        path: the file.
        columns: those that must be there.
        journal: hears of rows that do not fit the header.

    Raises:
        SuiteError: when the file cannot be read or lacks a column.
    """
    try:
        if path.stat().st_size > _FILE:
            raise SuiteError(Problem(str(path), 0, f"is larger than {_FILE} bytes"))
        with _long_fields(), path.open(encoding="utf-8-sig", newline="") as file:
            yield from _csv_rows(path, csv.reader(file, strict=True), columns, journal)
    except UnicodeDecodeError as error:
        raise SuiteError(Problem(str(path), 0, f"is not UTF-8: {error.reason} near byte {error.start}")) from error
    except OSError as error:
        raise SuiteError(Problem(str(path), 0, f"cannot be read: {error.strerror}")) from error


def _csv_rows(path: Path, reader: Any, columns: Sequence[str], journal: Journal) -> Iterator[Row]:
    try:
        names: list[str] = next(reader, [])
        check_columns(str(path), names, columns)
        for cells in reader:
            place = f"{path.name}:{reader.line_num}"
            if len(cells) == len(names):
                yield Row(place, dict(zip(names, cells, strict=True)))
            elif cells:
                journal.note("row", place, f"has {len(cells)} cells under {len(names)} columns and is left out")
                journal.leave("rows")
    except csv.Error as error:
        raise SuiteError(Problem(str(path), reader.line_num, f"is not valid CSV: {error}")) from error


@contextmanager
def _long_fields() -> Iterator[None]:
    """Allow long fields while a file is read; the limit is the process's, so it is put back."""
    before = csv.field_size_limit(_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)
