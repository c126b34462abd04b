"""Benchmarks of others, a folder each: everything that depends on one benchmark is in its folder.

A port reaches the core as any package could: by the public faces of the rooms, and by entry points (pyproject.toml names ours). Here stands what all
importers do alike: find the files of a source, read their records, name cases, write the suite.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

from pytest_mapsat.formats import (
    DocumentLines,
    LocatedDocument,
    json_elements,
    limits,
    package_data,
    parse_json_line,
    printable,
    read_csv,
    read_lines,
    read_text,
    shown_path,
    validate,
)
from pytest_mapsat.model import SUITE_SCHEMA, Json, JsonObject, Metric, Problem, SuiteError, SuiteManifest, Tool
from pytest_mapsat.suite import tools_of, write_manifest, write_tool
from pytest_mapsat.user_code import plain

Model = TypeVar("Model", bound=BaseModel)
#: The end of an id of a trial, which no case id may have.
TRIAL = re.compile(r"-t\d+$")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class SourcePart(BaseModel):
    """Base class for models of published files: unknown fields are ignored, and null counts as missing."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _given(cls, data: Any) -> Any:
        """Return an object without fields that are null; return any other data unchanged."""
        if not isinstance(data, Mapping):
            return data
        return {name: value for name, value in data.items() if value is not None}


class Record(NamedTuple):
    """One record of a source and its place, as ``tasks.jsonl:3``."""

    place: str
    data: Any


def source_error(path: Path, message: str, hint: str = "", *, line: int = 0) -> SuiteError:
    """Return the error for a source that cannot be imported."""
    return SuiteError(Problem(shown_path(path), line, message, hint))


def files_of(src: Path, *patterns: Sequence[str], lacks: str, hint: str) -> list[Path]:
    """Return the files of a source, sorted: the file itself, or the matches of the first pattern group that matches.

    Args:
        src: a file or a folder. A link that leads out of the folder is no part of it.
        patterns: groups of patterns of paths below the folder.
        lacks: what is said where there are no such files.
        hint: what to name instead.

    Raises:
        SuiteError: there is none.
    """
    if src.is_file():
        return [src]
    inside = src.resolve()
    for group in patterns:
        matching = sorted({path for pattern in group for path in src.glob(pattern)})
        if files := [path for path in matching if path.is_file() and path.resolve().is_relative_to(inside)]:
            return files
    raise source_error(src, lacks, hint)


#: Hears of a record that cannot be read and is passed over: its place, and why.
Torn = Callable[[str, str], None]


def json_records(path: Path, torn: Torn, noun: str, *, longest: int, name: str = "") -> Iterator[Record]:
    """Yield the records of a file in JSON or JSON Lines, each with its first line number.

    Args:
        path: the file.
        torn: hears of lines that are not JSON.
        noun: what the records are, for errors.
        longest: the most bytes of a line.
        name: how places name the file; its own name where it is empty.

    Raises:
        SuiteError: the file cannot be read, or is no JSON.
    """
    name, where = name or printable(path.name), shown_path(path)
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        for number, data in json_elements(read_text(path, limits.CELL_BYTES, where), where, noun):
            yield Record(f"{name}:{number}", data)
        return
    for line in read_lines(path, longest):
        try:
            yield Record(f"{name}:{line.number}", parse_json_line(line.data, name, line.number))
        except SuiteError as error:
            for problem in error.problems:
                torn(f"{name}:{problem.line}", problem.message)


def table_records(path: Path, torn: Torn, columns: Sequence[str], hint: str = "") -> Iterator[Record]:
    """Yield the rows of a CSV table by column; rows with too many or too few cells go to ``torn``.

    Raises:
        SuiteError: the file cannot be read, or lacks a column; ``hint`` is said then.
    """
    name = printable(path.name)

    def torn_row(problem: Problem) -> None:
        """Pass a problem with a row to ``torn``, with the file and line as its place."""
        torn(f"{name}:{problem.line}", problem.message)

    for row in read_csv(path, columns, hint=hint, torn=torn_row):
        yield Record(f"{name}:{row.line}", row.cells)


def validated(model: type[Model], data: Json, place: str, line: int = 0) -> tuple[Model | None, list[Problem]]:
    """Validate a record against a model; return the instance, or None if it is invalid, and the problems found."""
    problems: list[Problem] = []
    return validate(model, LocatedDocument(data, DocumentLines(line)), place, problems), problems


def objects(value: Json) -> list[JsonObject]:
    """Return the members of a list that are objects; empty if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def safe_name(words: str, most: int | None = None) -> str:
    """Return a text as a valid name of a suite, case or group, cut to ``most``; empty if no character is allowed."""
    return _UNSAFE.sub("-", words).strip("-.")[:most]


def unused_id(name: str, numbers: dict[str, int]) -> str:
    """Return an unused case id, numbered if needed, and record the number in ``numbers``, the last number by name."""
    unused, number = name, numbers.get(name, 1)
    while unused in numbers or TRIAL.search(unused):
        number += 1
        unused = f"{name}-{number}"
    numbers[name] = number
    numbers.setdefault(unused, 1)
    return unused


def packaged_metrics(package: str) -> tuple[Metric, ...]:
    """Return the metrics of ``metrics.yaml``, which ships with a port."""
    return tuple(map(Metric.model_validate, package_data(package, "metrics.yaml")))


@cache
def packaged_tools(package: str, path: str = "tools.yaml") -> Mapping[str, Tool]:
    """Return the tools by name from a YAML file that ships with a port."""
    return tools_of(files(package).joinpath(path).read_text(encoding="utf-8"))


def write_suite(folder: Path, manifest: SuiteManifest, tools: Iterable[Tool]) -> None:
    """Write a suite's manifest and one file for each tool; its cases are not written."""
    write_manifest(folder / "suite.yaml", manifest)
    for tool in tools:
        write_tool(folder / "tools" / f"{tool.name}.yaml", tool)


def imported_manifest(name: str, snapshot: str, **terms: Any) -> SuiteManifest:
    """Return the manifest of an imported suite; ``snapshot`` is the digest of its source, ``terms`` are further fields."""
    return SuiteManifest(name=name, version=f"snapshot-{snapshot}", schema_version=SUITE_SCHEMA, **terms)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return a table as CSV text, with a quote before each text that a spreadsheet would read as a formula."""

    def cell(value: str | float | None) -> str | float:
        """Return a value in CSV form: a text on one line, a float with six decimals, None as an empty text."""
        if isinstance(value, str):
            text = plain(" ".join(value.split()))
            return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
        return f"{value:.6f}" if isinstance(value, float) else "" if value is None else value

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(cell, row) for row in rows)
    return file.getvalue()
