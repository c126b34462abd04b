"""Workbooks of strangers, read with bounds."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_mapsat.formats import check_columns, limits, open_bytes, printable, shown_path
from pytest_mapsat.model import Problem, SuiteError, shown
from pytest_mapsat.suite import ImportLog


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row by column name, and where it stands."""

    place: str
    cells: dict[str, str]


def read_workbook(path: Path, columns: Sequence[str], log: ImportLog) -> Iterator[SourceRow]:
    """Give the rows of all sheets that have the columns; formulas are text.

    Args:
        path: an .xlsx file.
        columns: those that must be there.
        log: hears of sheets and columns that are not read.

    Raises:
        SuiteError: when the file cannot be read, is a bomb, or its first sheet lacks a column.
    """
    _check_archive(path)
    try:
        # Our own handle: openpyxl leaves its own open where it raises.
        with open_bytes(path) as file, closing(_opened(file)) as book:
            for index, sheet in enumerate(book.worksheets):
                yield from _sheet_rows(path, index, sheet, columns, log)
    except SuiteError:
        raise
    except Exception as error:  # openpyxl raises almost anything for a damaged file
        raise SuiteError(Problem(shown_path(path), 0, f"is not a readable workbook: {error}")) from error


def _opened(file: IO[bytes]) -> Any:
    import openpyxl  # noqa: PLC0415  heavy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles and extensions, which are not read
        return openpyxl.load_workbook(file, read_only=True, keep_links=False)


def _check_archive(path: Path) -> None:
    try:
        with open_bytes(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (OSError, zipfile.BadZipFile) as error:
        raise SuiteError(Problem(shown_path(path), 0, f"is not a readable workbook: {error}")) from error
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.WORKBOOK_BYTES or len(members) > limits.WORKBOOK_MEMBERS:
        message = f"unpacks to {unpacked} bytes in {len(members)} members, more than is read"
        raise SuiteError(Problem(shown_path(path), 0, message))


def _sheet_rows(path: Path, index: int, sheet: Any, columns: Sequence[str], log: ImportLog) -> Iterator[SourceRow]:
    sheet.reset_dimensions()  # the stored size of a sheet may lie
    rows = sheet.iter_rows(values_only=True)
    names = [_text(cell).strip() for cell in next(rows, ())]
    place = f"{printable(path.name)}[{sheet.title}]"
    if index and not set(columns) <= set(names):
        log.note("sheet", place, "is not read: it lacks the columns of a table of cases")
        log.leave("sheets")
        return
    check_columns(shown_path(path), names, columns)
    for name in sorted(set(names) - set(columns) - {""}):
        log.note("column", place, f"the column {shown(name)} is not carried over")
        log.leave(f"column {name}")
    for number, row in enumerate(rows, 2):
        cells = [_text(cell) for cell in row]
        if any(cells):
            yield SourceRow(f"{place} row {number}", dict(zip(names, cells, strict=False)))
        if number > limits.SHEET_ROWS:
            raise SuiteError(Problem(shown_path(path), number, f"has more than {limits.SHEET_ROWS} rows"))


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)
