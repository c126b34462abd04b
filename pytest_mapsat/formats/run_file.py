"""The run file: everything a later command needs, equal byte for byte between equal runs but for ``timing``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NoReturn

from pydantic import ValidationError

from pytest_mapsat.model import RUN_SCHEMA, Problem, Run, Scorecard, SuiteError, UsageError

from .replacing import replacing

MAX_BYTES = 1024 * 1024 * 1024


def scorecard_json(card: Scorecard) -> str:
    """Return one line of JSON for a scorecard, keys sorted; the trajectory without fields that hold their default."""
    data = card.model_dump(mode="json", exclude={"trajectory"})
    data["trajectory"] = card.trajectory.to_json()
    return _json(data)


class Spool:
    """Scorecards on disk as they end, so that a run of any size keeps none of its trajectories in memory."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="mapsat-")  # noqa: SIM115 (closed by close)
        self._places: dict[tuple[str, int], tuple[int, int]] = {}

    def add(self, case: str, trial: int, line: str) -> None:
        """Keep the JSON line of one scorecard; a later one of the same case and trial replaces it."""
        data = _bytes(line)
        start = self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._places[case, trial] = (start, len(data))

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, sorted by case id and trial."""
        for key in sorted(self._places):
            start, size = self._places[key]
            self._file.seek(start)
            yield self._file.read(size)

    def close(self) -> None:
        """Drop the file."""
        self._file.close()


def write_run(path: Path, run: Run, spool: Spool) -> None:
    """Write the run file whole or not at all: beside its place first, then moved into it.

    Args:
        path: where it goes; folders are made.
        run: the run; its ``cases`` are taken from the spool.
        spool: the scorecards' lines.
    """
    head = run.model_dump(mode="json", exclude={"cases"}, by_alias=True)
    with replacing(path) as file:
        file.write(_bytes(f'{{"schema": {_json(head["schema"])},\n"manifest": {_json(head["manifest"])},\n"cases": ['))
        for number, line in enumerate(spool.lines()):
            file.write(b",\n" if number else b"\n")
            file.write(line)
        rest = [f'"{key}": {_json(head[key])}' for key in ("summary", "groups", "gate", "timing")]
        file.write(_bytes("\n],\n" + ",\n".join(rest) + "}\n"))


def save_run(path: Path, run: Run) -> None:
    """Write a run that holds its trajectories, in the layout of every run file."""
    spool = Spool()
    try:
        for card in run.cases:
            spool.add(card.id, card.trial, scorecard_json(card))
        write_run(path, run, spool)
    finally:
        spool.close()


def read_run(path: Path, *, most: int = MAX_BYTES) -> Run:
    """Read a run file.

    Args:
        path: the file.
        most: how many bytes are read.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is too large or no run file; with what is wrong.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if path.stat().st_size > most:
        _refuse(path, f"the file has {path.stat().st_size:,} bytes; at most {most:,} are read")
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        _refuse(path, f"this is not JSON: {error.msg} at column {error.colno}", line=error.lineno)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"this is not JSON: {error}")
    if not isinstance(data, dict) or data.get("schema") != RUN_SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        _refuse(path, f"this is no run file: found the schema {found!r}, expected {RUN_SCHEMA!r}")
    try:
        return Run.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        _refuse(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _refuse(path: Path, message: str, line: int = 0) -> NoReturn:
    raise SuiteError(Problem(str(path), line, message, f"expected a file that --mapsat-save wrote ({RUN_SCHEMA})"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _bytes(text: str) -> bytes:
    # A lone surrogate in an agent's reply has no UTF-8; its backslash form is the JSON escape.
    return text.encode("utf-8", "backslashreplace")
