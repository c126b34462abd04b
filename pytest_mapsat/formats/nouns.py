"""Files of nouns, one JSON object a line: read with their lines, and added to; and the calibration table of a judge that reads prose."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_mapsat.model import (
    CALIBRATION_SCHEMA,
    Calibration,
    JsonObject,
    Problem,
    SuiteError,
    UsageError,
    digest,
)

from . import limits
from .files import NOT_REGULAR, printable, read_bytes, read_lines, require_file, shown_path
from .located import DataPath, Lines, Located, dotted, validate
from .plain_data import parse_json_line

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True)
class Placed(Generic[ModelT]):
    """A noun with its file, as messages name it, and the lines that it stands on."""

    noun: ModelT
    path: str
    lines: Lines

    @property
    def place(self) -> str:
        """The place as error messages name it."""
        return f"{self.path}:{self.lines.line}"

    def problem(self, part: DataPath, message: str, hint: str = "") -> Problem:
        """Return what is wrong with a part of the noun as a problem in its file."""
        where = f"{dotted(part)}: " if part else ""
        return Problem(self.path, self.lines.at(part), f"{where}{message}", hint)


def document_of(raw: bytes, path: str, line: int, problems: list[Problem]) -> Located | None:
    """Return the data of one line of a JSONL file, or None after adding to ``problems`` why it cannot be read."""
    try:
        return Located(parse_json_line(raw, path, line), Lines(line))
    except SuiteError as error:
        problems.extend(error.problems)
        return None


def noun_of(model: type[ModelT], raw: bytes, path: str, line: int, problems: list[Problem]) -> ModelT | None:
    """Return the noun on one line of a JSONL file, or None after adding to ``problems`` what is wrong with it."""
    document = document_of(raw, path, line, problems)
    return None if document is None else validate(model, document, path, problems)


def read_nouns(path: Path, model: type[ModelT]) -> tuple[Placed[ModelT], ...]:
    """Read a JSONL file.

    Args:
        path: the file, compressed or not.
        model: what stands on each line.

    Raises:
        UsageError: there is no such file.
        SuiteError: with the problems of all lines, up to a limit.
    """
    name = shown_path(path)
    require_file(path, name)
    nouns: list[Placed[ModelT]] = []
    problems: list[Problem] = []
    for line in read_lines(path, limits.DIALOGUE_BYTES, name):
        noun = noun_of(model, line.data, name, line.number, problems)
        if noun is not None:
            nouns.append(Placed(noun, name, Lines(line.number)))
        if len(problems) >= limits.PROBLEMS:
            break
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return tuple(nouns)


def append_lines(path: Path, values: Iterable[JsonObject]) -> None:
    """Add lines to a JSONL file, made where there is none; they are on the disk when this returns.

    Args:
        path: the file; folders are made.
        values: what is added, in this order.

    Raises:
        UsageError: the place holds something else than a regular file.
        OSError: it cannot be written.
    """
    lines = b"".join(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for value in values)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without O_NONBLOCK, opening a pipe without a reader would wait for ever.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0), 0o666)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"{printable(str(path))}: {NOT_REGULAR}")
        size = file.seek(0, os.SEEK_END)
        if size and os.pread(handle, 1, size - 1) != b"\n":
            lines = b"\n" + lines  # somebody's editor left the last line open
        file.write(lines)
        os.fsync(handle)


def signed(calibration: Calibration) -> Calibration:
    """Return a table with the digest of its content."""
    return calibration.model_copy(update={"digest": digest(calibration.model_copy(update={"digest": ""}).to_json())})


def read_calibration(path: Path) -> Calibration:
    """Return the table in a file.

    Raises:
        SuiteError: it cannot be read, is of another version, is cut short, or was changed by hand.
    """
    place = shown_path(path)
    again = "compute it again: mapsat lint SUITE --answers --calibrate"
    try:
        data = json.loads(read_bytes(path, limits.MIB))
        if not isinstance(data, dict):
            raise TypeError("expected a JSON object")  # noqa: TRY301 - told as the others are
        if (version := data.get("schema")) != CALIBRATION_SCHEMA:
            raise SuiteError(Problem(place, 0, f"found schema {version!r:.80}, expected {CALIBRATION_SCHEMA}", again))
        calibration = Calibration.model_validate(data)
    except (ValueError, TypeError, RecursionError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise SuiteError(Problem(place, 0, f"is no calibration table: {what:.200}", again)) from error
    if signed(calibration).digest != calibration.digest:
        raise SuiteError(Problem(place, 0, "was changed by hand: its digest is another", again))
    return calibration
