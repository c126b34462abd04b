"""The run file: everything a later command needs, equal byte for byte between equal runs but for ``timing``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pytest_mapsat.atomic import replacing
from pytest_mapsat.model import Run, Scorecard


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
        first = ",\n".join(f'"{key}": {_json(head[key])}' for key in ("schema", "manifest", "accounting"))
        file.write(_bytes(f'{{{first},\n"cases": ['))
        for number, line in enumerate(spool.lines()):
            file.write(b",\n" if number else b"\n")
            file.write(line)
        rest = [f'"{key}": {_json(head[key])}' for key in ("summary", "groups", "gate", "timing")]
        file.write(_bytes("\n],\n" + ",\n".join(rest) + "}\n"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _bytes(text: str) -> bytes:
    # A lone surrogate in an agent's reply has no UTF-8; its backslash form is the JSON escape.
    return text.encode("utf-8", "backslashreplace")
