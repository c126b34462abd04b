"""Verdicts in the layout in which MapSatisfyBench publishes them: plain typed values.

What they mean for the labels of a case is said where those are made, in ``labels``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pytest_mapsat.formats import (
    Layout,
    Lines,
    Located,
    TableRow,
    layouts,
    limits,
    located_json,
    parse_json_line,
    printable,
    read_csv,
    read_lines,
    validate,
)
from pytest_mapsat.model import Json, Problem, SuiteError, shown

_VERDICT_COLUMNS = ("case_id", "results")
Whole = Annotated[int, Field(strict=True, ge=0)]


class _Part(BaseModel):
    """Part of a published verdict; what is not used here is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Completion(_Part):
    """ECR: how many explicit factors are met."""

    numerator: Whole
    denominator: Whole


class Degree(_Part):
    """One implicit factor: its text, the degree of satisfaction, the judge's words."""

    rubric: str
    Ci: Annotated[float, Field(strict=True)] | None = None
    reasoning: str | None = None


class Satisfaction(_Part):
    """IISR."""

    rubrics_detail: tuple[Degree, ...] = ()


class FactCheck(_Part):
    """One fact requirement: its text, whether the answer keeps it, and how many elements of it were looked at."""

    rubric_row: str
    is_faithful: Annotated[bool, Field(strict=True)] | None = None
    skipped: Annotated[bool, Field(strict=True)] = False
    elements_grounded: tuple[object, ...] = ()
    elements_unfaithful: tuple[object, ...] = ()
    reasoning: str | None = None


class Faithfulness(_Part):
    """IFS."""

    rows_detail: tuple[FactCheck, ...] = ()


class Details(_Part):
    """The parts of a verdict; one that failed is null."""

    ECR: Completion | None = None
    IISR: Satisfaction | None = None
    IFS: Faithfulness | None = None


class PublishedVerdict(_Part):
    """One published verdict. ``trajectory`` is the digest of what was judged, where a file gives it."""

    case_id: Annotated[str, Field(min_length=1)]
    status: str = "success"
    error: str | None = None
    trajectory: str = ""
    details: Details = Details()

    @field_validator("details", mode="before")
    @classmethod
    def _none_is_empty(cls, value: object) -> object:
        return {} if value is None else value


def read_verdicts(path: Path, name: str, layout: Layout) -> dict[str, PublishedVerdict]:
    """Return the verdicts of a file in JSON lines, or of a table, by case.

    Args:
        path: the file.
        name: how messages name it.
        layout: what ``layout_of`` said of it.

    Raises:
        SuiteError: it is broken, holds no verdict, or two of one case; with the lines, up to a limit.
    """
    problems: list[Problem] = []
    found: dict[str, PublishedVerdict] = {}
    lines: dict[str, int] = {}
    for line, data in _table_verdicts(path, name) if layout == "table" else _line_verdicts(path, name):
        verdict = validate(PublishedVerdict, Located(data, Lines(line)), name, problems)
        if verdict is not None and verdict.case_id in found:
            message = f"a second verdict on case {printable(verdict.case_id)}: line {lines[verdict.case_id]} has one"
            problems.append(Problem(name, line, message, "keep one"))
        elif verdict is not None:
            found[verdict.case_id], lines[verdict.case_id] = verdict, line
        if len(problems) >= limits.PROBLEMS:
            break
    if not found and not problems:
        problems.append(Problem(name, 0, "the file holds no verdict"))
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return found


def _line_verdicts(path: Path, name: str) -> Iterator[tuple[int, Json]]:
    for line in read_lines(path, limits.DIALOGUE_BYTES, name):
        yield line.number, parse_json_line(line.data, name, line.number)


def _table_verdicts(path: Path, name: str) -> Iterator[tuple[int, Json]]:
    """Give the rows of the published table; the JSON of ``results`` takes the place of its text."""
    hint = f"expected {layouts('JSON lines with case_id and details', _VERDICT_COLUMNS)}"
    for row in read_csv(path, _VERDICT_COLUMNS, name, hint=hint):
        yield row.line, _verdict_of(row, name)


def _verdict_of(row: TableRow, name: str) -> Json:
    text = row.cells["results"]
    results = located_json(text, name, row.line) if text.strip() else {}
    if not isinstance(results, dict):
        raise SuiteError(Problem(name, row.line, f"results is {shown(results)}, expected an object"))
    return {**{key: row.cells[key] for key in ("case_id", "status", "error") if key in row.cells}, **results}
