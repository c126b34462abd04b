"""Files of nouns, one JSON object a line: read with their lines, and added to."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from pytest_mapsat.model import JsonObject, Problem, SuiteError, UsageError

from . import limits
from .files import NOT_REGULAR, printable, read_lines, require_file, shown_path
from .jsontext import parse_json_line
from .located import DataPath, Lines, Located, dotted, validate

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


def read_nouns(path: Path, model: type[ModelT], name: str = "") -> tuple[Placed[ModelT], ...]:
    """Read a JSONL file.

    Args:
        path: the file, compressed or not.
        model: what stands on each line.
        name: how messages name it; the path as a user would type it where none is given.

    Raises:
        UsageError: there is no such file.
        SuiteError: with the problems of all lines, up to a limit.
    """
    name = name or shown_path(path)
    require_file(path, name)
    found: list[Placed[ModelT]] = []
    problems: list[Problem] = []
    for line in read_lines(path, limits.DIALOGUE_BYTES, name):
        try:
            data = parse_json_line(line.data, name, line.number)
        except SuiteError as error:
            problems.extend(error.problems)
        else:
            noun = validate(model, Located(data, Lines(line.number)), name, problems)
            if noun is not None:
                found.append(Placed(noun, name, Lines(line.number)))
        if len(problems) >= limits.PROBLEMS:
            break
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return tuple(found)


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
    # Without O_NONBLOCK, opening a pipe that nobody reads would wait for ever.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0), 0o666)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"{printable(str(path))}: {NOT_REGULAR}")
        size = file.seek(0, os.SEEK_END)
        if size and os.pread(handle, 1, size - 1) != b"\n":
            lines = b"\n" + lines  # somebody's editor left the last line open
        file.write(lines)
        os.fsync(handle)
