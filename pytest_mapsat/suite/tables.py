"""The tables of a suite: ``state/NAME.jsonl``, one row a line. Files of one name in folders of their own make one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_mapsat.formats import limits, parse_json_line, read_lines, shown_path
from pytest_mapsat.model import JsonObject, Problem, SuiteError, shown
from pytest_mapsat.sandbox import Table


def read_tables(paths: Sequence[Path]) -> dict[str, Table]:
    """Return the tables of these files by name, sorted; rows in the order of files and lines.

    Raises:
        SuiteError: with the problems of all files, up to a limit: lines that are no JSON objects, tables that are too long.
    """
    problems: list[Problem] = []
    found: dict[str, list[JsonObject]] = {}
    for path in paths:
        _read(path, found.setdefault(path.name.partition(".")[0], []), problems)
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return {name: Table(name, tuple(found[name])) for name in sorted(found)}


def _read(path: Path, rows: list[JsonObject], problems: list[Problem]) -> None:
    name = shown_path(path)
    for line in read_lines(path, limits.ROW_BYTES):
        if len(rows) >= limits.TABLE_ROWS:
            message = f"the table has more than {limits.TABLE_ROWS} rows"
            problems.append(Problem(name, line.number, message, "a world of one suite needs fewer"))
            return
        try:
            row = parse_json_line(line.data, name, line.number)
        except SuiteError as error:
            problems.extend(error.problems)
        else:
            if isinstance(row, dict):
                rows.append(row)
            else:
                message = f"a row is a JSON object of columns and values, not {shown(row)}"
                problems.append(Problem(name, line.number, message))
        if len(problems) >= limits.PROBLEMS:
            return
